"""Queries scored by Spark, row by row or all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krag_eval import ColumnarScorer, EvaluationResult, InvalidInputError, PartialState, RepeatFinder
from krag_eval_spark.errors import plain_errors
from krag_eval_spark.schemas import COLUMNS, empty_batch
from krag_eval_spark.working import MERGED, SUMMARIES, merge_summaries, score_batches, summarize_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Partitions are brought together by this many tasks before anything reaches the driver, however many they are.
_MERGING_TASKS = 8
_SPARK_TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.float64(): "double"}


def score(
    df: DataFrame,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    allow_repeated_ids: bool = False,
    **settings: Any,
) -> DataFrame:
    """The values of every query, as a DataFrame that is computed when somebody asks for it.

    Args:
        df: One row for each query: `query_id` (a string or an integer), `actual` (its gold documents, an array of
            structs with `id`, `text` and, if there are grades, `grade`) and `predicted` (its retrieved documents, best
            first, structs with `id` and `text`); of `id` and `text` only what the method reads must be there. Other
            columns are not read, but texts that nobody reads are sent to the workers: leave them out of the structs.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        allow_repeated_ids: Let rows have the same `query_id`. Otherwise a job looks at the ids before this returns:
            allow repeats where they cannot occur, as after `from_long`, and nothing is computed twice.
        **settings: The scoring settings that `krag_eval.ColumnarScorer` takes, such as `match_method="id"`.

    Returns:
        The columns of `ColumnarScorer.schema`: `query_id`, `n_gold`, `n_retrieved`, and a double for each key such as
        `recall@5`, null where it is undefined.

    Raises:
        InvalidInputError: A setting, a column's type, or ids that are repeated. What only a worker sees is raised where
            the rows are computed, by Spark: `plain_errors` gives it back its own words.
    """
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=True, **settings)
    rows = _checked(df, scorer)
    if not allow_repeated_ids:
        _refuse_repeats(df)
    columns = ", ".join(f"{_quoted(field.name)} {_SPARK_TYPES[field.type]}" for field in scorer.schema)
    return rows.mapInArrow(score_batches(scorer), columns)


def aggregate(
    df: DataFrame,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    intervals: bool | float = False,
    allow_repeated_ids: bool = False,
    **settings: Any,
) -> EvaluationResult:
    """The result over all queries: that of `krag_eval.ColumnarScorer` on one machine, to the last bit.

    Each partition becomes a state of exact sums, of about 20 kB for the default metrics at three cut-offs; the states
    are merged by a few tasks and then here, in any order. The memory taken does not depend on the number of queries.
    In the same job these tasks compare 64 bits of each id, which they keep on the disk where they are many; only where
    some are equal a second job looks at the ids themselves.

    Args:
        df: As for `score`.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        intervals: Whether to give an interval for every value, or the confidence of these intervals.
        allow_repeated_ids: Let rows have the same `query_id`; as for `score`.
        **settings: The scoring settings that `krag_eval.ColumnarScorer` takes.

    Raises:
        InvalidInputError: A setting, a column's type, ids that are repeated, or a row that cannot be scored; the
            message names the query.
    """
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=True, **settings)
    summarize = summarize_batches(scorer, None if allow_repeated_ids else RepeatFinder.fingerprints)
    summaries = _checked(df, scorer).mapInArrow(summarize, SUMMARIES).repartition(_MERGING_TASKS, "bucket")
    with plain_errors():
        merged = summaries.mapInArrow(merge_summaries(scorer), MERGED).collect()
    if any(row["has_repeats"] for row in merged):
        _refuse_repeats(df)  # two ids may share a fingerprint
    state = scorer.merge(PartialState.from_json(row["state"]) for row in merged)
    return scorer.finalize(state, intervals=intervals)


def _checked(df: DataFrame, scorer: ColumnarScorer) -> DataFrame:
    """The columns that are read, after what can be said of them without reading them."""
    scorer.score_batch(empty_batch(df))
    return df.select(*COLUMNS)


def _refuse_repeats(df: DataFrame) -> None:
    counts = df.where("query_id is not null").groupBy("query_id").count()
    again = counts.where("count > 1").orderBy("query_id").limit(3).collect()
    if again:
        ids = ", ".join(f"{str(row['query_id'])!r:.60}" for row in again)
        raise InvalidInputError(
            f"Query ids come more than once, for example {ids}. "
            "Each query must be one row: group the rows of a query, give each asking an id of its own, or allow "
            "repeats with `allow_repeated_ids=True`."
        )


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
