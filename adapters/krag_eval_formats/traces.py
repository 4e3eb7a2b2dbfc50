"""Sessions from traces: what was searched for, found, and reranked, as spans of any framework say it.

Spans follow OpenInference (`openinference.span.kind`, `retrieval.documents.{i}.document.*`, `reranker.*`), the GenAI
conventions of OpenTelemetry (`gen_ai.operation.name=retrieval`, `gen_ai.retrieval.documents`), or have the names of
Langfuse, Haystack, Vercel's AI SDK or Google ADK. A tool or any other span that returned documents is a retrieval, too.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question, Run, RunRow, Search, as_evalset
from krag_eval.datasets import Stage
from krag_eval.toolkit import (
    Argument,
    Source,
    as_id,
    check_path,
    gold_first,
    number_of,
    one_of,
    parse_json,
    read_leniently,
    warn,
)
from krag_eval_formats.dialects import FromTools, documents_in, keys_of, question_in, sure_row, unwrapped
from krag_eval_formats.otlp import INPUTS, QUERY_ID, TraceSpan, spans_at

REPEATED = ("error", "first", "last")
_QUERIES = ("gen_ai.retrieval.query.text", "reranker.query")
_OUTPUTS = {"retriever": "retrieval.documents", "reranker": "reranker.output_documents"}
_FOUND = "krag_eval.documents"  # the documents of a span that is no retriever
_MOST_RETRIEVALS = 1_000
# Why a trace is left out, and what to do.
_PROBLEMS = {
    "without_retrieval": "no retriever span",
    "tools_unread": "no retriever span, and what its tools returned is not surely documents. Say how to read it with "
    'from_tools={"NAME": function}',
    "without_documents": "a retrieval records no documents, not even that it found none. Record outputs",
    "truncated": "documents of a retrieval are cut off. Raise the limits of attributes, such as "
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "incomplete": "spans between overlapping retrievals are missing, so it is unknown which is part of which",
    "cycle": "a span is its own ancestor",
    "too_many_retrievals": f"more than {_MOST_RETRIEVALS:,} retrievals, which is no real session",
    "several_questions": "its spans name different questions. Give each question a trace",
    "no_gold": "the evaluation set does not have the question",
}
_NOTES = {
    "repeated_spans": "found several times, read once",
    "missing_parents": "the parent is in no file, so this is read as the beginning of a trace",
    "clocks": "ended before the start, or started before the parent, so the latency is unknown",
    "cut_texts": "the text of the document is cut off, so only its id is used",
}


class _UnusableTraceError(Exception):
    """The trace cannot be scored; the message is a key of `_PROBLEMS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSession:
    """The session that a trace shows.

    Attributes:
        trace_id: The id of the trace.
        span_id: The id of the span with the question, else of the first one.
        query_id: The id that the application gave to the question as `krag_query_id`; None if it gave none.
        question: The text of the question, or None.
        searches: Its searches in the order in which they started; `further` has the `span_id` of each.
        problem: Why it cannot be scored, such as `truncated`; None if it can.
        notes: What else was noticed, such as `clocks`, with how often.
    """

    trace_id: str
    span_id: str
    query_id: str | None = None
    question: str | None = None
    searches: tuple[Search, ...] = ()
    problem: str | None = None
    notes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, spans: Iterable[TraceSpan], from_tools: FromTools | None = None) -> TraceSession:
        """Read the spans of one trace, in any order.

        Retriever spans inside retriever spans, and rerankers, are the stages of their search. A reranker belongs to the
        searches before it that found the documents which it was given. A tool or another span that returned documents
        which it was not given is a search, unless there is one in it.

        Args:
            spans: The spans.
            from_tools: By the name of a tool, what finds the documents in what it returned.

        Raises:
            InvalidInputError: There is no span.
        """
        notes: Counter[str] = Counter()
        by_id = _each_once(spans, notes)
        if not by_id:
            raise InvalidInputError("There is no span. A trace has at least one.")
        first = min(by_id.values(), key=_when)
        session = cls(trace_id=first.trace_id, span_id=first.span_id, notes=notes)
        try:
            trace = _Trace(by_id, notes, from_tools or {})
            top, question = trace.question()
            session = replace(session, span_id=top.span_id, question=question, query_id=trace.query_id())
            return replace(session, searches=trace.searches())
        except _UnusableTraceError as error:
            return replace(session, problem=str(error))

    def row(self, query_id: str) -> RunRow:
        """Return the row of a run for this session."""
        only = self.searches[0] if len(self.searches) == 1 else Search()
        return RunRow(
            query_id=query_id,
            retrieved=only.retrieved,
            error=only.error,
            seconds=only.latency_s,
            searches=self.searches,
            further={"trace_id": self.trace_id, "span_id": self.span_id},
        )


@gold_first(old="path, evalset")
def read_traces(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    evalset: object = None,
    name: str | None = None,
    repeated: str = "error",
    max_bad_rows: int = 0,
    from_tools: FromTools | None = None,
) -> Run:
    """Read the sessions of exported traces as a run, with one row per trace.

    A file holds OTLP JSON: one `ExportTraceServiceRequest`, or one on each line, as the file exporter of the
    OpenTelemetry collector writes them; or what Phoenix returns at `/v1/projects/NAME/spans/otlpv1`. A trace may be
    split over several files. The question of a trace is the attribute or metadata `krag_query_id` of any
    of its spans, otherwise the exact text of its topmost input.

    Traces that cannot be scored are left out, with a warning for each reason; `run.recorded["traces"]` counts them.

    Args:
        path: The file, or several.
        evalset: The questions, to look texts up; without it, a text that has no id is its own id.
        name: The name of the run; by default that of the first file.
        repeated: What to do if a question has several traces: `"error"` refuses them, `"first"` and `"last"` keep that
            one by the time of its start.
        max_bad_rows: How many bad lines may be skipped, as for `read_run`.
        from_tools: By the name of a tool that returned other things than documents of a framework, a function that
            returns the documents in what it returned, which is read if it is JSON.

    Raises:
        InvalidInputError: A file cannot be read, no trace can be scored, or a question has several traces.
    """
    one_of("repeated", repeated, REPEATED)
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InvalidInputError("`path` is empty. Give at least one file of traces.")
    traces: dict[str, list[TraceSpan]] = {}
    n_rejected, read = 0, partial(spans_at, tools=tuple(from_tools or ()))
    for one in paths:
        check_path(one)
        source = Source(one, max_bad_rows=max_bad_rows, rows="")
        with source.rejects.kept(source.lines):
            for _, spans in source.rejects.each(source.rows(), read):
                for span in spans:
                    traces.setdefault(span.trace_id, []).append(span)
        n_rejected += len(source.rejects)
    sessions = [TraceSession.of(spans, from_tools) for spans in traces.values()]
    starts = {trace_id: min(map(_when, spans)) for trace_id, spans in traces.items()}
    sessions.sort(key=lambda session: starts[session.trace_id])
    find = None if evalset is None else _Questions(as_evalset(evalset))
    counts, rows = Counter({"traces": len(sessions)}), dict[str, RunRow]()
    for session in sessions:
        counts.update(session.notes)
        problem, query_id = session.problem, session.query_id or session.question
        if problem is None and find is not None:
            query_id = find(session)
        if problem is None and query_id is None:
            problem = "no_gold"
        if problem is not None:
            counts[problem] += 1
            continue
        row = session.row(str(query_id))
        if row.query_id in rows:
            if repeated == "error":
                raise InvalidInputError(
                    f"{paths[0]}: the question {row.query_id!r:.60} has several traces, such as "
                    f"{rows[row.query_id].further['trace_id']} and {session.trace_id}. Keep one of them with ",
                    Argument("repeated", "last"),
                    " or ",
                    Argument("repeated", "first"),
                    ".",
                )
            counts["repeated_questions"] += 1
        if row.query_id not in rows or repeated == "last":
            rows[row.query_id] = row
    counts["scored"] = len(rows)
    _report(os.fspath(paths[0]), counts)
    return Run(name=name or Source(paths[0]).name, rows=rows, recorded={"traces": dict(+counts)}, n_rejected=n_rejected)


def _report(path: str, counts: Mapping[str, int]) -> None:
    told = {
        kind: f"{number_of(counts[kind], 'trace')} left out: {what}" for kind, what in _PROBLEMS.items() if counts[kind]
    }
    if not counts["scored"]:
        raise InvalidInputError(f"{path}: no trace can be scored. {'; '.join(told.values()) or 'There is none'}.")
    told.pop("without_retrieval", None)  # other traces of the application: no reason to warn
    told |= {kind: f"{number_of(counts[kind], 'span')}: {what}" for kind, what in _NOTES.items() if counts[kind]}
    for one in told.values():
        warn(f"{path}: {one}.")


class _Questions:
    """Finds the question of a session: by its id, else by its exact text, unless that has different gold documents."""

    def __init__(self, evalset: EvalSet) -> None:
        self._evalset = evalset
        self._by_text: dict[str, str | None] = {}
        for question in evalset:
            known = self._by_text.setdefault(question.question or "", question.id)
            if known != question.id and (known is None or _gold_of(evalset[known]) != _gold_of(question)):
                self._by_text[question.question or ""] = None

    def __call__(self, session: TraceSession) -> str | None:
        if session.query_id is not None and self._evalset.get(session.query_id) is not None:
            return session.query_id
        return self._by_text.get(session.question) if session.question else None


def _gold_of(question: Question) -> list[object]:
    return [question.gold, question.gold_chunk_ids, question.gold_doc_ids]


def _each_once(spans: Iterable[TraceSpan], notes: Counter[str]) -> dict[str, TraceSpan]:
    """Return the spans by id; of several with one id, the one with the most attributes."""
    by_id: dict[str, TraceSpan] = {}
    for span in spans:
        known = by_id.setdefault(span.span_id, span)
        if known is not span:
            notes["repeated_spans"] += 1
            if len(span.attributes) > len(known.attributes):
                by_id[span.span_id] = span
    return by_id


def _when(span: TraceSpan) -> float:
    return math.inf if span.start_ns is None else span.start_ns


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a span is in the tree of its trace: its root, how deep, and the retriever and the tool around it."""

    root: TraceSpan
    depth: int = 0
    retriever: TraceSpan | None = None
    tool: TraceSpan | None = None

    def below(self, span: TraceSpan) -> _Place:
        return _Place(
            self.root,
            self.depth + 1,
            span if span.kind == "retriever" else self.retriever,
            span if span.kind == "tool" else self.tool,
        )


@dataclass(slots=True, eq=False)
class _Step:
    """What became of documents in one span, and the steps that they came from."""

    span: TraceSpan
    name: str
    documents: tuple[Document, ...]
    latency_s: float | None = None
    inputs: list[_Step] = field(default_factory=list)

    @property
    def keys(self) -> set[tuple[str | None, str | None]]:
        """What the documents are told apart by."""
        return {(one.id, None if one.id is not None else one.text) for one in self.documents}


class _Trace:
    """The spans of a trace as a tree.

    Args:
        spans: The spans by id.
        notes: Counts what is noticed.
        from_tools: By the name of a tool, what finds the documents in what it returned.
    """

    def __init__(self, spans: dict[str, TraceSpan], notes: Counter[str], from_tools: FromTools) -> None:
        self._spans = spans
        self._from_tools = from_tools
        self._notes = notes
        self._places: dict[str, _Place] = {}
        for span in spans.values():
            self._find_place(span)
        self._find_retrievals()
        self._retrievals = sorted(
            (span for span in spans.values() if span.kind in ("retriever", "reranker")), key=_when
        )
        notes["missing_parents"] += len({p.root.span_id for p in self._places.values() if p.root.parent_id is not None})

    def _find_place(self, span: TraceSpan) -> None:
        path: dict[str, TraceSpan] = {}
        here: TraceSpan | None = span
        while here is not None and here.span_id not in self._places:
            if here.span_id in path:
                raise _UnusableTraceError("cycle")
            path[here.span_id] = here
            here = self._parent(here)
        for one in reversed(path.values()):
            parent = self._parent(one)
            self._places[one.span_id] = _Place(one) if parent is None else self._places[parent.span_id].below(parent)

    def _find_retrievals(self) -> None:
        """Make a retriever of each tool and other span that returned documents which no span in it returned."""
        searched: set[str] = set()
        by_depth = sorted(self._spans.values(), key=lambda span: -self._place(span).depth)
        # Retrievers come first: whatever is around them is no retrieval by itself.
        for span in sorted(by_depth, key=lambda span: span.kind not in ("retriever", "reranker")):
            if span.kind not in ("retriever", "reranker"):
                if span.span_id in searched or self._place(span).retriever is not None:
                    continue
                found = self._documents_of(span)
                if found is None:
                    continue
                kept = {**span.attributes, "openinference.span.kind": "RETRIEVER", _FOUND: found}
                self._spans[span.span_id] = replace(span, attributes=kept)
            around = self._parent(span)
            while around is not None and around.span_id not in searched:
                searched.add(around.span_id)
                around = self._parent(around)

    def _documents_of(self, span: TraceSpan) -> tuple[Document, ...] | None:
        """Return the documents that a tool or another span returned and was not given; None if there is none."""
        extract = self._from_tools.get(span.tool) if span.kind == "tool" else None
        if extract is not None and span.error is not None:
            return ()
        try:
            output = _parsed(span.attributes.get("output.value"))
            if extract is not None:
                return tuple(map(read_leniently, extract(unwrapped(output))))  # type: ignore[call-overload]
            given = keys_of(documents_in(_parsed(span.attributes.get("input.value"))))
        except Exception:  # noqa: BLE001 - the user's function may raise anything; a text that is cut off is no JSON
            return None
        found = [row for row in documents_in(output) if given.isdisjoint(keys_of([row]))]
        return tuple(map(_document, found)) or None

    def _parent(self, span: TraceSpan) -> TraceSpan | None:
        return None if span.parent_id is None else self._spans.get(span.parent_id)

    def question(self) -> tuple[TraceSpan, str | None]:
        """Return the topmost span that has an input, and its text; the first span and None if there is none."""
        ordered = sorted(self._spans.values(), key=lambda span: (self._places[span.span_id].depth, _when(span)))
        inputs = (*INPUTS, *_QUERIES)
        return next(
            ((span, text) for span in ordered if (text := _text_in(span, inputs)) is not None), (ordered[0], None)
        )

    def query_id(self) -> str | None:
        """Return the id that the application gave to the question; None if it gave none."""
        found = {one for span in self._spans.values() if (one := _query_id_in(span.attributes)) is not None}
        if len(found) > 1:
            raise _UnusableTraceError("several_questions")
        return next(iter(found), None)

    def searches(self) -> tuple[Search, ...]:
        """Return the searches in the order of their starts."""
        if not self._retrievals:
            has_tools = any(span.kind == "tool" for span in self._spans.values())
            raise _UnusableTraceError("tools_unread" if has_tools else "without_retrieval")
        if len(self._retrievals) > _MOST_RETRIEVALS:
            raise _UnusableTraceError("too_many_retrievals")
        if any(span.n_dropped for span in self._retrievals):
            raise _UnusableTraceError("truncated")
        outermost = [span for span in self._retrievals if self._place(span).retriever is None]
        self._check_apart(outermost)
        steps = self._steps()
        found: list[_Step] = []
        for step in (steps[span.span_id] for span in outermost):
            if step.span.kind == "reranker":
                given = self._inputs_of(step)
                step.inputs = _sources(given, found) or found[-1:] or [given]
                found = [one for one in found if one not in step.inputs]
            found.append(step)
        return tuple(map(self._search, found))

    def _check_apart(self, outermost: Sequence[TraceSpan]) -> None:
        """Refuse retrievals that overlap and whose common ancestors are missing: one may be part of the other."""
        last: TraceSpan | None = None
        for span in outermost:
            if last is not None and _when(span) < (last.end_ns or 0):
                roots = {place.root.span_id: place.root for place in map(self._place, (last, span))}
                if len(roots) > 1 and any(root.parent_id is not None for root in roots.values()):
                    raise _UnusableTraceError("incomplete")
            if last is None or (span.end_ns or 0) > (last.end_ns or 0):
                last = span

    def _place(self, span: TraceSpan) -> _Place:
        return self._places[span.span_id]

    def _steps(self) -> dict[str, _Step]:
        """Return the step of each span that is part of no retriever; the steps within are its inputs."""
        steps: dict[str, _Step] = {}
        within: defaultdict[str, list[_Step]] = defaultdict(list)
        for span in sorted(self._retrievals, key=lambda span: -self._place(span).depth):  # by start within a depth
            around, inner = self._place(span).retriever, within.pop(span.span_id, [])
            documents = _read_documents(span, _OUTPUTS[str(span.kind)], self._notes)
            if documents is None and around is None:
                raise _UnusableTraceError("without_documents")
            if documents is None:  # nothing is known of this one, so what is in it is in the one around it
                within[around.span_id] += inner  # type: ignore[union-attr]
                continue
            step = _Step(span, _name_of(span), documents, self._latency_of(span), inner)
            if around is None:
                steps[span.span_id] = step
                continue
            if span.kind == "reranker":
                beside = within[around.span_id]
                step.inputs += _sources(self._inputs_of(step), beside) or beside
                within[around.span_id] = [one for one in beside if one not in step.inputs]
            within[around.span_id].append(step)
        return steps

    def _inputs_of(self, step: _Step) -> _Step:
        """Return what a reranker was given, as a step of its own."""
        given = _read_documents(step.span, "reranker.input_documents", self._notes, has_output=False)
        return _Step(step.span, f"{step.name} input", given or ())

    def _latency_of(self, span: TraceSpan) -> float | None:
        start, end, parent = span.start_ns, span.end_ns, self._parent(span)
        if start is None or end is None or end < start or (parent is not None and _when(span) < (parent.start_ns or 0)):
            self._notes["clocks"] += 1
            return None
        return round((end - start) / 1e9, 6)

    def _search(self, last: _Step) -> Search:
        first = last
        while first.span.kind == "reranker" and first.inputs:
            first = first.inputs[0]
        latency_s, tool = (
            last.latency_s,
            self._place(first.span).tool or (first.span if _FOUND in first.span.attributes else None),
        )
        if first is not last and latency_s is not None and first.latency_s is not None:
            latency_s = round(((last.span.end_ns or 0) - (first.span.start_ns or 0)) / 1e9, 6)
        return Search(
            retrieved=last.documents,
            query=_text_in(first.span, (*_QUERIES, *INPUTS)),
            latency_s=latency_s,
            tool=first.name if tool is None else tool.tool,
            error=last.span.error or first.span.error,
            stages=_stages_of(last),
            further={"span_id": last.span.span_id},
        )


def _sources(given: _Step, steps: Sequence[_Step]) -> list[_Step]:
    """Return the steps that a reranker's documents come from: the last ones that returned them."""
    found, left = list[_Step](), given.keys
    for step in reversed(steps):
        if left & step.keys:
            found.append(step)
            left -= step.keys
    return found[::-1]


def _stages_of(last: _Step) -> tuple[Stage, ...]:
    """Return a step and those that lead to it as stages with names of their own; none if it stands alone."""
    ordered, left = list[_Step](), [last]
    while left:
        ordered.append(left.pop())
        left += ordered[-1].inputs
    names: dict[int, str] = {}
    n_of: Counter[str] = Counter()
    for step in reversed(ordered):
        n_of[step.name] += 1
        names[id(step)] = step.name if n_of[step.name] == 1 else f"{step.name} #{n_of[step.name]}"
    stages = [
        Stage(
            name=names[id(step)],
            retrieved=step.documents,
            inputs=tuple(names[id(one)] for one in step.inputs),
            latency_s=step.latency_s,
            further={"span_id": step.span.span_id},
        )
        for step in reversed(ordered)
    ]
    return tuple(stages) if len(stages) > 1 else ()


def _name_of(span: TraceSpan) -> str:
    """Return the name of a span; of a method, as LlamaIndex names spans, that of its class."""
    owner, _, method = span.name.partition(".")
    return (owner if owner.isidentifier() and method.isidentifier() else span.name) or str(span.kind)


def _parsed(value: object) -> object:
    """Return a JSON text as a value, and anything else as it is.

    Raises:
        ValueError: It is cut off, or no JSON.
    """
    return parse_json(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"') else value


def _text_in(span: TraceSpan, names: Sequence[str]) -> str | None:
    """Return the text of the first of these attributes that has one."""
    for name in names:
        value = span.attributes.get(name)
        try:
            found = question_in(_parsed(value))
        except ValueError:
            found = value if isinstance(value, str) else None
        if found:
            return found
    return None


def _query_id_in(attributes: Mapping[str, Any]) -> str | None:
    found = attributes.get(QUERY_ID, attributes.get(f"metadata.{QUERY_ID}"))
    if found is None and QUERY_ID in str(attributes.get("metadata")):
        try:
            metadata = _parsed(attributes["metadata"])
        except ValueError:
            raise _UnusableTraceError("truncated") from None
        found = metadata.get(QUERY_ID) if isinstance(metadata, Mapping) else None
    tags = attributes.get("tag.tags")
    if found is None and isinstance(tags, (list, tuple)):
        named = (str(tag).partition("=") for tag in tags)
        found = next((value for name, _, value in named if name.strip() == QUERY_ID), None)
    return as_id(found)


def _read_documents(
    span: TraceSpan, prefix: str, notes: Counter[str], *, has_output: bool = True
) -> tuple[Document, ...] | None:
    """Return the documents under a prefix, or in the output of the span; None if it records none.

    Raises:
        _UnusableTraceError: They are cut off.
    """
    if _FOUND in span.attributes:
        return span.attributes[_FOUND]  # type: ignore[no-any-return]
    rows, dumped, cut = _rows_under(prefix, span.attributes), None, -1
    try:
        dumped = _dumped(_parsed(span.attributes.get("output.value"))) if has_output else None
    except ValueError:
        cut = len(str(span.attributes["output.value"]))
    if rows is None and has_output and "gen_ai.retrieval.documents" in span.attributes:
        try:
            dumped, cut = _dumped(_parsed(span.attributes["gen_ai.retrieval.documents"])), -1
        except ValueError:
            raise _UnusableTraceError("truncated") from None
    if rows is None:
        rows = dumped
    elif dumped is not None and len(dumped) == len(rows) and not any(row.get("id") for row in rows):
        rows = [{**row, **one} for row, one in zip(rows, dumped, strict=True)]  # the ids of LangChain are there alone
    if rows is None and span.error is not None:
        return ()
    if rows is None and cut >= 0:
        raise _UnusableTraceError("truncated")
    documents = []
    for row in rows or ():
        is_cut = cut >= 0 and len(str(row.get("text"))) >= cut
        notes["cut_texts"] += is_cut
        documents.append(_document({**row, "text": None} if is_cut else row))
        if documents[-1].id is None and cut >= 0:
            raise _UnusableTraceError("truncated")  # the id may be in what is missing
    return None if rows is None else tuple(documents)


def _rows_under(prefix: str, attributes: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the fields of each document under a prefix, best first; None if it records none, not even an empty list.

    Raises:
        _UnusableTraceError: One is missing between others.
    """
    found: dict[str, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, dot, name = key.removeprefix(f"{prefix}.").partition(".document.")
        if dot and number != key.partition(".document.")[0]:
            found.setdefault(number, {})[name] = value
    if found.keys() != set(map(str, range(len(found)))):
        raise _UnusableTraceError("truncated")
    rows = [found[str(number)] for number in range(len(found))]
    for row in rows:
        row["text"] = row.pop("content", None)
        nested = {name.removeprefix("metadata."): row.pop(name) for name in list(row) if name.startswith("metadata.")}
        try:
            row["metadata"] = _parsed(row.get("metadata")) or nested
        except ValueError:
            row["metadata"] = nested
    return rows if rows or prefix in attributes else None


def _dumped(value: object) -> list[dict[str, Any]] | None:
    """Return the documents of a JSON value; None if it is no list of them."""
    if isinstance(value, Mapping):
        value = value.get("documents", value.get("retrieved_documents"))
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, Mapping) for one in value):
        return None
    given = [one["document"] if isinstance(one.get("document"), Mapping) else sure_row(one) or one for one in value]
    return [{name: field for name, field in one.items() if name != "type"} for one in given]


def _document(row: Mapping[str, Any]) -> Document:
    try:
        return read_leniently({**row, "metadata": row["metadata"] if isinstance(row.get("metadata"), Mapping) else {}})
    except InvalidInputError:
        raise _UnusableTraceError("truncated") from None
