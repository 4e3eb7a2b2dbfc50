"""Intervals of large samples, from exact sums alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from krag_eval.statistics.count_spread import N_COLUMNS, CountSpread
from krag_eval.statistics.power_sums import POWER_BITS
from krag_eval.statistics.value_spread import ValueSpread

_ROOT_BITS = 64


def large_mean_interval(spread: ValueSpread, confidence: float) -> tuple[float, float]:
    """The interval of the mean of many values: Student's t, longer on the side on which it misses too often.

        mean - sd / sqrt(n) (z - min(s, 0))   to   mean + sd / sqrt(n) (z + max(s, 0))

        z = sqrt(n / (n - 1)) t,   s = skewness / sqrt(n) (2 z^2 + 1) / 6

    Values that are rarely off the commonest pull the mean and the scatter the same way, so that Student's interval
    lies too far to one side. Moving both ends by s evens that out; the end that would move inwards stays, for few such
    values do not show their skewness well.

    Args:
        spread: Of at least two values.
        confidence: Between 0 and 1.

    Returns:
        The lower and the upper end, neither outside the values.

    Source: Johnson (1978), Journal of the American Statistical Association 73(363),
    doi:10.1080/01621459.1978.10480051; Hall (1992), The Bootstrap and Edgeworth Expansion, 3.4.
    """
    n, (first, second, third) = spread.n, spread.sums
    mean = spread.mean
    # n^2 times the variance and n^3 times the third central moment, as whole numbers.
    variance = n * second - first**2
    third_moment = n**2 * third - 3 * n * first * second + 2 * first**3
    root = math.isqrt(variance << 2 * _ROOT_BITS)
    error = root / (n << (POWER_BITS + _ROOT_BITS)) / math.sqrt(n)
    skewness = (third_moment << _ROOT_BITS) / (variance * root) if variance else 0.0
    z = _quantile(n, confidence)
    shift = skewness / math.sqrt(n) * (2 * z * z + 1) / 6
    low, high = mean - error * (z - min(shift, 0.0)), mean + error * (z + max(shift, 0.0))
    return max(low, spread.least), min(high, spread.most)


def large_ratio_interval(
    estimate: float, slopes: Sequence[Fraction], spread: CountSpread, confidence: float
) -> tuple[float, float]:
    """The interval of a function of the sums of counts over many rows: the delta method.

    Args:
        estimate: The value of the function, from 0 to 1.
        slopes: By how much it grows with each of the sums.
        spread: Of at least two rows.
        confidence: Between 0 and 1.

    Returns:
        The lower and the upper end, from 0 to 1.

    Source: Cochran (1977), Sampling Techniques, 2.11 and 6.3, for the ratio of two sums.
    """
    columns = range(N_COLUMNS)
    # The function does not change where all counts double, so that its slopes times the sums add up to 0.
    variance = sum((slopes[i] * slopes[j] * spread.product(i, j) for i in columns for j in columns), Fraction(0))
    reach = _quantile(spread.n, confidence) * math.sqrt(variance)
    return max(estimate - reach, 0.0), min(estimate + reach, 1.0)


def _quantile(n: int, confidence: float) -> float:
    """As far out as `percentile_interval` reads, in standard errors."""
    from scipy.special import stdtrit

    return -float(stdtrit(n - 1, (1 - confidence) / 2)) * math.sqrt(n / (n - 1))
