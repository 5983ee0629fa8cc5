"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal, Sequence

from ..models import Approval, Cluster, HandedOver, IssuedOperator, Operations, Operator, Operators
from .admin_8 import AdminPart8
from .operations import as_list, given
from .requests import segment
from .steps import Steps


class AdminPart9(AdminPart8):
    """One method for each operation."""

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
