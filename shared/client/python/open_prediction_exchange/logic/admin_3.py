"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Sequence

from ..models import AdminSessions, Holders, Market, OpenOrderBounds, RevokedSessions
from .admin_2 import AdminPart2
from .operations import as_list, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart3(AdminPart2):
    """One method for each operation."""

    def cancel_market(self, id: str, *, payouts: Sequence[int] | None = None) -> Steps[Market]:
        """Decides a market without an answer: half a USDC for every token, unless the body says otherwise.
        ApprovalNeededError where another operator has to approve it.
        """
        return self._do_or_ask(
            Market, "POST", f"/admin/markets/{segment(id)}/cancel", body=given(payouts=as_list(payouts))
        )

    def get_holders(self, id: str) -> Steps[Holders]:
        """How many accounts hold tokens of a market."""
        return self._do(Holders, "GET", f"/admin/markets/{segment(id)}/holders")

    def settle_market(self, id: str) -> Steps[Market]:
        """Pays every holder who has not claimed."""
        return self._do(Market, "POST", f"/admin/markets/{segment(id)}/settle")

    def get_open_order_bounds(self, id: str) -> Steps[OpenOrderBounds]:
        """The open orders that the account may have, in all markets and in each."""
        return self._do(OpenOrderBounds, "GET", f"/admin/users/{segment(id)}/open-order-bounds")

    def set_open_order_bounds(
        self,
        id: str,
        *,
        max_open_orders: int | None,
        max_open_orders_per_market: int | None,
    ) -> Steps[OpenOrderBounds]:
        """Sets the open orders that the account may have; null is the bound of the configuration."""
        return self._do(
            OpenOrderBounds,
            "PUT",
            f"/admin/users/{segment(id)}/open-order-bounds",
            body=set_or_null(max_open_orders=max_open_orders, max_open_orders_per_market=max_open_orders_per_market),
        )

    def list_sessions(self, id: str) -> Steps[AdminSessions]:
        """The sessions of the account that are in force, the one opened last first."""
        return self._do(AdminSessions, "GET", f"/admin/users/{segment(id)}/sessions")

    def end_sessions(self, id: str) -> Steps[RevokedSessions]:
        """Ends all sessions of the account, and closes their sockets."""
        return self._do(RevokedSessions, "DELETE", f"/admin/users/{segment(id)}/sessions")
