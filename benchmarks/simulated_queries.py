"""Simulated queries whose true means are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval import EvaluationResult, evaluate_ids
from krag_eval._utils.arrays import FloatArray

DEPTH = 10
METRICS = ["hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg"]
KEYS = [f"{metric}@{DEPTH}" for metric in METRICS]


@dataclass(frozen=True)
class Population:
    """Very many queries with their rankings by two systems.

    Attributes:
        name: What sets the two apart.
        gold: The gold ids of each query.
        rankings: The rankings of the two systems.
    """

    name: str
    gold: list[list[str]]
    rankings: tuple[list[list[str]], list[list[str]]]

    def values(self) -> FloatArray:
        """The metrics of both systems, shape (2, n_queries, n_metrics)."""
        results = [scored(self.gold, rankings) for rankings in self.rankings]
        return np.stack([np.stack([_column(result, key) for key in KEYS], axis=1) for result in results])


def population(name: str, n: int, advantage: float, changed: float) -> Population:
    """Queries of one to three gold documents, hard and easy ones.

    Args:
        name: What it is called.
        n: How many queries.
        advantage: By how much the second system ranks gold documents higher, in logarithms of ranks.
        changed: In which share of the queries the second system ranks at all differently.
    """
    rng = np.random.default_rng(20261129)
    n_gold = rng.choice([1, 2, 3], p=[0.6, 0.25, 0.15], size=n)
    difficulty = 0.6 + 1.2 * rng.normal(size=n)
    noise = [0.8 * rng.normal(size=(n, 3)) for _ in range(2)]
    is_changed = rng.random(n) < changed
    first = difficulty[:, None] + noise[0]
    second = np.where(is_changed[:, None], difficulty[:, None] - advantage + noise[1], first)
    gold = [[f"g{j}" for j in range(count)] for count in n_gold.tolist()]
    return Population(name, gold, (_rankings(gold, first), _rankings(gold, second)))


def _rankings(gold: Sequence[Sequence[str]], log_rank: FloatArray) -> list[list[str]]:
    ranks = np.exp(np.minimum(log_rank, 9)).astype(np.int64).tolist()
    return [_ranking(ids, wanted) for ids, wanted in zip(gold, ranks, strict=True)]


def _ranking(gold: Sequence[str], places: Sequence[int]) -> list[str]:
    row = [f"x{place}" for place in range(DEPTH)]
    for id_, place in zip(gold, places, strict=False):
        while place < DEPTH and row[place][0] == "g":
            place += 1
        if place < DEPTH:
            row[place] = id_
    return row


def scored(gold: Sequence[Sequence[str]], rankings: Sequence[Sequence[str]]) -> EvaluationResult:
    """All metrics of all queries."""
    return evaluate_ids(gold, rankings, k=DEPTH, metrics=METRICS)


def _column(result: EvaluationResult, key: str) -> FloatArray:
    assert result.detail is not None
    return result.detail.values[key]
