"""The formats: how each is recognized, read and written.

To add one, write a module beside this one whose functions have the names of `Format`'s attributes (`kinds_in` for
`kinds`), and add its entry to `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean
from krag_eval._utils.files.encodings import cure, looks_like
from krag_eval._utils.files.io import DASH, StrPath, is_file
from krag_eval._utils.files.strict_json import read_json
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.field_roles import refusal, understand
from krag_eval.datasets.formats import (
    autorag,
    beir,
    conversations,
    huggingface,
    judged_rows,
    llama_index,
    msmarco,
    native,
    qrels_json,
    ragas,
    squad,
    trec,
)
from krag_eval.datasets.formats.layout import FIELDS_OF, is_field, kinds_of
from krag_eval.datasets.formats.source import CONTAINERS, Kind, Source
from krag_eval.datasets.formats.writing import Writing
from krag_eval.datasets.question import RUN_HEADER, Question
from krag_eval.datasets.run import Run, RunRow

_HELD: Mapping[Kind, str] = {"evalset": "an evaluation set", "run": "a run"}
_FUNCTIONS: Mapping[Kind, str] = {"evalset": "questions", "run": "rankings"}
Reader = Callable[[Source], Iterator[tuple[str, Any]]]
Questions = Callable[[Source], Iterator[tuple[str, Question]]]
Rankings = Callable[[Source], Iterator[tuple[str, RunRow]]]
_OF_RUNS = frozenset({"searches", "stages", "error", RUN_HEADER})
_SAVED = {"columns", "rows", "separator", "id_key", "encoding", "sheet"}
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
    if container in ("xlsx", "yaml"):
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
    "msmarco": _format(msmarco, detected_in=_TEXT),
    "llama_index": _format(llama_index, detected_in=("json",), endings=(".llama_index.json",), container="json"),
    "ragas": _format(ragas, detected_in=_ROWS, endings=(".ragas.jsonl", ".ragas.json")),
    "squad": _format(squad, detected_in=("json",), endings=(".squad.json",), container="json"),
    "squad_spans": Format(kinds=squad.kinds_in, container="json", questions=squad.questions_as_spans),
    "chunking_evaluation": Format(
        kinds=squad.excerpt_kinds_in, detected_in=("csv",), questions=squad.excerpt_questions
    ),
    "autorag": _format(autorag, detected_in=("parquet", "json", "jsonl")),
    "locomo": _format(conversations, detected_in=("json", "jsonl")),
    "hf": _format(huggingface, detected_in=_ROWS),
    "judgments": _format(judged_rows, detected_in=_ROWS),
}
WRITTEN_FORMATS = [name for name, its in FORMATS.items() if its.write_questions or its.write_rankings]


_NAME_IT = ("Name the format, such as ", Argument("from_format", "csv", "format='csv'"), f": {', '.join(FORMATS)}.")


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
            f"{source.path}: is in no format that can be recognized by its name or its beginning{hint}. ",
            *(cure(source.head) if hint else _NAME_IT),
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
    if not any(settings.get(name) for name in ("columns", "rows", "separator", "id_key")):
        settings |= saved_reading(path, kind)
    fields = FIELDS_OF[kind]
    columns = {
        name: one for name, one in (settings.get("columns") or {}).items() if name in fields or not is_field(name)
    }
    settings["columns"] = columns or None  # what is meant for the other side leaves this one its own format
    container = None if format_name is None else FORMATS[check_format(format_name)].container
    source = Source(path, container, **settings)
    if format_name is None:
        format_name = source.container if columns and source.container is not None else detect(source)[0]
    lacks_gold = format_name == "ragas" and kind == "evalset" and source.names.isdisjoint(ragas.REFERENCE)
    if not columns and (format_name in CONTAINERS or lacks_gold) and source.is_regular:
        understood(source, kind)
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
    if kind == "evalset" and format_name in CONTAINERS and source.is_squad:
        read = huggingface.questions
    return source, read


def reading_file(path: StrPath) -> Path:
    """Return the file beside another one that says how it is read."""
    return Path(f"{os.fspath(path)}.reading.json")


def saved_reading(path: StrPath, kind: Kind) -> dict[str, Any]:
    """Return the options of `read_evalset` or `read_run` that were saved beside a file; none if there are none.

    Raises:
        InvalidInputError: The file with them cannot be read, or is none of ours.
    """
    beside = reading_file(path)
    if os.fspath(path) == DASH or not is_file(beside):
        return {}
    saved = read_json(beside)
    options = saved.get(kind, {}) if isinstance(saved, dict) else None
    if not isinstance(options, dict) or options.keys() - _SAVED:
        raise InvalidInputError(
            f"{beside}: must be what `krag-eval inspect --save` wrote. Delete it, or save it again."
        )
    return options


def understood(source: Source, kind: Kind) -> None:
    """Read the rows of a file with names of its own as they are certainly meant, if they are.

    Raises:
        InvalidInputError: They may be meant in two ways, or hold certainly something else.
    """
    has_gold, has_rankings = kinds_of(source.names)
    has_main = has_gold if kind == "evalset" else has_rankings or not _OF_RUNS.isdisjoint(source.names)
    if has_main and not {"id", "query_id"}.isdisjoint(source.names):
        return
    found = understand(source.sample)
    readings = list(found.readings) if kind == "evalset" else [found.run] if found.run else []
    usable = [one for one in readings if one.holds(kind)]
    if len(readings) == len(usable) == 1:
        source.use(**usable[0].options)
    elif not has_main and found.readings:
        is_log = kind == "evalset" and [one.kind for one in found.readings] == ["log"]
        if is_log or (not has_rankings and source.names.isdisjoint(_OF_RUNS)):
            raise InvalidInputError(f"{source.path}: ", *refusal(found, kind, source.path))


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
