# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .account import Profile
from .trading import Message


@dataclass(frozen=True, kw_only=True)
class Session:
    """Opens a session for the account of the wallet that has signed the message, which is made if there is none."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    """Seconds. Unit: seconds."""
    user: Profile
    is_new: bool
    """The account was made by this sign-in."""
    refresh_token: str | None = None
    redirect_path: str | None = None
    """Only from /v1/auth/callback."""


@dataclass(frozen=True, kw_only=True)
class WalletMessage:
    """The message with which a wallet signs in, with a nonce that is good once."""

    nonce: str
    message: str
    """EIP-4361."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """A ticket that opens one socket of this session: the parameter `ticket` of the upgrade."""

    ticket: str
    expires_in: int
    """Seconds. Unit: seconds."""


@dataclass(frozen=True, kw_only=True)
class OwnSessionsSession:
    """A part of an answer: OwnSessionsSession."""

    id: str
    method: str
    user_agent: str | None
    created_at: datetime
    authenticated_at: datetime
    """When the person last proved to be the one."""
    refreshed_at: datetime
    expires_at: datetime
    """Without a further refresh."""
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class OwnSessions:
    """The sessions of the account that are in force, the one opened last first."""

    sessions: tuple[OwnSessionsSession, ...]


SessionMessage = Message


@dataclass(frozen=True, kw_only=True)
class RevokedSessions:
    """Ends all sessions of the account, this one too."""

    message: str
    revoked: int
