"""The sink of scores: of an offline evaluation to each query's trace, of live retrievals to their observation.

Which trace each query of an offline evaluation belongs to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from krag_eval import EvaluationResult, EvaluationStart, InvalidInputError, QueryResult, RetrievalSink, ScoredRetrieval
from krag_eval_langfuse.client import check_run_id, check_timestamp, warn
from krag_eval_langfuse.locating import Locator
from krag_eval_langfuse.scores import (
    Primitive,
    ScoreNames,
    Target,
    make_scores,
    metadata_of,
    scores_of_retrieval,
    texts,
)
from krag_eval_langfuse.sender import ScoreCounters, ScoreSender

_POOLED = ("recall", "precision", "f1")  # those that a result also has as micro values


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """What all scores of the offline evaluation that runs now have in common."""

    run_id: str
    timestamp: datetime
    metadata: Mapping[str, Primitive]


class LangfuseScoreHandler(RetrievalSink):
    """Sends scores to Langfuse: give it to `evaluate(..., callbacks=[...])` or to a live handler's `sinks=[...]`.

    Offline, each query's scores go to its trace or observation, and the aggregates to the dataset run or session.
    Live, the scores of a retrieval go to its own observation. A score without a known place is counted, never sent
    to some other. One handler stands for one run: what it sends twice has the same ids and times, so that Langfuse
    overwrites it.

    Args:
        client: A Langfuse client; None takes `langfuse.get_client()` on first use.
        trace_ids: For an offline evaluation: a mapping from the id of a query (its number, where it has none) to a
            trace id or to `(trace_id, observation_id)`; or a list of these, one a query, None for a query without.
        dataset_run_id: The dataset run (the experiment) that the aggregates belong to.
        session_id: The session that the aggregates belong to, instead of a dataset run.
        prefix: What the names of all scores begin with: `recall@5` is sent as `krag.recall_at_5`.
        run_id: What tells this run's scores from those of another; by default the settings of the evaluation (its
            signature), so that the same evaluation of the same traces overwrites what it sent earlier that day.
        timestamp: The time of all scores of an offline run, with a time zone; by default the time of the first one.
            Langfuse overwrites only scores of the same day: give the first run's `timestamp` to overwrite them later.
        delivery: `"queue"` hands scores to the client, which sends them in the background and tells nobody whether
            they arrived; `"sync"` sends them at once and knows; `"outbox"` writes them to a file and sends them from
            there in the background, until each is accepted.
        outbox: That file, which several processes may share. What one left is sent by the next that opens it.
        on_error: `"log"`, or `"raise"` a `LangfuseDeliveryError` at the end of an evaluation. `evaluate` turns what a
            callback raises into one warning, unless it is called with `raise_errors=True`.
        langchain_handler: The callback handler, or handlers, of Langfuse that the chains are called with. They know
            the observation of each retrieval; without one it is the current span, if Langfuse records that.
        include_text: Put the text and the id of each query into the metadata of its scores. A client's `mask` does
            not see these.

    Attributes:
        counters: What became of the scores; also as `sent`, `skipped` and `failed`.

    Raises:
        InvalidInputError: An argument cannot be used, or both `dataset_run_id` and `session_id` are given.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client is disabled, and `on_error` is `"raise"`.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        trace_ids: Traces | None = None,
        dataset_run_id: str | None = None,
        session_id: str | None = None,
        prefix: str = "krag.",
        run_id: str | None = None,
        timestamp: datetime | None = None,
        delivery: str = "queue",
        outbox: str | os.PathLike[str] | None = None,
        on_error: str = "log",
        langchain_handler: object = (),
        include_text: bool = False,
    ) -> None:
        self._traces = None if trace_ids is None else TraceMap(trace_ids)
        self._whole = None
        if dataset_run_id is not None or session_id is not None:
            self._whole = Target(dataset_run_id=dataset_run_id, session_id=session_id)
        self._names = ScoreNames(prefix)
        self._run_id, self._timestamp = check_run_id(run_id), check_timestamp(timestamp)
        self._include_text = include_text
        self._sender = sender = ScoreSender(
            client, delivery=delivery, outbox=outbox, on_error=on_error, needed_by="LangfuseScoreHandler"
        )
        self._locate = Locator(lambda: sender.client, langchain_handler, self._whole)
        self._evaluation: _Evaluation | None = None
        self._n_placed = 0

    @property
    def counters(self) -> ScoreCounters:
        """What became of the scores."""
        return self._sender.counters

    @property
    def sent(self) -> int:
        """Scores accepted by Langfuse (`"sync"` and `"outbox"`) or handed over to the client (`"queue"`)."""
        return self.counters.sent

    @property
    def skipped(self) -> int:
        """Scores that are undefined or have no target."""
        return self.counters.skipped

    @property
    def failed(self) -> int:
        """Scores that could not be handed over or were not accepted."""
        return self.counters.failed

    def send(self, result: EvaluationResult) -> ScoreCounters:
        """Send the scores of an evaluation that is over; what is wrong with them is raised here.

        Raises:
            InvalidInputError: There is no target, or `trace_ids` are given and the result kept no queries.
            LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
        """
        rows = result.per_query if self._traces is not None else ()
        self.on_evaluation_start(EvaluationStart(result.n_queries, tuple(result.undefined), result.signature))
        for row in rows:
            self.on_query_scored(row)
        self.on_evaluation_end(result)
        return self.counters

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        """Settle what all scores of this evaluation have in common.

        Raises:
            InvalidInputError: There is no target, or the keys make no names.
        """
        self._evaluation, self._n_placed = None, 0
        if self._traces is None and self._whole is None:
            raise InvalidInputError(
                "The Langfuse handler does not know where the scores of this evaluation belong. Each score needs a "
                "trace, a dataset run or a session. Give it `trace_ids`, `dataset_run_id` or `session_id`."
            )
        if self._traces is not None:
            self._traces.check_size(start.n_queries)
        pooled = [f"micro_{key}" for key in start.keys if key.partition("@")[0] in _POOLED]
        self._names.check((*start.keys, *pooled))
        self._sender.check()
        self._timestamp = self._timestamp or datetime.now(UTC)
        metadata: dict[str, Primitive] = {"signature": start.signature}
        if self._run_id is not None:
            metadata["run_id"] = self._run_id
        self._evaluation = _Evaluation(self._run_id or start.signature, self._timestamp, self._sender.clean(metadata))

    def on_query_scored(self, query: QueryResult) -> None:
        """Send a query's scores to its trace; count them where it has none."""
        if self._evaluation is None or self._traces is None:
            return
        target = self._traces.find(query)
        if target is None:
            self._sender.skip(no_target=len(query.values))
            return
        self._n_placed += 1
        metadata = {**self._evaluation.metadata, **metadata_of(query)}
        if self._include_text:
            metadata |= self._sender.clean(texts(query.id, query.query))
        which = f"query={query.id if query.id is not None else query.index}"
        self._send(query.values, target, (self._evaluation.run_id, which), self._evaluation.timestamp, metadata)

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        """Send the aggregates, and whatever still waits.

        Raises:
            LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
        """
        running, self._evaluation = self._evaluation, None
        if running is None:
            return
        if self._whole is not None:
            metadata = {**running.metadata, "n_queries": result.n_queries}
            self._send(result.to_dict(), self._whole, (running.run_id, "aggregate"), running.timestamp, metadata)
        self._sender.finish()
        if self._traces is not None and not self._n_placed and result.n_queries:
            warn(
                f"Not one of {result.n_queries} queries is in `trace_ids`, so no query's scores were sent. Its keys "
                "must be the ids given as `query_ids`, or the numbers of the queries where none are given. Compare "
                "the two."
            )

    def follow(self, langchain_handler: Any) -> None:
        """Look for the observations of retrievals in this callback handler of Langfuse too.

        For an application that makes one a request: it is held weakly and forgotten with the request.

        Raises:
            InvalidInputError: It is no callback handler.
        """
        self._locate.follow(langchain_handler)

    def locate(self, framework: str, run_id: object) -> Target | None:
        """The trace and observation of the retrieval that runs now, if they are known for certain."""
        return self._locate(framework, run_id)

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Send the scores of a live retrieval to where it was located; count them where that is not known."""
        if not isinstance(target, Target):
            self._sender.skip(no_target=len(retrieval.scores))
            return
        scores = scores_of_retrieval(
            retrieval,
            target,
            names=self._names,
            run_id=self._run_id,
            include_text=self._include_text,
            clean=self._sender.clean,
        )
        self._sender.skip(undefined=len(retrieval.scores) - len(scores))
        self._sender.send(scores)
        self._sender.finish()

    def flush(self, timeout: float | None = None) -> bool:  # the scorer looks at no answer
        """Wait until all that was taken has left, at most `timeout` seconds; whether it was done by then."""
        return self._sender.flush(timeout)

    def close(self, timeout: float | None = 30.0) -> None:
        """Flush, and let go of the outbox: another process may open it then.

        Raises:
            LangfuseDeliveryError: Scores wait or did not arrive, and `on_error` is `"raise"`; else that is a warning.
        """
        self._sender.close(timeout)

    def _send(
        self,
        values: Mapping[str, float | None],
        target: Target,
        identity: tuple[str, ...],
        timestamp: datetime,
        metadata: Mapping[str, Primitive],
    ) -> None:
        scores = make_scores(
            values, target, names=self._names, identity=identity, timestamp=timestamp, metadata=metadata
        )
        self._sender.skip(undefined=len(values) - len(scores))
        self._sender.send(scores)


Traces = Mapping[Any, object] | Sequence[object]
_EXPECTED = "Give a trace id, or a pair of a trace id and an observation id"


class TraceMap:
    """Finds the trace of a query by its id, or by its number.

    Args:
        given: A mapping from a query's id (its number, where it has no id) to a trace id or to a pair
            `(trace_id, observation_id)`; or a list of these, one a query, with None for a query without a trace.

    Raises:
        InvalidInputError: It is neither, or holds something else.
    """

    def __init__(self, given: Traces) -> None:
        if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
            raise InvalidInputError(
                f"`trace_ids` is {given!r:.60}. It must be a mapping from query ids to trace ids, or a list with one "
                "trace id a query. Make it one of these."
            )
        self.is_list = not isinstance(given, Mapping)
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        self._targets = {str(key): _target(key, place) for key, place in pairs if place is not None}
        self._size = len(given)

    def check_size(self, n_queries: int | None) -> None:
        """A list has to be as long as the evaluation: otherwise scores would go to the traces of other queries.

        Raises:
            InvalidInputError: It is not.
        """
        if self.is_list and n_queries is not None and n_queries != self._size:
            raise InvalidInputError(
                f"`trace_ids` is a list of {self._size} for {n_queries} queries. A list needs one entry a query, None "
                "for a query without a trace. Give a mapping from query ids if only some have one."
            )

    def find(self, query: QueryResult) -> Target | None:
        """The target of a query, or None."""
        by_number = self.is_list or query.id is None
        return self._targets.get(str(query.index) if by_number else str(query.id))


def _target(key: object, place: object) -> Target:
    trace_id, observation_id = place if isinstance(place, (tuple, list)) and len(place) == 2 else (place, None)
    if not isinstance(trace_id, str) or not isinstance(observation_id, (str, type(None))):
        raise InvalidInputError(f"`trace_ids[{key!r:.60}]` is {place!r:.80}. {_EXPECTED}.")
    return Target(trace_id=trace_id, observation_id=observation_id)
