"""Takes the rows of a run as they come: counts them, keeps them, writes them down, and says when to give up."""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Run, RunRow
from krag_eval.evalset.formats.journal import split_header
from krag_eval.evalset.latency import Latency
from krag_eval.journal import RowTooLongError
from krag_eval.progress import ProgressHook, RunProgress
from krag_eval.redaction import describe_error
from krag_eval.runner.failures import RunStoppedError
from krag_eval.runner.journal import Journal
from krag_eval.shapes import as_number

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
