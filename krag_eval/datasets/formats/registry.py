"""The formats: how each is recognized, read and written.

To add one, write a module beside this one whose functions have the names of `Format`'s attributes (`kinds_in` for
`kinds`), and add its entry to `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from krag_eval._utils.errors import InvalidInputError, did_you_mean
from krag_eval._utils.files.encodings import cure, looks_like
from krag_eval._utils.files.io import DASH, StrPath
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import autorag, beir, huggingface, llama_index, native, qrels_json, ragas, squad, trec
from krag_eval.datasets.formats.source import CONTAINERS, Kind, Source
from krag_eval.datasets.formats.writing import Writing
from krag_eval.datasets.question import Question
from krag_eval.datasets.run import Run, RunRow

_HELD: Mapping[Kind, str] = {"evalset": "an evaluation set", "run": "a run"}
_FUNCTIONS: Mapping[Kind, str] = {"evalset": "questions", "run": "rankings"}
Reader = Callable[[Source], Iterator[tuple[str, Any]]]
Questions = Callable[[Source], Iterator[tuple[str, Question]]]
Rankings = Callable[[Source], Iterator[tuple[str, RunRow]]]
_ROWS, _TEXT = tuple(CONTAINERS), (None, "tsv")  # rows with names; plain text, which has any ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a format is recognized, read and written; None for what it cannot do. Its module says what it is.

    Attributes:
        kinds: Returns what a file holds in this format: an evaluation set, a run or both; nothing if the file is in
            another format.
        detected_in: The containers in which a file is recognized by its content; in none, if by its container alone.
        endings: The endings of names by which a file to be written gets this format.
        container: How its rows are stored; None if the name or the content of a file says so.
        questions: Reads an evaluation set, each question with its place.
        rankings: Reads a run, each ranking with its place.
        write_questions: Writes an evaluation set.
        write_rankings: Writes a run.
        questions_in_order: Reads an evaluation set in bounded memory, where `questions` does not.
        rankings_in_order: Reads a run in bounded memory, where `rankings` does not.
    """

    kinds: Callable[[Source], tuple[Kind, ...]]
    detected_in: tuple[str | None, ...] = ()
    endings: tuple[str, ...] = ()
    container: str | None = None
    questions: Questions | None = None
    rankings: Rankings | None = None
    write_questions: Callable[[EvalSet, Writing], None] | None = None
    write_rankings: Callable[[Run, Writing], None] | None = None
    questions_in_order: Questions | None = None
    rankings_in_order: Rankings | None = None


def _format(module: ModuleType, **settings: Any) -> Format:
    """Return a format whose functions a module defines, under the names of the attributes of `Format`."""
    names = ("questions", "rankings", "write_questions", "write_rankings", "questions_in_order", "rankings_in_order")
    functions: dict[str, Any] = {name: getattr(module, name, None) for name in names}
    return Format(kinds=module.kinds_in, **(functions | settings))


def _native(container: str) -> Format:
    if container == "xlsx":
        return _format(native, container=container, write_questions=None, write_rankings=None)
    return _format(
        native,
        container=container,
        endings=tuple(ending for ending in CONTAINERS[container] if not ending.endswith(".gz")),
        write_questions=partial(native.write_questions, container),
        write_rankings=partial(native.write_rankings, container),
    )


FORMATS: Mapping[str, Format] = {
    **{container: _native(container) for container in CONTAINERS},
    "trec": _format(trec, detected_in=_TEXT, endings=(".qrels", ".trec", ".run")),
    "scores": _format(qrels_json, detected_in=("json",), endings=(".scores.json",), container="json"),
    "beir": _format(beir, detected_in=_TEXT),
    "llama_index": _format(llama_index, detected_in=("json",), endings=(".llama_index.json",), container="json"),
    "ragas": _format(ragas, detected_in=_ROWS, endings=(".ragas.jsonl", ".ragas.json")),
    "squad": _format(squad, detected_in=("json",), endings=(".squad.json",), container="json"),
    "squad_spans": Format(kinds=squad.kinds_in, container="json", questions=squad.questions_as_spans),
    "chunking_evaluation": Format(
        kinds=squad.excerpt_kinds_in, detected_in=("csv",), questions=squad.excerpt_questions
    ),
    "autorag": _format(autorag, detected_in=("parquet",)),
    "hf": _format(huggingface, detected_in=_ROWS),
}
WRITTEN_FORMATS = [name for name, its in FORMATS.items() if its.write_questions or its.write_rankings]


def detect(source: Source) -> tuple[str, tuple[Kind, ...]]:
    """Return the name of a file's format, and what the file holds in it: an evaluation set, a run or both.

    Raises:
        InvalidInputError: The file cannot be opened, or is in no known format.
    """
    if beir.is_beir(source.path):
        return "beir", ("evalset",)
    if source.is_folder:
        raise InvalidInputError(
            f"{source.path}: cannot be read (Is a directory). "
            "A folder must be one of BEIR: with queries.jsonl, corpus.jsonl and qrels/test.tsv."
        )
    container = source.container
    if not source.is_regular:
        return container or "jsonl", ()
    for name, its in FORMATS.items():
        if container in its.detected_in and (kinds := its.kinds(source)):
            return name, kinds
    if container is None:
        hint = looks_like(source.head)
        raise InvalidInputError(
            f"{source.path}: is in no format that can be recognized by its name or its beginning{hint}. "
            + (cure(source.head) if hint else f"Name the format, such as format='csv': {', '.join(FORMATS)}.")
        )
    kinds = native.kinds_in(source)
    if not kinds:
        beir.refuse_part(source)
    return container, kinds


def kinds_in(source: Source, name: str) -> tuple[Kind, ...]:
    """Return what a file in the named format holds, as far as it can be told.

    Raises:
        InvalidInputError: The file cannot be opened.
    """
    if FORMATS[name].rankings is None:
        return ("evalset",)
    return FORMATS[name].kinds(source) if source.is_regular else ()


def open_source(
    path: StrPath, format_name: str | None, kind: Kind, *, in_order: bool = False, **settings: Any
) -> tuple[Source, Reader]:
    """Return a file to read, and the reader of the given format, or of the one that the file shows.

    Args:
        path: The file.
        format_name: The format; by default the one that the file shows.
        kind: What is to be read.
        in_order: Read in bounded memory if the format can be read so.
        **settings: Those of `Source`.

    Raises:
        InvalidInputError: There is no such format, the file shows none, it cannot hold what is to be read, it has no
            columns that could be named, or `max_bad_rows` is not a number of lines.
    """
    columns = settings.get("columns")
    container = None if format_name is None else FORMATS[check_format(format_name)].container
    source = Source(path, container, **settings)
    if format_name is None:
        format_name = source.container if columns and source.container is not None else detect(source)[0]
    its, name = FORMATS[format_name], _FUNCTIONS[kind]
    read: Reader | None = (in_order and getattr(its, f"{name}_in_order")) or getattr(its, name)
    is_nameless = columns and its.container is None
    if is_nameless or read is None:
        what = "rows with columns" if is_nameless else _HELD[kind]
        raise InvalidInputError(
            f"{path}: is in the format {format_name!r}, which cannot hold {what}. Give another file."
        )
    if format_name in (*CONTAINERS, "hf"):
        source.kind = kind
    return source, read


def check_format(name: str) -> str:
    """Return the name of a format if it exists.

    Raises:
        InvalidInputError: There is no such format.
    """
    if name in FORMATS:
        return name
    raise InvalidInputError(
        f"Unknown format {name!r:.60}.{did_you_mean(name, FORMATS)} Known formats: {', '.join(FORMATS)}."
    )


def format_to_write(path: StrPath, name: str | None) -> str:
    """Return the named format, or else the format of the ending.

    Raises:
        InvalidInputError: There is no such format, or the ending belongs to none.
    """
    if name is not None:
        return check_format(name)
    lower = os.fspath(path).lower()
    fitting = [(len(e), known) for known, its in FORMATS.items() for e in its.endings if lower.endswith(e)]
    if fitting:
        return max(fitting)[1]
    if lower.endswith(CONTAINERS["xlsx"]):
        raise InvalidInputError(f"{path}: workbooks are read, not written. Write a .csv file, which Excel opens.")
    if lower == DASH:
        return "jsonl"
    raise InvalidInputError(
        f"{path}: the ending belongs to no format. Use one of "
        f"{', '.join(ending for its in FORMATS.values() for ending in its.endings)}, or name the format."
    )


def write(path: StrPath, format_name: str | None, kind: Kind, given: EvalSet | Run, **settings: Any) -> None:
    """Write a question set or a run, and warn of what the format cannot hold.

    Args:
        path: The file.
        format_name: The format; by default the one of the ending.
        kind: What is written.
        given: The questions or the rankings.
        **settings: Those of `Writing`.

    Raises:
        InvalidInputError: The ending belongs to no format, the format cannot hold this, or the file cannot be written.
    """
    name = format_to_write(path, format_name)
    writers = {known: getattr(its, f"write_{_FUNCTIONS[kind]}") for known, its in FORMATS.items()}
    if writers[name] is None:
        able = ", ".join(known for known, writer in writers.items() if writer is not None)
        raise InvalidInputError(f"{path}: {_HELD[kind]} cannot be written in the format {name!r}. Use one of: {able}.")
    writing = Writing(os.fspath(path), name, **settings)
    writers[name](given, writing)
    writing.warn()
