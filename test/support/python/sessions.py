"""sessions.py: a session of both clients whose token expires, is refused or cannot be renewed while it is used."""
import asyncio
import threading
import time

import httpx

from open_prediction_exchange import AsyncClient, Client
from open_prediction_exchange.decoding import decode
from open_prediction_exchange.errors import ApiError, NoAnswerError
from open_prediction_exchange.logic.session import Session, SessionTokens
from open_prediction_exchange.models import Profile

URL = "http://exchange"
USER = {
    "id": "0190a0b0-c0d0-7000-8000-0000000000af",
    "state": "active",
    "email": None,
    "display_name": None,
    "wallet_address": None,
    "linked_wallets": [],
    "role": "user",
    "referral_code": "r",
    "created_at": "2026-10-01T12:00:00Z",
}
BALANCES = {"usdc": {"available": "5", "reserved": "0"}, "tokens": []}
REFUSED = {"error": "no", "code": "UNAUTHORIZED", "details": {"step": "access_token"}}


class Exchange:
    """Knows one access and one refresh token, each followed by the next number."""

    def __init__(self):
        self.number, self.renewals, self.user, self.lost, self.is_over = 1, 0, USER, 0, False

    def answer(self, request):
        if request.url.path != "/v1/auth/refresh":
            is_known = request.headers.get("authorization") == f"Bearer access-{self.number}"
            return httpx.Response(200, json=BALANCES) if is_known else httpx.Response(401, json=REFUSED)
        self.renewals += 1
        if self.lost > 0:
            self.lost -= 1
            raise httpx.ReadError("lost")
        if self.is_over or f'"refresh-{self.number}"' not in request.content.decode():
            return httpx.Response(401, json={"error": "the session has ended", "code": "UNAUTHORIZED"})
        self.number += 1
        names = {"access_token": f"access-{self.number}", "refresh_token": f"refresh-{self.number}"}
        rest = {"token_type": "Bearer", "expires_in": 900, "user": self.user, "is_new": False}
        return httpx.Response(200, json={**names, **rest})


class Blocked:
    """Calls of a client, one after the other or on threads."""

    def __init__(self, exchange, session):
        http = httpx.Client(transport=httpx.MockTransport(exchange.answer))
        self.client = Client(URL, session=session, http=http, retry=None)

    def call(self, times=1):
        found = []

        def ask():
            try:
                found.append(self.client.balances().usdc.available)
            except Exception as error:
                found.append(error)

        threads = [threading.Thread(target=ask) for _ in range(times)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


class Awaited:
    """The same calls in an event loop."""

    def __init__(self, exchange, session):
        self.exchange, self.session = exchange, session

    def call(self, times=1):
        async def ask():
            async with httpx.AsyncClient(transport=httpx.MockTransport(self.exchange.answer)) as http:
                client = AsyncClient(URL, session=self.session, http=http, retry=None)
                return await asyncio.gather(*[client.balances() for _ in range(times)], return_exceptions=True)

        found = asyncio.run(ask())
        return [each if isinstance(each, Exception) else each.usdc.available for each in found]


def rig(kind, expires_in_sec=900.0):
    exchange, changes = Exchange(), []
    tokens = SessionTokens("access-1", time.time() + expires_in_sec, "refresh-1", decode(Profile, USER))
    session = Session(URL, tokens, changes.append)
    return exchange, session, changes, kind(exchange, session)


for kind in (Blocked, Awaited):
    # It expires within half a minute: it is renewed once before the first of many requests.
    exchange, session, changes, client = rig(kind, 20)
    assert client.call(8) == [5] * 8 and exchange.renewals == 1
    assert [each.refresh_token for each in changes] == ["refresh-2"] and session.tokens is changes[0]
    # The exchange refuses it before its time: one renewal, however many requests were refused.
    exchange.number = 3
    session._tokens = SessionTokens("access-2", time.time() + 900, "refresh-3", session.user)
    assert client.call(8) == [5] * 8 and exchange.renewals == 2
    # One answer of a renewal that is lost is asked for again, two are the end of the call and not of the session.
    exchange, session, changes, client = rig(kind, 0)
    exchange.lost = 1
    assert client.call() == [5] and exchange.renewals == 2
    exchange, session, changes, client = rig(kind, 0)
    exchange.lost = 2
    [error] = client.call()
    assert isinstance(error, NoAnswerError) and not session.has_ended and client.call() == [5]
    # The session has ended at the exchange while it is used: every call says so, and nothing more is asked.
    exchange, session, changes, client = rig(kind)
    assert client.call() == [5]
    exchange.number, exchange.is_over = 9, True
    for error in [*client.call(4), *client.call()]:
        assert isinstance(error, ApiError) and (error.status, error.code) == (401, "UNAUTHORIZED")
    assert session.has_ended and changes == [None] and exchange.renewals == 1
    assert "access" not in repr(session) and session.tokens.refresh_token == ""
    # Another account has signed in at its place.
    exchange, session, changes, client = rig(kind, 0)
    exchange.user = {**USER, "id": "0190a0b0-c0d0-7000-8000-0000000000b0"}
    [error] = client.call()
    assert isinstance(error, ApiError) and "another account" in str(error) and session.has_ended
print("every session ends in words")
