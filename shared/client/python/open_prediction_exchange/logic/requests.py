"""Sends the requests of a client: with its credentials, or public without any, and repeated as `retry.py` says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Callable, Mapping
from urllib.parse import quote, urlencode

from ..answers import Answer, AnswerInfo, info_of, result_of, text_of
from ..decoding import time_text
from ..errors import ApiError, ProxyError, UnknownOutcomeError
from ..signing import ApiKey
from .credentials import Credentials, KeyCredentials
from .addresses import Addresses, BaseUrl
from .clock import ServerClock
from .retry import Repeat, RetryPolicy, with_retries
from .order_socket import OrderSocket, message_of, socket_result
from .steps import Ask, Send, Steps

NO_RETRY = RetryPolicy(attempts=1)
JSON: Mapping[str, str] = {"content-type": "application/json"}
ReadAnswer = Callable[[str, str, Answer], Any]


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

    def __init__(self, base_url: BaseUrl, credentials: ApiKey | Credentials | None, options: Options) -> None:
        self.addresses = Addresses(base_url)
        self.clock = ServerClock()
        self.credentials = KeyCredentials(credentials, self.clock) if isinstance(credentials, ApiKey) else credentials
        self.options = options
        self.socket: OrderSocket | None = None
        """Takes requests about orders, where one is open."""

    def with_options(self, **changes: Any) -> Requests:
        """The same account, addresses and clock with other options, over HTTP."""
        other = object.__new__(Requests)
        other.addresses, other.clock, other.credentials = self.addresses, self.clock, self.credentials
        other.options, other.socket = replace(self.options, **changes), None
        return other

    def send(
        self,
        method: str,
        path: str,
        payload: Any = None,
        headers: Mapping[str, str] = {},
        repeat: Repeat | None = None,
    ) -> Steps[Any]:
        """A request of the account; the JSON of its answer."""
        socket = self.socket
        message = None if socket is None else message_of(method, path, payload, headers)
        body = b"" if payload is None else json_text(payload).encode()

        def attempt(number: int) -> Steps[Any]:
            if socket is not None and message is not None and socket.is_open:
                return socket_result(method, path, (yield Ask(socket, message, self.options.timeout_sec)))
            return (yield from self._attempt(method, path, body, {**JSON, **headers} if body else headers, number))

        return self._repeated(method, path, attempt, repeat)

    def send_text(
        self, method: str, path: str, text: str, content_type: str, repeat: Repeat | None = None
    ) -> Steps[Any]:
        """The same with a body that is no JSON."""
        headers = {"content-type": content_type}
        attempt = lambda number: self._attempt(method, path, text.encode(), headers, number)
        return self._repeated(method, path, attempt, repeat)

    def read_text(self, path: str) -> Steps[str]:
        """A read of the account whose answer is no JSON."""
        attempt = lambda number: self._attempt("GET", path, b"", {}, number, text_of)
        return self._repeated("GET", path, attempt, None)

    def _repeated(
        self, method: str, path: str, attempt: Callable[[int], Steps[Any]], repeat: Repeat | None
    ) -> Steps[Any]:
        harm: Repeat = repeat or ("once" if method in ("POST", "PATCH") else "harmless")
        try:
            return (yield from with_retries(attempt, harm, self.options.retry))
        except ProxyError as error:
            if method == "GET":
                raise
            raise UnknownOutcomeError(error, request=f"{method} {path}") from error

    def _attempt(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        number: int,
        read: ReadAnswer = result_of,
    ) -> Steps[Any]:
        """Nothing was done with a request that was refused for its credentials: it is sent once more with new ones."""
        if self.credentials is None:
            raise ValueError(f"{method} {path} needs an API key or a session")
        credentials: Credentials = self.credentials

        def authorized(origin: str) -> Steps[Any]:
            sent = self.clock.own()
            for is_last in (False, True):
                own = {**headers, **(yield from credentials.headers(method, path, body))}
                try:
                    return (yield from self._once(origin, method, path, body, own, number, read))
                except ApiError as error:
                    if is_last or not (yield from credentials.renewed(error, own, sent)):
                        raise

        return (yield from self.addresses.to_leader(authorized))

    def read(self, path: str) -> Steps[Any]:
        """A public read. Of an account it counts on the account's limit, which is larger and not shared."""
        if self.credentials is not None:
            return self.send("GET", path)
        return self.public("GET", path)

    def public(self, method: str, path: str, payload: Any = None, retry: RetryPolicy | None = None) -> Steps[Any]:
        """A request without a key. It only reads, whatever its method."""
        body = b"" if payload is None else json_text(payload).encode()

        def attempt_of(attempt: int) -> Steps[Any]:
            headers = JSON if body else {}
            send = lambda origin: self._once(origin, method, path, body, headers, attempt)
            return (yield from self.addresses.to_leader(send))

        return with_retries(attempt_of, "harmless", retry or self.options.retry)

    def post(self, path: str, payload: Any, headers: Mapping[str, str] = {}) -> Steps[Any]:
        """A change of a session's own, in one attempt, with the headers that it is given."""
        body = json_text(payload).encode()
        own = {**JSON, **headers}
        return self.addresses.to_leader(lambda origin: self._once(origin, "POST", path, body, own, 1))

    def _once(
        self,
        origin: str,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        attempt: int,
        read: ReadAnswer = result_of,
    ) -> Steps[Any]:
        answer: Answer = yield Send(origin + path, method, headers, body, self.options.timeout_sec)
        if self.options.on_answer is not None:
            self.options.on_answer(info_of(method, path, attempt, answer))
        return read(method, path, answer)
