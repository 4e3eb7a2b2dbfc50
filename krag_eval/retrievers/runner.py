"""The two calls that run retrievers over an evaluation set.

A run that is about to be made, with everything about it checked; and the making of it.

Retrievers run over an evaluation set: called in any way they can be, recorded row by row, resumed at any time.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack, overload

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, did_you_mean
from krag_eval._utils.progress import ProgressHook, hook_for
from krag_eval._utils.suggestions import check_names
from krag_eval._utils.threads import run_in_own_loop
from krag_eval.datasets import EvalSet, Run, as_evalset
from krag_eval.datasets.question import of_other_names
from krag_eval.retrievers.asking import Caller, Manner, RetryOn, ask_all, caller_of
from krag_eval.retrievers.recording import Recorder, make_header
from krag_eval.retrievers.responses import as_json


class RunManner(TypedDict, total=False):
    """The arguments of `run_retriever` by name that have a default."""

    name: str | None
    concurrency: int
    timeout: float | None
    retries: int
    backoff: float
    retry_on: RetryOn | None
    max_error_rate: float | None
    parameters: Mapping[str, Any] | None
    journal: str | os.PathLike[str] | None
    resume: bool
    retry_errors: bool
    progress: bool | ProgressHook | None


class RunOptions(RunManner, total=False):
    """The arguments of `run_retriever` by name."""

    k: Required[int]


@overload
def run_retriever(  # type: ignore[overload-overlap]  # a mapping is several retrievers, and never one
    retriever: Mapping[str, object], evalset: object, **options: Unpack[RunOptions]
) -> dict[str, Run]: ...
@overload
def run_retriever(retriever: object, evalset: object, **options: Unpack[RunOptions]) -> Run: ...
def run_retriever(
    retriever: object,
    evalset: object,
    *,
    k: int,
    name: str | None = None,
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    backoff: float = 0.5,
    retry_on: RetryOn | None = None,
    max_error_rate: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = True,
    retry_errors: bool = False,
    progress: bool | ProgressHook | None = True,
) -> Run | dict[str, Run]:
    """Ask a retriever every question of an evaluation set.

    A question that fails is a row with its error, and counts as nothing retrieved when the run is scored.

    Args:
        retriever: A LangChain retriever or runnable, a LlamaIndex retriever, a Haystack component or pipeline, or a
            function from a question to its documents, best first; plain or async. A mapping from names to these runs
            one after the other.
        evalset: An `EvalSet`, a list of questions, or a pandas frame.
        k: How many documents of each answer are kept. The retriever itself is not told, and never changed.
        name: What the run is called; the retriever's own name by default.
        concurrency: How many questions are asked at a time: each in a thread, or, if the retriever is async, on an
            event loop in a thread of its own, so that it works in a notebook.
        timeout: Seconds for one attempt. An async call is cancelled; a plain one cannot be stopped, and is left behind
            in its thread.
        retries: How often a question whose call raises is asked again. An answer that is no ranking is not asked for
            again.
        backoff: Seconds before the second attempt, doubled before each further one, with as much again by chance.
        retry_on: The exceptions that are worth another attempt, as types or as a function; by default all but those
            that a mistake in a program raises, such as `TypeError`.
        max_error_rate: Give up when more than this share of the questions asked has failed, judged from the 20th on.
        parameters: What to record of the retriever: chunk size, overlap, model.
        journal: A JSONL file to which each row is written as it comes, and which is itself a run to be scored; for
            several retrievers a folder.
        resume: Go on with a journal that is there; otherwise it is refused.
        retry_errors: Ask questions again whose row in the journal is an error.
        progress: True shows a line on a terminal; a function is called with a `RunProgress` after every row.

    Returns:
        The run, in the order of the evaluation set, with `run.errors` and `run.latency`; for a mapping one a name.

    Raises:
        InvalidInputError: Something given cannot be used, or the journal belongs to another run.
        RunStoppedError: `max_error_rate` was passed.

    >>> evalset = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]
    >>> run = run_retriever(lambda question: [{"id": "c1"}, {"id": "c2"}], evalset, k=1, name="always c1")
    >>> run.rows["q1"].retrieved
    (Document(id='c1', text=None, grade=None, score=None, metadata={}),)
    """
    options = RunOptions(
        k=k,
        name=name,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        backoff=backoff,
        retry_on=retry_on,
        max_error_rate=max_error_rate,
        parameters=parameters,
        journal=journal,
        resume=resume,
        retry_errors=retry_errors,
        progress=progress,
    )
    if not isinstance(retriever, Mapping):
        return plan_run(retriever, evalset, **options).carry_out().run()
    plans = list(_plans(retriever, evalset, prefer_async=False, **options))
    return {str(plan.header["name"]): plan.carry_out().run() for plan in plans}


@overload
async def arun_retriever(  # type: ignore[overload-overlap]  # as above
    retriever: Mapping[str, object], evalset: object, **options: Unpack[RunOptions]
) -> dict[str, Run]: ...
@overload
async def arun_retriever(retriever: object, evalset: object, **options: Unpack[RunOptions]) -> Run: ...
async def arun_retriever(retriever: object, evalset: object, **options: Unpack[RunOptions]) -> Run | dict[str, Run]:
    """Ask a retriever every question of an evaluation set, on the event loop that is running.

    For retrievers whose client belongs to that loop. Of an object that can be called either way, the async method is
    taken. Arguments, result and errors are those of `run_retriever`.
    """
    if not isinstance(retriever, Mapping):
        return (await plan_run(retriever, evalset, prefer_async=True, **options).carry_out_here()).run()
    plans = list(_plans(retriever, evalset, prefer_async=True, **options))
    return {str(plan.header["name"]): (await plan.carry_out_here()).run() for plan in plans}


def plan_run(retriever: object, evalset: object, *, prefer_async: bool = False, **options: Unpack[RunOptions]) -> Plan:
    """Check the arguments of `run_retriever`."""
    check_names(options, RunOptions.__annotations__)
    if "k" not in options:
        raise InvalidInputError("`k` is missing. It says how many documents of each answer are kept: give k=10.")
    manner = Manner(
        k=options["k"],
        concurrency=options.get("concurrency", 8),
        timeout=options.get("timeout"),
        retries=options.get("retries", 2),
        backoff=options.get("backoff", 0.5),
        retry_on=options.get("retry_on"),
    )
    return make_plan(
        retriever,
        as_evalset(evalset),
        manner,
        name=options.get("name"),
        parameters=options.get("parameters"),
        prefer_async=prefer_async,
        journal=options.get("journal"),
        resume=options.get("resume", True),
        retry_errors=options.get("retry_errors", False),
        max_error_rate=options.get("max_error_rate"),
        progress=hook_for(options.get("progress", True)),
    )


def _plans(
    retrievers: Mapping[str, object], evalset: object, *, prefer_async: bool, **options: Unpack[RunOptions]
) -> Iterator[Plan]:
    """One plan a retriever."""
    if not retrievers:
        raise InvalidInputError("There is no retriever. Give at least one, as {name: retriever}.")
    if options.get("name") is not None:
        raise InvalidInputError("`name` is for a single retriever. Several have the names of their mapping.")
    questions, parameters = as_evalset(evalset), options.get("parameters") or {}
    for name, given in parameters.items():
        if name not in retrievers or not isinstance(given, Mapping):
            raise InvalidInputError(
                f"`parameters` has {name!r}.{did_you_mean(name, list(map(str, retrievers)))} For several retrievers "
                "it must be a mapping from their names to the parameters of each."
            )
    for name, retriever in retrievers.items():
        if not isinstance(name, str):
            raise InvalidInputError(f"The name of a retriever is {describe_type(name)}. It must be a string.")
        own = options | {
            "name": name,
            "parameters": parameters.get(name),
            "journal": journal_for(name, options.get("journal")),
        }
        try:
            yield plan_run(retriever, questions, prefer_async=prefer_async, **own)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error}") from None


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
