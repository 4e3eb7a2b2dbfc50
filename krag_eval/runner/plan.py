"""A run that is about to be made, with everything about it checked; and the making of it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet
from krag_eval.evalset.row_hints import of_other_names
from krag_eval.progress import ProgressHook
from krag_eval.runner.asking import Manner, ask_all
from krag_eval.runner.calling import Caller, caller_of
from krag_eval.runner.header import make_header
from krag_eval.runner.plain import as_json
from krag_eval.runner.recording import Recorder
from krag_eval.runner.threads import run_in_own_loop
from krag_eval.shapes import describe_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that is about to be made.

    Attributes:
        caller: The retriever.
        evalset: The questions.
        manner: How they are asked.
        header: What is recorded of it.
        journal: Where rows are written, or None.
        resume: Whether a journal that is there is gone on with.
        retry_errors: Whether questions whose row is an error are asked again.
        max_error_rate: The share of failing questions from which it is given up.
        progress: Told of every row.
    """

    caller: Caller
    evalset: EvalSet
    manner: Manner
    header: Mapping[str, Any]
    journal: str | os.PathLike[str] | None
    resume: bool
    retry_errors: bool
    max_error_rate: float | None
    progress: ProgressHook | None

    def carry_out(self, *, keeps_rows: bool = True) -> Recorder:
        """Ask what has no row yet, on an event loop in a thread of its own."""
        with self._recording(keeps_rows) as recorder:
            run_in_own_loop(lambda: self._work(recorder), self.manner.concurrency)
        return recorder

    async def carry_out_here(self) -> Recorder:
        """The same on the event loop that is running."""
        with self._recording(keeps_rows=True) as recorder:
            await self._work(recorder)
        return recorder

    @contextlib.contextmanager
    def _recording(self, keeps_rows: bool) -> Iterator[Recorder]:
        recorder = Recorder(
            self.evalset,
            self.header,
            keeps_rows=keeps_rows,
            max_error_rate=self.max_error_rate,
            progress=self.progress,
        )
        if self.journal is not None:
            recorder.open_journal(self.journal, resume=self.resume, retry_errors=self.retry_errors)
        try:
            recorder.start()
            yield recorder
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Stopped. {recorder.where()}") from None
        finally:
            recorder.close()

    async def _work(self, recorder: Recorder) -> None:
        await ask_all(self.caller, map(self.evalset.__getitem__, recorder.left()), self.manner, recorder.take)
        recorder.finish()


def make_plan(
    retriever: object,
    evalset: EvalSet,
    manner: Manner,
    *,
    name: str | None,
    parameters: Mapping[str, Any] | None,
    journal: object,
    prefer_async: bool = False,
    **rest: Any,
) -> Plan:
    """Check everything about a run.

    Raises:
        InvalidInputError: Something cannot be used.
    """
    caller = caller_of(retriever, prefer_async=prefer_async)
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidInputError(
            f"`parameters` is {describe_type(parameters)}. It must be a mapping such as {{'chunk_size': 500}}."
        )
    if journal is not None and (not isinstance(journal, (str, os.PathLike)) or not os.fspath(journal)):
        raise InvalidInputError(f"`journal` must be the path of a file, or None, got {journal!r:.60}.")
    for question in evalset:
        if not (question.question or "").strip():
            raise InvalidInputError(
                f"The question {question.id!r} has no text. A retriever has to be asked something."
                f"{of_other_names('question', question.further)}"
            )
    header = make_header(
        caller.name if name is None else _checked_name(name),
        as_json(parameters or {}),
        evalset,
        caller,
        manner,
        retriever,
    )
    return Plan(caller=caller, evalset=evalset, manner=manner, header=header, journal=journal, **rest)


def _checked_name(name: object) -> str:
    if isinstance(name, str) and name.strip():
        return name
    raise InvalidInputError(f"`name` must be a string that is not empty, got {name!r:.60}. Leave it out for the usual.")


def journal_for(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The journal of one retriever of several.

    Raises:
        InvalidInputError: The path names a file.

    >>> str(journal_for("bm25 + dense", "runs"))
    'runs/bm25_dense.jsonl'
    """
    if folder is None:
        return None
    if Path(folder).suffix == ".jsonl" or Path(folder).is_file():
        raise InvalidInputError(
            f"`journal` names the file {os.fspath(folder)!r}. For several retrievers it must be a folder, which gets a "
            "file for each."
        )
    return Path(folder) / (re.sub(r"[^\w.-]+", "_", name) + ".jsonl")
