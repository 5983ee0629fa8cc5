"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..models import (
    AdminFiatSession,
    AdminFiatSessions,
    ClosedFiatDifference,
    FiatDifferences,
    FiatStatementReport,
    MarketDeployment,
    WaitingMoney,
)
from .admin_3 import AdminPart3
from .operations import as_list, given
from .requests import segment
from .steps import Steps


class AdminPart4(AdminPart3):
    """One method for each operation."""

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
