"""The same streams for blocking programs: they run on a separate thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from types import TracebackType
from typing import Any, Callable, Coroutine, Generic, Iterator, Literal, TypeVar

from ..errors import ExchangeError
from ..logic.requests import Requests
from ..orders import Outcome
from .book import AsyncBook
from .connection import ConnectionTimes
from .events import BookEvent, BookState, Level, Levels, UserEvent
from .stream import EVENTS_THAT_WAIT, AsyncStream
from .user import AsyncUserEvents

T = TypeVar("T")
E = TypeVar("E")
_END_SEC = 1.0


class Portal:
    """An event loop on a thread of its own, which ends with the program."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_ended = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="exchange-stream", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T], timeout_sec: float | None = None) -> T:
        """The result of the work. TimeoutError when it takes longer; it is cancelled then."""
        with self._lock:
            if self._is_ended:
                work.close()
                raise ExchangeError("the stream is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_sec)
        except concurrent.futures.TimeoutError as error:
            if future.done():
                # It is that of the work itself.
                raise
            future.cancel()
            raise TimeoutError(f"nothing came in {timeout_sec} seconds") from error
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """The result of the function, which runs on the thread of the loop; after its end, here."""
        if self._is_ended:
            return function(*args, **kwargs)

        async def called() -> T:
            return function(*args, **kwargs)

        return self.wait(called())

    def end(self) -> None:
        """Ends the thread, once all waiting callers have their answers."""
        with self._lock:
            if self._is_ended:
                return
            self._is_ended = True
            rest = asyncio.run_coroutine_threadsafe(_others_end(), self._loop)
        rest.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _others_end() -> None:
    """Streams that were read have ended by themselves; the rest is cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, pending = await asyncio.wait(others, timeout=_END_SEC)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


class _Events(Generic[E]):
    """An iterator: `for event in it`, or `next_event` with a time limit."""

    def __init__(self, portal: Portal, events: Any) -> None:
        self._portal = portal
        self._events = events

    def ready(self, timeout_sec: float | None = None) -> None:
        """Waits for the first answer; raises an error that no retry heals. TimeoutError after `timeout_sec`."""
        self._portal.wait(self._events.ready(), timeout_sec)

    def __iter__(self) -> Iterator[E]:
        self._portal.call(self._events.__aiter__)
        while True:
            try:
                yield self.next_event()
            except StopAsyncIteration:
                return

    def next_event(self, timeout_sec: float | None = None) -> E:
        """The next event. TimeoutError after `timeout_sec`: no event is lost by it. StopAsyncIteration at the end."""

        following: Coroutine[Any, Any, E] = self._events.next_event(timeout_sec)
        return self._portal.wait(following)

    def close(self) -> None:
        """Ends the iterator."""
        self._portal.call(self._events.close)


class Book(_Events[BookEvent]):
    """The book of a market. An iteration begins with `BookReplaced` if the book is there already."""

    _events: AsyncBook

    @property
    def market_id(self) -> str:
        """In lower case."""
        return self._events.market_id

    @property
    def state(self) -> BookState:
        """`live` while no frame contradicts that the book is the server's at `sequence`."""
        return self._events.state

    @property
    def sequence(self) -> int | None:
        """None while no book is known to be right."""
        return self._events.sequence

    def levels(self, outcome: Outcome = 0) -> Levels:
        """Full depth in terms of one outcome, best first."""
        return self._portal.call(self._events.levels, outcome)

    def best(self, outcome: Outcome = 0) -> tuple[Level | None, Level | None]:
        """The best bid and the best ask; None if a side is empty."""
        return self._portal.call(self._events.best, outcome)

    def checksum(self) -> int:
        """CRC-32 of the book, as the server has it."""
        return self._portal.call(self._events.checksum)


class UserEvents(_Events[UserEvent]):
    """The events of the account's orders."""

    _events: AsyncUserEvents

    @property
    def user_sequence(self) -> int | None:
        """The number of the last event; store it with the result of your work on the event, and begin there at the
        next start.
        """
        return self._events.user_sequence

    @property
    def is_live(self) -> bool:
        """True if nothing is missing."""
        return self._events.is_live


class Stream:
    """A stream of a `Client`: `client.open_stream()`. Its owner closes it."""

    def __init__(self, requests: Requests, times: ConnectionTimes = ConnectionTimes()) -> None:
        self._portal = Portal()
        self._stream = self._portal.call(AsyncStream, requests, times)

    @property
    def is_closed(self) -> bool:
        """True after `close`, and once the server has refused the connection for good."""
        return self._stream.is_closed

    def open_book(
        self,
        market_id: str,
        *,
        verify: Literal["snapshots", "every"] = "snapshots",
        limit: int = EVENTS_THAT_WAIT,
        on_slow: Literal["resync", "error"] = "resync",
    ) -> Book:
        """Opens the book of a market; each market at most once. The options are those of `AsyncStream.open_book`."""
        options = dict(verify=verify, limit=limit, on_slow=on_slow)
        return Book(self._portal, self._portal.call(self._stream.open_book, market_id, **options))

    def open_user(
        self, *, since: int | None = None, cancel_on_disconnect: bool = False, limit: int = EVENTS_THAT_WAIT
    ) -> UserEvents:
        """Opens the private events of the account. The options are those of `AsyncStream.open_user`."""
        options: dict[str, Any] = dict(since=since, cancel_on_disconnect=cancel_on_disconnect, limit=limit)
        return UserEvents(self._portal, self._portal.call(self._stream.open_user, **options))

    def close(self) -> None:
        """Closes all books, the private events and the connection."""
        if not self._stream.is_closed:
            self._portal.wait(self._stream.close())
        self._portal.end()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
