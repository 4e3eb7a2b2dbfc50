"""The two calls that run retrievers over an evaluation set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Required, TypedDict, Unpack, overload

from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.evalset import Run, as_evalset
from krag_eval.progress import ProgressHook, hook_for
from krag_eval.runner.asking import Manner, RetryOn
from krag_eval.runner.plan import Plan, journal_for, make_plan
from krag_eval.shapes import describe_type
from krag_eval.wrong_names import tell_names


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
@tell_names
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
@tell_names
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
