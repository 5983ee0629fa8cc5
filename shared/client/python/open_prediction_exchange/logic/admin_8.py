"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal

from ..models import ActiveDrills, AlertTest, BackupReport, Message, PlatformContracts, PlatformStatus
from .admin_7 import AdminPart7
from .operations import given
from .steps import Steps


class AdminPart8(AdminPart7):
    """One method for each operation."""

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
