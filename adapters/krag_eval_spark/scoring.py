"""Score queries with Spark, row by row or all together."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.toolkit import DEFAULT_CUT_OFFS
from krag_eval_scale import ColumnarScorer, PartialState, RepeatFinder
from krag_eval_scale.batch import repeated
from krag_eval_scale.engines import (
    COLUMNS,
    columns_read,
    errors_of_workers,
    row_scorer,
    sum_scorer,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData
    from pyspark.sql.types import StructType


# This many tasks merge the states of all partitions before anything reaches the driver.
_MERGING_TASKS = 8
_LOOKED_AT = 200


def score(
    df: DataFrame,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    keep: str | Sequence[str] = "all",
    names: str = "plain",
    bad_rows: str = "raise",
    allow_repeated_ids: bool = False,
    **settings: Any,
) -> DataFrame:
    """Score every query; the DataFrame is computed when an action asks for it.

    Args:
        df: One row per query: `query_id` (a string or an integer), `actual` (its gold documents, an array of structs
            with `id`, `text` and, if there are grades, `grade`) and `predicted` (its retrieved documents, best first,
            structs with `id` and `text`); of `id` and `text` only what the method compares is required. Documents may
            also be plain ids or texts, as in `array<string>`. A struct of `actual` with an array `any_of` is a need.
            Unused texts within the structs are sent to the workers: leave them out.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        keep: The other columns that the rows keep, unchanged and of any type but year-month and calendar intervals: all
            by default, or their names. `keep=["actual", "predicted"]` keeps the documents.
        names: How the columns of values are named: `"plain"` (`recall@5`), or `"safe"` for names that SQL reads without
            backticks (`recall_at_5`).
        bad_rows: What becomes of a row that cannot be scored, such as one whose list is null: `"raise"` fails the job
            that computes it. With `"keep"` the row has null values, and the last column, `error`, tells the reason; it
            is null in all other rows.
        allow_repeated_ids: Let rows have the same `query_id`. Otherwise a job reads the ids before this returns: allow
            repeats if they cannot occur, as after a `GROUP BY`, and nothing is computed twice.
        **settings: The scoring settings that `krag_eval_scale.ColumnarScorer` takes, such as `match_method="id"`.

    Returns:
        `query_id` (a string), the kept columns, `n_gold`, `n_retrieved`, and a double for each key such as `recall@5`,
        null where it is undefined.

    Raises:
        InvalidInputError: An argument or the type of a column is invalid, the rows would have two columns of one name,
            or ids are repeated. Errors that only a worker sees are raised by Spark where the rows are computed: see
            `plain_errors`.
    """
    scorer, read = row_scorer(k, bad_rows, metrics=metrics, keep=keep, names=names, **settings)
    columns = _checked(df, scorer)
    rows, returned = _selected(df, columns), _returned(df, columns, read(_empty_batch(df)).schema)
    if not allow_repeated_ids:
        _refuse_repeats(df)
    return rows.mapInArrow(lambda batches: (read(batch) for batch in _renamed(batches, columns)), returned)


def aggregate(
    df: DataFrame | GroupedData,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    by: str | Sequence[str] | None = None,
    intervals: bool | float = False,
    max_bad_rows: int = 0,
    allow_repeated_ids: bool = False,
    **settings: Any,
) -> EvaluationResult:
    """Compute the result over all queries, identical to the last bit to `ColumnarScorer` on one machine.

    Each partition becomes a state of exact sums, of about 20 kB for the default metrics at three cut-offs; a few tasks
    and then the driver merge the states, in any order. Memory use does not depend on the number of queries. In the same
    job these tasks compare 64 bits of each id, on disk if there are many; only if some are equal, a second job compares
    the ids themselves. States have no documents: only if nothing matches, another job reads the first rows, from which
    a warning says what would match.

    Args:
        df: As for `score`, or `df.groupBy("model", "day")`, which means `by=["model", "day"]`.
        k: One cut-off or several; None scores all ranks.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        by: A column or several by which the queries are grouped; the result then has `groups`, and each group's result
            is identical to that of its queries alone. The state of a partition then also has how often each outcome
            came in each group.
        intervals: Whether to compute a confidence interval for every value, or the confidence of these intervals.
        max_bad_rows: How many rows that cannot be scored may be skipped, with a warning; the result counts them in
            `n_bad_rows`. `score` with `bad_rows="keep"` gives these rows and their reasons.
        allow_repeated_ids: Let rows have the same `query_id`; as for `score`.
        **settings: The scoring settings that `krag_eval_scale.ColumnarScorer` takes.

    Raises:
        InvalidInputError: An argument or the type of a column is invalid, ids are repeated, or more rows than allowed
            cannot be scored; the message names the query.
        MissingDependencyError: `intervals` needs scipy (extra `stats`), which is not installed.
    """
    if not hasattr(df, "mapInArrow") and hasattr(df, "pivot"):
        df, by = _ungrouped(df, by)
    scorer = sum_scorer(k, intervals, max_bad_rows, metrics=metrics, by=by, **settings)
    columns = _checked(df, scorer)
    summarize = summarize_batches(
        scorer, columns, None if allow_repeated_ids else RepeatFinder.fingerprints, max_bad_rows
    )
    summaries = _selected(df, columns).mapInArrow(summarize, SUMMARIES).repartition(_MERGING_TASKS, "bucket")
    with plain_errors():
        merged = summaries.mapInArrow(merge_summaries(scorer), MERGED).collect()
    state = scorer.merge(PartialState.from_json(row["state"]) for row in merged)
    state.check_bad_rows(max_bad_rows)
    if any(row["has_repeats"] for row in merged):
        _refuse_repeats(df)  # two ids may share a fingerprint
    scorer.look_again(state, lambda: _first_rows(df))
    return scorer.finalize(state, intervals=intervals, max_bad_rows=max_bad_rows)


def _first_rows(df: DataFrame) -> pa.RecordBatch:
    """Return a few rows, for the warning if nothing matches: the states of the workers have no documents."""
    schema = pa.schema([field for field in _empty_batch(df).schema if field.name in COLUMNS])
    rows = (row.asDict(recursive=True).values() for row in _selected(df.limit(_LOOKED_AT), schema.names).collect())
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _ungrouped(grouped: GroupedData, by: object) -> tuple[DataFrame, str | list[str]]:
    """Return the DataFrame and the columns of `df.groupBy(...)`, which has no public attribute for either."""
    if by is not None:
        raise InvalidInputError("`by` names columns by which the DataFrame is grouped already. Omit it.")
    df: Any = getattr(grouped, "_df", None)
    with suppress(Exception):  # whatever a server or a version lacks
        counted = grouped.count()
        columns = counted.columns[:-1]
        # An expression may have the name of a column; a pivot or a rollup has the same columns.
        if columns and counted.sameSemantics(df.groupBy(*map(_quoted, columns)).count()):
            return df, columns[0] if len(columns) == 1 else columns
    raise InvalidInputError(
        "The columns of this `groupBy` cannot be read: it must be of plain columns, on a server that compares plans. "
        'Pass the DataFrame and the names, as in `aggregate(df, by=["model", "day"])`; add an expression as a column '
        "with `df.withColumn` first."
    )


def _checked(df: DataFrame, scorer: ColumnarScorer) -> list[str]:
    """Check the columns without reading them, and return the names of those that are read."""
    batch = _empty_batch(df, scorer.by)
    scorer.check_schema(batch.schema)
    return columns_read(scorer, batch.schema.names)


def _selected(df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return some columns, named by their numbers: `mapInArrow` cannot read names with dots."""
    return df.selectExpr(*(f"{_quoted(name)} as c{number}" for number, name in enumerate(columns)))


def _returned(df: DataFrame, kept: Collection[str], schema: pa.Schema) -> StructType:
    """Return Spark's schema of the rows that `score` returns."""
    from pyspark.sql import types

    ours = {pa.string(): types.StringType(), pa.int64(): types.LongType(), pa.float64(): types.DoubleType()}
    given = {field.name: field for field in df.schema.fields if field.name in kept and field.name != "query_id"}
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InvalidInputError(
                f"The rows would have the columns `{other}` and `{name}`, which Spark does not tell apart. Rename the "
                'column of the DataFrame, or name the columns to keep, as in `keep=["model"]`.'
            )
        if name in given and (found := _NOT_IN_ARROW.search(json.dumps(given[name].jsonValue()))):
            raise InvalidInputError(
                f"The column `{name}` holds Spark's type {found[1]!r:.60}, which Python cannot read. Cast it, or "
                'name the columns to keep, as in `keep=["model"]`.'
            )
    return types.StructType([given.get(f.name) or types.StructField(f.name, ours[f.type]) for f in schema])


def _refuse_repeats(df: DataFrame) -> None:
    counts = df.where("length(query_id) > 0").groupBy("query_id").count()
    again = counts.where("count > 1").orderBy("query_id").limit(3).collect()
    if again:
        raise repeated([str(row["query_id"]) for row in again], "Query ids")


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def plain_errors() -> AbstractContextManager[None]:
    """Raise a worker's error with its own message: wrap this around the code that computes a DataFrame of `score`.

    Without it, the message is buried in the traceback of the error that Spark raises.

    Raises:
        InvalidInputError: A worker could not score a row; the message names the query. Spark's error is its cause.

    >>> from krag_eval_spark import plain_errors
    >>> with plain_errors():
    ...     pass  # scored.write.parquet("s3a://bucket/scores")
    """
    return errors_of_workers("pyspark.", "py4j.")


# The functions below run in Spark's workers. They have no side effects, since Spark may run a task twice.
OnBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Fingerprints = np.ndarray[Any, np.dtype[np.uint64]]

# The state of a partition is one row, and the fingerprints of its ids are rows of up to about 2 kB. Equal fingerprints
# are in the same bucket, and one task gets the whole bucket.
SUMMARIES = "bucket int, state string, fingerprints binary"
_SUMMARIES = pa.schema({"bucket": pa.int32(), "state": pa.string(), "fingerprints": pa.binary()})
_BUCKET_BITS = 6
_IDS_AT_ONCE = 1 << 14

MERGED = "state string, has_repeats boolean"
_MERGED = pa.schema({"state": pa.string(), "has_repeats": pa.bool_()})


def summarize_batches(
    scorer: ColumnarScorer,
    columns: Sequence[str],
    fingerprints_of: Callable[[pa.Array], Fingerprints] | None,
    max_bad_rows: int,
) -> OnBatches:
    """Return a function that computes one state for all queries of a partition.

    Args:
        scorer: The scorer.
        columns: The names of the columns of each batch.
        fingerprints_of: Computes the fingerprints of the query ids, which are added as rows; None if ids may repeat.
        max_bad_rows: After more rows that cannot be scored, the rest of the partition is left out: Spark would run the
            task several times if it raised the error.
    """

    def summarized(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state = scorer.merge([])
        for batch in _renamed(batches, columns):
            ids = scorer.score_into(state, batch, []).column("query_id")
            if state.n_bad_rows > max_bad_rows:
                break
            if fingerprints_of:
                for start in range(0, len(ids), _IDS_AT_ONCE):
                    yield _in_buckets(fingerprints_of(ids.slice(start, _IDS_AT_ONCE)))
        text = state.to_json()
        # Any bucket will do, as long as states are spread among them and a rerun task chooses the same one.
        bucket = zlib.crc32(text.encode()) >> (32 - _BUCKET_BITS)
        yield pa.record_batch([[bucket], [text], [None]], schema=_SUMMARIES)

    return summarized


def merge_summaries(scorer: ColumnarScorer) -> OnBatches:
    """Return a function that merges all states of a partition, and tells whether a fingerprint occurs twice in it."""

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark sets the folder for temporary files of its workers.
        with RepeatFinder(os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or None) as finder:

            def states() -> Iterator[PartialState]:
                for row in (row for batch in batches for row in batch.to_pylist()):
                    if row["state"] is not None:
                        yield PartialState.from_json(row["state"])
                    else:
                        finder.add(np.frombuffer(row["fingerprints"], np.uint64))

            state = scorer.merge(states()).to_json()
            has_repeats = bool(len(finder.repeated(at_most=1)))
        yield pa.record_batch([[state], [has_repeats]], schema=_MERGED)

    return merged


def _renamed(batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=list(columns))


def _in_buckets(fingerprints: Fingerprints) -> pa.RecordBatch:
    """Return one row of fingerprints per bucket; of equal ones only the first two, so that no row is long."""
    fingerprints = np.sort(fingerprints)
    third = np.zeros(len(fingerprints), dtype=bool)
    third[2:] = fingerprints[2:] == fingerprints[:-2]
    starts = np.arange(1, 1 << _BUCKET_BITS, dtype=np.uint64) << np.uint64(64 - _BUCKET_BITS)
    kept = fingerprints[~third]
    parts = enumerate(np.split(kept, np.searchsorted(kept, starts)))
    rows = [{"bucket": bucket, "fingerprints": part.tobytes()} for bucket, part in parts if len(part)]
    return pa.RecordBatch.from_pylist(rows, schema=_SUMMARIES)


# The types that Spark does not hand to Python's workers, in JSON.
_NOT_IN_ARROW = re.compile(r'"(?:type|elementType|keyType|valueType)": "(interval(?: (?:year|month)[^"]*)?)"')

# Spark's types as Arrow's, to check columns before any job starts.
_ARROW_TYPES = {
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


def _types_of(frame: DataFrame) -> list[tuple[str, Any]]:
    """Return the columns of a DataFrame: names, and types as Spark writes them in JSON.

    Raises:
        InvalidInputError: It is not a Spark DataFrame.
    """
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInputError(
            f"Expected a Spark DataFrame, got {type(frame).__module__}.{type(frame).__qualname__}. "
            "Make one with `spark.read.parquet(...)`."
        )
    return [(field["name"], field["type"]) for field in frame.schema.jsonValue()["fields"]]


def _empty_batch(frame: DataFrame, by: Collection[str] = ()) -> pa.RecordBatch:
    """Return a batch without rows, with the types of the columns that are scored or grouped by; others have no type.

    Raises:
        InvalidInputError: A column has a type without a counterpart in Arrow.
    """
    read = {*COLUMNS, *by}
    fields = [(name, _arrow(name, type_) if name in read else pa.null()) for name, type_ in _types_of(frame)]
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields))


def _arrow(column: str, type_: Any) -> Any:
    """Return the Arrow type of a type as Spark writes it in JSON."""
    if isinstance(type_, str):
        if type_ in _ARROW_TYPES:
            return _ARROW_TYPES[type_]
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
        "Cast it or leave it out: documents must be structs of id, text, grade and score."
    )
