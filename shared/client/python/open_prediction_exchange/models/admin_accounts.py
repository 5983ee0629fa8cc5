# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .account import Profile, RateLimit, UsdcBalance
from .admin_settlement import Approval
from .sessions import RevokedSessions
from .trading import Message


@dataclass(frozen=True, kw_only=True)
class OpenOrderBounds:
    """The open orders that the account may have, in all markets and in each."""

    max_open_orders: int
    max_open_orders_per_market: int


@dataclass(frozen=True, kw_only=True)
class AdminSessionsSession:
    """A part of an answer: AdminSessionsSession."""

    id: str
    method: str
    user_agent: str | None
    created_at: datetime
    authenticated_at: datetime
    """When the person last proved to be the one."""
    refreshed_at: datetime
    expires_at: datetime
    """Without a further refresh."""


@dataclass(frozen=True, kw_only=True)
class AdminSessions:
    """The sessions of the account that are in force, the one opened last first."""

    sessions: tuple[AdminSessionsSession, ...]


@dataclass(frozen=True, kw_only=True)
class FundMovement:
    """Credits USDC; repeating a reference returns the first deposit."""

    id: str
    type: Literal["deposit", "withdrawal", "split", "merge", "claim"]
    amount_usdc_micro: int
    """Unit: micro-USDC."""
    reference: str
    status: Literal["pending", "completed", "refused"]
    """With a chain a withdrawal is pending here: `GET /v1/user/fund-movements` says when it is paid."""
    created_at: datetime
    fee_usdc_micro: int | None = None
    """Of a withdrawal with a chain: what the account has paid for it beside the amount. Unit: micro-USDC."""


@dataclass(frozen=True, kw_only=True)
class UserPage:
    """The users in the order in which they were made, a page at a time."""

    users: tuple[Profile, ...]
    next_cursor: int | None


@dataclass(frozen=True, kw_only=True)
class ProfileWithBalance:
    """A user and the USDC of the account."""

    id: str
    state: Literal["active", "close_only", "frozen"]
    email: str | None
    display_name: str | None
    wallet_address: str | None
    linked_wallets: tuple[str, ...]
    role: str
    referral_code: str
    created_at: datetime
    usdc: UsdcBalance


@dataclass(frozen=True, kw_only=True)
class Wallets:
    """The linked wallets of the account, the primary one first."""

    wallets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Delegate:
    """Lets another wallet sign orders that a wallet of the account pays for."""

    maker: str
    signer: str


@dataclass(frozen=True, kw_only=True)
class Delegates:
    """Who else may sign orders that a wallet of the account pays for."""

    delegates: tuple[Delegate, ...]


@dataclass(frozen=True, kw_only=True)
class IssuedApiKey:
    """Issues an API key; its secret and passphrase are shown this once."""

    key_id: str
    scopes: tuple[Literal[
        "read:account", "trade:orders", "trade:bulk", "stream:market", "stream:user", "manage:account"
    ], ...]
    tier: Literal["standard", "premium", "market_maker"]
    rate_limit_override: RateLimit | None
    expires_at: datetime | None
    require_signing_version: Literal[1, 2] | None
    self_trade_prevention: Literal["none", "cancel_newest", "cancel_oldest", "cancel_both"]
    allowed_ips: tuple[str, ...] | None
    secret: str
    """Shown this once."""
    passphrase: str
    """Shown this once."""


@dataclass(frozen=True, kw_only=True)
class KnownApiKey:
    """A part of an answer: KnownApiKey."""

    key_id: str
    scopes: tuple[Literal[
        "read:account", "trade:orders", "trade:bulk", "stream:market", "stream:user", "manage:account"
    ], ...]
    tier: Literal["standard", "premium", "market_maker"]
    rate_limit_override: RateLimit | None
    expires_at: datetime | None
    require_signing_version: Literal[1, 2] | None
    self_trade_prevention: Literal["none", "cancel_newest", "cancel_oldest", "cancel_both"]
    allowed_ips: tuple[str, ...] | None
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ApiKeys:
    """The API keys of the account without their secrets, the revoked ones too."""

    api_keys: tuple[KnownApiKey, ...]


@dataclass(frozen=True, kw_only=True)
class RotatedApiKey:
    """Gives an API key another secret and passphrase, shown this once; the former ones are void at once."""

    key_id: str
    secret: str
    """Shown this once."""
    passphrase: str
    """Shown this once."""


@dataclass(frozen=True, kw_only=True)
class Restricted:
    """Restricts what the account may do, or lifts that; open orders that the state forbids are cancelled."""

    id: str
    state: Literal["active", "close_only", "frozen"]
    email: str | None
    display_name: str | None
    wallet_address: str | None
    linked_wallets: tuple[str, ...]
    role: str
    referral_code: str
    created_at: datetime
    orders_cancelled: int
    is_complete: bool
    """False while a shard is away: it cancels the other orders before it trades again."""
