"""What a question's labels say of a ranking, and how much of what is relevant its pool may miss."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from krag_eval.toolkit import FloatArray
from krag_eval_labels.estimation import Interval

_Key = TypeVar("_Key", bound=Hashable)
METRICS = ("precision", "dcg", "hit_rate", "mrr", "pooled_recall")


def values_of(ranking: Sequence[_Key], grades: Mapping[_Key, float], pool: Collection[_Key], k: int) -> list[float]:
    """Return the values of one question in the order of `METRICS`; NaN where one is undefined or a label is missing.

    Precision and hit rate count documents with a grade above 0, and divide by what was retrieved within k. A repeat
    keeps its rank and earns nothing. DCG's gain is 2^grade - 1. The recall of the pool is the share of the pool's
    relevant documents that lie within k, and undefined if none is relevant.

    Args:
        ranking: What identifies each retrieved document, best first.
        grades: The labels by document.
        pool: The documents that were to be labelled.
        k: How many ranks count.

    >>> [round(value, 3) for value in values_of(["a", "b"], {"a": 0, "b": 1, "c": 2}, ["a", "b", "c"], 2)]
    [0.5, 0.631, 1.0, 0.5, 0.5]
    """
    top = list(ranking[:k])
    if any(one not in grades for one in top):
        return [math.nan] * len(METRICS)
    seen: set[_Key] = set()
    gains = []
    for one in top:
        gains.append(0.0 if one in seen else grades[one])
        seen.add(one)
    is_relevant = [gain > 0 for gain in gains]
    found = sum(is_relevant)
    dcg = sum((2.0**gain - 1) / math.log2(rank + 2) for rank, gain in enumerate(gains))
    first = is_relevant.index(True) + 1 if found else math.inf
    recall = math.nan
    if all(one in grades for one in pool):
        n_relevant = sum(grades[one] > 0 for one in {*pool})
        recall = found / n_relevant if n_relevant else math.nan
    return [found / len(top) if top else 0.0, dcg, float(found > 0), 1 / first, recall]


def largest_of(metric: str, k: int, grade: float) -> float:
    """Return the largest value that a question can have, if this is the highest grade."""
    if metric != "dcg":
        return 1.0
    return float(2.0 ** max(grade, 1.0) - 1) * sum(1 / math.log2(rank + 2) for rank in range(k))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGap:
    """How much of what is relevant the pool holds, by a sample of documents outside of it.

    Attributes:
        share: The estimated share of the relevant documents of the searched texts that the pool holds.
        interval: Its interval.
        n: How many documents outside of the pool were labelled.
        n_relevant: How many of them are relevant.
        if_independent: The share if the log and the second retrieval missed documents independently (capture and
            recapture): too high, as both miss the same hard ones. None without a second one that finds the same.
    """

    share: float
    interval: Interval
    n: int
    n_relevant: int
    if_independent: float | None = None


def pool_gap(
    of_pool: float, weights: FloatArray, is_relevant: FloatArray, n_outside: float, confidence: float = 0.95
) -> PoolGap | None:
    """Estimate the share of the relevant documents that lies in the pools; None without labels of others.

    Args:
        of_pool: The relevant documents of the pools, per question of the traffic.
        weights: For how many documents outside of the pools each labelled one stands, per question, shape (n,).
        is_relevant: 1 for those that are relevant, else 0.
        n_outside: How many documents there are outside of the pools, per question.
        confidence: Of the interval.

    Source: Fay & Feuer (1997), Statistics in Medicine 16(7), for weighted sums of counts; one more is allowed for with
    the mean weight, as Tiwari, Clegg & Zou (2006) do.
    """
    from scipy.special import gammaincinv

    n = len(weights)
    if not n or not of_pool:
        return None
    missed, variance = float(weights @ is_relevant), float(weights**2 @ is_relevant)
    tail = (1 - confidence) / 2
    low = 0.0 if not missed else variance / missed * float(gammaincinv(missed**2 / variance, tail))
    more, square = missed + float(weights.mean()), variance + float((weights**2).mean())
    high = min(square / more * float(gammaincinv(more**2 / square, 1 - tail)), n_outside)
    share = of_pool / (of_pool + min(missed, n_outside))
    return PoolGap(
        share=share,
        interval=(of_pool / (of_pool + high), of_pool / (of_pool + min(low, high))),
        n=n,
        n_relevant=int(np.count_nonzero(is_relevant)),
    )
