"""Record a run while it is made: its rows, counts, latency and journal."""

from __future__ import annotations

import functools
import os
import platform
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import Argument, InvalidInputError, RunStoppedError
from krag_eval._utils.formatting import number_of
from krag_eval._utils.journal.journal import Journal, RowTooLongError
from krag_eval._utils.journal.rows import JournalLine
from krag_eval._utils.progress import ProgressHook, reporter
from krag_eval._utils.redaction import Redactor, describe_error
from krag_eval._utils.version import __version__
from krag_eval.datasets import EvalSet, Run, RunRow, bulk
from krag_eval.datasets.formats.native import JOURNAL_VERSION, RUN_JOURNAL, split_header
from krag_eval.datasets.formats.source import read_at
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.datasets.run import Latency, known
from krag_eval.documents.readers import IdKey
from krag_eval.retrievers.asking import CallSettings
from krag_eval.retrievers.calling import Caller
from krag_eval.retrievers.sources import source_changes

# The error rate of fewer questions says little.
FEWEST_ASKED = 20


class RetrieverChangedError(InvalidInputError):
    """A journal has rows of a retriever that was changed since; the first part of the message says what was changed."""


class Recorder:
    """A run while it is made; a context manager that opens the journal and closes it.

    Args:
        evalset: The questions.
        header: How the run is made; see `make_header`.
        journal: The file to which rows are appended, or None. One row per question.
        resume: Whether to resume a journal that exists: None if the retriever is the same, True also if it was changed;
            False refuses it.
        fresh: Whether to replace a journal that exists.
        retry_errors: Whether to remove rows with errors from the journal, so that their questions are asked again.
        keeps_rows: Whether the rows are kept in memory, for `run`.
        id_key: The key of the metadata that holds the ids of documents, or None.
        max_error_rate: The run stops if more than this share of the questions fails; None never stops it.
        progress: Called after every row.

    Attributes:
        name: The name of the run.
        n_errors: How many rows are errors.
        n_retried: How many questions failed in an earlier session and are asked again.
        is_comparable: Whether the resumed journal says what the source of its retriever was, if that can be known.
        first_error: The first of them, with the id of its question.
        most_retrieved: The number of documents of the longest row.
        latency: The latency of the successful calls, or None.

    Raises:
        InvalidInputError: The error rate is not a share. On entering: the journal cannot be written, is in use,
            damaged, of another run, or must not be resumed; `RetrieverChangedError` if the retriever was changed.
    """

    def __init__(
        self,
        evalset: EvalSet,
        header: Mapping[str, Any],
        *,
        journal: str | os.PathLike[str] | None = None,
        resume: bool | None = None,
        fresh: bool = False,
        retry_errors: bool = True,
        keeps_rows: bool = True,
        id_key: IdKey | None = None,
        max_error_rate: float | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        if max_error_rate is not None:
            check_number("max_error_rate", max_error_rate, "It is the share of questions that fail.", least=0, most=1)
        if fresh and resume:
            raise InvalidInputError(
                Argument("resume", True),
                " keeps the rows of an earlier session, and ",
                Argument("fresh", True),
                " drops them: give one of the two.",
            )
        self.name = str(header["name"])
        self.n_errors = self.n_retried = self.most_retrieved = 0
        self.is_comparable = True
        self.first_error: str | None = None
        self._evalset, self._header, self._id_key = evalset, header, id_key
        self._path, self._resume, self._fresh, self._retry_errors = journal, resume, fresh, retry_errors
        self._changes: list[str] = []
        self._journal: Journal | None = None
        self._rows: dict[str, RunRow] | None = {} if keeps_rows else None
        self._done: set[str] = set()
        self._seconds = array("d")
        self._max_error_rate, self._hook = max_error_rate, progress
        self._n_resumed = self._n_failed = 0

    def __enter__(self) -> Self:
        """Open the journal, and take the rows that it has."""
        if self._path is not None:
            self._journal = self._open(self._path, fresh=self._fresh)
            if self._changes and not self._done:  # nothing of the retriever of before is kept
                self._journal.close()
                self._journal, self._changes = self._open(self._path, fresh=True), []
            self._n_resumed = len(self._done)
        self._report = reporter(self._hook, self.name, len(self._evalset), resumed=self._n_resumed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Sync the journal to the disk; an interruption then says how far the run came."""
        if self._journal is not None:
            self._journal.close(kind)
        self._report_progress(is_over=True)
        if kind is KeyboardInterrupt:
            raise KeyboardInterrupt(f"Stopped. {self._how_far()}") from None

    def _open(self, path: str | os.PathLike[str], *, fresh: bool) -> Journal:
        with bulk.without_collector():
            return Journal(
                path,
                self._header,
                RUN_JOURNAL,
                resume=self._resume is not False,
                fresh=fresh,
                check=self._compare,
                take=functools.partial(self._take_recorded, set()),
                accept=self._refuse_changed,
                rows=self._in_memory,
            )

    def start(self) -> list[str]:
        """Report the progress so far, and return the ids of the questions that have no row."""
        self._report_progress()
        return [question_id for question_id in self._evalset.ids if question_id not in self._done]

    def take(self, row: RunRow) -> None:
        """Record a row.

        Raises:
            InvalidInputError: The row cannot be written.
            RunStoppedError: Too many questions failed.
        """
        if self._rows is not None:
            self._rows[row.query_id] = row  # also where it cannot be written: it is saved with the others
        if self._journal is not None:
            if self._changes and not self.n_asked:  # what follows is of the new retriever
                self._journal.append(self._header)
            try:
                self._journal.append(row.to_dict())
            except RowTooLongError as error:  # an error of this question only
                row = RunRow(query_id=row.query_id, error=describe_error(error), seconds=row.seconds)
                self._journal.append(row.to_dict())
        self._count(row)
        self._n_failed += row.error is not None
        self._report_progress()
        if row.error is not None and self.n_asked >= FEWEST_ASKED:
            self._check_error_rate()

    def finish(self) -> None:
        """Check the error rate of a run with fewer questions than are checked on the way.

        Raises:
            RunStoppedError: Too many questions failed.
        """
        if self.n_asked and self._n_failed:
            self._check_error_rate()

    @property
    def n_done(self) -> int:
        """How many questions have a row."""
        return len(self._done)

    @property
    def n_asked(self) -> int:
        """How many of them were asked in this session."""
        return self.n_done - self._n_resumed

    @property
    def latency(self) -> Latency | None:
        """The latency of the successful calls."""
        return Latency.of(self._seconds)

    def run(self) -> Run:
        """Return the run, in the order of the evaluation set."""
        rows = self._rows or {}
        name, parameters, recorded = split_header(self._header if self._journal is None else self._journal.header)
        ordered = {question_id: rows[question_id] for question_id in self._evalset.ids if question_id in rows}
        return Run(name=name, rows=ordered, parameters=parameters, recorded=recorded)

    def _in_memory(self) -> Iterable[Mapping[str, Any]] | None:
        # Of a retriever that was changed, the rows have two headers.
        return None if self._rows is None or self._changes else map(RunRow.to_dict, self._rows.values())

    def _take_recorded(self, seen: set[str], lines: list[JournalLine]) -> list[bool]:
        """Take rows of a resumed journal; return False for each error that is retried."""
        rows = bulk.read_rankings([line.row for line in lines])
        each = (read_at(line.place, RunRow.from_dict, line.row) for line in lines) if rows is None else rows
        return [self._take_row(seen, line.place, row) for line, row in zip(lines, each, strict=True)]

    def _take_row(self, seen: set[str], place: str, row: RunRow) -> bool:
        if row.query_id in seen:
            raise InvalidInputError(f"{place}: the query {row.query_id!r} appears twice.")
        seen.add(row.query_id)
        row = known(row, self._id_key, place)  # older versions recorded answers that are no documents
        if row.error is not None and self._retry_errors:
            self.n_retried += 1
            return False
        self._count(row)
        return True

    def _compare(self, path: Path, recorded: Mapping[str, Any]) -> None:
        differing = list(_differences(recorded, self._header))
        if differing:
            raise InvalidInputError(
                f"{path}:1: the journal belongs to another run: {'; '.join(differing)}. Give another path to start a "
                "new run, the same settings to resume this one, or ",
                Argument("fresh", True),
                " to replace it.",
            )
        self._changes = list(_changes(recorded, self._header))
        self.is_comparable = not self._header.get("source") or bool(recorded.get("source"))

    def _refuse_changed(self) -> None:
        if self._changes and self._done and not self._resume:
            raise RetrieverChangedError(
                f"{self._path}: the retriever was changed after {number_of(len(self._done), 'row')}: "
                f"{'; '.join(self._changes)}.",
                " Nothing was asked. Rerun with ",
                Argument("resume", True),
                " to keep these rows and ask only the other questions, or with ",
                Argument("fresh", True),
                " to replace them.",
            )

    def _count(self, row: RunRow) -> None:
        self._done.add(row.query_id)
        self.most_retrieved = max(self.most_retrieved, len(row.retrieved))
        if row.error is not None:
            self.n_errors += 1
            self.first_error = self.first_error or f"{row.query_id}: {row.error}"
        elif row.seconds is not None:
            self._seconds.append(row.seconds)
        if self._rows is not None:
            self._rows[row.query_id] = row

    def _check_error_rate(self) -> None:
        rate = self._max_error_rate
        if rate is not None and self._n_failed > rate * self.n_asked:
            is_asked_again = self._journal is not None and self._retry_errors
            raise RunStoppedError(
                f"{self.name}: {self._n_failed} of {self.n_asked} questions failed, more than ",
                Argument("max_error_rate"),
                f" {rate:g} allows. The first error: {self.first_error}. {self._how_far()}"
                f"{' Failed questions are asked again.' if is_asked_again else ''}",
            )

    def _how_far(self) -> str:
        done = f"{self.n_done:,} of {len(self._evalset):,} questions were asked"
        if self._journal is None:
            return f"{done}, and their rows are lost. Pass `journal` to be able to resume."
        if (fault := self._journal.fault()) is not None:
            return f"{done}. {fault}"
        return f"{done}; their rows are in {self._journal.path}. Run the same again to resume."

    def _report_progress(self, *, is_over: bool = False) -> None:
        self._report(self.n_done, self.n_errors, is_over=is_over)


# Import packages whose distributions have another name.
_DISTRIBUTIONS = {"llama_index": "llama-index-core", "haystack": "haystack-ai"}
_ABSENT = object()


def make_header(
    name: str,
    parameters: Mapping[str, Any],
    evalset: EvalSet,
    caller: Caller,
    settings: CallSettings,
    retriever: object,
    source: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the first row of a journal: how a run that starts now is made."""
    return {
        RUN_HEADER: JOURNAL_VERSION,
        "name": name,
        "parameters": dict(parameters),
        "k": settings.k,
        "evalset": evalset.name,
        "fingerprint": evalset.fingerprint,
        "n_questions": len(evalset),
        "retriever": caller.path,
        **({"source": source} if source else {}),
        "concurrency": settings.concurrency,
        "timeout": settings.timeout,
        "retries": settings.retries,
        **({} if settings.metadata == CallSettings.metadata else {"metadata": settings.metadata}),
        "versions": {"krag_eval": __version__, "python": platform.python_version(), **_frameworks(retriever)},
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _frameworks(retriever: object) -> dict[str, str]:
    """Return the versions of the packages that define the retriever, or its class and its bases."""
    owner = getattr(retriever, "__self__", retriever)
    modules = {getattr(owner, "__module__", None) or "builtins", *(base.__module__ for base in type(owner).__mro__)}
    found = {}
    for module in {module.partition(".")[0] for module in modules} - sys.stdlib_module_names:
        name = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the user's own module
            continue
    return dict(sorted(found.items()))


def _differences(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    for key, label in (("name", "retriever name"), ("k", "k"), ("fingerprint", "evaluation set")):
        if recorded.get(key) != wanted.get(key):
            yield f"{label} {_value(recorded, key)} in the journal, {_value(wanted, key)} now"
    was, is_now = (header.get("metadata", CallSettings.metadata) for header in (recorded, wanted))
    if was != is_now:
        yield f"metadata {was!r:.60} in the journal, {is_now!r:.60} now"


def _changes(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the retriever was changed."""
    yield from source_changes(recorded.get("source"), wanted.get("source"))
    were, are = recorded.get("versions") or {}, wanted["versions"]
    for package in sorted((were.keys() & are.keys()) - {"krag_eval", "python"}):
        if were[package] != are[package]:
            yield f"{package} {were[package]} in the journal, {are[package]} now"
    old, new = (Redactor().of(header.get("parameters") or {}) for header in (recorded, wanted))
    for key in sorted({*old, *new}):
        if old.get(key, _ABSENT) != new.get(key, _ABSENT):
            was, is_now = (f"{parameters.get(key, 'absent')!r:.60}" for parameters in (old, new))
            yield f"parameter {key} {was} in the journal, {is_now} now"


def _value(header: Mapping[str, Any], key: str) -> str:
    if key != "fingerprint":
        return f"{header.get(key)!r:.60}"
    return f"{header.get('evalset')!r:.60} with fingerprint {header.get(key)}"
