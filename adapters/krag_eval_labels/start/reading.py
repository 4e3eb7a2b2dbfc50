"""Read a log: what was asked, what was retrieved, and whatever else its rows say, from any layout."""

from __future__ import annotations

import contextlib
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from krag_eval import Document, InvalidInputError, Redactor, RunRow, normalize, read_run
from krag_eval.toolkit import (
    CONTAINERS,
    Source,
    dump_json,
    errors_at,
    number_of,
)
from krag_eval_formats import TraceSession, TraceSpan, inspect_file
from krag_eval_formats.otlp import spans_at

_SPANS = ("resourceSpans", "resource_spans")
_QUESTIONS = ("question", "query", "input", "user_input", "prompt")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_FEWEST_CUT = 10


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row of a log: its id, the question, what was retrieved, best first, and all other fields."""

    id: str
    question: str
    retrieved: tuple[Document, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadLog:
    """The rows of a log, what kind of file it is, and what has to be said about it."""

    rows: list[LogRow]
    kind: str
    notes: list[str]


def read_log(path: Path, *, mask: bool = False, **reading: Any) -> ReadLog:
    """Read a log in any layout that inspection reads, OTLP, or runs of Langfuse or LangSmith as they are exported.

    Args:
        path: The file.
        mask: Replace credentials and e-mail addresses.
        **reading: As for `inspect_file`.

    Raises:
        InvalidInputError: It holds no log, or no row with a question.
    """
    given = {name: value for name, value in reading.items() if value}
    traces = Source(path, rows="")
    first: Mapping[str, Any] = {}
    if traces.container in ("json", "jsonl") and not traces.is_cut:
        with contextlib.suppress(InvalidInputError):  # reading it will say what is wrong
            first = next((row for _, row in traces.rows()), {})
    if any(name in first for name in _SPANS) or _is_span(first) or _has_pages(first):
        read, kind = _of_traces(traces)
    else:
        read, kind = _of_rows(path, given)
    notes, rows, seen = [], list[LogRow](), Counter(row.query_id for _, row in read)
    n_without = n_hashed = 0
    longest: Counter[int] = Counter()
    redact = _Masking() if mask else None
    for number, (question, row) in enumerate(read):
        if not question or not question.strip():
            n_without += 1
            continue
        found = row.found
        fields: Mapping[str, Any] = dict(row.further)
        if row.cited is not None:
            fields = {**fields, "cited": [one.id or one.text for one in row.cited]}
        if redact is not None:
            question, found = redact(question), tuple(map(redact.of_document, found))
            fields = redact.of(fields)
        n_hashed += sum(one.id is None and one.text is not None for one in found)
        longest.update(len(one.text) for one in found if one.text)
        retrieved = tuple(with_id(one) for one in found if one.id is not None or one.text is not None)
        rows.append(LogRow(row.query_id if seen[row.query_id] == 1 else f"row-{number}", question, retrieved, fields))
    if not rows:
        raise InvalidInputError(f"{path}: no row has the text of a question. Name its field with `columns`.")
    if not any(row.retrieved for row in rows):
        raise InvalidInputError(f"{path}: no row shows a document that was retrieved. Name its field with `columns`.")
    if n_without:
        notes.append(f"{number_of(n_without, 'row')} without the text of a question left out")
    if n_hashed:
        notes.append("chunks without ids: hashes of their texts are their ids")
    if not longest and any(row.retrieved for row in rows):
        notes.append("chunks without texts: people see ids alone, and no second retriever can search them")
    most, n_most = max(longest.items(), default=(0, 0))
    if n_most >= _FEWEST_CUT and n_most * 4 >= sum(longest.values()):
        notes.append(f"chunks are cut at {most} characters: people judge what they see of them")
    return ReadLog(rows, kind, notes)


def _of_rows(path: Path, given: Mapping[str, Any]) -> tuple[list[tuple[str | None, RunRow]], str]:
    columns = dict(given.get("columns") or {})
    is_shown = not any(name.startswith("retrieved") for name in columns)  # what was retrieved shows by itself
    found = inspect_file(path, **{name: one for name, one in given.items() if name != "columns" or not is_shown})
    if found.kind in ("evalset", "both"):
        raise InvalidInputError(
            f"{path}: holds gold documents, so it needs no labels: evaluate it with `{found.command}`."
        )
    if found.kind not in ("log", "run"):
        raise InvalidInputError(f"{path}: shows no documents that were retrieved. {found.note}".rstrip())
    options = dict(found.options)
    if columns and is_shown:
        options["columns"] = {**options.get("columns", {}), **columns}
    with warnings.catch_warnings(action="ignore"):  # of missing ids and repeats, which are no matter here
        if found.format in CONTAINERS:
            source = Source(path, **{name: options[name] for name in _SOURCE if options.get(name)})
            listed = [name for name in ("retrieved_ids", "retrieved_texts") if name in source.names]
            if listed and not options.get("columns"):
                source.use({name: name for name in listed})
            source.kind = "run"
            rows = [(place, row) for place, row in source.rows() if "krag_eval_run" not in row]
            read = [_row_at(place, number, row) for number, (place, row) in enumerate(rows)]
        else:
            read = list(read_run(path, **options).rows.values())
    return [(_question_of(row.further), row) for row in read], f"{found.kind} ({found.format})"


_SOURCE = ("columns", "encoding", "sheet", "rows", "separator")


def _row_at(place: str, number: int, row: Mapping[str, Any]) -> RunRow:
    with errors_at(place):
        return RunRow.from_dict({"query_id": f"row-{number}", "retrieved": [], **_not_none(row)})


def _not_none(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without a missing id or ranking."""
    own = dict(row)
    if own.get("query_id") in (None, ""):
        own["query_id"] = own.get("id")
    return {k: v for k, v in own.items() if k not in ("query_id", "retrieved") or v not in (None, "")}


def _question_of(fields: Mapping[str, Any]) -> str | None:
    return next((fields[name] for name in _QUESTIONS if isinstance(fields.get(name), str)), None)


def _is_span(row: Mapping[str, Any]) -> bool:
    """Whether a row is an observation of Langfuse or a run of LangSmith."""
    of_langfuse = str(row.get("type", "")).isupper() and ("traceId" in row or "trace_id" in row)
    return of_langfuse or "run_type" in row or isinstance(row.get("observations"), list)


def _has_pages(row: Mapping[str, Any]) -> bool:
    """Whether a row is a page of Phoenix's spans."""
    data = row.get("data")
    return isinstance(data, list) and bool(data) and isinstance(data[0], Mapping) and "attributes" in data[0]


def _of_traces(source: Source) -> tuple[list[tuple[str | None, RunRow]], str]:
    traces: dict[str, list[TraceSpan]] = {}
    kind = "traces"
    for place, row in source.rows():
        if any(name in row for name in _SPANS) or "data" in row:
            spans, kind = spans_at(place, row), "traces (OTLP)"
        else:
            kind = "traces (LangSmith)" if "run_type" in row else "traces (Langfuse)"
            rows, trace = [row], row.get("id")
            if isinstance(row.get("observations"), list):
                top = {"id": f"{trace}-top", "traceId": trace, "type": "SPAN", "input": row.get("input")}
                parents = [one.get("parentObservationId") or top["id"] for one in row["observations"]]
                below = zip(row["observations"], parents, strict=True)
                rows = [top, *({**one, "traceId": trace, "parentObservationId": parent} for one, parent in below)]
            spans = [_span_of(one).without_content() for one in rows]
        for span in spans:
            traces.setdefault(span.trace_id, []).append(span)
    sessions = [TraceSession.of(spans) for spans in traces.values()]
    read = [(one.question, one.row(one.trace_id)) for one in sessions if one.problem is None]
    if not read:
        problems = Counter(one.problem for one in sessions)
        raise InvalidInputError(f"{source.path}: no trace shows what was retrieved ({dict(problems)}).")
    return read, kind


def _span_of(row: Mapping[str, Any]) -> TraceSpan:
    """Return an observation of Langfuse or a run of LangSmith as a span."""
    kind = str(row.get("run_type") or row.get("type") or "").upper()
    parent = row.get("parent_run_id") or row.get("parentObservationId") or row.get("parent_observation_id")
    values = {"input.value": row.get("inputs", row.get("input")), "output.value": row.get("outputs", row.get("output"))}
    attributes = {"openinference.span.kind": kind} | {name: _text(one) for name, one in values.items()}
    own = str(row.get("id"))
    return TraceSpan(
        trace_id=str(row.get("trace_id") or row.get("traceId") or own),
        span_id=own,
        parent_id=str(parent) if parent else None,
        name=str(row.get("name") or ""),
        attributes={name: value for name, value in attributes.items() if value is not None},
        start_ns=_time(row.get("start_time") or row.get("startTime")),
        end_ns=_time(row.get("end_time") or row.get("endTime")),
        error=str(row["error"])[:300] if row.get("error") else None,
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else dump_json(value, "a value of the trace")


def _time(given: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(given)).timestamp() * 1e9)
    except ValueError:
        return None


def with_id(document: Document) -> Document:
    """Return a document with an id: its own, else a hash of its text."""
    if document.id is not None:
        return document
    text = normalize(document.text or "").encode("utf-8", "surrogatepass")
    return replace(document, id=f"text-{hashlib.sha256(text).hexdigest()[:12]}")


class _Masking(Redactor):
    """Replaces credentials and e-mail addresses in texts, documents and fields."""

    def __call__(self, text: str) -> str:
        return _MAIL.sub("[e-mail]", super().__call__(text))

    def of_document(self, document: Document) -> Document:
        text = None if document.text is None else self(document.text)
        return replace(document, text=text, metadata=self.of(dict(document.metadata)))


def leaves(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by the last part of their names, in lower case.

    >>> list(leaves({"feedback": {"thumbs": "up"}, "lang": "en"}))
    [('thumbs', 'up'), ('lang', 'en')]
    """
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from leaves(value)
        else:
            yield str(name).lower(), value


def documents_of(rows: Sequence[LogRow]) -> dict[str, Document]:
    """Return all chunks of a log by id; of several with one id, the first."""
    found: dict[str, Document] = {}
    for row in rows:
        for one in row.retrieved:
            found.setdefault(one.id or "", one)
    return found
