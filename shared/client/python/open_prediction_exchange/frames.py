"""Rows as a DataFrame, where pandas is installed. Nothing else of this package needs it."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Iterable


def to_frame(rows: Iterable[Any], index: str | None = None) -> Any:
    """A pandas.DataFrame of answers of one kind: a row for each, a column for each member.

    Values stay exact: amounts are integers of micro-USDC and atomic tokens, prices are Decimals in a column of objects.
    Who calculates with floats converts a column on purpose: `frame["price"].astype(float)`. `index` names the column
    that becomes the index. Parts of an answer that are objects or lists of their own stay as they are.
    """
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    found = list(rows)
    if not found:
        return pandas.DataFrame()
    names = [field.name for field in dataclasses.fields(found[0])]
    # Integers may be larger than 64 bits: token ids are.
    columns = {name: [getattr(row, name) for row in found] for name in names}
    frame = pandas.DataFrame(columns)
    return frame if index is None else frame.set_index(index)
