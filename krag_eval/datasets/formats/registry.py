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

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError, did_you_mean
from krag_eval._utils.files.encodings import cure, looks_like
from krag_eval._utils.files.io import DASH, StrPath
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import beir, huggingface, llama_index, native, qrels_json, ragas, squad, trec
from krag_eval.datasets.formats.source import CONTAINERS, Kind, Source
from krag_eval.datasets.formats.writing import Writing
from krag_eval.datasets.question import Question
from krag_eval.datasets.run import Run, RunRow

EVALSET, RUN = "an evaluation set", "a run"
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
    "jsonl": _native("jsonl"),
    "json": _native("json"),
    "csv": _native("csv"),
    "tsv": _native("tsv"),
    "xlsx": _native("xlsx"),
    "parquet": _native("parquet"),
    "trec": _format(trec, detected_in=_TEXT, endings=(".qrels", ".trec", ".run")),
    "scores": _format(qrels_json, detected_in=("json",), endings=(".scores.json",), container="json"),
    "beir": _format(beir, detected_in=_TEXT),
    "llama_index": _format(llama_index, detected_in=("json",), endings=(".llama_index.json",), container="json"),
    "ragas": _format(ragas, detected_in=_ROWS, endings=(".ragas.jsonl", ".ragas.json")),
    "squad": _format(squad, detected_in=("json",), endings=(".squad.json",), container="json"),
    "hf": _format(huggingface, detected_in=_ROWS),
}


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
    path: StrPath,
    format_name: str | None,
    kind: Kind,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    evalset: EvalSet | None = None,
    max_bad_rows: int = 0,
) -> tuple[Source, str]:
    """Return a file to read, and the name of its format: the given one, or the one that the file shows.

    Args:
        path: The file.
        format_name: The format; by default the one that the file shows.
        kind: What is to be read.
        columns: For rows with names of their own, the column of each field.
        encoding: The encoding of a text that is not UTF-8.
        sheet: The sheet of a workbook.
        evalset: The set that a run belongs to, if it is known.
        max_bad_rows: How many bad lines may be skipped.

    Raises:
        InvalidInputError: There is no such format, the file shows none, it has no columns that could be named, or
            `max_bad_rows` is not a number of lines.
    """
    most = check_count("max_bad_rows", max_bad_rows, least=0)
    container = None if format_name is None else FORMATS[check_format(format_name)].container
    source = Source(
        path, container, columns=columns, encoding=encoding, sheet=sheet, evalset=evalset, max_bad_rows=most
    )
    if format_name is None:
        format_name = source.container if columns and source.container is not None else detect(source)[0]
    if columns and FORMATS[format_name].container is None:
        raise no_reader(path, format_name, "rows with columns")
    if format_name in (*CONTAINERS, "hf"):
        source.kind = kind
    return source, format_name


def question_reader(path: StrPath, name: str, *, in_order: bool = False) -> Questions:
    """Return the reader of evaluation sets in the named format.

    Args:
        path: The file, for the message.
        name: The format.
        in_order: Read in bounded memory if the format can be read so.

    Raises:
        InvalidInputError: The format cannot hold an evaluation set.
    """
    its = FORMATS[name]
    read = its.questions_in_order or its.questions if in_order else its.questions
    if read is None:
        raise no_reader(path, name, EVALSET)
    return read


def ranking_reader(path: StrPath, name: str, *, in_order: bool = False) -> Rankings:
    """Return the reader of runs in the named format; see `question_reader`.

    Raises:
        InvalidInputError: The format cannot hold a run.
    """
    its = FORMATS[name]
    read = its.rankings_in_order or its.rankings if in_order else its.rankings
    if read is None:
        raise no_reader(path, name, RUN)
    return read


def no_reader(path: StrPath, name: str, what: str) -> InvalidInputError:
    """Return the error for a file that is to be read as something that its format cannot hold."""
    return InvalidInputError(f"{path}: is in the format {name!r}, which cannot hold {what}. Give another file.")


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


def no_writer(path: StrPath, name: str, what: str) -> InvalidInputError:
    """Return the error for a format that cannot write this kind of data."""
    writers = {known: its.write_rankings if what == RUN else its.write_questions for known, its in FORMATS.items()}
    able = [known for known, writer in writers.items() if writer is not None]
    return InvalidInputError(f"{path}: {what} cannot be written in the format {name!r}. Use one of: {', '.join(able)}.")
