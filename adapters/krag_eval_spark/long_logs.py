"""Join logs in long form, with one row per document, to their gold: one row per query."""

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
    with a million rows takes no more memory than any other. A document that appears twice in a ranking is kept twice,
    since each has its own rank.

    Args:
        logs: One row per retrieved document: the id of its query, the id or the text of the document or both, and its
            rank or its score or both. Rows with neither id nor text are left out.
        gold: One row per gold document: the id of its query, the id or the text of the document or both, and its grade
            if there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each ranking are kept: the largest cut-off that will be scored.
        query_id: The column of the query's id, in both.
        id_column: The column of the document's id, in both.
        text_column: The column of the document's text, in both.
        rank_column: The column of `logs` that orders the rankings, lowest first.
        score_column: The column of `logs` that orders the rankings if there are no ranks or equal ones, highest first.
            Null and NaN come last. Remaining ties are ordered by id, then by text, so the order is always the same.
        grade_column: The column of `gold` with the grades.

    Returns:
        One row per query of `gold`: `query_id`, `actual`, `predicted`. A query that is missing from `logs` retrieved
        nothing, and its list is empty; one that is only in `logs` is left out, since its gold is unknown.

    Raises:
        InvalidInputError: `kmax` is not an integer of at least 1, or a column is missing or has the wrong type. A row
            whose query id is null or empty is refused where Spark computes the rows: see `plain_errors`.
    """
    if type(kmax) is not int or kmax < 1:
        raise InvalidInputError(
            f"`kmax` must be an integer of at least 1, got {kmax!r:.60}. Pass the largest k that will be scored."
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
    """Return one row per query: its first `kmax` documents in their order."""
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
    # Spark sees that only the first rows of each query are needed, and drops the others before the shuffle.
    first = logs.selected().where(logs.has_document()).withColumn("place", rank).where(f.col("place") <= kmax)
    gathered = f.sort_array(f.collect_list(f.struct("place", *fields)))

    def without_place(document: Column) -> Column:
        return f.struct(*(document[name].alias(name) for name in fields))

    lists = first.groupBy("query_id").agg(gathered.alias("predicted"))
    return lists.select("query_id", f.transform("predicted", without_place).alias("predicted"))


def _gold_lists(gold: LongColumns) -> DataFrame:
    """Return one row per query: its gold documents, always in the same order."""
    from pyspark.sql import functions as f

    document = f.when(gold.has_document(), f.struct(*gold.fields("grade")))
    return gold.selected().groupBy("query_id").agg(f.sort_array(f.collect_list(document)).alias("actual"))


_INTEGERS = ("byte", "short", "integer", "long")
_STRINGS = ("string", "varchar", "char")
# What each column must be, the types that it may have, and the type that it is cast to.
_ID = ("a string or an integer", (*_STRINGS, *_INTEGERS), "string")
_TEXT = ("a string", _STRINGS, "string")
_NUMBER = ("a number", (*_INTEGERS, "float", "double", "decimal"), "double")
_KINDS = {"query_id": _ID, "id": _ID, "text": _TEXT, "rank": _NUMBER, "score": _NUMBER, "grade": _NUMBER}
_TYPES = {role: type_ for role, (_, _, type_) in _KINDS.items()}
_LONGEST_SHOWN = 60


class LongColumns:
    """The columns of a DataFrame in long form.

    Args:
        name: The user's name of the DataFrame.
        frame: The DataFrame.
        names: The possible column names by role: `query_id`, `id`, `text` and others.

    Attributes:
        there: The roles whose columns are present.

    Raises:
        InvalidInputError: The query ids or the documents are missing, or a column has the wrong type.
    """

    def __init__(self, name: str, frame: DataFrame, names: Mapping[str, str]) -> None:
        self._name, self._frame, self._names = name, frame, names
        types = dict(types_of(frame))
        self._columns = list(types)
        self.there = [role for role in names if names[role] in types]
        self.need_one_of("query_id")
        self.need_one_of("id", "text")
        for role in self.there:
            self._check(names[role], types[names[role]], *_KINDS[role][:2])

    def need_one_of(self, *roles: str) -> None:
        """Check that the column of at least one role is present.

        Raises:
            InvalidInputError: None is.
        """
        if not set(roles) & set(self.there):
            wanted = " or ".join(f"`{self._names[role]}`" for role in roles)
            raise InvalidInputError(
                f"`{self._name}` has no column {wanted}. Its columns are: {', '.join(self._columns) or 'none'}. "
                "Rename one, or pass its name with `query_id=` or `..._column=`."
            )

    def fields(self, number: str) -> list[str]:
        """Return the fields of a document, including a number such as its score."""
        return [role for role in ("id", "text", number) if role in self.there]

    def struct_type(self, number: str) -> str:
        """Return the type of a document, as Spark writes it."""
        return f"struct<{', '.join(f'{role}: {_TYPES[role]}' for role in self.fields(number))}>"

    def selected(self) -> DataFrame:
        """Return the columns named by their roles, and cast to the types of documents.

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
            f.lit("'). Every row needs the id of its query: fill it in, or remove the row."),
        )
        checked = f.when(f.length(query_id) > 0, query_id).otherwise(f.raise_error(refusal))
        others = (column(role).alias(role) for role in self.there if role != "query_id")
        return self._frame.select(checked.cast("string").alias("query_id"), *others)

    def has_document(self) -> Column:
        """Return whether a row of `selected` has an id or a text."""
        from pyspark.sql import functions as f

        parts = (f.col(role).isNotNull() for role in ("id", "text") if role in self.there)
        return functools.reduce(operator.or_, parts)

    def _check(self, column: str, found: Any, needed: str, allowed: tuple[str, ...]) -> None:
        kind = found if isinstance(found, str) else found["type"]
        if kind.partition("(")[0] not in allowed:
            raise InvalidInputError(
                f"The column `{column}` of `{self._name}` has the type {kind}, but must be {needed}. "
                "Cast it, or name another column."
            )
