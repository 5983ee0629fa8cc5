"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal, Sequence

from ..models import EventStages, Holders, Market, OpenOrderBounds
from .admin_1 import AdminPart1
from .operations import as_list, given
from .requests import segment
from .steps import Steps


class AdminPart2(AdminPart1):
    """One method for each operation."""

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
