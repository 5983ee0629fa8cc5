"""Which requests are sent again, and when.

A failure that says that nothing was done is always retried, one that leaves open what was done only where a repeat does
no harm: a read, a cancel, a setting, or a request with an Idempotency-Key, which every attempt carries. A failure that
leaves open what was done is not forgotten over a later one that says nothing of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Callable, Literal, TypeVar

from ..answers import leaves_open, meaning_of, retry_after_of
from ..errors import ApiError, ExchangeError
from .steps import Pause, Steps

Repeat = Literal["harmless", "once"]
"""`harmless`: a repeat changes nothing more. `once`: it is repeated only after an answer that nothing was done."""
T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after which pauses."""

    attempts: int = 4
    """In all; 1 for no retry."""
    first_pause_sec: float = 0.25
    """After the first failure; each further one is twice as long. Half of it is random."""
    most_pause_sec: float = 5.0
    longest_wait_sec: float = 15.0
    """A Retry-After beyond this is not waited for: the error is the caller's."""
    random: Callable[[], float] = field(default=random.random, repr=False)
    """From 0 up to 1."""


def with_retries(send: Callable[[int], Steps[T]], repeat: Repeat, policy: RetryPolicy) -> Steps[T]:
    """Calls `send` with the attempt, from 1, until it succeeds, fails for good, or its attempts are used up."""
    doubt: ExchangeError | None = None
    attempt = 0
    while True:
        attempt += 1
        try:
            return (yield from send(attempt))
        except ExchangeError as error:
            failure = error
        if leaves_open(failure):
            doubt = failure
        wait = retry_after_of(failure)
        if attempt >= policy.attempts or not _may_repeat(failure, repeat) or (wait or 0) > policy.longest_wait_sec:
            raise doubt if doubt is not None and not _is_answer(failure) else failure
        yield Pause(_pause_sec(wait, attempt, policy))


def _may_repeat(error: ExchangeError, repeat: Repeat) -> bool:
    meaning = meaning_of(error)
    return meaning == "not now" or (meaning == "open" and repeat == "harmless")


def _is_answer(error: ExchangeError) -> bool:
    """True of a refusal of what the request asks for, rather than of this attempt."""
    return isinstance(error, ApiError) and error.status < 500 and error.status not in (401, 429)


def _pause_sec(retry_after: int | None, attempt: int, policy: RetryPolicy) -> float:
    """Retry-After is when the first request may come; many who wait for the same moment are spread behind it."""
    backoff: float = min(policy.most_pause_sec, policy.first_pause_sec * 2.0 ** min(attempt - 1, 30))
    spread = backoff / 2 + policy.random() * backoff / 2
    return spread if retry_after is None else retry_after + spread / 2
