# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Tuple


@dataclass(frozen=True, kw_only=True)
class Fill:
    """A part of an answer: Fill."""

    trade_id: str
    price: Decimal
    """Unit: USDC per token."""
    token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    notional_usdc_micro: int
    """Unit: micro-USDC."""
    match_type: Literal["standard", "mint", "merge"]
    maker_order_id: str


@dataclass(frozen=True, kw_only=True)
class PlacementResponse:
    """Places a signed order."""

    order_id: str
    order_hash: str
    status: Literal["open", "partially_filled", "filled", "cancelled", "expired"]
    matches: int
    fills: tuple[Fill, ...]
    remaining: int
    """Of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    remaining_status: Literal["open", "cancelled", "none"]
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReplacedOrder:
    """The old order, as it ended."""

    order_hash: str
    remaining: int
    """What was left of it when it was cancelled. Unit: as maker_amount."""
    filled_amount: int
    """What had been filled of the asset that it gave, at the signed price. Unit: as maker_amount."""
    filled_token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""


@dataclass(frozen=True, kw_only=True)
class CancelReplaceResponse:
    """Cancels an order and places another in one step, or does neither."""

    cancelled_order_hash: str
    order: PlacementResponse
    replaced_order: ReplacedOrder | None = None
    """The old order, as it ended."""


@dataclass(frozen=True, kw_only=True)
class AmendResponse:
    """Replaces an order by one for what is still to be filled: of 10, of which 6 are filled, an amend to 4 keeps all
    that is left, with its time priority, and one to 10 asks for 10 more.
    """

    order_id: str
    order_hash: str
    status: Literal["open", "partially_filled", "filled", "cancelled", "expired"]
    matches: int
    fills: tuple[Fill, ...]
    remaining: int
    """Of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    remaining_status: Literal["open", "cancelled", "none"]
    price: Decimal
    """As signed; of a FOK or FAK perhaps 1.00 and more. Unit: USDC per token."""
    maker_amount: int
    """Unit: micro-USDC of a BUY, atomic tokens of a SELL."""
    taker_amount: int
    """Unit: atomic tokens of a BUY, micro-USDC of a SELL."""
    time_priority: bool
    price_changed: bool
    replaced_order: ReplacedOrder
    """The old order, as it ended."""
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class BatchPlaced:
    """A part of an answer: BatchPlaced."""

    order_id: str
    order_hash: str
    status: Literal["open", "partially_filled", "filled", "cancelled", "expired"]
    matches: tuple[Fill, ...]
    remaining: int
    """Of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    remaining_status: Literal["open", "cancelled", "none"]
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlacedRow:
    """A part of an answer: PlacedRow."""

    index: int
    status: Literal["success"]
    order_hash: str
    order_id: str
    response: BatchPlaced


@dataclass(frozen=True, kw_only=True)
class BatchPlaceRefusal:
    """A part of an answer: BatchPlaceRefusal."""

    index: int
    status: Literal["failed"]
    error: str
    code: str
    details: dict[str, Any] | None = None
    """As in a refusal."""


@dataclass(frozen=True, kw_only=True)
class BatchPlaceResponse:
    """Places up to 15 orders; each succeeds or fails by itself."""

    results: tuple[PlacedRow | BatchPlaceRefusal, ...]
    succeeded: int
    failed: int
    total: int


@dataclass(frozen=True, kw_only=True)
class BatchCancelRow:
    """A part of an answer: BatchCancelRow."""

    order_hash: str
    status: Literal["cancelled"]


@dataclass(frozen=True, kw_only=True)
class BatchCancelRefusal:
    """A part of an answer: BatchCancelRefusal."""

    order_hash: str | None
    status: Literal["failed"]
    error: str
    code: str
    details: dict[str, Any] | None = None
    """As in a refusal."""


@dataclass(frozen=True, kw_only=True)
class BatchCancelResponse:
    """Cancels up to 200 orders by their hashes; each succeeds or fails by itself."""

    results: tuple[BatchCancelRow | BatchCancelRefusal, ...]
    cancelled: int
    failed: int
    total: int


@dataclass(frozen=True, kw_only=True)
class CancelAllResponse:
    """Cancels all open orders of the account."""

    cancelled: int
    message: str


@dataclass(frozen=True, kw_only=True)
class CancelMarketResponse:
    """Cancels the open orders of the account in one market, of both outcomes or of one."""

    message: str
    market_id: str
    cancelled: int


@dataclass(frozen=True, kw_only=True)
class Message:
    """Cancels one order; with `tombstone` an order that has not arrived yet will be refused."""

    message: str


@dataclass(frozen=True, kw_only=True)
class TombstoneResponse:
    """Cancels one order; with `tombstone` an order that has not arrived yet will be refused."""

    message: str
    tombstone_until: datetime


@dataclass(frozen=True, kw_only=True)
class OrderRecord:
    """One order of the account, open or closed."""

    id: str
    order_hash: str
    market_id: str
    side: Literal["BUY", "SELL"]
    price: Decimal
    """As signed; of a FOK or FAK perhaps 1.00 and more. Unit: USDC per token."""
    status: Literal["open", "partially_filled", "filled", "cancelled", "expired"]
    remaining: int
    """Of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    filled_amount: int
    """What is done of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    time_in_force: Literal["GTC", "GTD", "FOK", "FAK"]
    post_only: bool
    created_at: datetime
    filled_token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    average_fill_price: Decimal | None
    """What was really paid or received for a token, before fees. Unit: USDC per token."""
    sequence: int
    """The order of arrival in its market."""
    outcome_index: Literal[0, 1]
    """The outcome whose tokens are bought or sold."""
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueuePosition:
    """The position of a resting order in the queue of its price."""

    ahead_orders: int | None
    ahead_token_quantity_atomic: int | None
    """Unit: atomic tokens (10^-6)."""
    level_token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    sequence: int


OpenOrders = Tuple[OrderRecord, ...]


@dataclass(frozen=True, kw_only=True)
class OrderGroup:
    """A part of an answer: OrderGroup."""

    name: str
    window_seconds: int
    """Unit: seconds."""
    max_token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    filled_token_quantity_atomic: int
    """In the shard where it is closest to the maximum. Unit: atomic tokens (10^-6)."""
    triggered: bool


@dataclass(frozen=True, kw_only=True)
class OrderGroups:
    """The order groups of the account, in the order they were made."""

    order_groups: tuple[OrderGroup, ...]


@dataclass(frozen=True, kw_only=True)
class HeartbeatResponse:
    """Arms the switch: 15 seconds without another heartbeat cancel all open orders."""

    status: Literal["ok"]
    server_time: int
    """Unix seconds. Unit: Unix seconds."""
