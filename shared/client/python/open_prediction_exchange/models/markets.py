# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class ServerTime:
    """The clock that timestamps of signed requests are compared with."""

    time: int
    """Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class PlatformConfigEip712Domain:
    """A part of an answer: PlatformConfigEip712Domain."""

    name: str
    version: str
    chainId: int
    verifyingContract: str


@dataclass(frozen=True, kw_only=True)
class PlatformConfig:
    """The contracts and the domain that orders are signed for, and totals of the platform."""

    chain_id: int
    exchange_address: str
    market_factory_address: str
    usdc_address: str
    ctf_address: str
    fee_sweeper_address: str
    outcome_slot_count: Literal[2]
    platform_fee_bps: int
    """Unit: basis points."""
    paused: bool
    stage: Literal["open", "post_only", "cancel_only"]
    """What books take: every order, orders that do not cross, or cancels alone."""
    market_factory_paused: bool
    total_markets: int
    total_volume: Decimal
    """USDC. Unit: USDC."""
    total_fees_collected: Decimal
    """USDC. Unit: USDC."""
    history_from: datetime | None
    """Lists of the past and sums over it begin here; null: they are complete (RULES.md 10.17)."""
    eip712_domain: PlatformConfigEip712Domain
    movement_fee_usdc_micro: int | None = None
    """Unit: micro-USDC."""
    least_movement_usdc_micro: int | None = None
    """Unit: micro-USDC."""
    most_movements_a_day: int | None = None


@dataclass(frozen=True, kw_only=True)
class MarketSettlementSource:
    """A part of an answer: MarketSettlementSource."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Market:
    """A part of an answer: Market."""

    id: str
    title: str
    subtitle: str
    description: str
    outcomes: tuple[str, ...]
    category: str
    external_source: str
    resolution_type: Literal["binary"]
    deploy_status: Literal["not_deployed", "pending_deploy", "deploying", "deployed", "failed", "permanently_failed"]
    yes_token_id: int
    no_token_id: int
    created_at: datetime
    updated_at: datetime
    status: Literal["draft", "pending", "active", "locked", "resolving", "resolved", "settled", "cancelled"]
    stage: Literal["open", "post_only", "cancel_only"]
    """What books take: every order, orders that do not cross, or cancels alone."""
    fee_bps: int
    """Unit: basis points."""
    trading_starts_at: datetime
    trading_ends_at: datetime
    total_volume: Decimal
    """USDC. Unit: USDC."""
    current_prices: dict[str, Decimal]
    event_id: str | None = None
    outcome_probabilities: tuple[int, ...] | None = None
    previous_outcome_probabilities: tuple[int, ...] | None = None
    subcategories: tuple[str, ...] | None = None
    external_event_id: str | None = None
    external_market_type: Literal["player_prop", "moneyline", "spread", "total", "other"] | None = None
    series_ticker: str | None = None
    player_name: str | None = None
    player_team_abbrev: str | None = None
    stat_category: str | None = None
    period: str | None = None
    line: Decimal | None = None
    resolution_source: str | None = None
    settlement_sources: tuple[MarketSettlementSource, ...] | None = None
    open_interest: int | None = None
    """Unit: whole contracts."""
    volume_24h: int | None = None
    contract_address: str | None = None
    condition_id: str | None = None
    question_id: str | None = None
    resolved_at: datetime | None = None
    settled_at: datetime | None = None
    payouts: tuple[int, ...] | None = None
    """Millionths of a USDC that a Yes and a No token pay, once it is decided."""
    canonical_sibling_market_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Markets:
    """Markets by status, category or words, newest first unless asked otherwise."""

    markets: tuple[Market, ...]
    total: int
    limit: int
    offset: int
    next_cursor: str | None
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""


@dataclass(frozen=True, kw_only=True)
class RelatedMarkets:
    """The other markets of the same event or series, each question once."""

    markets: tuple[Market, ...]
    totalMarkets: int
    """With those whose question reads like that of a market in the list."""


@dataclass(frozen=True, kw_only=True)
class MarketEvent:
    """A part of an answer: MarketEvent."""

    id: str
    slug: str
    title: str
    description: str
    status: Literal["upcoming", "live", "ended", "cancelled"]
    category: str
    sport_league: str | None
    sport_teams: tuple[str, ...] | None
    image_url: str | None
    start_time: datetime
    external_event_id: str
    external_platform: str
    external_event_subtitle: str | None
    external_event_mutually_exclusive: bool
    winners: Literal[1] | None
    """1: an event set, exactly one market wins; else null."""
    market_count: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class MarketEvents:
    """Events by status, category or words, newest first."""

    events: tuple[MarketEvent, ...]
    total: int
    limit: int
    offset: int
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""
