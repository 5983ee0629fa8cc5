"""The private events of an account, each exactly once, over any number of lost connections.

`user_sequence` orders them, each subscription asks for those that were missed, and a `Gap` stands for those that cannot
be sent again. Each subscription asks for the last known frame once more and compares it: if the server has numbered its
frames anew, that frame differs even where the number fits.
"""

from __future__ import annotations

import asyncio
import json
from typing import Literal, Protocol

from ..decoding import counted, decode
from ..errors import ExchangeError, SlowReaderError
from .events import Fill, Gap, OrderStatus, UserEvent, UserLive, UserStale
from .feed import EventFeed
from .replica import Frame

_MOST_TRIES = 3
"""Attempts to get missing frames before they count as lost."""


class UserHost(Protocol):
    """The stream that the events belong to."""

    def subscribe_user(self, user: AsyncUserEvents) -> None:
        """Subscribes, also again."""

    def leave_user(self, user: AsyncUserEvents) -> None:
        """The events are closed."""


class AsyncUserEvents:
    """What happens to the account's orders. `async for event in user` reads it."""

    def __init__(self, host: UserHost, since: int | None, cancel_on_disconnect: bool, limit: int) -> None:
        self.cancel_on_disconnect = cancel_on_disconnect
        self.user_sequence = since
        """The number of the last event; store it with the result of your work on the event, and begin there at the
        next start.
        """
        self.is_live = False
        self._host = host
        self._anchor: str | None = None
        self._last_ms: int | None = None
        self._is_subscribing = False
        self._tries = 0
        self._is_closed = False
        self._feed: EventFeed[UserEvent] = EventFeed(limit, self._too_slow, keeps_unread=True)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def ready(self) -> None:
        """Waits for the first subscription: every later event comes."""
        await asyncio.shield(self._ready)

    def __aiter__(self) -> AsyncUserEvents:
        return self

    async def __anext__(self) -> UserEvent:
        return await self._feed.next()

    async def next_event(self, timeout_sec: float | None = None) -> UserEvent:
        """The next event. TimeoutError after `timeout_sec`, which loses none; StopAsyncIteration at the end."""
        return await self._feed.next(timeout_sec)

    def close(self) -> None:
        """Ends the iterator; nothing is cancelled."""
        self._end(ExchangeError("the private events were closed"), None)

    def fail(self, error: Exception) -> None:
        """Ends the events; the iterator raises the error."""
        self._end(error, error)

    def subscribing(self) -> int | None:
        """Called when a subscription is sent. Returns its `user_since`; None to start with the next event."""
        self._is_subscribing = True
        return None if self.user_sequence is None else max(0, self.user_sequence - 1)

    def subscribed(self, sequence: int, since: int | None = None) -> None:
        """`sequence` is that of the last frame before the following ones. `since` is what this request has asked for:
        its answer may come late, when later frames have arrived.
        """
        counted(sequence)
        self._is_subscribing = False
        if self.user_sequence is None:
            self.user_sequence = sequence
            # That frame is asked for, to compare it after a reconnect even if no other one arrives before.
            if sequence > 0:
                self._subscribe()
        elif since is not None and sequence < min(since, self.user_sequence):
            self._restarted(self.user_sequence)
        if not self._ready.done():
            self._ready.set_result(None)

    def caught_up(self) -> None:
        """Every frame the server had when it answered has arrived."""
        if not self._is_subscribing and self.user_sequence is not None:
            self._set_live(True)

    def connection_lost(self) -> None:
        """The next connection asks for the missed events."""
        self._is_subscribing = False
        self._set_live(False)

    def received(self, frame: Frame) -> None:
        """A private frame."""
        last, sequence = self.user_sequence, counted(frame["user_sequence"])
        if last is None or self._is_closed or sequence < last:
            return
        if sequence == last:
            text = _identity(frame)
            if self._anchor is None:
                self._anchor = text
            if self._anchor != text:
                self._restarted(last)
        elif sequence == last + 1:
            self._emit(frame)
        elif not self._is_subscribing:
            self._skipped_to(last, sequence, frame)

    def heartbeat(self, sent: int | None) -> None:
        """The server says how far the account is."""
        last = self.user_sequence
        if sent is not None:
            counted(sent)
        if last is None or sent is None or self._is_subscribing:
            # An answer that does not arrive between heartbeats was lost.
            self._tries += 1
            if self._tries >= _MOST_TRIES:
                self._subscribe_anew()
        elif sent < last:
            # A standby may be yet to have the last frame; the answer says whether the numbers are others.
            self._subscribe_anew()
        elif sent > last:
            self._skipped_to(last, sent + 1, None)
        else:
            self._tries = 0
            self._set_live(True)

    def _skipped_to(self, last: int, following: int, frame: Frame | None) -> None:
        """The frames in between have not arrived."""
        self._tries += 1
        if self._tries < _MOST_TRIES:
            self._set_live(False)
            self._subscribe()
            return
        self._gap("expired", last + 1, following - 1)
        self.user_sequence = following - 1
        self._anchor = None
        if frame is None:
            self._tries = 0
        else:
            self._emit(frame)

    def _emit(self, frame: Frame) -> None:
        head = {"user_sequence": frame["user_sequence"], "timestamp": frame["timestamp"]}
        fields = {**head, **frame["data"]}
        # First, so that a frame that cannot be read is asked for again.
        event: UserEvent = decode(Fill, fields) if frame["channel"] == "fill" else decode(OrderStatus, fields)
        self.user_sequence = frame["user_sequence"]
        self._anchor = _identity(frame)
        self._last_ms = counted(frame["timestamp"])
        self._tries = 0
        self._feed.push(event)

    def _restarted(self, last: int) -> None:
        """After a restart every frame counts as new."""
        self._gap("restarted", last + 1, None)
        self.user_sequence = 0
        self._anchor = None
        self._subscribe_anew()

    def _gap(self, cause: Literal["expired", "restarted"], first: int, last: int | None) -> None:
        self._feed.push(Gap(cause=cause, first=first, last=last, since_ms=self._last_ms))

    def _subscribe_anew(self) -> None:
        self._tries = 0
        self._subscribe()

    def _subscribe(self) -> None:
        self._is_subscribing = True
        self._host.subscribe_user(self)

    def _set_live(self, is_live: bool) -> None:
        if self.is_live == is_live or self._is_closed:
            return
        self.is_live = is_live
        sequence = self.user_sequence
        self._feed.push(UserLive(user_sequence=sequence) if is_live else UserStale(user_sequence=sequence))

    def _too_slow(self) -> None:
        self.fail(SlowReaderError("private events came faster than they were read; open again with `since`"))

    def _end(self, reason: Exception, error: Exception | None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self.is_live = False
        if not self._ready.done():
            self._ready.set_exception(reason)
        self._feed.end(error)
        self._host.leave_user(self)


def _identity(frame: Frame) -> str:
    return json.dumps([frame["channel"], frame["timestamp"], frame["data"]], sort_keys=True, default=str)
