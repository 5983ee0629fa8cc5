"""Lists that come in pages, as one list: the next page is read when the rows of the one before are used up."""

from __future__ import annotations

from typing import Any, Callable, Generic, Sequence, TypeVar

from .steps import Steps

Row = TypeVar("Row")
ReadPage = Callable[[Any], Steps[tuple[Sequence[Row], Any]]]
"""A page after a cursor, with the cursor of the next one; None is both the first and after the last."""


class Pager(Generic[Row]):
    """Reads one page after the other."""

    def __init__(self, read: ReadPage[Row]) -> None:
        self._read = read
        self._cursor: Any = None
        self.is_over = False

    def next_page(self) -> Steps[Sequence[Row]]:
        """The rows of the next page; it may have none."""
        rows, cursor = yield from self._read(self._cursor)
        self._cursor, self.is_over = cursor, cursor is None
        return rows
