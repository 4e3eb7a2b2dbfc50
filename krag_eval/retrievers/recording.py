"""Takes the rows of a run as they come: counts them, keeps them, writes them down, and says when to give up.

The first row of a journal: how a run was made, and whether another one was made alike.

The journal of a run while it is written.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from krag_eval._utils.checks import as_number
from krag_eval._utils.errors import InvalidInputError, RunStoppedError
from krag_eval._utils.journal.journal import Journal as AppendOnly
from krag_eval._utils.journal.journal import RowTooLongError
from krag_eval._utils.progress import ProgressHook, RunProgress
from krag_eval._utils.redaction import describe_error
from krag_eval._utils.version import __version__
from krag_eval.datasets import EvalSet, Run, RunRow
from krag_eval.datasets.formats.native import JOURNAL_VERSION, RUN_JOURNAL, split_header
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.datasets.run import Latency
from krag_eval.retrievers.asking import Caller, Manner

# A share of fewer answers says little.
FEWEST_ANSWERS = 20


class Recorder:
    """What is known of a run while it goes on.

    Args:
        evalset: The questions.
        header: How the run is made.
        keeps_rows: Whether the rows are kept in memory, for `run`.
        max_error_rate: The share of failing questions from which the run is given up; None never does.
        progress: Told of every row.

    Attributes:
        name: Of the run.
        n_errors: How many rows are errors.
        first_error: The first of them, with the id of its question.
        most_retrieved: The most documents that a row has.
        journal: Where the rows are written, if anywhere.
    """

    def __init__(
        self,
        evalset: EvalSet,
        header: Mapping[str, Any],
        *,
        keeps_rows: bool = True,
        max_error_rate: float | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        if max_error_rate is not None:
            _check_rate(max_error_rate)
        self.name = str(header["name"])
        self.n_errors = self.most_retrieved = 0
        self.first_error: str | None = None
        self.journal: Journal | None = None
        self._evalset, self._header = evalset, header
        self._rows: dict[str, RunRow] | None = {} if keeps_rows else None
        self._done: set[str] = set()
        self._seconds = array("d")
        self._max_error_rate, self._progress = max_error_rate, progress
        self._n_found = self._n_failed = 0
        self._started = time.monotonic()

    def open_journal(self, path: Any, *, resume: bool, retry_errors: bool) -> None:
        """Write rows to this file from now on, after taking those that it has.

        Raises:
            InvalidInputError: The file cannot be used.
        """
        self.journal = Journal(path, self._header, resume=resume, retry_errors=retry_errors, found=self._count)
        self._n_found = len(self._done)

    def left(self) -> list[str]:
        """The ids of the questions that have no row."""
        return [question_id for question_id in self._evalset.ids if question_id not in self._done]

    def start(self) -> None:
        """The clock of this session starts."""
        self._started = time.monotonic()
        self._tell()

    def take(self, row: RunRow) -> None:
        """One more row.

        Raises:
            InvalidInputError: It cannot be written down.
            RunStoppedError: Too many questions failed.
        """
        if self.journal is not None:
            try:
                self.journal.append(row)
            except RowTooLongError as error:  # of this question: the others have rows that fit
                row = RunRow(query_id=row.query_id, error=describe_error(error), seconds=row.seconds)
                self.journal.append(row)
        self._count(row)
        self._n_failed += row.error is not None
        self._tell()
        if row.error is not None and self.n_asked >= FEWEST_ANSWERS:
            self._judge(row.error)

    def finish(self) -> None:
        """All questions have been asked.

        Raises:
            RunStoppedError: Too many of fewer questions than are judged earlier failed.
        """
        if self.n_asked and self._n_failed:
            self._judge(None)

    def close(self) -> None:
        """Put the journal on the disk.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        if self.journal is not None:
            self.journal.close()
        self._tell(is_over=True)

    @property
    def n_done(self) -> int:
        """How many questions have a row."""
        return len(self._done)

    @property
    def n_asked(self) -> int:
        """How many of them this session asked."""
        return self.n_done - self._n_found

    @property
    def latency(self) -> Latency | None:
        """How long the calls took that gave an answer."""
        return Latency.of(self._seconds)

    def run(self) -> Run:
        """The run, in the order of the evaluation set."""
        rows = self._rows or {}
        header = self._header if self.journal is None else self.journal.header
        name, parameters, recorded = split_header(header)
        ordered = {question_id: rows[question_id] for question_id in self._evalset.ids if question_id in rows}
        return Run(name=name, rows=ordered, parameters=parameters, recorded=recorded)

    def where(self) -> str:
        """How far the run came, and how to go on, for a message."""
        how_far = f"{self.n_done:,} of {len(self._evalset):,} questions have an answer"
        if self.journal is None:
            return f"{how_far}, which are lost: give `journal` a path to be able to go on."
        return f"{how_far} in {self.journal.path}: run the same again to go on."

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

    def _judge(self, message: str | None) -> None:
        rate = self._max_error_rate
        if rate is None or self._n_failed <= rate * self.n_asked:
            return
        last = "" if message is None else f" The last one: {message}."
        raise RunStoppedError(
            f"{self.name}: {self._n_failed} of {self.n_asked} questions failed, more than `max_error_rate` {rate:g} "
            f"allows.{last} {self.where()} With `retry_errors` the failed ones are asked again."
        )

    def _tell(self, *, is_over: bool = False) -> None:
        if self._progress is not None:
            self._progress(
                RunProgress(
                    name=self.name,
                    done=self.n_done,
                    total=len(self._evalset),
                    errors=self.n_errors,
                    asked=self.n_asked,
                    seconds=time.monotonic() - self._started,
                    is_over=is_over,
                )
            )


def _check_rate(value: object) -> None:
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise InvalidInputError(
            f"`max_error_rate` must be a number from 0 to 1, got {value!r:.60}. It is the share of questions that may "
            "fail; None never gives up."
        )


# Import packages whose distributions are not called like them.
_DISTRIBUTIONS = {"llama_index": "llama-index-core", "haystack": "haystack-ai"}
_ABSENT = object()


def make_header(
    name: str, parameters: Mapping[str, Any], evalset: EvalSet, caller: Caller, manner: Manner, retriever: object
) -> dict[str, Any]:
    """What is recorded of a run that begins now."""
    return {
        RUN_HEADER: JOURNAL_VERSION,
        "name": name,
        "parameters": dict(parameters),
        "k": manner.k,
        "evalset": evalset.name,
        "fingerprint": evalset.fingerprint,
        "n_questions": len(evalset),
        "retriever": caller.path,
        "concurrency": manner.concurrency,
        "timeout": manner.timeout,
        "retries": manner.retries,
        "versions": {"krag_eval": __version__, "python": platform.python_version(), **_frameworks(retriever)},
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _frameworks(retriever: object) -> dict[str, str]:
    """The versions of the packages that the retriever's class and its bases come from."""
    owner = getattr(retriever, "__self__", retriever)
    found = {}
    for module in {base.__module__.partition(".")[0] for base in type(owner).__mro__} - sys.stdlib_module_names:
        name = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the user's own module
            continue
    return dict(sorted(found.items()))


def check_same(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a journal that was made in another way.

    Raises:
        InvalidInputError: Name, k, parameters or evaluation set differ; the message says how.
    """
    differing = list(_differences(there, wanted))
    if differing:
        raise InvalidInputError(
            f"{path}:1: is the journal of another run: {'; '.join(differing)}. Give another path to start a new run, "
            "or the same settings to go on with this one."
        )


def _differences(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    for key, words in (("name", "retriever name"), ("k", "k"), ("fingerprint", "evaluation set")):
        if there.get(key) != wanted.get(key):
            yield f"{words} {_value(there, key)} there, {_value(wanted, key)} now"
    old, new = there.get("parameters") or {}, wanted.get("parameters") or {}
    for key in sorted({*old, *new}):
        if old.get(key, _ABSENT) != new.get(key, _ABSENT):
            yield f"parameter {key} {old.get(key, 'absent')!r:.60} there, {new.get(key, 'absent')!r:.60} now"


def _value(header: Mapping[str, Any], key: str) -> str:
    if key != "fingerprint":
        return f"{header.get(key)!r:.60}"
    return f"{header.get('evalset')!r:.60} with fingerprint {header.get(key)}"


class Journal:
    """A journal with one row a question.

    Args:
        path: The file; its folder is created.
        header: What the first row says, the name of the run under `"name"`.
        resume: Go on with a file that is there; otherwise it is refused.
        retry_errors: Take rows that are errors out of the file, so that their questions are asked again.
        found: Called with each row that is already there.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, of another run, or not to be resumed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        *,
        resume: bool = True,
        retry_errors: bool = False,
        found: Callable[[RunRow], None],
    ) -> None:
        seen = set[str]()

        def take(place: str, given: Mapping[str, Any]) -> bool:
            row = _row_at(place, given)
            if row.query_id in seen:
                raise InvalidInputError(f"{place}: the query {row.query_id!r} stands twice.")
            seen.add(row.query_id)
            if row.error is not None and retry_errors:
                return False
            found(row)
            return True

        self._journal = AppendOnly(
            path,
            header,
            RUN_JOURNAL,
            resume=resume,
            check=lambda where, there: check_same(where, there, header),
            take=take,
        )

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    @property
    def header(self) -> Mapping[str, Any]:
        """The first row, which a resumed run keeps."""
        return self._journal.header

    def append(self, row: RunRow) -> None:
        """Write a row.

        Raises:
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it stand.
        """
        self._journal.append(row.to_dict())

    def close(self) -> None:
        """Put everything on the disk, and unlock the file.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        self._journal.close()


def _row_at(place: str, row: Mapping[str, Any]) -> RunRow:
    try:
        return RunRow.from_dict(row)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None
