"""How the files that a command names are read and written: tables, workbooks, encodings, runs, and `-`."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Run, RunProgress, read_corpus, read_evalset, read_run
from krag_eval.toolkit import (
    DASH,
    Format,
    Source,
    cached_property,
    did_you_mean,
    load,
    one_of,
    refuse,
    reporter,
)
from krag_eval_cli import typed
from krag_eval_cli.options import values_of
from krag_eval_cli.streams import streams_as_files


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The options that say how the files of a command are read.

    Parameters:
        columns (FIELD=COLUMN,...): Which column holds which field: gold=pos,retrieved=result. A name without a number
            stands for numbered columns: result means result 1, result 2 and so on.
        sheet (NAME): The sheet of a workbook; repeat it to give each workbook its own.
        rows (KEY): The key under which a JSON or YAML file has its rows, if several keys hold some.
        separator (TEXT): What separates the ids in a cell or string, such as ', ' or '|'.
        encoding (NAME): The encoding of files that are not UTF-8, such as cp949.
        from_format (--from FORMAT): The format of files whose name and content do not show it, such as csv for `-`:
            {from_format}.
    """

    columns: str | None = None
    sheet: list[str] | None = None
    rows: str | None = None
    separator: str | None = None
    encoding: str | None = None
    from_format: str | None = None

    def evalset(self, path: Path, runs: Sequence[Path] = (), **settings: Any) -> EvalSet:
        """Read a set as `read_evalset` does with these settings; `runs` tell which of its cells hold several ids."""
        questions = read_evalset(path, **self.reading(path, "evalset"), **settings)
        if self.separator is not None or path in runs or DASH in map(str, (path, *runs)):
            return questions
        if not Source(path).is_table:
            return questions
        others = partial(itertools.chain.from_iterable, map(self._peeked, runs))
        split: EvalSet = load("krag_eval.formats", "split_cells")(questions, path, others)
        return split

    def _peeked(self, path: Path) -> Iterator[object]:
        """Yield a run or a corpus for its ids alone; what is wrong with it is said when it is read."""
        for read in (FileOptions.run, FileOptions.corpus):
            with contextlib.suppress(InvalidInputError), warnings.catch_warnings(action="ignore"):
                yield read(self, path)

    def run(self, path: Path, questions: EvalSet | None = None, **settings: Any) -> Run:
        """Read a run, as `read_run` does with these settings."""
        return read_run(path, evalset=questions, **self.reading(path, "run"), **settings)

    def corpus(self, path: Path) -> list[Document]:
        """Read a corpus, as `read_corpus` does."""
        reading = self.reading(path, "corpus")
        return read_corpus(path, **{name: reading[name] for name in ("columns", "encoding", "sheet")})

    def chosen(self, path: Path) -> dict[str, Any]:
        """Return the settings with which `inspect_file` looks at a file."""
        return {
            "columns": self.named_columns() or None,
            "rows": self.rows,
            "separator": self.separator,
            **self.table(path),
        }

    def table(self, path: Path) -> dict[str, Any]:
        """Return `encoding` and `sheet` for a file."""
        return {"encoding": self.encoding, "sheet": self._sheet_of(path)}

    def arguments(self) -> list[str]:
        """Return these options as they are typed, for the command that comes next."""
        names = ("columns", "rows", "separator", "encoding")
        given = [(f"--{name}", value) for name in names if (value := getattr(self, name))]
        return [part for pair in [*given, *(("--sheet", one) for one in self.sheet or ())] for part in pair]

    def named_columns(self) -> dict[str, Any]:
        """Return `question=query,gold=pos`, or the same as a JSON object, as a mapping; a list names several columns.

        Raises:
            InvalidInputError: It is neither, or there is no such field.
        """
        text = (self.columns or "").strip()
        pairs: list[tuple[str, Any]]
        try:
            if text.startswith("{"):
                given = json.loads(text).items()
                pairs = [(str(field), one if isinstance(one, list) else str(one)) for field, one in given]
            else:
                parts = [part.partition("=") for part in text.split(",") if part.strip()]
                pairs = [(field.strip(), column.strip()) for field, _, column in parts]
        except ValueError:
            pairs = [("", "")]
        if not all(field and column for field, column in pairs):
            refuse("columns", "such as question=query,gold=pos", text)
        known = tuple(dict.fromkeys(field for fields in Source.FIELDS.values() for field in fields))
        return {one_of("columns", field, known): column for field, column in pairs}

    def reading(self, path: Path, kind: str) -> dict[str, Any]:
        """Return the settings with which the library reads a file."""
        table = self.table(path)
        chosen = {"rows": self.rows, "separator": self.separator}
        return {"format": self._format_of(path), "columns": self._columns_of(path, kind, table), **chosen, **table}

    def _columns_of(self, path: Path, kind: str, table: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the columns of one of several files: none for fields that this one has under their own names."""
        given = self.named_columns()
        source = Source(path, **table)
        names = source.names if given else frozenset()
        if not names or all(field in Source.FIELDS[kind] for field in given):
            return given or None
        return {
            field: column
            for field, column in given.items()
            if isinstance(column, list)
            or "." in column
            or source.has_column(column)
            or field not in (*names, "id", "question")
        }

    def _format_of(self, path: Path) -> str | None:
        if self.from_format is None or str(path) == DASH:
            return self.from_format
        Format.named(self.from_format)
        try:
            Format.detect(Source(path))
        except InvalidInputError:
            return self.from_format
        return None

    def _sheet_of(self, path: Path) -> str | None:
        if not self.sheet or Source(path).container != "xlsx":
            return None
        if len(self.sheet) == 1:
            return self.sheet[0]
        sheet = next(self._sheets, None)
        if sheet is None:
            raise InvalidInputError(f"`--sheet` is given {len(self.sheet)} times, and there are more workbooks.")
        return sheet

    @cached_property
    def _sheets(self) -> Iterator[str]:
        return iter(self.sheet or ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFileOptions(FileOptions):
    """The options that say how the files of a command that reads runs are read.

    Parameters:
        flatten: Score one ranking of each session of several searches: its first or last search, or all of them
            concatenated. By default, sessions are scored as sessions.
    """

    flatten: str | None = None

    def run(self, path: Path, questions: EvalSet | None = None, **settings: Any) -> Run:
        """Read a run, as `read_run` does with these settings."""
        if self.flatten is None:
            return FileOptions.run(self, path, questions, **settings)
        one_of("flatten", self.flatten, values_of("flatten"))  # before the work
        return FileOptions.run(self, path, questions, **settings).flatten(self.flatten)


def read_runs(
    paths: Sequence[Path],
    questions: EvalSet | None,
    files: FileOptions,
    *,
    id_key: str | None,
    max_bad_rows: int = 0,
    progress: Callable[[RunProgress], object] | None = None,
) -> dict[str, Run]:
    """Return the runs in these files by name: the file's name, with as much of its path as tells it from the others."""
    runs: dict[str, Run] = {}
    told = reporter(progress, "read", len(paths))
    for path in paths:
        told(len(runs))
        taken = {name for other in paths if other != path for name in _names(other)}
        own = next((name for name in _names(path) if name not in taken), _names(path)[0])
        name = next(name for name in (own, *(f"{own}#{n}" for n in range(2, len(paths) + 1))) if name not in runs)
        runs[name] = files.run(path, questions, name=name, id_key=id_key, max_bad_rows=max_bad_rows)
    told(len(runs), is_over=True)
    return runs


def has_results(path: Path, files: FileOptions) -> bool:
    """Return whether a file of questions and gold also has what was retrieved.

    Raises:
        InvalidInputError: It is a log, which has no gold.
    """
    if str(path) == DASH:
        return False
    found = load("krag_eval.formats", "inspect")(path, **files.chosen(path))
    if found.kind == "log":
        raise InvalidInputError(f"{path}: {found.note[:1].lower()}{found.note[1:]}")
    return bool(found.kind == "both")


def _names(path: Path) -> list[str]:
    """Return what a file can be called, the shortest first.

    >>> _names(Path("old/bm25/run.jsonl"))
    ['run', 'run.jsonl', 'bm25/run', 'old/bm25/run']
    """
    if str(path) == DASH:
        return ["stdin"]
    parts = (*path.parts[:-1], path.stem)
    return [path.stem, path.name, *("/".join(parts[-n:]) for n in range(2, len(parts) + 1))]


def names_of(metrics: Sequence[str] | None, runs: Mapping[str, Run]) -> Sequence[str] | None:
    """Return the metrics that a command scores by default, or in their place those of sessions where a run has some."""
    from krag_eval.toolkit import decisive_metrics

    plain, found = decisive_metrics(()), decisive_metrics(runs.values())
    if metrics is not None and (*metrics,) == plain:
        return found  # the default of `compare`, which knows what more the questions ask for
    return found if metrics == ["recall"] and found is not plain else metrics


def find_baseline(baseline: str | None, names: Sequence[str], paths: Sequence[Path]) -> str | None:
    """Return the name of the run that `--baseline` means by its name or its file; None stays None.

    Raises:
        InvalidInputError: It is none of the runs.
    """
    if baseline is None:
        return None
    for name, path in zip(names, paths, strict=True):
        if baseline in (name, str(path), path.name):
            return name
    raise InvalidInputError(
        f"`--baseline` {baseline!r:.80} is none of the runs.{did_you_mean(baseline, names)} "
        f"The runs are: {', '.join(names)}."
    )


def check_free(target: Path, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Check, before any work starts, that a file may be written; `-` always may.

    Raises:
        InvalidInputError: It is one of the inputs, or exists and `force` is not given.
    """
    if any(target.exists() and path.exists() and target.samefile(path) for path in inputs):
        raise InvalidInputError(f"{target}: is one of the inputs and is never overwritten. Choose another name.")
    if str(target) != DASH and target.exists() and not force:
        raise InvalidInputError(f"{target}: already exists. Choose another name, or overwrite it with --force.")


# What `-` is for a parameter that takes a path: standard output, or nothing that could be used. The rest is read.
_WRITTEN = frozenset({"target", "out", "per_query", "queue", "json_out", "markdown_out", "badge_out"})
_PRINTED = frozenset({"json_out", "markdown_out"})  # by the command itself, in the place of its tables
_NAMED = frozenset({"log", "plots", "journals", "journal", "prompts", "output", "outbox", "versions", "at", "export"})
_RESUMED = frozenset({"bench", "run", "score_logs", "start"})  # what they write is read when they resume


@contextlib.contextmanager
def dashes(command: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Let `-` among the values of a command's parameters be standard input or output.

    Where a file goes to standard output, everything else that the command prints goes to stderr.

    Raises:
        InvalidInputError: A parameter cannot take it, or two would share it.
    """
    used = [
        name
        for name, value in given.items()
        for path in (value if isinstance(value, list) else [value])
        if isinstance(path, Path) and str(path) == DASH
    ]
    if not used:
        yield
        return
    for name in used:
        if name in _NAMED or (name == "out" and command in _RESUMED):
            raise InvalidInputError(
                f"`{_shown(name)}` needs a name, got '-': what is written there is read again later."
            )
    written = [name for name in used if name in _WRITTEN]
    read = [name for name in used if name not in _WRITTEN]
    for names, stream in ((read, "standard input, which can be read only once"), (written, "standard output")):
        if len(names) > 1:
            listed = " and ".join(f"`{_shown(name)}`" for name in names)
            raise InvalidInputError(f"{listed} are both '-', {stream}. Give a file for all but one of them.")
    others = contextlib.redirect_stdout(sys.stderr) if set(written) - _PRINTED else contextlib.nullcontext()
    with streams_as_files(sys.stdout), others:
        yield


def _shown(name: str) -> str:
    """Return what a parameter is called on the command line."""
    return typed.options[name].split()[0].removesuffix("...")
