"""Orders at the market: so many dollars or tokens, taken from the book at once, never far from the best price of now.

The rule is that of the SDK for JavaScript (marketOrder.ts), and the vectors of test/vectors/marketOrder.json drive
both: a buyer buys the tokens that the sum pays for at the limit, so it never pays more than the sum, whatever the book
becomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, Sequence

from .amounts import UNITS_PER_TOKEN, Amount, checked_lots, format_price, parse_units
from .orders import Intent, OrderMarket, Outcome, SelfTrade, Side

_BPS = 10_000
_PRICE_UNITS = 10**8
"""Average prices have eight digits, rounded down."""


class LevelLike(Protocol):
    """A level of `client.book`, or of a verified book."""

    @property
    def price(self) -> Decimal:
        """USDC per token."""

    @property
    def token_quantity_atomic(self) -> int:
        """Atomic tokens."""


class LevelsLike(Protocol):
    """Both sides of one outcome, best first."""

    @property
    def bids(self) -> Sequence[LevelLike]:
        """Those who buy."""

    @property
    def asks(self) -> Sequence[LevelLike]:
        """Those who sell."""


@dataclass(frozen=True, kw_only=True)
class MarketTerms:
    """What an order at the market asks for: `usd` of a buyer, or `size` in tokens."""

    max_slippage: Amount
    """A fill may be so much worse than the best price of now, in USDC per token: "0.02", or "0" for the best alone."""
    usd: Amount | None = None
    """USDC that are paid at most."""
    size: Amount | None = None
    """Tokens, a whole number of lots."""
    outcome_index: Outcome = 0
    min_taker_net: int | None = None
    """The least that it receives after fees, in units of the asset that it gets."""
    self_trade_prevention: SelfTrade | None = None
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class MarketPreview:
    """Exactly, in units, what an order at the market would take from the book of now. The book may change before."""

    intent: Intent
    """The order that is placed: it takes what it finds up to its limit, and its rest is cancelled (FAK)."""
    limit_price: Decimal
    """USDC per token."""
    size_atomic: int
    """Atomic tokens that are ordered."""
    limit_micro: int
    """Micro-USDC that a buyer pays at most, and a seller gets at least, if all is filled, before the fee."""
    filled_atomic: int
    """Atomic tokens that the book of now gives or takes."""
    notional_micro: int
    """Micro-USDC for them, before the fee."""
    fee: int
    """Of a buyer in atomic tokens, of a seller in micro-USDC."""
    received: int
    """What arrives after the fee, in the same unit."""
    average_price: Decimal | None
    """USDC per token with eight digits, rounded down; None if the book has nothing up to the limit."""


def market_preview(
    side: Side, market: OrderMarket, fee_rate_bps: int, levels: LevelsLike, terms: MarketTerms
) -> MarketPreview:
    """ValueError where nothing stands on the other side, or where the amount is no whole lot or pays for none."""
    if (terms.usd is None) == (terms.size is None):
        raise TypeError("an order at the market has usd or a size")
    if side == "SELL" and terms.usd is not None:
        raise TypeError("a seller sells a size: usd is what a buyer spends")
    grid = market.ticks_per_unit
    limit = _limit_ticks(side, levels, grid, parse_units(terms.max_slippage))
    lots = _lots_of(terms, grid, limit)
    filled, notional = _swept(side, levels, grid, lots * grid, limit)
    gross = filled if side == "BUY" else notional
    fee = gross * fee_rate_bps // _BPS
    return MarketPreview(
        intent=_intent_of(side, market, terms, limit, lots),
        limit_price=Decimal(format_price(limit, grid)),
        size_atomic=lots * grid,
        limit_micro=lots * limit,
        filled_atomic=filled,
        notional_micro=notional,
        fee=fee,
        received=gross - fee,
        average_price=None if filled == 0 else Decimal(notional * _PRICE_UNITS // filled).scaleb(-8),
    )


def _intent_of(side: Side, market: OrderMarket, terms: MarketTerms, limit: int, lots: int) -> Intent:
    return Intent(
        market_id=market.id,
        outcome_index=terms.outcome_index,
        side=side,
        price_ticks=limit,
        quantity_lots=lots,
        time_in_force="FAK",
        min_taker_net=terms.min_taker_net,
        self_trade_prevention=terms.self_trade_prevention,
        client_order_id=terms.client_order_id,
        order_group=terms.order_group,
    )


def _lots_of(terms: MarketTerms, grid: int, limit: int) -> int:
    if terms.usd is not None:
        lots = parse_units(terms.usd) // limit
    else:
        assert terms.size is not None
        lots, rest = divmod(parse_units(terms.size), grid)
        if rest != 0:
            raise ValueError(f"{terms.size} is no whole number of lots")
    if lots <= 0:
        raise ValueError("the amount pays for no lot of tokens")
    return checked_lots(lots, grid)


def _limit_ticks(side: Side, levels: LevelsLike, grid: int, slippage: int) -> int:
    facing = _facing(side, levels)
    if not facing:
        raise ValueError(f"nothing is {'offered' if side == 'BUY' else 'bid for'} at the moment")
    best, steps = _ticks(facing[0].price, grid), slippage * grid // UNITS_PER_TOKEN
    return min(best + steps, grid - 1) if side == "BUY" else max(best - steps, 1)


def _swept(side: Side, levels: LevelsLike, grid: int, wanted: int, limit: int) -> tuple[int, int]:
    """Atomic tokens that the levels up to the limit have of those that are wanted, and the micro-USDC for them."""
    filled, notional = 0, 0
    for level in _facing(side, levels):
        ticks = _ticks(level.price, grid)
        if filled == wanted or (ticks > limit if side == "BUY" else ticks < limit):
            break
        taken = min(level.token_quantity_atomic, wanted - filled)
        filled += taken
        notional += taken * ticks // grid
    return filled, notional


def _facing(side: Side, levels: LevelsLike) -> Sequence[Any]:
    return levels.asks if side == "BUY" else levels.bids


def _ticks(price: Decimal, grid: int) -> int:
    numerator, denominator = price.as_integer_ratio()
    return numerator * grid // denominator
