"""Say what a file is before anything is scored: its rows, its fields, which of them are gold, and how to read it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval import EvalSet, InvalidInputError, Run, as_document, read_corpus, read_run
from krag_eval.toolkit import (
    CONTAINERS,
    DOC_KEY,
    Format,
    ShortRepr,
    ShownInNotebooks,
    Source,
    TextCell,
    check_path,
    dump_json,
    escape_controls,
    id_at,
    number_of,
    plain_fields,
    write_atomically,
)
from krag_eval_formats.field_roles import Field, Reading, Understanding, refusal, understand

_WORDS = {
    "evalset": "an evaluation set",
    "run": "a run: what was retrieved",
    "both": "an evaluation set and a run in one",
    "log": "a log: what was retrieved, with answers, and no gold documents",
    "answers": "questions and answers, and no gold documents",
    "unknown": "nothing that is certain",
}
_ORDER = (
    "question",
    "id",
    "gold",
    "must_not",
    "retrieved",
    "documents",
    "unclear",
    "reference answer",
    "answer",
    "grade",
    "flag",
)
_OF_ROWS = ("ragas", "autorag", "hf", "judgments")  # whose rows are those of the file
_SAVED = {"columns", "rows", "separator", "id_key", "encoding", "sheet"}
_MOST_FIELDS, _LONGEST, _IN_A_CELL = 6, 44, 160


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection(ShortRepr, ShownInNotebooks):
    """What a file is; as a string it is a text of about ten lines.

    Attributes:
        path: The file.
        kind: `"evalset"`, `"run"`, `"both"`, `"log"` (retrieved documents and answers, no gold), `"answers"` (questions
            and answers alone) or `"unknown"`.
        options: The keyword arguments with which `read_evalset` reads it, or `read_run` a run or a log.
        format: The name of its format.
        n_rows: How many rows were looked at.
        is_whole: Whether these are all of them.
        fields: Its fields, and what each is taken for.
        readings: The ways to read it: one if it is certain, two if it is not.
        note: What else there is to say.
    """

    path: str
    kind: str
    options: Mapping[str, Any]
    format: str
    n_rows: int
    is_whole: bool
    fields: tuple[Field, ...] = ()
    readings: tuple[Reading, ...] = ()
    note: str = ""

    @property
    def call(self) -> str:
        """The line of Python that reads it, or starts from a log; empty if it is not certain what it is."""
        if self.kind in ("answers", "unknown"):
            return ""
        name = {"run": "read_run", "log": "start_from_log"}.get(self.kind, "read_evalset")
        return f"{name}({', '.join([repr(self.path), *(f'{k}={v!r}' for k, v in self.options.items())])})"

    @property
    def command(self) -> str:
        """The command that scores it, or starts from a log; empty if it is not certain what it is."""
        if self.kind in ("answers", "unknown"):
            return ""
        if self.kind == "log":
            return " ".join(["krag-eval start", *map(shlex.quote, [self.path, *_typed(self.options)])])
        files = {"evalset": [self.path, "RUN"], "both": [self.path]}.get(self.kind, ["EVALSET", self.path])
        return " ".join(["krag-eval evaluate", *map(shlex.quote, [*files, *_typed(self.options)])])

    def save(self) -> Path:
        """Write the options into a file beside this one, from which they are read from now on; return its path.

        Raises:
            InvalidInputError: It is not certain what the file is, or it cannot be written.
        """
        if not self.call:
            raise InvalidInputError(f"{self.path}: is {_WORDS[self.kind]}. Only a certain reading can be saved.")
        side = "run" if self.kind in ("run", "log") else "evalset"
        target = Path(f"{self.path}.reading.json")
        write_atomically(target, [dump_json({side: dict(self.options)}, "the reading", indent=2), "\n"])
        return target

    def to_dict(self) -> dict[str, Any]:
        """Return the inspection for JSON."""
        row = plain_fields(self, "path", "kind", "options", "format", "n_rows", "is_whole", "note")
        fields = [plain_fields(one, *one.__slots__) for one in self.fields]
        readings = [plain_fields(one, *one.__slots__) for one in self.readings]
        return row | {"command": self.command, "python": self.call, "fields": fields, "readings": readings}

    def __str__(self) -> str:
        return "\n".join(escape_controls(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        rows = number_of(self.n_rows, "row") if self.is_whole else f"the first {number_of(self.n_rows, 'row')}"
        yield f"{self.path}: {_WORDS[self.kind]} ({f'{self.format}, {rows}' if self.fields else self.format})"
        told = [one for role in _ORDER for one in self.fields if one.role == role][:_MOST_FIELDS]
        widths = [
            max((len(text) for text in texts), default=0) for texts in ([o.role for o in told], [o.name for o in told])
        ]
        for one in told:
            yield f"  {one.role:<{widths[0]}}  {one.name:<{widths[1]}}  {_shown(one.example)}  ({one.shape}; {one.why})"
        others = [one.name for one in self.fields if one not in told]
        if others:
            yield f"  others: {', '.join(others)!s:.100}"
        if self.note:
            yield self.note
        if self.call:
            yield f"Command: {self.command}"
            yield f"Python:  {self.call}"


def inspect_file(
    path: str | os.PathLike[str],
    other: object = None,
    *,
    columns: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    rows: str | None = None,
    separator: str | None = None,
) -> Inspection:
    """Look at the first rows of a file, and say what they are and how they are read.

    At most 1,000 rows and 64 MB are looked at. Nothing is scored, and nothing is written.

    Args:
        path: The file, or a BEIR folder.
        other: The run or the corpus that belongs to it: a path, a `Run` or documents. Its ids show which field has the
            gold, and what separates several ids in a cell.
        columns: As for `read_evalset`, if it is known which column holds which field.
        encoding: The encoding of a text that is not UTF-8.
        sheet: The sheet of a workbook.
        rows: The key under which a JSON or YAML file has its rows.
        separator: As for `read_evalset`, if it is known.

    Raises:
        InvalidInputError: The file cannot be read, or is in no format that can be recognized.
        MissingDependencyError: The format needs a package that is not installed.
    """
    check_path(path)
    source = Source(path, columns=columns, encoding=encoding, sheet=sheet, rows=rows)
    name, kinds = ("json", ()) if source.is_cut else Format.detect(source)
    sample = source.sample
    if not sample and name in CONTAINERS and not source.is_folder:
        next(iter(source.rows()), None)  # says what is wrong with it
    found = understand(sample, known=_ids_of(other))
    given = {"columns": columns, "encoding": encoding, "sheet": sheet, "rows": rows, "separator": separator}
    options: dict[str, Any] = {key: one for key, one in given.items() if one}
    kind = "both" if len(kinds) == 2 else next(iter(kinds), "unknown")
    readings, note = found.readings, ""
    if len(readings) == 1 and (name in (*CONTAINERS, "ragas")):
        kind = readings[0].kind
        if name in CONTAINERS:
            rows_at = source.rows_at
            options = {**readings[0].options, **({"rows": rows_at} if rows_at else {}), **found.options, **options}
    elif len(readings) > 1 and name in CONTAINERS:
        kind = "unknown"
    if columns:
        kind = "both" if len(source.named_kinds) == 2 else next(iter(source.named_kinds), "evalset")
    if kind in ("unknown", "answers"):
        note = _why_not(found, source)
    elif kind == "log":
        note = _said(found, os.fspath(path))
    if source.is_cut:
        note = f"{note} Only the first {Source.LARGEST >> 20} MB were read.".strip()
    return Inspection(
        path=os.fspath(path),
        kind=kind,
        options=options,
        format=name,
        n_rows=len(sample),
        is_whole=not source.is_sampled,
        fields=found.fields if name in (*CONTAINERS, *_OF_ROWS) else (),
        readings=readings,
        note=note,
    )


def _said(found: Understanding, path: str) -> str:
    text = str(InvalidInputError(*refusal(found, "evalset", path)))
    return text[:1].upper() + text[1:]


def _why_not(found: Understanding, source: Source) -> str:
    if found.readings:
        return _said(found, source.path)
    if source.has_passages:
        return (
            "It looks like a corpus: documents with ids and texts. `read_corpus` reads it, and `krag-eval generate` "
            "writes questions about it."
        )
    return "No field is certainly a question or a gold document. Name them with `columns`."


def _ids_of(other: object) -> frozenset[str]:
    """Return the ids of a run or of documents."""
    if other is None:
        return frozenset()
    if isinstance(other, (str, os.PathLike)):
        path = os.fspath(other)
        try:
            other = read_run(path)
        except InvalidInputError:
            other = read_corpus(path)
    documents: Iterable[Any] = other if isinstance(other, Iterable) and not isinstance(other, Run) else ()
    if isinstance(other, Run):
        documents = (document for row in other.rows.values() for document in row.found)
    read = map(as_document, documents)
    return frozenset(one for document in read for one in (document.id, id_at(document.metadata, DOC_KEY)) if one)


def saved_reading(path: str, kind: str) -> dict[str, Any]:
    """Return the options that `Inspection.save` wrote into a file.

    Args:
        path: The file with them.
        kind: `evalset` or `run`: what is read.

    Raises:
        InvalidInputError: It cannot be read, or is none of ours.
    """
    saved = Source(path, "json").document
    options = saved.get(kind, {}) if isinstance(saved, dict) else None
    if not isinstance(options, dict) or options.keys() - _SAVED:
        raise InvalidInputError(f"{path}: must be what `krag-eval inspect --save` wrote. Delete it, or save it again.")
    return options


def split_cells(questions: EvalSet, path: str | os.PathLike[str], others: Callable[[], Iterable[object]]) -> EvalSet:
    """Return a set in which ids of a table's cells that the other side holds in parts, and not whole, are several ids.

    Args:
        questions: The set.
        path: Its file; only cells of tables are split.
        others: Returns the runs or corpora; called only if a gold id may hold several.
    """
    if not Source(path).is_table:
        return questions
    given = {one for question in questions for one in (*question.gold_chunk_ids, *question.gold_doc_ids)}
    joined = {one for one in given if any(sign in one for sign in TextCell.SEPARATORS)}
    known = frozenset().union(*map(_ids_of, others())) if joined else frozenset()
    parts = {one: found for one in joined if len(found := TextCell(one).ids(known=known)) > 1}
    if not parts:
        return questions

    def split(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part for one in ids for part in parts.get(one, [one])))

    rows = [
        replace(one, gold_chunk_ids=split(one.gold_chunk_ids), gold_doc_ids=split(one.gold_doc_ids))
        for one in questions
    ]
    anew = EvalSet(rows, name=questions.name)
    anew.n_rejected = questions.n_rejected
    return anew


def _typed(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as they are typed."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            plain = all(isinstance(one, str) and not set(",=") & set(one) for one in value.values())
            value = ",".join(f"{k}={v}" for k, v in value.items()) if plain else dump_json(dict(value), "columns")
        yield f"--{name.replace('_', '-')}"
        yield value if isinstance(value, str) else ",".join(value)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else dump_json(value, "the example")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
