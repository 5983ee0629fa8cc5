"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from ..models import AlertTest, Approval, Approvals, BackupReport, PlatformContracts
from .admin_7 import AdminPart7
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart8(AdminPart7):
    """One method for each operation."""

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

    def approve(self, id: str) -> Steps[Approval]:
        """Approves a change that another operator asked for, and carries it out; a repeat answers its end."""
        return self._do(Approval, "POST", f"/admin/approvals/{segment(id)}/approve")
