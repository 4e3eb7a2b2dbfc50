"""Retrieved chunks judged by a language model: context precision and context recall."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any

import numpy as np

from krag_eval._version import __version__
from krag_eval.aggregate import MeanState
from krag_eval.answers.intervals import answer_intervals
from krag_eval.answers.references import read_references
from krag_eval.checks import check_count, one_of
from krag_eval.context_judge.asking import Judge
from krag_eval.context_judge.context_precision import context_precision
from krag_eval.context_judge.context_recall import context_recall
from krag_eval.context_judge.contexts import Context, read_contexts
from krag_eval.context_judge.prompting import load_prompts
from krag_eval.context_judge.records import ChunkVerdict, ContextRow, StatementVerdict
from krag_eval.context_judge.result import ContextResult
from krag_eval.errors import InvalidInputError
from krag_eval.language_model import LanguageModel, NoAnswerError, as_language_model
from krag_eval.language_model.daemon_threads import DaemonThreads
from krag_eval.progress import ProgressHook, RunProgress
from krag_eval.prompts import version_of
from krag_eval.text import normalize
from krag_eval.wrong_names import tell_names

CONTEXT_METRICS = ("context_precision", "context_recall")
# So many seconds are given to calls under way when it is stopped: they are paid for.
_LAST_CALLS = 5.0

_Verdict = tuple[str, dict[str, Any]]  # with its key before it


@tell_names
def judge_contexts(
    references: object,
    retrieved: object,
    llm: object,
    *,
    questions: object = None,
    metrics: object = None,
    k: int | None = None,
    prompts: object = None,
    cache: MutableMapping[str, Any] | None = None,
    concurrency: int = 8,
    intervals: bool | float = False,
    progress: ProgressHook | None = None,
) -> ContextResult:
    """Let a language model judge what was retrieved, against the reference answers.

    `context_precision` asks of each chunk whether it was useful for arriving at the reference; `context_recall` takes
    the reference apart into statements, once for all systems that are compared, and asks which of them the chunks say.
    A judge that gives no usable verdict leaves the value undefined, and is counted. Nothing retrieved is 0; without a
    reference both are undefined. Equal prompts are asked once.

    Args:
        references: As for `evaluate_answers`: by id, in order, or an `EvalSet`. Of several references of one question
            a chunk may be useful for any, and the recall is that of the one that is best covered.
        retrieved: By id or in order: the retrieved documents, best first, or the exception that came instead of them;
            or a `Run`. An id of the references that is missing here counts as nothing retrieved.
        llm: A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or what
            `as_language_model` makes of one, with its own number of retries and time limit.
        questions: By id or in order; not needed with an `EvalSet`, which has them.
        metrics: `"context_precision"`, `"context_recall"`, or both; both by default.
        k: How many chunks are judged; None for all.
        prompts: A folder or a mapping with prompts in place of the bundled ones: `chunk`, `statements`, `attribution`.
        cache: Verdicts by key, given before or in an earlier run; new ones are added. Any mutable mapping of strings
            to dicts; it is read once, and filled as verdicts come.
        concurrency: How many questions are judged at a time.
        intervals: Give every mean its 95 % interval, in `result.intervals`, or one of another confidence such as 0.9.
        progress: Called with a `RunProgress` after every question.

    Raises:
        InvalidInputError: The sides do not fit together, or an argument cannot be used.
        ModelSetupError: No prompt will be answered: a wrong key, an unknown model, a mistake in a program.

    >>> def judge(prompt):
    ...     return '{"reason": "it says so", "useful": true}'
    >>> found = {"q1": ["Refunds take three days."]}
    >>> result = judge_contexts({"q1": "three days"}, found, judge, questions={"q1": "How long?"},
    ...                         metrics="context_precision")
    >>> result["context_precision"], result.rows[0].chunks[0].reason
    (1.0, 'it says so')
    """
    chosen = _metrics(metrics)
    texts = load_prompts(prompts)
    model = as_language_model(llm)
    limit = None if k is None else check_count("k", k)
    workers = check_count("concurrency", concurrency)
    rows = read_references(references)
    contexts = read_contexts(rows, retrieved, questions, limit)
    before = model.counters
    found = _in_threads(model, texts, contexts, chosen, workers, {} if cache is None else cache, progress)
    values = {
        name: np.array([math.nan if (v := row.values[name]) is None else v for row in found], dtype=np.float64)
        for name in chosen
    }
    states = {name: MeanState() for name in chosen}
    for name, state in states.items():
        state.add(values[name])
    at = "all" if limit is None else str(limit)
    return ContextResult(
        signature=f"contexts|judge:{model.name}|prompts:{version_of(texts)}|repeat:once|k:{at}|v:{__version__}",
        means={name: state.mean for name, state in states.items()},
        undefined={name: state.n_undefined for name, state in states.items()},
        rows=found,
        counters=model.counters - before,
        intervals=None if intervals is False else answer_intervals(values, 0.95 if intervals is True else intervals),
    )


def _metrics(given: object) -> tuple[str, ...]:
    names = CONTEXT_METRICS if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names:
        raise InvalidInputError(
            f"`metrics` must be a list of names, got {given!r:.60}. Known metrics: {', '.join(CONTEXT_METRICS)}."
        )
    return tuple(dict.fromkeys(one_of("metrics", name, CONTEXT_METRICS) for name in names))


def _in_threads(
    model: LanguageModel,
    prompts: Mapping[str, str],
    contexts: Sequence[Context],
    metrics: Sequence[str],
    workers: int,
    cache: MutableMapping[str, Any],
    progress: ProgressHook | None,
) -> list[ContextRow]:
    """The rows in order; after an error nothing more is asked.

    The cache is used in the thread of the caller alone, and has a verdict before its thread asks for another one.
    """
    events: SimpleQueue[tuple[_Verdict, threading.Event] | Future[ContextRow]] = SimpleQueue()
    given: list[tuple[_Verdict, threading.Event]] = []
    is_over = threading.Event()

    def tell(verdict: _Verdict) -> None:
        kept = threading.Event()
        given.append((verdict, kept))
        events.put((verdict, kept))
        if not is_over.is_set():
            kept.wait()

    judge, threads = Judge(model, prompts, cache, tell), DaemonThreads(workers, "krag-eval-judge")
    futures: list[Future[ContextRow]] = []
    started, done, failed = time.monotonic(), 0, 0
    try:
        for context in contexts:
            futures.append(threads.submit(_judge, judge, context, metrics))
            futures[-1].add_done_callback(events.put)
        while done < len(contexts):
            event = events.get()
            if not isinstance(event, Future):
                verdict, kept = event
                cache.update([verdict])
                kept.set()
                continue
            done, failed = done + 1, failed + bool(event.result().failures)
            if progress is not None:
                progress(
                    RunProgress(
                        name="verdicts",
                        done=done,
                        total=len(contexts),
                        errors=failed,
                        asked=done,
                        seconds=time.monotonic() - started,
                        is_over=done == len(contexts),
                    )
                )
    except BaseException:
        judge.stop()
        is_over.set()
        for _, kept in tuple(given):
            kept.set()
        threads.close()
        wait([future for future in futures if not future.cancelled()], _LAST_CALLS)
        cache.update([verdict for verdict, _ in given])  # an interruption may have come before one was kept
        raise
    threads.close()
    return [future.result() for future in futures]


def _judge(judge: Judge, context: Context, metrics: Sequence[str]) -> ContextRow:
    """The verdicts on one question."""
    values: dict[str, float | None] = dict.fromkeys(metrics)
    chunks: tuple[ChunkVerdict, ...] = ()
    statements: tuple[StatementVerdict, ...] = ()
    failures: list[str] = []
    if context.references and not context.texts:
        values = dict.fromkeys(metrics, 0.0)
    elif context.references:
        if "context_precision" in metrics:
            chunks = tuple(_chunk_verdicts(judge, context))
            failures += [chunk.error for chunk in chunks if chunk.error is not None]
            useful = [chunk.is_useful for chunk in chunks if chunk.is_useful is not None]
            values["context_precision"] = context_precision(useful) if len(useful) == len(chunks) else None
        if "context_recall" in metrics:
            try:
                values["context_recall"], statements = _best_covered(judge, context)
            except NoAnswerError as error:
                failures.append(str(error))
    return ContextRow(
        context.index,
        context.id,
        context.question,
        context.references,
        len(context.texts),
        {name: values[name] for name in metrics},
        chunks,
        statements,
        tuple(failures),
        context.error,
    )


def _chunk_verdicts(judge: Judge, context: Context) -> Iterable[ChunkVerdict]:
    reference = "\nor: ".join(context.references)
    first_rank: dict[str, int] = {}
    for rank, text in enumerate(context.texts, 1):
        earlier = first_rank.setdefault(normalize(text), rank)
        if not text:
            yield ChunkVerdict(False, "It has no text.")
        elif earlier < rank:
            yield ChunkVerdict(False, None, repeats=earlier)
        else:
            yield judge.chunk(context.asked, reference, text)


def _best_covered(judge: Judge, context: Context) -> tuple[float | None, tuple[StatementVerdict, ...]]:
    """The recall of the reference that is covered best, with its statements."""
    best: tuple[float | None, tuple[StatementVerdict, ...]] = (None, ())
    texts = [text for text in context.texts if text]
    for reference in context.references:
        verdicts = judge.attribution(context.asked, judge.statements(context.asked, reference), texts)
        recall = context_recall([verdict.is_attributed for verdict in verdicts])
        if recall is not None and (best[0] is None or recall > best[0]):
            best = recall, tuple(verdicts)
    return best
