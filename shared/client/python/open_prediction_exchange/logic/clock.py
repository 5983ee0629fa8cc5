"""The clock of the exchange, by which requests are signed."""

from __future__ import annotations

import time
from typing import Callable

from ..errors import ApiError

_LEAST_OFFSET_SEC = 2.0
"""The exchange states its time in whole seconds, and an answer takes a moment: less than this is no difference."""


class ServerClock:
    """The clock of the exchange, as far as this machine knows it: its own and the difference that was stated."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.offset_sec = 0.0
        """Seconds that the exchange's clock is ahead of this machine's; 0 until a difference is known."""

    def own(self) -> float:
        """Unix seconds of this machine."""
        return self._now()

    def now(self) -> float:
        """Unix seconds of the exchange."""
        return self._now() + self.offset_sec

    def measured(self, server_sec: int, sent: float) -> float:
        """Takes over what an answer says that has arrived now. What the exchange is ahead, to about half a second."""
        offset = server_sec + 0.5 - (sent + self._now()) / 2
        self.offset_sec = 0.0 if abs(offset) < _LEAST_OFFSET_SEC else offset
        return offset

    def learns(self, error: ApiError, sent: float) -> bool:
        """True if a request was refused for its time, and another one with the time that is known now may not be."""
        details = error.details if isinstance(error.details, dict) else {}
        server_sec = details.get("server_time")
        if error.status != 401 or details.get("step") != "timestamp" or not isinstance(server_sec, int):
            return False
        before = self.offset_sec
        self.measured(server_sec, sent)
        return abs(self.offset_sec - before) >= _LEAST_OFFSET_SEC
