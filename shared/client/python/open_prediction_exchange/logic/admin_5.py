"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from ..models import ClosedFiatDifference, FailedTrades, FiatDifferences, MarketDeployment, MendedTrade, WaitingMoney
from .admin_4 import AdminPart4
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart5(AdminPart4):
    """One method for each operation."""

    def list_fiat_differences(
        self,
        *,
        all: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Steps[FiatDifferences]:
        """What statements of providers have that does not agree with our sessions, and what accounts owe.

        `all`: The closed ones too.
        `limit`: So many rows at most.
        `offset`: So many rows are left out.
        """
        return self._do(
            FiatDifferences, "GET", "/admin/fiat/differences", query=given(all=all, limit=limit, offset=offset)
        )

    def close_fiat_difference(self, difference: str, *, note: str) -> Steps[ClosedFiatDifference]:
        """Closes a difference once it is cleared up, with a note of how."""
        return self._do(
            ClosedFiatDifference, "POST", f"/admin/fiat/differences/{segment(difference)}/close", body=given(note=note)
        )

    def deploy_market(self, id: str) -> Steps[MarketDeployment]:
        """Deploys a market, also one whose deployment was given up."""
        return self._do(MarketDeployment, "POST", f"/admin/markets/{segment(id)}/deploy")

    def list_waiting_money(self, *, limit: int | None = None, offset: int | None = None) -> Steps[WaitingMoney]:
        """Money that the ledger does not have yet, and payments that the chain refuses, with the reason.

        `limit`: So many rows at most.
        `offset`: So many rows are left out.
        """
        return self._do(WaitingMoney, "GET", "/admin/settlement/money", query=given(limit=limit, offset=offset))

    def list_failed_trades(self, *, limit: int | None = None, cursor: int | None = None) -> Steps[FailedTrades]:
        """Trades that the contract refuses for good: each is tried again or unwound.

        `limit`: So many rows at most.
        `cursor`: The next_cursor of the page before.
        """
        return self._do(FailedTrades, "GET", "/admin/settlement/failed", query=given(limit=limit, cursor=cursor))

    def retry_trade(self, id: str) -> Steps[MendedTrade]:
        """Has a trade that has failed tried again, once its cause is mended."""
        return self._do(MendedTrade, "POST", f"/admin/settlement/trades/{segment(id)}/retry")

    def unwind_trade(self, id: str) -> Steps[MendedTrade]:
        """Undoes a trade that has failed in the ledger, for both parties; a repeat changes nothing. ApprovalNeededError
        where another operator has to approve it.
        """
        return self._do_or_ask(MendedTrade, "POST", f"/admin/settlement/trades/{segment(id)}/unwind")
