"""Draw questions of a log with known probabilities, and estimate means over the log's traffic from those labelled.

The unit of the design is the question: what is drawn is labelled as a whole, because hit rate, MRR and recall are no
sums over documents. The questions are drawn in one random order, so that each beginning of it is a sample by itself:
people may stop at any place, and a judge that went further is a first phase of which people's labels are the second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from krag_eval.toolkit import FloatArray, IntArray
from krag_eval_labels.estimation import Interval, inclusion_probabilities

# Strata with fewer labelled questions are estimated together; with fewer questions in all, a judge's weight is 0.
_FEWEST_OF_STRATUM, _FEWEST_FOR_JUDGE = 3, 8
# Of fewer differing questions, others may differ as much as none of them shows.
_FEW_DIFFER = 6.0
# A question that was not drawn may differ by this share of the largest difference.
_UNSEEN = 0.25


def order_of_draw(weight: FloatArray, stratum: IntArray, seed: int) -> IntArray:
    """Return all questions in the order in which they are drawn: each beginning is a stratified sample.

    Within a stratum this is sequential Poisson sampling: the first n are drawn with probabilities close to n times
    their share of the stratum's weight, at most 1. Strata take turns in proportion to their weight.

    Args:
        weight: The rows of the log that each question stands for, shape (n,), above 0.
        stratum: The number of each question's stratum, shape (n,).
        seed: Of the draw.

    Source: Ohlsson (1998), Sequential Poisson sampling, Journal of Official Statistics 14(2).
    """
    random = np.random.Generator(np.random.PCG64(seed))
    own = random.random(len(weight)) / weight
    turn = np.empty(len(weight))
    for one in np.unique(stratum).tolist():
        members = np.flatnonzero(stratum == one)
        members = members[np.argsort(own[members], kind="stable")]
        turn[members] = (np.arange(len(members)) + random.random()) / weight[members].sum()
    return np.argsort(turn, kind="stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficMean:
    """The estimated mean of a value over the rows of the log.

    Attributes:
        value: The estimate; None if it is defined for no labelled question.
        interval: Its interval.
        n: Labelled questions for which it is defined.
        n_undefined: Labelled questions for which it is not.
        judge_alone: The value by the judge's labels alone; None without a judge.
        judge_weight: The weight of the judge's labels; 0 ignores them.
        savings: How many times as many questions people would have to label for the same interval without the judge.
    """

    value: float | None
    interval: Interval | None
    n: int
    n_undefined: int = 0
    judge_alone: float | None = None
    judge_weight: float = 0.0
    savings: float = 1.0

    @property
    def width(self) -> float:
        """How wide the interval is; infinite without one."""
        return math.inf if self.interval is None else self.interval[1] - self.interval[0]


@dataclass(frozen=True, slots=True)
class Design:
    """The questions of a log: how many rows each stands for, and its stratum; both of shape (n,)."""

    weight: FloatArray
    stratum: IntArray

    def mean(
        self,
        labelled: IntArray,
        values: FloatArray,
        judged: IntArray | None = None,
        judge: FloatArray | None = None,
        *,
        largest: float = 1.0,
        is_difference: bool = False,
        confidence: float = 0.95,
    ) -> TrafficMean:
        """Estimate the mean of a value over the rows of the log.

        Args:
            labelled: Which questions people labelled: a beginning of `order_of_draw`.
            values: Their values by people's labels, NaN where it is undefined.
            judged: Which questions the judge labelled: a longer beginning of the same order.
            judge: Their values by the judge's labels, NaN where undefined.
            largest: The largest possible value.
            is_difference: Whether the value is a difference, from minus `largest` to `largest`; else it begins at 0.
            confidence: Of the interval.

        Source: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, 9.7 (regression in two phases) and
        5.6 (ratios); Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453, for the weight of the judge; Korn &
        Graubard (1998), Survey Methodology 24(2), for intervals by an effective number of questions.
        """
        is_defined = ~np.isnan(values)
        n_defined = int(is_defined.sum())
        if not n_defined:
            return TrafficMean(value=None, interval=None, n=0, n_undefined=len(values))
        first = labelled if judged is None or judge is None else judged
        of_judge = np.zeros(len(first))
        share, second, drawn_first, cell = self._shares(labelled, first)
        u, p = share[labelled], second[labelled]
        again = p / drawn_first[labelled]  # the probability of the second phase, given the first
        mass = float(u @ is_defined)
        start = float(u @ np.where(is_defined, values, 0.0)) / mass
        residual = np.where(is_defined, values - start, 0.0) / mass
        alone = None
        if judge is not None and judged is not None:
            has_value = ~np.isnan(judge)
            of_judge = np.where(has_value, judge - start, 0.0) / mass
            u_first = self._first_shares(first, drawn_first, cell)
            if has_value.any():
                alone = float(u_first @ np.where(has_value, judge, 0.0)) / float(u_first @ has_value)
        order = {unit: i for i, unit in enumerate(first.tolist())}
        x = of_judge[[order[unit] for unit in labelled.tolist()]]
        own = cell[labelled]
        r, z, spread = residual.copy(), x.copy(), np.ones(len(u))
        for one in np.unique(own).tolist():
            same = own == one
            part = u[same] / u[same].sum()
            r[same] -= part @ residual[same]
            z[same] -= part @ x[same]
            spread[same] = same.sum() / max(same.sum() - 1, 1)
        noise = u * np.sqrt(np.maximum(1 - again, 0) * spread)
        moment = float((noise * z) @ (noise * z))
        weight, leverage = 0.0, np.zeros(len(u))
        if judge is not None and len(labelled) >= _FEWEST_FOR_JUDGE and moment > 1e-18:
            weight = float((noise * z) @ (noise * r)) / moment
            leverage = (noise * z) ** 2 / moment
            unexplained = float(((noise * (r - weight * z)) ** 2).sum()) / (len(u) - 2)
            if weight:  # a judge of whom little is seen to help gets less weight than fits the sample best
                weight *= max(1 - unexplained / (weight**2 * moment), 0.0)
            weight = min(max(weight, -1.0), 1.0)  # both are values of one metric
        shift = 0.0
        if weight:
            u_first = self._first_shares(first, drawn_first, cell)
            shift = float(u_first @ of_judge - u @ x)
        value = float(np.clip(start + weight * shift, -largest if is_difference else 0.0, largest))
        left = (r - weight * z) / np.maximum(1 - leverage, 1 / len(u))
        of_first = u * r * np.sqrt(np.maximum(again * (1 - drawn_first[labelled]), 0) * spread)
        terms = np.sign(left) * np.sqrt((noise * left) ** 2 + of_first**2)
        freedom = _freedom(terms, own) - bool(weight)
        # What is not sure to be drawn: its share of the traffic, its part of the value, its effective number.
        savings = 1.0
        open_, free = np.where(is_defined & (p < 1 - 1e-9), u, 0.0) / mass, 0.0
        if (total := float(open_.sum())) > 1e-12:
            free = float(open_ @ np.sqrt(np.maximum(1 - p, 0)))
            sure = (
                float(np.where(is_defined & (p >= 1 - 1e-9), u * np.where(is_defined, values, 0.0), 0.0).sum()) / mass
            )
            seen = float(np.abs(values[is_defined]).max()) if is_difference else largest
            differs = min(_UNSEEN * largest, seen or largest)
            one_more = float(open_**2 @ np.maximum(1 - p, 0)) / np.count_nonzero(open_) * differs**2
            blind = u * r * np.sqrt(np.maximum(1 - p, 0) * spread)
            left_open = min(float(terms @ terms) / max(float(blind @ blind), 1e-18), 1.0)
            part = _Part(sure, total, free, total**2 / float(open_ @ open_), one_more)
            rest = largest, seen or largest, is_difference, confidence
            interval = _interval(value, terms, freedom, replace(part, one_more=one_more * left_open), *rest)
            if weight and interval[1] > interval[0]:
                low, high = _interval(start, blind, _freedom(blind, own), part, *rest)
                savings = ((high - low) / (interval[1] - interval[0])) ** 2
        else:  # every question of the log is labelled
            interval = value, value
        return TrafficMean(
            value=value,
            interval=interval,
            n=n_defined,
            n_undefined=len(values) - n_defined,
            judge_alone=alone,
            judge_weight=round(weight, 9) + 0.0,
            savings=savings,
        )

    def shares(self, labelled: IntArray) -> FloatArray:
        """Return the share of the log's traffic that each labelled question stands for."""
        return np.asarray(self._shares(labelled, labelled)[0][labelled])

    def probabilities(self, labelled: IntArray, first: IntArray) -> FloatArray:
        """Return the probability with which each of `labelled` is drawn from `first`, a longer beginning."""
        _, second, once, _ = self._shares(labelled, first)
        return np.asarray(second[labelled] / once[labelled])

    def _shares(self, labelled: IntArray, first: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Return each question's share of the estimate, its probabilities in both phases, and its cell.

        A cell is a stratum, or those strata together of which too few questions are labelled.
        """
        n_strata = int(self.stratum.max()) + 1
        counts = np.bincount(self.stratum[labelled], minlength=n_strata)
        there = np.bincount(self.stratum, minlength=n_strata)
        is_own = (counts >= _FEWEST_OF_STRATUM) | ((counts == there) & (there > 0))
        of_rest = counts[~is_own].sum()
        if not is_own.all() and of_rest < min(_FEWEST_OF_STRATUM, there[~is_own].sum()) and is_own.any():
            smallest = int(np.flatnonzero(is_own)[np.argmin(counts[is_own])])
            is_own[smallest] = False
        cell = np.where(is_own[self.stratum], self.stratum, n_strata)
        share, second, once = np.zeros(len(self.weight)), np.zeros(len(self.weight)), np.ones(len(self.weight))
        for one in np.unique(cell).tolist():
            members = np.flatnonzero(cell == one)
            drawn = labelled[cell[labelled] == one]
            second[members] = inclusion_probabilities(self.weight[members], len(drawn))
            once[members] = inclusion_probabilities(self.weight[members], int((cell[first] == one).sum()))
            expanded = self.weight[drawn] / second[drawn]
            share[drawn] = expanded / expanded.sum() * self.weight[members].sum() / self.weight.sum()
        return share / share.sum(), second, once, cell

    def _first_shares(self, first: IntArray, once: FloatArray, cell: IntArray) -> FloatArray:
        shares = np.zeros(len(first))
        for one in np.unique(cell).tolist():
            same = cell[first] == one
            expanded = self.weight[first[same]] / once[first[same]]
            shares[same] = expanded / expanded.sum() * self.weight[cell == one].sum() if same.any() else 0.0
        return np.asarray(shares / shares.sum())


def _freedom(terms: FloatArray, cell: IntArray) -> float:
    """Return the degrees of freedom of a variance that is a sum over cells.

    Source: Satterthwaite (1946), Biometrics Bulletin 2(6).
    """
    cells, own, sizes = np.unique(cell, return_inverse=True, return_counts=True)
    of_cells = np.bincount(own, terms**2)
    most = float(len(terms) - len(cells))
    if not of_cells.any():
        return most
    return min(most, float(of_cells.sum() ** 2 / (of_cells**2 / np.maximum(sizes - 1, 1)).sum()))


@dataclass(frozen=True, slots=True)
class _Part:
    """The questions that are not sure to be drawn.

    Attributes:
        sure: What the others add to the mean.
        share: Their share of the traffic.
        unseen: The same without what the finite log leaves open.
        n: How many equally large ones they are worth.
        one_more: The variance that one more of them would add, with that share of the largest difference.
    """

    sure: float
    share: float
    unseen: float
    n: float
    one_more: float


def _interval(
    value: float,
    terms: FloatArray,
    freedom: float,
    part: _Part,
    largest: float,
    seen: float,
    is_difference: bool,
    confidence: float,
) -> Interval:
    """Return the interval of a mean from what each labelled question adds to its standard error.

    A mean of values that begin at 0 has the interval that a share has from so many questions as have its variance. A
    difference has that of Student's t, longer on the side to which the differences are skewed. Where all are the same,
    the interval allows for what as many questions do not show.
    """
    from scipy.special import betaincinv, stdtrit

    tail, variance = (1 - confidence) / 2, float(terms @ terms)
    least = -largest if is_difference else 0.0
    if freedom < 1:
        return max(least, part.sure + part.share * least), min(largest, part.sure + part.share * largest)
    reach = (1 - tail ** (1 / part.n)) * part.unseen * seen
    if is_difference:
        if variance < 1e-18:
            return max(value - reach, least), min(value + reach, largest)
        few = variance**2 / float((terms**4).sum())
        t = -float(stdtrit(max(min(freedom, 3 * few), 1), tail))
        error = math.sqrt(variance + part.one_more)
        shift = float((terms**3).sum()) / variance**1.5 * (2 * t**2 + 1) / 6
        below, above = (t - min(shift, 0)) * error, (t + max(shift, 0)) * error
        if few < _FEW_DIFFER:
            below, above = max(below, reach), max(above, reach)
        return max(value - below, least), min(value + above, largest)
    t, z = -float(stdtrit(freedom, tail)), -NormalDist().inv_cdf(tail)
    scale = part.share * largest
    share = min(max((value - part.sure) / scale, 0.0), 1.0)
    if share in (0.0, 1.0) or variance < 1e-18:
        return max(value - reach * (share > 0), 0.0), min(value + reach * (share < 1), largest)
    n = max(share * (1 - share) * scale**2 / variance * (z / t) ** 2, 0.5)
    low, high = (float(betaincinv(n * share + 0.5, n * (1 - share) + 0.5, one)) for one in (tail, 1 - tail))
    return min(part.sure + low * scale, value), max(part.sure + high * scale, value)
