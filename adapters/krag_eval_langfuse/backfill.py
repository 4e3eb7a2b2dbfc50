"""Score retriever observations that Langfuse has recorded."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.toolkit import DEFAULT_CUT_OFFS, IdKey, check_count, warn
from krag_eval_formats.dialects import FromTools, question_in
from krag_eval_langfuse.client import check_run_id
from krag_eval_langfuse.delivery import requests_of
from krag_eval_langfuse.fields import BareStrings, Where, as_row, find_retrieved
from krag_eval_langfuse.handler import send_retrieval
from krag_eval_langfuse.kinds import AROUND, KINDS, RETRIEVER, TOOL, Nesting, returned
from krag_eval_langfuse.scores import ScoreNames, Target
from krag_eval_langfuse.sender import ScoreCounters, ScoreSender
from krag_eval_live import LiveScorer, RetrievalSink, ScoredRetrieval
from krag_eval_live.tools import check_tools


@dataclass(frozen=True, slots=True)
class ScoredTraces:
    """The outcome of `score_traces`: `observations` = `scored` + `no_gold` + `unreadable` + `inner`.

    Attributes:
        result: The evaluation of all scored observations.
        scores: Counts of their scores by outcome.
        observations: Number of observations found.
        scored: Those with gold.
        no_gold: Those whose question is not in the gold.
        unreadable: Those whose query or documents cannot be read: masked, truncated, or recorded in another form.
        inner: Those nested in another retriever's observation, which were left out.
        problems: The last 20 errors.
        tools: How many observations of each tool are no retrievals, since they returned no documents that can be read.
    """

    result: EvaluationResult
    scores: ScoreCounters
    observations: int
    scored: int
    no_gold: int
    unreadable: int
    inner: int
    problems: list[str] = field(default_factory=list)
    tools: Mapping[str, int] = field(default_factory=dict)


def score_traces(
    gold: object,
    client: Any = None,
    *,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    filters: Mapping[str, Any] | None = None,
    retrieved: Where = None,
    from_tools: FromTools | None = None,
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
    booleans: bool = False,
    verdicts: bool = False,
    config_ids: Mapping[str, str] | None = None,
    metrics: Any = None,
    level: str = "chunk",
    doc_key: IdKey = "doc_id",
    keep_documents: bool = True,
    **settings: Any,
) -> ScoredTraces:
    """Score retrievals that Langfuse has recorded, and add the scores to their observations.

    Retrievals are the observations of retrievers, and those of tools, chains and plain spans that returned documents of
    LangChain, LlamaIndex or Haystack which they were not given, unless there is a retrieval in them.

    The documents are read from the output of the observation: as LangChain or LlamaIndex wrote them, a list of dicts,
    or the attributes of OpenInference. Masked or truncated observations are counted, not scored; a text that a mask
    replaced within an intact document cannot be recognized. Gold is looked up by the id of the question in the
    metadata, then by the exact text of the query. Running this again overwrites the scores: their ids are derived from
    the observation, and their time is that of the observation.

    Args:
        gold: An `EvalSet`, a list of `Question`, or a mapping from a query's id or text to its gold documents.
        client: A Langfuse client; None takes `langfuse.get_client()`.
        k: One cut-off or several, each at least 1; None scores all ranks.
        filters: Arguments of `client.api.observations.get_many`, such as `trace_id`, `name`, `environment` or
            `from_start_time`; with `type`, only the observations of this type are read, such as `"RETRIEVER"`.
        retrieved: Where the documents are in the output: a key, or a function of it; not of tools, chains and spans,
            unless they are the `type` of the filters.
        from_tools: By the name of a tool that returned other things than these, a function that returns the documents
            in its output, which is read if it is JSON. An error of such a tool counts as nothing retrieved.
        query_id_key: The key of the metadata that holds the id of the question.
        only_outermost: Leave out observations nested directly in another one that the filters find.
        limit: The maximum number of observations of each type, newest first; None takes all.
        page_size: How many observations one request returns, 1 to 1000.
        send: False only returns the numbers and sends nothing.
        prefix: The prefix of the names of all scores.
        run_id: Part of the ids of the scores: with another one, scores are added instead of overwritten.
        delivery: `"queue"`, `"sync"` or `"outbox"`, as for `LangfuseScoreHandler`.
        outbox: The file for `delivery="outbox"`; its scores may not all be sent yet when this returns.
        on_error: `"log"` or `"raise"`.
        include_text: Add the text and the id of each query to the metadata of its scores.
        booleans: As for `LangfuseScoreHandler`.
        verdicts: As for `LangfuseScoreHandler`.
        config_ids: As for `LangfuseScoreHandler`.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"` or `"document"`; at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        keep_documents: Keep the documents, so that the result has `per_query` and `explain`.
        **settings: The scoring settings that `evaluate` takes. `match_method` is `"id"` by default if the gold is a
            question set, as for `evaluate_run`, else `"text"`; bare strings are ids or texts accordingly.

    Raises:
        InvalidInputError: An argument is invalid.
        MissingDependencyError: langfuse is not installed.
        LangfuseRequestError: The observations cannot be read.
        LangfuseDeliveryError: Scores did not arrive, and `on_error` is `"raise"`.
    """
    if gold is None:
        raise InvalidInputError("`gold` is None. Pass the gold documents to score recorded retrievals against.")
    check_count("page_size", page_size, most=_LARGEST_PAGE)
    if limit is not None:
        check_count("limit", limit)
    by_id = level == "document" or not isinstance(gold, Mapping)  # the defaults of `evaluate_run` and of `evaluate`
    settings = {"match_method": "id" if by_id else "text", **settings}
    strings = BareStrings.under({**settings, **({"id_key": doc_key} if level == "document" else {})})
    sender = ScoreSender(client, delivery=delivery, outbox=outbox, on_error=on_error, needed_by="score_traces")
    names = ScoreNames(prefix, booleans=booleans, verdicts=verdicts, config_ids=config_ids)
    sink = _ToObservations(sender if send else None, names, check_run_id(run_id), include_text)
    scorer = LiveScorer(
        gold,
        k=k,
        metrics=metrics,
        sinks=[sink],
        max_pending=_LARGEST_PAGE,
        level=level,
        doc_key=doc_key,
        keep_documents=keep_documents,
        **settings,
    )
    scorer.sample = 1.0  # whether live scores are on does not matter here
    names.check(scorer.result().keys())
    n_found = n_inner = n_unreadable = 0
    with requests_of("score_traces", sender.client):
        query = _check_filters(filters, sender.client)
    nesting, reader = Nesting(), _Reader(query_id_key, retrieved, strings, check_tools(from_tools))
    pages = _recordings(sender.client, query, reader, nesting, page_size, limit, only_outermost=only_outermost)
    for read, n_nested in pages:
        n_found += len(read) + n_nested
        n_inner += n_nested
        n_unreadable += read.count(None)
        for recorded in filter(None, read):
            sink.waiting[recorded.id] = recorded
            scorer.begin("langfuse", recorded.id, recorded.query or "", query_id=recorded.query_id, name=recorded.name)
            if isinstance(recorded.retrieved, BaseException):
                scorer.fail(recorded.id, recorded.retrieved)
            else:
                scorer.end(recorded.id, recorded.retrieved)
        scorer.flush()
        sink.waiting.clear()
    sender.finish()
    counters = scorer.counters
    if n_found and not counters.scored:
        warn(
            f"None of {n_found} observations was scored: {counters.no_gold} have no gold, "
            f"{n_unreadable + counters.unreadable} cannot be read. Gold is looked up by the id under {query_id_key!r} "
            "in the metadata or by the exact text of the query. Compare these with your gold."
        )
    if nesting.tools and not n_found:
        seen = ", ".join(f"{name!r:.60} ({n})" for name, n in nesting.tools.most_common(3))
        warn(
            f"No observation is a retrieval. These tools returned no documents that can be read: {seen}. Say how with "
            'from_tools={"NAME": function}.'
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
        tools=dict(nesting.tools),
    )


class _ToObservations(RetrievalSink):
    """Sends scores to the observations that they were read from, if these have gold."""

    def __init__(self, sender: ScoreSender | None, names: ScoreNames, run_id: str | None, include_text: bool) -> None:
        self._sender = sender
        self._names, self._run_id, self._include_text = names, run_id, include_text
        self.waiting: dict[str, _Recorded] = {}

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Send the scores of an observation."""
        recorded = self.waiting.pop(retrieval.run_id)
        if self._sender is None or retrieval.result is None:
            return
        retrieval = replace(retrieval, seconds=recorded.seconds, ended_at=recorded.ended_at)
        # It is known here, so none is located.
        target = Target(trace_id=recorded.trace_id, observation_id=recorded.id, of_trace=recorded.of_trace)
        send_retrieval(self._sender, retrieval, target, self._names, self._run_id, self._include_text)


# OpenInference writes documents into attributes, which Langfuse keeps in the metadata.
_ATTRIBUTES = "attributes"
_LARGEST_PAGE = 1000
# What `score_traces` itself asks for.
_OWN_ARGUMENTS = ("limit", "cursor", "fields", "expand_metadata", "request_options")
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(id|content|score|metadata)\Z")
_OF_TRACE = ("environment", "session_id", "user_id")
_REPR = re.compile(r"<\w.*\(.*\)>\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """One recorded retrieval.

    Attributes:
        id: The observation.
        trace_id: Its trace.
        query: The text that the retriever was asked, or None.
        query_id: The id of the question, if the application set it.
        name: The name of the observation.
        retrieved: The documents, or an exception that stands for that of the retriever.
        seconds: How long it took.
        ended_at: When it ended.
        of_trace: The environment, session and user of its trace, as far as Langfuse knows them.
    """

    id: str
    trace_id: str
    query: str | None
    query_id: str | None
    name: str | None
    retrieved: list[Any] | BaseException
    seconds: float
    ended_at: datetime
    of_trace: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads observations.

    Attributes:
        query_id_key: The key of the metadata that holds the id of the question.
        retrieved: Where the documents of a retriever are in its output.
        strings: How bare strings are read.
        from_tools: Finds the documents in the outputs of tools, by their names.
    """

    query_id_key: str
    retrieved: Where
    strings: BareStrings
    from_tools: FromTools

    def retriever(self, observation: Any) -> _Recorded | None:
        """Return a retriever's observation; None if it cannot be read."""
        found: list[Any] | BaseException | None = _error_of(observation)
        if found is None:
            found = _documents(observation.output, _mapping(observation.metadata), self.retrieved, self.strings)
        return None if found is None else _read(observation, self.query_id_key, found)

    def others(self, page: Sequence[Any], kind: str, nesting: Nesting) -> list[_Recorded | None]:
        """Return those observations of a page that are retrievals without being a retriever's, None if unreadable."""
        read: list[_Recorded | None] = []
        for observation in filter(nesting.is_free, page):
            name = str(observation.name)
            error, is_named = _error_of(observation), kind == TOOL and name in self.from_tools
            try:
                found = None if error is not None else returned(observation, kind, self.from_tools)
            except Exception:  # noqa: BLE001 - the user's function may fail on masked or truncated outputs
                found = None
            if kind == TOOL and error is None and found is None:
                nesting.tools[name] += 1
            if found is not None or is_named:
                nesting.note(observation.id)
                outcome = error if found is None else [as_row(one, self.strings) for one in found]
                read.append(None if outcome is None else _read(observation, self.query_id_key, outcome))
        return read


def _recordings(
    client: Any,
    query: Mapping[str, Any],
    reader: _Reader,
    nesting: Nesting,
    page_size: int,
    limit: int | None,
    *,
    only_outermost: bool,
) -> Iterator[tuple[list[_Recorded | None], int]]:
    """Yield, page by page and newest first, what was recorded (None: unreadable), and the number of nested ones."""
    named = query.get("type")
    if named is None or only_outermost:
        # A nested observation starts after the outer one and so is listed before it. That is why all ids are read
        # first; with a limit a page more of them, for the outer observations of the last ones.
        ahead = None if limit is None else limit + _LARGEST_PAGE
        for kind in AROUND if named is None else (named,):
            for page in _pages(client, {**query, "type": kind, "fields": "core"}, _LARGEST_PAGE, ahead):
                for observation in page:
                    nesting.add(observation, RETRIEVER if named is not None else kind)
    for retriever in nesting.retrievers if named is None else ():
        nesting.note(retriever)
    fields = {"fields": "core,basic,io,metadata", "expand_metadata": f"{reader.query_id_key},{_ATTRIBUTES}"}
    for kind in KINDS if named is None else (named,):
        for page in _pages(client, {**query, **fields, "type": kind}, page_size, limit):
            if named is None and kind != RETRIEVER:
                yield reader.others(page, kind, nesting), 0
                continue
            outer = [one for one in page if not only_outermost or one.parent_observation_id not in nesting.retrievers]
            yield [reader.retriever(observation) for observation in outer], len(page) - len(outer)


def _check_filters(filters: Mapping[str, Any] | None, client: Any) -> Mapping[str, Any]:
    known = inspect.signature(client.api.observations.get_many).parameters.keys() - {*_OWN_ARGUMENTS}
    for name in filters or {}:
        if name not in known:
            raise InvalidInputError(
                f"`filters` has {name!r:.60}, which is no filter of observations. Known filters: "
                f"{', '.join(sorted(known))}."
            )
    return filters or {}


def _pages(client: Any, query: Mapping[str, Any], page_size: int, limit: int | None) -> Iterator[list[Any]]:
    cursor: dict[str, str] = {}
    left = limit
    while True:
        size = page_size if left is None else min(page_size, left)
        with requests_of("score_traces", client):
            answer = client.api.observations.get_many(limit=size, **query, **cursor)
        yield list(answer.data)
        left = None if left is None else left - len(answer.data)
        following = getattr(answer.meta, "cursor", None)
        if not following or not answer.data or left == 0:
            return
        cursor = {"cursor": following}


def _read(observation: Any, query_id_key: str, found: list[Any] | BaseException) -> _Recorded | None:
    """Return an observation with its documents or error; None if it has no trace or no query."""
    query = question_in(_parsed(observation.input))
    query_id = _query_id(_mapping(observation.metadata).get(query_id_key))
    if not observation.trace_id or (query is None and query_id is None):
        return None
    start, end = _utc(observation.start_time), _utc(observation.end_time)
    return _Recorded(
        id=str(observation.id),
        trace_id=str(observation.trace_id),
        query=query,
        query_id=query_id,
        name=observation.name,
        retrieved=found,
        seconds=0.0 if start is None or end is None else max(0.0, (end - start).total_seconds()),
        ended_at=end or start or datetime.now(UTC),
        of_trace={name: text for name in _OF_TRACE if isinstance(text := getattr(observation, name, None), str)},
    )


def _error_of(observation: Any) -> RuntimeError | None:
    if str(getattr(observation, "level", "")).rpartition(".")[2] != "ERROR":
        return None
    return RuntimeError(getattr(observation, "status_message", None) or "recorded as an error")


def _documents(
    output: Any, metadata: Mapping[str, Any], retrieved: Where, strings: BareStrings
) -> list[Any] | BaseException | None:
    """Return the documents of an output, or an error; None if it was masked or truncated, or has none."""
    try:
        found = find_retrieved(_parsed(output), retrieved, strings)
    except Exception:  # noqa: BLE001 - the user's function may fail on masked or truncated outputs
        found = None
    if isinstance(found, BaseException) or (isinstance(found, list) and all(map(_is_readable, found))):
        return found
    return _of_attributes(metadata, strings)


def _is_readable(document: Any) -> bool:
    """Return whether it is a document, and not the `repr` of an object that could not be serialized."""
    if isinstance(document, Mapping):
        values = [document.get(key) for key in ("id", "text", "page_content", "content")]
        return any(isinstance(value, (str, int)) for value in values) and not any(map(_is_repr, values))
    return isinstance(document, str) and not _is_repr(document)


def _is_repr(value: object) -> bool:
    return isinstance(value, str) and bool(_REPR.match(value))


def _of_attributes(metadata: Mapping[str, Any], strings: BareStrings) -> list[Any] | None:
    """Return the documents that OpenInference wrote into attributes, in order."""
    rows: dict[int, dict[str, Any]] = {}
    for holder in (metadata, _mapping(metadata.get(_ATTRIBUTES))):
        for key, value in holder.items():
            match = _DOCUMENT.match(key)
            if match is not None:
                rows.setdefault(int(match[1]), {})[match[2]] = value
    if not rows or sorted(rows) != list(range(len(rows))):
        return None
    documents = [rows[number] | {"metadata": _mapping(rows[number].get("metadata"))} for number in range(len(rows))]
    return [as_row(document, strings) for document in documents] if all(map(_is_readable, documents)) else None


def _query_id(given: Any) -> str | None:
    parsed = _parsed(given)
    value = parsed if isinstance(parsed, str) else given
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _parsed(value: Any) -> Any:
    """Return the value that a JSON string encodes; any other value unchanged."""
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
