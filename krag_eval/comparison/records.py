"""What a comparison consists of: rows with verdicts, and what became of gold documents."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from krag_eval.wrong_names import TellsAttributes


class Outcome(StrEnum):
    """What a row comes to; `ComparisonRow.verdict` says it in words."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow(TellsAttributes):
    """One metric of one system against the baseline, over all queries or those of a slice.

    Attributes:
        system: The system.
        key: The metric and its cut-off, such as `recall@5`.
        field: What the slice is made by; None over all queries.
        value: The value that the queries of the slice have there; None where they have none.
        n: Queries compared.
        n_left_out: Queries left out because the value of one of the two is undefined.
        baseline_mean: The mean of the baseline over these n; None where n is 0, as every number below.
        mean: The mean of the system over these n.
        difference: The mean difference, system minus baseline.
        low: The lower end of its interval.
        high: The upper end.
        p: The randomisation test's p-value, two-sided.
        p_holm: The same adjusted for all tests made together: those over all queries, or in all slices by one field.
        n_tests: How many tests these are. Metrics whose differences are multiples of each other, such as hit rate and
            recall where every query has one gold document, are one test.
        is_exact: Whether the p-value is exact, not from random draws.
        wins: Queries on which the system is better.
        ties: Queries on which both are equal.
        losses: Queries on which the system is worse.
        lower_is_better: Whether less of the metric is better, as of redundancy.
        resolvable: The smallest true difference that one test on n such queries finds four times in five; None where
            all differences are equal and say nothing about that, and where n is too small for any to be significant.
        confidence: The confidence of the interval; 1 minus it is the level of the test.
        margin: The smallest difference that matters.
    """

    system: str
    key: str
    field: str | None = None
    value: str | None = None
    n: int
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
    def gain(self) -> float | None:
        """The difference, with its sign turned where less is better: below 0 the system is worse."""
        return self.difference if self.difference is None or not self.lower_is_better else -self.difference

    @property
    def gain_at_most(self) -> float | None:
        """The best end of the interval for the system, as a gain: below 0 it has surely lost."""
        return self.high if self.low is None or not self.lower_is_better else -self.low

    @property
    def outcome(self) -> Outcome:
        """Better or worse where the test says so, the same within the margin where the interval does, else unresolved.

        A difference may be both significant and within the margin: it is then called better or worse, and
        `is_within_margin` says that it does not matter.
        """
        if self.is_significant and self.gain:
            return Outcome.BETTER if self.gain > 0 else Outcome.WORSE
        return Outcome.SAME if self.is_within_margin else Outcome.UNRESOLVED

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `no difference larger than d` or `cannot be resolved with n queries`."""
        if self.outcome is Outcome.SAME:
            return f"no difference larger than {self.margin:g}"
        if self.outcome is Outcome.UNRESOLVED:
            return f"cannot be resolved with {self.n} {'query' if self.n == 1 else 'queries'}"
        return str(self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """The row as one flat dict, outcome and verdict included."""
        row = dataclasses.asdict(self)
        return row | {"outcome": str(self.outcome), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Transition:
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
        """The transition as one flat dict."""
        return {**dataclasses.asdict(self), "query_ids": list(self.query_ids)}
