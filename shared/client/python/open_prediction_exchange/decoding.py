"""Turns the JSON of answers into the dataclasses that describe them: exactly, and without what they do not have.

Members that a later exchange adds are left out, and a value that it adds to a list of known ones stays as it is.
"""

from __future__ import annotations

import dataclasses
import types
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, Callable, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import UnexpectedAnswerError

T = TypeVar("T")
_MOST_TEXT = 300
"""What is wrong with an answer may have all of it in its text."""
_MOST_COUNTED = 2**53 - 1
Convert = Callable[[Any], Any]


def decode(kind: type[T], value: Any) -> T:
    """The value as `kind`. UnexpectedAnswerError if it does not have that form."""
    try:
        form: Any = kind
        converted: T = _converter(form)(value)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        name, why = getattr(kind, "__name__", kind), repr(error)[:_MOST_TEXT]
        raise UnexpectedAnswerError(f"an answer is no {name}: {why}") from error
    return converted


def json_name(field: str) -> str:
    """`from_` is "from": a word of Python has `_` at its end as the name of a field."""
    return field[:-1] if field.endswith("_") else field


def parse_time(text: str) -> datetime:
    """An ISO 8601 time in UTC, with its microseconds."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def time_text(time: datetime | date | str) -> str:
    """The form for a query. A datetime needs a zone: without one it would be in the machine's zone, and the exchange
    uses UTC.
    """
    if isinstance(time, str):
        return time
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise ValueError("a datetime without a zone is no moment: give tzinfo=timezone.utc")
        return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return time.isoformat()


@lru_cache(maxsize=None)
def _converter(kind: Any) -> Convert:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(parts)
    if origin is tuple:
        each = _converter(parts[0])
        return lambda values: tuple(each(value) for value in _list(values))
    if origin is dict:
        of = _converter(parts[1])
        return lambda values: {name: of(value) for name, value in values.items()}
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    return _SIMPLE.get(kind, _same)


def _object(kind: Any) -> Convert:
    hints = get_type_hints(kind)
    # A class may have itself in it, so its members are looked up when the first object is read.
    members: list[tuple[str, str, bool, Convert]] = []

    def convert(value: Any) -> Any:
        if not members:
            for field in dataclasses.fields(kind):
                is_required = field.default is dataclasses.MISSING
                members.append((field.name, json_name(field.name), is_required, _converter(hints[field.name])))
        if not isinstance(value, dict):
            raise TypeError(f"an object and not {type(value).__name__}")
        return kind(**{name: read(value[key]) for name, key, need, read in members if need or key in value})

    return convert


def _union(kinds: tuple[Any, ...]) -> Convert:
    options = [kind for kind in kinds if kind is not type(None)]
    if len(options) == 1:
        only = _converter(options[0])
        return lambda value: None if value is None else only(value)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        fitting = next((kind for kind in options if _fits(kind, value)), options[-1])
        return _converter(fitting)(value)

    return convert


def _fits(kind: Any, value: Any) -> bool:
    """True if the value can be of that kind; for objects the members that are always present decide."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if not dataclasses.is_dataclass(kind):
        return isinstance(
            value, str if kind in (int, Decimal, datetime) else kind if isinstance(kind, type) else object
        )
    if not isinstance(value, dict):
        return False
    hints = get_type_hints(kind)
    required = [field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    if not all(json_name(name) in value for name in required):
        return False
    literals = [name for name in required if get_origin(hints[name]) is Literal]
    return all(value[json_name(name)] in get_args(hints[name]) for name in literals)


def _list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(f"a list and not {type(values).__name__}")
    return values


def _whole(value: Any) -> int:
    """A JSON number, or units as text."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(f"{value!r} is not a whole number")
    return int(value)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise TypeError(f"{value!r} is not a decimal number")
    return Decimal(value)


def counted(value: Any) -> int:
    """A number that frames count with. TypeError for all else: what it is compared with or sent as has to be one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNTED:
        raise TypeError("a sequence or a count is a whole number")
    return value


def _same(value: Any) -> Any:
    return value


_SIMPLE: dict[Any, Convert] = {int: _whole, Decimal: _decimal, datetime: parse_time}
