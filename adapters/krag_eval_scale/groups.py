"""Count the outcomes of queries by group, in states that merge exactly, and compute the result of each group."""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.toolkit import Argument, IntArray, Outcomes, Summary, refuse, result_of
from krag_eval_scale.batch import is_string
from krag_eval_scale.grouped_results import GroupedResults

# So many pairs wait until they are counted together with the others.
_MOST_WAITING = 1 << 18
# If there are more outcomes, groups with at least so many of them are summarized.
_MOST_OUTCOMES, _MANY = 1 << 18, 1 << 7


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """How often each outcome came in each group.

    Attributes:
        labels: The values of the group columns, one row per group.
        outcomes: Different columns of `Outcomes`, shape (n_rows, n_outcomes).
        group: The group of each pair of a group and an outcome that came, as a row of `labels`.
        outcome: The outcome of each pair, as a column of `outcomes`.
        times: How often each pair came.
    """

    labels: pa.Table
    outcomes: IntArray
    group: IntArray
    outcome: IntArray
    times: IntArray

    def of(self, group: int) -> tuple[IntArray, IntArray]:
        """Return the outcomes of a group, and how often each came; the pairs must be sorted."""
        start, stop = np.searchsorted(self.group, [group, group + 1])
        return self.outcomes[:, self.outcome[start:stop]], self.times[start:stop]

    @classmethod
    def together(cls, parts: Sequence[Counted]) -> Counted:
        """Return the counts of all parts, with each group, outcome and pair once.

        Raises:
            InvalidInputError: A group column has different types.
        """
        labels, group_of = _different_labels(_concatenated([part.labels for part in parts]))
        outcomes, outcome_of = _different_columns(np.concatenate([part.outcomes for part in parts], axis=1))
        group = group_of[_shifted([part.group for part in parts], [len(part.labels) for part in parts])]
        outcome = outcome_of[_shifted([part.outcome for part in parts], [part.outcomes.shape[1] for part in parts])]
        n_outcomes = max(outcomes.shape[1], 1)
        pairs, number = np.unique(group * n_outcomes + outcome, return_inverse=True)
        # As doubles the counts add up exactly up to 2^53.
        times = np.bincount(number, np.concatenate([part.times for part in parts]), len(pairs)).astype(np.int64)
        return cls(labels, outcomes, pairs // n_outcomes, pairs % n_outcomes, times)


@dataclass(slots=True)
class GroupCounts:
    """How often each outcome came in each group: a state that merges exactly, in any order.

    Attributes:
        by: The group columns.
        outcomes: The layout of the outcomes.
        counted: Sorted by group and outcome, each pair once.
        waiting: What was added since; it is counted together with the others before long.
        summaries: What was counted before of groups with many outcomes, by their labels.
    """

    by: tuple[str, ...]
    outcomes: Outcomes
    counted: Counted = field(init=False)
    waiting: list[Counted] = field(default_factory=list)
    summaries: dict[tuple[Any, ...], Summary] = field(default_factory=dict)

    def __post_init__(self) -> None:
        none = np.empty(0, dtype=np.int64)
        labels = pa.table({name: pa.nulls(0) for name in self.by})
        self.counted = Counted(labels, np.empty((self.outcomes.n_rows, 0), dtype=np.int64), none, none, none)

    def add(self, labels: pa.Table, outcomes: IntArray) -> None:
        """Add queries.

        Args:
            labels: Their values in the group columns, as `labels_of` returns them.
            outcomes: What they add to aggregates, as `Outcomes.of` returns it.
        """
        different, group = _different_labels(labels)
        columns, outcome = _different_columns(outcomes)
        self._put([Counted(different, columns, group, outcome, np.ones(len(group), dtype=np.int64))])

    def merge(self, other: GroupCounts) -> None:
        """Add those of other queries with the same group columns."""
        self._put([other.counted, *other.waiting])
        for label, summary in other.summaries.items():
            self._add_summary(label, copy.deepcopy(summary))

    def _add_summary(self, label: tuple[Any, ...], summary: Summary) -> None:
        if label in self.summaries:
            self.summaries[label].merge(summary)
        else:
            self.summaries[label] = summary

    def _put(self, parts: Sequence[Counted]) -> None:
        self.waiting += parts
        has_many = sum(len(part.group) for part in self.waiting) > max(_MOST_WAITING, len(self.counted.group))
        if has_many and self.settled().outcomes.shape[1] > _MOST_OUTCOMES:
            self._summarize()

    def _summarize(self) -> None:
        """Turn the counts of groups with many outcomes into their aggregates, which do not grow without end."""
        counted = self.counted
        is_large = np.bincount(counted.group, minlength=len(counted.labels)) >= _MANY
        for number, label in zip(
            np.flatnonzero(is_large).tolist(), rows_of(counted.labels.filter(is_large)), strict=True
        ):
            self._add_summary(label, self.outcomes.summarize(*counted.of(number)))
        left = ~is_large[counted.group]
        used, outcome = np.unique(counted.outcome[left], return_inverse=True)
        columns = counted.outcomes[:, used]
        self.counted = Counted(counted.labels, columns, counted.group[left], outcome, counted.times[left])

    def settled(self) -> Counted:
        """Return all that was added, counted together."""
        if self.waiting:
            self.counted, self.waiting = Counted.together([self.counted, *self.waiting]), []
        return self.counted

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them: three Arrow tables, compressed."""
        counted = self.settled()
        pairs = {"group": counted.group, "outcome": counted.outcome, "times": counted.times}
        outcomes = {str(number): row for number, row in enumerate(counted.outcomes)}
        tables = counted.labels, pa.table(outcomes), pa.table(pairs)
        summaries = [
            (number, self.summaries[label].to_dict())
            for number, label in enumerate(rows_of(counted.labels) if self.summaries else ())
            if label in self.summaries
        ]
        layout = {"by": self.by, "keys": self.outcomes.keys, "cut_offs": self.outcomes.cut_offs}
        return {**layout, "tables": [_packed(table) for table in tables], "summaries": summaries}

    @classmethod
    def from_dict(cls, record: Any) -> GroupCounts:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        by, layout = tuple(record["by"]), Outcomes(tuple(record["keys"]), tuple(record["cut_offs"]))
        labels, outcomes, pairs = map(_unpacked, record["tables"])
        rows = np.stack([np.asarray(column) for column in outcomes.columns])
        counted = Counted(labels, rows, *(np.asarray(pairs.column(name)) for name in ("group", "outcome", "times")))
        sizes = (counted.group, len(labels)), (counted.outcome, rows.shape[1])
        is_right = tuple(labels.column_names) == by and len(rows) == layout.n_rows and rows.dtype == np.int64
        if not is_right or any(((codes < 0) | (codes >= size)).any() for codes, size in sizes):
            raise InvalidInputError("The groups of the state do not fit together. Score the queries again.")
        names = rows_of(labels) if record["summaries"] else []
        summaries = {names[number]: Summary.from_dict(summary) for number, summary in record["summaries"]}
        # Counted once more: the order of what was stored is not trusted.
        return cls(by, layout, [counted], summaries)


def _packed(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pa.Table:
    try:
        return pa.ipc.open_stream(base64.b64decode(text, validate=True)).read_all()
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"The groups of the state cannot be read ({error!s:.80}).") from error


def check_labels(schema: Any, by: Sequence[str]) -> None:
    """Check that a schema has group columns whose values can be compared.

    Args:
        schema: The schema of the input.
        by: The group columns.

    Raises:
        InvalidInputError: A column is missing or appears twice, or has a type whose values are not equal or different
            beyond doubt.
    """
    for name in by:
        n_columns = len(schema.get_all_field_indices(name))
        if n_columns != 1:
            raise InvalidInputError(
                f"The input has {'two columns' if n_columns else 'no column'} {name!r}, which ",
                Argument("by"),
                f" names. Its columns are: {', '.join(schema.names) or 'none'}.",
            )
        type_ = schema.field(name).type
        if label_type(type_) is None:
            raise InvalidInputError(
                f"The column {name!r} has the type {type_}, and ",
                Argument("by"),
                " needs strings, integers, booleans, dates or timestamps. Cast it, or name another column.",
            )


_TAKEN = ("query_id", "actual", "predicted", "n_gold", "n_retrieved", "n_queries")


def read_by(by: object, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the group columns.

    Args:
        by: What the user gave.
        keys: The keys of the values.

    Raises:
        InvalidInputError: They are not names, repeat, or are names of other columns of the result.
    """
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        refuse("by", "the name of a column or a list of names", by)
    if len(set(names)) < len(names):
        raise InvalidInputError(Argument("by"), f" names a column twice: {', '.join(names)}. Name each once.")
    for name in names:
        if name in _TAKEN or name.removeprefix("micro_") in keys:
            raise InvalidInputError(
                Argument("by"),
                f" cannot group by {name!r}: the result has a column of that name. Rename yours, or leave it out.",
            )
    return names


def _result_of(
    counts: GroupCounts, labels: Sequence[Any], signature: str, intervals: bool | float, number: int, has_spread: bool
) -> EvaluationResult:
    """Return the result of the group of this number, with what its intervals need if asked for."""
    has_spread = has_spread or intervals is not False
    summary = counts.outcomes.summarize(*counts.counted.of(number), has_spread=has_spread)
    if labels[number] in counts.summaries:
        summary.merge(counts.summaries[labels[number]])
    return result_of(summary, signature, intervals, has_spread=has_spread)


def results_by_group(
    counts: GroupCounts, signature: str, intervals: bool | float, *, is_single: bool
) -> GroupedResults:
    """Return the result of each group.

    Args:
        counts: The counts of all queries.
        signature: The settings of the scoring.
        intervals: Whether every value gets an interval, or the confidence of these.
        is_single: Whether the group column was given as one name.
    """
    labels = rows_of(counts.settled().labels)
    return GroupedResults(
        counts.by, labels, partial(_result_of, counts, labels, signature, intervals), is_single=is_single
    )


def rows_of(labels: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of labels as tuples of Python's values."""
    return list(zip(*(column.to_pylist() for column in labels.columns), strict=True))


def labels_of(batch: pa.RecordBatch, by: Sequence[str]) -> pa.Table:
    """Return the group columns of queries, each in one type for all that can be equal.

    Raises:
        InvalidInputError: A timestamp is finer than a microsecond.
    """
    columns = {}
    for name in by:
        column = batch.column(batch.schema.get_field_index(name))
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        try:
            columns[name] = column.cast(label_type(column.type))
        except pa.ArrowInvalid as error:
            raise InvalidInputError(
                f"The column {name!r} cannot be grouped by ({error!s:.80}). Round it, for example to days."
            ) from error
    return pa.table(columns)


def label_type(type_: Any) -> Any:
    """Return the type in which labels are compared; None if they cannot be."""
    types = pa.types
    if types.is_dictionary(type_):
        return label_type(type_.value_type)
    if types.is_null(type_) or types.is_boolean(type_) or types.is_uint64(type_):
        return type_
    if is_string(type_):
        return pa.large_string()
    if types.is_integer(type_):
        return pa.int64()
    if types.is_date(type_):
        return pa.date32()
    return pa.timestamp("us", type_.tz) if types.is_timestamp(type_) else None


def _concatenated(labels: Sequence[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(labels, promote_options="default").combine_chunks()
    except pa.ArrowException as error:
        raise InvalidInputError(
            "A column that ",
            Argument("by"),
            f" names has different types in different places ({' '.join(str(error).split())[:150]}). Cast it to one "
            "type everywhere.",
        ) from error


def _different_labels(labels: pa.Table) -> tuple[pa.Table, IntArray]:
    """Return the different rows, and which of them each row is."""
    if not len(labels):  # Arrow cannot encode an empty column without a type
        return labels, np.empty(0, dtype=np.int64)
    codes = np.zeros(len(labels), dtype=np.int64)
    first = np.zeros(min(len(labels), 1), dtype=np.int64)
    for column in labels.columns:
        encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        numbers = np.asarray(encoded.indices).astype(np.int64)
        _, first, codes = np.unique(
            codes * (len(encoded.dictionary) + 1) + numbers, return_index=True, return_inverse=True
        )
    return labels.take(pa.array(first)), codes


def _different_columns(columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different columns of a matrix, and which of them each column is."""
    _, first, number = np.unique(_hashes(columns), return_index=True, return_inverse=True)
    different = columns[:, first]
    if not np.array_equal(different[:, number], columns):  # two columns have the same hash
        different, number = np.unique(columns, axis=1, return_inverse=True)
    return different, number.reshape(-1)


def _hashes(columns: IntArray) -> Any:
    hashes = np.zeros(columns.shape[1], dtype=np.uint64)
    for row in columns:
        hashes ^= row.view(np.uint64)
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    return hashes


def _shifted(codes: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Return the codes of all parts, as places in what the parts refer to, one after the other."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([part + start for part, start in zip(codes, starts, strict=True)])
