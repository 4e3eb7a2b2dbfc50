"""Read the rows of a table of pandas, polars, or of anything that gives Arrow, without importing any of them."""

from __future__ import annotations

from typing import Any

from krag_eval._utils.errors import needing
from krag_eval.documents.columns import is_arrow_table


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
    elif is_arrow_table(given) and not hasattr(given, "__next__"):  # a stream can be read only once
        with needing("EvalSet(table)", "pyarrow", "arrow"):
            import pyarrow as pa
        rows = pa.RecordBatchReader.from_stream(given).read_all().to_pylist()
    else:
        return None
    return [{str(name): None if is_missing(value) else value for name, value in row.items()} for row in rows]


def is_missing(value: object) -> bool:
    """Return whether it stands for no value: None, NaN, or what pandas puts in its place."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING


_MISSING = ("NAType", "NaTType")
