"""A copy of a market's book, built from frames and verified against the server's checksums and best prices.

It knows nothing of connections: the caller applies frames in the order of arrival, and every result but `applied` says
what is wrong. After `mismatch` no frame is applied until the next book frame.
"""

from __future__ import annotations

import binascii
from bisect import bisect_left
from decimal import Decimal
from typing import Any, Literal, Mapping

from ..amounts import UNITS_PER_TOKEN, format_units
from ..decoding import counted
from ..orders import Outcome
from .events import Level, Levels

Frame = Mapping[str, Any]
ApplyResult = Literal["applied", "repeated", "gap", "mismatch", "unready"]
FINEST = 10_000
"""Prices of every grid are a multiple of this grid's step."""


class _Side:
    """The levels of one side in terms of Yes, sorted by price upwards: quantity and number of orders by ticks."""

    def __init__(self) -> None:
        self.ticks: list[int] = []
        self.levels: dict[int, tuple[int, int]] = {}

    def load(self, levels: Any) -> None:
        rows = [(row["price"], row["token_quantity_atomic"], row["num_orders"]) for row in levels]
        self.levels = {_ticks(price): (int(quantity), counted(num)) for price, quantity, num in rows}
        self.ticks = sorted(self.levels)

    def change(self, ticks: int, quantity: int, num_orders: int) -> bool:
        """False if a level is removed that does not exist."""
        at = bisect_left(self.ticks, ticks)
        is_there = ticks in self.levels
        if num_orders > 0:
            if not is_there:
                self.ticks.insert(at, ticks)
            self.levels[ticks] = (quantity, num_orders)
        elif is_there:
            del self.ticks[at], self.levels[ticks]
        return is_there or num_orders > 0


class BookReplica:
    """`sequence` is that of the last frame applied, and the book is the server's after that frame."""

    def __init__(self) -> None:
        self.sequence: int | None = None
        """None before the first book frame and after a mismatch."""
        self.timestamp = 0
        """Of the last frame, in Unix milliseconds."""
        self._bids, self._asks = _Side(), _Side()

    def apply(self, frame: Frame) -> ApplyResult:
        """Takes over the next frame of the market. What is no frame leaves no book that is known to be right."""
        try:
            return self._apply(frame)
        except Exception:
            self.forget()
            raise

    def forget(self) -> None:
        """No frame is applied until the next book frame."""
        self.sequence = None

    def _apply(self, frame: Frame) -> ApplyResult:
        channel = frame["channel"]
        if channel == "book":
            return self._load(frame)
        if self.sequence is None:
            return "unready"
        if channel == "bbo":
            return self._compare_best(frame, self.sequence)
        sequence = counted(frame["sequence"])
        if sequence <= self.sequence:
            return "repeated"
        if sequence != self.sequence + 1:
            return "gap"
        self.sequence, self.timestamp = sequence, counted(frame["timestamp"])
        return "applied" if channel == "trade" else self._change(frame["data"])

    def levels(self, outcome: Outcome) -> Levels:
        """Full depth in terms of one outcome: a bid for Yes at 0.65 is an ask for No at 0.35."""
        bids = [_level(ticks, of, outcome) for ticks, of in self._sorted(self._bids, True)]
        asks = [_level(ticks, of, outcome) for ticks, of in self._sorted(self._asks, False)]
        return Levels(tuple(bids), tuple(asks)) if outcome == 0 else Levels(tuple(asks), tuple(bids))

    def best(self, outcome: Outcome) -> tuple[Level | None, Level | None]:
        """The best bid and the best ask."""
        bids, asks = self._bids, self._asks
        bid = None if not bids.ticks else _level(bids.ticks[-1], bids.levels[bids.ticks[-1]], outcome)
        ask = None if not asks.ticks else _level(asks.ticks[0], asks.levels[asks.ticks[0]], outcome)
        return (bid, ask) if outcome == 0 else (ask, bid)

    def checksum(self) -> int:
        """CRC-32 of `price:quantity` of all levels, best first, bids then asks, joined with `|`."""
        rows = [*self._sorted(self._bids, True), *self._sorted(self._asks, False)]
        return binascii.crc32("|".join(f"{_price(ticks)}:{of[0]}" for ticks, of in rows).encode())

    def _load(self, frame: Frame) -> ApplyResult:
        data = frame["data"]
        self._bids.load(data["outcome_0"]["bids"])
        self._asks.load(data["outcome_0"]["asks"])
        self.sequence, self.timestamp = counted(frame["sequence"]), counted(frame["timestamp"])
        return "applied" if self.checksum() == data["checksum"] else self._mismatch()

    def _change(self, data: Any) -> ApplyResult:
        level = data["level"]
        side = self._bids if level["side"] == "BUY" else self._asks
        ticks, quantity = _ticks(level["price"]), int(level["token_quantity_atomic"])
        is_right = side.change(ticks, quantity, counted(level["num_orders"]))
        if is_right and data.get("checksum", None) is not None:
            is_right = self.checksum() == data["checksum"]
        return "applied" if is_right else self._mismatch()

    def _compare_best(self, frame: Frame, sequence: int) -> ApplyResult:
        """A `bbo` describes the book at its sequence; an older one cannot be compared with this book."""
        if frame["sequence"] != sequence:
            return "repeated" if frame["sequence"] < sequence else "gap"
        data = frame["data"]
        for side, level in zip(("bid", "ask"), self.best(data["outcome_index"])):
            price, quantity = data[f"best_{side}"], data[f"best_{side}_quantity_atomic"]
            own = (None, None) if level is None else (level.price, level.token_quantity_atomic)
            if own != (None if price is None else Decimal(price), None if quantity is None else int(quantity)):
                return self._mismatch()
        return "applied"

    def _mismatch(self) -> ApplyResult:
        self.forget()
        return "mismatch"

    @staticmethod
    def _sorted(side: _Side, is_falling: bool) -> list[tuple[int, tuple[int, int]]]:
        ticks = reversed(side.ticks) if is_falling else side.ticks
        return [(each, side.levels[each]) for each in ticks]


def _ticks(price: str) -> int:
    ticks = Decimal(price) * FINEST
    # The range comes first: an integer of 1E+999999 takes minutes to make.
    if not 0 <= ticks <= FINEST or ticks != int(ticks):
        raise ValueError(f"{price} is no price of a frame")
    return int(ticks)


def _price(ticks: int) -> str:
    return format_units(ticks * (UNITS_PER_TOKEN // FINEST))


def _level(ticks: int, of: tuple[int, int], outcome: Outcome) -> Level:
    return Level(Decimal(_price(ticks if outcome == 0 else FINEST - ticks)), *of)
