"""The exact interval of a share, and what a sample may have missed altogether."""

from __future__ import annotations

import math


def binomial_interval(successes: int, n: int, confidence: float) -> tuple[float, float]:
    """The exact interval of a share.

    All shares under which neither so many nor so few successes would be rarer than (1 - confidence) / 2. It covers
    the true share at least as often as `confidence` says, whatever n is.

    Args:
        successes: How many of n.
        n: At least 1.
        confidence: Between 0 and 1.

    Source: Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404; `scipy.stats.binomtest`.

    >>> [round(end, 4) for end in binomial_interval(9, 10, 0.95)]
    [0.555, 0.9975]
    """
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)


def unseen_share(n: int, confidence: float) -> float:
    """The largest share of queries of a kind of which a sample of n would not have shown a single one.

        (1 - share)^n = (1 - confidence) / 2

    It is the upper end of `binomial_interval(0, n, confidence)`: 0.036 for 100 queries, 0.31 for 10.

    Source: Clopper & Pearson (1934) for 0 of n; the "rule of three" is its approximation for one side.

    >>> round(unseen_share(100, 0.95), 4)
    0.0362
    """
    return 1.0 - math.pow((1 - confidence) / 2, 1 / n)
