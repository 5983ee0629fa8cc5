"""Requests about orders as messages of a socket, in place of HTTP.

A message has the body that the route takes over HTTP, and what that has in its path and headers. What it cannot carry
to the letter goes over HTTP.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Protocol
from urllib.parse import unquote

from ..answers import result_of_value
from .steps import Asked

_ACTIONS = {
    "POST /v1/orders": "place",
    "POST /v1/orders/cancel-replace": "cancel_replace",
    "POST /v1/orders/batch": "batch_place",
    "DELETE /v1/orders/batch": "batch_cancel",
    "DELETE /v1/orders/cancel-all": "cancel_all",
    "DELETE /v1/orders/cancel-market": "cancel_market",
    "POST /v1/orders/heartbeat": "heartbeat",
}
_BY_CLIENT_ID = re.compile(r"/v1/orders/by-client-id/([^/?]+)")
_BY_HASH = re.compile(r"/v1/orders/(0x[0-9a-fA-F]{64})(/amend|\?tombstone=1)?")
_NOT_OF_BODIES = {"action", "order_hash", "tombstone", "idempotency_key", "deadline"}
"""In a body they would take the place of the path or a header."""
_HEADERS = {"idempotency-key": "idempotency_key", "x-svc-deadline": "deadline"}
Message = Mapping[str, Any]


class OrderSocket(Asked, Protocol):
    """A socket that takes orders."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent; while not, requests go over HTTP."""


def message_of(method: str, path: str, payload: Any, headers: Mapping[str, str]) -> Message | None:
    """The `data` of a message; None for what goes over HTTP."""
    action = _action_of(method, path)
    fields = {} if payload is None else payload
    if action is None or not isinstance(fields, Mapping) or _NOT_OF_BODIES & fields.keys():
        return None
    if not headers.keys() <= _HEADERS.keys():
        return None
    return {**action, **fields, **{_HEADERS[name]: value for name, value in headers.items()}}


def _action_of(method: str, path: str) -> Message | None:
    action = _ACTIONS.get(f"{method} {path}")
    if action is not None:
        return {"action": action}
    by_client_id = _BY_CLIENT_ID.fullmatch(path)
    if method == "DELETE" and by_client_id is not None:
        return {"action": "cancel", "client_order_id": unquote(by_client_id[1])}
    by_hash = _BY_HASH.fullmatch(path)
    if by_hash is None:
        return None
    if method == "PUT" and by_hash[2] == "/amend":
        return {"action": "amend", "order_hash": by_hash[1]}
    if method != "DELETE" or by_hash[2] == "/amend":
        return None
    return {"action": "cancel", "order_hash": by_hash[1], **({} if by_hash[2] is None else {"tombstone": True})}


def socket_result(method: str, path: str, data: Any) -> Any:
    """The value of an answer; raises what every refusal means, as over HTTP."""
    said = data if isinstance(data, Mapping) else {}
    status, wait = said.get("status"), said.get("retry_after")
    number = status if isinstance(status, int) and not isinstance(status, bool) else 0
    retry_after = wait if isinstance(wait, int) and not isinstance(wait, bool) else None
    return result_of_value(method, path, number, said.get("body"), retry_after, None)
