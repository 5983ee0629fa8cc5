"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from typing import Literal, Sequence

from ..models import EventSet, EventStages, Indication, LiveScore, Market, PlatformStages
from .admin_1 import AdminPart1
from .operations import UNSET, Unset, as_list, as_time, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart2(AdminPart1):
    """One method for each operation."""

    def settle_event_set(self, id: str) -> Steps[EventSet]:
        """Pays every holder of a decided set who has not claimed."""
        return self._do(EventSet, "POST", f"/admin/event-sets/{segment(id)}/settle")

    def post_score(
        self,
        id: str,
        *,
        status: str,
        home_score: int,
        away_score: int,
        clock: str | None | Unset = UNSET,
        period: str | None | Unset = UNSET,
    ) -> Steps[LiveScore]:
        """The latest score of an event, in place of the one before."""
        return self._do(
            LiveScore,
            "POST",
            f"/admin/events/{segment(id)}/score",
            body={
                **given(status=status, home_score=home_score, away_score=away_score),
                **set_or_null(clock=clock, period=period),
            },
        )

    def post_indication(self, id: str, *, bid: str, ask: str, expires_at: datetime | str) -> Steps[Indication]:
        """The prices at which a desk says it would trade until a moment, in place of those before.

        `bid`: Unit: USDC per token.
        `ask`: Unit: USDC per token.
        """
        return self._do(
            Indication,
            "POST",
            f"/admin/markets/{segment(id)}/indications",
            body=given(bid=bid, ask=ask, expires_at=as_time(expires_at)),
        )

    def step_platform(
        self,
        *,
        stage: Literal["open", "post_only", "cancel_only"],
        expected: Literal["open", "post_only", "cancel_only"] | None = None,
    ) -> Steps[PlatformStages]:
        """Steps every market, and those to come, to another stage: cancel-only, post-only, open.

        `stage`: What books take: every order, orders that do not cross, or cancels alone.
        `expected`: The stage that it is in before. A step to a looser stage needs it.
        """
        return self._do(PlatformStages, "POST", "/admin/platform/stage", body=given(stage=stage, expected=expected))

    def step_event(
        self,
        id: str,
        *,
        stage: Literal["open", "post_only", "cancel_only"],
        expected: Literal["open", "post_only", "cancel_only"] | None = None,
    ) -> Steps[EventStages]:
        """Steps the undecided markets of an event to another stage.

        `stage`: What books take: every order, orders that do not cross, or cancels alone.
        `expected`: The stage that it is in before. A step to a looser stage needs it.
        """
        return self._do(
            EventStages, "POST", f"/admin/events/{segment(id)}/stage", body=given(stage=stage, expected=expected)
        )

    def step_market(
        self,
        id: str,
        *,
        stage: Literal["open", "post_only", "cancel_only"],
        expected: Literal["open", "post_only", "cancel_only"] | None = None,
    ) -> Steps[Market]:
        """Steps a market to another stage.

        `stage`: What books take: every order, orders that do not cross, or cancels alone.
        `expected`: The stage that it is in before. A step to a looser stage needs it.
        """
        return self._do(
            Market, "POST", f"/admin/markets/{segment(id)}/stage", body=given(stage=stage, expected=expected)
        )

    def resolve_market(
        self,
        id: str,
        *,
        outcome_index: Literal[0, 1] | None = None,
        payouts: Sequence[int] | None = None,
    ) -> Steps[Market]:
        """Decides a market: cancels its orders and lets holders claim. ApprovalNeededError where another operator has
        to approve it.
        """
        return self._do_or_ask(
            Market,
            "POST",
            f"/admin/markets/{segment(id)}/resolve",
            body=given(outcome_index=outcome_index, payouts=as_list(payouts)),
        )
