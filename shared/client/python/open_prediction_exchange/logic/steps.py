"""The steps that a generator yields to its driver, and what makes methods of generators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generator, Mapping, TypeVar, Union

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


Step = Union[Send, Pause]
Steps = Generator[Step, Any, T]
"""A piece of work that ends with a T."""
