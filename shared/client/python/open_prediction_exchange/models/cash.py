# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from .admin_cash import FiatMoney, FiatTransfer


@dataclass(frozen=True, kw_only=True)
class FiatSession:
    """A part of an answer: FiatSession."""

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


@dataclass(frozen=True, kw_only=True)
class FiatSessions:
    """The sessions of the account, newest first."""

    sessions: tuple[FiatSession, ...]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class CreatedFiatSession:
    """Begins to cash in: a session, and the page of the provider to go to."""

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
    session_id: str
    launch_url: str


@dataclass(frozen=True, kw_only=True)
class LaunchToken:
    """Another way to the page of the provider, for a session that has begun to cash in."""

    session_id: str
    status: Literal[
        "initiated", "awaiting_quote", "created", "processing", "completed", "failed", "expired", "cancelled"
    ]
    launch_url: str


@dataclass(frozen=True, kw_only=True)
class FiatTransactionTransferAuthorization:
    """A part of an answer: FiatTransactionTransferAuthorization."""

    nonce: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class FiatTransactionTransfer:
    """A part of an answer: FiatTransactionTransfer."""

    intent_id: str
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
    authorization: FiatTransactionTransferAuthorization


@dataclass(frozen=True, kw_only=True)
class FiatTransaction:
    """The transaction of the provider, or a message while there is none."""

    session_id: str
    status: Literal[
        "initiated", "awaiting_quote", "created", "processing", "completed", "failed", "expired", "cancelled"
    ]
    message: str | None = None
    to_address: str | None = None
    asset: str | None = None
    network: str | None = None
    sell_amount: FiatMoney | None = None
    tx_hash: str | None = None
    created_at: datetime | None = None
    transfer: FiatTransactionTransfer | None = None
