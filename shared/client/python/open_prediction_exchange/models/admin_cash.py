# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class AdminFiatSessionsQueues:
    """A part of an answer: AdminFiatSessionsQueues."""

    open: int
    alarmed: int
    by_state: dict[str, int]
    """Open sessions by transfer state, or by status of an on-ramp."""
    waiting_events: int
    polls_under_way: int
    relay: Literal["idle", "busy", "waiting"]


@dataclass(frozen=True, kw_only=True)
class FiatMoney:
    """Of an off-ramp, once the provider has fixed it."""

    value: Decimal
    currency: str


@dataclass(frozen=True, kw_only=True)
class OperatedFiatSession:
    """A part of an answer: OperatedFiatSession."""

    id: str
    kind: Literal["onramp", "offramp"]
    provider: str
    status: Literal[
        "initiated", "awaiting_quote", "created", "processing", "completed", "failed", "expired", "cancelled"
    ]
    wallet_address: str
    asset: str
    network: str
    fiat_currency: str
    requested_amount: Decimal | None
    """Unit: fiat_currency of an onramp, USDC of an offramp."""
    sell_amount: FiatMoney | None
    """Of an off-ramp, once the provider has fixed it."""
    buy_amount: FiatMoney | None
    """Of an on-ramp, once the provider has fixed it."""
    provider_transaction_id: str | None
    to_address: str | None
    tx_hash: str | None
    failure_code: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    user_id: str
    partner_reference: str
    provider_status: str
    alarm: str | None
    """Why someone has to look."""
    transfer_state: Literal[
        "awaiting_provider",
        "waiting_for_wallet",
        "submission_pending",
        "submitted_on_chain",
        "provider_funding_reconciling",
        "confirmed",
        "provider_processing",
        "complete",
        "expired",
        "recoverable_error",
    ] | None


@dataclass(frozen=True, kw_only=True)
class AdminFiatSessions:
    """The queues of cashing in and out, and sessions: the newest, or those that someone has to look at."""

    queues: AdminFiatSessionsQueues
    sessions: tuple[OperatedFiatSession, ...]


@dataclass(frozen=True, kw_only=True)
class FiatAuthorization:
    """A part of an answer: FiatAuthorization."""

    nonce: str
    digest: str
    signature: str | None


@dataclass(frozen=True, kw_only=True)
class FiatTxEvidence:
    """A part of an answer: FiatTxEvidence."""

    submitted_tx_hash: str | None
    """The transaction that the exchange has sent last."""
    effective_tx_hash: str | None
    """The transaction that has moved the USDC."""
    reported_tx_hash: str | None
    """Another transaction that the provider names."""
    confirmations: int
    required_confirmations: int


@dataclass(frozen=True, kw_only=True)
class SigningDomain:
    """A part of an answer: SigningDomain."""

    name: str
    version: str
    chainId: int
    verifyingContract: str


@dataclass(frozen=True, kw_only=True)
class Eip712Field:
    """A part of an answer: Eip712Field."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class FiatTypedDataTypes:
    """A part of an answer: FiatTypedDataTypes."""

    TransferWithAuthorization: tuple[Eip712Field, ...]
    EIP712Domain: tuple[Eip712Field, ...]


@dataclass(frozen=True, kw_only=True)
class FiatTypedDataMessage:
    """A part of an answer: FiatTypedDataMessage."""

    from_: str
    to: str
    value: int
    validAfter: int
    validBefore: int
    nonce: str


@dataclass(frozen=True, kw_only=True)
class FiatTypedData:
    """What the wallet signs (eth_signTypedData_v4)."""

    domain: SigningDomain
    types: FiatTypedDataTypes
    primaryType: str
    message: FiatTypedDataMessage


@dataclass(frozen=True, kw_only=True)
class FiatTransfer:
    """A part of an answer: FiatTransfer."""

    session_id: str
    intent_id: str | None
    transfer_state: Literal[
        "awaiting_provider",
        "waiting_for_wallet",
        "submission_pending",
        "submitted_on_chain",
        "provider_funding_reconciling",
        "confirmed",
        "provider_processing",
        "complete",
        "expired",
        "recoverable_error",
    ]
    can_submit: bool
    message: str
    authorization: FiatAuthorization | None
    tx_evidence: FiatTxEvidence
    typed_data: FiatTypedData | None
    """What the wallet signs (eth_signTypedData_v4)."""


@dataclass(frozen=True, kw_only=True)
class AdminFiatSessionEnvelope:
    """A part of an answer: AdminFiatSessionEnvelope."""

    account_nonce: int
    fee: int
    tx_hash: str
    state: Literal["built", "accepted", "dead"]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class FiatTransition:
    """A part of an answer: FiatTransition."""

    subject: Literal["status", "transfer"]
    from_: str | None
    to: str
    cause: str
    evidence: dict[str, Any] | None
    at: datetime


@dataclass(frozen=True, kw_only=True)
class AdminFiatSessionEvent:
    """A part of an answer: AdminFiatSessionEvent."""

    event_id: str
    received_at: datetime
    processed_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class AdminFiatSession:
    """One session with everything that happened to it, and why."""

    session: OperatedFiatSession
    transfer: FiatTransfer | None
    envelopes: tuple[AdminFiatSessionEnvelope, ...]
    claimed_tx_hashes: tuple[str, ...]
    transitions: tuple[FiatTransition, ...]
    events: tuple[AdminFiatSessionEvent, ...]


@dataclass(frozen=True, kw_only=True)
class ClosedFiatDifference:
    """A part of an answer: ClosedFiatDifference."""

    id: int
    provider: str
    transaction_id: str
    """Of the provider; where it has none, the session's."""
    kind: Literal["missing_here", "missing_there", "other_amount", "not_completed_here", "refunded", "charged_back"]
    day: str
    session_id: str | None
    user_id: str | None
    ours_micro: int | None
    """USDC that has moved here. Unit: micro-USDC."""
    theirs_micro: int | None
    """USDC of the statement. Unit: micro-USDC."""
    claim_micro: int
    """Owed by the account, whose balance it does not change. Unit: micro-USDC."""
    found_at: datetime
    closed_at: datetime | None
    closed_by: str | None
    """An operator; empty where a later statement has shown that all is well."""
    note: str | None


@dataclass(frozen=True, kw_only=True)
class FiatStatementReport:
    """Compares a provider's statement of a day with our sessions; it may be repeated."""

    provider: str
    day: str
    rows: int
    matched: int
    """Rows that agree with a session."""
    differences: tuple[ClosedFiatDifference, ...]
    """The open ones that this statement shows."""


@dataclass(frozen=True, kw_only=True)
class FiatDifferences:
    """What statements of providers have that does not agree with our sessions, and what accounts owe."""

    open: int
    claim_micro: int
    """Owed by accounts in all, of the open ones. Unit: micro-USDC."""
    differences: tuple[ClosedFiatDifference, ...]
    """Newest first."""
