"""A socket for orders: signed once when it is opened, and answered as over HTTP.

A request that was sent is answered, or fails as one without an answer when the connection is lost or its time is up: it
may have been carried out, and is repeated, over HTTP while the socket is away, as every request is. At most 512
requests wait for their answers; the others wait, unsent, in their order.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Mapping

from ..errors import ExchangeError, NoAnswerError, NotConnectedError
from ..logic.requests import Requests
from .blocking import Portal
from .connection import Connection, ConnectionTimes
from .upgrade import Upgrade

_MOST_IN_FLIGHT = 512
_READY_SEC = 10.0


class AsyncOrderSocket(Upgrade):
    """The socket of an `AsyncClient`: `await client.open_order_socket()`. Its owner closes it."""

    def __init__(self, requests: Requests, times: ConnectionTimes = ConnectionTimes()) -> None:
        super().__init__(requests)
        self._client = requests
        self._loop = asyncio.get_running_loop()
        self._connection = Connection(self, self.permanent_error, times)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._free = asyncio.Semaphore(_MOST_IN_FLIGHT)
        self._last_id = 0
        self._is_closed = False
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def is_open(self) -> bool:
        """True if requests about orders go over the socket; otherwise they go over HTTP."""
        return self._connection.is_open and not self._is_closed

    async def start(self) -> None:
        """Opens it, and takes the requests of the client. NoAnswerError if that takes ten seconds."""
        self._connection.start()
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), _READY_SEC)
        except asyncio.TimeoutError:
            await self.close()
            raise NotConnectedError(f"the socket for orders was not open after {_READY_SEC} seconds") from None
        except BaseException:
            await self.close()
            raise
        self._client.socket = self

    def ask(self, message: Mapping[str, Any], timeout_sec: float) -> Any:
        """For a driver that blocks, which has the socket of a `Client`."""
        raise TypeError("this socket is one of an event loop")

    async def ask_async(self, message: Mapping[str, Any], timeout_sec: float) -> Any:
        """The answer."""
        was_sent = False
        try:
            async with asyncio.timeout(timeout_sec) if hasattr(asyncio, "timeout") else _Deadline(timeout_sec):
                async with self._free:
                    if not self.is_open:
                        raise NotConnectedError("the socket was lost")
                    self._last_id += 1
                    number = self._last_id
                    answer: asyncio.Future[Any] = self._loop.create_future()
                    self._waiting[number] = answer
                    was_sent = True
                    try:
                        await self._connection.send_now({"channel": "order", "id": number, "data": message})
                        return await answer
                    finally:
                        self._waiting.pop(number, None)
        except (asyncio.TimeoutError, TimeoutError):
            kind = NoAnswerError if was_sent else NotConnectedError
            raise kind(f"no answer in {timeout_sec} seconds") from None

    async def close(self) -> None:
        """Unanswered requests fail as if the connection were lost; later requests go over HTTP."""
        self._is_closed = True
        if self._client.socket is self:
            self._client.socket = None
        await self._connection.close()
        self._end()

    async def __aenter__(self) -> AsyncOrderSocket:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    # For the connection.

    def opened(self) -> None:
        """It takes requests."""
        self._connection.settled()
        if not self._ready.done():
            self._ready.set_result(None)

    def received(self, frame: Any) -> None:
        """Handles an answer; ignores it if no request waits for it."""
        if not isinstance(frame, dict) or frame.get("channel") != "order_result":
            return
        number = frame.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is not None and not answer.done():
            answer.set_result(frame.get("data"))

    def lost(self, was_open: bool) -> None:
        """Requests that were sent may have been carried out."""
        self.move_on()
        self._end()

    def failed(self, error: Exception) -> None:
        """The exchange refuses the socket for good."""
        self._is_closed = True
        if not self._ready.done():
            self._ready.set_exception(error)
        self._end()

    def _end(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(NoAnswerError("the socket was lost before the answer came"))
        self._waiting.clear()


class _Deadline:
    """`asyncio.timeout` of Python 3.11, for 3.10."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_over = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._over, task)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._is_over = True
        task.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: Any) -> None:
        self._timer.cancel()
        if self._is_over and kind is asyncio.CancelledError:
            raise asyncio.TimeoutError from error


class OrderSocket:
    """The socket of a `Client`: `client.open_order_socket()`, on a thread of its own. Its owner closes it."""

    def __init__(self, requests: Requests, times: ConnectionTimes = ConnectionTimes()) -> None:
        self._requests = requests
        self._portal = Portal()
        self._socket: AsyncOrderSocket = self._portal.call(AsyncOrderSocket, requests, times)
        try:
            self._portal.wait(self._socket.start())
        except BaseException:
            self._portal.end()
            raise
        requests.socket = self

    @property
    def is_open(self) -> bool:
        """True if requests about orders go over the socket; otherwise they go over HTTP."""
        return self._socket.is_open

    def ask(self, message: Mapping[str, Any], timeout_sec: float) -> Any:
        """The answer."""
        try:
            return self._portal.wait(self._socket.ask_async(message, timeout_sec))
        except ExchangeError as error:
            if isinstance(error, NoAnswerError):
                raise
            raise NotConnectedError(str(error)) from error

    async def ask_async(self, message: Mapping[str, Any], timeout_sec: float) -> Any:
        """For a driver that awaits, which has the socket of an `AsyncClient`."""
        raise TypeError("this socket is one of a client that blocks")

    def close(self) -> None:
        """Unanswered requests fail as if the connection were lost; later requests go over HTTP."""
        if self._requests.socket is self:
            self._requests.socket = None
        if self._socket.is_open or not self._socket._is_closed:
            self._portal.wait(self._socket.close())
        self._portal.end()

    def __enter__(self) -> OrderSocket:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
