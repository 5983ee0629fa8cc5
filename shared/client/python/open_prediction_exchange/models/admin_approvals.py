# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from .admin_settlement import Approval


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """Changes that wait for a second operator or were decided by one, the newest first."""

    approvals: tuple[Approval, ...]
    next_cursor: int | None


@dataclass(frozen=True, kw_only=True)
class IssuedOperator:
    """Makes an operator; the token is shown this once."""

    id: str
    name: str
    roles: tuple[Literal["viewer", "catalogue", "treasury", "superuser"], ...]
    created_at: datetime
    created_by: str
    revoked_at: datetime | None
    token: str
    """Shown this once."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A part of an answer: Operator."""

    id: str
    name: str
    roles: tuple[Literal["viewer", "catalogue", "treasury", "superuser"], ...]
    created_at: datetime
    created_by: str
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Operators:
    """All operators, the revoked ones too, in the order in which they were made."""

    operators: tuple[Operator, ...]


@dataclass(frozen=True, kw_only=True)
class AuditRecordAttempt:
    """A part of an answer: AuditRecordAttempt."""

    address: str
    fault: Literal["missing", "invalid", "role"]
    count: int
    operator: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """A part of an answer: AuditRecord."""

    sequence: int
    time: datetime
    event: Literal[
        "change",
        "result",
        "interrupted",
        "logins_refused",
        "approval_finished",
        "terms_changed",
        "decision_vetoed",
        "admin_token_replaced",
        "start",
        "stop",
        "gap",
        "restored",
    ]
    previous: str
    """The hash of the record before."""
    hash: str
    """SHA-256 of the text of the record up to this member."""
    mac: str
    """The id of the key, and an HMAC of the same text."""
    version: int | None = None
    operator: str | None = None
    operator_id: str | None = None
    address: str | None = None
    method: str | None = None
    path: str | None = None
    body: dict[str, Any] | None = None
    """As in the bodies of the routes, without secrets."""
    of: int | None = None
    """The number of the change."""
    status: int | None = None
    code: str | None = None
    error: str | None = None
    before: dict[str, Any] | None = None
    """As in the bodies of the routes, without secrets."""
    after: dict[str, Any] | None = None
    market_id: str | None = None
    event_id: str | None = None
    payouts: tuple[int, ...] | None = None
    """Of Yes and No, in millionths, as they were proposed."""
    proposal: int | None = None
    """Its number in the contract of resolutions."""
    approval: dict[str, Any] | None = None
    """As in the bodies of the routes, without secrets."""
    count: int | None = None
    attempts: tuple[AuditRecordAttempt, ...] | None = None
    other_attempts: int | None = None
    since: datetime | None = None
    """What happened from this time on is in this record, or is gone after a restore."""
    point: str | None = None
    """The backup that was restored."""
    found: int | None = None
    expected: int | None = None
    expected_hash: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditPageHead:
    """The last record of the log at the time of the answer."""

    sequence: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """The records of the audit log, the newest first."""

    records: tuple[AuditRecord, ...]
    next_cursor: str | None
    head: AuditPageHead
    """The last record of the log at the time of the answer."""
