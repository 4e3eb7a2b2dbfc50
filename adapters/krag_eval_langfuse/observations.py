"""Retriever observations that Langfuse holds: the pages of its API, and query, documents and ids in one of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from krag_eval_langfuse.fields import BareStrings, Where, as_row, find_retrieved

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
