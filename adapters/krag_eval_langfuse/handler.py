"""The handler that sends scores to Langfuse: of evaluations to the trace of each query, live ones to observations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.evaluation import EvaluationStart, QueryResult
from krag_eval.toolkit import refuse, warn
from krag_eval_langfuse.client import check_run_id, check_timestamp
from krag_eval_langfuse.locating import Locator
from krag_eval_langfuse.scores import Primitive, Score, ScoreNames, Target, make_scores, texts
from krag_eval_langfuse.sender import ScoreCounters, ScoreSender
from krag_eval_live import RetrievalSink, ScoredRetrieval, ScoredSession
from krag_eval_live.sinks import fewest_searches

if TYPE_CHECKING:
    from krag_eval.evaluation import Diagnosis

_POOLED = ("recall", "precision", "f1")  # results have micro values of these too


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """What all scores of the current offline evaluation share."""

    run_id: str
    timestamp: datetime
    metadata: Mapping[str, Primitive]


class LangfuseScoreHandler(RetrievalSink):
    """Sends scores to Langfuse: give it to `evaluate(..., callbacks=[...])` or to a live handler's `sinks=[...]`.

    Offline, the scores of each query go to its trace or observation, and the aggregates to the dataset run or session.
    Live, the scores of a retrieval go to its own observation. A score without a known target is counted and never sent
    elsewhere. One handler stands for one run: a score that is sent again has the same id and time, so Langfuse
    overwrites it.

    Args:
        client: A Langfuse client; None takes `langfuse.get_client()` on first use.
        trace_ids: For an offline evaluation: a mapping from query ids (or numbers, for queries without an id) to a
            trace id or to `(trace_id, observation_id)`; or a list of these, one per query, with None for no trace.
        dataset_run_id: The dataset run (the experiment) that the aggregates belong to.
        session_id: The session that the aggregates belong to, instead of a dataset run.
        prefix: The prefix of all names: `recall@5` is sent as `krag.recall_at_5`.
        run_id: Distinguishes the scores of this run from those of others; by default the settings of the evaluation
            (its signature), so that repeating an evaluation of the same traces on the same day overwrites its scores.
        timestamp: The time of all scores of an offline run, with a time zone; by default the time of the first one.
            Langfuse overwrites only scores of the same day: pass the first run's `timestamp` to overwrite them later.
        delivery: `"queue"` hands scores to the client, which sends them in the background and tells nobody whether
            they arrived; `"sync"` sends them at once and knows; `"outbox"` writes them to a file and sends them from
            there in the background, until each is accepted.
        outbox: That file, which several processes may share. What one left is sent by the next that opens it.
        on_error: `"log"`, or `"raise"` a `LangfuseDeliveryError` at the end of an evaluation. `evaluate` turns what a
            callback raises into one warning, unless it is called with `raise_errors=True`.
        langchain_handler: One or several callback handlers of Langfuse that the chains are called with. They know the
            observation of each retrieval; without one it is the current span, if Langfuse records that.
        include_text: Add the text and the id of each query to the metadata of its scores. The client's `mask` is not
            applied to these.
        booleans: Send the values that are 0 or 1 for each query as BOOLEAN: `hit_rate`, `hit_rate_all`, `success`,
            `doc_hit`, and live `empty`. Their means stay NUMERIC.
        verdicts: Add a CATEGORICAL score `verdict` to each query with gold: `all_found`, `some_found`, `none_found`,
            `nothing_retrieved` or `retriever_error`, at the largest cut-off. It needs the metric `recall`.
        sessions: Which live sessions get scores on their trace: those of `"several"` searches, whose single searches
            cannot say what was found altogether; `"all"`, also those of one search; or `"none"`.
        config_ids: The ids of score configs in Langfuse by key, such as `{"recall@5": "cm1...", "verdict": "cm2..."}`.
            Langfuse rejects a score whose name, type or value is not that of its config.

    Attributes:
        counters: Counts of scores by outcome; also as `sent`, `skipped` and `failed`.

    Raises:
        InvalidInputError: An argument is invalid, or both `dataset_run_id` and `session_id` are given.
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
        booleans: bool = False,
        verdicts: bool = False,
        sessions: str = "several",
        config_ids: Mapping[str, str] | None = None,
    ) -> None:
        self.fewest_searches = fewest_searches(sessions)
        self._traces = None if trace_ids is None else _TraceMap(trace_ids)
        self._whole = None
        if dataset_run_id is not None or session_id is not None:
            self._whole = Target(dataset_run_id=dataset_run_id, session_id=session_id)
        self._names = ScoreNames(prefix, booleans=booleans, verdicts=verdicts, config_ids=config_ids)
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
        """Counts of scores by outcome."""
        return self._sender.counters

    @property
    def sent(self) -> int:
        """Number of scores accepted by Langfuse (`"sync"`, `"outbox"`) or passed to the client (`"queue"`)."""
        return self.counters.sent

    @property
    def skipped(self) -> int:
        """Number of scores that are undefined or have no target."""
        return self.counters.skipped

    @property
    def failed(self) -> int:
        """Number of scores that could not be passed on or were not accepted."""
        return self.counters.failed

    def send(self, result: EvaluationResult, *, diagnosis: Diagnosis | None = None) -> ScoreCounters:
        """Send the scores of a finished evaluation.

        Args:
            result: The result.
            diagnosis: What `diagnose(result)` returned: each query with gold gets a CATEGORICAL score `cause`, which is
                the most frequent cause of its missed gold documents, or `found`.

        Raises:
            InvalidInputError: There is no target, `trace_ids` are given but the result has no queries, or the diagnosis
                is of another result.
            LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
        """
        rows = result.per_query if self._traces is not None else ()
        causes = {} if diagnosis is None else _causes(diagnosis, result)
        self.on_evaluation_start(EvaluationStart(result.n_queries, tuple(result.undefined), result.signature))
        for row in rows:
            self._send_query(row, {"cause": causes[row.index]} if row.index in causes else {})
        self.on_evaluation_end(result)
        return self.counters

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        """Prepare what all scores of this evaluation share.

        Raises:
            InvalidInputError: There is no target, or a key has no valid name.
        """
        self._evaluation, self._n_placed = None, 0
        if self._traces is None and self._whole is None:
            raise InvalidInputError(
                "The Langfuse handler has no target for the scores of this evaluation. Each score needs a trace, a "
                "dataset run or a session. Pass `trace_ids`, `dataset_run_id` or `session_id`."
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
        """Send the scores of a query to its trace; count them if it has none."""
        self._send_query(query, {})

    def _send_query(self, query: QueryResult, cause: Mapping[str, str]) -> None:
        if self._evaluation is None or self._traces is None:
            return
        target = self._traces.find(query)
        values = {**query.values, **self._names.verdict(query), **cause}
        if target is None:
            self._sender.skip(no_target=len(values))
            return
        self._n_placed += 1
        counts = {"query_index": query.index, "n_gold": query.n_gold, "n_retrieved": query.n_retrieved}
        metadata: dict[str, Primitive] = {**self._evaluation.metadata, **counts}
        if query.error is not None:
            metadata["retriever_raised"] = True
        if self._include_text:
            metadata |= self._sender.clean(texts(query.id, query.query))
        which = f"query={query.id if query.id is not None else query.index}"
        identity, timestamp = (self._evaluation.run_id, which), self._evaluation.timestamp
        _send(self._sender, values, make_scores(values, target, self._names, identity, timestamp, metadata))

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        """Send the aggregates and everything that still waits.

        Raises:
            LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
        """
        running, self._evaluation = self._evaluation, None
        if running is None:
            return
        if self._whole is not None:
            metadata = {**running.metadata, "n_queries": result.n_queries}
            values, identity = result.to_dict(), (running.run_id, "aggregate")
            scores = make_scores(values, self._whole, self._names, identity, running.timestamp, metadata, of_run=True)
            _send(self._sender, values, scores)
        self._sender.finish()
        if self._traces is not None and not self._n_placed and result.n_queries:
            warn(
                f"None of {result.n_queries} queries is in `trace_ids`, so no scores of queries were sent. Its keys "
                "must be the ids passed as `query_ids`, or the numbers of the queries if there are no ids. Compare "
                "the two."
            )

    def follow(self, langchain_handler: Any) -> None:
        """Look up the observations of retrievals in this callback handler of Langfuse too.

        For applications that create one per request: only a weak reference to it is kept.

        Raises:
            InvalidInputError: It is not a callback handler.
        """
        self._locate.follow(langchain_handler)

    def locate(self, framework: str, run_id: object) -> Target | None:
        """Return the trace and observation of the current retrieval, if they are certain."""
        return self._locate(framework, run_id)

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Send the scores of a live retrieval to its target; count them if that is unknown."""
        if not isinstance(target, Target):
            self._sender.skip(no_target=len(retrieval.main_scores))
            return
        send_retrieval(self._sender, retrieval, target, self._names, self._run_id, self._include_text)
        self._sender.finish()

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:
        """Send the scores of a live session to the trace of its searches; count them if that is unknown."""
        if not session.scores:
            return
        values = session.main_scores
        known = [target for target in targets if isinstance(target, Target)]
        wholes = {replace(target, observation_id=None) for target in known}
        if len(wholes) != 1:
            self._sender.skip(no_target=len(values))
            return
        target = wholes.pop()
        metadata: dict[str, Primitive] = {"n_searches": len(session.row.searches), **target.metadata}
        if self._include_text:
            metadata |= texts(session.query_id, session.row.searches[0].query)
        identity = (self._run_id or "", f"session={session.session_id}")
        clean = self._sender.clean(metadata)
        _send(self._sender, values, make_scores(values, target, self._names, identity, session.ended_at, clean))
        self._sender.finish()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all scores are sent, at most `timeout` seconds; return whether they are.

        It is also False if a score since the last `flush` could not be stored, for example because the disk is full.
        """
        return self._sender.flush(timeout)

    def close(self, timeout: float | None = 30.0) -> None:
        """Flush, and close the outbox.

        Raises:
            LangfuseDeliveryError: Scores are waiting or did not arrive, and `on_error` is `"raise"`; otherwise it
                warns.
        """
        self._sender.close(timeout)


def send_retrieval(
    sender: ScoreSender, retrieval: ScoredRetrieval, target: Target, names: ScoreNames, run_id: str | None, text: bool
) -> None:
    """Send the scores of one retrieval; their ids are derived from it, and their time is that of its end.

    Args:
        sender: Sends them.
        retrieval: The retrieval.
        target: What its scores belong to.
        names: Their names.
        run_id: The run that they belong to, if any.
        text: Add the text and the id of the query to the metadata.
    """
    metadata: dict[str, Primitive] = {"seconds": retrieval.seconds, **target.metadata}
    if retrieval.name is not None:
        metadata["retriever"] = retrieval.name
    if retrieval.error is not None:
        metadata["retriever_raised"] = True
    if retrieval.result is not None:
        metadata |= {"n_gold": retrieval.result.n_gold, "n_retrieved": retrieval.n_retrieved}
        metadata["n_repeats"] = retrieval.n_repeats
    if text:
        metadata |= texts(retrieval.query_id, retrieval.query)
    identity = (run_id or "", f"retrieval={retrieval.run_id}")
    verdict = {} if retrieval.result is None else names.verdict(retrieval.result)
    values = {**retrieval.main_scores, **verdict}
    _send(sender, values, make_scores(values, target, names, identity, retrieval.ended_at, sender.clean(metadata)))


def _send(sender: ScoreSender, values: Mapping[str, float | str | None], scores: Sequence[Score]) -> None:
    """Send the scores of values, and count those that are undefined."""
    sender.skip(undefined=len(values) - len(scores))
    sender.send(scores)


def _causes(diagnosis: Diagnosis, result: EvaluationResult) -> dict[int, str]:
    """Return the cause of each query with gold: the most frequent one of its misses, or `found`.

    Raises:
        InvalidInputError: The diagnosis is of another result.
    """
    if diagnosis.signature != result.signature or max(diagnosis.gold_queries, default=0) >= result.n_queries:
        raise InvalidInputError(
            f"`diagnosis` is of another result: its settings are {diagnosis.signature}, those of the result are "
            f"{result.signature}. Pass `diagnose(result)`."
        )
    causes: dict[int, Counter[str]] = {}
    for query, cause in zip(diagnosis.gold_queries.tolist(), diagnosis.causes, strict=True):
        causes.setdefault(query, Counter())[cause] += 1
    missed = {query: Counter({c: n for c, n in counts.items() if c != "found"}) for query, counts in causes.items()}
    return {query: counts.most_common(1)[0][0] if counts else "found" for query, counts in missed.items()}


Traces = Mapping[Any, object] | Sequence[object]


class _TraceMap:
    """Finds the trace of a query by its id or number.

    Args:
        given: A mapping from query ids (or numbers, for queries without an id) to a trace id or to a pair
            `(trace_id, observation_id)`; or a list of these, one per query, with None for no trace.

    Raises:
        InvalidInputError: It is neither, or holds something else.
    """

    def __init__(self, given: Traces) -> None:
        if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
            refuse("trace_ids", "a mapping from query ids to trace ids, or a list with one trace id per query", given)
        self.is_list = not isinstance(given, Mapping)
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        self._targets = {str(key): _target(key, place) for key, place in pairs if place is not None}
        self._size = len(given)

    def check_size(self, n_queries: int | None) -> None:
        """Check that a list has one entry per query: otherwise scores would go to the traces of other queries.

        Raises:
            InvalidInputError: It has not.
        """
        if self.is_list and n_queries is not None and n_queries != self._size:
            raise InvalidInputError(
                f"`trace_ids` is a list of {self._size} for {n_queries} queries. A list needs one entry per query, "
                "None for a query without a trace. Pass a mapping from query ids if only some have one."
            )

    def find(self, query: QueryResult) -> Target | None:
        """Return the target of a query, or None."""
        by_number = self.is_list or query.id is None
        return self._targets.get(str(query.index) if by_number else str(query.id))


def _target(key: object, place: object) -> Target:
    trace_id, observation_id = place if isinstance(place, (tuple, list)) and len(place) == 2 else (place, None)
    if not isinstance(trace_id, str) or not isinstance(observation_id, (str, type(None))):
        refuse(f"trace_ids[{key!r:.60}]", "a trace id, or a pair of a trace id and an observation id", place)
    return Target(trace_id=trace_id, observation_id=observation_id)
