"""The events of streams. Times of frames are Unix milliseconds; amounts are atomic tokens and micro-USDC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Union

from ..orders import Outcome, Side

StaleCause = Literal["connection", "gap", "checksum", "behind", "unsubscribed"]
BookState = Literal["starting", "live", "stale", "closed"]
OrderStatusName = Literal["open", "partially_filled", "filled", "cancelled", "expired"]


@dataclass(frozen=True)
class Level:
    """All orders at one price."""

    price: Decimal
    """USDC per token."""
    token_quantity_atomic: int
    num_orders: int


@dataclass(frozen=True)
class Levels:
    """Both sides of one outcome, best first."""

    bids: tuple[Level, ...]
    asks: tuple[Level, ...]

    def depth(self, side: Side, token_quantity_atomic: int) -> tuple[int, int]:
        """The part of the book that an order of that side and quantity would take: atomic tokens, and micro-USDC for
        them.
        """
        tokens, notional = 0, Decimal(0)
        for level in self.asks if side == "BUY" else self.bids:
            taken = min(level.token_quantity_atomic, token_quantity_atomic - tokens)
            tokens += taken
            notional += taken * level.price
        return tokens, int(notional)


@dataclass(frozen=True, kw_only=True)
class BookReplaced:
    """The whole book is there: at the start, after a gap, or for a reader that was too slow.

    It stands for all events up to its sequence.
    """

    cause: Literal["start", "resync", "slow_reader"]
    sequence: int
    timestamp: int


@dataclass(frozen=True, kw_only=True)
class Trade:
    """A trade. It changes no level: the delta after it does."""

    sequence: int
    timestamp: int
    trade_id: str
    filled_at: datetime
    outcome_index: Outcome
    taker_side: Side
    price: Decimal
    token_quantity_atomic: int
    notional_usdc_micro: int
    match_type: str


@dataclass(frozen=True, kw_only=True)
class Delta:
    """One order came, changed or went."""

    sequence: int
    timestamp: int
    event: str
    order_id: str
    outcome_index: Outcome
    side: Side
    price: Decimal
    token_quantity_atomic: int
    remaining_token_quantity_atomic: int


@dataclass(frozen=True, kw_only=True)
class BestPrices:
    """The best prices of one outcome have changed; None if a side is empty."""

    sequence: int
    timestamp: int
    outcome_index: Outcome
    best_bid: Decimal | None
    best_ask: Decimal | None
    best_bid_quantity_atomic: int | None
    best_ask_quantity_atomic: int | None


@dataclass(frozen=True, kw_only=True)
class BookStale:
    """The book may be wrong from here on: do not trade on it. It corrects itself."""

    cause: StaleCause
    sequence: int | None


@dataclass(frozen=True, kw_only=True)
class BookLive:
    """The book equals the server's book at this sequence number."""

    sequence: int


BookEvent = Union[BookReplaced, Trade, Delta, BestPrices, BookStale, BookLive]


@dataclass(frozen=True, kw_only=True)
class Fill:
    """A fill of one of the account's orders, from its own side."""

    user_sequence: int
    timestamp: int
    order_id: str
    order_hash: str
    market_id: str
    trade_id: str
    role: Literal["maker", "taker"]
    party_side: Side
    party_outcome_index: Outcome
    price: Decimal
    token_quantity_atomic: int
    notional_usdc_micro: int
    fee_amount: int
    """In units of `fee_asset`."""
    fee_asset: Literal["USDC", "TOKEN"]
    remaining: int
    """What is left of the asset that the order gives, at the signed price."""
    status: OrderStatusName
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class OrderStatus:
    """An order was placed, or has ended; `reason` says why."""

    user_sequence: int
    timestamp: int
    order_id: str
    order_hash: str
    market_id: str
    status: OrderStatusName
    remaining: int
    """What is left of the asset that the order gives, at the signed price."""
    filled_amount: int
    reason: str
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Events that the server cannot send again: read orders, trades and balances since then, and go on.

    `expired`: it does not keep them any more. `restarted`: it numbers events anew, so what is missing is unknown.
    """

    cause: Literal["expired", "restarted"]
    first: int
    """The first missing `user_sequence`."""
    last: int | None
    """The last one; None if it is unknown."""
    since_ms: int | None
    """The time of the last event before, in Unix milliseconds; None if there was none."""


@dataclass(frozen=True, kw_only=True)
class UserStale:
    """The connection was lost, or events are missing: later events still come once each and in order."""

    user_sequence: int | None


@dataclass(frozen=True, kw_only=True)
class UserLive:
    """Nothing is missing up to this event."""

    user_sequence: int | None


UserEvent = Union[Fill, OrderStatus, Gap, UserStale, UserLive]
