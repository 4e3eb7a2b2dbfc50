"""Score Arrow record batches into the values of each query and states, which merge in any order to the same bits."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from krag_eval import EvaluationResult, InvalidInputError, KragEvalError
from krag_eval.toolkit import (
    DEFAULT_CUT_OFFS,
    Argument,
    ColumnScorer,
    ColumnState,
    IntArray,
    Measured,
    MetricFunction,
    ScoringSettings,
    as_cause,
    check_count,
    check_intervals,
    describe_error,
    refuse,
    result_of,
    warn,
)
from krag_eval_scale.batch import (
    ArrowBatch,
    Fields,
    check_columns,
    check_query_ids,
    check_repeats,
    is_string,
    read_batch,
    read_query_ids,
)
from krag_eval_scale.groups import GroupCounts, check_labels, label_type, labels_of, read_by, results_by_group

# What is matched and judged at once stays in the processor's cache.
_QUERIES_AT_ONCE = 8192


class BadRow(NamedTuple):
    """A row that cannot be scored and was left out.

    Attributes:
        row: Its position in the batch, from 0.
        query_id: Its query id, if it has one.
        reason: What is wrong with it.
    """

    row: int
    query_id: str | None
    reason: str


class ColumnarScorer:
    """Score Arrow record batches, one row per query; the numbers are those of `evaluate`, to the last bit.

    Input columns:

    * `query_id`: string or integer, not null, different in every row.
    * `actual`: `list<struct<id: string, text: string, grade: double>>`, the gold documents.
    * `predicted`: `list<struct<id: string, text: string, score: double>>`, the retrieved documents, best first.

    Of `id` and `text`, only what the matching method reads is required; `grade` and `score` are optional. Strings may
    be `string`, `large_string`, `string_view` or dictionary-encoded, lists of any kind. With `id_key` and `grade_key`,
    the fields of these names are read. Documents may also be plain values instead of structs, as in `list<string>`:
    these are ids (strings or integers) if only ids are matched, and texts otherwise, as for `evaluate`. A struct in
    `actual` may have a field `any_of`, a list of documents of which any is enough: it is a need then, and its other
    fields but `grade` are null. `any_of` is null for a gold document on its own.

    A scorer keeps no scores: `score_batch` and `partial_state` are pure functions, so that it can be sent to the
    workers of any engine and a batch can be scored twice. It can be pickled if its settings can. It keeps up to 64 MB
    of texts, so that a text of several batches is normalized and cut into tokens once.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        allow_repeated_ids: Score several rows of one `query_id` as separate queries. By default, a batch with a
            repeated query id is refused. Repeats between batches are not found here; see `RepeatFinder`.
        keep: Columns of the input to copy into the rows of `score_batch`, of any type: their names, `"all"` for all but
            `actual` and `predicted`, or a `pyarrow.Schema` to which they are cast.
        names: How the columns of values are named: `"plain"` (`recall@5`), or `"safe"` for names that SQL reads without
            quotes (`recall_at_5`).
        by: A column of the input or several, by which the queries are grouped: strings, integers, booleans, dates or
            timestamps; null is a group, too. States then have the counts of every group, and the result its `groups`.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Attributes:
        by: The names of the group columns; empty if queries are not grouped.
        keys: The keys of each query's values, such as `recall@5`.
        signature: Every setting that can change a number, in one line.
        schema: The Arrow schema of what `score_batch` returns, without columns whose type only the input knows; see
            `schema_of`.

    Raises:
        InvalidInputError: A setting cannot be used, or a kept column has the name of an output column.
        UnknownMetricError: A metric does not exist.
        MissingDependencyError: pyarrow is not installed.

    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pylist([
    ...     {"query_id": "q1", "actual": [{"id": "a"}], "predicted": [{"id": "x"}, {"id": "a"}]},
    ...     {"query_id": "q2", "actual": [{"id": "b"}], "predicted": [{"id": "b"}]},
    ... ])
    >>> scorer = ColumnarScorer(k=2, metrics="mrr", match_method="id")
    >>> scorer.score_batch(batch).column("mrr@2").to_pylist()
    [0.5, 1.0]
    >>> parts = [scorer.partial_state(batch.slice(1)), scorer.partial_state(batch.slice(0, 1))]
    >>> scorer.finalize(scorer.merge(parts))["mrr@2"]
    0.75
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
        *,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        allow_repeated_ids: bool = False,
        by: str | Sequence[str] | None = None,
        keep: str | Sequence[str] | pa.Schema = (),
        names: str = "plain",
        **settings: Unpack[ScoringSettings],
    ) -> None:
        self._scorer = ColumnScorer(k, metrics, **settings)
        self._settings = self._scorer.settings
        ours = {"metrics": metrics, "allow_repeated_ids": allow_repeated_ids, "keep": keep, "names": names, "by": by}
        self._given: tuple[Any, dict[str, Any]] = (k, {**settings, **ours})
        self._allows_repeats = allow_repeated_ids
        self.keys, self.signature = self._scorer.keys, self._scorer.signature
        self.by = () if by is None else read_by(by, self.keys)
        values = [(name, pa.float64()) for name in self._scorer.names_of_values(names)]
        self._scores = pa.schema([("n_gold", pa.int64()), ("n_retrieved", pa.int64()), *values])
        self.keep = _check_keep(keep)
        self.schema = self._with_kept(keep if isinstance(keep, pa.Schema) else pa.schema([]))
        self._check_names([] if keep == "all" else self.names_of([]))

    def __reduce__(self) -> tuple[Any, ...]:
        k, given = self._given
        return partial(ColumnarScorer, k, **given), ()

    def _check_names(self, kept: Sequence[str]) -> None:
        names = ["query_id", *kept, *self._scores.names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInputError(
                f"The output would have two columns {twice!r}. Rename the column of the input, or leave it out of ",
                Argument("keep"),
                "; `query_id` is always there.",
            )

    def _with_kept(self, kept: pa.Schema) -> pa.Schema:
        return pa.schema([pa.field("query_id", pa.string()), *kept, *self._scores])

    def kept_of(self, schema: pa.Schema) -> pa.Schema:
        """Return the kept columns of an input with this schema, with their types in the output.

        Raises:
            InvalidInputError: One is missing, appears twice, or has the name of an output column.
        """
        names = self.names_of(schema.names)
        self._check_names(names)
        for name in names:
            if schema.names.count(name) != 1:
                raise InvalidInputError(
                    Argument("keep"),
                    f" names the column {name!r}, and the input has {'two' if name in schema.names else 'none'}. Its "
                    f"columns are: {', '.join(schema.names) or 'none'}.",
                )
        if isinstance(self.keep, pa.Schema):
            return self.keep
        return pa.schema([pa.field(name, _plain(schema.field(name).type)) for name in names])

    def names_of(self, columns: Iterable[str]) -> list[str]:
        """Return the names of the columns that are kept of an input with these columns."""
        if isinstance(self.keep, str):
            return [name for name in columns if name not in ("query_id", "actual", "predicted")]
        return self.keep.names if isinstance(self.keep, pa.Schema) else [*self.keep]

    def others_of(self, columns: Iterable[str]) -> list[str]:
        """Return the further columns that are read of an input with these columns: those kept, and those of `by`."""
        return list(dict.fromkeys([*self.names_of(columns), *self.by]))

    @property
    def rule_columns(self) -> tuple[str, ...]:
        """The columns that say what must not be retrieved, if a metric reads them; an input may lack them."""
        return ("must_not", "allowed") if self._scorer.reads_rules else ()

    def labels_in(self, schema: pa.Schema) -> pa.Schema:
        """Return the group columns of a schema that was checked, with the types in which their values are compared."""
        return pa.schema([(name, label_type(schema.field(name).type)) for name in self.by])

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of what `score_batch` returns for batches with this schema; it raises as `kept_of`."""
        return self._with_kept(self.kept_of(schema))

    @property
    def fields(self) -> set[str] | None:
        """The fields of the documents that have to be read; None if a metric may read any of them."""
        if self._scorer.reads_fields:
            return None
        read = self.document_fields
        ids = {read.id, *self._scorer.id_fields} if read.id else set()
        return {name for name in (*ids, read.text if self._scorer.reads_texts else None, *read.grades) if name}

    @property
    def document_fields(self) -> Fields:
        """The fields of the documents that are their id, text and grade."""
        return Fields.of(self._settings)

    def check_schema(self, schema: pa.Schema) -> None:
        """Check that batches of a schema can be scored.

        Raises:
            InvalidInputError: A column or a field is missing or has another type; the error names the column, the
                type found and the type needed.
        """
        check_columns(schema, self._settings, self._scorer.reads_texts)
        self.kept_of(schema)
        check_labels(schema, self.by)

    @staticmethod
    def check_intervals(intervals: bool | float) -> None:
        """Check what `finalize` would refuse; call it before any work.

        Raises:
            InvalidInputError: `intervals` is neither a boolean nor a number between 0 and 1.
            MissingDependencyError: It needs scipy (extra `stats`), which is not installed.
        """
        check_intervals(intervals)

    def score_batch(self, batch: pa.RecordBatch, bad_rows: list[BadRow] | None = None) -> pa.RecordBatch:
        """Score each query.

        Args:
            batch: Queries; see the class. It may be empty. A table of polars, pyarrow or DuckDB, or any object with
                `__arrow_c_stream__`, is scored batch by batch, without a copy.
            bad_rows: A list to which rows that cannot be scored are added; they are left out. Without it, the first
                one is an error. Repeated query ids and errors of your own functions are errors in any case.

        Returns:
            One row per query, in the order of the input: `query_id`, the columns of `keep`, `n_gold`, `n_retrieved`
            (documents), then one column of doubles for each of `keys`, null where a value is undefined.

        Raises:
            InvalidInputError: A column is missing or has another type, a value is null, a query id is repeated, a
                document cannot be used, or a function of yours raised; the error names the column or the query.
        """
        return self.score_with_state(batch, bad_rows)[0]

    def score_with_errors(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Score each query; a row that cannot be scored has null values, and its reason in the last column, `error`.

        Returns:
            One row per row of the input, in its order: the columns of `score_batch`, and `error`, null where there is
            none.

        Raises:
            InvalidInputError: As for `score_batch` with a list of `bad_rows`, or a column is named `error`.
        """
        bad_rows: list[BadRow] = []
        scored, kept = self.score_batch(batch, bad_rows), self.names_of(batch.schema.names)
        self._check_names([*kept, "error"])
        reasons = {bad.row: bad.reason for bad in bad_rows}
        errors = pa.array([reasons.get(row) for row in range(len(batch))], pa.string())
        is_good = np.asarray(errors.is_null())
        places = pa.array(np.cumsum(is_good) - 1, mask=~is_good)
        given = {"query_id": read_query_ids(batch), **{name: batch.column(name) for name in kept}}
        columns = [
            given[field.name].cast(field.type) if field.name in given else scored.column(field.name).take(places)
            for field in scored.schema
        ]
        return pa.record_batch([*columns, errors], schema=scored.schema.append(pa.field("error", pa.string())))

    def partial_state(self, batch: pa.RecordBatch, bad_rows: list[BadRow] | None = None) -> PartialState:
        """Return what these queries add to the aggregates; see `score_batch` for the input and the errors."""
        return self.score_with_state(batch, bad_rows)[1]

    def score_with_state(
        self, batch: pa.RecordBatch, bad_rows: list[BadRow] | None = None
    ) -> tuple[pa.RecordBatch, PartialState]:
        """Return what `score_batch` and `partial_state` return, in one pass."""
        state = self._empty_state()
        return self.score_into(state, batch, bad_rows), state

    def score_into(
        self, state: PartialState, batch: pa.RecordBatch, bad_rows: list[BadRow] | None = None
    ) -> pa.RecordBatch:
        """Score each query, and add them to a state of this scorer; after an error, the state is useless.

        This is faster than merging many states, and gives the same bits. See `score_batch` for the arguments.
        """
        if not isinstance(batch, pa.RecordBatch):
            return self._score_table(state, batch, bad_rows)
        self.check_schema(batch.schema)
        query_ids, n_bad_before = read_query_ids(batch), len(bad_rows or ())
        if bad_rows is None:
            check_query_ids(query_ids)
            self._check_repeats(query_ids)
        scored = []
        for start in range(0, len(query_ids), _QUERIES_AT_ONCE):
            part, ids = (column.slice(start, _QUERIES_AT_ONCE) for column in (batch, query_ids))
            numbers = np.arange(start, start + len(part))
            rows, measured = self._measure_good(part, ids, numbers, bad_rows)
            state.add(measured)
            if state.groups is not None:
                state.groups.add(labels_of(rows, self.by), self._scorer.outcomes_of(measured))
            scored.append(measured.columns())
        kept = [batch.column(name) for name in self.names_of(batch.schema.names)]
        if bad_rows is not None:
            bad_rows[n_bad_before:] = found = sorted(bad_rows[n_bad_before:])
            state.add_bad_rows(len(found), [bad.reason for bad in found])
            is_good = np.ones(len(batch), dtype=bool)
            is_good[[bad.row for bad in found]] = False
            views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}  # which have no filter
            kept = [column.cast(views.get(column.type, column.type)) for column in kept]
            query_ids, *kept = (column.filter(pa.array(is_good)) for column in (query_ids, *kept))
            self._check_repeats(query_ids)
        return self._rows(query_ids, kept, self.schema_of(batch.schema), scored)

    def _score_table(self, state: PartialState, table: Any, bad_rows: list[BadRow] | None) -> pa.RecordBatch:
        """Score a table batch by batch, as it comes through Arrow's PyCapsule interface: nothing is copied."""
        try:
            reader = pa.RecordBatchReader.from_stream(table)
        except (TypeError, pa.ArrowException):
            cure = "Collect a polars.LazyFrame first."
            refuse("batch", "a pyarrow.RecordBatch or a table that gives Arrow", table, cure)
        first = 0
        self.check_schema(reader.schema)
        scored = []
        for batch in reader:
            bad: list[BadRow] | None = None if bad_rows is None else []
            try:
                scored.append(self.score_into(state, batch, bad))
            except InvalidInputError as error:
                raise (error.at(f"batch from row {first:,}") if first else error) from None
            if bad_rows is not None:
                bad_rows += [one._replace(row=one.row + first) for one in bad or ()]
            first += len(batch)
        rows = pa.Table.from_batches(scored, self.schema_of(reader.schema)).combine_chunks()
        self._check_repeats(rows.column("query_id"))
        return next(iter(rows.to_batches()), pa.RecordBatch.from_pylist([], rows.schema))

    def _check_repeats(self, query_ids: Any) -> None:
        if not self._allows_repeats:
            check_repeats(query_ids)

    def _measure_good(
        self, batch: Any, query_ids: Any, numbers: IntArray, bad_rows: list[BadRow] | None
    ) -> tuple[Any, Measured]:
        """Return the rows and their measurements; if `bad_rows` is a list, without the rows that are added to it.

        Args:
            batch: The rows.
            query_ids: Their ids.
            numbers: Their positions in the input.
            bad_rows: A list for rows that cannot be scored; None if the first is an error.
        """
        try:
            if bad_rows is not None:
                check_query_ids(query_ids)
            return batch, self._measure(batch, query_ids)
        except InvalidInputError:
            if bad_rows is None:
                raise
            found = dict(_failing(self._check, batch, query_ids)) or dict(_failing(self._measure, batch, query_ids))
            if not found:  # no row fails by itself
                raise
        except KragEvalError:
            raise
        except Exception as error:  # noqa: BLE001 - raised again as ours
            alone = next(_failing(self._measure, batch, query_ids, Exception), None)
            named = error if alone is None else _error_of_query(query_ids[alone[0]].as_py(), alone[1])
            raise named from as_cause(error)
        bad_rows += [BadRow(int(numbers[row]), query_ids[row].as_py(), str(error)) for row, error in found.items()]
        ends = [*found, len(batch)]
        runs = [slice(start, end) for start, end in zip([0, *(row + 1 for row in found)], ends, strict=True)]
        good = pa.concat_batches([batch.slice(run.start, run.stop - run.start) for run in runs])
        return self._measure_good(good, read_query_ids(good), np.delete(numbers, list(found)), bad_rows)

    def _check(self, batch: Any, query_ids: Any) -> object:
        """Do what is quick of `_measure`, and raises for most bad rows."""
        check_query_ids(query_ids)
        return self._read(batch, query_ids).actual.grades

    def _read(self, batch: Any, query_ids: Any) -> ArrowBatch:
        return read_batch(batch, query_ids, self.document_fields, self._settings)

    def _measure(self, batch: Any, query_ids: Any) -> Measured:
        own = query_ids.to_pylist() if self._settings.exclude_self else None
        return self._scorer.measure(self._read(batch, query_ids), own, *self._rules_of(batch))

    def _rules_of(self, batch: Any) -> tuple[Any, Any]:
        """Return what must not be retrieved, from the columns `must_not` and `allowed`, as `evaluate` takes them."""
        given: dict[str, Any] = dict.fromkeys(("must_not", "allowed"))
        for name in self.rule_columns:
            if name in batch.schema.names:
                given[name] = batch.column(batch.schema.get_field_index(name)).to_pylist()
        return given["must_not"], given["allowed"] and [_conditions(one) for one in given["allowed"]]

    def _rows(
        self, query_ids: Any, kept: Sequence[Any], schema: pa.Schema, scored: Sequence[Sequence[Any]]
    ) -> pa.RecordBatch:
        columns = [query_ids.cast(pa.string())]
        columns += [column.cast(field.type) for column, field in zip(kept, list(schema)[1:], strict=False)]
        for number, field in enumerate(self._scores):
            values = np.concatenate([np.empty(0, dtype=field.type.to_pandas_dtype()), *(p[number] for p in scored)])
            columns.append(pa.array(values, field.type, mask=np.isnan(values)))
        return pa.record_batch(columns, schema=schema)

    def merge(self, states: Iterable[PartialState]) -> PartialState:
        """Return the state of all these queries together; the order of the states changes no bit of any number.

        Args:
            states: States of scorers with these settings. They are not changed.

        Raises:
            InvalidInputError: A state was made with other settings, or by another version.
        """
        merged = self._empty_state()
        for state in states:
            if not isinstance(state, PartialState):
                refuse("states", "PartialState objects", state, "Read a stored state with `PartialState.from_json`.")
            merged.merge(state)
        return merged

    def finalize(
        self, state: PartialState, *, intervals: bool | float = False, max_bad_rows: int | None = None
    ) -> EvaluationResult:
        """Return what `evaluate` returns for all queries of a state, without `per_query` and `explain`.

        Args:
            state: A state of this scorer's settings, of at least one query.
            intervals: An interval on every value, of 95 % or of the confidence given. Needs scipy (extra `stats`).
            max_bad_rows: How many rows may have been left out, with a warning; by default any number, without one.

        Raises:
            InvalidInputError: The state has no query or other settings, more rows were left out, or no document of one
                side has what the methods read, so that nothing could match.
            MissingDependencyError: `intervals` needs scipy, which is not installed.
        """
        if max_bad_rows is not None:
            state.check_bad_rows(max_bad_rows)
        merged = self.merge([state])
        if not merged.n_queries:
            if merged.n_bad_rows:
                raise InvalidInputError(f"None of {merged.n_bad_rows:,} rows can be scored. {merged.reasons[0]}")
            raise InvalidInputError("The state has no query. Score at least one query before `finalize`.")
        groups, signature = None, self._scorer.signature_for(merged)
        if merged.groups is not None:
            is_single = isinstance(self._given[1]["by"], str)
            groups = results_by_group(merged.groups, signature, intervals, is_single=is_single)
        if max_bad_rows is not None and state.n_bad_rows:
            skipped = "1 bad row was" if state.n_bad_rows == 1 else f"{state.n_bad_rows:,} bad rows were"
            warn(f"{skipped} skipped: {_SHOWS}why. {state.reasons[0]}")
        return result_of(merged, signature, intervals, n_bad_rows=merged.n_bad_rows, groups=groups)

    def look_again(self, state: PartialState, first_rows: Callable[[], pa.RecordBatch]) -> None:
        """If gold has no match, look at some queries: for ids that are only spelled differently, and what would match.

        Ids that are spelled differently are told of here, and the rest by `finalize`. A state has counts and no
        documents. These queries stay in this process; they are not stored with the state.

        Args:
            state: The state of all queries; `finalize` has to be called with it, not with a copy.
            first_rows: Returns some of the queries, with all fields of their documents. It is called only if needed.
        """

        def read() -> ArrowBatch:
            batch = first_rows()
            n_good, _ = next(_failing(self._check, batch, read_query_ids(batch)), (len(batch), None))
            good = batch.slice(0, n_good)
            return self._read(good, read_query_ids(good))

        self._scorer.look_again(state, read)

    def _empty_state(self) -> PartialState:
        groups = GroupCounts(self.by, self._scorer.outcomes) if self.by else None
        return PartialState(**self._scorer.sums(), groups=groups)


def _conditions(given: Any) -> Any:
    """Return a value of the column `allowed` as a mapping: a struct has all keys, and a map is a list of pairs."""
    pairs = given.items() if isinstance(given, Mapping) else given or ()
    return {key: value for key, value in pairs if value is not None} or None


def _check_keep(keep: Any) -> tuple[str, ...] | str | pa.Schema:
    if isinstance(keep, pa.Schema) or (isinstance(keep, str) and keep == "all"):
        return keep
    named = (keep,) if isinstance(keep, str) else keep
    if not isinstance(named, Sequence) or not all(isinstance(name, str) and name for name in named):
        refuse("keep", "the names of columns of the input, or 'all'", keep)
    return tuple(named)


def _plain(type_: Any) -> Any:
    """Return the type of a kept column in the output; Parquet encodes dictionaries by itself."""
    if pa.types.is_dictionary(type_):
        return _plain(type_.value_type)
    is_plain = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    return pa.large_string() if is_string(type_) and not is_plain and not pa.types.is_null(type_) else type_


_FORMAT = 3
_FORMER_FORMAT = 2
_REASONS = 3
_SHOWS = '`score` with `bad_rows="keep"` shows '


@dataclass(slots=True, kw_only=True)
class PartialState(ColumnState):
    """The sums of some queries, from which all aggregates are computed.

    They are integers, so that states merge by addition, in any order, to the same bits.

    Attributes:
        signature: Every setting that can change a number; only states with the same signature merge.
        tally: The sums of the means and the micro values.
        spread: The sums of the intervals.
        supply: How many documents have what the methods read.
        has_needs: Whether a need had several alternatives, which the signature of the result says then.
        groups: The counts by group; None if queries are not grouped.
        n_bad_rows: How many rows could not be scored and were left out.
        reasons: Why, of the three whose reasons come first in the alphabet.
    """

    groups: GroupCounts | None = None
    n_bad_rows: int = 0
    reasons: Sequence[str] = ()

    def merge(self, other: PartialState) -> None:
        """Add the state of other queries.

        Raises:
            InvalidInputError: It was made with other settings, or by another version.
        """
        mine, theirs = (
            None if state.groups is None else (state.groups.by, state.groups.outcomes) for state in (self, other)
        )
        if mine != theirs and self.signature == other.signature:
            raise InvalidInputError(
                "States of different groups or metrics do not merge. Score all batches with the same ",
                Argument("by"),
                " and the same ",
                Argument("metrics"),
                ".",
            )
        self.merge_sums(other)
        if self.groups is not None and other.groups is not None:
            self.groups.merge(other.groups)
        self.add_bad_rows(other.n_bad_rows, other.reasons)

    def add_bad_rows(self, n_rows: int, reasons: Iterable[str]) -> None:
        """Count rows that cannot be scored."""
        self.n_bad_rows += n_rows
        self.reasons = sorted([*self.reasons, *reasons])[:_REASONS]

    def check_bad_rows(self, max_bad_rows: int) -> None:
        """Check that no more rows were left out than allowed.

        Raises:
            InvalidInputError: There are more, or `max_bad_rows` is not an integer of at least 0.
        """
        if self.n_bad_rows <= check_count("max_bad_rows", max_bad_rows, least=0):
            return
        if not max_bad_rows:
            raise InvalidInputError(self.reasons[0])
        raise InvalidInputError(
            f"More than {max_bad_rows:,} rows cannot be scored. {' '.join(self.reasons)} Correct them, or increase ",
            Argument("max_bad_rows"),
            f"; {_SHOWS}all.",
        )

    def to_json(self) -> str:
        """Return the state as a line of JSON."""
        stored: dict[str, Any] = {"krag_eval_state": _FORMAT, **self.sums_to_dict()}
        stored |= {} if self.groups is None else {"groups": self.groups.to_dict()}
        stored |= {"bad_rows": [self.n_bad_rows, *self.reasons]} if self.n_bad_rows else {}
        return json.dumps({**stored, "crc": _checksum(stored)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> PartialState:
        """Read a state that `to_json` wrote.

        Raises:
            InvalidInputError: The text is not such a state, or was damaged or changed.
        """
        try:
            stored = json.loads(text)
            if stored["krag_eval_state"] not in (_FORMER_FORMAT, _FORMAT):
                raise ValueError(f"its format is {stored['krag_eval_state']!r:.20}, not {_FORMAT}")
            if stored.pop("crc", None) != _checksum(stored):
                raise ValueError("its checksum is wrong: it was damaged or changed")
            if stored["krag_eval_state"] == _FORMER_FORMAT:
                stored["supply"] = _without_documents(stored["supply"])
            return cls._of(stored)
        except (AttributeError, InvalidInputError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"The text is not a state that `PartialState.to_json` wrote ({type(error).__name__}: {error!s:.80}). "
                "Pass the complete text, from the same version."
            ) from error

    @classmethod
    def _of(cls, stored: Mapping[str, Any]) -> PartialState:
        groups = GroupCounts.from_dict(stored["groups"]) if "groups" in stored else None
        n_bad_rows, *reasons = stored.get("bad_rows", [0])
        check_count("bad_rows", n_bad_rows, least=0)
        return cls(**cls.sums_from_dict(stored), groups=groups, n_bad_rows=n_bad_rows, reasons=reasons)


def _without_documents(supply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of the former format, which had examples of documents, too."""
    counts = {name: value for name, value in supply.items() if name not in ("first_error", "sample")}
    for name in ("actual", "predicted"):
        side = {key: value for key, value in supply[name].items() if key not in ("ids", "wordy_text")}
        counts[name] = side | {"with_letters": int(supply[name]["wordy_text"] is not None)}
    return counts | {"compared": len(supply["sample"])}


def _checksum(stored: Mapping[str, Any]) -> int:
    """Return a checksum of a state as JSON, however a database formats it and orders its keys."""
    return zlib.crc32(json.dumps(stored, sort_keys=True).encode())


def _failing(
    check: Callable[[Any, Any], object],
    batch: Any,
    query_ids: Any,
    kind: type[Exception] = InvalidInputError,
    first: int = 0,
) -> Iterator[tuple[int, Exception]]:
    """Yield the rows that fail by themselves with an error of this kind, in their order, with their errors."""
    try:
        check(batch, query_ids)
    except kind as error:
        if len(batch) == 1:
            yield first, error
            return
        for start, stop in ((0, len(batch) // 2), (len(batch) // 2, len(batch))):
            part, ids = batch.slice(start, stop - start), query_ids.slice(start, stop - start)
            yield from _failing(check, part, ids, kind, first + start)


def _error_of_query(query_id: str, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"Query {query_id!r:.60} could not be scored: {describe_error(error).rstrip('.')}. "
        "A metric, a tokenizer or another function of yours raised it: check what it does with this query."
    )
