"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..models import AdminFiatSession, AdminFiatSessions, FiatStatementReport, FundMovement, Ledger, MarketRebate
from .admin_3 import AdminPart3
from .operations import as_list, as_units, given
from .requests import segment
from .steps import Steps


class AdminPart4(AdminPart3):
    """One method for each operation."""

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

    def sessions(
        self,
        *,
        alarmed: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Steps[AdminFiatSessions]:
        """The queues of cashing in and out, and sessions: the newest, or those that someone has to look at.

        `alarmed`: Only those that someone has to look at.
        `limit`: So many rows at most.
        `offset`: So many rows are left out.
        """
        return self._do(
            AdminFiatSessions, "GET", "/admin/fiat/sessions", query=given(alarmed=alarmed, limit=limit, offset=offset)
        )

    def session(self, id: str) -> Steps[AdminFiatSession]:
        """One session with everything that happened to it, and why."""
        return self._do(AdminFiatSession, "GET", f"/admin/fiat/sessions/{segment(id)}")

    def compare_fiat_statement(
        self,
        *,
        provider: str,
        day: str,
        rows: Sequence[Mapping[str, Any]] | None = None,
    ) -> Steps[FiatStatementReport]:
        """Compares a provider's statement of a day with our sessions; it may be repeated.

        `day`: In UTC, and over: today has no statement yet.
        `rows`: The whole statement of the day. Without it the provider is asked.
        """
        return self._do(
            FiatStatementReport,
            "POST",
            "/admin/fiat/statements",
            body=given(provider=provider, day=day, rows=as_list(rows)),
        )
