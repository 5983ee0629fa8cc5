"""What requests carry that says whose they are: an API key, the token of a session, or that of an operator."""

from __future__ import annotations

from typing import Mapping, Protocol

from ..errors import ApiError
from ..signing import ApiKey, RequestSigner
from .clock import ServerClock
from .steps import Steps


class Credentials(Protocol):
    """The headers of requests, and new ones where they are refused."""

    def headers(self, method: str, path: str, body: bytes) -> Steps[dict[str, str]]:
        """Those of one request."""

    def renewed(self, error: ApiError, headers: Mapping[str, str], sent: float) -> Steps[bool]:
        """Whether a request that was refused so may be accepted with other headers; `sent` is of this machine."""

    def ticket(self) -> Steps[str | None]:
        """What opens a socket in place of headers, within 30 seconds; None where headers do."""


class KeyCredentials:
    """An API key, which signs each request."""

    def __init__(self, api_key: ApiKey, clock: ServerClock) -> None:
        self._signer = RequestSigner(api_key)
        self._clock = clock

    def headers(self, method: str, path: str, body: bytes) -> Steps[dict[str, str]]:
        """A nonce is good once."""
        yield from ()
        return self._signer.headers(method, path, body, int(self._clock.now()))

    def renewed(self, error: ApiError, headers: Mapping[str, str], sent: float) -> Steps[bool]:
        """True if it was refused for its time, or was signed before the exchange has started."""
        yield from ()
        details = error.details if isinstance(error.details, dict) else {}
        was_before_start = error.status == 401 and details.get("reason") == "signed_before_start"
        return was_before_start or self._clock.learns(error, sent)

    def ticket(self) -> Steps[str | None]:
        """None: the upgrade is signed."""
        yield from ()
        return None


class TokenCredentials:
    """The token of an operator."""

    def __init__(self, token: str) -> None:
        if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
            raise ValueError("the token of an operator is one line of ASCII")
        self._token = token

    def __repr__(self) -> str:
        return "TokenCredentials()"

    def headers(self, method: str, path: str, body: bytes) -> Steps[dict[str, str]]:
        """The same for all."""
        yield from ()
        return {"authorization": f"Bearer {self._token}"}

    def renewed(self, error: ApiError, headers: Mapping[str, str], sent: float) -> Steps[bool]:
        """Never."""
        yield from ()
        return False

    def ticket(self) -> Steps[str | None]:
        """None: operators open no socket."""
        yield from ()
        return None
