"""Queries scored by Ray Data, row by row or all together.

What a worker refused, in its own words: Ray tells it in the middle of a traceback of its own.

What runs in Ray's workers: pure functions from a table to a table, for a table may be worked on twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from krag_eval import ColumnarScorer, EvaluationResult, InvalidInputError, PartialState, RepeatFinder

if TYPE_CHECKING:
    from ray.data import Dataset


COLUMNS = ["query_id", "actual", "predicted"]
# Enough to say which they are; the sentence says so where there are more.
_MOST_REPEATS = 1000


def score(
    ds: Dataset,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    allow_repeated_ids: bool = False,
    map_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Dataset:
    """The values of every query, as a dataset that is computed when it is consumed.

    Args:
        ds: One row for each query, with the columns `query_id` (a string), `actual` (its gold documents, a list of
            structs with `id`, `text` and, if there are grades, `grade`) and `predicted` (its retrieved documents,
            best first, structs with `id` and `text`); of `id` and `text` only what the method reads must be there.
            Other columns are not read.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        allow_repeated_ids: Let rows have the same `query_id`. Otherwise all ids are read before this returns, so
            `materialize` a dataset that is dear to compute, or allow repeats where they cannot occur.
        map_options: What `Dataset.map_batches` takes further, such as `{"num_cpus": 1, "concurrency": 64}`.
        **settings: The scoring settings that `krag_eval.ColumnarScorer` takes, such as `match_method="id"`.

    Returns:
        The columns of `ColumnarScorer.schema`: `query_id`, `n_gold`, `n_retrieved`, and a float64 for each key such as
        `recall@5`, null where it is undefined. The order of the rows is Ray's.

    Raises:
        InvalidInputError: A setting, a column's type, or ids that are repeated. What only a worker sees is raised where
            the dataset is consumed, by Ray: `plain_errors` gives it back its own words.
    """
    # Ids are looked at over all blocks here, not block by block there.
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=True, **settings)
    ds = _checked(ds, scorer)
    if not allow_repeated_ids:
        with RepeatFinder() as finder:
            for row in _rows(ds, ["query_id"], fingerprint_table, {}, map_options):
                finder.add(np.frombuffer(row["fingerprints"], np.uint64))
            _refuse_repeats(ds, finder, map_options)
    return _mapped(ds, score_table, {"scorer": scorer}, map_options)


def aggregate(
    ds: Dataset,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    intervals: bool | float = False,
    allow_repeated_ids: bool = False,
    map_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> EvaluationResult:
    """The result over all queries: that of `krag_eval.ColumnarScorer` on one machine, to the last bit.

    One pass over the data, in which each block becomes a state of exact sums; the states are merged here as they come,
    in any order. The memory taken here does not depend on the number of queries; the fingerprints of their ids,
    8 bytes for each, go to temporary files when there are more than two million.

    Args:
        ds: As for `score`.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        intervals: Whether to give an interval for every mean, or the confidence of these intervals.
        allow_repeated_ids: Let rows have the same `query_id`.
        map_options: What `Dataset.map_batches` takes further.
        **settings: The scoring settings that `krag_eval.ColumnarScorer` takes.

    Raises:
        InvalidInputError: A setting, a column's type, ids that are repeated, or a row that cannot be scored; the
            message names the query.
    """
    # Ids are looked at over all blocks here, not block by block there.
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=True, **settings)
    ds = _checked(ds, scorer)
    given = {"scorer": scorer, "with_fingerprints": not allow_repeated_ids}
    with RepeatFinder() as finder:

        def states() -> Iterator[PartialState]:
            for row in _rows(ds, COLUMNS, summarize_table, given, map_options):
                if row["refused"] is not None:
                    raise InvalidInputError(row["refused"])
                if row["fingerprints"] is not None:
                    finder.add(np.frombuffer(row["fingerprints"], np.uint64))
                yield PartialState.from_json(row["state"])

        state = scorer.merge(states())
        _refuse_repeats(ds, finder, map_options)
    if not state.n_queries:
        raise InvalidInputError("The dataset has no row, so there is nothing to aggregate. Give at least one query.")
    return scorer.finalize(state, intervals=intervals)


def _checked(ds: Dataset, scorer: ColumnarScorer) -> Dataset:
    """The dataset with nothing but the columns that are read, as far as Ray knows them without computing anything."""
    if not hasattr(ds, "map_batches"):
        raise InvalidInputError(
            f"`ds` must be a Ray dataset, got {type(ds).__name__}. Make one with `ray.data.read_parquet(...)`."
        )
    schema = ds.schema(fetch_if_missing=False)
    if schema is None or not isinstance(schema.base_schema, pa.Schema):
        return ds
    scorer.score_batch(pa.RecordBatch.from_pylist([], schema=schema.base_schema))
    return ds.select_columns(COLUMNS)


def _mapped(ds: Dataset, function: Any, given: Mapping[str, Any], map_options: Mapping[str, Any] | None) -> Dataset:
    options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None, **(map_options or {})}
    return ds.map_batches(function, fn_kwargs=dict(given), **options)


def _rows(
    ds: Dataset, columns: list[str], function: Any, given: Mapping[str, Any], map_options: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """What a function makes of each block, as it comes; leaving early stops the job.

    Raises:
        InvalidInputError: What made the dataset refused a row, as `from_long` may.
    """
    known = ds.schema(fetch_if_missing=False)
    mapped = _mapped(ds if known is None else ds.select_columns(columns), function, given, map_options)
    with plain_errors(), closing(iter(mapped.iter_rows())) as rows:
        yield from rows


def _refuse_repeats(ds: Dataset, finder: RepeatFinder, map_options: Mapping[str, Any] | None) -> None:
    wanted = finder.repeated(_MOST_REPEATS)
    if not len(wanted):
        return
    counts: Counter[str] = Counter()
    for row in _rows(ds, ["query_id"], ids_with_fingerprints, {"wanted": wanted}, map_options):
        counts[row["query_id"]] += row["count"]
    again = sorted(id_ for id_, count in counts.items() if count > 1)
    if again:
        many = "At least " if len(wanted) == _MOST_REPEATS else ""
        raise InvalidInputError(
            f"{many}{len(again)} query ids come more than once, for example "
            f"{', '.join(f'{id_!r:.60}' for id_ in again[:3])}. Each query must be one row: group the rows of a query, "
            "give each asking an id of its own, or allow repeats with `allow_repeated_ids=True`."
        )


# The last line of our error's own traceback; a message is one line.
_REFUSAL = re.compile(rf"^{re.escape(InvalidInputError.__module__)}\.{InvalidInputError.__name__}: (.+)$", re.MULTILINE)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Goes around whatever consumes a dataset of `score` or `from_long`: what a worker refused is raised as it said it.

    Without it the same sentences stand in the error that Ray raises, among the lines of its traceback.

    Raises:
        InvalidInputError: A worker could not read a row or score it; the message names it. Ray's error is its cause.

    >>> from krag_eval_ray import plain_errors
    >>> with plain_errors():
    ...     pass  # scored.write_parquet("s3://bucket/scores")
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__ != "ray.exceptions" or not (found := _REFUSAL.search(str(error))):
            raise
        raise InvalidInputError(found[1]) from error


SUMMARY = pa.schema([("state", pa.large_string()), ("fingerprints", pa.large_binary()), ("refused", pa.large_string())])


def score_table(table: pa.Table, scorer: ColumnarScorer) -> pa.Table:
    """The values of each query of a table."""
    parts = [scorer.score_batch(batch) for batch in _batches(table)]
    return pa.Table.from_batches(parts, schema=scorer.schema)


def summarize_table(table: pa.Table, scorer: ColumnarScorer, with_fingerprints: bool) -> pa.Table:
    """One row that stands for all queries of a table.

    Returns:
        The state of their aggregates and the fingerprints of their ids, or why they were refused: as a value, because
        Ray wraps what is raised into its own errors, and retries and logs it.
    """
    try:
        states = (scorer.partial_state(batch) for batch in _batches(table))
        state = scorer.merge(states).to_json()
    except InvalidInputError as error:
        return pa.Table.from_pylist([{"refused": str(error)}], schema=SUMMARY)
    fingerprints = RepeatFinder.fingerprints(_ids(table)).tobytes() if with_fingerprints else None
    return pa.Table.from_pylist([{"state": state, "fingerprints": fingerprints}], schema=SUMMARY)


def fingerprint_table(table: pa.Table) -> pa.Table:
    """The fingerprints of the ids of a table, as one row."""
    return pa.table({"fingerprints": pa.array([RepeatFinder.fingerprints(_ids(table)).tobytes()], pa.large_binary())})


def ids_with_fingerprints(table: pa.Table, wanted: np.ndarray[Any, np.dtype[np.uint64]]) -> pa.Table:
    """The ids of a table whose fingerprints are wanted, each once, and how often each stands there."""
    ids = _ids(table)
    counts = ids.filter(pa.array(np.isin(RepeatFinder.fingerprints(ids), wanted))).value_counts()
    return pa.table({"query_id": counts.field("values"), "count": counts.field("counts")})


def _ids(table: pa.Table) -> pa.Array:
    """The ids that there are; those that are missing are refused by whoever scores."""
    return table.column("query_id").cast(pa.large_string()).combine_chunks().drop_null()


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    # A table of many small chunks would be scored in as many small steps.
    yield from table.combine_chunks().to_batches()
