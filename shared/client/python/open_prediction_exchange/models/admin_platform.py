# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .admin_catalogue import StageCounts
from .admin_settlement import Approval
from .markets import Market, MarketEvent
from .trading import Message


@dataclass(frozen=True, kw_only=True)
class EventSet:
    """Makes an event set with its markets, of which exactly one outcome will win."""

    event: MarketEvent
    markets: tuple[Market, ...]


@dataclass(frozen=True, kw_only=True)
class PlatformStages:
    """Steps every market, and those to come, to another stage: cancel-only, post-only, open."""

    stage: Literal["open", "post_only", "cancel_only"]
    """In which new markets begin: that of the last step of the whole platform."""
    stages: StageCounts
    """Markets that are not decided, by stage."""


@dataclass(frozen=True, kw_only=True)
class LedgerSet:
    """A part of an answer: LedgerSet."""

    market_id: str
    yes_atomic: int
    """Unit: atomic tokens (10^-6)."""
    no_atomic: int
    """Unit: atomic tokens (10^-6)."""


@dataclass(frozen=True, kw_only=True)
class ChainDifference:
    """A part of an answer: ChainDifference."""

    holder: Literal["user", "fees", "all"]
    user_id: str | None
    """Of a user."""
    market_id: str | None
    """Of tokens; null: USDC."""
    outcome: Literal["yes", "no"] | None
    ledger_atomic: int
    """Unit: micro-USDC or atomic tokens, of the asset meant."""
    under_way_atomic: int
    """To be added to what the ledger has. Unit: micro-USDC or atomic tokens, of the asset meant."""
    chain_atomic: int
    """Unit: micro-USDC or atomic tokens, of the asset meant."""


@dataclass(frozen=True, kw_only=True)
class ComparedChain:
    """A part of an answer: ComparedChain."""

    block: int | None
    """The last one at which balances were compared."""
    differences: tuple[ChainDifference, ...] | None
    """Null: settlement does not answer."""


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The money of all accounts and the collateral of all markets, and whether the sums close."""

    balanced: bool
    total_usdc_micro: int
    """Unit: micro-USDC."""
    accounts_usdc_micro: int
    """Unit: micro-USDC."""
    fees_usdc_micro: int
    """Unit: micro-USDC."""
    collateral_usdc_micro: int
    """Unit: micro-USDC."""
    sets: tuple[LedgerSet, ...]
    chain: ComparedChain | None = None


@dataclass(frozen=True, kw_only=True)
class PlatformContracts:
    """A part of an answer: PlatformContracts."""

    chain_id: int
    exchange_address: str
    market_factory_address: str
    usdc_address: str
    ctf_address: str
    fee_sweeper_address: str


@dataclass(frozen=True, kw_only=True)
class PlatformStatusShard:
    """A part of an answer: PlatformStatusShard."""

    shard: int
    ready: bool


@dataclass(frozen=True, kw_only=True)
class PlatformStatus:
    """The switches and the state of the shards."""

    paused: bool
    stage: Literal["open", "post_only", "cancel_only"]
    """In which new markets begin: that of the last step of the whole platform."""
    stages: StageCounts
    """Markets that are not decided, by stage."""
    drills: tuple[Literal["NOT_MATCHING_LEADER", "SETTLEMENT_UNHEALTHY"], ...]
    disk_low: bool
    contracts: PlatformContracts
    contracts_pending: PlatformContracts | None
    """A change that was started and is not in every shard yet; until it is, no orders are accepted."""
    shards: tuple[PlatformStatusShard, ...]


@dataclass(frozen=True, kw_only=True)
class ActiveDrills:
    """While a drill is enabled, everything that places is refused with its code. A restart ends it."""

    drills: tuple[Literal["NOT_MATCHING_LEADER", "SETTLEMENT_UNHEALTHY"], ...]


@dataclass(frozen=True, kw_only=True)
class AlertTest:
    """Lets the alert TestAlert ring for two minutes: a test of the way to the person on call."""

    until: datetime


@dataclass(frozen=True, kw_only=True)
class BackupReport:
    """The backup that was asked for last, and how backups and drills ended."""

    folder: str | None
    """The folder of backups that a setting allows; null: none, and no backup can be asked for."""
    state: Literal["none", "running", "done", "failed"]
    """Of the last backup that was asked for since the start."""
    started_at: datetime | None
    ended_at: datetime | None
    read_bytes: int
    """Bytes that it has read so far."""
    directory_bytes: int
    """Bytes of the data directory; 0 until it has looked."""
    lines: tuple[str, ...]
    """What it says, at its end."""
    backed_up_at: datetime | None
    """The end of the last whole backup; of those of the local command, too."""
    failed_at: datetime | None
    """Since then one has failed."""
    restored_at: datetime | None
    """The end of the last drill in which one was restored."""
    drill_failed_at: datetime | None
    """Since then a drill has failed."""
