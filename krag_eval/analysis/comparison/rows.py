"""What a comparison finds: rows with verdicts, and what became of gold documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from krag_eval._utils.errors import UnknownMetricError, did_you_mean
from krag_eval._utils.formatting import UNDEFINED, format_mean, format_p, number_of
from krag_eval._utils.objects import ComparedByFields, ShortRepr
from krag_eval._utils.said import said
from krag_eval._utils.serialization import json_text, plain_fields
from krag_eval.evaluation.causes import FOUND
from krag_eval.metrics.names import as_key
from krag_eval.statistics.significance import letters

if TYPE_CHECKING:
    from krag_eval.datasets import EvalSet
    from krag_eval.evaluation.diagnosis import Diagnosis
    from krag_eval.evaluation.results import EvaluationResult


class Outcome(StrEnum):
    """What a row comes to; `ComparisonRow.verdict` says it in words."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparisonRow(ShortRepr):
    """One metric of one system against the baseline, over all queries or those of a slice.

    Attributes:
        system: The system.
        baseline: The system that it is compared with.
        key: The metric and its cut-off, such as `recall@5`.
        field: What the slice is made by; None over all queries.
        value: The value that the queries of the slice have there; None where they have none.
        n: Queries compared.
        n_clusters: Clusters of these queries; None where each query stands alone.
        n_left_out: Queries left out because the value of one of the two is undefined.
        baseline_mean: The mean of the baseline over these n; None where n is 0, as every number below.
        mean: The mean of the system over these n.
        difference: The mean difference, system minus baseline.
        low: The lower end of its interval.
        high: The upper end.
        p: The randomisation test's p-value, two-sided.
        p_holm: The same adjusted for all tests made together: those over all queries, or in all slices by one field.
            By Holm's method, or, if all pairs are compared, by the randomised Tukey HSD test.
        n_tests: How many tests these are. Metrics whose differences are multiples of each other, such as hit rate and
            recall where every query has one gold document, are one test.
        is_exact: Whether the p-value is exact, not from random draws.
        wins: Queries on which the system is better.
        ties: Queries on which both are equal.
        losses: Queries on which the system is worse.
        lower_is_better: Whether less of the metric is better, as of redundancy.
        resolvable: The smallest true difference that one test on n such queries finds four times in five; None where
            all differences are equal and say nothing about that, and where n is too small for any to be significant.
        effect_size: The mean difference in standard deviations of the differences: Hedges' g of paired values. None
            where no two differences differ.
        run_deviation: The standard deviation of the mean between runs of one system; None if each was run once.
        confidence: The confidence of the interval; 1 minus it is the level of the test.
        margin: The smallest difference that matters.
    """

    system: str
    baseline: str = ""
    key: str
    field: str | None = None
    value: str | None = None
    n: int
    n_clusters: int | None = None
    n_left_out: int
    baseline_mean: float | None = None
    mean: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    n_tests: int = 0
    is_exact: bool = True
    wins: int = 0
    ties: int = 0
    losses: int = 0
    lower_is_better: bool = False
    resolvable: float | None = None
    effect_size: float | None = None
    run_deviation: float | None = None
    confidence: float
    margin: float

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is at most 1 - confidence."""
        # 1 - 0.9 is a little less than 0.1: without room for the last bit, 0.1 itself would be left out.
        return self.p_holm is not None and self.p_holm <= 1 - self.confidence + 1e-12

    @property
    def is_within_margin(self) -> bool:
        """Whether the whole interval lies within the margin: whatever the difference is, it does not matter."""
        if self.low is None or self.high is None:
            return False
        return -self.margin <= self.low and self.high <= self.margin

    @property
    def excludes_0(self) -> bool:
        """Whether the whole interval lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def gain(self) -> float | None:
        """The difference, with its sign turned where less is better: below 0 the system is worse."""
        return self.difference if self.difference is None or not self.lower_is_better else -self.difference

    @property
    def gain_at_most(self) -> float | None:
        """The best end of the interval for the system, as a gain: below 0 it has surely lost."""
        return self.high if self.low is None or not self.lower_is_better else -self.low

    @property
    def outcome(self) -> Outcome:
        """Better or worse where test and interval say so, the same within the margin where the interval does.

        Anything else is unresolved, also a significant difference whose interval includes 0. A difference may be both
        significant and within the margin: it is then called better or worse, and `is_within_margin` says that it does
        not matter.
        """
        if self.is_significant and self.excludes_0 and self.gain:
            return Outcome.BETTER if self.gain > 0 else Outcome.WORSE
        return Outcome.SAME if self.is_within_margin else Outcome.UNRESOLVED

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `no difference larger than d` or `cannot be resolved with n queries`."""
        if self.outcome is Outcome.SAME:
            return said("no-difference", "no difference larger than {margin}", margin=f"{self.margin:g}")
        if self.outcome is Outcome.UNRESOLVED:
            queries = number_of(self.n, "query")
            if self.n_clusters is None:
                return said("unresolved", "cannot be resolved with {queries}", queries=queries)
            clusters = number_of(self.n_clusters, "cluster")
            words = "cannot be resolved with {queries} in {clusters}"
            return said("unresolved-in-clusters", words, queries=queries, clusters=clusters)
        return said(f"outcome-{self.outcome}", str(self.outcome))

    @property
    def reason(self) -> str | None:
        """Why the row is unresolved although its interval excludes 0, or its p-value alone would do; else None."""
        if self.outcome is not Outcome.UNRESOLVED or self.p is None:
            return None
        is_significant_alone = self.p <= 1 - self.confidence
        if not self.excludes_0 and not is_significant_alone:
            return None
        p = said("reason-p", "p is {p}", p=format_p(self.p))
        if self.is_significant:
            return said("reason-includes-0", "{p}, but its interval includes 0", p=p)
        if is_significant_alone:
            words, adjusted = "{p} alone and {adjusted} after correction for {n} tests", format_p(self.p_holm)
            p = said("reason-corrected", words, p=p, adjusted=adjusted, n=self.n_tests)
        return said("reason-excludes-0", "its interval excludes 0, but {p}", p=p) if self.excludes_0 else p

    @property
    def remark(self) -> str:
        """What to add to the verdict in parentheses; an empty string if nothing."""
        if self.reason is not None:
            return self.reason
        if self.outcome is Outcome.UNRESOLVED and self.resolvable is not None:
            return said("could-be", "{size} could be", size=f"{self.resolvable:.2g}")
        if self.outcome in (Outcome.BETTER, Outcome.WORSE) and self.is_within_margin:
            return said("by-less-than", "by less than {margin}", margin=f"{self.margin:g}")
        return ""

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers as people read them: both means, difference, interval, p-value, queries won, tied and lost."""
        ends = None if self.low is None else tuple(format_mean(end, "+") for end in (self.low, self.high))
        return {
            "baseline": format_mean(self.baseline_mean),
            "mean": format_mean(self.mean),
            "difference": format_mean(self.difference, "+"),
            "interval": UNDEFINED if ends is None else said("interval", "{low} to {high}", low=ends[0], high=ends[1]),
            "p_holm": format_p(self.p_holm),
            "won_tied_lost": f"{self.wins}/{self.ties}/{self.losses}",
            "effect_size": UNDEFINED if self.effect_size is None else f"{self.effect_size:+.2f}",
        }

    def is_decided(self, outcome: Outcome, n_families: int = 1) -> bool:
        """Return whether the row is better, or worse, by its verdict: whatever names one of several asks here.

        Args:
            outcome: What is to be said: better or worse.
            n_families: Into how many families, each with its own correction, the tests of all rows that are looked at
                are divided: together they have one error, by Bonferroni's inequality.
        """
        return self.outcome is outcome and (self.p_holm or 0.0) * n_families <= 1 - self.confidence + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dict, with outcome, verdict and reason."""
        row = dataclasses.asdict(self)
        return row | {"outcome": str(self.outcome), "verdict": self.verdict, "reason": self.reason}


@dataclass(frozen=True, slots=True, repr=False)
class Transition(ShortRepr):
    """Gold documents that went from one state to another, between the baseline and a system.

    Attributes:
        system: The system.
        before: What they were at the baseline: `"found"` or a cause as in `diagnose`.
        after: What they are at the system.
        count: How many.
        query_ids: The ids of their queries, each once, or their numbers from 0 where there are no ids; empty where
            nothing changed.
    """

    system: str
    before: str
    after: str
    count: int
    query_ids: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the transition as one flat dict."""
        return {**dataclasses.asdict(self), "query_ids": list(self.query_ids)}


# Not part of the outcome, but what a report shows beside it.
_KEPT = ("results", "diagnoses", "evalset")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Compared(ComparedByFields):
    """What a `Comparison` holds, and how it is looked up; text and tables are made from it.

    `Comparison` says what each attribute is.
    """

    signature: str
    baseline: str
    systems: tuple[str, ...]
    keys: tuple[str, ...]
    n_queries: int
    n_bootstrap: int
    n_randomisation: int
    confidence: float
    margin: float
    seed: int
    rows: tuple[ComparisonRow, ...]
    pairs: tuple[ComparisonRow, ...] = ()
    n_clusters: int | None = None
    slices: tuple[ComparisonRow, ...]
    transitions: tuple[Transition, ...]
    errors: Mapping[str, int]
    results: Mapping[str, EvaluationResult]
    diagnoses: Mapping[str, Diagnosis]
    evalset: EvalSet | None

    def __getitem__(self, system_and_key: tuple[str, str] | str) -> ComparisonRow:
        """Return the row of a system and a key such as `recall@5`, over all queries; of two systems, the key is enough.

        Raises:
            UnknownMetricError: There is no such row.
        """
        if isinstance(system_and_key, tuple):
            system_and_key = system_and_key[0], as_key(system_and_key[1])
        else:
            system_and_key = as_key(system_and_key)
        for row in self.rows:
            if system_and_key in ((row.system, row.key), row.key if len(self.systems) == 1 else None):
                return row
        system, key = system_and_key if isinstance(system_and_key, tuple) else ("", system_and_key)
        hint = did_you_mean(system, self.systems) if key in self.keys else did_you_mean(key, self.keys)
        raise UnknownMetricError(
            f"The comparison has no row {system_and_key!r:.120}.{hint} Ask for a system and a "
            f"key; systems: {', '.join(self.systems)}; keys: {', '.join(self.keys)}."
        )

    @property
    def letters(self) -> dict[str, dict[str, str]]:
        """For each key the letters of each system, the best first, if all pairs were compared.

        Two systems share a letter if, and only if, neither is better by the verdict of their row.
        """
        shown = {}
        for key in self.keys if self.pairs else ():
            rows = [row for row in self.pairs if row.key == key]
            means = {one: mean for row in rows for one, mean in self.means_of(row)}
            order = sorted(means, key=means.__getitem__, reverse=not rows[0].lower_is_better)
            differ = {frozenset((r.baseline, r.system)) for r in rows if r.outcome in (Outcome.BETTER, Outcome.WORSE)}
            shown[key] = letters(order, differ)
        return shown

    @staticmethod
    def means_of(row: ComparisonRow) -> tuple[tuple[str, float], tuple[str, float]]:
        """Return both systems of a row with their means."""
        return (row.baseline, row.baseline_mean or 0.0), (row.system, row.mean or 0.0)

    @property
    def rank(self) -> int | None:
        """The rank at which gold documents count as found, in `transitions` too; None for all ranks."""
        return self.diagnoses[self.baseline].k

    def changed(self, system: str, *, found: bool) -> tuple[int, list[str]]:
        """Return how many gold documents a system finds and the baseline misses, or the reverse, and their queries."""
        changes = [t for t in self.transitions if t.system == system and t.before != t.after]
        kept = [t for t in changes if (t.after if found else t.before) == FOUND]
        return sum(t.count for t in kept), list(dict.fromkeys(name for t in kept for name in t.query_ids))

    @property
    def worst_slices(self) -> dict[str, ComparisonRow]:
        """For each system the slice and metric where it lost most, of those that are decided; see `losing_slices`."""
        worst: dict[str, ComparisonRow] = {}
        for row in self.losing_slices():
            worst.setdefault(row.system, row)
        return worst

    @property
    def worst_slice(self) -> ComparisonRow | None:
        """The worst of `worst_slices` over all systems; None where no slice is decided to have lost."""
        return next(iter(self.losing_slices()), None)

    def losing_slices(self) -> list[ComparisonRow]:
        """Return each slice of which it is decided that it lost, at the metric where it lost most, the worst first.

        The family of the decision is all slices by all fields, so that a slice which is named here did not just have
        bad luck. The order is that of the loss that is certain, in units of the baseline's mean over all queries.
        """
        worst: dict[tuple[str, str | None, str | None], ComparisonRow] = {}
        n_fields = len({row.field for row in self.slices})
        for row in sorted((r for r in self.slices if r.is_decided(Outcome.WORSE, n_fields)), key=self._rank):
            worst.setdefault((row.system, row.field, row.value), row)
        return list(worst.values())

    def _rank(self, row: ComparisonRow) -> float:
        return (row.gain_at_most or 0.0) / (abs(self[row.system, row.key].baseline_mean or 0.0) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in _KEPT]
        return plain_fields(self, *names, "letters", "worst_slices")

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return everything as JSON."""
        return json_text(self.to_dict(), indent=indent)
