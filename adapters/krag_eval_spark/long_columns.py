"""The columns of a table with one row for each document: which are there, under which names, and with which types."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError
from krag_eval_spark.schemas import types_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_INTEGERS = ("byte", "short", "integer", "long")
_STRINGS = ("string", "varchar", "char")
_ID = ("a string or an integer", (*_STRINGS, *_INTEGERS))
_NUMBER = ("a number", (*_INTEGERS, "float", "double", "decimal"))
_NEEDED = {
    "query_id": _ID,
    "id": _ID,
    "text": ("a string", _STRINGS),
    "rank": _NUMBER,
    "score": _NUMBER,
    "grade": _NUMBER,
}
_TYPES = {
    "query_id": "string",
    "id": "string",
    "text": "string",
    "rank": "double",
    "score": "double",
    "grade": "double",
}
_LONGEST_SHOWN = 60


class LongColumns:
    """A table with one row for each document.

    Args:
        name: What the user calls it.
        frame: The table.
        names: For each of `query_id`, `id`, `text` and the others that may be there, the name of its column.

    Attributes:
        there: Which of them are there.

    Raises:
        InvalidInputError: There is no column of query ids or none of documents, or one has another type.
    """

    def __init__(self, name: str, frame: DataFrame, names: Mapping[str, str]) -> None:
        self._name, self._frame, self._names = name, frame, names
        types = dict(types_of(frame))
        self._columns = list(types)
        self.there = [role for role in names if names[role] in types]
        self.need_one_of("query_id")
        self.need_one_of("id", "text")
        for role in self.there:
            self._check(names[role], types[names[role]], *_NEEDED[role])

    def need_one_of(self, *roles: str) -> None:
        """See that one of these is there.

        Raises:
            InvalidInputError: None is.
        """
        if not set(roles) & set(self.there):
            wanted = " or ".join(f"`{self._names[role]}`" for role in roles)
            raise InvalidInputError(
                f"`{self._name}` has no column {wanted}. Its columns are: {', '.join(self._columns) or 'none'}. "
                "Rename one, or say what it is called with `query_id=` or `..._column=`."
            )

    def fields(self, number: str) -> list[str]:
        """The fields of a document, of which a number such as its score is one."""
        return [role for role in ("id", "text", number) if role in self.there]

    def struct_type(self, number: str) -> str:
        """The type of a document, as Spark writes it."""
        return f"struct<{', '.join(f'{role}: {_TYPES[role]}' for role in self.fields(number))}>"

    def selected(self) -> DataFrame:
        """The columns that are there under our own names, with the types that documents have.

        A row whose query id is null or empty fails the job that reads it.
        """
        from pyspark.sql import functions as f

        def column(role: str) -> Column:
            return f.col("`" + self._names[role].replace("`", "``") + "`").cast(_TYPES[role])

        query_id = column("query_id")
        document = f.coalesce(*(column(role) for role in ("id", "text") if role in self.there), f.lit("none"))
        refusal = f.concat(
            f.lit(f"{InvalidInputError.__name__}: `{self._names['query_id']}` is null or empty in a row of "),
            f.lit(f"`{self._name}` (document '"),
            f.substring(document, 1, _LONGEST_SHOWN),
            f.lit("'). Every row must say to which query it belongs: fill it in, or leave the row out."),
        )
        checked = f.when(f.length(query_id) > 0, query_id).otherwise(f.raise_error(refusal))
        others = (column(role).alias(role) for role in self.there if role != "query_id")
        return self._frame.select(checked.cast("string").alias("query_id"), *others)

    def has_document(self) -> Column:
        """Whether a row of `selected` has an id or a text."""
        from pyspark.sql import functions as f

        parts = (f.col(role).isNotNull() for role in ("id", "text") if role in self.there)
        return functools.reduce(operator.or_, parts)

    def _check(self, column: str, found: Any, needed: str, allowed: tuple[str, ...]) -> None:
        kind = found if isinstance(found, str) else found["type"]
        if kind.partition("(")[0] not in allowed:
            raise InvalidInputError(
                f"The column `{column}` of `{self._name}` has the type {kind}, and it needs {needed}. "
                "Cast it, or name another one."
            )
