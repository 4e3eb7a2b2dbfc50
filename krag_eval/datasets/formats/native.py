"""The rows of krag_eval itself, which lose nothing: in JSONL, in a JSON list, in CSV or TSV, in Parquet."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from krag_eval._utils.files.io import StrPath, lines_of, read_head, write_atomically
from krag_eval._utils.files.strict_json import dump_json, in_batches, parse_json
from krag_eval._utils.journal.rows import JournalKind, read_journal, read_lines, seal
from krag_eval.datasets import bulk
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import parquet
from krag_eval.datasets.formats.layout import kinds_of
from krag_eval.datasets.formats.source import Kind, Source
from krag_eval.datasets.formats.writing import Writing, name_of
from krag_eval.datasets.question import RUN_HEADER, Question
from krag_eval.datasets.run import SESSION_FIELDS, Run, RunRow
from krag_eval.datasets.sessions import document_rows

_OF_RUNS = frozenset({"query_id", "retrieved", RUN_HEADER})
JOURNAL_VERSION = 1
RUN_JOURNAL = JournalKind(RUN_HEADER, "run", JOURNAL_VERSION)
_COLUMNS = (
    *("id", "question", "gold_doc_ids", "gold_chunk_ids", "gold", "must_not", "allowed", "asker"),
    *("answer", "type", "notes", "source", "metadata"),
    *("query_id", "retrieved", "error", "seconds"),
)


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds by its columns, or by the keys of its first row; nothing if these do not say.

    A table may hold both; a row of JSON with gold documents is a question.
    """
    has_gold, has_rankings = kinds_of(source.names)
    if has_gold:
        return ("evalset", "run") if has_rankings and source.is_table else ("evalset",)
    return ("run",) if has_rankings or source.names & _OF_RUNS else ()


def is_certain(source: Source) -> bool:
    """Return whether a file has no column but ours, so that no other format has to be looked for."""
    return RUN_HEADER in source.names or source.names <= {*_COLUMNS, *SESSION_FIELDS}


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each question with its place.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    return source.each(Question.from_dict, read_all=bulk.read_questions)


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield each ranking with its place; the header and the torn end of a journal are skipped.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    return source.each(RunRow.from_dict, _ranking_rows(source), bulk.read_rankings)


def write_questions(container: str, evalset: EvalSet, writing: Writing) -> None:
    """Write an evaluation set into a container."""
    _write(container, [question.to_dict() for question in evalset], writing)


def write_rankings(container: str, run: Run, writing: Writing) -> None:
    """Write a run into a container."""
    rows = [row.to_dict() for row in run.rows.values()]
    if container not in ("parquet", "jsonl", "json"):  # a table has one ranking in a row
        for number, row in enumerate(run.rows.values()):
            lost = [name for name in SESSION_FIELDS if rows[number].pop(name, None)]
            writing.lost.update(f"`{name}`" for name in lost)
            rows[number] |= {"retrieved": document_rows(row.ranking)} if lost else {}
    _write(container, rows, writing, _header_of(run))


def _ranking_rows(source: Source) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    if _is_journal(source):
        lines = read_lines(lines_of(source.path), source.path, RUN_JOURNAL)
        for batch in in_batches(lines, lambda line: len(line.raw)):
            yield [(line.place, line.row) for line in batch if RUN_HEADER not in line.row]
        return
    for rows in source.batches():
        yield [(place, row) for place, row in rows if RUN_HEADER not in row]


def run_header(source: Source) -> Mapping[str, Any]:
    """Return what the file says about the whole run: `name`, `parameters`, `recorded`; empty if it says nothing."""
    header: Mapping[str, Any] = {}
    if _is_journal(source):
        _, header = next(read_journal_rows(source.path))
    elif source.container == "parquet":
        header = parquet.read_header(source.path)
    if not header:
        return {}
    name, parameters, recorded = split_header(header)
    return {"name": name, "parameters": parameters, "recorded": recorded}


def read_journal_rows(path: StrPath) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of the journal of a run without checksums, its header first, each with its place as `path:line`.

    Raises:
        InvalidInputError: The file cannot be opened, or a row is damaged or was changed.
    """
    return read_journal(path, RUN_JOURNAL)


def split_header(header: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the name of a run, its parameters, and everything else that was recorded about it."""
    recorded = {key: value for key, value in header.items() if key not in (RUN_HEADER, "name", "parameters")}
    parameters = header.get("parameters")
    return str(header.get("name")), dict(parameters) if isinstance(parameters, Mapping) else {}, recorded


def _is_journal(source: Source) -> bool:
    start = RUN_JOURNAL.start
    return source.container == "jsonl" and source.is_regular and read_head(source.path, len(start)) == start


def _header_of(run: Run) -> dict[str, Any]:
    """Return the first row of a journal if the run has more than its rows, else an empty one."""
    if not run.parameters and not run.recorded:
        return {}
    version = {RUN_HEADER: JOURNAL_VERSION}
    return version | {"name": run.name, "parameters": dict(run.parameters)} | dict(run.recorded)


def _write(
    container: str, rows: list[dict[str, Any]], writing: Writing, header: Mapping[str, Any] | None = None
) -> None:
    if container == "parquet":
        parquet.write_rows(rows, writing.path, header=header)
        return
    if container == "jsonl" and header:
        write_atomically(writing.path, _journal(header, rows))
        return
    if header:
        writing.lost["`parameters` and `recorded` of the run"] += 1
    if container in ("json", "jsonl"):
        writing.write_rows(rows, as_list=container == "json")
    else:
        write_atomically(writing.path, _table(rows, writing, "\t" if container == "tsv" else ","))


def _journal(header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in itertools.chain([header], rows):
        plain: Any = parse_json(dump_json(row, name_of(row)))
        yield seal(plain).decode()


def _table(rows: list[dict[str, Any]], writing: Writing, delimiter: str) -> Iterator[str]:
    present = {name for row in rows for name in row}
    further = dict.fromkeys(name for row in rows for name in row if name not in _COLUMNS)
    names = [*(name for name in _COLUMNS if name in present), *further]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and not value.strip():
                writing.lost[f"`{name}` that is blank"] += 1
            elif name in further and not isinstance(value, str) and value is not None:
                writing.lost[f"`{name}` that is not text (it is read back as text)"] += 1
    return writing.table(names, rows, delimiter)
