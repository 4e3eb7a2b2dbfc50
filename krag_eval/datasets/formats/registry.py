"""The formats: how each is recognized, read and written. Those of other programs are in `krag_eval_formats`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean
from krag_eval._utils.files.encodings import cure, looks_like
from krag_eval._utils.files.io import DASH, StrPath, is_file
from krag_eval.datasets import rows
from krag_eval.datasets.beside import beside
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import native
from krag_eval.datasets.formats.layout import FIELDS_OF, is_field
from krag_eval.datasets.formats.source import CONTAINERS, Kind, Source
from krag_eval.datasets.formats.writing import Writing
from krag_eval.datasets.question import RUN_HEADER, Question
from krag_eval.datasets.run import Run, RunRow

_HELD: Mapping[Kind, str] = {"evalset": "an evaluation set", "run": "a run"}
_FUNCTIONS: Mapping[Kind, str] = {"evalset": "questions", "run": "rankings"}
Reader = Callable[[Source], Iterator[tuple[str, Any]]]
Questions = Callable[[Source], Iterator[tuple[str, Question]]]
Rankings = Callable[[Source], Iterator[tuple[str, RunRow]]]


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
        writing: What both are given beside it: the file, and what is lost.
        questions_in_order: Reads an evaluation set in bounded memory, where `questions` does not.
        rankings_in_order: Reads a run in bounded memory, where `rankings` does not.
        owns: Returns whether a file or a folder has this format by its place.
        refuse_part: Raises if a file that shows no format is a part of something in this format.
        has_columns: Whether its rows are read by their columns, as our own are.
    """

    kinds: Callable[[Source], tuple[Kind, ...]]
    detected_in: tuple[str | None, ...] = ()
    endings: tuple[str, ...] = ()
    container: str | None = None
    questions: Questions | None = None
    rankings: Rankings | None = None
    write_questions: Callable[[EvalSet, Any], None] | None = None
    write_rankings: Callable[[Run, Any], None] | None = None
    writing: type[Writing] = Writing
    questions_in_order: Questions | None = None
    rankings_in_order: Rankings | None = None
    owns: Callable[[str], bool] | None = None
    refuse_part: Callable[[Source], None] | None = None
    has_columns: bool = False

    @staticmethod
    def named(name: str) -> Format:
        """Return the format of a name.

        Raises:
            InvalidInputError: There is no such format.
        """
        if name in _OWN:
            return _OWN[name]
        if name in formats():
            return formats()[name]
        raise InvalidInputError(
            f"Unknown format {name!r:.60}.{did_you_mean(name, formats())} Known formats: {', '.join(formats())}."
        )

    def kinds_in(self, source: Source) -> tuple[Kind, ...]:
        """Return what a file in this format holds, as far as it can be told.

        Raises:
            InvalidInputError: The file cannot be opened.
        """
        if self.rankings is None:
            return ("evalset",)
        return self.kinds(source) if source.is_regular else ()

    @staticmethod
    def detect(source: Source) -> tuple[str, tuple[Kind, ...]]:
        """Return the name of a file's format, and what the file holds in it: an evaluation set, a run or both.

        Raises:
            InvalidInputError: The file cannot be opened, or is in no known format.
        """
        container = source.container
        own = () if container is None else native.kinds_in(source)
        if container is not None and own and native.is_certain(source):
            return container, own
        if container == "jsonl" and not source.is_folder and source.is_regular and not source.head.strip():
            return "jsonl", ()  # the journal of a run that was stopped at once
        if not source.is_folder and not source.is_regular:
            return container or "jsonl", ()
        try:
            known = formats()
        except InvalidInputError:
            if container is not None and own:  # to read our own format needs no other package
                return container, own
            raise
        for name, its in known.items():
            if its.owns is not None and its.owns(source.path):
                return name, ("evalset",)
        if source.is_folder:
            raise InvalidInputError(
                f"{source.path}: cannot be read (Is a directory). "
                "A folder must be one of BEIR: with queries.jsonl, corpus.jsonl and qrels/test.tsv."
            )
        for name, its in known.items():
            if container in its.detected_in and (kinds := its.kinds(source)):
                return name, kinds
        if container is None:
            hint = looks_like(source.head)
            named = (
                "Name the format, such as ",
                Argument("from_format", "csv", "format='csv'"),
                f": {', '.join(known)}.",
            )
            raise InvalidInputError(
                f"{source.path}: is in no format that can be recognized by its name or its beginning{hint}. ",
                *(cure(source.head) if hint else named),
            )
        for its in known.values():
            if not own and its.refuse_part is not None:
                its.refuse_part(source)
        return container, own

    @staticmethod
    def name_to_write(path: StrPath, name: str | None) -> str:
        """Return the named format, or else the format of the ending.

        Raises:
            InvalidInputError: There is no such format, or the ending belongs to none.
        """
        if name is not None:
            Format.named(name)
            return name
        lower = os.fspath(path).lower()
        stem, dot, ending = Path(lower).name.rpartition(".")
        own = next((known for known, its in _OWN.items() if dot + ending in its.endings), None)
        if own is not None and "." not in stem:
            return own
        fitting = [(len(e), known) for known, its in formats().items() for e in its.endings if lower.endswith(e)]
        if fitting:
            return max(fitting)[1]
        if lower.endswith(CONTAINERS["xlsx"]):
            raise InvalidInputError(f"{path}: workbooks are read, not written. Write a .csv file, which Excel opens.")
        if lower == DASH:
            return "jsonl"
        raise InvalidInputError(
            f"{path}: the ending belongs to no format. Use one of "
            f"{', '.join(ending for its in formats().values() for ending in its.endings)}, or name the format."
        )


def _native(container: str) -> Format:
    its = Format(
        kinds=native.kinds_in,
        container=container,
        questions=native.questions,
        rankings=native.rankings,
        has_columns=True,
    )
    if container in ("xlsx", "yaml"):
        return its
    return replace(
        its,
        endings=tuple(ending for ending in CONTAINERS[container] if not ending.endswith(".gz")),
        write_questions=partial(native.write_questions, container),
        write_rankings=partial(native.write_rankings, container),
    )


_OWN: Mapping[str, Format] = {container: _native(container) for container in CONTAINERS}


@functools.cache
def formats() -> Mapping[str, Format]:
    """Return the formats by name, in the order in which they are looked for: our own, then those of other programs.

    Raises:
        InvalidInputError: The package with the others is missing, or cannot be imported.
    """
    return {**_OWN, **beside("files")}


def written_formats() -> list[str]:
    """Return the names of the formats that can be written."""
    return [name for name, its in formats().items() if its.write_questions or its.write_rankings]


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
        settings |= _saved_reading(path, kind)
    fields = FIELDS_OF[kind]
    columns = {
        name: one for name, one in (settings.get("columns") or {}).items() if name in fields or not is_field(name)
    }
    settings["columns"] = columns or None  # what is meant for the other side leaves this one its own format
    container = None if format_name is None else Format.named(format_name).container
    source = Source(path, container, **settings)
    if format_name is None:
        format_name = source.container if columns and source.container is not None else Format.detect(source)[0]
    if not columns and format_name in CONTAINERS and source.is_regular and not _is_plain(source, kind):
        beside("understood")(source, kind)
    its, name = Format.named(format_name), _FUNCTIONS[kind]
    read: Reader | None = (in_order and getattr(its, f"{name}_in_order")) or getattr(its, name)
    if its.has_columns:
        source.kind = kind
        if kind == "evalset" and (read is None or source.is_squad):
            read = rows.questions_of_rows
    is_nameless = columns and its.container is None
    if is_nameless or read is None:
        what = "rows with columns" if is_nameless else _HELD[kind]
        raise InvalidInputError(
            f"{path}: is in the format {format_name!r}, which cannot hold {what}. Give another file."
        )
    return source, read


def _saved_reading(path: StrPath, kind: Kind) -> dict[str, Any]:
    """Return the options of `read_evalset` or `read_run` that `krag-eval inspect --save` wrote beside a file."""
    beside_it = f"{os.fspath(path)}.reading.json"
    if os.fspath(path) == DASH or not is_file(beside_it):
        return {}
    saved: dict[str, Any] = beside("saved_reading")(beside_it, kind)
    return saved


def _is_plain(source: Source, kind: Kind) -> bool:
    """Return whether the rows of a file have ids, and what is wanted, under the names that we give them."""
    has_ids = not source.names.isdisjoint({"id", "query_id", RUN_HEADER})
    return not source.head.strip() or (source.has(kind) and has_ids)


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
    name = Format.name_to_write(path, format_name)
    attribute = f"write_{_FUNCTIONS[kind]}"
    its = Format.named(name)
    writer = getattr(its, attribute)
    if writer is None:
        able = ", ".join(known for known, one in formats().items() if getattr(one, attribute) is not None)
        raise InvalidInputError(f"{path}: {_HELD[kind]} cannot be written in the format {name!r}. Use one of: {able}.")
    writing = its.writing(os.fspath(path), name, **settings)
    writer(given, writing)
    writing.warn()
