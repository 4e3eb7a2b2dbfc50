"""Between which values metrics lie where equal scores leave the order of a ranking open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.errors import warn
from krag_eval._utils.formatting import number_of
from krag_eval.documents.columns import Side, unique
from krag_eval.documents.document import Document
from krag_eval.matching import Batch, Matches

_FIRST, _LEAST_SPREAD = 50, 0.0005
TIES = ("given", "bounds")


class TiedOrders(NamedTuple):
    """The orders of the ranks in which tied documents that match come first, and last, and the queries concerned."""

    best: IntArray
    worst: IntArray
    n_queries: int


def tied_orders(batch: Batch, matches: Matches) -> TiedOrders | None:
    """Return the best and the worst order of documents with equal scores; None where no order changes what counts.

    Scores count in single precision, as in trec_eval. If none of the first 50 queries has a tie, no other is looked at.
    """
    predicted = batch.predicted
    some = predicted.documents[: int(predicted.offsets[min(_FIRST, len(predicted))])]
    if all(type(one) is Document for one in some):  # as most are; their scores are read fast
        first = _single([one.score for one in some])
        if not (first[1:] == first[:-1]).any():
            return None
    scores = _single(predicted.scores())
    gain = np.zeros(len(scores))
    np.maximum.at(gain, matches.predicted, batch.actual.grades[matches.actual])
    is_new = np.ones(len(scores), dtype=bool)
    is_new[1:] = scores[1:] != scores[:-1]  # of no score too: NaN is not equal to itself
    is_new[predicted.offsets[:-1][predicted.sizes > 0]] = True
    starts, group = np.flatnonzero(is_new), np.cumsum(is_new)
    is_open = np.maximum.reduceat(gain, starts) != np.minimum.reduceat(gain, starts)
    if not is_open.any():
        return None
    n_queries = len(unique(predicted.query_of(starts[is_open])))
    return TiedOrders(np.lexsort((-gain, group)), np.lexsort((gain, group)), n_queries)


def _single(scores: Sequence[float | None]) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.array([np.nan if one is None else one for one in scores], dtype=np.float64).astype(np.float32)


def reordered(batch: Batch, matches: Matches, order: IntArray) -> tuple[Batch, Matches]:
    """Return a batch whose ranks have this order, and what matches in it."""
    predicted, documents = batch.predicted, batch.predicted.documents
    rows = [[documents[p] for p in order[a:b].tolist()] for a, b in pairwise(predicted.offsets.tolist())]
    side = Side("predicted", rows, first_query=predicted.first_query, **batch.settings.reading)
    side.errors = predicted.errors
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    rank = place[matches.predicted]
    sort = np.lexsort((matches.actual, rank))
    columns = {name: getattr(matches, name)[sort] for name in ("actual", "similarity", "method")}
    return Batch(batch.actual, side, batch.settings), replace(matches, predicted=rank[sort], **columns)


def bounds_of(*values: Mapping[str, FloatArray]) -> dict[str, tuple[float, float] | None]:
    """Return the lowest and the highest mean of each key, given its values by query under several orders."""
    bounds: dict[str, tuple[float, float] | None] = {}
    for key in values[0]:
        columns = np.array([each[key] for each in values])
        defined = columns[:, ~np.isnan(columns).any(axis=0)]
        bounds[key] = (float(defined.min(0).mean()), float(defined.max(0).mean())) if defined.size else None
    return bounds


def warn_of_ties(bounds: Mapping[str, tuple[float, float] | None], orders: TiedOrders, n_queries: int) -> None:
    """Warn where the order of tied documents decides a metric in three queries or in 2 %."""
    known = {key: found for key, found in bounds.items() if found is not None}
    key = max(known, key=lambda one: known[one][1] - known[one][0], default=None)
    if key is None or orders.n_queries < min(3, 0.02 * n_queries):
        return
    low, high = known[key]
    if high - low >= _LEAST_SPREAD:
        warn(
            f"Equal scores leave the order open in {orders.n_queries:,} of {number_of(n_queries, 'query')}, and it "
            f"decides: {key} lies between {low:.4f} and {high:.4f}. For the range of every metric, call `evaluate` or "
            "`evaluate_run` with ties='bounds'."
        )
