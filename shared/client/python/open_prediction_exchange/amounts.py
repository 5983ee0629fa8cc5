"""Exact amounts: decimals as people write them, to the integers of the exchange and back.

USDC and tokens both have six decimals, so 1.25 of either is 1,250,000 units: micro-USDC, or atomic tokens. A price is a
number of ticks, of which a market has `ticks_per_unit` to one USDC; a lot is the least quantity, of `ticks_per_unit`
units of a token. A tick and a lot together cost one unit of USDC, so nothing is ever rounded.

A float is refused where an amount is expected: 0.1 + 0.2 is not 0.3, and most decimals are none of it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Union

Amount = Union[str, Decimal, int]
"""A decimal amount in USDC, in tokens, or in USDC per token: "12.5", Decimal("12.5") or 12, and never a float."""

UNITS_PER_TOKEN = 1_000_000
MOST_UNITS = 10**15
"""The largest quantity of an order, in atomic tokens."""


def to_decimal(amount: Amount, what: str = "an amount") -> Decimal:
    """The exact value. TypeError for a float or a bool, ValueError for a text that is not a plain decimal."""
    if isinstance(amount, bool) or not isinstance(amount, (str, Decimal, int)):
        raise TypeError(
            f"{what} is a text such as '0.65', a Decimal or an int, not a {type(amount).__name__}: {amount!r}"
        )
    if isinstance(amount, str):
        whole, point, fraction = amount.partition(".")
        digits = whole + fraction
        if not (whole and digits.isascii() and digits.isdigit()) or (point and not fraction):
            raise ValueError(f"{amount!r} is not a decimal number")
    value = Decimal(amount)
    if not value.is_finite():
        raise ValueError(f"{amount!r} is not a decimal number")
    return value


def _scaled(value: Decimal, factor: int) -> int | None:
    """value * factor if that is whole; by integers, because the context of decimals rounds long products."""
    numerator, denominator = value.as_integer_ratio()
    scaled, rest = divmod(numerator * factor, denominator)
    return scaled if rest == 0 else None


def parse_units(amount: Amount) -> int:
    """12.5 tokens or USDC are 12,500,000 units. ValueError unless it has at most six decimals and is not negative."""
    units = _scaled(to_decimal(amount), UNITS_PER_TOKEN)
    if units is None or units < 0:
        raise ValueError(f"{amount} is not a decimal number of at most 6 places")
    return units


def format_units(units: int) -> str:
    """Units of tokens or USDC in their shortest form: 12,500,000 is "12.5"."""
    whole, fraction = divmod(abs(units), UNITS_PER_TOKEN)
    places = f"{fraction:06}".rstrip("0")
    return f"{'-' if units < 0 else ''}{whole}{'.' + places if places else ''}"


def units_to_decimal(units: int) -> Decimal:
    """Units of tokens or USDC as tokens or USDC: 12,500,000 is Decimal("12.5")."""
    return Decimal(format_units(units))


def parse_price(price: Amount, ticks_per_unit: int) -> int:
    """0.65 USDC per token is 65 ticks of a market with 100. ValueError unless it is a price of that market."""
    value = to_decimal(price, "a price")
    ticks = _scaled(value, ticks_per_unit)
    if ticks is None or not 0 < ticks < ticks_per_unit:
        raise _off_prices(str(price), ticks_per_unit)
    return ticks


def format_price(ticks: int, ticks_per_unit: int) -> str:
    """65 ticks of a market with 100 are "0.65" USDC per token."""
    ticks = checked_ticks(ticks, ticks_per_unit)
    return format_units(ticks * UNITS_PER_TOKEN // ticks_per_unit)


def parse_lots(size: Amount, ticks_per_unit: int) -> int:
    """12.5 tokens are 125,000 lots of a market with 100 ticks. ValueError unless it is a size of that market."""
    units = _scaled(to_decimal(size, "a size"), UNITS_PER_TOKEN)
    if units is None or units % ticks_per_unit != 0:
        raise _off_sizes(str(size), ticks_per_unit)
    return checked_lots(units // ticks_per_unit, ticks_per_unit)


def format_lots(lots: int, ticks_per_unit: int) -> str:
    """125,000 lots of a market with 100 ticks are "12.5" tokens."""
    return format_units(lots * ticks_per_unit)


def floor_size(size: Amount, ticks_per_unit: int) -> str:
    """The largest size on the grid that is at most `size` tokens: floor_size("1.23456", 100) is "1.2345"."""
    units = parse_units(size)
    return format_units(units - units % ticks_per_unit)


def checked_lots(lots: int, ticks_per_unit: int) -> int:
    """Raises unless it is a quantity that an order may have, in lots."""
    units = _whole(lots, "a quantity in lots") * ticks_per_unit
    if not 0 < units <= MOST_UNITS:
        raise _off_sizes(format_units(units), ticks_per_unit)
    return lots


def checked_ticks(ticks: int, ticks_per_unit: int) -> int:
    """Raises unless it is a price that an order may have, in ticks."""
    if not 0 < _whole(ticks, "a price in ticks") < ticks_per_unit:
        raise _off_prices(f"of {ticks} ticks", ticks_per_unit)
    return ticks


def units_text(units: int) -> str:
    """The units of a request as its text."""
    return str(_whole(units, "an amount in units"))


def _whole(number: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{what} is an int, not a {type(number).__name__}: {number!r}")
    return number


def _off_prices(price: str, ticks_per_unit: int) -> ValueError:
    first, last = format_price(1, ticks_per_unit), format_price(ticks_per_unit - 1, ticks_per_unit)
    return ValueError(f"price {price} is not a step of {first} between {first} and {last}")


def _off_sizes(size: str, ticks_per_unit: int) -> ValueError:
    lot, most = format_units(ticks_per_unit), format_units(MOST_UNITS)
    return ValueError(f"size {size} is not a multiple of {lot} tokens between {lot} and {most}")
