"""Runs the generators of `logic`: with blocking calls, or with asyncio. Only here is anything sent or waited for."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import time
from typing import Any, AsyncIterator, Callable, Concatenate, Coroutine, Generic, Iterator, ParamSpec, TypeVar

import httpx

from .answers import Answer
from .errors import ExchangeError, NoAnswerError, NotConnectedError
from .logic.pages import Pager
from .logic.steps import Alone, Ask, Pause, Send, Step, Steps

_LOCK_SEC = 0.01
_MOST_TEXT = 300
"""What is wrong with an answer may have all of it in its text."""
_MOST_BYTES = 64 * 2**20
"""A longer answer is none of the exchange, which sends long lists in pages."""
P = ParamSpec("P")
L = TypeVar("L")
T = TypeVar("T")


class Driver:
    """Blocking calls over a pool of connections. Threads may share one."""

    def __init__(self, http: httpx.Client | None = None) -> None:
        self._owns = http is None
        self._http = http or httpx.Client(follow_redirects=False)

    def run(self, steps: Steps[T]) -> T:
        """The result of the work."""
        given: Any = None
        error: BaseException | None = None
        while True:
            try:
                step = steps.send(given) if error is None else steps.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            given, error = None, None
            try:
                given = self._perform(step)
            except ExchangeError as failure:
                error = failure
            except BaseException:
                steps.close()
                raise

    def _perform(self, step: Step) -> Any:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        if isinstance(step, Ask):
            return step.socket.ask(step.message, step.timeout_sec)
        if isinstance(step, Alone):
            with step.lock:
                return self.run(step.work)
        until = time.monotonic() + step.timeout_sec
        try:
            with self._http.stream(**_request(step)) as response:
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise NoAnswerError(f"an answer of more than {_MOST_BYTES} bytes is none of the exchange")
                    # httpx limits each read; an answer that comes byte by byte ends here.
                    if time.monotonic() > until:
                        raise NoAnswerError(f"no whole answer in {step.timeout_sec} seconds")
                return _answer(response, bytes(body))
        except httpx.HTTPError as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Closes the connections, unless the caller has brought them."""
        if self._owns:
            self._http.close()


class AsyncDriver:
    """The same in the event loop that awaits it."""

    def __init__(self, http: httpx.AsyncClient | None = None) -> None:
        self._owns = http is None
        self._http = http or httpx.AsyncClient(follow_redirects=False)

    async def run(self, steps: Steps[T]) -> T:
        """The result of the work."""
        given: Any = None
        error: BaseException | None = None
        while True:
            try:
                step = steps.send(given) if error is None else steps.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            given, error = None, None
            try:
                given = await self._perform(step)
            except ExchangeError as failure:
                error = failure
            except BaseException:
                steps.close()
                raise

    async def _perform(self, step: Step) -> Any:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        if isinstance(step, Ask):
            return await step.socket.ask_async(step.message, step.timeout_sec)
        if isinstance(step, Alone):
            # Another thread may have it, so the loop does not wait for it.
            while not step.lock.acquire(blocking=False):
                await asyncio.sleep(_LOCK_SEC)
            try:
                return await self.run(step.work)
            finally:
                step.lock.release()
        try:
            return await asyncio.wait_for(self._send(step), step.timeout_sec)
        except asyncio.TimeoutError as error:
            raise NoAnswerError(f"no answer in {step.timeout_sec} seconds") from error
        except httpx.HTTPError as error:
            raise _failure(error) from error

    async def _send(self, step: Send) -> Answer:
        async with self._http.stream(**_request(step)) as response:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise NoAnswerError(f"an answer of more than {_MOST_BYTES} bytes is none of the exchange")
            return _answer(response, bytes(body))

    async def close(self) -> None:
        """Closes the connections, unless the caller has brought them."""
        if self._owns:
            await self._http.aclose()


def _request(step: Send) -> dict[str, Any]:
    return {
        "method": step.method,
        "url": step.url,
        "headers": dict(step.headers),
        "content": step.body or None,
        "timeout": step.timeout_sec,
        "follow_redirects": False,
    }


def _answer(response: httpx.Response, body: bytes) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, body.decode("utf-8", "replace"))


def _failure(error: httpx.HTTPError) -> NoAnswerError:
    """No message of these errors contains a header or a body."""
    text = f"{type(error).__name__}: {error}"[:_MOST_TEXT]
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)):
        return NotConnectedError(text)
    return NoAnswerError(text)


class HasLogic(Generic[L]):
    """What is made of the methods of an object of `logic`."""

    _logic: L


class Runs(HasLogic[L]):
    """What has methods that block."""

    _driver: Driver


class AsyncRuns(HasLogic[L]):
    """What has methods that are awaited."""

    _driver: AsyncDriver


def blocking(work: Callable[Concatenate[L, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method that does the work of a generator and returns its result."""

    @functools.wraps(work)
    def method(self: Runs[L], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._driver.run(work(self._logic, *args, **kwargs))

    return _shown(method, work)


def giving(kind: type[T], method: Callable[P, Any]) -> Callable[P, T]:
    """The method of the class: for a blocking order, or for one to await."""
    setattr(method, "__signature__", inspect.signature(method).replace(return_annotation=kind))
    return method


def giving_async(kind: type[T], method: Callable[P, Coroutine[Any, Any, Any]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same for a method to await."""
    giving(kind, method)
    return method


def awaited(work: Callable[Concatenate[L, P], Steps[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same for asyncio."""

    @functools.wraps(work)
    async def method(self: AsyncRuns[L], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._driver.run(work(self._logic, *args, **kwargs))

    return _shown(method, work)


def iterated(work: Callable[Concatenate[L, P], Pager[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """A method that yields the rows of all pages, one by one."""

    @functools.wraps(work)
    def method(self: Runs[L], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pager = work(self._logic, *args, **kwargs)
        while not pager.is_over:
            yield from self._driver.run(pager.next_page())

    return _shown(method, work)


def iterated_async(work: Callable[Concatenate[L, P], Pager[T]]) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    """The same for asyncio: `async for row in client.all_…()`."""

    @functools.wraps(work)
    async def method(self: AsyncRuns[L], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pager = work(self._logic, *args, **kwargs)
        while not pager.is_over:
            for row in await self._driver.run(pager.next_page()):
                yield row

    return _shown(method, work)


M = TypeVar("M", bound=Callable[..., Any])


def _shown(method: M, work: Callable[..., Any]) -> M:
    """The signature that `help` shows: that of the work, independent of blocking or awaiting."""
    shape = inspect.signature(work)
    result = re.sub(r"^(?:Steps|Pager)\[(.*)\]$", r"\1", str(shape.return_annotation))
    setattr(method, "__signature__", shape.replace(return_annotation=result))
    return method
