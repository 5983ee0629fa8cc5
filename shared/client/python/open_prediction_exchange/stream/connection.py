"""A WebSocket that is kept open: it reconnects after every loss, with a delay that grows with each failure, detects a
silent server, and sends no faster than the server allows.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import random
from collections import deque
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Mapping, Protocol

import websockets
from websockets.exceptions import WebSocketException

from ..answers import parse_json
from ..errors import ExchangeError, NoAnswerError, NotConnectedError, UnexpectedAnswerError

_MESSAGES_PER_SECOND = 15
"""The server accepts 20; the others are left for pings and for clocks that differ a little."""
_MOST_FRAME_BYTES = 64 * 2**20
_OPEN_SEC = 10.0
_CLOSE_SEC = 1.0
# Since version 14 the headers of the upgrade have another name.
_connect: Any = getattr(websockets, "connect")
_HEADERS = "additional_headers" if "additional_headers" in inspect.signature(_connect).parameters else "extra_headers"


@dataclass(frozen=True)
class ConnectionTimes:
    """In seconds."""

    silent_after: float = 12.0
    """The connection is abandoned after this time without a frame. The server sends one every 5, and answers pings."""
    first_retry: float = 0.25
    most_retry: float = 15.0


class Handler(Protocol):
    """The user of the connection."""

    async def upgrade(self) -> tuple[str, Mapping[str, str]]:
        """Address and headers of the next connection, which may go to another member of a cluster; a nonce is valid
        once.
        """

    def opened(self) -> None:
        """Messages can be sent."""

    def received(self, frame: Any) -> None:
        """A frame."""

    def lost(self, was_open: bool) -> None:
        """The connection has ended, or could not be opened."""

    def failed(self, error: Exception) -> None:
        """There are no further attempts."""


class Connection:
    """Runs in a task of its own from `start` to `close`."""

    def __init__(
        self,
        handler: Handler,
        permanent_error: Callable[[], Awaitable[Exception | None]],
        times: ConnectionTimes,
    ) -> None:
        """`permanent_error` is asked when no connection could be opened: an error that no retry heals, or None."""
        self._handler = handler
        self._permanent_error = permanent_error
        self._times = times
        self._task: asyncio.Task[None] | None = None
        self._socket: Any = None
        self._outbox: deque[str] = deque()
        self._has_message = asyncio.Event()
        self._attempts = 0
        self._last_frame = 0.0
        self._failure: Exception | None = None
        self.last_fault: Exception | None = None
        """Why the last connection was given up, if it had a frame that is none of the exchange."""
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """True if messages can be sent."""
        return self._socket is not None

    def start(self) -> None:
        """Opens it, unless that was done before."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends the message as soon as the server's limit allows; it is lost if the connection is."""
        if self.is_open:
            self._outbox.append(json.dumps(message, separators=(",", ":")))
            self._has_message.set()

    async def send_now(self, message: Mapping[str, Any]) -> None:
        """Sends the message at once: orders have their own limits. NoAnswerError if the connection is lost."""
        if self._socket is None:
            raise NotConnectedError("the socket was lost")
        try:
            await self._socket.send(json.dumps(message, separators=(",", ":")))
        except (OSError, WebSocketException) as error:
            raise NoAnswerError(f"the socket was lost: {type(error).__name__}") from error

    def settled(self) -> None:
        """The connection works: the delay after the next loss is the shortest again."""
        self._attempts = 0

    def fail(self, error: Exception) -> None:
        """Ends the connection for good."""
        self._failure = self._failure or error
        if self._socket is not None:
            asyncio.get_running_loop().create_task(self._socket.close())

    async def close(self) -> None:
        """Ends it."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while not self._is_closed:
            was_open = await self._connected()
            if self._is_closed:
                return
            self._handler.lost(was_open)
            if not was_open and self._failure is None:
                self._failure = await self._permanent_error()
            if self._failure is not None:
                self._handler.failed(self._failure)
                return
            delay = min(self._times.most_retry, self._times.first_retry * 2.0 ** min(self._attempts, 20))
            self._attempts += 1
            # Clients that lost the same server must not return at the same moment.
            await asyncio.sleep(delay / 2 + random.random() * delay / 2)

    async def _connected(self) -> bool:
        """Runs one connection from its start to its end. Returns True if it was ever open."""
        try:
            url, headers = await self._handler.upgrade()
        except ExchangeError:
            return False
        options: dict[str, Any] = {_HEADERS: dict(headers)}
        try:
            socket = await _connect(
                url,
                ping_interval=None,
                max_size=_MOST_FRAME_BYTES,
                open_timeout=_OPEN_SEC,
                close_timeout=_CLOSE_SEC,
                **options,
            )
        except (OSError, asyncio.TimeoutError, WebSocketException, EOFError):
            return False
        if self._is_closed:
            # A cancel that comes just as the connection opens is swallowed by what waits for that.
            await _closed(socket)
            return False
        loop = asyncio.get_running_loop()
        self._socket, self._last_frame = socket, loop.time()
        helpers = [loop.create_task(self._send_all(socket)), loop.create_task(self._watch(socket))]
        try:
            self._handler.opened()
            async for text in socket:
                self._last_frame = loop.time()
                try:
                    frame = parse_json(text if isinstance(text, str) else text.decode())
                    if not isinstance(frame, dict):
                        break
                    self._handler.received(frame)
                except (ValueError, RecursionError, UnexpectedAnswerError) as error:
                    # What is no frame of the exchange ends the connection as a loss does.
                    self.last_fault = error
                    break
        except (OSError, WebSocketException):
            pass
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            # A frame without what every frame of its kind has: the next connection may be to a server that is well.
            self.last_fault = error
        except Exception as error:  # A fault of this program is not repeated for ever.
            self._failure = error
        finally:
            self._socket = None
            self._outbox.clear()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await _closed(socket)
        return True

    async def _send_all(self, socket: Any) -> None:
        loop = asyncio.get_running_loop()
        sent: deque[float] = deque()
        while True:
            while not self._outbox:
                self._has_message.clear()
                await self._has_message.wait()
            now = loop.time()
            while sent and now - sent[0] >= 1:
                sent.popleft()
            if len(sent) >= _MESSAGES_PER_SECOND:
                await asyncio.sleep(1 - (now - sent[0]) + 0.001)
                continue
            sent.append(now)
            await socket.send(self._outbox.popleft())

    async def _watch(self, socket: Any) -> None:
        """The server pings, too, but a connection that the network has forgotten is silent."""
        silent_after = self._times.silent_after
        while True:
            await asyncio.sleep(silent_after / 4)
            silent = asyncio.get_running_loop().time() - self._last_frame
            if silent >= silent_after:
                # No program is at its other end to close it with.
                socket.transport.abort()
                return
            if silent >= silent_after / 2:
                self.send({"channel": "ping"})


async def _closed(socket: Any) -> None:
    """The socket ends in any case. An error of its close, which the server may have begun too, is no other loss."""
    try:
        await socket.close()
    except (OSError, WebSocketException):
        pass
