"""Events that wait for their one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Callable, Generic, TypeVar

E = TypeVar("E")


class EventFeed(Generic[E]):
    """A bounded queue. If it is full, `on_full` returns the event that replaces all waiting ones, or None after
    `fail`.
    """

    def __init__(self, limit: int, on_full: Callable[[], E | None], keeps_unread: bool) -> None:
        self._limit = limit
        self._on_full = on_full
        self.is_queueing = keeps_unread
        self._events: deque[E] = deque()
        self._error: Exception | None = None
        self._is_over = False
        self._changed = asyncio.Event()
        self._is_read = False

    def push(self, event: E) -> None:
        """Delivers an event to the reader, if there is one or will be."""
        if self._is_over or not self.is_queueing:
            return
        if len(self._events) >= self._limit:
            instead = self._on_full()
            if instead is None:
                return
            self._events.clear()
            event = instead
        self._events.append(event)
        self._changed.set()

    def restart(self, event: E | None) -> None:
        """A reader begins with this event instead of the waiting ones."""
        self.is_queueing = not self._is_over
        if not self._is_over:
            self._events.clear()
            if event is not None:
                self.push(event)

    def end(self, error: Exception | None = None) -> None:
        """No event follows; waiting events can still be read, and then the error."""
        if not self._is_over:
            self._is_over, self._error = True, error
            self._changed.set()

    async def next(self, timeout_sec: float | None = None) -> E:
        """The next event; StopAsyncIteration after the end, TimeoutError when none comes in time."""
        if self._is_read:
            raise RuntimeError("a stream has one reader")
        self._is_read = True
        try:
            while not self._events:
                if self._error is not None:
                    raise self._error
                if self._is_over:
                    raise StopAsyncIteration
                self._changed.clear()
                # What is waited for is no event, so none is lost where the wait is given up.
                await asyncio.wait_for(self._changed.wait(), timeout_sec)
        except asyncio.TimeoutError:
            raise TimeoutError(f"no event came in {timeout_sec} seconds") from None
        finally:
            self._is_read = False
        return self._events.popleft()
