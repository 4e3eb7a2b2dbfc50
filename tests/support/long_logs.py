"""Logs with one row a document, and what the definition makes of them: every way of joining them is held against it."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np

Row = dict[str, Any]

LOGS = [
    *[("q1", "a", 2, 0.5), ("q1", "b", 1, 0.4), ("q1", "c", 3, 0.3)],  # by rank, whatever the scores, and cut
    *[("q2", "b", 1, float("nan")), ("q2", "d", 1, None), ("q2", "c", 1, 0.1), ("q2", "a", None, 9.0)],
    *[("q3", "b", 1, 0.5), ("q3", "a", 1, 0.5), ("q3", "a", 2, 0.1)],  # equal in all but the id; a document twice
    *[("q5", None, 1, 1.0), ("q9", "a", 1, 1.0)],  # nothing retrieved; nobody said what answers it
]
"""Query, id, rank and score."""
GOLD = [("q1", "b", 2), ("q1", "a", 1), ("q2", "c", 1), ("q3", "a", None), ("q4", "z", 1), ("q5", "a", 1)]
GOLD_OF_NONE = [("q6", None, None)]
"""Query, id and grade."""


def plain_join(logs: list[Row], gold: list[Row], kmax: int) -> dict[str, tuple[list[Row], list[Row]]]:
    """What they become, query by query, with dicts and `sorted`: from the definition."""
    queries: dict[str, tuple[list[Row], list[Row]]] = {str(row["query_id"]): ([], []) for row in gold}
    for row in gold:
        if row["id"] is not None:
            queries[str(row["query_id"])][0].append({"id": str(row["id"]), "grade": row["grade"]})
    by_query = defaultdict(list)
    for row in logs:
        by_query[str(row["query_id"])].append(row)
    for query_id, rows in by_query.items():
        best_first = sorted(rows, key=lambda row: (row["rank"], _descending(row["score"]), str(row["id"])))
        if query_id in queries:
            queries[query_id][1].extend({"id": str(row["id"])} for row in best_first[:kmax])
    return dict(sorted(queries.items()))


def _descending(score: float | None) -> float:
    return math.inf if score is None or math.isnan(score) else -score


def random_logs(seed: int) -> tuple[list[Row], list[Row]]:
    """Ties of ranks and scores, scores that are none, queries of one side only; ids are integers in the gold."""
    random = np.random.default_rng(seed)
    scores = [0.5, 0.25, 0.0, -1.0, math.nan, None]
    gold = [
        {"query_id": query, "id": document, "grade": float(random.integers(0, 4))}
        for query in range(300)
        for document in random.choice(40, size=random.integers(1, 4), replace=False).tolist()
    ]
    gold += [{"query_id": query, "id": None, "grade": None} for query in range(300, 310)]
    logs = [
        {
            "query_id": str(query),
            "id": str(document),
            "rank": int(random.integers(1, 6)),
            "score": scores[random.integers(0, 6)],
        }
        for query in range(20, 330)
        for document in random.choice(40, size=random.integers(1, 12), replace=False).tolist()
    ]
    return [logs[place] for place in random.permutation(len(logs))], gold
