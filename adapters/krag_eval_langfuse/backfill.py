"""Scores what is already in Langfuse: retriever observations are read back, scored, and get their scores.

Retriever observations that Langfuse holds: the pages of its API, and query, documents and ids in one of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError, LiveScorer, RetrievalSink, ScoredRetrieval
from krag_eval_langfuse.client import check_count, check_run_id, warn
from krag_eval_langfuse.fields import BareStrings, Where, as_row, find_retrieved
from krag_eval_langfuse.scores import ScoreNames, Target, scores_of_retrieval
from krag_eval_langfuse.sender import ScoreCounters, ScoreSender


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


# OpenInference writes each document into attributes of its own; Langfuse keeps them in the metadata.
ATTRIBUTES = "attributes"
MOST_ON_A_PAGE = 1000
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(id|content|score|metadata)\Z")
_QUERY = ("query", "question", "input", "query_str", "text")
_REPR = re.compile(r"<\w.*\(.*\)>\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One retrieval as it was recorded.

    Attributes:
        id: The observation.
        trace_id: Its trace.
        query: The text that the retriever was asked, or None.
        query_id: The id of the question, where the application named it.
        name: The name of the observation.
        documents: What came back; None where that cannot be read any more.
        error: What stands for what the retriever raised, or None.
        seconds: How long it took.
        ended_at: When it ended.
    """

    id: str
    trace_id: str
    query: str | None
    query_id: str | None
    name: str | None
    documents: list[Any] | None
    error: BaseException | None
    seconds: float
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """A page of observations.

    Attributes:
        outer: Those to be scored.
        n_inner: How many others lie directly in another one.
    """

    outer: list[Any]
    n_inner: int


def observations(
    client: Any,
    query: Mapping[str, Any],
    query_id_key: str,
    page_size: int,
    limit: int | None,
    *,
    only_outermost: bool,
) -> Iterator[Page]:
    """The observations that a query finds, newest first; whatever the client raises is let through."""
    everywhere: set[str] = set()
    if only_outermost:
        # An inner observation starts after the outer one and so comes before it: only ids are read ahead, and of a
        # limited number some more, for the outer ones of the last of them.
        ahead = None if limit is None else limit + MOST_ON_A_PAGE
        for page in _pages(client, {**query, "fields": "core"}, MOST_ON_A_PAGE, ahead):
            everywhere.update(observation.id for observation in page)
    whole = {**query, "fields": "core,basic,io,metadata", "expand_metadata": f"{query_id_key},{ATTRIBUTES}"}
    for page in _pages(client, whole, page_size, limit):
        outer = [observation for observation in page if observation.parent_observation_id not in everywhere]
        yield Page(outer, len(page) - len(outer))


def _pages(client: Any, query: Mapping[str, Any], page_size: int, limit: int | None) -> Iterator[list[Any]]:
    cursor: dict[str, str] = {}
    left = limit
    while True:
        size = page_size if left is None else min(page_size, left)
        answer = client.api.observations.get_many(limit=size, **query, **cursor)
        yield list(answer.data)
        left = None if left is None else left - len(answer.data)
        following = getattr(answer.meta, "cursor", None)
        if not following or not answer.data or left == 0:
            return
        cursor = {"cursor": following}


def read(observation: Any, query_id_key: str, retrieved: Where, strings: BareStrings) -> Recorded | None:
    """One observation; None where it names no trace or no query."""
    metadata = _mapping(observation.metadata)
    query, query_id = _query(observation.input), _query_id(metadata.get(query_id_key))
    if not observation.trace_id or (query is None and query_id is None):
        return None
    found: object = None
    if str(getattr(observation, "level", "")).rpartition(".")[2] == "ERROR":
        found = RuntimeError(getattr(observation, "status_message", None) or "recorded as an error")
    else:
        found = _documents(observation.output, metadata, retrieved, strings)
    start, end = _utc(observation.start_time), _utc(observation.end_time)
    return Recorded(
        id=str(observation.id),
        trace_id=str(observation.trace_id),
        query=query,
        query_id=query_id,
        name=observation.name,
        documents=found if isinstance(found, list) else None,
        error=found if isinstance(found, BaseException) else None,
        seconds=0.0 if start is None or end is None else max(0.0, (end - start).total_seconds()),
        ended_at=end or start or datetime.now(UTC),
    )


def _documents(output: Any, metadata: Mapping[str, Any], retrieved: Where, strings: BareStrings) -> object:
    """The documents of an output, or an error; None where it was masked, cut off or never held them."""
    try:
        found = find_retrieved(_parsed(output), retrieved, strings)
    except Exception:  # noqa: BLE001 - a function of the user's meets what was masked or cut off
        found = None
    if isinstance(found, BaseException) or (isinstance(found, list) and all(map(_is_readable, found))):
        return found
    return _of_attributes(metadata, strings)


def _is_readable(document: Any) -> bool:
    """Whether it is a document, and not the `repr` of an object that an instrumentation could not write."""
    if isinstance(document, Mapping):
        values = [document.get(key) for key in ("id", "text", "page_content", "content")]
        return any(isinstance(value, (str, int)) for value in values) and not any(map(_is_repr, values))
    return isinstance(document, str) and not _is_repr(document)


def _is_repr(value: object) -> bool:
    return isinstance(value, str) and bool(_REPR.match(value))


def _of_attributes(metadata: Mapping[str, Any], strings: BareStrings) -> list[Any] | None:
    """The documents that OpenInference wrote into attributes, in their order."""
    rows: dict[int, dict[str, Any]] = {}
    for holder in (metadata, _mapping(metadata.get(ATTRIBUTES))):
        for key, value in holder.items():
            match = _DOCUMENT.match(key)
            if match is not None:
                rows.setdefault(int(match[1]), {})[match[2]] = value
    if not rows or sorted(rows) != list(range(len(rows))):
        return None
    documents = [rows[number] | {"metadata": _mapping(rows[number].get("metadata"))} for number in range(len(rows))]
    return [as_row(document, strings) for document in documents] if all(map(_is_readable, documents)) else None


def _query(given: Any) -> str | None:
    parsed = _parsed(given)
    if isinstance(parsed, Mapping):
        return next((parsed[key] for key in _QUERY if isinstance(parsed.get(key), str)), None)
    text = parsed if isinstance(parsed, str) else given
    return text if isinstance(text, str) else None


def _query_id(given: Any) -> str | None:
    parsed = _parsed(given)
    value = parsed if isinstance(parsed, str) else given
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _parsed(value: Any) -> Any:
    """A value out of JSON, where it is a string that is JSON; else itself."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _mapping(value: Any) -> Mapping[str, Any]:
    parsed = _parsed(value)
    return parsed if isinstance(parsed, Mapping) else {}


def _utc(value: Any) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=UTC) if value.utcoffset() is None else value.astimezone(UTC)
