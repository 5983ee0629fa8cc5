"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal

from ..models import ActiveDrills, AlertTest, Approval, Approvals, BackupReport, Message, PlatformContracts
from .admin_5 import AdminPart5
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart6(AdminPart5):
    """One method for each operation."""

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

    def list_approvals(self, *, limit: int | None = None, cursor: int | None = None) -> Steps[Approvals]:
        """Changes that wait for a second operator or were decided by one, the newest first.

        `limit`: So many rows at most.
        `cursor`: The next_cursor of the page before.
        """
        return self._do(Approvals, "GET", "/admin/approvals", query=given(limit=limit, cursor=cursor))

    def get_approval(self, id: str) -> Steps[Approval]:
        """One of them."""
        return self._do(Approval, "GET", f"/admin/approvals/{segment(id)}")
