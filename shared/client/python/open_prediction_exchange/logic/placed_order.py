"""An order that was sent: how the exchange has answered, how it ends, how it is replaced and cancelled."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import Any

from ..amounts import Amount, parse_lots, parse_price
from ..answers import leaves_open, meaning_of
from ..error_codes import NotFoundError
from ..errors import ApiError, ExchangeError, UnknownOutcomeError
from ..models import OrderRecord, PlacementResponse, TombstoneResponse
from ..orders import Intent, SignedOrder, grid_of
from .steps import Pause, Steps
from .trading import TradingLogic

CLOSED = ("filled", "cancelled", "expired")
_FIRST_PAUSE_SEC = 0.1
_MOST_PAUSE_SEC = 2.0


class PlacedOrderLogic:
    """The order and the client that has placed it."""

    def __init__(
        self, trading: TradingLogic, intent: Intent, signed: SignedOrder, answer: PlacementResponse | None
    ) -> None:
        self.trading = trading
        self.intent = intent
        self.signed = signed
        self.answer = answer
        self.is_rejected = False

    def record(self) -> Steps[OrderRecord]:
        """The order as it is now; NotFoundError if it never arrived."""
        return self.trading.get_order(self.signed.order_hash)

    def wait(self, timeout_sec: float | None = None) -> Steps[OrderRecord | None]:
        """Waits until the order is filled, cancelled or expired, over lost connections too, and gives its record.

        None if it never became an order and never will: its placement was not answered and `cancel` came before it.
        TimeoutError after `timeout_sec`. It reads the order every two seconds; who follows many orders has them sooner
        from the private events of a stream.
        """
        until = None if timeout_sec is None else time.monotonic() + timeout_sec
        pause = _FIRST_PAUSE_SEC
        while not self.is_rejected:
            try:
                record = yield from self.record()
                if record.status in CLOSED:
                    return record
            except ExchangeError as error:
                is_missing = isinstance(error, NotFoundError)
                if not (is_missing and self.answer is None) and meaning_of(error) == "refused":
                    raise
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"order {self.signed.order_hash} is not closed after {timeout_sec} seconds")
            yield Pause(pause)
            pause = min(_MOST_PAUSE_SEC, pause * 2)
        return None

    def cancel(self) -> Steps[None]:
        """Cancels what is left. One that is closed already stays as it is, which is no error.

        One whose placement was not answered can never arrive after this.
        """
        order_hash = self.signed.order_hash
        try:
            if self.answer is not None:
                yield from self.trading.cancel_order(order_hash)
            else:
                answer = yield from self.trading.cancel_with_tombstone(order_hash)
                self.is_rejected = isinstance(answer, TombstoneResponse)
        except ApiError as error:
            if error.code != "ORDER_NOT_CANCELLABLE":
                raise

    def amend(self, *, price: Amount | None = None, size: Amount | None = None) -> Steps[Any]:
        """Changes what is still to be filled: to another price in USDC per token, another size in tokens, or both.

        The result is the order that takes its place. A smaller size at the same price keeps the priority.
        """
        intent, new = yield from self._changed(price, size)
        try:
            answer = yield from self.trading.amend_order(self.signed.order_hash, new.body)
        except ExchangeError as error:
            raise self._doubtful(error, intent, new) from error
        names = [field.name for field in fields(PlacementResponse)]
        placed = PlacementResponse(**{name: getattr(answer, name) for name in names})
        return self.trading.order_of(intent, new, placed)

    def replace(self, *, price: Amount | None = None, size: Amount | None = None) -> Steps[Any]:
        """Cancels it and places one with another price or size in one step; if that is refused, this one stays."""
        intent, new = yield from self._changed(price, size)
        try:
            answer = yield from self.trading.cancel_replace(self.signed.order_hash, new.body)
        except ExchangeError as error:
            raise self._doubtful(error, intent, new) from error
        return self.trading.order_of(intent, new, answer.order)

    def _doubtful(self, error: ExchangeError, intent: Intent, new: SignedOrder) -> ExchangeError:
        if not leaves_open(error):
            return error
        return UnknownOutcomeError(error, self.trading.order_of(intent, new, None))

    def _changed(self, price: Amount | None, size: Amount | None) -> Steps[tuple[Intent, SignedOrder]]:
        """The order with what is left of it, unless a size is given."""
        grid = (yield from self.trading.kept_market(self.intent.market_id)).ticks_per_unit
        ticks, lots = grid_of(self.intent, grid)
        if price is not None:
            ticks = parse_price(price, grid)
        if size is not None:
            lots = parse_lots(size, grid)
        else:
            lots -= (yield from self.record()).filled_token_quantity_atomic // grid
        exact = replace(self.intent, price=None, size=None, price_ticks=ticks, quantity_lots=lots)
        return exact, (yield from self.trading.sign_order(exact, maker=self.signed.body["maker"]))
