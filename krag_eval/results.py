"""What comes out of an evaluation: numbers by key, rows by query, and the signature of it all."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from krag_eval.aggregate import NoAnswerState, Tally
from krag_eval.checks import one_of
from krag_eval.columns import FloatArray
from krag_eval.errors import InvalidInputError, MissingDependencyError, UnknownMetricError, did_you_mean
from krag_eval.explanation import Explanation, explain
from krag_eval.query_results import PerQuery, QueryResult

if TYPE_CHECKING:
    import pandas as pd

    from krag_eval.judgments import Judgments
    from krag_eval.matching import Batch, Matches

MICRO = ("recall", "precision", "f1")
_OF_NO_ANSWER = ("n_queries", "empty_share", "mean_retrieved")


@dataclass(frozen=True, slots=True)
class Detail:
    """What a result keeps of every query.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judged: Who earned what.
        values: Key to the values of all queries, NaN where undefined; shape (n_queries,).
        queries: The texts of the queries, where given.
        query_ids: The ids of the queries, where given.
    """

    batch: Batch
    matches: Matches
    judged: Judgments
    values: Mapping[str, FloatArray]
    queries: Sequence[str] | None
    query_ids: Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult:
    """The outcome of an evaluation: `result["recall@5"]`, `result["micro_recall@5"]`; a bare name is the macro mean.

    Attributes:
        signature: Every setting that can change a number, in one line.
        tally: The aggregates, as states that merge exactly with those of other queries.
        unmatchable: For each side, how many documents lack what the method reads; they never match.
        errors: For queries whose retriever raised, what it said; they count as nothing retrieved.
        detail: What was kept of every query; None after a streamed evaluation.
        callback_errors: What callbacks raised.
        intervals: The interval of every value by key, None where that is undefined; None where none were asked for.
    """

    signature: str
    tally: Tally
    unmatchable: Mapping[str, int]
    errors: Mapping[int, str]
    detail: Detail | None
    callback_errors: list[str] = field(default_factory=list)
    intervals: Mapping[str, tuple[float, float] | None] | None = None

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
        """Every key: for each metric and cut-off the mean, and the micro value where there is one."""
        return [key for mean in self.tally.means for key in (mean, f"micro_{mean}") if key == mean or _micro_name(mean)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key.removeprefix("macro_") in self.tally.means or key in self.keys())

    def __getitem__(self, key: str) -> float | None:
        """The value of a key, None where it is undefined for every query.

        Raises:
            UnknownMetricError: There is no such key.
        """
        mean = str(key).removeprefix("macro_")
        if mean in self.tally.means:
            return self.tally.means[mean].mean
        micro = str(key).removeprefix("micro_")
        if micro != key and micro in self.tally.means and (name := _micro_name(micro)):
            value: float | None = getattr(self.tally.counts[micro[len(name) :]], name)
            return value
        known = self.keys()
        raise UnknownMetricError(
            f"The result has no value {key!r}.{did_you_mean(key, known)} It has: {', '.join(known)}."
        )

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
        """The values of query `index`."""
        kept = self._kept("per_query")
        values = {key: column.item(index) for key, column in kept.values.items()}
        return QueryResult(
            index=index,
            id=kept.query_ids[index] if kept.query_ids is not None else None,
            query=kept.queries[index] if kept.queries is not None else None,
            values={key: None if math.isnan(value) else value for key, value in values.items()},
            n_gold=int(kept.judged.n_gold[index]),
            n_retrieved=int(kept.judged.n_retrieved[index]),
            error=self.errors.get(index),
        )

    def explain(self, index: int) -> Explanation:
        """Which gold documents of query `index` were found at which rank, by what, and what each rank earned.

        Raises:
            InvalidInputError: There is no such query, or the result was streamed and kept no documents.
        """
        kept = self._kept("explain")
        if not hasattr(index, "__index__") or not -self.n_queries <= operator.index(index) < self.n_queries:
            raise InvalidInputError(
                f"There is no query {index!r}: this result has queries 0 to {self.n_queries - 1}. Give such a number."
            )
        index = operator.index(index) % self.n_queries
        name = kept.queries if kept.queries is not None else kept.query_ids
        return explain(kept.batch, kept.matches, kept.judged, index, name[index] if name is not None else None)

    @overload
    def to_dict(self) -> dict[str, float | None]: ...
    @overload
    def to_dict(self, *, names: Literal["safe"]) -> dict[str, float]: ...
    def to_dict(self, *, names: str = "plain") -> dict[str, Any]:
        """Every key with its value, None where undefined; `names="safe"` gives MLflow `recall_at_5` and no None."""
        values = {key: self[key] for key in self.keys()}
        if one_of("names", names, ("plain", "safe")) == "plain":
            return values
        return {re.sub(r"[^\w.-]", "_", k.replace("@", "_at_")): v for k, v in values.items() if v is not None}

    def to_json(self, *, indent: int | None = 2) -> str:
        """All values, what they leave out, and the signature, as JSON."""
        import json

        text = json.dumps(
            {
                "signature": self.signature,
                "n_queries": self.n_queries,
                "metrics": self.to_dict(),
                "undefined": self.undefined,
                "no_answer": {name: getattr(self.no_answer, name) for name in _OF_NO_ANSWER},
                "unjudged": self.n_unjudged,
                "unmatchable": dict(self.unmatchable),
                "errors": {str(index): message for index, message in self.errors.items()},
                **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
            },
            indent=indent,
            ensure_ascii=False,
        )
        # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def to_pandas(self) -> pd.DataFrame:
        """One row a query, one column a key; NaN where a value is undefined. Needs pandas."""
        try:
            import pandas as pd
        except ImportError as error:
            if error.name != "pandas":
                raise
            raise MissingDependencyError("result.to_pandas()", "pandas", "pandas") from error
        frame = pd.DataFrame([row.to_dict() for row in self.per_query]).set_index("index")
        return frame.astype(dict.fromkeys(self.tally.means, "float64"))

    def __repr__(self) -> str:
        lines = [f"EvaluationResult of {self.n_queries} queries", *self._table()]
        if self.no_answer.n_queries:
            lines.append(f"  {self.no_answer.n_queries} queries have no gold document: left out of every value above")
        if self.n_unjudged:
            lines.append(f"  {self.n_unjudged} queries have gold at the other level only: undefined, but for doc_hit")
        if self.errors:
            lines.append(f"  {len(self.errors)} retrievals raised: counted as nothing retrieved")
        for side, count in self.unmatchable.items():
            if count:
                lines.append(f"  {count} documents of `{side}` lack what the method reads: they never match")
        return "\n".join([*lines, f"  {self.signature}"])

    def _table(self) -> Iterator[str]:
        """One row a metric, one column a cut-off."""
        rows = self.cells()
        width = max(map(len, rows))
        yield " ".join([" " * (width + 2), *(f"{k or 'all':>8}" for k in self.tally.counts)])
        for name, cells in rows.items():
            yield " ".join([f"  {name:<{width}}", *(f"{cell:>8}" for cell in cells)]).rstrip()

    def cells(self) -> dict[str, list[str]]:
        """For each metric its values for people, one a cut-off; what has no cut-off stands in the first place."""
        first, *others = self.tally.counts
        names = dict.fromkeys(key.partition("@")[0] for key in self.keys())
        return {
            name: [format_value(self[name + k]) for k in self.tally.counts]
            if name + first in self
            else [format_value(self[name]), *([""] * len(others))]
            for name in names
        }

    def _kept(self, what: str) -> Detail:
        if self.detail is None:
            raise InvalidInputError(
                f"This result was streamed and kept no queries, so `{what}` is not available. "
                "Use `evaluate` for it, or pass callbacks to see each query as it is scored."
            )
        return self.detail


def _micro_name(mean: str) -> str | None:
    """The metric of a mean's key, if it also has a micro value."""
    name = mean.partition("@")[0]
    return name if name in MICRO else None


def format_value(value: float | None, digits: int = 4) -> str:
    """A value for people: fixed digits, a dash where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"
