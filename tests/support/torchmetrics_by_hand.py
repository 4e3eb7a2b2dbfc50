"""The formulas of torchmetrics 1.9.0, functional/retrieval, in plain Python: it needs PyTorch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from tests.support.differences import Row, parse_call

Scored = list[tuple[float, float]]  # the score and the relevance of each retrieved document


def by_hand_for_torchmetrics(row: Row) -> float:
    """The number of a row; a query without a relevant document counts 0 (`empty_target_action="neg"`)."""
    name, settings = parse_call(row.their_call)
    queries = [_scored(gold, found) for gold, found in zip(row.gold, row.retrieved, strict=True)]
    values = [METRICS[name](query, settings.get("top_k")) for query in queries]
    return sum(values) / len(values)


def _scored(gold: Sequence[object], found: Sequence[object]) -> Scored:
    grades: dict[object, float] = dict(item if isinstance(item, tuple) else (item, 1) for item in gold)
    falling = range(len(found), 0, -1)
    pairs = [item if isinstance(item, tuple) else (item, score) for item, score in zip(found, falling, strict=True)]
    return [(score, grades.get(document, 0)) for document, score in pairs]


def _ranked(query: Scored) -> list[float]:
    """Relevance from the highest score down; nothing with a score of 0 or less is relevant."""
    best_first = sorted(query, key=lambda document: -document[0])
    return [relevance if score > 0 else 0 for score, relevance in best_first]


def _reciprocal_rank(query: Scored, k: int | None) -> float:
    top = _ranked(query)[:k]
    return next((1 / rank for rank, relevance in enumerate(top, start=1) if relevance), 0.0)


def _average_precision(query: Scored, k: int | None) -> float:
    ranks = [rank for rank, relevance in enumerate(_ranked(query)[:k], start=1) if relevance]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / max(len(ranks), 1)


def _precision(query: Scored, k: int | None) -> float:
    return sum(_ranked(query)[:k]) / (k or len(query))


def _recall(query: Scored, k: int | None) -> float:
    return sum(_ranked(query)[:k]) / sum(relevance for _, relevance in query)


def _normalized_dcg(query: Scored, k: int | None) -> float:
    """Documents of equal score share their gain, each the mean of them all."""
    best_first = sorted(query, key=lambda document: -document[0])
    shared: list[float] = []
    for _, group in itertools.groupby(best_first, key=lambda document: document[0]):
        gains = [relevance for _, relevance in group]
        shared += [sum(gains) / len(gains)] * len(gains)
    return _dcg(shared[:k]) / _dcg(sorted((relevance for _, relevance in query), reverse=True)[:k])


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


METRICS: dict[str, Callable[[Scored, int | None], float]] = {
    "RetrievalMRR": _reciprocal_rank,
    "retrieval_average_precision": _average_precision,
    "retrieval_normalized_dcg": _normalized_dcg,
    "retrieval_precision": _precision,
    "retrieval_recall": _recall,
    "retrieval_reciprocal_rank": _reciprocal_rank,
}
