"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal

from ..models import (
    ActiveDrills,
    AlertTest,
    BackupReport,
    Message,
    PlatformContracts,
    PlatformStatus,
    Restricted,
    RotatedApiKey,
)
from .admin_3 import AdminPart3
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart4(AdminPart3):
    """One method for each operation."""

    def revoke_api_key(self, key_id: str) -> Steps[Message]:
        """Revokes an API key; revoking it again changes nothing."""
        return self._do(Message, "DELETE", f"/admin/api-keys/{segment(key_id)}")

    def rotate_api_key(self, key_id: str) -> Steps[RotatedApiKey]:
        """Gives an API key another secret and passphrase, shown this once; the former ones are void at once."""
        return self._do(RotatedApiKey, "POST", f"/admin/api-keys/{segment(key_id)}/rotate")

    def set_account_state(self, id: str, *, state: Literal["active", "close_only", "frozen"]) -> Steps[Restricted]:
        """Restricts what the account may do, or lifts that; open orders that the state forbids are cancelled."""
        return self._do(Restricted, "PUT", f"/admin/users/{segment(id)}/state", body=given(state=state))

    def remove_wallet(self, id: str, address: str) -> Steps[Restricted]:
        """Takes a wallet and its delegates away from the account and cancels their open orders."""
        return self._do(Restricted, "DELETE", f"/admin/users/{segment(id)}/wallets/{segment(address)}")

    def remove_delegate(self, id: str, maker: str, signer: str) -> Steps[Restricted]:
        """Takes a delegate away from a wallet and cancels the open orders that it has signed."""
        return self._do(
            Restricted, "DELETE", f"/admin/users/{segment(id)}/delegates/{segment(maker)}/{segment(signer)}"
        )

    def get_platform(self) -> Steps[PlatformStatus]:
        """The switches and the state of the shards."""
        return self._do(PlatformStatus, "GET", "/admin/platform")

    def pause_platform(self) -> Steps[Message]:
        """Refuses everything that takes new risk; cancels and reads go on."""
        return self._do(Message, "POST", "/admin/platform/pause")

    def resume_platform(self) -> Steps[Message]:
        """Ends the pause."""
        return self._do(Message, "POST", "/admin/platform/resume")

    def set_drill(
        self,
        *,
        refusal: Literal["NOT_MATCHING_LEADER", "SETTLEMENT_UNHEALTHY"],
        enabled: bool,
    ) -> Steps[ActiveDrills]:
        """While a drill is enabled, everything that places is refused with its code. A restart ends it."""
        return self._do(ActiveDrills, "POST", "/admin/platform/drills", body=given(refusal=refusal, enabled=enabled))

    def test_alert(self) -> Steps[AlertTest]:
        """Lets the alert TestAlert ring for two minutes: a test of the way to the person on call."""
        return self._do(AlertTest, "POST", "/admin/platform/alert-test", body={})

    def change_contracts(
        self,
        *,
        exchange_address: str,
        chain_id: int | None = None,
        market_factory_address: str | None = None,
        usdc_address: str | None = None,
        ctf_address: str | None = None,
        fee_sweeper_address: str | None = None,
    ) -> Steps[PlatformContracts]:
        """Changes the contracts that orders are signed for, in every shard or in none. ApprovalNeededError where
        another operator has to approve it.
        """
        return self._do_or_ask(
            PlatformContracts,
            "POST",
            "/admin/platform/contracts",
            body=given(
                exchange_address=exchange_address,
                chain_id=chain_id,
                market_factory_address=market_factory_address,
                usdc_address=usdc_address,
                ctf_address=ctf_address,
                fee_sweeper_address=fee_sweeper_address,
            ),
        )

    def get_backups(self) -> Steps[BackupReport]:
        """The backup that was asked for last, and how backups and drills ended."""
        return self._do(BackupReport, "GET", "/admin/platform/backup")

    def start_backup(self, *, rate: int | None = None) -> Steps[BackupReport]:
        """Begins a backup of the data directory into the folder that BACKUP_TARGET names.

        `rate`: Megabytes a second that are read at most, 40 where it is not given; 0: no limit.
        """
        return self._do(BackupReport, "POST", "/admin/platform/backup", body=given(rate=rate))
