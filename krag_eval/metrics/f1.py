"""F1: the harmonic mean of precision and recall."""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments
from krag_eval.metrics.precision import precision
from krag_eval.metrics.recall import recall


def harmonic_mean(one: FloatArray, other: FloatArray, weight: float = 1.0) -> FloatArray:
    """Return the harmonic mean in which the second has this weight, 0 where both are 0, NaN where one is.

    It lies between the two to the last bit.
    """
    total = other + weight * one
    mean = np.divide((1 + weight) * one * other, total, out=np.zeros_like(total), where=total != 0)
    # np.clip carries NaN through, and undoes the last bit that rounding may add.
    return np.clip(mean, np.minimum(one, other), np.maximum(one, other))


def f1(judged: Judgments, k: CutOff = None, *, denominator: str = "retrieved") -> FloatArray:
    """Return the harmonic mean of a query's precision and recall.

        F1@k = 2 P@k R@k / (P@k + R@k)

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Precision and recall both 0: 0.

    Source: van Rijsbergen (1979), Information Retrieval, chapter 7, with beta = 1. `macro_f1` is the mean of this over
    queries, not the F1 of the mean precision and recall; `micro_f1` is the F1 of the micro values.
    """
    return harmonic_mean(precision(judged, k, denominator=denominator), recall(judged, k))


def f_beta(judged: Judgments, k: CutOff = None, *, beta: float, denominator: str = "retrieved") -> FloatArray:
    """Return the harmonic mean of a query's precision and recall in which recall weighs `beta` times as much.

        F@k = (1 + beta^2) P@k R@k / (R@k + beta^2 P@k)

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks are relevant, and which gold documents are covered.
        k: The cut-off.
        beta: How many times as important recall is as precision, above 0.
        denominator: As for `precision`.

    Edge cases:
        * Precision and recall both 0: 0.

    Source: van Rijsbergen (1979), Information Retrieval, chapter 7.
    """
    return harmonic_mean(precision(judged, k, denominator=denominator), recall(judged, k), beta**2)
