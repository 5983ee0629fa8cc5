"""Heartbeats of a dead man's switch.

While they go on, the exchange keeps the account's orders; when they stop, because the program or its connection has
died, it cancels them within 15 seconds. After `close` the switch stays armed: orders that are open 15 seconds after the
last beat are cancelled.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Callable

from .drivers import AsyncDriver, Driver
from .errors import ApiError, ExchangeError
from .logic.requests import NO_RETRY, Requests
from .logic.steps import Steps

OnLapse = Callable[[BaseException, bool], None]
"""Called once when no beat has got through for 15 seconds, or, then with True, none can any more."""
EVERY_SEC = 5.0
_LEAST_SEC = 1.0
_MOST_SEC = 10.0
_WINDOW_SEC = 15.0
_TIMEOUT_SEC = 4.0


class _Switch:
    """Interprets the answers to heartbeats, and says when the next one is due."""

    def __init__(self, requests: Requests, every_sec: float, on_lapse: OnLapse | None) -> None:
        if not _LEAST_SEC <= every_sec <= _MOST_SEC:
            raise ValueError(f"every_sec {every_sec} is not between {_LEAST_SEC} and {_MOST_SEC}")
        self._requests = requests.with_options(retry=NO_RETRY, timeout_sec=_TIMEOUT_SEC)
        self._every_sec = every_sec
        self._on_lapse = on_lapse or (lambda error, is_over: None)
        self._last = 0.0
        self._has_lapsed = False
        self.is_over = False

    @property
    def is_armed(self) -> bool:
        """False once heartbeats have failed for as long as the exchange waits for them, and after the end."""
        return not self.is_over and not self._has_lapsed

    def beat(self) -> Steps[None]:
        """Sends one heartbeat; raises if it fails."""
        yield from self._requests.send("POST", "/v1/orders/heartbeat", {})
        self._last, self._has_lapsed = time.monotonic(), False

    def next_beat(self) -> Steps[float]:
        """Sends one heartbeat; returns the seconds until the next one."""
        try:
            yield from self.beat()
            return self._every_sec
        except ExchangeError as error:
            self._failed(error)
            return _LEAST_SEC

    @property
    def every_sec(self) -> float:
        """The time from one heartbeat to the next."""
        return self._every_sec

    def _failed(self, error: ExchangeError) -> None:
        if isinstance(error, ApiError) and error.status in (401, 403):
            self.is_over = True
            self._on_lapse(error, True)
        elif not self._has_lapsed and time.monotonic() - self._last >= _WINDOW_SEC:
            self._has_lapsed = True
            self._on_lapse(error, False)


class Heartbeats:
    """Sends heartbeats on a separate daemon thread, which does not keep the program alive."""

    def __init__(self, requests: Requests, driver: Driver, every_sec: float, on_lapse: OnLapse | None) -> None:
        """When this returns, the first heartbeat has been answered and the switch is armed."""
        self._switch = _Switch(requests, every_sec, on_lapse)
        self._driver = driver
        self._closed = threading.Event()
        driver.run(self._switch.beat())
        threading.Thread(target=self._beat, name="exchange-heartbeats", daemon=True).start()

    @property
    def is_armed(self) -> bool:
        """False once heartbeats have failed for as long as the exchange waits for them, and after the end."""
        return self._switch.is_armed

    def close(self) -> None:
        """Sends no more heartbeats. The switch stays armed: cancel the orders that should not wait until it
        triggers.
        """
        self._closed.set()
        self._switch.is_over = True

    def _beat(self) -> None:
        pause = self._switch.every_sec
        while not self._switch.is_over and not self._closed.wait(pause):
            pause = self._driver.run(self._switch.next_beat())


class AsyncHeartbeats:
    """Sends heartbeats in a task of the running event loop."""

    def __init__(self, requests: Requests, driver: AsyncDriver, every_sec: float, on_lapse: OnLapse | None) -> None:
        self._switch = _Switch(requests, every_sec, on_lapse)
        self._driver = driver
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """When this returns, the first heartbeat has been answered and the switch is armed."""
        await self._driver.run(self._switch.beat())
        self._task = asyncio.get_running_loop().create_task(self._beat())

    @property
    def is_armed(self) -> bool:
        """False once heartbeats have failed for as long as the exchange waits for them, and after the end."""
        return self._switch.is_armed

    def close(self) -> None:
        """Sends no more heartbeats. The switch stays armed: cancel the orders that should not wait until it
        triggers.
        """
        self._switch.is_over = True
        if self._task is not None:
            self._task.cancel()

    async def _beat(self) -> None:
        pause = self._switch.every_sec
        while not self._switch.is_over:
            await asyncio.sleep(pause)
            pause = await self._driver.run(self._switch.next_beat())
