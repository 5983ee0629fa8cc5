# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class TickSize:
    """The grid of a market: its price step, its lot and its smallest order."""

    market_id: str
    tick_size: Decimal
    """Unit: USDC per token."""
    ticks_per_unit: int
    """Unit: ticks per USDC."""
    lot_size_atomic: int
    """Unit: atomic tokens (10^-6)."""
    min_order_size_atomic: int
    """Unit: atomic tokens (10^-6)."""


@dataclass(frozen=True, kw_only=True)
class FeeRate:
    """The fee rate that orders of a market are signed with."""

    market_id: str
    maker_fee_bps: int
    """Unit: basis points."""
    taker_fee_bps: int
    """Unit: basis points."""
    maker_fee_pct: str
    taker_fee_pct: str


@dataclass(frozen=True, kw_only=True)
class Bbo:
    """The best bid and offer of one outcome."""

    market_id: str
    outcome_index: Literal[0, 1]
    best_bid: Decimal | None
    """Unit: USDC per token."""
    best_ask: Decimal | None
    """Unit: USDC per token."""
    spread: Decimal | None
    """Unit: USDC per token."""
    midpoint: Decimal | None
    """Unit: USDC per token."""
    timestamp: int
    """Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class Bbos:
    """The best bids and offers of up to 50 outcomes, all of one moment."""

    markets: tuple[Bbo, ...]


@dataclass(frozen=True, kw_only=True)
class BookLevel:
    """A part of an answer: BookLevel."""

    price: Decimal
    """Unit: USDC per token."""
    num_orders: int
    token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    notional_usdc_micro: int
    """Unit: micro-USDC."""
    size: int
    """The sum of what the makers still provide, each in its asset. Unit: deprecated: mixes units."""


@dataclass(frozen=True, kw_only=True)
class Book:
    """The book of a market: one outcome or both, by level or (`l3`) by order."""

    market_id: str
    sequence: int
    timestamp: int
    """Unix milliseconds."""
    outcome_index: Literal[0, 1]
    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]


@dataclass(frozen=True, kw_only=True)
class BookSides:
    """A part of an answer: BookSides."""

    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]


@dataclass(frozen=True, kw_only=True)
class BothBooks:
    """The book of a market: one outcome or both, by level or (`l3`) by order."""

    market_id: str
    sequence: int
    timestamp: int
    """Unix milliseconds."""
    outcome_0: BookSides
    outcome_1: BookSides


@dataclass(frozen=True, kw_only=True)
class Candle:
    """A part of an answer: Candle."""

    start: int
    """Unix seconds."""
    open: Decimal | None
    """Of the first trade; null in an interval without one, as are the other prices."""
    high: Decimal | None
    low: Decimal | None
    close: Decimal | None
    token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    notional_usdc_micro: int
    """The tokens at the prices of this outcome. Unit: micro-USDC."""
    volume_usdc_micro: int
    """The same trades at the takers' prices, as in every volume. Unit: micro-USDC."""
    trades: int
    is_open: bool
    """The interval may have more trades yet."""


@dataclass(frozen=True, kw_only=True)
class Candles:
    """The trading of a market by interval, without a gap: prices, volumes and number of trades."""

    market_id: str
    outcome_index: Literal[0, 1]
    interval: Literal["1m", "5m", "15m", "1h", "4h", "1d"]
    candles: tuple[Candle, ...]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Ticker:
    """The last price, the trading of 24 hours and the best prices of one outcome of a market."""

    market_id: str
    outcome_index: Literal[0, 1]
    last_price: Decimal | None
    """Of the last trade ever. Unit: USDC per token."""
    change: Decimal | None
    """From the first to the last trade of the 24 hours."""
    open: Decimal | None
    high: Decimal | None
    low: Decimal | None
    token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    notional_usdc_micro: int
    """The tokens at the prices of this outcome. Unit: micro-USDC."""
    volume_usdc_micro: int
    """The same trades at the takers' prices, as in every volume. Unit: micro-USDC."""
    trades: int
    best_bid: Decimal | None
    """Unit: USDC per token."""
    best_ask: Decimal | None
    """Unit: USDC per token."""
    best_bid_quantity_atomic: int | None
    """Unit: atomic tokens (10^-6)."""
    best_ask_quantity_atomic: int | None
    """Unit: atomic tokens (10^-6)."""
    spread: Decimal | None
    """Unit: USDC per token."""
    midpoint: Decimal | None
    """Unit: USDC per token."""
    open_interest_atomic: int
    """The full sets that exist. Unit: atomic tokens (10^-6)."""
    sequence: int
    timestamp: int
    """Unix milliseconds; since then it reads so."""


@dataclass(frozen=True, kw_only=True)
class Tickers:
    """The tickers of Yes of every market that is not decided, each of one moment."""

    tickers: tuple[Ticker, ...]


@dataclass(frozen=True, kw_only=True)
class MarketTrade:
    """A part of an answer: MarketTrade."""

    id: str
    price: Decimal
    """Of Yes. Unit: USDC per token."""
    amount: int
    """Tokens, in atomic units. Unit: atomic tokens (10^-6)."""
    side: Literal["BUY", "SELL"]
    """Of the taker, in terms of Yes: buying No is selling Yes."""
    timestamp: int


@dataclass(frozen=True, kw_only=True)
class MarketTrades:
    """The newest 100 trades of a market."""

    trades: tuple[MarketTrade, ...]
