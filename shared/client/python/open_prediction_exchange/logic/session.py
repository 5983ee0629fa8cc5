"""Sessions: a wallet signs in, and requests carry an access token, which is renewed before it expires.

A refresh token is good once, so one renewal is under way at a time, however many requests wait for it. The tokens are
in no text of a session and of no error.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Protocol, Union
from urllib.parse import urlsplit

from ..decoding import decode
from ..error_codes import UnauthorizedError
from ..errors import ApiError, ExchangeError
from ..keys import PrivateKey
from ..models import Profile, Ticket, WalletMessage
from ..models import Session as SessionAnswer
from .addresses import BaseUrl
from .requests import NO_RETRY, Options, Requests, with_query
from .steps import Alone, Pause, Steps

_EARLY_SEC = 30.0
"""A token is renewed this long before it expires."""
_RENEWALS = 3
_MOST_LOST = 2
"""A renewal whose answer was lost is repeated once: a further repeat of a used token ends the session."""
_RENEWAL_TIMEOUT_SEC = 7.0
_PAUSE_SEC = 0.25
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class TextSigner(Protocol):
    """A wallet that signs texts."""

    address: str

    def sign_text(self, text: str) -> str:
        """EIP-191 (`personal_sign`), as 0x and hex."""


SignInWallet = Union[str, TextSigner]
"""A private key in hex, or anything with an address that signs texts."""


@dataclass(frozen=True)
class SessionTokens:
    """What a program keeps to go on with a session after its end: secrets, which no `repr` shows."""

    access_token: str = field(repr=False)
    expires_at_sec: float
    """Unix seconds of this machine's clock."""
    refresh_token: str = field(repr=False)
    """Good once: the next one comes with each renewal, of which `on_change` says."""
    user: Profile


OnChange = Callable[[Union[SessionTokens, None]], None]
"""Called with the tokens after a sign-in and each renewal, and with None once the session has ended."""


class Session:
    """A session in force: `Client(url, session=session)` sends requests with it."""

    def __init__(self, base_url: BaseUrl, tokens: SessionTokens, on_change: OnChange | None = None) -> None:
        """Goes on with tokens that an earlier run has kept."""
        self._requests = Requests(base_url, None, Options(timeout_sec=_RENEWAL_TIMEOUT_SEC, retry=NO_RETRY))
        self._tokens = tokens
        self._on_change = on_change or (lambda tokens: None)
        self._lock = threading.Lock()
        self._end: ExchangeError | None = None

    @property
    def user(self) -> Profile:
        """The account as it was at the sign-in or the last renewal."""
        return self._tokens.user

    @property
    def tokens(self) -> SessionTokens:
        """To be kept in a place of secrets."""
        return self._tokens

    @property
    def has_ended(self) -> bool:
        """After a sign-out, or once the exchange refuses to renew it."""
        return self._end is not None

    def __repr__(self) -> str:
        return f"Session(of={self.user.id!r}, has_ended={self.has_ended})"

    def __reduce__(self) -> Any:
        raise TypeError("a session is not pickled: keep its tokens")

    # For requests.

    def headers(self, method: str, path: str, body: bytes) -> Steps[dict[str, str]]:
        """With a token that is in force for the next half minute."""
        if self._tokens.expires_at_sec - time.time() <= _EARLY_SEC or self._end is not None:
            yield from self._renew(self._tokens)
        return {"authorization": f"Bearer {self._tokens.access_token}"}

    def renewed(self, error: ApiError, headers: Mapping[str, str], sent: float) -> Steps[bool]:
        """True if the token was refused, and there is another one now."""
        details = error.details if isinstance(error.details, dict) else {}
        if error.status != 401 or details.get("step") != "access_token":
            return False
        tokens = self._tokens
        if headers.get("authorization") == f"Bearer {tokens.access_token}":
            yield from self._renew(tokens)
        return True

    def ticket(self) -> Steps[str | None]:
        """Opens one socket within 30 seconds."""
        headers = yield from self.headers("POST", "/v1/auth/ws-ticket", b"")
        answer = yield from self._requests.post("/v1/auth/ws-ticket", {}, headers)
        return decode(Ticket, answer).ticket

    def sign_out(self) -> Steps[None]:
        """Ends the session here in any case; an error says that the exchange may not know."""
        if self._end is None:
            refresh_token = self._tokens.refresh_token
            self._ended(_no_session("signed out"))
            yield from self._requests.post("/v1/auth/revoke", {"refresh_token": refresh_token})

    def _renew(self, stale: SessionTokens) -> Steps[None]:
        yield Alone(self._lock, self._renew_alone(stale))

    def _renew_alone(self, stale: SessionTokens) -> Steps[None]:
        if self._end is not None:
            raise self._end
        if self._tokens is not stale:
            # Another request has renewed it in the meantime.
            return
        try:
            tokens = yield from _renewed(self._requests, stale.refresh_token)
        except ApiError as error:
            if error.status == 401:
                self._ended(error)
            raise
        if tokens.user.id != stale.user.id:
            raise self._ended(_no_session("another account has signed in"))
        self._tokens = tokens
        self._on_change(tokens)

    def _ended(self, reason: ExchangeError) -> ExchangeError:
        self._end = reason
        self._tokens = SessionTokens("", 0.0, "", self._tokens.user)
        self._on_change(None)
        return reason


def signing_in(
    base_url: BaseUrl,
    wallet: SignInWallet,
    domain: str | None,
    referral_code: str | None,
    on_change: OnChange | None,
) -> Steps[Session]:
    """Signs in, or up."""
    signer: TextSigner = PrivateKey(wallet) if isinstance(wallet, str) else wallet
    requests = Requests(base_url, None, Options(retry=NO_RETRY))
    path = with_query("/v1/auth/wallet/nonce", {"address": signer.address})
    message = decode(WalletMessage, (yield from requests.public("GET", path))).message
    expected = [urlsplit(requests.addresses.current).netloc, *([] if domain is None else [domain])]
    check_message(message, signer.address, expected)
    wishes = {} if referral_code is None else {"referral_code": referral_code}
    proof = {"message": message, "signature": signer.sign_text(message), "token_delivery": "body", **wishes}
    asked = time.time()
    tokens = _tokens_of((yield from requests.post("/v1/auth/wallet", proof)), asked)
    session = Session(base_url, tokens, on_change)
    if on_change is not None:
        on_change(tokens)
    return session


def check_message(message: str, address: str, domains: list[str]) -> None:
    """A wallet signs a message of EIP-4361 for itself and for a domain that is expected, and no other."""
    first, _, rest = message.partition("\n")
    found = re.fullmatch(r"(\S+) wants you to sign in with your Ethereum account:", first)
    if found is None or rest.partition("\n")[0].lower() != address.lower():
        raise ExchangeError("the exchange offers a message that is not for this wallet")
    if _common(found[1]) not in [_common(each) for each in domains]:
        raise ExchangeError(f"the exchange offers a message for {found[1]}, not for {' or '.join(domains)}")


def _common(domain: str) -> tuple[str | None, str]:
    """The names of loopback are one."""
    name, port = re.fullmatch(r"(.*?)(:[0-9]*)?", domain, re.DOTALL).groups(default="")  # type: ignore[union-attr]
    host = name.strip("[]").lower()
    return (_LOOPBACK[0] if host in _LOOPBACK else host), port


def _renewed(requests: Requests, refresh_token: str) -> Steps[SessionTokens]:
    lost = 0
    for attempt in range(1, _RENEWALS + 1):
        asked = time.time()
        try:
            return _tokens_of((yield from requests.post("/v1/auth/refresh", {"refresh_token": refresh_token})), asked)
        except ExchangeError as error:
            is_refusal = isinstance(error, ApiError)
            lost += 0 if is_refusal else 1
            is_final = isinstance(error, ApiError) and error.status < 500
            if is_final or lost == _MOST_LOST or attempt == _RENEWALS:
                raise
        yield Pause(_PAUSE_SEC)
    raise AssertionError("the last attempt ends")


def _tokens_of(answer: Any, asked: float) -> SessionTokens:
    """The token cannot expire earlier than is counted from the moment before the request."""
    said = decode(SessionAnswer, answer)
    if said.refresh_token is None:
        raise ExchangeError("the exchange gives no refresh token")
    return SessionTokens(said.access_token, asked + said.expires_in, said.refresh_token, said.user)


def _no_session(text: str) -> ExchangeError:
    return UnauthorizedError(401, "UNAUTHORIZED", text)
