"""Intervals of values that come in clusters: questions on one document, turns of one conversation."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Sequence

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.statistics.bootstrap import MOVED, few_differ, few_outweigh, moved, proven_interval, widen
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.resampling import Units, signed_sums
from krag_eval.statistics.significance import EXACT_UP_TO


def connected(rows: Sequence[Collection[Hashable]]) -> IntArray:
    """Return the number of each row's cluster: rows that share a value are in one, and so are those they lead to.

    Args:
        rows: The values of each row; a row without values is a cluster of its own.

    Returns:
        Numbers from 0 in the order of the first rows, shape (n_rows,).
    """
    alone = [set(row) for row in rows]
    if len(set().union(*alone)) == sum(map(len, alone)):
        return np.arange(len(rows))  # no two rows share anything, and importing scipy takes a while
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[Hashable, int] = {}
    value = np.array([numbers.setdefault(v, len(numbers)) for v in itertools.chain.from_iterable(rows)], dtype=np.int64)
    n = len(rows)
    row = np.repeat(np.arange(n), np.array(list(map(len, rows)), dtype=np.int64))
    size = n + len(numbers)
    _, found = connected_components(coo_array((np.ones(len(row)), (row, n + value)), (size, size)), directed=False)
    _, first, label = np.unique(found[:n], return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[label], dtype=np.int64)


def cluster_sums(values: FloatArray, labels: IntArray) -> FloatArray:
    """Return the sum of each column in each cluster.

    Args:
        values: Shape (n, n_columns).
        labels: The cluster of each row, shape (n,).

    Returns:
        Shape (n_clusters, n_columns), clusters in ascending order of their labels.
    """
    _, number = np.unique(labels, return_inverse=True)
    return np.stack([np.bincount(number, column) for column in values.T], axis=1)


def cluster_means(values: FloatArray, labels: IntArray) -> FloatArray:
    """Return the sums of the clusters divided by the mean size of one: their mean is the mean over all rows."""
    sums = cluster_sums(values, labels)
    return np.asarray(sums * (len(sums) / len(values)))


def cluster_intervals(
    values: FloatArray,
    labels: IntArray,
    bounds: tuple[FloatArray, FloatArray],
    confidence: float,
    rounds: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of the mean of each column: all means that a test by whole clusters does not reject.

    The test gives the deviations of all rows of a cluster from the mean in question one random sign, as
    `randomisation_test` does with the sums of clusters: both use the same signs, so that they agree. The sizes of
    clusters may differ. So few clusters that no choice of signs is rare enough (five at 95 %) leave the whole range.
    If few rows differ from the most common value, or all together moved little, the interval is widened as for so many
    queries as there are clusters (see `widen`); if few outweigh all others, to the bound of Gaffke for whole clusters.

    Args:
        values: Finite numbers, shape (n, n_columns), n at least 1.
        labels: The cluster of each row, shape (n,).
        bounds: The least and the largest value that each column can take, shape (n_columns,) each.
        confidence: Between 0 and 1.
        rounds: How many random choices of signs, where trying all would be too many.
        seed: At least 0.

    Returns:
        The lower and the upper ends, shape (n_columns,) each.

    Source: inversion of the randomisation test, as in Cox & Hinkley (1974), Theoretical Statistics, 7.2; signs of whole
    clusters as in Canay, Romano & Shaikh (2017), Econometrica 85(3), doi:10.3982/ECTA13081.
    """
    units = Units.of(values)
    whole = cluster_sums(np.column_stack([units.whole, np.ones(len(values))]), labels)
    whole = whole[np.lexsort(whole.T)]  # the names of the clusters change no bit
    n, n_clusters = len(values), len(whole)
    if n_clusters <= EXACT_UP_TO:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n_clusters)))
        sums, needed = signs @ whole, int((1 - confidence) * len(signs) + 1e-9) + 1
    else:
        sums, needed = signed_sums(whole, rounds, seed), int((1 - confidence) * (1 + rounds) + 1e-9)
    total, drawn, times = whole.sum(axis=0)[:-1], sums[:, :-1], sums[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the sum with signs is as large as the one without.
        ends = np.stack([(total - drawn) / (n - times), (total + drawn) / (n + times)])
    low, high = (
        np.where((np.abs(times) == n), infinite, one)
        for one, infinite in ((ends.min(axis=0), -np.inf), (ends.max(axis=0), np.inf))
    )
    low, high = (
        np.ldexp(one, -units.exponent) for one in (np.sort(low, axis=0)[needed - 1], np.sort(high, axis=0)[-needed])
    )
    wide = widen(low, high, units.mean(units.whole.sum(axis=0)), bounds, n_clusters, confidence)
    is_sparse = few_differ(units.whole)
    for column, (least, most) in enumerate(zip(*bounds, strict=True)):
        distinct, counts = np.unique(values[:, column], return_counts=True)
        if not is_sparse[column] and few_outweigh(distinct, counts):
            of_clusters = BoundedMean.of(values[:, column], least=float(least), most=float(most), labels=labels)
            proven = proven_interval(of_clusters, confidence)
            low[column], high[column] = min(low[column], proven[0]), max(high[column], proven[1])
        is_sparse[column] |= moved(distinct, counts, (float(least), float(most))) < MOVED * (1 - 1e-9)
    low, high = np.where(is_sparse, wide[0], low), np.where(is_sparse, wide[1], high)
    return np.maximum(low, bounds[0]), np.minimum(high, bounds[1])


def width_ratio(values: FloatArray, labels: IntArray) -> float | None:
    """Return how many times as wide clusters make the interval of a mean: the ratio of the two standard errors.

    Returns:
        None where there are fewer than two clusters, or no two values differ.

    Source: the square root of the design effect of Kish (1965), Survey Sampling, 5.4.
    """
    n, deviations = len(values), values - values.mean()
    sums = cluster_sums(deviations[:, None], labels)[:, 0]
    alone, n_clusters = float((deviations**2).sum()) / (n - 1) if n > 1 else 0.0, len(sums)
    if n_clusters < 2 or alone < 1e-18 * n:
        return None
    return float(((sums**2).sum() * n_clusters / (n_clusters - 1) / n / alone) ** 0.5)
