"""A retrieval that was scored live, and what a receiver of it can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from krag_eval.callbacks import EvaluationCallback
from krag_eval.query_results import QueryResult


@dataclass(frozen=True, slots=True)
class ScoredRetrieval:
    """One retrieval with its scores.

    Attributes:
        run_id: The framework's id of this retrieval.
        query: The text that the retriever was asked.
        query_id: The id of the question that it was recognised as, or the one that the application gave; else None.
        name: The retriever's name, where the framework knows it.
        result: Its values by key such as `recall@5`; None where no gold is known for it.
        n_retrieved: How many documents came back.
        n_repeats: How many of these repeat an earlier one (the same id under `"id"`, the same text otherwise).
        error: What the retriever raised, as `Type: message`, or None.
        seconds: How long it took, from the framework's start event to its end event.
        ended_at: When it ended, in UTC.
    """

    run_id: str
    query: str
    query_id: str | None
    name: str | None
    result: QueryResult | None
    n_retrieved: int
    n_repeats: int
    error: str | None
    seconds: float
    ended_at: datetime

    @property
    def scores(self) -> Mapping[str, float | None]:
        """`retrieved`, `repeats`, `empty` (1 if nothing came back, else 0), and every metric where gold is known."""
        counts = {"retrieved": self.n_retrieved, "repeats": self.n_repeats, "empty": int(not self.n_retrieved)}
        values = self.result.values if self.result is not None else {}
        return {**{name: float(count) for name, count in counts.items()}, **values}


class RetrievalSink(EvaluationCallback):
    """A receiver of live scores that may belong somewhere in a trace; override what you need."""

    def locate(self, framework: str, run_id: object) -> object | None:  # noqa: ARG002 - for those who override it
        """Where the scores of the retrieval that is running now belong; None if that is not known.

        Called on the application's own thread, in its context, when the retrieval starts and, while it gave None,
        again when it ends. It must be quick. What it raises is counted and not passed on.

        Args:
            framework: `"langchain"` or `"llama_index"`.
            run_id: The framework's id of the retrieval.
        """
        return None

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Called on the scorer's thread, once a retrieval.

        Args:
            retrieval: What was scored.
            target: What `locate` returned, or None. A sink that has to have one leaves such a retrieval out; the
                scorer counts it as `no_target`.
        """

    def flush(self, timeout: float | None = None) -> object:
        """Called by the scorer's `flush` after the last retrieval was passed on; False says that it was not done."""
