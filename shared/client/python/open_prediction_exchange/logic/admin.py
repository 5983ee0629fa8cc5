"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from typing import Literal

from ..models import AuditPage
from .admin_9 import AdminPart9
from .operations import as_time, given
from .steps import Steps


class AdminLogic(AdminPart9):
    """One method for each operation."""

    def list_audit(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        operator: str | None = None,
        event: Literal[
            "change",
            "result",
            "interrupted",
            "logins_refused",
            "approval_finished",
            "terms_changed",
            "decision_vetoed",
            "admin_token_replaced",
            "start",
            "stop",
            "gap",
            "restored",
        ] | None = None,
        path: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Steps[AuditPage]:
        """The records of the audit log, the newest first.

        `limit`: So many rows at most.
        `cursor`: The next_cursor of the page before.
        `operator`: Only what this operator did.
        `event`: Only records of this kind.
        `path`: The start of the path.
        `since`: From this time on.
        `until`: Before this time.
        """
        return self._do(
            AuditPage,
            "GET",
            "/admin/audit",
            query=given(
                limit=limit,
                cursor=cursor,
                operator=operator,
                event=event,
                path=path,
                since=as_time(since),
                until=as_time(until),
            ),
        )
