"""Retrieval logs with one row for each document, as one row for each query.

The columns of a table with one row for each document: which are there, under which names, and with which types.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError
from krag_eval_spark.scoring import types_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def from_long(
    logs: DataFrame,
    gold: DataFrame,
    kmax: int,
    *,
    query_id: str = "query_id",
    id_column: str = "id",
    text_column: str = "text",
    rank_column: str = "rank",
    score_column: str = "score",
    grade_column: str = "grade",
) -> DataFrame:
    """Join logs to their gold documents, in the form that `score` and `aggregate` read.

    Each ranking is cut to its first `kmax` documents before it is gathered, by the tasks that read the logs: a query
    with a million rows takes no more memory than any other. A document that stands in a ranking twice stays there
    twice, since the second has a rank of its own.

    Args:
        logs: One row for each document retrieved: the id of its query, the id or the text of the document or both,
            and its rank or its score or both. Rows that have neither id nor text are left out.
        gold: One row for each gold document: the id of its query, the id or the text of the document or both, and its
            grade where there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each ranking are kept: the largest cut-off that will be scored.
        query_id: The column of the query's id, in both.
        id_column: The column of the document's id, in both.
        text_column: The column of the document's text, in both.
        rank_column: The column of `logs` that orders the rankings, lowest first.
        score_column: The column of `logs` that orders them where there is no rank or ranks are equal, highest first.
            Null and NaN come last. What is still equal is ordered by id, then by text, so that the order never changes.
        grade_column: The column of `gold` with the grades.

    Returns:
        One row for each query of `gold`: `query_id`, `actual`, `predicted`. A query that is not in `logs` has retrieved
        nothing, and its list is empty; one that is only in `logs` is left out, since nobody said what answers it.

    Raises:
        InvalidInputError: `kmax` is no whole number of at least 1, or a column is missing or has another type. A row
            whose query id is null or empty is refused where the rows are computed, by Spark: `plain_errors` gives the
            refusal back its own words.
    """
    if type(kmax) is not int or kmax < 1:
        raise InvalidInputError(
            f"`kmax` must be a whole number of at least 1, got {kmax!r:.60}. Give the largest k that will be scored."
        )
    documents = {"query_id": query_id, "id": id_column, "text": text_column}
    retrieved = LongColumns("logs", logs, {**documents, "rank": rank_column, "score": score_column})
    retrieved.need_one_of("rank", "score")
    relevant = LongColumns("gold", gold, {**documents, "grade": grade_column})

    from pyspark.sql import functions as f

    lists = _gold_lists(relevant).join(_rankings(retrieved, kmax), "query_id", "left")
    empty = f.expr(f"cast(array() as array<{retrieved.struct_type('score')}>)")
    return lists.select("query_id", "actual", f.coalesce("predicted", empty).alias("predicted"))


def _rankings(logs: LongColumns, kmax: int) -> DataFrame:
    """One row for each query: its first `kmax` documents in their order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    order = []
    if "rank" in logs.there:
        order.append(f.col("rank").asc_nulls_last())
    if "score" in logs.there:
        order.append(f.when(~f.isnan("score"), f.col("score")).desc_nulls_last())
    order += [f.col(name).asc_nulls_last() for name in ("id", "text") if name in logs.there]
    rank = f.row_number().over(Window.partitionBy("query_id").orderBy(*order))
    fields = logs.fields("score")
    # Spark sees that only the first rows of each query are asked for, and drops the others before it sends any.
    first = logs.selected().where(logs.has_document()).withColumn("place", rank).where(f.col("place") <= kmax)
    gathered = f.sort_array(f.collect_list(f.struct("place", *fields)))

    def without_place(document: Column) -> Column:
        return f.struct(*(document[name].alias(name) for name in fields))

    lists = first.groupBy("query_id").agg(gathered.alias("predicted"))
    return lists.select("query_id", f.transform("predicted", without_place).alias("predicted"))


def _gold_lists(gold: LongColumns) -> DataFrame:
    """One row for each query: its gold documents, in an order that never changes."""
    from pyspark.sql import functions as f

    document = f.when(gold.has_document(), f.struct(*gold.fields("grade")))
    return gold.selected().groupBy("query_id").agg(f.sort_array(f.collect_list(document)).alias("actual"))


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
