"""Scores what is already in Langfuse: retriever observations are read back, scored, and get their scores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError, LiveScorer, RetrievalSink, ScoredRetrieval, tell_names
from krag_eval_langfuse.arguments import check_count, check_run_id
from krag_eval_langfuse.fields import BareStrings, Where
from krag_eval_langfuse.names import ScoreNames
from krag_eval_langfuse.observations import MOST_ON_A_PAGE, Recorded, observations, read
from krag_eval_langfuse.scores import Target, scores_of_retrieval
from krag_eval_langfuse.sender import ScoreCounters, ScoreSender
from krag_eval_langfuse.warning import warn


@dataclass(frozen=True, slots=True)
class ScoredTraces:
    """What came of the observations: `observations` = `scored` + `no_gold` + `unreadable` + `inner`.

    Attributes:
        result: The evaluation of all that were scored.
        scores: What became of their scores.
        observations: How many were found.
        scored: Those with gold.
        no_gold: Those whose question is not in the gold.
        unreadable: Those whose query or documents cannot be read: masked, cut off, or recorded in another form.
        inner: Those that lie in another retriever's observation and were left out.
        problems: What went wrong, the last 20 of it.
    """

    result: EvaluationResult
    scores: ScoreCounters
    observations: int
    scored: int
    no_gold: int
    unreadable: int
    inner: int
    problems: list[str] = field(default_factory=list)


@tell_names
def score_traces(
    gold: object,
    client: Any = None,
    *,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    filters: Mapping[str, Any] | None = None,
    retrieved: Where = None,
    query_id_key: str = "krag_query_id",
    only_outermost: bool = True,
    limit: int | None = None,
    page_size: int = 100,
    send: bool = True,
    prefix: str = "krag.",
    run_id: str | None = None,
    delivery: str = "queue",
    outbox: str | os.PathLike[str] | None = None,
    on_error: str = "log",
    include_text: bool = False,
    metrics: Any = None,
    level: str = "chunk",
    doc_key: str = "doc_id",
    keep_documents: bool = True,
    **settings: Any,
) -> ScoredTraces:
    """Score retriever observations that Langfuse already holds, and send each its scores.

    The documents are read from the output of the observation: what LangChain or LlamaIndex wrote there, a list of
    dicts, or the attributes of OpenInference. What was masked or cut off is counted, not scored; a text that a mask
    replaced within an intact document cannot be told from any other. Gold is looked up by the id of the question in
    the metadata, then by the exact text of the query. To do it again overwrites the scores: their ids follow from
    the observation, and their time is its own.

    Args:
        gold: An `EvalSet`, a list of `Question`, or a mapping from a query's id or text to its gold documents.
        client: A Langfuse client; None takes `langfuse.get_client()`.
        k: One cut-off or several, each at least 1; None scores all ranks.
        filters: What `client.api.observations.get_many` takes, such as `trace_id`, `name`, `environment` or
            `from_start_time`; `type` is `"RETRIEVER"` unless it is given here.
        retrieved: Where the documents stand in the output: a key, or a function of it.
        query_id_key: The key of the metadata under which the application named the question.
        only_outermost: Leave out observations that lie directly in another one that the filters find.
        limit: At most so many observations, the newest first; None takes all.
        page_size: How many are asked for at once, 1 to 1000.
        send: False sends nothing and only returns the numbers.
        prefix: What the names of all scores begin with.
        run_id: Part of the ids of the scores: with another one they are added instead of overwritten.
        delivery: `"queue"`, `"sync"` or `"outbox"`, as for `LangfuseScoreHandler`.
        outbox: The file, with `delivery="outbox"`; what is in it may still be on its way when this returns.
        on_error: `"log"` or `"raise"`.
        include_text: Put the text and the id of each query into the metadata of its scores.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"` or `"document"`; at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        keep_documents: Keep what was read, so that the result has `per_query` and `explain`.
        **settings: The scoring settings that `evaluate` takes. `match_method` is `"id"` where the gold is a question
            set, as for `evaluate_run`, else `"text"`; bare strings are ids or texts accordingly.

    Raises:
        InvalidInputError: An argument cannot be used.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
    """
    if gold is None:
        raise InvalidInputError("`gold` is None. Recorded retrievals are scored against gold documents: give them.")
    check_count("page_size", page_size, most=MOST_ON_A_PAGE)
    if limit is not None:
        check_count("limit", limit)
    by_id = level == "document" or not isinstance(gold, Mapping)  # the defaults of `evaluate_run` and of `evaluate`
    settings = {"match_method": "id" if by_id else "text", **settings}
    strings = BareStrings.under({**settings, **({"id_key": doc_key} if level == "document" else {})})
    sender = ScoreSender(client, delivery=delivery, outbox=outbox, on_error=on_error, needed_by="score_traces")
    sink = _ToObservations(sender if send else None, ScoreNames(prefix), check_run_id(run_id), include_text)
    scorer = LiveScorer(
        gold,
        k=k,
        metrics=metrics,
        sinks=[sink],
        max_pending=MOST_ON_A_PAGE,
        level=level,
        doc_key=doc_key,
        keep_documents=keep_documents,
        **settings,
    )
    n_found = n_inner = n_unreadable = 0
    query = {"type": "RETRIEVER", **(filters or {})}
    for page in observations(sender.client, query, query_id_key, page_size, limit, only_outermost=only_outermost):
        n_found += len(page.outer) + page.n_inner
        n_inner += page.n_inner
        for observation in page.outer:
            recorded = read(observation, query_id_key, retrieved, strings)
            if recorded is None or (recorded.documents is None and recorded.error is None):
                n_unreadable += 1
            else:
                _put(scorer, sink, recorded)
        scorer.flush()
        sink.waiting.clear()
    sender.finish()
    counters = scorer.counters
    if n_found and not counters.scored:
        warn(
            f"Not one of {n_found} observations was scored: {counters.no_gold} have no gold, "
            f"{n_unreadable + counters.unreadable} cannot be read. Gold is found by the id under {query_id_key!r} in "
            "the metadata or by the exact text of the query. Compare these with the gold given."
        )
    return ScoredTraces(
        result=scorer.result(),
        scores=sender.counters,
        observations=n_found,
        scored=counters.scored,
        no_gold=counters.no_gold,
        unreadable=n_unreadable + counters.unreadable,
        inner=n_inner,
        problems=list(scorer.problems),
    )


class _ToObservations(RetrievalSink):
    """Sends scores to the observations that they were read from; those without gold get none."""

    def __init__(self, sender: ScoreSender | None, names: ScoreNames, run_id: str | None, include_text: bool) -> None:
        self._sender = sender
        self._names, self._run_id, self._include_text = names, run_id, include_text
        self.waiting: dict[str, Recorded] = {}

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:  # noqa: ARG002 - known
        """Send the scores of an observation."""
        recorded = self.waiting.pop(retrieval.run_id)
        if self._sender is None or retrieval.result is None:
            return
        scores = scores_of_retrieval(
            replace(retrieval, seconds=recorded.seconds, ended_at=recorded.ended_at),
            Target(trace_id=recorded.trace_id, observation_id=recorded.id),
            names=self._names,
            run_id=self._run_id,
            include_text=self._include_text,
            clean=self._sender.clean,
        )
        self._sender.skip(undefined=len(retrieval.scores) - len(scores))
        self._sender.send(scores)


def _put(scorer: LiveScorer, sink: _ToObservations, recorded: Recorded) -> None:
    sink.waiting[recorded.id] = recorded
    scorer.begin("langfuse", recorded.id, recorded.query or "", query_id=recorded.query_id, name=recorded.name)
    if recorded.error is not None:
        scorer.fail(recorded.id, recorded.error)
    else:
        scorer.end(recorded.id, recorded.documents or [])
