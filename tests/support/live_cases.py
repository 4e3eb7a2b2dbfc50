"""What the tests of live scoring share."""

from __future__ import annotations

import threading
from typing import Any

from krag_eval import EvaluationCallback
from krag_eval.evaluation.results import QueryResult
from krag_eval_live import LiveScorer, RetrievalSink, ScoredRetrieval

GOLD: dict[str, list[Any]] = {
    "q1": [{"id": "a"}, {"id": "b", "grade": 2}],
    "q2": [{"id": "c"}],
    "q3": [],
}
RETRIEVED: dict[str, list[Any]] = {
    "q1": [{"id": "x"}, {"id": "b"}, {"id": "b"}],
    "q2": [{"id": "c"}],
    "q3": [{"id": "y"}],
}


class Recorder(RetrievalSink):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.scored: list[ScoredRetrieval] = []
        self.targets: list[object | None] = []

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        self.scored.append(retrieval)
        self.targets.append(target)


class Gate(EvaluationCallback):
    """Keeps the scorer's thread waiting until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def on_query_scored(self, query: QueryResult) -> None:
        self.reached.set()
        assert self.opened.wait(30)


def retrieve(scorer: LiveScorer, query: str, documents: Any = (), **begun: Any) -> None:
    run_id = object()
    scorer.begin("a framework", run_id, query, **begun)
    if isinstance(documents, BaseException):
        scorer.fail(run_id, documents)
    else:
        scorer.end(run_id, documents)


def scored(gold: Any = GOLD, **settings: Any) -> LiveScorer:
    """A scorer that has seen the three queries."""
    scorer = LiveScorer(gold, **{"match_method": "id", "k": (1, 3), **settings})
    for query, documents in RETRIEVED.items():
        retrieve(scorer, query, documents)
    assert scorer.flush(10)
    return scorer
