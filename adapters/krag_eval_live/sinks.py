"""Pass scored retrievals to sinks, none of which can disturb the application or another sink."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from krag_eval import EvaluationCallback, InvalidInputError, RunRow
from krag_eval.evaluation import QueryResult
from krag_eval.toolkit import LIVE_CUT_OFFS, cached_property, one_of

# What people watch, of retrievals and of sessions.
_MAIN = ("hit_rate", "recall", "mrr", "ndcg", "leak")
_MAIN_OF_SESSIONS = ("session_recall", "evidence_complete", "searches_to_evidence", "n_searches")


def choose_main(keys: Iterable[str], metrics: object, k: object) -> tuple[str, ...]:
    """Return the keys to send where each score costs: all if `metrics` are named, else those of the usual metrics.

    Args:
        keys: All keys; those of each metric by ascending cut-off.
        metrics: The metrics that were asked for; None for the default ones.
        k: The cut-offs that were asked for; of the default ones, only the largest counts.
    """
    if metrics is not None:
        return tuple(keys)
    usual = [key for key in keys if key.partition("@")[0] in (*_MAIN, *_MAIN_OF_SESSIONS)]
    return tuple({key.partition("@")[0]: key for key in usual}.values() if k is LIVE_CUT_OFFS else usual)


@dataclass(frozen=True, slots=True)
class ScoredRetrieval:
    """A retrieval with its scores.

    Attributes:
        run_id: The framework's id of this retrieval.
        query: The text of the query.
        query_id: The id of the question in the gold, or the one that the application gave; else None.
        name: The retriever's name, if the framework knows it.
        result: The values by key such as `recall@5`; None without gold.
        n_retrieved: How many documents were returned.
        n_repeats: How many of them are duplicates of earlier ones: the same id under `"id"`, otherwise the same text.
        error: What the retriever raised, as `Type: message`, or None.
        seconds: How long the retrieval took, from the framework's start event to its end event.
        ended_at: When the retrieval ended, in UTC.
        relevance: For each document, whether it matches a gold document; None without gold.
        main_keys: The keys of `main_scores`, beside `empty`.
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
    relevance: tuple[bool, ...] | None = None
    main_keys: tuple[str, ...] = ()

    @property
    def main_scores(self) -> Mapping[str, float | None]:
        """The few scores to send where each costs: `empty`, and those of `main_keys`; without gold, all counts."""
        scores = self.scores
        return scores if self.result is None else {key: scores[key] for key in (*self.main_keys, "empty")}

    @property
    def scores(self) -> Mapping[str, float | None]:
        """`retrieved`, `repeats`, `empty` (1 if nothing was returned, else 0), and with gold every metric."""
        counts = {"retrieved": self.n_retrieved, "repeats": self.n_repeats, "empty": int(not self.n_retrieved)}
        values = self.result.values if self.result is not None else {}
        return {**{name: float(count) for name, count in counts.items()}, **values}


@dataclass(frozen=True, slots=True)
class ScoredSession:
    """A session of one or more searches with its scores.

    Attributes:
        session_id: The framework's id of the root run, under which everything was searched.
        query_id: The id of the question in the gold, or the one that the application gave; else None.
        row: Its searches, with their stages, as a row of a run.
        scores: The values by key such as `session_recall@5`; None where undefined, empty without gold.
        n_late: How many searches had not ended when the session ended; their documents do not count.
        ended_at: When the session ended, in UTC.
        main_keys: The keys of `main_scores`.
    """

    session_id: str
    query_id: str | None
    row: RunRow
    scores: Mapping[str, float | None]
    n_late: int
    ended_at: datetime
    main_keys: tuple[str, ...] = ()

    @property
    def main_scores(self) -> Mapping[str, float | None]:
        """The few scores that are sent where each costs."""
        return {key: self.scores[key] for key in self.main_keys}


class RetrievalSink(EvaluationCallback):
    """A receiver of live scores, which may attach them to a trace; override what you need.

    Attributes:
        fewest_searches: Sessions of fewer searches are not scored for `on_session_scored`.
    """

    fewest_searches: float = 1

    def locate(self, framework: str, run_id: object) -> object | None:  # noqa: ARG002 - for those who override it
        """Return where the scores of the running retrieval belong; None if that is unknown.

        Called on the application's thread, in its context, when the retrieval starts and, if it returned None, again
        when it ends. It must be fast. What it raises is counted, and not raised in the application.

        Args:
            framework: `"langchain"`, `"llama_index"`, `"python"` for functions, or `"opentelemetry"`.
            run_id: The framework's id of the retrieval; `"opentelemetry"` has `TRACE-SPAN`, the ids of its span.
        """
        return None

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Receive a retrieval; called on the scorer's thread, once per retrieval.

        Args:
            retrieval: The retrieval with its scores.
            target: What `locate` returned. If it is None, a sink that needs a target skips the retrieval; the scorer
                counts it as `no_target`.
        """

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:
        """Receive a session when its root run has ended; called on the scorer's thread, once per session.

        Args:
            session: The session with its scores.
            targets: What `locate` returned for each of its searches.
        """

    def flush(self, timeout: float | None = None) -> object:
        """Send what is waiting; called by the scorer's `flush`. Return False if that did not finish in time."""


def fewest_searches(sessions: str) -> float:
    """Return how many searches a session has at least whose scores are sent.

    Args:
        sessions: Of which sessions they are sent: those of `"several"` searches, `"all"` or `"none"`.

    Raises:
        InvalidInputError: It is something else.
    """
    fewest = {"several": 2.0, "all": 1.0, "none": math.inf}
    return fewest[one_of("sessions", sessions, list(fewest))]


_METHODS = ("on_retrieval_scored", "on_query_scored")


class Sinks:
    """Several sinks, called so that what one of them raises is reported and disturbs nothing.

    Args:
        given: `RetrievalSink` or `EvaluationCallback` objects.
        problem: Called with the name of the method and what it raised.

    Raises:
        InvalidInputError: An object has none of the methods of a sink.
    """

    def __init__(self, given: object, problem: Callable[[str, Exception], None]) -> None:
        sinks = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        for sink in sinks:
            if isinstance(sink, type) or not any(callable(getattr(sink, name, None)) for name in _METHODS):
                raise InvalidInputError(
                    f"`sinks` holds {sink!r:.80}, which has none of {', '.join(_METHODS)}. "
                    "Pass an instance of RetrievalSink or EvaluationCallback."
                )
        self._sinks: list[Any] = sinks
        self._problem = problem

    def __len__(self) -> int:
        return len(self._sinks)

    def locate(
        self, framework: str, run_id: object, known: list[object | None] | None = None, *, reports: bool = True
    ) -> list[object | None]:
        """Ask each sink where the running retrieval belongs in its trace, unless that is known already."""
        targets = known or [None] * len(self._sinks)
        for position, sink in enumerate(self._sinks):
            if targets[position] is None and _has_own(sink, "locate"):
                if reports:
                    targets[position] = self._call(sink, "locate", framework, run_id)
                else:
                    with contextlib.suppress(Exception):
                        targets[position] = sink.locate(framework, run_id)
        return targets

    def lacks_target(self, targets: list[object | None]) -> bool:
        """Whether a sink that needs a target has none."""
        pairs = zip(self._sinks, targets, strict=True)
        return any(target is None and _has_own(sink, "locate") for sink, target in pairs)

    def tell(self, retrieval: ScoredRetrieval, targets: list[object | None]) -> None:
        """Pass a retrieval to every sink; an `EvaluationCallback` gets its values, if there are any."""
        for sink, target in zip(self._sinks, targets, strict=True):
            if callable(getattr(sink, "on_retrieval_scored", None)):
                self._call(sink, "on_retrieval_scored", retrieval, target)
            elif retrieval.result is not None and callable(getattr(sink, "on_query_scored", None)):
                self._call(sink, "on_query_scored", retrieval.result)

    def want_session(self, n_searches: int) -> bool:
        """Whether a sink receives the scores of a session of so many searches."""
        return n_searches >= self._fewest_searches

    @cached_property
    def _fewest_searches(self) -> float:
        those = (sink for sink in self._sinks if _has_own(sink, "on_session_scored"))
        return min((getattr(sink, "fewest_searches", 1) for sink in those), default=math.inf)

    def tell_session(self, session: ScoredSession, targets: Sequence[Sequence[object | None]]) -> None:
        """Pass a session to every sink that receives it, with the targets of each search."""
        n_searches = len(session.row.searches)
        for position, sink in enumerate(self._sinks):
            if _has_own(sink, "on_session_scored") and n_searches >= getattr(sink, "fewest_searches", 1):
                self._call(sink, "on_session_scored", session, [of_search[position] for of_search in targets])

    def flush(self, end: float | None) -> bool:
        """Flush every sink until `end` (monotonic clock); return False if one of them did not finish."""
        done = True
        for sink in self._sinks:
            if callable(getattr(sink, "on_retrieval_scored", None)) and callable(getattr(sink, "flush", None)):
                left = None if end is None else max(0.0, end - time.monotonic())
                done = self._call(sink, "flush", left) is not False and done
        return done

    def _call(self, sink: Any, name: str, *arguments: object) -> Any:
        try:
            return getattr(sink, name)(*arguments)
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self._problem(f"{type(sink).__name__}.{name}", error)
            return None


def _has_own(sink: object, name: str) -> bool:
    """Return whether the class of a sink has a method of its own, and not that of `RetrievalSink`."""
    return getattr(type(sink), name, None) not in (None, getattr(RetrievalSink, name))
