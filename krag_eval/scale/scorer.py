"""Score Arrow record batches into the values of each query and states, which merge in any order to the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from krag_eval._utils.arrays import FloatArray
from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, KragEvalError
from krag_eval._utils.redaction import as_cause, describe_error
from krag_eval.evaluation.pipeline import (
    Judged,
    MetricFunction,
    choose_metrics,
    columns_of,
    judged_of,
    signature_of,
    values_of,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching import find_matches
from krag_eval.matching.fronts import NO_LISTS, Front
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.matching.remedies import sample_of
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.metrics.aggregation import Distributions, Tally
from krag_eval.metrics.cut_offs import Ranks, TokenBudget, ranks_within
from krag_eval.metrics.names import DEFAULT_CUT_OFFS
from krag_eval.scale.batch import Fields, check_columns, check_repeats, read_batch, read_query_ids

# What is matched and judged at once stays in the processor's cache.
_QUERIES_AT_ONCE = 8192


class ColumnarScorer:
    """Score Arrow record batches, one row per query; the numbers are those of `evaluate`, to the last bit.

    Input columns:

    * `query_id`: string or integer, not null, different in every row.
    * `actual`: `list<struct<id: string, text: string, grade: double>>`, the gold documents.
    * `predicted`: `list<struct<id: string, text: string, score: double>>`, the retrieved documents, best first.

    Of `id` and `text`, only what the matching method reads is required; `grade` and `score` are optional. Strings may
    be `string`, `large_string`, `string_view` or dictionary-encoded, lists of any kind. With `id_key` and `grade_key`,
    the fields of these names are read.

    A scorer keeps nothing of what it scored: `score_batch` and `partial_state` are pure functions, so that it can be
    sent to the workers of any engine and a batch can be scored twice. It can be pickled if its settings can.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        allow_repeated_ids: Score several rows of one `query_id` as separate queries. By default, a batch with a
            repeated query id is refused. Repeats between batches are not found here; see `RepeatFinder`.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Attributes:
        keys: The keys of each query's values, such as `recall@5`.
        signature: Every setting that can change a number, in one line.
        schema: The Arrow schema of what `score_batch` returns.

    Raises:
        InvalidInputError: A setting cannot be used.
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
        **settings: Unpack[ScoringSettings],
    ) -> None:
        self._settings = make_settings(**settings)
        self._cut_offs, chosen = choose_metrics(metrics, self._settings, k)
        self._columns = columns_of(chosen, self._cut_offs)
        self._given = (k, metrics, allow_repeated_ids, settings)
        self._allows_repeats = allow_repeated_ids
        self._needs_texts = self._settings.uses_texts or any(isinstance(k, TokenBudget) for k in self._cut_offs)
        self.keys = tuple(self._columns)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        counts = [pa.field("n_gold", pa.int64()), pa.field("n_retrieved", pa.int64())]
        columns = [pa.field("query_id", pa.string()), *counts, *(pa.field(key, pa.float64()) for key in self.keys)]
        self.schema = pa.schema(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self._given

    @property
    def fields(self) -> set[str] | None:
        """The fields of the documents that have to be read; None if a metric may read any of them."""
        if any(metric.reads_documents for metric, _ in self._columns.values()):
            return None
        read = self.document_fields
        return {name for name in (read.id, read.text if self._needs_texts else None, *read.grades) if name}

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
        check_columns(schema, self._settings, self._needs_texts)

    def score_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Score each query.

        Args:
            batch: Queries; see the class. It may be empty.

        Returns:
            One row per query, in the order of the input: `query_id`, `n_gold`, `n_retrieved` (documents), then one
            column of doubles for each of `keys`, null where a value is undefined.

        Raises:
            InvalidInputError: A column is missing or has another type, a value is null, a query id is repeated, a
                document cannot be used, or a function of yours raised; the error names the column or the query.
        """
        return self.score_with_state(batch)[0]

    def partial_state(self, batch: pa.RecordBatch) -> PartialState:
        """Return what these queries add to the aggregates; see `score_batch` for the input and the errors."""
        return self.score_with_state(batch)[1]

    def score_with_state(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, PartialState]:
        """Return what `score_batch` and `partial_state` return, in one pass."""
        state = self._empty_state()
        return self.score_into(state, batch), state

    def score_into(self, state: PartialState, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Score each query, and add them to a state of this scorer; after an error, the state is useless.

        This is faster than merging many states, and gives the same bits.
        """
        if not isinstance(batch, pa.RecordBatch):
            raise InvalidInputError(
                f"`batch` must be a pyarrow.RecordBatch, got {describe_type(batch)}. "
                "For a table, pass the batches of `table.to_batches()`."
            )
        self.check_schema(batch.schema)
        query_ids = read_query_ids(batch)
        if not self._allows_repeats:
            check_repeats(query_ids)
        scored = []
        for start in range(0, len(query_ids), _QUERIES_AT_ONCE):
            part, ids = (rows.slice(start, _QUERIES_AT_ONCE) for rows in (batch, query_ids))
            try:
                judged, ranks, values = self._measure(part, ids)
            except KragEvalError:
                raise
            except Exception as error:  # noqa: BLE001 - raised again as ours
                raise _error_of_query(self._measure, part, ids, error) or error from as_cause(error)
            denominator = self._settings.precision_denominator
            state.tally.add(judged.judgments, values, ranks, denominator)
            state.spread.add(judged.judgments, values, ranks, denominator)
            state.supply.merge(judged.document_counts)
            judgments = judged.judgments
            counts = {"n_gold": judgments.n_gold, "n_retrieved": judgments.n_retrieved}
            scored.append({**counts, **values})
        return self._rows(query_ids, scored)

    def _measure(self, batch: Any, query_ids: Any) -> tuple[Judged, Ranks, dict[str, FloatArray]]:
        part = read_batch(batch, query_ids, self.document_fields, self._settings)
        judged = judged_of(part, find_matches(part))
        ranks = ranks_within(self._cut_offs, part)
        return judged, ranks, values_of(judged, self._columns, ranks)

    def _rows(self, query_ids: Any, scored: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        columns = [query_ids.cast(pa.string())]
        for field in list(self.schema)[1:]:
            values = np.concatenate([np.empty(0, dtype=field.type.to_pandas_dtype()), *(p[field.name] for p in scored)])
            columns.append(pa.array(values, field.type, mask=np.isnan(values)))
        return pa.record_batch(columns, schema=self.schema)

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
                raise InvalidInputError(
                    f"`states` must be PartialState objects, got {describe_type(state)}. Read a stored state with "
                    "`PartialState.from_json`."
                )
            merged.merge(state)
        return merged

    def finalize(self, state: PartialState, *, intervals: bool | float = False) -> EvaluationResult:
        """Return what `evaluate` returns for all queries of a state, without `per_query` and `explain`.

        Args:
            state: A state of this scorer's settings, of at least one query.
            intervals: An interval on every value, of 95 % or of the confidence given. Needs scipy (extra `stats`).

        Raises:
            InvalidInputError: The state has no query or other settings, or no document of one side has what the
                methods read, so that nothing could match.
            MissingDependencyError: `intervals` needs scipy, which is not installed.
        """
        return self.finalize_found(state, intervals=intervals)

    def finalize_found(
        self, state: PartialState, *, intervals: bool | float, front: Front = NO_LISTS
    ) -> EvaluationResult:
        """Do what `finalize` does; that nothing was retrieved is only reported if it was not before."""
        merged = self.merge([state])
        if not merged.n_queries:
            raise InvalidInputError("The state has no query. Score at least one query before `finalize`.")
        merged.supply.check(self._settings, front)
        tally, unmatchable = merged.tally, merged.supply.unmatchable
        result = EvaluationResult(self.signature, tally, unmatchable, {}, None, spread=merged.spread)
        if intervals is False:
            return result
        from krag_eval.evaluation.intervals import with_intervals  # statistics are slow to import

        return with_intervals(result, intervals)

    def look_again(self, state: PartialState, batch: pa.RecordBatch) -> None:
        """Let a state in which nothing matches see queries with all their fields, so that it can say what would."""
        part = read_batch(batch, read_query_ids(batch), self.document_fields, self._settings)
        state.supply.sample = sample_of(part) or state.supply.sample

    def _empty_state(self) -> PartialState:
        tally, spread = Tally.of(self.keys, self._cut_offs), Distributions.of(self.keys, self._cut_offs)
        return PartialState(self.signature, tally, spread, DocumentCounts.empty())


def _remade(k: Any, metrics: Any, allow_repeated_ids: bool, settings: Any) -> ColumnarScorer:
    return ColumnarScorer(k, metrics=metrics, allow_repeated_ids=allow_repeated_ids, **settings)


_FORMAT = 1


@dataclass(slots=True)
class PartialState:
    """The sums of some queries, from which all aggregates are computed.

    They are integers, so that states merge by addition, in any order, to the same bits.

    Attributes:
        signature: Every setting that can change a number; only states with the same signature merge.
        tally: The sums of the means and the micro values.
        spread: The sums of the intervals.
        supply: How many documents have what the methods read.
    """

    signature: str
    tally: Tally
    spread: Distributions
    supply: DocumentCounts

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.tally.n_queries

    def merge(self, other: PartialState) -> None:
        """Add the state of other queries.

        Raises:
            InvalidInputError: It was made with other settings, or by another version.
        """
        if other.signature != self.signature:
            raise InvalidInputError(
                f"States of different settings do not merge: {self.signature} and {other.signature}. "
                "Score all batches with the same settings and the same version."
            )
        self.tally.merge(other.tally)
        self.spread.merge(other.spread)
        self.supply.merge(other.supply)

    def to_json(self) -> str:
        """Return the state as a line of JSON."""
        parts = {"tally": self.tally.to_dict(), "spread": self.spread.to_dict(), "supply": self.supply.to_dict()}
        return json.dumps({"krag_eval_state": _FORMAT, "signature": self.signature, **parts}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> PartialState:
        """Read a state that `to_json` wrote.

        Raises:
            InvalidInputError: The text is not such a state.
        """
        try:
            stored = json.loads(text)
            if stored["krag_eval_state"] != _FORMAT:
                raise ValueError(f"its format is {stored['krag_eval_state']!r:.20}, not {_FORMAT}")
            return cls._of(stored)
        except (AttributeError, InvalidInputError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"The text is not a state that `PartialState.to_json` wrote ({type(error).__name__}: {error!s:.80}). "
                "Pass the complete text, from the same version."
            ) from error

    @classmethod
    def _of(cls, stored: Mapping[str, Any]) -> PartialState:
        tally, spread = Tally.from_dict(stored["tally"]), Distributions.from_dict(stored["spread"])
        return cls(str(stored["signature"]), tally, spread, DocumentCounts.from_dict(stored["supply"]))


def _error_of_query(
    measure: Callable[[Any, Any], object], batch: Any, query_ids: Any, error: Exception
) -> InvalidInputError | None:
    """Return the error of the first query that fails by itself; None if no query does.

    Args:
        measure: The function of a batch and its query ids that failed.
        batch: The queries, at least one.
        query_ids: Their ids.
        error: What the function raised.
    """
    while len(batch) > 1:
        half = len(batch) // 2
        for start, size in ((0, half), (half, len(batch) - half)):
            part, ids = batch.slice(start, size), query_ids.slice(start, size)
            try:
                measure(part, ids)
            except Exception as raised:  # noqa: BLE001 - whatever a user's function raises
                batch, query_ids, error = part, ids, raised
                break
        else:
            return None
    return InvalidInputError(
        f"Query {query_ids[0].as_py()!r:.60} could not be scored: {describe_error(error).rstrip('.')}. "
        "A metric, a tokenizer or another function of yours raised it: check what it does with this query."
    )
