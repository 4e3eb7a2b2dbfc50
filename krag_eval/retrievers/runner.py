"""Run retrievers over an evaluation set: `run_retriever` and `arun_retriever`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack, overload

from krag_eval._utils.errors import Argument, InvalidInputError, describe_type, did_you_mean, errors_at, refuse
from krag_eval._utils.progress import ProgressHook, hook_for
from krag_eval._utils.redaction import Redactor
from krag_eval._utils.suggestions import check_names
from krag_eval._utils.threads import run_in_own_loop
from krag_eval.datasets import EvalSet, Run
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.evalset import as_evalset
from krag_eval.datasets.question import of_other_names
from krag_eval.documents.readers import IdKey
from krag_eval.retrievers.asking import CallSettings, RetryOn, ask_all
from krag_eval.retrievers.calling import Caller, Retriever, caller_of
from krag_eval.retrievers.recording import Recorder, make_header
from krag_eval.retrievers.responses import as_json
from krag_eval.retrievers.sources import source_of_module, source_of_object


class OptionalRunOptions(TypedDict, total=False):
    """The options of `run_retriever` that have a default; its docstring describes them."""

    name: str | None
    concurrency: int
    timeout: float | None
    retries: int
    backoff: float
    retry_on: RetryOn | None
    max_error_rate: float | None
    parameters: Mapping[str, Any] | None
    metadata: str
    id_key: IdKey | None
    journal: str | os.PathLike[str] | None
    resume: bool | None
    fresh: bool
    retry_errors: bool
    progress: bool | ProgressHook | None


class RunOptions(OptionalRunOptions, total=False):
    """The options of `run_retriever`."""

    k: Required[int]


@overload
def run_retriever(
    evalset: object, retriever: Mapping[str, Retriever], **options: Unpack[RunOptions]
) -> dict[str, Run]: ...
@overload
def run_retriever(evalset: object, retriever: Retriever, **options: Unpack[RunOptions]) -> Run: ...
@gold_first(old="retriever, evalset")
def run_retriever(
    evalset: object, retriever: Retriever | Mapping[str, Retriever], **options: Unpack[RunOptions]
) -> Run | dict[str, Run]:
    """Ask a retriever every question of an evaluation set.

    A question that fails is a row with its error, and counts as nothing retrieved when the run is scored.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        retriever: A LangChain retriever or runnable, a LlamaIndex retriever, a Haystack component or pipeline, or a
            function that takes a question and returns its documents, best first; sync or async. A mapping from names to
            retrievers runs them one after the other.
        **options: `k` is required.

            * `k`: how many documents of each result are kept. `k` is not passed to the retriever, which is never
              changed.
            * `name`: the name of the run; by default the retriever's own.
            * `concurrency` (8): how many questions are asked at a time: each in a thread, or, if the retriever is
              async, on an event loop in a separate thread, so that this works in a notebook.
            * `timeout` (None): seconds for one attempt. An async call is cancelled; a sync one cannot be stopped, and
              its thread is abandoned.
            * `retries` (2): how often a call that raises is retried. A result that is not a ranking is not retried.
            * `backoff` (0.5): seconds before the first retry, doubled before each further one, plus a random delay of
              up to the same length. If the error has `Retry-After`, that is used instead, up to 30 seconds.
            * `retry_on`: the exceptions that are retried, as types or as a function; by default all but programming
              errors such as `TypeError`.
            * `max_error_rate` (None): stop when more than this share of the questions asked has failed; checked from
              the 20th question on.
            * `parameters`: what to record about the retriever, such as chunk size, overlap and model; credentials are
              replaced by `[key]`.
            * `metadata` ("all"): which metadata of the documents is kept, without credentials: `"all"`; `"ids"`, the
              strings and integers that say which document it is, under names such as `doc_id`, `chunkId`, `source`,
              `url` and `file_path`; or `"none"`.
            * `id_key` (None): the key of the metadata that holds the ids of documents, for documents that have neither
              an id nor a text of their own and no name of metadata such as those.
            * `journal`: a JSONL file to which each row is written as soon as it arrives. It is a run that can be
              scored. For several retrievers, a folder.
            * `resume` (None): resume a journal that exists. If the retriever was changed since, which its code, the
              version of its package and `parameters` show, this is an error; with True the journal is resumed all the
              same. With False, a journal that exists is refused.
            * `fresh` (False): replace a journal that exists, and ask every question.
            * `retry_errors` (True): ask questions again whose row in the journal is an error.
            * `progress` (True): True shows a line on a terminal; a function is called with a `RunProgress` after every
              row.

    Returns:
        The run, in the order of the evaluation set, with `run.errors` and `run.latency`; for a mapping, one per name.

    Raises:
        InvalidInputError: An argument cannot be used, or the journal belongs to another run.
        RunStoppedError: More questions failed than `max_error_rate` allows.

    >>> evalset = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]
    >>> run = run_retriever(evalset, lambda question: [{"id": "c1"}, {"id": "c2"}], k=1, name="always c1")
    >>> run.rows["q1"].retrieved
    (Document(id='c1', text=None, grade=None, score=None, metadata={}),)
    """
    runs = {plan.name: plan.carry_out().run() for plan in _plans(evalset, retriever, options)}
    return runs if isinstance(retriever, Mapping) else next(iter(runs.values()))


@overload
async def arun_retriever(
    evalset: object, retriever: Mapping[str, Retriever], **options: Unpack[RunOptions]
) -> dict[str, Run]: ...
@overload
async def arun_retriever(evalset: object, retriever: Retriever, **options: Unpack[RunOptions]) -> Run: ...
@gold_first(old="retriever, evalset")
async def arun_retriever(
    evalset: object, retriever: Retriever | Mapping[str, Retriever], **options: Unpack[RunOptions]
) -> Run | dict[str, Run]:
    """Ask a retriever every question of an evaluation set, on the running event loop.

    Use it if the retriever's client is bound to that loop. If an object has both a sync and an async method, the async
    one is called. Arguments, result and errors are those of `run_retriever`.
    """
    plans = _plans(evalset, retriever, options, prefer_async=True)
    runs = {plan.name: (await plan.carry_out_here()).run() for plan in plans}
    return runs if isinstance(retriever, Mapping) else next(iter(runs.values()))


@dataclass(frozen=True, slots=True)
class Plan:
    """A run whose arguments were checked, and that has not started.

    Attributes:
        evalset: The questions.
        caller: The retriever.
        settings: How it is called.
        recorder: Where the rows go.
    """

    evalset: EvalSet
    caller: Caller
    settings: CallSettings
    recorder: Recorder

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.recorder.name

    def carry_out(self) -> Recorder:
        """Ask the questions that have no row yet, on an event loop in a separate thread."""
        with self.recorder:
            run_in_own_loop(self._ask, self.settings.concurrency)
        return self.recorder

    async def carry_out_here(self) -> Recorder:
        """Ask the questions that have no row yet, on the running event loop."""
        with self.recorder:
            await self._ask()
        return self.recorder

    async def _ask(self) -> None:
        questions = map(self.evalset.__getitem__, self.recorder.start())
        await ask_all(self.caller, questions, self.settings, self.recorder.take)
        self.recorder.finish()


def _plans(evalset: object, retriever: object, options: RunOptions, *, prefer_async: bool = False) -> list[Plan]:
    """Return one plan per retriever."""
    check_names(options, RunOptions.__annotations__)
    if not isinstance(retriever, Mapping):
        return [plan_run(evalset, retriever, prefer_async=prefer_async, **options)]
    if not retriever:
        raise InvalidInputError("There is no retriever. Give at least one, as {name: retriever}.")
    if options.get("name") is not None:
        raise InvalidInputError("`name` is for a single retriever. Several have the names of their mapping.")
    questions, parameters = as_evalset(evalset), options.get("parameters") or {}
    for name, given in parameters.items():
        if name not in retriever or not isinstance(given, Mapping):
            raise InvalidInputError(
                f"`parameters` has {name!r}.{did_you_mean(name, list(map(str, retriever)))} For several retrievers "
                "it must be a mapping from their names to the parameters of each."
            )
    plans = []
    for name, one in retriever.items():
        if not isinstance(name, str):
            raise InvalidInputError(f"The name of a retriever is {describe_type(name)}. It must be a string.")
        journal = _journal_of(name, options.get("journal"))
        own: RunOptions = {**options, "name": name, "parameters": parameters.get(name), "journal": journal}
        with errors_at(name):
            plans.append(plan_run(questions, one, prefer_async=prefer_async, **own))
    return plans


def _journal_of(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the journal of one retriever of several.

    >>> str(_journal_of("bm25 + dense", "runs"))
    'runs/bm25_dense.jsonl'
    """
    if folder is None:
        return None
    if Path(folder).suffix == ".jsonl" or Path(folder).is_file():
        raise InvalidInputError(
            Argument("journal"),
            f" names the file {os.fspath(folder)!r}. For several retrievers it must be a folder, which gets a file "
            "for each.",
        )
    return Path(folder) / (re.sub(r"[^\w.-]+", "_", name) + ".jsonl")


def plan_run(
    evalset: object,
    retriever: object,
    *,
    prefer_async: bool = False,
    keeps_rows: bool = True,
    module: str | None = None,
    caller: Caller | None = None,
    **options: Unpack[RunOptions],
) -> Plan:
    """Check the arguments of `run_retriever` for one retriever.

    Args:
        evalset: The questions.
        retriever: The retriever.
        prefer_async: Call the async method of an object that has both.
        keeps_rows: Whether the rows are kept in memory; otherwise they are in the journal only.
        module: The module that the retriever was loaded from, and its name there, as `module:object`; its source is
            then recorded, and by default that of the function or class.
        caller: How to call it; by default what `caller_of` returns.
        **options: The options of `run_retriever`.

    Raises:
        InvalidInputError: An argument cannot be used.
    """
    check_names(options, RunOptions.__annotations__)
    if "k" not in options:
        raise InvalidInputError(
            Argument("k"),
            " is missing. It says how many documents of each result are kept: give ",
            Argument("k", 10),
            ".",
        )
    rest: dict[str, Any] = dict(options)
    questions = as_evalset(evalset)
    of_calls = [field.name for field in fields(CallSettings) if field.name in rest]
    settings = CallSettings(**{name: rest.pop(name) for name in of_calls})
    progress = hook_for(rest.pop("progress", True))
    caller = caller or caller_of(retriever, prefer_async=prefer_async)
    name, parameters, journal = (rest.pop(key, None) for key in ("name", "parameters", "journal"))
    if parameters is not None and not isinstance(parameters, Mapping):
        refuse("parameters", "a mapping such as {'chunk_size': 500}", parameters)
    if journal is not None and (not isinstance(journal, (str, os.PathLike)) or not os.fspath(journal)):
        refuse("journal", "the path of a file, or None", journal)
    if journal is not None and os.fsdecode(journal).lower().endswith(".gz"):
        raise InvalidInputError(f"{os.fsdecode(journal)}: a run is written uncompressed. Give a name without .gz.")
    if name is not None and not (isinstance(name, str) and name.strip()):
        refuse("name", "a string that is not empty", name, "None is the default.")
    for question in questions:
        if not (question.question or "").strip():
            raise InvalidInputError(
                f"The question {question.id!r} has no text. Give every question a text to ask the retriever.",
                *of_other_names(question.further, "question"),
            )
    source = None if module is None else source_of_module(module.partition(":")[0], module)
    if journal is not None and source is None:
        source = source_of_object(retriever)
    header = make_header(
        name or caller.name, Redactor().of(as_json(parameters or {})), questions, caller, settings, retriever, source
    )
    rest |= {"journal": journal, "progress": progress, "id_key": settings.id_key}
    recorder = Recorder(questions, header, keeps_rows=keeps_rows, **rest)
    return Plan(questions, caller, settings, recorder)
