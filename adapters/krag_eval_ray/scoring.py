"""Score queries with Ray Data, row by row or all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.toolkit import DEFAULT_CUT_OFFS, refuse
from krag_eval_scale import ColumnarScorer, PartialState, RepeatFinder
from krag_eval_scale.batch import repeated
from krag_eval_scale.engines import (
    Read,
    columns_read,
    errors_of_workers,
    row_scorer,
    sum_scorer,
)

if TYPE_CHECKING:
    from ray.data import Dataset


# The maximum number of repeated ids to count; beyond it, the error message says "At least".
_MOST_REPEATS = 1000
_LOOKED_AT = 200


def score(
    ds: Dataset,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    keep: str | Sequence[str] = "all",
    names: str = "plain",
    bad_rows: str = "raise",
    allow_repeated_ids: bool = False,
    map_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Dataset:
    """Score every query; the dataset is computed when it is consumed.

    Args:
        ds: One row per query, with the columns `query_id` (a string), `actual` (its gold documents, a list of structs
            with `id`, `text` and, if there are grades, `grade`) and `predicted` (its retrieved documents, best first,
            structs with `id` and `text`); of `id` and `text` only what the method compares is required. Documents may
            also be plain ids or texts, as in `list<string>`. A struct of `actual` with a list `any_of` is a need.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        keep: The other columns that the rows keep: all by default, or their names.
        names: How the columns of values are named: `"plain"` (`recall@5`), or `"safe"` for names that SQL reads without
            quotes (`recall_at_5`).
        bad_rows: What becomes of a row that cannot be scored, such as one whose list is null: `"raise"` fails the
            dataset where it is consumed. With `"keep"` the row has null values, and the last column, `error`, tells the
            reason; it is null in all other rows.
        allow_repeated_ids: Let rows have the same `query_id`. Otherwise all ids are read before this returns, so
            `materialize` a dataset that is expensive to compute, or allow repeats if they cannot occur.
        map_options: Further arguments of `Dataset.map_batches`, such as `{"num_cpus": 1, "concurrency": 64}`.
        **settings: The scoring settings that `krag_eval_scale.ColumnarScorer` takes, such as `match_method="id"`.

    Returns:
        `query_id` (a string), the kept columns, `n_gold`, `n_retrieved`, and a float64 for each key such as `recall@5`,
        null where it is undefined. Ray determines the order of the rows.

    Raises:
        InvalidInputError: An argument or the type of a column is invalid, the rows would have two columns of one name,
            or ids are repeated. Errors that only a worker sees are raised by Ray where the dataset is consumed: see
            `plain_errors`.
    """
    scorer, read = row_scorer(k, bad_rows, metrics=metrics, keep=keep, names=names, **settings)
    ds = _checked(ds, scorer, read)
    if not allow_repeated_ids:
        with RepeatFinder() as finder:
            for row in _rows(ds, ["query_id"], _fingerprint_table, {}, map_options):
                finder.add(np.frombuffer(row["fingerprints"], np.uint64))
            _refuse_repeats(ds, finder, map_options)
    return _mapped(ds, _score_table, {"read": read}, map_options)


def aggregate(
    ds: Dataset,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    by: str | Sequence[str] | None = None,
    intervals: bool | float = False,
    max_bad_rows: int = 0,
    allow_repeated_ids: bool = False,
    map_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> EvaluationResult:
    """Compute the result over all queries, identical to the last bit to `ColumnarScorer` on one machine.

    The data is read once. Each block becomes a state of exact sums; the driver merges the states as they arrive, in any
    order. Its memory use does not depend on the number of queries; the fingerprints of their ids, 8 bytes each, are
    written to temporary files if there are more than two million. States have no documents: only if nothing matches,
    the first rows are read again, from which a warning says what would match.

    Args:
        ds: As for `score`.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        by: A column or several by which the queries are grouped; the result then has `groups`, and each group's result
            is identical to that of its queries alone. The state of a block then also has how often each outcome came in
            each group.
        intervals: Whether to compute a confidence interval for every value, or the confidence of these intervals.
        max_bad_rows: How many rows that cannot be scored may be skipped, with a warning; the result counts them in
            `n_bad_rows`. `score` with `bad_rows="keep"` gives these rows and their reasons.
        allow_repeated_ids: Let rows have the same `query_id`.
        map_options: Further arguments of `Dataset.map_batches`.
        **settings: The scoring settings that `krag_eval_scale.ColumnarScorer` takes.

    Raises:
        InvalidInputError: An argument or the type of a column is invalid, ids are repeated, or more rows than allowed
            cannot be scored; the message names the query.
        MissingDependencyError: `intervals` needs scipy (extra `stats`), which is not installed.
    """
    scorer = sum_scorer(k, intervals, max_bad_rows, metrics=metrics, by=by, **settings)
    state, ds = scorer.merge([]), _checked(ds, scorer, scorer.score_batch)
    given = {"scorer": scorer, "with_fingerprints": not allow_repeated_ids, "max_bad_rows": max_bad_rows}
    with RepeatFinder() as finder:
        known = ds.columns() if scorer.rule_columns else None  # Ray may have to compute a block for them
        for row in _rows(ds, columns_read(scorer, known or ()), _summarize_table, given, map_options):
            if row["refused"] is not None:
                raise InvalidInputError(row["refused"])
            state.merge(PartialState.from_json(row["state"]))
            state.check_bad_rows(max_bad_rows)
            finder.add(np.frombuffer(row["fingerprints"], np.uint64))
        _refuse_repeats(ds, finder, map_options)
    if not state.n_queries and not state.n_bad_rows:
        raise InvalidInputError("The dataset has no row, so there is nothing to aggregate. Pass at least one query.")
    scorer.look_again(state, lambda: _first_rows(ds))
    return scorer.finalize(state, intervals=intervals, max_bad_rows=max_bad_rows)


def _first_rows(ds: Dataset) -> pa.RecordBatch:
    """Return a few rows, for the warning if nothing matches: the states of the workers have no documents."""
    return next(_batches(ds.take_batch(_LOOKED_AT, batch_format="pyarrow")))


def _checked(ds: Dataset, scorer: ColumnarScorer, read: Read) -> Dataset:
    """Check the columns and select those that are read, if Ray knows them without computing anything."""
    if not hasattr(ds, "map_batches"):
        refuse("ds", "a Ray dataset", ds, "Make one with `ray.data.read_parquet(...)`.")
    schema = ds.schema(fetch_if_missing=False)
    if schema is None or not isinstance(schema.base_schema, pa.Schema):
        return ds
    read(pa.RecordBatch.from_pylist([], schema=schema.base_schema))
    return ds.select_columns(columns_read(scorer, schema.names))


def _mapped(ds: Dataset, function: Any, given: Mapping[str, Any], map_options: Mapping[str, Any] | None) -> Dataset:
    options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None, **(map_options or {})}
    return ds.map_batches(function, fn_kwargs=dict(given), **options)


def _rows(
    ds: Dataset, columns: list[str], function: Any, given: Mapping[str, Any], map_options: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a function returns for each block, as they arrive; leaving early stops the job.

    Raises:
        InvalidInputError: A row was refused where the dataset was computed.
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
    for row in _rows(ds, ["query_id"], _ids_with_fingerprints, {"wanted": wanted}, map_options):
        counts[row["query_id"]] += row["count"]
    again = sorted(id_ for id_, count in counts.items() if count > 1)
    if again:
        many = "At least " if len(wanted) == _MOST_REPEATS else ""
        raise repeated(again[:3], f"{many}{len(again)} query ids")


def plain_errors() -> AbstractContextManager[None]:
    """Raise a worker's error with its own message: wrap this around the code that consumes a dataset.

    Without it, the message is buried in the traceback of the error that Ray raises.

    Raises:
        InvalidInputError: A worker could not read or score a row; the message names it. Ray's error is its cause.

    >>> from krag_eval_ray import plain_errors
    >>> with plain_errors():
    ...     pass  # scored.write_parquet("s3://bucket/scores")
    """
    return errors_of_workers("ray.exceptions")


# The functions below run in Ray's workers. They have no side effects, since Ray may run them twice for a table.
_SUMMARY = pa.schema({"state": pa.large_string(), "fingerprints": pa.large_binary(), "refused": pa.large_string()})


def _score_table(table: pa.Table, read: Read) -> pa.Table:
    """Return the values of each query of a table."""
    nothing = pa.RecordBatch.from_pylist([], schema=table.schema)
    return pa.Table.from_batches([read(batch) for batch in (nothing, *_batches(table))])


def _summarize_table(table: pa.Table, scorer: ColumnarScorer, with_fingerprints: bool, max_bad_rows: int) -> pa.Table:
    """Return one row for all queries of a table: the state of their aggregates and the fingerprints of their ids.

    A refusal is returned as a value too, because Ray wraps, retries and logs exceptions.
    """
    state, prints = scorer.merge([]), list[bytes]()
    try:
        for batch in _batches(table):
            ids = scorer.score_into(state, batch, []).column("query_id")
            if state.n_bad_rows > max_bad_rows:
                break
            prints.append(RepeatFinder.fingerprints(ids).tobytes() if with_fingerprints else b"")
    except InvalidInputError as error:
        return pa.Table.from_pylist([{"refused": str(error)}], schema=_SUMMARY)
    row = {"state": state.to_json(), "fingerprints": b"".join(prints)}
    return pa.Table.from_pylist([row], schema=_SUMMARY)


def _fingerprint_table(table: pa.Table) -> pa.Table:
    """Return the fingerprints of the ids of a table, as one row."""
    return pa.table({"fingerprints": pa.array([RepeatFinder.fingerprints(_ids(table)).tobytes()], pa.large_binary())})


def _ids_with_fingerprints(table: pa.Table, wanted: np.ndarray[Any, np.dtype[np.uint64]]) -> pa.Table:
    """Return the ids whose fingerprints are wanted, each once, and how often each occurs in a table."""
    ids = _ids(table)
    counts = ids.filter(pa.array(np.isin(RepeatFinder.fingerprints(ids), wanted))).value_counts()
    return pa.table({"query_id": counts.field("values"), "count": counts.field("counts")})


def _ids(table: pa.Table) -> pa.Array:
    """Return all ids that are not null or empty, which scoring refuses."""
    ids = table.column("query_id").cast(pa.large_string()).combine_chunks()
    return ids.filter(pc.not_equal(ids, ""))


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    # Without combining, a table of many small chunks would be scored in as many small steps.
    yield from table.combine_chunks().to_batches()
