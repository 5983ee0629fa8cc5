"""Sends the requests of a client: signed with its API key, or public without one, and repeated as `retry.py` says."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Callable, Mapping
from urllib.parse import quote, urlencode

from ..answers import Answer, AnswerInfo, info_of, result_of
from ..decoding import time_text
from ..errors import ApiError, ProxyError, UnknownOutcomeError
from ..signing import ApiKey, RequestSigner
from .addresses import Addresses, BaseUrl
from .retry import Repeat, RetryPolicy, with_retries
from .steps import Send, Steps

_LEAST_OFFSET_SEC = 2.0
"""The exchange states its time in whole seconds, and an answer takes a moment: less than this is no difference."""
NO_RETRY = RetryPolicy(attempts=1)


@dataclass(frozen=True)
class Options:
    """How requests are sent."""

    timeout_sec: float = 10.0
    """Of one attempt."""
    retry: RetryPolicy = RetryPolicy()
    on_answer: Callable[[AnswerInfo], None] | None = None
    """Called with every answer, those that are retried too; no secret is in it."""
    content_keys: bool = True
    """False: placements have an Idempotency-Key only where a call gives one."""


class ServerClock:
    """The clock of the exchange, as far as this machine knows it: its own and the difference that was stated."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.offset_sec = 0.0
        """Seconds that the exchange's clock is ahead of this machine's; 0 until a difference is known."""

    def own(self) -> float:
        """Unix seconds of this machine."""
        return self._now()

    def now(self) -> float:
        """Unix seconds of the exchange."""
        return self._now() + self.offset_sec

    def measured(self, server_sec: int, sent: float) -> float:
        """Takes over what an answer says that has arrived now. What the exchange is ahead, to about half a second."""
        offset = server_sec + 0.5 - (sent + self._now()) / 2
        self.offset_sec = 0.0 if abs(offset) < _LEAST_OFFSET_SEC else offset
        return offset

    def learns(self, error: ApiError, sent: float) -> bool:
        """True if a request was refused for its time, and another one with the time that is known now may not be."""
        details = error.details if isinstance(error.details, dict) else {}
        server_sec = details.get("server_time")
        if error.status != 401 or details.get("step") != "timestamp" or not isinstance(server_sec, int):
            return False
        before = self.offset_sec
        self.measured(server_sec, sent)
        return abs(self.offset_sec - before) >= _LEAST_OFFSET_SEC


QueryValue = str | int | bool | datetime | date | None


def with_query(path: str, query: Mapping[str, QueryValue]) -> str:
    """Appends a query to a path, without what is None."""
    fields = {name: _query_text(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(fields)}" if fields else path


def _query_text(value: QueryValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return time_text(value) if isinstance(value, (datetime, date)) else str(value)


def segment(text: str) -> str:
    """A part of a path, so that a value from outside cannot address another route."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no part of a path")
    return quote(text, safe="")


def json_text(payload: Any) -> str:
    """The text of a body, as the SDK for JavaScript writes it: the same content has the same Idempotency-Key."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class Requests:
    """The account that requests are of, and where they go."""

    def __init__(self, base_url: BaseUrl, api_key: ApiKey | None, options: Options) -> None:
        self.addresses = Addresses(base_url)
        self.clock = ServerClock()
        self.signer = None if api_key is None else RequestSigner(api_key)
        self.options = options

    def with_options(self, **changes: Any) -> Requests:
        """The same account, addresses and clock with other options."""
        other = object.__new__(Requests)
        other.addresses, other.clock, other.signer = self.addresses, self.clock, self.signer
        other.options = replace(self.options, **changes)
        return other

    def signed_headers(self, method: str, path: str, body: bytes = b"") -> dict[str, str]:
        """Those of one request; a nonce is good once. ValueError without an API key."""
        if self.signer is None:
            raise ValueError(f"{method} {path} needs an API key")
        return self.signer.headers(method, path, body, int(self.clock.now()))

    def send(
        self,
        method: str,
        path: str,
        payload: Any = None,
        headers: Mapping[str, str] = {},
        repeat: Repeat | None = None,
    ) -> Steps[Any]:
        """A request of the account; the JSON of its answer."""
        body = b"" if payload is None else json_text(payload).encode()
        harm: Repeat = repeat or ("once" if method in ("POST", "PATCH") else "harmless")

        def attempt(number: int) -> Steps[Any]:
            return (yield from self.addresses.to_leader(lambda origin: authorized(origin, number)))

        def authorized(origin: str, number: int) -> Steps[Any]:
            sent = self.clock.own()
            for is_last in (False, True):
                own = {**self.signed_headers(method, path, body), **headers}
                try:
                    return (yield from self._once(origin, method, path, body, own, number))
                except ApiError as error:
                    # Nothing was done with a request that was refused for its time.
                    if is_last or not (_signed_before_start(error) or self.clock.learns(error, sent)):
                        raise

        try:
            return (yield from with_retries(attempt, harm, self.options.retry))
        except ProxyError as error:
            if method == "GET":
                raise
            raise UnknownOutcomeError(error, request=f"{method} {path}") from error

    def read(self, path: str) -> Steps[Any]:
        """A public read. Of an account it counts on the account's limit, which is larger and not shared."""
        if self.signer is not None:
            return self.send("GET", path)
        return self.public("GET", path)

    def public(self, method: str, path: str, payload: Any = None, retry: RetryPolicy | None = None) -> Steps[Any]:
        """A request without a key. It only reads, whatever its method."""
        body = b"" if payload is None else json_text(payload).encode()

        def attempt(number: int) -> Steps[Any]:
            send = lambda origin: self._once(origin, method, path, body, {}, number)
            return (yield from self.addresses.to_leader(send))

        return with_retries(attempt, "harmless", retry or self.options.retry)

    def _once(
        self, origin: str, method: str, path: str, body: bytes, headers: Mapping[str, str], attempt: int
    ) -> Steps[Any]:
        content = {"content-type": "application/json"} if body else {}
        answer: Answer = yield Send(origin + path, method, {**content, **headers}, body, self.options.timeout_sec)
        if self.options.on_answer is not None:
            self.options.on_answer(info_of(method, path, attempt, answer))
        return result_of(method, path, answer)


def _signed_before_start(error: ApiError) -> bool:
    """The exchange has restarted after the request was signed."""
    details = error.details if isinstance(error.details, dict) else {}
    return error.status == 401 and details.get("reason") == "signed_before_start"
