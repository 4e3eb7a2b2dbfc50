"""Score queries whose documents are columns, into states that merge in any order to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.columns import Side
from krag_eval.documents.readers import names_in
from krag_eval.evaluation.intervals import with_intervals
from krag_eval.evaluation.pipeline import (
    Judged,
    MetricFunction,
    choose_metrics,
    columns_of,
    judged_of,
    rules_if_any,
    signature_of,
    values_of,
    with_needs,
)
from krag_eval.evaluation.results import EvaluationResult, safe_name
from krag_eval.matching import find_matches
from krag_eval.matching.column_batch import ColumnBatch, KnownTexts
from krag_eval.matching.matchability import DocumentCounts, SpellingWatch, unmatchable_of
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.metrics.aggregation import Distributions, Outcomes, Summary, Tally, key_of
from krag_eval.metrics.cut_offs import Ranks, TokenBudget, ranks_within

_NONE = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of some queries.

    Attributes:
        judged: What was matched and judged.
        ranks: Each cut-off as ranks.
        values: The values of each key, NaN where one is undefined.
    """

    judged: Judged
    ranks: Ranks
    values: Mapping[str, FloatArray]

    def columns(self) -> list[IntArray | FloatArray]:
        """Return how many gold documents each query has, how many were retrieved, and the values of each key."""
        return [self.judged.judgments.n_gold, self.judged.judgments.n_retrieved, *self.values.values()]


@dataclass(slots=True, kw_only=True)
class ColumnState:
    """The sums of some queries, from which all aggregates are computed.

    They are integers, so that states merge by addition, in any order, to the same bits.

    Attributes:
        signature: Every setting that can change a number; only states with the same signature merge.
        tally: The sums of the means and the micro values.
        spread: The sums of the intervals.
        supply: How many documents have what the methods read.
        has_needs: Whether a need had several alternatives, which the signature of the result says then.
    """

    signature: str
    tally: Tally
    spread: Distributions
    supply: DocumentCounts = field(default_factory=DocumentCounts.empty)
    has_needs: bool = False

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.tally.n_queries

    def add(self, measured: Measured) -> None:
        """Add some queries."""
        judged = measured.judged
        counted = judged.judgments, measured.values, measured.ranks, judged.batch.settings.precision_denominator
        self.tally.add(*counted)
        self.spread.add(*counted)
        self.has_needs |= judged.batch.actual.needs is not None
        self.supply.merge(judged.document_counts)

    def merge_sums(self, other: ColumnState) -> None:
        """Add the sums of other queries.

        Raises:
            InvalidInputError: They were made with other settings, or by another version.
        """
        if other.signature != self.signature:
            raise InvalidInputError(
                f"States of different settings do not merge: {self.signature} and {other.signature}. "
                "Score all batches with the same settings and the same version."
            )
        self.tally.merge(other.tally)
        self.spread.merge(other.spread)
        self.supply.merge(other.supply)
        self.has_needs |= other.has_needs

    def sums_to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON can hold them."""
        stored = {
            "signature": self.signature,
            "tally": self.tally.to_dict(),
            "spread": self.spread.to_dict(),
            "supply": self.supply.to_dict(),
        }
        return {**stored, "has_needs": True} if self.has_needs else stored

    @staticmethod
    def sums_from_dict(record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the sums that `sums_to_dict` wrote.

        Raises:
            InvalidInputError: They are something else.
        """
        return {
            "signature": str(record["signature"]),
            "tally": Tally.from_dict(record["tally"]),
            "spread": Distributions.from_dict(record["spread"]),
            "supply": DocumentCounts.from_dict(record["supply"]),
            "has_needs": record.get("has_needs") is True,
        }


class ColumnScorer:
    """Scores batches of queries whose documents are columns; it keeps no scores.

    It keeps up to 64 MB of texts, so that a text of several batches is normalized and cut into tokens once.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        **settings: The scoring settings that `evaluate` takes.

    Attributes:
        settings: The settings, read.
        keys: The keys of each query's values, such as `recall@5`.
        signature: Every setting that can change a number, in one line.
        outcomes: The layout of all that a query adds to aggregates.
        reads_rules: Whether a metric reads what must not be retrieved.
        reads_fields: Whether a metric may read any field of a document.
        reads_texts: Whether a method or a cut-off reads texts.

    Raises:
        InvalidInputError: A setting cannot be used.
        UnknownMetricError: A metric does not exist.
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None,
        metrics: str | Sequence[str | MetricFunction] | None,
        **settings: Unpack[ScoringSettings],
    ) -> None:
        self.settings = make_settings(**settings)
        self.settings.check_excluding()
        self._cut_offs, chosen = choose_metrics(metrics, self.settings, k)
        self._columns = columns_of(chosen, self._cut_offs)
        self.keys = tuple(self._columns)
        self.signature = signature_of(self.settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self.outcomes = Outcomes(self.keys, tuple(key_of("", one) for one in self._cut_offs))
        self.reads_rules = any(metric.reads_leaks for metric in chosen.values())
        self.reads_fields = self.reads_rules or any(metric.reads_documents for metric in chosen.values())
        self.reads_texts = self.settings.uses_texts or any(isinstance(one, TokenBudget) for one in self._cut_offs)
        self._known: list[KnownTexts] = []

    def names_of_values(self, names: str) -> list[str]:
        """Return a name for each of `keys`: the key itself if `names` is "plain", `recall_at_5` if it is "safe"."""
        is_safe = one_of("names", names, ("plain", "safe")) == "safe"
        return [safe_name(key) if is_safe else key for key in self.keys]

    @property
    def id_fields(self) -> set[str]:
        """The names of the fields of documents in which `id_key` may look; empty without one."""
        return set() if self.settings.id_key is None else names_in(self.settings.id_key)

    def measure(
        self,
        batch: ColumnBatch,
        query_ids: Sequence[str] | None,
        must_not: Sequence[Any] | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> Measured:
        """Match and judge a batch, and compute the values of its queries.

        Args:
            batch: The queries.
            query_ids: Their ids, if `exclude_self` reads them.
            must_not: The documents of each query that must not be retrieved, as `evaluate` takes them.
            allowed: What whoever asks may see, for each query, as `evaluate` takes it.

        Raises:
            InvalidInputError: A document cannot be used, or a metric returned something else than numbers.
        """
        try:
            known = self._known.pop()  # no two threads get the same
        except IndexError:
            known = KnownTexts()
        batch.know(known)
        rules = rules_if_any(must_not, allowed, [()] * len(batch), self.settings)
        judged = judged_of(batch, find_matches(batch), query_ids, rules)
        ranks = ranks_within(self._cut_offs, batch)
        values = values_of(judged, self._columns, ranks)
        if not known.is_full:
            self._known[:] = [known]
        return Measured(judged, ranks, values)

    def outcomes_of(self, measured: Measured) -> IntArray:
        """Return all that each query adds to aggregates, a column each; see `Outcomes`."""
        judged = measured.judged
        lacking = judged.document_counts.unmatchable

        def unmatchable(side: Side) -> IntArray:
            return unmatchable_of(side, judged.batch) if lacking[side.name] else _NONE

        return self.outcomes.of(
            judged.judgments,
            measured.values,
            measured.ranks,
            self.settings.precision_denominator,
            [unmatchable(judged.batch.actual), unmatchable(judged.batch.predicted)],
        )

    def sums(self) -> dict[str, Any]:
        """Return the fields of an empty state."""
        tally, spread = Tally.of(self.keys, self._cut_offs), Distributions.of(self.keys, self._cut_offs)
        return {"signature": self.signature, "tally": tally, "spread": spread}

    def signature_for(self, state: ColumnState) -> str:
        """Return the signature of the result of a state.

        Raises:
            InvalidInputError: No document of one side has what the methods read, so that nothing could match.
        """
        state.supply.check(self.settings)
        return with_needs(self.signature, has_needs=state.has_needs)

    def look_again(self, state: ColumnState, read: Callable[[], ColumnBatch]) -> None:
        """If gold has no match, tell of ids that are only spelled differently, or keep what would match for a warning.

        Args:
            state: The state of all queries.
            read: Returns some of them; it is called only if needed.
        """
        supply = state.supply
        if self.settings.uses_ids and 0 < supply.matched < supply.sides["actual"].documents:
            batch, spelling = read(), SpellingWatch()
            spelling.add(batch, find_matches(batch))
            spelling.warn(self.settings)
        elif not supply.matched and supply.compared:
            supply.sample_from(read())


def result_of(
    sums: ColumnState | Summary, signature: str, intervals: bool | float, *, has_spread: bool = True, **more: Any
) -> EvaluationResult:
    """Return the result of sums, without `per_query` and `explain`.

    Args:
        sums: The sums of some queries.
        signature: The settings behind them.
        intervals: Whether every value gets an interval, or the confidence of these.
        has_spread: Whether the result can have intervals later.
        **more: Other fields of the result.

    Raises:
        MissingDependencyError: `intervals` needs scipy, which is not installed.
    """
    unmatchable = sums.unmatchable if isinstance(sums, Summary) else sums.supply.unmatchable
    spread = sums.spread if has_spread else None
    result = EvaluationResult(signature, sums.tally, unmatchable, {}, None, spread=spread, **more)
    return result if intervals is False else with_intervals(result, intervals)
