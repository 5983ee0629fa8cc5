"""The steps that a generator yields to its driver, and what makes methods of generators."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Awaitable, Generator, Mapping, Protocol, TypeVar, Union

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    """Send this request once. The driver gives back an `Answer`, or raises NoAnswerError."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes
    timeout_sec: float


@dataclass(frozen=True)
class Pause:
    """Wait."""

    seconds: float


class Asked(Protocol):
    """A socket that answers messages."""

    def ask(self, message: Mapping[str, Any], timeout_sec: float) -> Any:
        """The answer, for a driver that blocks. NoAnswerError if none came."""

    def ask_async(self, message: Mapping[str, Any], timeout_sec: float) -> Awaitable[Any]:
        """The same for one that awaits."""


@dataclass(frozen=True)
class Ask:
    """Send this message over the socket. The driver gives back its answer, or raises NoAnswerError."""

    socket: Asked
    message: Mapping[str, Any]
    timeout_sec: float


@dataclass(frozen=True)
class Alone:
    """Do this work while no one else has the lock. The driver gives back its result, or raises its ExchangeError."""

    lock: threading.Lock
    work: Generator[Any, Any, Any]


Step = Union[Send, Pause, Ask, Alone]
Steps = Generator[Step, Any, T]
"""A piece of work that ends with a T."""
