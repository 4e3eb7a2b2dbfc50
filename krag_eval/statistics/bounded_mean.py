"""What a sample proves about a mean whose values have limits, whatever the shape of their distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.objects import cached_property

Interval = tuple[float, float]

EXACT = "exact"
SHAPE_FREE = "shape-free"
FROM_SUMS = "from sums"
REFERENCES = {
    EXACT: "Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404; pairs: Gaffke (2005), enumerated",
    SHAPE_FREE: "Gaffke (2005), Metrika 62; Learned-Miller & Thomas (2019), arXiv:1905.06208",
    FROM_SUMS: "Johnson (1978), JASA 73(363), doi:10.1080/01621459.1978.10480051",
}
"""Where each procedure comes from."""

_MOST_NEEDED = 10**15


class ProvenMean(Protocol):
    """What is proven about a mean."""

    @property
    def procedure(self) -> str:
        """One of `REFERENCES`."""

    @property
    def least(self) -> float:
        """The least that the mean can be."""

    @property
    def most(self) -> float:
        """The largest that it can be."""

    def p_at_most(self, bound: float) -> float:
        """Return the p-value of "the mean is at most this"; a small one shows that it is larger."""

    def p_at_least(self, bound: float) -> float:
        """Return the p-value of "the mean is at least this"; a small one shows that it is smaller."""

    def interval(self, tail: float) -> Interval:
        """Return the means of which neither p-value is below `tail`."""


@dataclass(frozen=True)
class BoundedMean:
    """A sample of units, of which the sum of all sums over the sum of all sizes is an estimate of a mean.

    A unit is a question, of size 1, or a cluster of them, or a question with its share of a pooled count.

    Attributes:
        sums: Of the different units, shape (n_different,).
        sizes: Their sizes, above 0 or with a sum of 0; shape (n_different,).
        times: How often each came, shape (n_different,).
        least: The least value of one question.
        most: The largest.
        n: How many questions there are.

    The p-value of "the mean is at most c" is that of Gaffke: for independent exponential weights W, of which one goes
    to a unit that was not seen and has the least value,

        p(c) = P(W_0 size_0 (least - c) + sum_i W_i (sum_i - c size_i) <= 0)

    with the largest size that was seen for the unseen unit. For values of 0 and 1 this is the test of Clopper and
    Pearson. It falls wherever a value rises. That it is at most `alpha` with a probability of at most `alpha` is proven
    for two values, and no other values are known for which it is not so: the tests enumerate differences of hits and
    misses, and docs/statistics.md has simulations of other shapes.

    Source: Gaffke (2005), Metrika 62; Learned-Miller & Thomas (2019), arXiv:1905.06208, for the bound; Learned-Miller
    (2025), arXiv:2502.17223, for what else is admissible.
    """

    sums: FloatArray
    sizes: FloatArray
    times: FloatArray
    least: float
    most: float
    n: int

    @classmethod
    def of(
        cls,
        sums: FloatArray,
        sizes: FloatArray | None = None,
        times: IntArray | None = None,
        *,
        least: float = 0.0,
        most: float = 1.0,
        labels: IntArray | None = None,
    ) -> BoundedMean:
        """Return that of some rows.

        Args:
            sums: Of the questions, finite, in any order; shape (n,), n at least 1.
            sizes: 1 by default; one of them above 0.
            times: How often each row came; once by default.
            least: The least value of one question.
            most: The largest.
            labels: The cluster of each row, if they come in clusters; shape (n,).
        """
        sizes = np.ones(len(sums)) if sizes is None else sizes.astype(np.float64)
        n = len(sums) if times is None else int(times.sum())
        if labels is not None:
            sums, sizes = (np.bincount(labels, column).astype(np.float64) for column in (sums, sizes))
        rows, inverse = np.unique(np.column_stack([sums, sizes]), axis=0, return_inverse=True)
        counts = np.bincount(inverse.reshape(-1), times, minlength=len(rows)).astype(np.float64)
        counted = (rows[:, 1] > 0) & (counts > 0)
        return cls(rows[counted, 0], rows[counted, 1], counts[counted], least, most, n)

    @cached_property
    def estimate(self) -> float:
        """The mean of the sample."""
        total, size = (math.fsum((self.times * column).tolist()) for column in (self.sums, self.sizes))
        return total / size

    @property
    def procedure(self) -> str:
        """Exact for values of 0 and 1 and for their differences, whose rates were enumerated."""
        known = {self.least, self.most, (self.least + self.most) / 2 if self.least < 0 else self.least}
        return EXACT if known.issuperset(self.sums.tolist()) and (self.sizes == 1).all() else SHAPE_FREE

    def p_at_most(self, bound: float) -> float:
        """Return the p-value of "the mean is at most this"; a small one shows that it is larger."""
        unseen = float(self.sizes.max()) * (self.least - bound)
        return _p_of(self.sums - bound * self.sizes, self.times, unseen)

    def p_at_least(self, bound: float) -> float:
        """Return the p-value of "the mean is at least this"; a small one shows that it is smaller."""
        return self._turned.p_at_most(-bound)

    def interval(self, tail: float) -> Interval:
        """Return the means of which neither p-value is below `tail`."""
        return self._low(tail), -self._turned._low(tail)  # noqa: SLF001 - its own

    def needed(self, bound: float, tail: float, power: float) -> float | None:
        """Return about how many questions of this kind put a bound that the mean does not meet outside its interval.

        As many as have a p-value of `tail` in a sample that is as unlucky as one in 1 / (1 - power): its frequencies
        are those of this one, tilted until the mean lies so many standard errors nearer to the bound. In a larger
        sample the largest cluster is larger, too (see `_largest_of`).

        Returns:
            The number; None where so many do not exist, or the mean equals the bound.

        Source: for the tilting, Esscher (1932), Skandinavisk Aktuarietidskrift 15.
        """
        if bound > self.estimate:
            return self._turned.needed(-bound, tail, power)
        from scipy.special import ndtri

        values, share = self.sums - bound * self.sizes, self.times / self.times.sum()
        mean = float(share @ values)
        deviation = math.sqrt(float(share @ (values - mean) ** 2))
        if mean <= 0 or bound <= self.least:
            return None
        unlucky = float(ndtri(power))

        def is_enough(n: int) -> bool:
            unseen = self._largest_of(n) * (bound - self.least)
            tilt = unlucky / (deviation * math.sqrt(n)) if deviation else 0.0
            weights = share * np.exp(-tilt * (values - mean))
            times = n * weights / weights.sum()
            return float(times @ values) > unseen and _p_of(values, times, -unseen) <= tail

        few, enough = 0, 1
        while not is_enough(enough):
            few, enough = enough, 2 * enough
            if enough > _MOST_NEEDED:
                return None
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if is_enough(middle) else (middle, enough)
        return enough * self.n / float(self.times.sum())

    @cached_property
    def _turned(self) -> BoundedMean:
        """The same with all signs turned."""
        return replace(self, sums=-self.sums, least=-self.most, most=-self.least)

    def _largest_of(self, n: int) -> float:
        """Return about how large the largest of n units will be.

            largest + e log(n / units),   e the mean excess of the sqrt(units) largest over the next one

        as of sizes with an exponential tail. Where all sizes are equal, or n is no larger than this sample, it is the
        largest that was seen.

        Source: Embrechts, Klüppelberg & Mikosch (1997), Modelling Extremal Events, 3.3 and 6.2.
        """
        order = np.argsort(-self.sizes)
        sizes, upto = self.sizes[order], np.cumsum(self.times[order])
        units, largest = float(upto[-1]), float(sizes[0])
        top = math.sqrt(units)
        if n <= units or top >= units:
            return largest
        within = np.clip(top - (upto - self.times[order]), 0, self.times[order])
        excess = float(within @ sizes) / top - float(
            sizes[min(int(np.searchsorted(upto, top, "right")), len(sizes) - 1)]
        )
        return largest + excess * math.log(n / units)

    def _low(self, tail: float) -> float:
        from scipy.optimize import brentq

        mean, target = self.estimate, math.log(tail)

        def excess(bound: float) -> float:
            return math.log(max(self.p_at_most(bound), 1e-300)) - target

        if mean <= self.least or excess(mean) <= 0:
            return max(self.least, mean)
        above_least = self.least + (mean - self.least) * 1e-12
        if excess(above_least) >= 0:
            return self.least
        return float(brentq(excess, above_least, mean, xtol=1e-300, rtol=1e-12))


def _p_of(values: FloatArray, times: FloatArray, unseen: float) -> float:
    return weighted_sum_below(np.append(values, unseen), np.append(times, 1.0))


@dataclass(frozen=True)
class SummedMean:
    """A mean of so many values from 0 to 1 that only their sums were kept.

    Attributes:
        interval_of: Its interval, by confidence.
    """

    interval_of: Callable[[float], Interval]
    least: float = 0.0
    most: float = 1.0
    procedure: str = FROM_SUMS

    def p_at_most(self, bound: float) -> float:
        """Return the p-value of "the mean is at most this"; a small one shows that it is larger."""
        return self._p(lambda ends: ends[0] <= bound)

    def p_at_least(self, bound: float) -> float:
        """Return the p-value of "the mean is at least this"; a small one shows that it is smaller."""
        return self._p(lambda ends: ends[1] >= bound)

    def interval(self, tail: float) -> Interval:
        """Return the means of which neither p-value is below `tail`."""
        return self.interval_of(1 - 2 * tail)

    def _p(self, holds: Callable[[Interval], bool]) -> float:
        """Return the tail from which on the interval no longer reaches a bound; 0.5 where none does not."""
        low, high = 1e-9, 0.5
        if not holds(self.interval(low)):
            return low
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if holds(self.interval(middle)) else (low, middle)
        return high


_STEP, _NODES, _FURTHEST, _CLOSE, _ROWS = 1 / 8, 16, 40.0, 1e-5, 1 << 12


def weighted_sum_below(values: FloatArray, times: FloatArray) -> float:
    """Return the probability that a sum of values, each with a standard exponential weight of its own, is at most 0.

    Args:
        values: Finite, shape (n_different,).
        times: How often each is in the sum, above 0, not only in whole numbers, but at least 1 for the least value, and
            for the largest where the sum is below 0 on average; shape (n_different,).

    Returns:
        The probability, to about nine digits, also where it is tiny.

    Its generating function, the product of 1 / (1 - s v), is integrated along a hyperbola through its saddle point, by
    the trapezoidal rule, whose error falls exponentially with the step.

    Source: Daniels (1954), Annals of Mathematical Statistics 25(4), for the saddle point; Trefethen & Weideman (2014),
    SIAM Review 56(3), doi:10.1137/130932132, for hyperbolas and the rule.

    >>> round(weighted_sum_below(np.array([0.4, -0.6]), np.array([9.0, 2.0])), 4)  # 9 of 10 where 0.6 is the truth
    0.0464
    """
    from scipy.optimize import brentq

    largest = float(np.abs(values).max(initial=0.0))
    moving = np.abs(values) > 1e-15 * largest
    values, times = values[moving] / (largest or 1.0), times[moving]
    if not len(values) or float(values.max()) < 0:
        return 1.0
    if float(values.min()) > 0:
        return 0.0
    if float(times @ values) < 0:
        return 1 - weighted_sum_below(-values, times)
    edge = 1 / float(values.min())  # the generating function is finite from here to 0, and beyond

    def slope(s: float) -> float:
        return float((times * values / (1 - s * values)).sum()) - 1 / s

    nearest = edge * 1e-9
    while slope(nearest) < 0:
        nearest *= 1e-3
    s = float(brentq(slope, edge * (1 - 1e-13), nearest, xtol=1e-300, rtol=1e-12))
    shares = values / (1 - s * values)
    width = 1 / math.sqrt(float(times @ shares**2) + 1 / s**2)
    # A path that turns as the steepest one does, up to 45 degrees, adds up what does not oscillate.
    turn = min(max(float(times @ shares**3) / float(times @ shares**2) ** 1.5 * 2 / 3, -1.0), 1.0)
    height = -math.fsum((times * np.log1p(-s * values)).tolist()) - math.log(-s)
    step, sums = _STEP, None
    while sums is None or abs(sums[0] - sums[1]) > _CLOSE * abs(sums[0]):
        if sums is not None:
            step /= 2
        while (sums := _along(shares, times, 1 / s, width, turn, step)) is None:
            turn = turn / 2 if abs(turn) > 0.1 else 0.0
    return min(math.exp(height) * sums[0] / math.pi, 1.0)


def _along(
    shares: FloatArray, times: FloatArray, pole: float, width: float, turn: float, step: float
) -> tuple[float, float] | None:
    """Return the integral over the path, the integrand being 1 at the saddle point, and the same by every other node.

    The error of the first is about the square of that of the second.

    Returns:
        None if it rises on the way: a path that turns may come close to the pole of many small values. A straight one
        always descends.
    """
    total, coarse, before, at = 0.0, 0.0, 0.0, np.arange(_NODES) * step
    while True:
        ahead, aside = width * np.sinh(at), width * turn * (np.cosh(at) - 1)
        modulus, angle = np.zeros((2, _NODES))
        for start in range(0, len(shares), _ROWS):
            part = slice(start, start + _ROWS)
            imaginary, real = -shares[part, None] * ahead, 1 - shares[part, None] * aside
            modulus -= times[part] @ np.log(np.hypot(imaginary, real))
            angle -= times[part] @ np.arctan2(imaginary, real)
        modulus -= np.log(np.hypot(ahead * pole, 1 + aside * pole))
        angle -= np.arctan2(ahead * pole, 1 + aside * pole)
        if turn and (np.diff(modulus, prepend=before) > 1e-3).any():
            return None
        before = float(modulus[-1])
        forward, sideways = width * np.cosh(at), width * turn * np.sinh(at)
        nodes = step * np.exp(modulus) * (np.cos(angle) * forward + np.sin(angle) * sideways)
        half = float(nodes[0]) / 2 if at[0] == 0 else 0.0
        total, coarse = total + float(nodes.sum()) - half, coarse + 2 * (float(nodes[::2].sum()) - half)
        if math.exp(modulus[-1]) * math.cosh(at[-1]) < 1e-17 or at[-1] > _FURTHEST:
            return total, coarse
        at = at + _NODES * step
