"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal, Sequence

from ..models import Approval, Approvals, BackupReport, IssuedOperator, Operators
from .admin_8 import AdminPart8
from .operations import as_list, given
from .requests import segment
from .steps import Steps


class AdminPart9(AdminPart8):
    """One method for each operation."""

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

    def reject(self, id: str) -> Steps[Approval]:
        """Rejects a change that waits; the operator who asked for it may too."""
        return self._do(Approval, "POST", f"/admin/approvals/{segment(id)}/reject")

    def create_operator(
        self,
        *,
        name: str,
        roles: Sequence[Literal["viewer", "catalogue", "treasury", "superuser"]],
    ) -> Steps[IssuedOperator]:
        """Makes an operator; the token is shown this once."""
        return self._do(IssuedOperator, "POST", "/admin/operators", body=given(name=name, roles=as_list(roles)))

    def list_operators(self) -> Steps[Operators]:
        """All operators, the revoked ones too, in the order in which they were made."""
        return self._do(Operators, "GET", "/admin/operators")
