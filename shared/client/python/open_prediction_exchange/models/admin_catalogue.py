# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from .admin_settlement import Approval
from .markets import Market, MarketEvent


@dataclass(frozen=True, kw_only=True)
class CatalogueLineReport:
    """A part of an answer: CatalogueLineReport."""

    line: int
    result: Literal["created", "updated", "unchanged", "failed"]
    kind: Literal["event", "event_set", "market"] | None = None
    id: str | None = None
    slug: str | None = None
    error: str | None = None
    code: str | None = None
    details: dict[str, Any] | None = None
    """As in a refusal."""


@dataclass(frozen=True, kw_only=True)
class CatalogueImport:
    """Makes and changes events and markets from lines of JSON, each with a key; what is there already stays."""

    created: int
    updated: int
    unchanged: int
    failed: int
    lines: tuple[CatalogueLineReport, ...]
    """In the order of the request, empty lines left out."""


@dataclass(frozen=True, kw_only=True)
class LiveScore:
    """The latest score of an event, in place of the one before."""

    status: str
    clock: str | None
    period: str | None
    home_score: int
    away_score: int
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Indication:
    """The prices at which a desk says it would trade until a moment, in place of those before."""

    market_id: str
    bid: Decimal
    """Unit: USDC per token."""
    ask: Decimal
    """Unit: USDC per token."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class StageCounts:
    """Markets that are not decided, by stage."""

    open: int
    post_only: int
    cancel_only: int


@dataclass(frozen=True, kw_only=True)
class EventStages:
    """Steps the undecided markets of an event to another stage."""

    event_id: str
    stages: StageCounts
    """Markets that are not decided, by stage."""


@dataclass(frozen=True, kw_only=True)
class Holders:
    """How many accounts hold tokens of a market."""

    accounts: int
    """With tokens of either outcome."""


@dataclass(frozen=True, kw_only=True)
class MarketRebate:
    """The part of their fees that makers of the market get back from now on; 0 for none."""

    market_id: str
    rebate_bps: int
    """Unit: basis points."""
    since: datetime


@dataclass(frozen=True, kw_only=True)
class MarketDeployment:
    """Deploys a market, also one whose deployment was given up."""

    status: Literal["not_deployed", "pending_deploy", "deploying", "deployed", "failed", "permanently_failed"]
    market_id: str
