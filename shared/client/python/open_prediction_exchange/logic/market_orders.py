"""Orders at the market, and the sessions of the account."""

from __future__ import annotations

from typing import Any, Protocol

from ..amounts import Amount
from ..market_order import LevelsLike, MarketPreview, MarketTerms, market_preview
from ..orders import Outcome, SelfTrade, Side
from .steps import Steps
from .trading import OF_CONTENT, TradingLogic

_MOST_LEVELS = 100
"""An answer has no more."""


class VerifiedBook(Protocol):
    """A book of `stream.open_book`."""

    @property
    def market_id(self) -> str:
        """In lower case."""

    @property
    def state(self) -> str:
        """`live` while it is that of the server."""

    def levels(self, outcome: Outcome = 0) -> LevelsLike:
        """Full depth in terms of one outcome."""


class MarketOrderLogic(TradingLogic):
    """Buys and sells at once, within a bound."""

    def preview_market(
        self,
        side: Side,
        market_id: str,
        *,
        max_slippage: Amount,
        usd: Amount | None = None,
        size: Amount | None = None,
        outcome_index: Outcome = 0,
        book: VerifiedBook | None = None,
    ) -> Steps[MarketPreview]:
        """Exactly what `buy` or `sell` would take from the book of now, in micro-USDC and atomic tokens.

        `book` is a verified book of the same market, in place of the 100 best levels, which are asked for.
        """
        terms = MarketTerms(max_slippage=max_slippage, usd=usd, size=size, outcome_index=outcome_index)
        return (yield from self._previewed(side, market_id, terms, book))

    def buy(
        self,
        market_id: str,
        *,
        max_slippage: Amount,
        usd: Amount | None = None,
        size: Amount | None = None,
        outcome_index: Outcome = 0,
        book: VerifiedBook | None = None,
        min_taker_net: int | None = None,
        self_trade_prevention: SelfTrade | None = None,
        client_order_id: str | None = None,
        order_group: str | None = None,
        maker: str | None = None,
        idempotency_key: str | None = OF_CONTENT,
        deadline_ms: int | None = None,
    ) -> Steps[Any]:
        """Buys at the market: for `usd` USDC at most, or `size` tokens of the outcome.

        No fill is worse than the best price of now by more than `max_slippage` USDC per token ("0.02", or "0" for the
        best alone), and what is not filled at once is cancelled. FakNoFillError if that is all of it.
        """
        terms = MarketTerms(
            max_slippage=max_slippage,
            usd=usd,
            size=size,
            outcome_index=outcome_index,
            min_taker_net=min_taker_net,
            self_trade_prevention=self_trade_prevention,
            client_order_id=client_order_id,
            order_group=order_group,
        )
        intent = (yield from self._previewed("BUY", market_id, terms, book)).intent
        return (yield from self.place(intent, maker=maker, idempotency_key=idempotency_key, deadline_ms=deadline_ms))

    def sell(
        self,
        market_id: str,
        *,
        max_slippage: Amount,
        size: Amount,
        outcome_index: Outcome = 0,
        book: VerifiedBook | None = None,
        min_taker_net: int | None = None,
        self_trade_prevention: SelfTrade | None = None,
        client_order_id: str | None = None,
        order_group: str | None = None,
        maker: str | None = None,
        idempotency_key: str | None = OF_CONTENT,
        deadline_ms: int | None = None,
    ) -> Steps[Any]:
        """Sells `size` tokens of the outcome at the market, likewise."""
        terms = MarketTerms(
            max_slippage=max_slippage,
            size=size,
            outcome_index=outcome_index,
            min_taker_net=min_taker_net,
            self_trade_prevention=self_trade_prevention,
            client_order_id=client_order_id,
            order_group=order_group,
        )
        intent = (yield from self._previewed("SELL", market_id, terms, book)).intent
        return (yield from self.place(intent, maker=maker, idempotency_key=idempotency_key, deadline_ms=deadline_ms))

    def _previewed(
        self, side: Side, market_id: str, terms: MarketTerms, book: VerifiedBook | None
    ) -> Steps[MarketPreview]:
        if book is not None and book.market_id != market_id.lower():
            raise ValueError(f"the book is that of market {book.market_id}")
        if book is not None and book.state != "live":
            raise ValueError(f"the book is {book.state}: it promises nothing")
        kept = yield from self._market(market_id)
        levels: LevelsLike
        if book is not None:
            levels = book.levels(terms.outcome_index)
        else:
            levels = yield from self.book(market_id, terms.outcome_index, levels=_MOST_LEVELS)
        return market_preview(side, kept.market, kept.fee_rate_bps, levels, terms)
