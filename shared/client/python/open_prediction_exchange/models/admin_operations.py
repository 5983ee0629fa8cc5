# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from .admin_catalogue import StageCounts
from .admin_settlement import SettlementState


@dataclass(frozen=True, kw_only=True)
class OperationsOperator:
    """A part of an answer: OperationsOperator."""

    name: str
    roles: tuple[Literal["viewer", "catalogue", "treasury", "superuser"], ...]


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Seconds from the ring until a command runs."""

    counts: tuple[int, ...]
    """By bucket since the start; the last one is above all bounds."""
    sum: Decimal


@dataclass(frozen=True, kw_only=True)
class ShardState:
    """A part of an answer: ShardState."""

    shard: int
    ready: bool
    verifier: str | None
    signature_differences: int
    open_orders: int
    journal_sequence: int
    unanswered_commands: int
    command_ring_bytes: int
    command_ring_capacity_bytes: int
    event_ring_bytes: int
    reserve_bytes: int
    views_lag_records: int
    projector_lag_records: int
    projector_lag_seconds: Decimal
    """Unit: seconds."""
    queue: Histogram
    """Seconds from the ring until a command runs."""
    commit: Histogram
    """Seconds."""
    batch: Histogram
    """Commands that share a commit, by `bounds_commands`."""
    place: Histogram
    """Seconds from the ring until the reply of an order."""
    cancel: Histogram
    """The same of cancels."""


@dataclass(frozen=True, kw_only=True)
class OperationsRoute:
    """A part of an answer: OperationsRoute."""

    method: str
    route: str
    counts: tuple[int, ...]
    sum: Decimal


@dataclass(frozen=True, kw_only=True)
class OperationsRefusal:
    """A part of an answer: OperationsRefusal."""

    code: str
    count: int


@dataclass(frozen=True, kw_only=True)
class OperationsRateLimit:
    """A part of an answer: OperationsRateLimit."""

    allowed: int
    quota_denied: int
    dependency_unavailable: int


@dataclass(frozen=True, kw_only=True)
class PlacingStateTurnedAwayItem:
    """A part of an answer: PlacingStateTurnedAwayItem."""

    code: str
    count: int


@dataclass(frozen=True, kw_only=True)
class PlacingState:
    """A part of an answer: PlacingState."""

    taken: int
    turned_away: tuple[PlacingStateTurnedAwayItem, ...]
    """Refused for a cause of the exchange."""


@dataclass(frozen=True, kw_only=True)
class ClockState:
    """A part of an answer: ClockState."""

    set_back: bool
    shifts: int
    refused_accounts: int
    clients_ahead_seconds: Decimal | None
    """The middle of the clocks of clients. Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class OperationsBound:
    """A part of an answer: OperationsBound."""

    name: str
    used: int
    most: int


@dataclass(frozen=True, kw_only=True)
class OperationsDamagedItem:
    """A part of an answer: OperationsDamagedItem."""

    kind: str
    count: int


@dataclass(frozen=True, kw_only=True)
class OperationsConnections:
    """A part of an answer: OperationsConnections."""

    open: int
    stream: int
    refused: int


@dataclass(frozen=True, kw_only=True)
class OperationsEventLoop:
    """A part of an answer: OperationsEventLoop."""

    delay: Histogram
    active_seconds: Decimal
    """Unit: seconds."""
    idle_seconds: Decimal
    """Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class OperationsQueries:
    """A part of an answer: OperationsQueries."""

    waiting: int
    run: Histogram


@dataclass(frozen=True, kw_only=True)
class OperationsDiskFile:
    """A part of an answer: OperationsDiskFile."""

    name: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class OperationsDisk:
    """A part of an answer: OperationsDisk."""

    low: bool
    free_bytes: int
    reserve_bytes: int
    growth_bytes_per_day: int | None
    """Over six hours; negative while free space grows."""
    files: tuple[OperationsDiskFile, ...]


@dataclass(frozen=True, kw_only=True)
class ClusterLeader:
    """Null while no member leads."""

    member: str
    address: str
    epoch: int


@dataclass(frozen=True, kw_only=True)
class ClusterHandOver:
    """The member that is to lead in the place of the leader; null: none is."""

    member: str
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class ClusterLog:
    """A part of an answer: ClusterLog."""

    first_position: int
    """The oldest row that is kept; 0: there is none."""
    last_position: int
    bytes: int
    """The room that the log takes in the database."""
    problem: str | None
    """Why it cannot be read or written; null: it can."""
    waiting_rows: int
    """Rows of this member that the log does not hold yet."""
    waiting_bytes: int
    oldest_wait_seconds: Decimal
    """How long the oldest of them has waited. Unit: seconds."""
    append_seconds: Decimal
    """How long the last rows took. Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class ClusterFormat:
    """A part of an answer: ClusterFormat."""

    layout: str
    written: int | None
    next: int


@dataclass(frozen=True, kw_only=True)
class ClusterMemberRead:
    """A part of an answer: ClusterMemberRead."""

    layout: str
    newest: int


@dataclass(frozen=True, kw_only=True)
class ClusterMember:
    """A part of an answer: ClusterMember."""

    member: str
    address: str
    version: str
    """Of its program; empty: too old to say."""
    reads: tuple[ClusterMemberRead, ...]
    """The newest format of each layout that it reads (RULES.md 18.15); none: too old to say."""
    disk_low: bool
    """Its disk is nearly full (RULES.md 10.8): it is no member to hand the lead to."""
    problem: str | None
    """Why its files do not agree with the log (RULES.md 18.25); null: they do."""
    role: Literal["leader", "standby"]
    applied_position: int
    """It has the rows up to this one durably; a leader says so a minute later."""
    behind_rows: int | None
    """Rows of the log that it has not applied; null of the leader."""
    silent_seconds: Decimal
    """Since it last reported; members report each second. Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class DatabaseStandby:
    """A part of an answer: DatabaseStandby."""

    name: str
    """As synchronous_standby_names has it."""
    state: str | None
    sync_state: str | None
    """`sync` or `quorum`: commits wait for it."""
    behind_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class ClusterDatabase:
    """The server of the database that is written, and those that follow it; members of a standby are null where the
    user of the database may not see them.
    """

    server: str
    standbys: tuple[DatabaseStandby, ...]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Null on one machine."""

    member: str
    """The one that answers."""
    role: Literal["leader", "standby"]
    epoch: int
    stale_seconds: Decimal | None
    """How long ago the log held what this standby shows; null of a leader. Unit: seconds."""
    leader: ClusterLeader | None
    """Null while no member leads."""
    hand_over: ClusterHandOver | None
    """The member that is to lead in the place of the leader; null: none is."""
    log: ClusterLog
    formats: tuple[ClusterFormat, ...]
    """The format of each layout that the newest lead writes, and that of the next lead."""
    members: tuple[ClusterMember, ...]
    database: ClusterDatabase | None
    """The server of the database that is written, and those that follow it; members of a standby are null where the
    user of the database may not see them.
    """


@dataclass(frozen=True, kw_only=True)
class Operations:
    """Shards, lags, latencies, refusals and disk: counters since the start, and how things stand."""

    time: int
    """Unix milliseconds."""
    started: int
    """Of the start: counters begin there."""
    operator: OperationsOperator
    status: Literal["starting", "standby", "ready", "degraded", "draining"]
    reason: str | None
    paused: bool
    stage: Literal["open", "post_only", "cancel_only"]
    """In which new markets begin: that of the last step of the whole platform."""
    stages: StageCounts
    """Markets that are not decided, by stage."""
    drills: tuple[Literal["NOT_MATCHING_LEADER", "SETTLEMENT_UNHEALTHY"], ...]
    approvals_pending: int
    control_rows_damaged: int
    control_reserve_bytes: int
    reserve_wanted_bytes: int
    bounds_seconds: tuple[Decimal, ...]
    """Upper ends of the buckets. Unit: seconds."""
    bounds_commands: tuple[Decimal, ...]
    """Upper ends of the buckets."""
    shards: tuple[ShardState, ...]
    routes: tuple[OperationsRoute, ...]
    """Seconds, of each route that had any."""
    refusals: tuple[OperationsRefusal, ...]
    rate_limit: OperationsRateLimit
    limits_counted: bool | None
    """False while Redis does not count; null without REDIS_URL."""
    placing: PlacingState
    clock: ClockState
    bounds: tuple[OperationsBound, ...]
    """Tables at whose end something is refused."""
    damaged: tuple[OperationsDamagedItem, ...]
    """Found damaged, cut or lost since the start."""
    audit_written: bool
    """False while the audit log cannot be written."""
    certificate_end: int | None
    """Unix milliseconds; null where another program ends TLS."""
    connections: OperationsConnections
    event_loop: OperationsEventLoop
    queries: OperationsQueries
    disk: OperationsDisk
    memory_bytes: int
    cluster: Cluster | None
    """Null on one machine."""
    settlement: SettlementState | None
    """Null without a chain, and until settlement has reported."""
