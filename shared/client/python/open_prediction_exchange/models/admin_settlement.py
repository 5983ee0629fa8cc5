# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class SettlementStateWork:
    """A part of an answer: SettlementStateWork."""

    pending: int
    submitted: int
    mined: int


@dataclass(frozen=True, kw_only=True)
class MoveState:
    """A part of an answer: MoveState."""

    from_: str
    state: Literal["open", "claiming", "moving"]
    seconds: Decimal
    left: int


@dataclass(frozen=True, kw_only=True)
class SettlementStateDecisionsForeignItem:
    """A part of an answer: SettlementStateDecisionsForeignItem."""

    market_id: str
    """Of the factory: the exchange may not have it."""
    proposal: int
    """Its number, by which it is vetoed."""
    proposer: str
    payouts: tuple[int, ...]
    """Of Yes and No, in millionths."""
    due_at: datetime
    """From then on anybody may carry it out."""
    is_carried_out: bool
    """A veto comes too late."""


@dataclass(frozen=True, kw_only=True)
class SettlementStateDecisions:
    """A part of an answer: SettlementStateDecisions."""

    wanted: int
    proposed: int
    decided: int
    otherwise: int
    may_propose: bool
    """False while RESOLVER_KEY has no right to propose."""
    delay_seconds: Decimal | None
    """How long a proposal can be vetoed. Unit: seconds."""
    least_delay_seconds: Decimal | None
    """The shortest that can be set. Unit: seconds."""
    foreign: tuple[SettlementStateDecisionsForeignItem, ...]
    """Made by others."""


@dataclass(frozen=True, kw_only=True)
class SettlementStateNode:
    """A part of an answer: SettlementStateNode."""

    node: int
    state: Literal["well", "away", "behind", "differs"]
    reason: str | None
    differences: int


@dataclass(frozen=True, kw_only=True)
class SettlementState:
    """A part of an answer: SettlementState."""

    reason: str | None
    """Why orders are refused."""
    problem: str | None
    """Why the node is not used."""
    head_age_seconds: Decimal | None
    """Unit: seconds."""
    behind_records: int
    work: SettlementStateWork
    oldest_trade_seconds: Decimal
    """Unit: seconds."""
    move: MoveState | None
    refused_payments: int
    foreign_nonces: int
    failed_trades: int
    differences: int
    at_most_fee: bool
    low_keys: tuple[str, ...]
    decisions: SettlementStateDecisions
    nodes: tuple[SettlementStateNode, ...]
    """Where RPC_URL has several, in its order."""


@dataclass(frozen=True, kw_only=True)
class WaitingMovement:
    """A part of an answer: WaitingMovement."""

    kind: Literal["deposit", "sets", "exit", "paid", "taken", "payment"]
    wallet: str
    amount_atomic: int
    """Unit: micro-USDC or atomic tokens, of the asset meant."""
    reference: str
    """The transaction and the number of its log; of a payment `record:<shard>:<sequence>` of the ledger."""
    reason: str | None
    """Null: it is on its way into the ledger. Of a payment: why the chain refuses it."""
    found_at: datetime


@dataclass(frozen=True, kw_only=True)
class WaitingMoney:
    """Money that the ledger does not have yet, and payments that the chain refuses, with the reason."""

    movements: tuple[WaitingMovement, ...]
    """The oldest first; payments that the chain refuses come last."""
    total: int


@dataclass(frozen=True, kw_only=True)
class FailedTrade:
    """A part of an answer: FailedTrade."""

    trade_id: str
    market_id: str
    maker_user_id: str
    taker_user_id: str
    price: Decimal
    """Of Yes. Unit: USDC per token."""
    token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    reason: str
    """The name of the error of the contract."""
    matched_at: datetime
    failed_at: datetime


@dataclass(frozen=True, kw_only=True)
class FailedTrades:
    """Trades that the contract refuses for good: each is tried again or unwound."""

    trades: tuple[FailedTrade, ...]
    """The oldest first; without those that were unwound."""
    next_cursor: int | None


@dataclass(frozen=True, kw_only=True)
class MendedTrade:
    """Has a trade that has failed tried again, once its cause is mended."""

    trade_id: str
    settlement: Literal["unwound", "tried_again"]


@dataclass(frozen=True, kw_only=True)
class ApprovalFailure:
    """Why the change was refused when it was carried out."""

    code: str
    error: str


@dataclass(frozen=True, kw_only=True)
class Approval:
    """Undoes a trade that has failed in the ledger, for both parties; a repeat changes nothing."""

    id: str
    kind: Literal["withdrawal", "resolution", "set_resolution", "contracts", "unwinding", "market_terms", "event_terms"]
    status: Literal["pending", "approved", "carried_out", "failed", "rejected", "expired", "void"]
    """approved until the end of the change is known; void: the operator who asked was revoked."""
    request: dict[str, Any]
    """What is carried out, complete."""
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    failure: ApprovalFailure | None
    """Why the change was refused when it was carried out."""
