"""What an answer says of its request. A request counts as refused only where the exchange itself has said so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Mapping, NoReturn

from .error_codes import CODES, STATUSES
from .errors import ApiError, ExchangeError, NoAnswerError, NotConnectedError, ProxyError, RedirectError
from .errors import UnexpectedAnswerError, UnknownOutcomeError

Meaning = Literal["refused", "not now", "open", "fault"]
"""`refused`: the exchange has looked at it and says no. `not now`: nothing was done, and another moment may be better.
`open`: it may have been carried out, and a repeat finds out. `fault`: it may have been, and a repeat says the same."""

_MEANINGS: dict[str, Meaning] = {
    "RATE_LIMITED": "not now",
    "RATE_LIMIT_DEPENDENCY_UNAVAILABLE": "not now",
    "ENGINE_BUSY": "not now",
    "OUTCOME_UNKNOWN": "open",
    "IDEMPOTENCY_KEY_IN_PROGRESS": "open",
    "INTERNAL_ERROR": "fault",
}


@dataclass(frozen=True)
class Answer:
    """An answer as it has arrived."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    text: str


@dataclass(frozen=True)
class AnswerInfo:
    """The part of an answer that a program may log: nothing of it is secret."""

    method: str
    path: str
    status: int
    attempt: int
    """From 1."""
    request_id: str | None
    is_replayed: bool
    """True if the answer is that of an earlier request with the same Idempotency-Key."""
    rate_limit: int | None
    """Requests of a window of the endpoint; None where the exchange counts none."""
    rate_remaining: int | None
    rate_reset_sec: int | None
    """Unix seconds at which the whole quota is free again."""


def info_of(method: str, path: str, attempt: int, answer: Answer) -> AnswerInfo:
    """The part of the answer that may be logged."""
    headers = answer.headers
    limit, remaining, reset = (_whole(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset"))
    is_replayed = headers.get("idempotency-replayed") == "true"
    request_id = headers.get("x-request-id")
    return AnswerInfo(method, path, answer.status, attempt, request_id, is_replayed, limit, remaining, reset)


def parse_json(text: str) -> Any:
    """The exact value: numbers with a point are Decimals. ValueError if the text is not JSON."""
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def result_of(method: str, path: str, answer: Answer) -> Any:
    """The value of a 2xx answer; raises an error for any other. Every change is answered with an object."""
    status = answer.status
    if 300 <= status < 400:
        raise RedirectError(status, f"{method} {path} was answered with a redirect, which is not followed")
    try:
        value = parse_json(answer.text)
    except (ValueError, RecursionError):
        value = None
    retry_after = _whole(answer.headers.get("retry-after"))
    return result_of_value(method, path, status, value, retry_after, answer.headers.get("x-request-id"))


def result_of_value(
    method: str, path: str, status: int, value: Any, retry_after: int | None, request_id: str | None
) -> Any:
    """The value of a successful answer; raises an error for any other."""
    if 200 <= status < 300 and value is not None and (method == "GET" or isinstance(value, (dict, list))):
        return value
    said = value if isinstance(value, dict) else {}
    code, message = said.get("code"), said.get("error")
    if not isinstance(code, str) or code not in CODES or status not in STATUSES:
        raise ProxyError(status, f"{method} {path} was not answered by the exchange", retry_after)
    text = message if isinstance(message, str) else f"unexpected answer with HTTP status {status}"
    raise CODES[code](status, code, text, said.get("details"), retry_after, request_id)


def text_of(method: str, path: str, answer: Answer) -> str:
    """The text of a 2xx answer; raises an error for any other."""
    if 200 <= answer.status < 300:
        return answer.text
    result_of(method, path, answer)
    raise ProxyError(answer.status, f"{method} {path} was not answered by the exchange")


def meaning_of(error: BaseException) -> Meaning | None:
    """None for an error of the program that no answer caused."""
    if isinstance(error, ApiError):
        return _MEANINGS.get(error.code, "refused")
    if isinstance(error, (UnknownOutcomeError, RedirectError, UnexpectedAnswerError)):
        return "fault"
    if isinstance(error, NotConnectedError):
        return "not now"
    return "open" if isinstance(error, (NoAnswerError, ProxyError)) else None


def leaves_open(error: BaseException) -> bool:
    """True for failures after which it is unknown whether the request was carried out."""
    return meaning_of(error) in ("open", "fault")


def retry_after_of(error: ExchangeError) -> int | None:
    """Seconds."""
    return error.retry_after if isinstance(error, (ApiError, ProxyError)) else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,15}", text) else None
