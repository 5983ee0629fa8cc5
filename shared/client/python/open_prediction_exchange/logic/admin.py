"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from typing import Literal

from ..models import AuditPage, Cluster, HandedOver, Operations, Operator
from .admin_9 import AdminPart9
from .operations import as_time, given
from .requests import segment
from .steps import Steps


class AdminLogic(AdminPart9):
    """One method for each operation."""

    def revoke_operator(self, id: str) -> Steps[Operator]:
        """Revokes the token of an operator; revoking it again changes nothing."""
        return self._do(Operator, "DELETE", f"/admin/operators/{segment(id)}")

    def get_operations(self) -> Steps[Operations]:
        """Shards, lags, latencies, refusals and disk: counters since the start, and how things stand."""
        return self._do(Operations, "GET", "/admin/operations")

    def get_cluster(self) -> Steps[Cluster]:
        """Members of the cluster, who leads, the log, and the servers of its database; of any member."""
        return self._do(Cluster, "GET", "/admin/cluster")

    def promote_member(self, *, member: str | None = None) -> Steps[HandedOver]:
        """Hands the lead over to a standby: this leader ends once the standby is ready, and begins anew as one.

        `member`: Left out: the standby that has followed furthest.
        """
        return self._do(HandedOver, "POST", "/admin/cluster/promote", body=given(member=member))

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
