"""The result of an evaluation: values by key, rows by query, text, JSON and reports."""

from __future__ import annotations

import contextlib
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, UnknownMetricError
from krag_eval._utils.formatting import format_value, number_of, one_line
from krag_eval._utils.objects import ComparedByFields, ShortRepr
from krag_eval._utils.plugins import Presented, load
from krag_eval._utils.serialization import data_frame, json_text, plain_fields
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.detail import Detail, cut_off_of, describe_misses, largest_cut_off
from krag_eval.metrics import ALL_METRICS
from krag_eval.metrics.aggregation import NoAnswerState, Tally
from krag_eval.metrics.names import as_key

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from krag_eval.evaluation.explanation import Explanation
    from krag_eval.evaluation.leaks import LeakReview
    from krag_eval.evaluation.misses import QueryReview
    from krag_eval.metrics.aggregation import Distributions


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult(Presented, ComparedByFields):
    """The outcome of an evaluation: `result["recall@5"]`, `result["micro_recall@5"]`; a bare name is the macro mean.

    Attributes:
        signature: Every setting that can change a number, in one line.
        tally: The aggregates, as states that merge exactly with those of other queries.
        unmatchable: For each side, how many documents lack what the method reads; they never match.
        errors: For queries whose retriever raised, what it said; they count as nothing retrieved.
        detail: What was kept of every query; None after a streamed evaluation.
        callback_errors: What callbacks raised.
        intervals: The interval of every value by key, None where that is undefined; None where none were asked for.
        spread: The distributions that intervals need, if there is no `detail`.
        tie_bounds: The lowest and the highest mean of each key over the orders of documents with equal scores; None
            without `ties="bounds"`.
        n_bad_rows: How many rows of the input could not be scored and were left out.
        groups: A `krag_eval_scale.GroupedResults`, where the queries were scored by group; else None.
    """

    signature: str
    tally: Tally
    unmatchable: Mapping[str, int]
    errors: Mapping[int, str]
    detail: Detail | None
    callback_errors: list[str] = field(default_factory=list)
    intervals: Mapping[str, tuple[float, float] | None] | None = None
    spread: Distributions | None = None
    n_bad_rows: int = 0
    groups: Any = None
    tie_bounds: Mapping[str, tuple[float, float] | None] | None = None

    @property
    def n_queries(self) -> int:
        """How many queries were scored."""
        return self.tally.n_queries

    @property
    def n_unjudged(self) -> int:
        """How many queries are undefined because their gold is known at the other level only (chunk or document)."""
        return self.tally.n_unjudged

    @property
    def no_answer(self) -> NoAnswerState:
        """What came back for queries without gold documents."""
        return self.tally.no_answer

    def keys(self) -> list[str]:
        """Return every key: for each metric and cut-off the mean, and the micro value where there is one."""
        return self.tally.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        return any(one.removeprefix("macro_") in self.tally.means or one in self.keys() for one in (key, as_key(key)))

    def __getitem__(self, key: str) -> float | None:
        """Return the value of a key such as `recall@5`, or `Recall@5`; None where it is undefined for every query.

        Raises:
            UnknownMetricError: There is no such key.
        """
        try:
            return self.tally.value(str(key))
        except KeyError:
            with contextlib.suppress(KeyError):
                return self.tally.value(as_key(str(key)))
            from krag_eval._utils.suggestions import key_hint

            raise UnknownMetricError(f"The result has no value {key!r}.{key_hint(key, self.keys())}") from None

    @property
    def undefined(self) -> dict[str, int]:
        """For each mean, how many queries it leaves out because they have no gold document."""
        return {key: state.n_undefined for key, state in self.tally.means.items()}

    @property
    def per_query(self) -> PerQuery:
        """One `QueryResult` a query, in the order of the input."""
        self._kept("per_query")
        return PerQuery(self.n_queries, self.query_result)

    def query_result(self, index: int) -> QueryResult:
        """Return the values of query `index`."""
        kept = self._kept("per_query")
        values = {key: column.item(index) for key, column in kept.values.items()}
        named, asked = kept.names(index)
        return QueryResult(
            index=index,
            id=named,
            query=asked,
            values={key: None if math.isnan(value) else value for key, value in values.items()},
            n_gold=int(kept.judged.n_gold[index]),
            n_retrieved=int(kept.judged.n_retrieved[index]),
            error=self.errors.get(index),
        )

    def explain(self, index: int, k: int | None = None) -> Explanation:
        """Return which gold documents of query `index` were found at which rank, by what, and what each rank earned.

        Args:
            index: The place of the query in the input, from 0.
            k: The cut-off up to which nDCG assigns gold documents to ranks; by default the largest of the result, or
                all ranks if these were scored.

        Raises:
            InvalidInputError: There is no such query, `k` is no rank, or the result was streamed and kept no documents.
        """
        kept = self._kept("explain")
        if not hasattr(index, "__index__") or not -self.n_queries <= operator.index(index) < self.n_queries:
            raise InvalidInputError(
                f"There is no query {index!r}: this result has queries 0 to {self.n_queries - 1}. Give one of these."
            )
        cut_off = cut_off_of(self, k, "an explanation")
        from krag_eval.evaluation.explanation import explain  # only one who asks why needs it

        return explain(kept, operator.index(index) % self.n_queries, cut_off)

    def explanations(self) -> Iterator[Explanation]:
        """Explain every query in turn; near texts are found in one pass over all queries.

        Raises:
            InvalidInputError: The result was streamed and kept no documents.
        """
        kept = self._kept("explanations")
        from krag_eval.evaluation.explanation import explain

        k, nearest = largest_cut_off(self), kept.nearest
        return (explain(kept, index, k, nearest) for index in range(self.n_queries))

    @property
    def missed(self) -> str | None:
        """How many queries miss gold within the largest cut-off; None if none does, or if none was kept."""
        if self.detail is None:
            return None
        judged, k = self.detail.judged, largest_cut_off(self)
        n_missing = int((self.detail.covered_within(k) < judged.n_gold).sum())
        return describe_misses(n_missing, int((judged.n_gold > 0).sum()), k) if n_missing else None

    def misses(self, k: int | None = None, *, doc_key: IdKey = "doc_id") -> QueryReview:
        """Return every query that misses a gold document, with what was retrieved instead, and why.

        Queries without gold documents are left out and counted. The order is that of the input.

        Args:
            k: A gold document counts as missed if it is not among the first k ranks; by default the largest cut-off
                of the result, or all ranks if these were scored.
            doc_key: The metadata key under which chunks carry the id of their document, for the causes.

        Returns:
            The queries; print them, go through them, or call `to_dicts()` or `to_pandas()`.

        Raises:
            InvalidInputError: The result was streamed and kept no queries.
        """
        from krag_eval.evaluation.misses import misses

        return misses(self, k, doc_key=doc_key)

    def leaks(self, k: int | None = None) -> LeakReview:
        """Return every document that was retrieved and must not be, with the reason.

        Args:
            k: The cut-off; by default the largest of the result, or all ranks if these were scored.

        Returns:
            The leaks; print them, go through them, or call `to_dicts()`, `to_pandas()` or `matrix("asker", "tenant")`.

        Raises:
            InvalidInputError: The result was streamed and kept no queries.
        """
        from krag_eval.evaluation.leaks import review_leaks

        return review_leaks(self, k)

    def worst(self, n: int = 10, metric: str | None = None, *, doc_key: IdKey = "doc_id") -> QueryReview:
        """Return the n queries with the worst value of a metric, the worst first.

        Queries with equal values keep the order of the input. Those without a value are left out and counted. If there
        are fewer than n, all are returned.

        Args:
            n: How many.
            metric: A value such as `"recall@5"`, or a metric, which is read at the largest cut-off. By default nDCG;
                MAP, MRR or recall if that was not scored.
            doc_key: As for `misses`.

        Returns:
            The queries, as `misses` returns them.

        Raises:
            InvalidInputError: The result was streamed and kept no queries, or `n` is no integer of at least 1.
            UnknownMetricError: No query has such a value.
        """
        from krag_eval.evaluation.misses import worst

        return worst(self, n, metric, doc_key=doc_key)

    @overload
    def to_dict(self) -> dict[str, float | None]: ...
    @overload
    def to_dict(self, *, names: Literal["safe"]) -> dict[str, float]: ...
    def to_dict(self, *, names: str = "plain") -> dict[str, Any]:
        """Return every value by key, None where undefined; `names="safe"` gives MLflow `recall_at_5` and no None."""
        values = self.tally.by_key()
        if one_of("names", names, ("plain", "safe")) == "plain":
            return values
        return {safe_name(key): value for key, value in values.items() if value is not None}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all values, what they leave out, and the signature, as JSON."""
        record = {
            "signature": self.signature,
            "n_queries": self.n_queries,
            "metrics": self.to_dict(),
            "undefined": self.undefined,
            "no_answer": plain_fields(self.no_answer, "n_queries", "empty_share", "mean_retrieved"),
            "unjudged": self.n_unjudged,
            "unmatchable": dict(self.unmatchable),
            "errors": {str(index): message for index, message in self.errors.items()},
            **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
            **({"n_bad_rows": self.n_bad_rows} if self.n_bad_rows else {}),
            **({"leaks": self.leaks().to_dicts()} if self.detail is not None and self.detail.leaks is not None else {}),
        }
        return json_text(record, indent=indent)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per query, one column per key; NaN where a value is undefined. Needs pandas."""
        rows, doubles = self._rows()
        frame = data_frame(rows, "result.to_pandas()").set_index("index")
        return frame.astype(dict.fromkeys(doubles, "float64"))

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        return [row.to_dict() for row in self.per_query], self.tally.means

    def to_latex(self) -> str:
        """Return a LaTeX `tabular`: one row per metric, one column per cut-off. It needs the package booktabs."""
        latex: str = load("krag_eval.reports", "latex")(self)
        return latex

    def __str__(self) -> str:
        return _describe(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        title: str | None = None,
        evalset: object = None,
        force: bool = False,
        language: str | None = None,
    ) -> Path:
        """Write a report: tables, pictures, causes of misses, and a browser of the queries. Needs extra `report`.

        Args:
            path: The file to write; an HTML file needs no other file, no server and no network.
            format: `"html"`, `"md"`, `"json"` or `"csv"`; by default what the path ends with.
            title: The title; by default it says how many queries were scored.
            evalset: The evaluation set, for slices by type and for answers.
            force: Replace a file that is there.
            language: `"en"`, `"ko"`, `"ru"` or `"zh"`; by default a page is in the language of the reader's browser.

        Returns:
            The path.

        Raises:
            InvalidInputError: The result was streamed and kept no documents, the file is there, or cannot be written.
            MissingDependencyError: A package is not installed.
        """
        write: Callable[..., Path] = load("krag_eval.reports", "file")
        options = {"title": title, "format": format, "force": force, "language": language}
        return write(path, evalset, {"result": self}, **options)

    def cells(self) -> dict[str, list[str]]:
        """Return the formatted values of each metric, one per cut-off, empty where it was not scored."""
        values = {key: format_value(value) for key, value in self.tally.by_key().items()}
        names = dict.fromkeys(key.partition("@")[0] for key in self.keys())
        return {name: [values.get(key, "") for key in self.keys_of(name)] for name in names}

    def keys_of(self, name: str) -> list[str]:
        """Return the key of a metric at each cut-off; without cut-offs, its only key in the first place."""
        keys = [name + k for k in self.tally.counts]
        metric = ALL_METRICS.get(name.partition("(")[0])
        return keys if metric is None or metric.has_cut_off else [name, *[""] * (len(keys) - 1)]

    def _kept(self, what: str) -> Detail:
        if self.detail is None:
            raise InvalidInputError(
                f"This result was streamed and kept no queries, so `{what}` is not available. "
                "Use `evaluate` for it, or pass callbacks to see each query as it is scored."
            )
        return self.detail


def _describe(result: EvaluationResult) -> str:
    """Return the values, what they leave out, what to look at next, and the signature."""
    lines = [f"EvaluationResult of {number_of(result.n_queries, 'query')}"]
    if result.detail is not None and result.detail.leaks is not None:
        leaks = result.leaks()
        lines.append(f"  {leaks.title}{': .leaks() lists them' if leaks.n_leaking else ''}")
    lines += _table(result)
    if result.no_answer.n_queries:
        without_gold = number_of(result.no_answer.n_queries, "query")
        lines.append(f"  {without_gold} without gold documents: left out of every value above")
    if result.n_unjudged:
        unjudged = number_of(result.n_unjudged, "query")
        lines.append(f"  {unjudged} with gold at the other level only (chunk or document): undefined, except doc_hit")
    if result.n_bad_rows:
        lines.append(f"  {number_of(result.n_bad_rows, 'bad row')} of the input: left out of every value above")
    if result.errors:
        first = one_line(next(iter(result.errors.values())))[:_LONGEST_ERROR]
        failed = number_of(len(result.errors), "failed retrieval")
        lines.append(f"  {failed}: counted as nothing retrieved. The first error: {first}")
    if (most := _most_retrieved(result)) is not None:
        lines.append(f"  no query has more than {most} retrieved documents: larger cut-offs add nothing")
    for side, count in result.unmatchable.items():
        if count:
            lines.append(f"  {number_of(count, 'document')} of `{side}` without what the method reads: never matched")
    if result.groups is not None:
        lines.append(f"  {number_of(len(result.groups), 'group')} by {', '.join(result.groups.by)}: .groups has them")
    missing = result.missed
    if missing:
        lines.append(f"  {missing}: .misses() lists them")
    return "\n".join([*lines, f"  {result.signature}"])


def _most_retrieved(result: EvaluationResult) -> int | None:
    """Return how many documents the retriever returns at most, where a cut-off is larger; else None.

    Lists of different lengths, as behind a filter, say nothing about it, and neither do a few queries.
    """
    cut_offs = [int(k[1:]) for k in result.tally.counts if k[1:].isdecimal()]
    if result.detail is None or not cut_offs:
        return None
    found = result.detail.judged.n_retrieved[result.detail.judged.n_retrieved > 0]
    if len(found) < _ENOUGH_QUERIES or found.min() < found.max() or found.max() >= max(cut_offs):
        return None
    return int(found.max())


_LONGEST_ERROR = 200
_ENOUGH_QUERIES = 5


def _table(result: EvaluationResult) -> Iterator[str]:
    """Return one row per metric, one column per cut-off."""
    rows = result.cells()
    width = max(map(len, rows))
    yield " ".join([" " * (width + 2), *(f"{k or 'all':>8}" for k in result.tally.counts)])
    for name, cells in rows.items():
        yield " ".join([f"  {name:<{width}}", *(f"{cell:>8}" for cell in cells)]).rstrip()


def safe_name(key: str) -> str:
    """Return the key of a value as a name that MLflow and SQL take as it is: `recall_at_5` for `recall@5`."""
    return re.sub(r"[^\w.-]", "_", key.replace("@", "_at_"))


@dataclass(frozen=True, slots=True, repr=False)
class QueryResult(ShortRepr):
    """One query's values.

    Attributes:
        index: Its place in the input, from 0.
        id: Its id, where ids were given.
        query: Its text, where texts were given.
        values: Key to value; None where a value is undefined.
        n_gold: Gold documents, repeats merged and those of grade 0 left out.
        n_retrieved: Documents retrieved.
        error: What the retriever raised, if it did.
    """

    index: int
    id: str | None
    query: str | None
    values: Mapping[str, float | None]
    n_gold: int
    n_retrieved: int
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dict."""
        row: dict[str, Any] = {"index": self.index, "id": self.id, "query": self.query}
        row |= {"n_gold": self.n_gold, "n_retrieved": self.n_retrieved, "error": self.error}
        return row | dict(self.values)


class PerQuery(Sequence[QueryResult]):
    """The rows of a result, made when they are looked at."""

    def __init__(self, size: int, make: Callable[[int], QueryResult]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, PerQuery) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # its rows hold mappings

    @overload
    def __getitem__(self, index: int) -> QueryResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[QueryResult]: ...
    def __getitem__(self, index: int | slice) -> QueryResult | list[QueryResult]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"query {index} of {len(self)}")
        return self._make(index % len(self))
