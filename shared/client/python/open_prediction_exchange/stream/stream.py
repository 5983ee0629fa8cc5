"""Books and private events over one WebSocket that is kept open, for asyncio."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Literal, Mapping

from ..errors import ApiError, ExchangeError, StreamError
from ..logic.requests import Requests
from .book import AsyncBook
from .connection import Connection, ConnectionTimes
from .upgrade import Upgrade
from .user import AsyncUserEvents

EVENTS_THAT_WAIT = 10_000
_MARKETS_PER_MESSAGE = 50
_PERMANENT_CODES = ("API_KEY_UNAUTHORIZED", "UNAUTHORIZED", "INSUFFICIENT_SCOPE")
"""Errors that the server sends without an id before it closes the connection, and that no retry heals."""
_PAUSE_SEC = 0.1
_LONGEST_PAUSE_SEC = 10.0


class _Request:
    """The subscriptions of one message."""

    def __init__(self, books: list[AsyncBook], user: AsyncUserEvents | None, since: int | None = None) -> None:
        self.books = books
        self.user = user
        self.since = since


class AsyncStream(Upgrade):
    """A stream of an `AsyncClient`: `client.open_stream()`. Its owner closes it."""

    def __init__(self, requests: Requests, times: ConnectionTimes = ConnectionTimes()) -> None:
        super().__init__(requests)
        self._connection = Connection(self, self.permanent_error, times)
        self._books: dict[str, AsyncBook] = {}
        self._user: AsyncUserEvents | None = None
        self._asked: dict[str, _Request] = {}
        self._due: dict[str, AsyncBook] = {}
        self._last_id = 0
        self._round = 0
        self.is_closed = False

    def open_book(
        self,
        market_id: str,
        *,
        verify: Literal["snapshots", "every"] = "snapshots",
        limit: int = EVENTS_THAT_WAIT,
        on_slow: Literal["resync", "error"] = "resync",
    ) -> AsyncBook:
        """Opens the book of a market; each market at most once.

        `snapshots` verifies every book and the best prices of every change; `every` each delta as well. A reader that
        is slower than `limit` events gets one `BookReplaced` in their place, or an error.
        """
        self._assert_open()
        book = AsyncBook(market_id, self, verify, limit, on_slow)
        if book.market_id in self._books:
            raise ValueError(f"market {book.market_id} is open already")
        self._books[book.market_id] = book
        self._connection.start()
        self.subscribe_book(book, 0)
        return book

    def open_user(
        self, *, since: int | None = None, cancel_on_disconnect: bool = False, limit: int = EVENTS_THAT_WAIT
    ) -> AsyncUserEvents:
        """Opens the private events of the account; one at a time.

        `since` is the `user_sequence` that an earlier run has stored; without it the next event is the first. With
        `cancel_on_disconnect` the server cancels all open orders of the account when the connection ends.
        """
        self._assert_open()
        if self._requests.credentials is None:
            raise ValueError("private events need an API key or a session")
        if self._user is not None:
            raise ValueError("the private events are open already")
        self._user = AsyncUserEvents(self, since, cancel_on_disconnect, limit)
        self._connection.start()
        self.subscribe_user(self._user)
        return self._user

    async def close(self) -> None:
        """Closes all books, the private events and the connection."""
        if self.is_closed:
            return
        self.is_closed = True
        await self._connection.close()
        for book in list(self._books.values()):
            book.close()
        if self._user is not None:
            self._user.close()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    def _assert_open(self) -> None:
        if self.is_closed:
            raise ExchangeError("the stream is closed")

    # For the connection.

    def opened(self) -> None:
        """Everything is subscribed."""
        self._asked.clear()
        if self._user is not None:
            self.subscribe_user(self._user)
        for book in self._books.values():
            self.subscribe_book(book, 0)

    def lost(self, was_open: bool) -> None:
        """The next connection subscribes everything again, perhaps at another member."""
        self._round += 1
        self._asked.clear()
        self._due.clear()
        self.move_on()
        if was_open:
            for book in list(self._books.values()):
                book.connection_lost()
            if self._user is not None:
                self._user.connection_lost()

    def failed(self, error: Exception) -> None:
        """No retry heals it."""
        self.is_closed = True
        for book in list(self._books.values()):
            book.fail(error)
        if self._user is not None:
            self._user.fail(error)

    def received(self, frame: Any) -> None:
        """Passes a frame to its stream."""
        channel = frame.get("channel")
        if channel in ("book", "book_delta", "trade", "bbo"):
            if frame["market_id"] in self._books:
                self._books[frame["market_id"]].received(frame)
        elif channel in ("fill", "order_status"):
            if self._user is not None:
                self._user.received(frame)
        elif channel == "heartbeat":
            self._connection.settled()
            if self._user is not None:
                self._user.heartbeat(frame["data"].get("user_sequence"))
            for book in list(self._books.values()):
                book.heartbeat(frame["data"]["sequences"])
        else:
            self._answered(channel, frame)

    # For books and private events.

    def subscribe_book(self, book: AsyncBook, failures: int) -> None:
        """At the end of this turn of the event loop; after a pause if it has failed several times in a row."""
        loop = asyncio.get_running_loop()
        if failures > 1:
            pause = min(_LONGEST_PAUSE_SEC, _PAUSE_SEC * 2.0 ** min(failures, 20))
            loop.call_later(pause, self._subscribe_again, book)
        elif self._connection.is_open:
            if not self._due:
                loop.call_soon(self._subscribe_due)
            self._due[book.market_id] = book

    def _subscribe_again(self, book: AsyncBook) -> None:
        if self._is_open(book):
            self.subscribe_book(book, 0)

    def leave_book(self, book: AsyncBook) -> None:
        """It is closed."""
        if self._is_open(book):
            del self._books[book.market_id]
            self._due.pop(book.market_id, None)
            self._connection.send({"channel": "unsubscribe", "data": {"markets": [book.market_id]}})

    def subscribe_user(self, user: AsyncUserEvents) -> None:
        """Asks for the private events after the last one."""
        if self._connection.is_open:
            data: dict[str, Any] = {"user": True, "cancel_on_disconnect": user.cancel_on_disconnect}
            since = user.subscribing()
            self._ask(data if since is None else {**data, "user_since": since}, _Request([], user, since))

    def leave_user(self, user: AsyncUserEvents) -> None:
        """They are closed."""
        if user is self._user:
            self._user = None
            self._connection.send({"channel": "unsubscribe", "data": {"user": True}})

    def _answered(self, channel: str, frame: Any) -> None:
        """The answer to the ping after each subscription comes after all frames the server had for it."""
        key, data = str(frame.get("id")), frame.get("data", {})
        request = self._asked.get(key)
        if channel == "error":
            if request is not None and data["code"] == "RATE_LIMITED":
                self._repeat(key, request, data.get("retry_after_ms", 100) / 1000)
            elif request is not None:
                self._refused(key, request, StreamError(data["code"], data["error"]))
            elif data["code"] in _PERMANENT_CODES:
                self._connection.fail(StreamError(data["code"], data["error"]))
        elif request is not None and channel == "subscribed":
            self._connection.settled()
            for book in filter(self._is_open, request.books):
                book.subscribed()
            if request.user is not None and request.user is self._user:
                request.user.subscribed(data.get("user_sequence", 0), request.since)
        elif request is not None and channel == "pong":
            del self._asked[key]
            for book in filter(self._is_open, request.books):
                book.caught_up()
            if request.user is not None and request.user is self._user:
                request.user.caught_up()

    def _repeat(self, key: str, request: _Request, after_sec: float) -> None:
        """Too many messages: the request is repeated."""
        del self._asked[key]
        round_ = self._round

        def repeat() -> None:
            # A new connection has asked for everything anew.
            if round_ != self._round or self.is_closed:
                return
            self._subscribe([book for book in request.books if self._is_open(book)])
            if request.user is not None and request.user is self._user:
                self.subscribe_user(request.user)

        asyncio.get_running_loop().call_later(after_sec, repeat)

    def _refused(self, key: str, request: _Request, error: StreamError) -> None:
        """One unknown market makes the server refuse the whole message: its markets are then asked for one by one."""
        del self._asked[key]
        if len(request.books) > 1:
            for book in request.books:
                self._subscribe([book])
        else:
            for book in filter(self._is_open, request.books):
                book.fail(error)
        if request.user is not None and request.user is self._user:
            request.user.fail(error)

    def _is_open(self, book: AsyncBook) -> bool:
        return self._books.get(book.market_id) is book

    def _subscribe_due(self) -> None:
        due = list(self._due.values())
        self._due.clear()
        for wants_checksum in (True, False):
            alike = [book for book in due if book.wants_checksum == wants_checksum]
            for at in range(0, len(alike), _MARKETS_PER_MESSAGE):
                self._subscribe(alike[at : at + _MARKETS_PER_MESSAGE])

    def _subscribe(self, books: list[AsyncBook]) -> None:
        if not self._connection.is_open or not books:
            return
        given = {book.market_id: book.subscribing() for book in books}
        data = {
            "markets": list(given),
            "snapshot": True,
            "from_sequence": {market: sequence for market, sequence in given.items() if sequence is not None},
            "checksum": books[0].wants_checksum,
        }
        self._ask(data, _Request(books, None))

    def _ask(self, data: Mapping[str, Any], request: _Request) -> None:
        self._last_id += 1
        key = str(self._last_id)
        self._asked[key] = request
        self._connection.send({"channel": "subscribe", "id": key, "data": data})
        self._connection.send({"channel": "ping", "id": key})
