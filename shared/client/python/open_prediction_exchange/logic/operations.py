"""What the methods share that are made from /openapi.json: how they fill in a request and read its answer."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Mapping, Sequence, TypeVar, Union

from ..amounts import Amount, to_decimal, units_text
from ..decoding import decode, time_text
from ..errors import ApprovalNeededError
from ..models import Approval
from .requests import Requests, with_query
from .retry import Repeat
from .steps import Steps

T = TypeVar("T")


class Unset(Enum):
    """The value of a member that is left out, where None is one that is sent."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset.UNSET
Given = Union[Unset, None]


def given(**values: Any) -> dict[str, Any]:
    """Those that are there. A name that is a word of Python has `_` at its end."""
    return {name.rstrip("_"): value for name, value in values.items() if value is not None and value is not UNSET}


def set_or_null(**values: Any) -> dict[str, Any]:
    """The same, with those that are None: they remove what the exchange has."""
    return {name.rstrip("_"): value for name, value in values.items() if value is not UNSET}


def as_units(units: int | Given) -> str | Given:
    """Micro-USDC or atomic tokens, as the exchange reads them."""
    return units if units is None or units is UNSET else units_text(units)


def as_decimal(amount: Amount | Given) -> str | Given:
    """An exact decimal, as the exchange reads it."""
    return amount if amount is None or amount is UNSET else format(to_decimal(amount), "f")


def as_number(number: Decimal | int | Given) -> Any:
    """A number of JSON, which is no amount of money."""
    return float(number) if isinstance(number, Decimal) else number


def as_time(time: datetime | str | Given) -> str | Given:
    """A time in UTC."""
    return time if time is None or time is UNSET else time_text(time)


def as_list(values: Sequence[Any] | Given) -> Any:
    """A list of JSON."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"a list and not one text: {values!r}")
    return values if values is None or values is UNSET else list(values)


class Operations:
    """An account, or an operator, and where its requests go."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests

    def _do(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] = {},
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] = {},
        repeat: Repeat | None = None,
    ) -> Steps[T]:
        target = with_query(path, query)
        return decode(kind, (yield from self.requests.send(method, target, body, headers, repeat)))

    def _do_or_ask(
        self, kind: type[T], method: str, path: str, *, body: Mapping[str, Any] | None = None
    ) -> Steps[T]:
        """A change that was only asked for must not be taken for one that was made, so it is no result."""
        answer = yield from self.requests.send(method, path, body)
        if isinstance(answer, dict) and "requested_by" in answer:
            raise ApprovalNeededError(decode(Approval, answer))
        return decode(kind, answer)
