"""Read the rows of a table of pandas, polars or pyarrow, without importing any of them."""

from __future__ import annotations

from typing import Any


def rows_of_frame(given: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a table by the names of its columns, missing values as None; None if it is no table.

    An index of pandas that has a name is a column.
    """
    if hasattr(given, "columns") and hasattr(given, "iloc"):  # pandas
        named = given.index.name is not None and given.index.name not in given.columns
        rows = (given.reset_index() if named else given).to_dict("records")
    elif hasattr(given, "columns") and hasattr(given, "to_dicts"):  # polars
        rows = given.to_dicts()
    elif hasattr(given, "column_names") and hasattr(given, "to_pylist"):  # pyarrow
        rows = given.to_pylist()
    else:
        return None
    return [{str(name): None if is_missing(value) else value for name, value in row.items()} for row in rows]


def is_missing(value: object) -> bool:
    """Return whether it stands for no value: None, NaN, or what pandas puts in its place."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING


_MISSING = ("NAType", "NaTType")
