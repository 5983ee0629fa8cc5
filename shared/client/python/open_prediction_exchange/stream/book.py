"""One market followed over the stream: a book that is verified and resynchronised.

A gap, a silent server, a lost connection or a wrong checksum makes it stale and is an event; the book is subscribed
again, from its last sequence if it is still right, else with a new book frame. Every trade and delta comes once and in
order, or a `BookReplaced` stands for those that are missing.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal, Protocol

from ..decoding import decode
from ..errors import ExchangeError, SlowReaderError
from ..orders import Outcome
from .events import (
    BestPrices,
    BookEvent,
    BookLive,
    BookReplaced,
    BookStale,
    BookState,
    Delta,
    Level,
    Levels,
    StaleCause,
)
from .events import Trade
from .feed import EventFeed
from .replica import BookReplica, Frame

_MOST_HEARTBEATS_WITHOUT = 2
"""Heartbeats that do not mention the market before it is subscribed again: its book may be on the way."""
_KINDS: dict[str, Any] = {"trade": Trade, "book_delta": Delta, "bbo": BestPrices}


class BookHost(Protocol):
    """The stream that a book belongs to."""

    def subscribe_book(self, book: AsyncBook, failures: int) -> None:
        """Subscribes the book, or subscribes it again; the more failures, the longer the pause before."""

    def leave_book(self, book: AsyncBook) -> None:
        """The book is closed."""


class AsyncBook:
    """The book of a market. `async for event in book` begins with `BookReplaced` if the book is there already."""

    def __init__(
        self,
        market_id: str,
        host: BookHost,
        verify: Literal["snapshots", "every"],
        limit: int,
        on_slow: Literal["resync", "error"],
    ) -> None:
        self.market_id = market_id.lower()
        self.state: BookState = "starting"
        """`live` while no frame contradicts that the book is the server's at `sequence`."""
        self.wants_checksum = verify == "every"
        self._host = host
        self._on_slow = on_slow
        self._replica = BookReplica()
        self._feed: EventFeed[BookEvent] = EventFeed(limit, self._too_slow, keeps_unread=False)
        self._has_started = False
        self._is_subscribing = False
        self._wants_book = False
        self._failures = 0
        self._heartbeats_without = 0
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def sequence(self) -> int | None:
        """None while no book is known to be right."""
        return self._replica.sequence

    def levels(self, outcome: Outcome = 0) -> Levels:
        """Full depth in terms of one outcome, best first."""
        return self._replica.levels(outcome)

    def best(self, outcome: Outcome = 0) -> tuple[Level | None, Level | None]:
        """The best bid and the best ask; None if a side is empty."""
        return self._replica.best(outcome)

    def checksum(self) -> int:
        """CRC-32 of the book, as the server has it."""
        return self._replica.checksum()

    async def ready(self) -> None:
        """Waits for the first book; raises an error that no retry heals, such as an unknown market."""
        await asyncio.shield(self._ready)

    def __aiter__(self) -> AsyncBook:
        self._feed.restart(self._replaced("start") if self._replica.sequence is not None else None)
        return self

    async def __anext__(self) -> BookEvent:
        return await self._feed.next()

    async def next_event(self, timeout_sec: float | None = None) -> BookEvent:
        """The next event. TimeoutError after `timeout_sec`, which loses none; StopAsyncIteration at the end."""
        if not self._feed.is_queueing:
            self.__aiter__()
        return await self._feed.next(timeout_sec)

    def close(self) -> None:
        """Unsubscribes and ends the iterator."""
        self._end(ExchangeError("the book was closed"), None)

    def fail(self, error: Exception) -> None:
        """Ends the book; the iterator raises the error."""
        self._end(error, error)

    def subscribing(self) -> int | None:
        """Called when a subscription is sent. Returns the sequence number after which to continue, or None for a new
        book.
        """
        self._is_subscribing = True
        self._heartbeats_without = 0
        self._wants_book = self._replica.sequence is None
        return self._replica.sequence

    def subscribed(self) -> None:
        """The server has answered the subscription: its frames follow."""
        self._is_subscribing = False
        if self._replica.sequence is None and not self._wants_book:
            self._subscribe()

    def caught_up(self) -> None:
        """Every frame the server had when it answered has arrived; only a long replay is still going on."""
        if self._replica.sequence is not None and not self._is_subscribing:
            self._become_live()

    def connection_lost(self) -> None:
        """The next connection subscribes everything again."""
        self._is_subscribing = False
        self._become_stale("connection")

    def received(self, frame: Frame) -> None:
        """A frame of the market."""
        if self.state == "closed":
            return
        result = self._replica.apply(frame)
        if result == "applied":
            try:
                self._applied(frame)
            except Exception:
                # The frame has no event, so a whole book stands for it.
                self._replica.forget()
                raise
        elif result == "gap" and not self._is_subscribing:
            # A subscription that is under way brings the missing frames.
            self._resync("gap")
        elif result == "mismatch":
            self._failures += 1
            self._resync("checksum")

    def heartbeat(self, sequences: dict[str, int]) -> None:
        """The server says how far each market is."""
        sent, sequence = sequences.get(self.market_id), self._replica.sequence
        # While subscribing, the answer itself may have been lost.
        if self._is_subscribing or sent is None or sequence is None:
            self._heartbeats_without += 1
            if self._heartbeats_without >= _MOST_HEARTBEATS_WITHOUT:
                self._resync("unsubscribed")
        elif sent == sequence:
            self._failures = self._heartbeats_without = 0
            self._become_live()
        else:
            self._resync("behind")

    def _applied(self, frame: Frame) -> None:
        channel = frame["channel"]
        if channel == "book":
            cause: Literal["start", "resync"] = "resync" if self._has_started else "start"
            self._has_started = True
            if not self._ready.done():
                self._ready.set_result(None)
            self._feed.push(self._replaced(cause))
            self._become_live()
            return
        if not self._is_subscribing and channel != "bbo":
            self._become_live()
        head = {"sequence": frame["sequence"], "timestamp": frame["timestamp"]}
        self._feed.push(decode(_KINDS[channel], {**head, **frame["data"]}))

    def _resync(self, cause: StaleCause) -> None:
        self._become_stale(cause)
        self._subscribe()

    def _subscribe(self) -> None:
        self._is_subscribing = True
        self._heartbeats_without = 0
        self._host.subscribe_book(self, self._failures)

    def _become_live(self) -> None:
        if self.state in ("starting", "stale") and self._replica.sequence is not None:
            self.state = "live"
            self._feed.push(BookLive(sequence=self._replica.sequence))

    def _become_stale(self, cause: StaleCause) -> None:
        if self.state == "live":
            self.state = "stale"
            self._feed.push(BookStale(cause=cause, sequence=self._replica.sequence))

    def _replaced(self, cause: Literal["start", "resync", "slow_reader"]) -> BookReplaced:
        return BookReplaced(cause=cause, sequence=self._replica.sequence or 0, timestamp=self._replica.timestamp)

    def _too_slow(self) -> BookEvent | None:
        if self._on_slow != "error" and self._replica.sequence is not None:
            return self._replaced("slow_reader")
        self.fail(SlowReaderError(f"events of market {self.market_id} came faster than they were read"))
        return None

    def _end(self, reason: Exception, error: Exception | None) -> None:
        if self.state == "closed":
            return
        self.state = "closed"
        if not self._ready.done():
            self._ready.set_exception(reason)
        self._feed.end(error)
        self._host.leave_book(self)
