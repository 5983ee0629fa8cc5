"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from ..models import AdminSessions, FundMovement, Ledger, MarketRebate, OpenOrderBounds, RevokedSessions
from .admin_2 import AdminPart2
from .operations import as_units, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart3(AdminPart2):
    """One method for each operation."""

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

    def deposit(self, id: str, *, amount_usdc_micro: int, reference: str | None = None) -> Steps[FundMovement]:
        """Credits USDC; repeating a reference returns the first deposit.

        `amount_usdc_micro`: Unit: micro-USDC.
        """
        return self._do(
            FundMovement,
            "POST",
            f"/admin/users/{segment(id)}/deposits",
            body=given(amount_usdc_micro=as_units(amount_usdc_micro), reference=reference),
        )

    def withdraw(self, id: str, *, amount_usdc_micro: int, reference: str | None = None) -> Steps[FundMovement]:
        """Debits available USDC; repeating a reference returns the first withdrawal. ApprovalNeededError where another
        operator has to approve it.

        `amount_usdc_micro`: Unit: micro-USDC.
        """
        return self._do_or_ask(
            FundMovement,
            "POST",
            f"/admin/users/{segment(id)}/withdrawals",
            body=given(amount_usdc_micro=as_units(amount_usdc_micro), reference=reference),
        )

    def get_ledger(self) -> Steps[Ledger]:
        """The money of all accounts and the collateral of all markets, and whether the sums close."""
        return self._do(Ledger, "GET", "/admin/ledger")

    def set_rebate(self, id: str, *, rebate_bps: int) -> Steps[MarketRebate]:
        """The part of their fees that makers of the market get back from now on; 0 for none.

        `rebate_bps`: Unit: basis points.
        """
        return self._do(MarketRebate, "PUT", f"/admin/markets/{segment(id)}/rebate", body=given(rebate_bps=rebate_bps))
