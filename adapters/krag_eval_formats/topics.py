"""The texts of queries in a file of their own: tabs, JSONL, CSV, or the topics of TREC."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

from krag_eval import EvalSet, InvalidInputError
from krag_eval.toolkit import Source, as_id, nfc, warn

ID_KEYS = ("id", "_id", "query_id", "qid", "query-id")
TEXT_KEYS = ("question", "text", "query", "title")
_NUMBER = re.compile(r"<num>\s*+(?:Number:)?+\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?([^<]*)", re.IGNORECASE)


def fill_in(evalset: EvalSet, queries: str | os.PathLike[str], encoding: str | None = None) -> EvalSet:
    """Return the set; questions without a text get theirs from a file.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:`.
    """
    texts: dict[str, str] = {}
    for place, given, text in read_queries(queries, encoding):
        query_id = nfc(given)
        if texts.setdefault(query_id, text) != text:
            raise InvalidInputError(
                f"{place}: the query {query_id!r:.60} appears twice with different texts. Keep one."
            )
    filled = [q if q.question else replace(q, question=texts.get(q.id)) for q in evalset]
    missing = [question.id for question in filled if question.question is None]
    if missing:
        warn(f"{queries}: has no text for {len(missing)} of {len(filled)} questions, for example {missing[0]!r:.60}.")
    return EvalSet(filled, name=evalset.name)


def read_queries(path: str | os.PathLike[str], encoding: str | None = None) -> Iterator[tuple[str, str, str]]:
    """Yield the place, id and text of each query.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:`.
    """
    source = Source(path, encoding=encoding)
    if source.head.lstrip().startswith(b"<"):
        return _topics(source)
    has_names = bool(source.names & set(ID_KEYS)) and bool(source.names & set(TEXT_KEYS))
    if source.container is None or (source.container == "tsv" and not has_names):
        return _lines(source)
    return _rows(source)


def _rows(source: Source) -> Iterator[tuple[str, str, str]]:
    for place, row in source.rows():
        query_id = next((found for key in ID_KEYS if (found := as_id(row.get(key))) is not None), None)
        text = next((row[key] for key in TEXT_KEYS if isinstance(row.get(key), str)), None)
        if query_id is None or text is None:
            raise InvalidInputError(
                f"{place}: a query needs an id under one of {', '.join(ID_KEYS)} and a text under one of "
                f"{', '.join(TEXT_KEYS)}. Rename the columns."
            )
        yield place, query_id, text


def _lines(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield lines of `id`, a tab and `text`, without a header."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            query_id, tab, text = line.strip("\r").partition("\t")
            if not tab or not query_id.strip():
                raise InvalidInputError(
                    f"{source.path}:{number}: a line must be an id, a tab and the text of the query."
                )
            yield f"{source.path}:{number}", query_id.strip(), text.strip()


def _topics(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield the queries of `<top>` elements with `<num>` and `<title>`, whose end tags may be missing."""
    line = 1
    for part in re.split(r"(?i)(?=<top>)", source.text):
        number, title = _NUMBER.search(part), _TITLE.search(part)
        if number and title:
            yield f"{source.path}:{line}", number[1], " ".join(title[1].split())
        elif number or title:
            raise InvalidInputError(f"{source.path}:{line}: a topic needs both <num> and <title>.")
        line += part.count("\n")
