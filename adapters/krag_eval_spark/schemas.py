"""Spark's types as Arrow's, so that what is wrong with a column is said before any job starts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krag_eval import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("query_id", "actual", "predicted")

_PLAIN = {
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "date": pa.date32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "short": pa.int16(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


def types_of(frame: DataFrame) -> list[tuple[str, Any]]:
    """The columns of a DataFrame: names, and types as Spark writes them in JSON.

    Raises:
        InvalidInputError: It is no DataFrame of Spark.
    """
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInputError(
            f"A DataFrame of Spark is needed, got {type(frame).__module__}.{type(frame).__qualname__}. "
            "Make one with `spark.read.parquet(...)`."
        )
    return [(field["name"], field["type"]) for field in frame.schema.jsonValue()["fields"]]


def empty_batch(frame: DataFrame) -> pa.RecordBatch:
    """A batch without rows, whose types are those that the workers will see.

    Raises:
        InvalidInputError: A column that is scored has a type that Arrow does not have.
    """
    fields = [(name, _arrow(name, type_) if name in COLUMNS else pa.null()) for name, type_ in types_of(frame)]
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields))


def _arrow(column: str, type_: Any) -> Any:
    """A type as Spark writes it in JSON, as Arrow's."""
    if isinstance(type_, str):
        if type_ in _PLAIN:
            return _PLAIN[type_]
        if type_.startswith(("varchar", "char")):
            return pa.string()
        if decimal := re.fullmatch(r"decimal\((\d+),(-?\d+)\)", type_):
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
    elif type_["type"] == "array":
        return pa.list_(_arrow(column, type_["elementType"]))
    elif type_["type"] == "struct":
        return pa.struct([(field["name"], _arrow(column, field["type"])) for field in type_["fields"]])
    elif type_["type"] == "map":
        return pa.map_(_arrow(column, type_["keyType"]), _arrow(column, type_["valueType"]))
    found = type_ if isinstance(type_, str) else type_["type"]
    raise InvalidInputError(
        f"The column `{column}` holds Spark's type {found!r:.60}, which cannot be scored. "
        "Cast it or leave it out: documents are structs of id, text, grade and score."
    )
