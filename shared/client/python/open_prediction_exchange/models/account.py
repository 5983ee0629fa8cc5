# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Tuple


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The account, its wallets and the person it belongs to, for that person alone."""

    id: str
    state: Literal["active", "close_only", "frozen"]
    email: str | None
    display_name: str | None
    wallet_address: str | None
    linked_wallets: tuple[str, ...]
    role: str
    referral_code: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class UsdcBalance:
    """A part of an answer: UsdcBalance."""

    available: int
    """Unit: micro-USDC."""
    reserved: int
    """Unit: micro-USDC."""


@dataclass(frozen=True, kw_only=True)
class TokenBalance:
    """A part of an answer: TokenBalance."""

    market_id: str
    outcome_index: Literal[0, 1]
    available: int
    """Unit: atomic tokens (10^-6)."""
    reserved: int
    """Unit: atomic tokens (10^-6)."""


@dataclass(frozen=True, kw_only=True)
class Balances:
    """The USDC and the tokens of the account, available and reserved."""

    usdc: UsdcBalance
    tokens: tuple[TokenBalance, ...]


@dataclass(frozen=True, kw_only=True)
class FullSets:
    """Turns USDC into as many Yes and No tokens."""

    message: str
    market_id: str
    amount: int
    """Unit: micro-USDC or atomic tokens, of the asset meant."""
    fee_usdc_micro: int | None = None
    """With a chain: what the account has paid for it beside the amount. Unit: micro-USDC."""


@dataclass(frozen=True, kw_only=True)
class Redeemable:
    """A part of an answer: Redeemable."""

    market_id: str
    outcome_index: Literal[0, 1]
    quantity: int
    """Unit: atomic tokens (10^-6)."""
    payout: int
    """Unit: micro-USDC."""
    resolution: str
    resolved_at: datetime


Redeemables = Tuple[Redeemable, ...]


@dataclass(frozen=True, kw_only=True)
class ClaimResponse:
    """Turns all tokens of a decided market into what they pay."""

    message: str
    market_id: str
    tx_hash: str | None


@dataclass(frozen=True, kw_only=True)
class Position:
    """A part of an answer: Position."""

    id: str
    market_id: str
    outcome_index: Literal[0, 1]
    quantity: int
    """Atomic tokens; negative where trading without collateral owes some. Unit: atomic tokens (10^-6)."""
    average_entry_price: Decimal | None
    """Unit: USDC per token."""
    realized_pnl: Decimal | None
    """Unit: USDC."""
    claimed: bool


Positions = Tuple[Position, ...]


@dataclass(frozen=True, kw_only=True)
class NonceFloor:
    """The least nonce that an order of the wallet may be signed with."""

    address: str
    nonce_floor: int
    """Orders of the wallet that are signed with a lower nonce are refused."""


@dataclass(frozen=True, kw_only=True)
class RateLimit:
    """A part of an answer: RateLimit."""

    requests: int
    window_seconds: int
    """Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class EndpointLimit:
    """A part of an answer: EndpointLimit."""

    method: str
    path: str
    requests: int
    window_seconds: int
    """Unit: seconds."""
    remaining: int
    """Unit: requests."""
    reset: int
    """Unix seconds. Unit: Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class RateLimits:
    """The limits of the key, or of the session, and the requests that they still admit, by endpoint."""

    tier: Literal["standard", "premium", "market_maker", None]
    rate_limit_override: RateLimit | None
    enforced: bool
    address: str
    """The address of the client, as the exchange sees it."""
    unread_forwarded_for: str | None
    """What a proxy of the exchange wrote as the address and is none: then `address` is the proxy."""
    limits: tuple[EndpointLimit, ...]


@dataclass(frozen=True, kw_only=True)
class Notification:
    """A part of an answer: Notification."""

    id: str
    """Of the order, market or movement; of a notice its own."""
    type: Literal[
        "order_filled", "order_cancelled", "order_expired", "market_resolved", "deposit", "withdrawal", "security"
    ]
    title: str
    body: str
    read_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Notifications:
    """What has happened to the account without its doing, newest first."""

    items: tuple[Notification, ...]
    next_cursor: str | None
    """Null on the last page."""
    unread_count: int
    """Exact below 1,000; 1,000 are that many or more."""
