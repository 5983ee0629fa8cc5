"""The addresses at which a client finds the exchange: one, or those of the members of a cluster, of which one leads.

A request that its address did not look at goes to the next one. Only addresses that the caller has given are used,
whatever an answer names: requests carry what identifies an account.
"""

from __future__ import annotations

import time
from typing import Callable, Sequence, TypeVar, Union
from urllib.parse import urlsplit

from ..errors import ApiError, ExchangeError, NoAnswerError, NotConnectedError, ProxyError
from .steps import Pause, Steps

BaseUrl = Union[str, Sequence[str]]
"""One address, or several of the same exchange."""
T = TypeVar("T")

FIND_SEC = 10.0
"""A leader that is lost has been replaced by then."""
_PAUSE_SEC = 0.25


def origin_of(address: str) -> str:
    """The address without a slash at its end. ValueError where it has a path, which would go to another service."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = -1
    host = parts.hostname
    if parts.scheme not in ("http", "https") or host is None or port == -1:
        raise ValueError(f"{parts.scheme}://{host}: no address of an exchange (https://…)")
    origin = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{'' if port is None else f':{port}'}"
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(f"{origin}: the address of an exchange ends with its host; no path, query or password follows")
    return origin


class Addresses:
    """The given addresses, and the one to which requests go."""

    def __init__(self, base_url: BaseUrl) -> None:
        urls = [base_url] if isinstance(base_url, str) else list(base_url)
        if not urls:
            raise ValueError("a client needs the address of an exchange")
        self.origins = list(dict.fromkeys(origin_of(url) for url in urls))
        self._current = 0

    @property
    def current(self) -> str:
        """The one that requests go to."""
        return self.origins[self._current]

    def move_from(self, origin: str) -> None:
        """The address does not answer: the next one is current, unless another request has moved on already."""
        if self.current == origin:
            self._current = (self._current + 1) % len(self.origins)

    def to_leader(self, send: Callable[[str], Steps[T]]) -> Steps[T]:
        """Sends to the leader; elsewhere what a standby refused or what did not leave, for FIND_SEC."""
        until = time.monotonic() + FIND_SEC
        attempt = 0
        while True:
            attempt += 1
            origin = self.current
            try:
                return (yield from send(origin))
            except ExchangeError as error:
                if len(self.origins) == 1 or not self._is_elsewhere(origin, error) or time.monotonic() > until:
                    raise
            if attempt % len(self.origins) == 0:
                yield Pause(_PAUSE_SEC)

    def _is_elsewhere(self, origin: str, error: ExchangeError) -> bool:
        """Moves on where the error says so. Whether the request was not carried out."""
        if isinstance(error, ApiError):
            if error.code != "NOT_MATCHING_LEADER":
                return False
            leader = error.details.get("leader") if isinstance(error.details, dict) else None
            if leader not in self.origins:
                self.move_from(origin)
            elif self.current == origin:
                self._current = self.origins.index(leader)
            return True
        if isinstance(error, (NoAnswerError, ProxyError)):
            self.move_from(origin)
        return isinstance(error, NotConnectedError)
