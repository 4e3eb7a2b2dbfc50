"""Reads `benchmarks/differences.md`: each row of its tables is an example with another program's number and ours."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from krag_eval import KragEvalWarning, evaluate, evaluate_all
from krag_eval.metrics import FURTHER_METRICS

PAGE = Path(__file__).parents[2] / "benchmarks" / "differences.md"
WORDS = {"undefined", "error", "absent", "abort"}
Outcome = float | str
Queries = list[list[Any]]

_ROW = re.compile(r'<a id="([a-z0-9_-]+)"></a>(.+)')
_SHOWN = re.compile(r"`([^`]+)` (\S+)")
_THEIR_NUMBER = re.compile(r"Theirs: `([^`]+)`\.")


@dataclass(frozen=True)
class Row:
    """One example of the page.

    Attributes:
        anchor: The id by which the row can be linked to.
        program: The other program.
        gold: The gold documents of each query.
        retrieved: The retrieved documents of each query.
        their_call: The other program's metric, as the page writes it.
        their_number: Its value, as the page writes it.
        our_call: Our key and settings.
        our_number: Our value, as the page writes it.
        their_number_by: Our key and settings that give their number, where there are such.
        settings: Our settings for the whole table.
        is_difference: Whether the numbers differ; else they are the same.
    """

    anchor: str
    program: str
    gold: Queries
    retrieved: Queries
    their_call: str
    their_number: str
    our_call: str
    our_number: str
    their_number_by: str | None
    settings: dict[str, Any] = field(default_factory=dict)
    is_difference: bool = True

    def our_outcome(self, call: str) -> Outcome:
        """What krag_eval gives for a call of this row."""
        key, settings = parse_call(call)
        settings = self.settings | settings
        k = settings.pop("k", None)
        by_id = settings.get("match_method") == "id"
        gold, retrieved = our_documents(self.gold, by_id), our_documents(self.retrieved, by_id)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KragEvalWarning)
            if settings.get("match_method") == "span" or key in FURTHER_METRICS:
                return outcome(lambda: evaluate(gold, retrieved, k=k, metrics=key, **settings)[key])
            return outcome(lambda: evaluate_all(gold, retrieved, k, **settings)[key])

    def qrels(self) -> dict[str, dict[str, Any]]:
        """The gold documents as trec_eval and ranx take them."""
        return {str(i): dict(_pairs(query, [1] * len(query))) for i, query in enumerate(self.gold)}

    def run(self) -> dict[str, dict[str, float]]:
        """The retrieved documents likewise, with falling scores where the page shows none."""
        falling = {str(i): _pairs(query, range(0, -len(query), -1)) for i, query in enumerate(self.retrieved)}
        return {query: {document: float(score) for document, score in pairs} for query, pairs in falling.items()}


def _pairs(query: list[Any], numbers: Sequence[float]) -> list[tuple[str, Any]]:
    return [item if isinstance(item, tuple) else (item, number) for item, number in zip(query, numbers, strict=True)]


def read_rows(page: str) -> list[Row]:
    """The rows of all tables of the page, in order.

    Raises:
        ValueError: A line of a table is no example: nothing on the page goes untested.
    """
    rows: list[Row] = []
    header: list[str] = []
    for line in page.splitlines():
        if not line.startswith("|"):
            header = []
        elif not header:
            header = _cells(line)
            if header[1:3] != ["gold", "retrieved"] or header[5] not in {"why krag_eval differs", "why they agree"}:
                raise ValueError(f"not the head of a table of examples: {line}")
        elif set(line) != {"|", "-"}:
            rows.append(_row(header, _cells(line)))
    return rows


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if len(cells) != 6:
        raise ValueError(f"not six cells: {line}")
    return cells


def _row(header: list[str], cells: list[str]) -> Row:
    name, gold, retrieved, theirs, ours, why = cells
    named, their, our = _ROW.fullmatch(name), _SHOWN.fullmatch(theirs), _SHOWN.fullmatch(ours)
    if not (named and their and our and why):
        raise ValueError(f"not an example: {cells}")
    by = _THEIR_NUMBER.search(why)
    if (by is None) == ("theirs" in why.lower()):
        raise ValueError(f"settings that cannot be read: {why}")
    return Row(
        anchor=named[1],
        program=header[3],
        gold=_queries(gold),
        retrieved=_queries(retrieved),
        their_call=their[1],
        their_number=their[2],
        our_call=our[1],
        our_number=our[2],
        their_number_by=by[1] if by else None,
        settings=parse_call(header[4])[1],
        is_difference=header[5] == "why krag_eval differs",
    )


def _queries(cell: str) -> Queries:
    queries = ast.literal_eval(f"[{cell.removeprefix('`').removesuffix('`')}]")
    if not (isinstance(queries, list) and queries and all(isinstance(query, list) for query in queries)):
        raise ValueError(f"not one list a query: {cell}")
    return queries


def parse_call(call: str) -> tuple[str, dict[str, Any]]:
    """A name with keyword arguments, or a name alone.

    >>> parse_call("ndcg(k=3, gain='linear')"), parse_call("map")
    (('ndcg', {'k': 3, 'gain': 'linear'}), ('map', {}))
    """
    node = ast.parse(call, mode="eval").body
    if isinstance(node, ast.Name):
        return node.id, {}
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.args:
        raise ValueError(f"not a name with keyword arguments: {call}")
    return node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}


def our_documents(queries: Queries, by_id: bool) -> list[list[Any]]:
    """The documents of a row for krag_eval: what the page writes is their id, or their text."""

    def document(value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == 3:
            return dict(zip(("doc_id", "start", "end"), value, strict=True))
        if isinstance(value, tuple):
            return document(value[0]), value[1]
        if by_id:
            return {"id": value, "text": "some text"}
        return {"id": "some id", "text": None} if value is None else value

    return [[document(value) for value in query] for query in queries]


def outcome(compute: Callable[[], float | None]) -> Outcome:
    """The number that a program gives, or the word for what it does instead."""
    try:
        value = compute()
    except KeyError:
        return "absent"
    except (AssertionError, TypeError, ValueError):
        return "error"
    return "undefined" if value is None or math.isnan(value) else float(value)


def is_shown_as(result: Outcome, shown: str) -> bool:
    """Whether the page shows this outcome so: rounded from four decimals on, else exactly."""
    if isinstance(result, str) or shown in WORDS:
        return result == shown
    decimals = len(shown.partition(".")[2])
    tolerance = 0.5 * 10.0**-decimals if decimals >= 4 else 1e-12
    return abs(result - float(shown)) <= tolerance
