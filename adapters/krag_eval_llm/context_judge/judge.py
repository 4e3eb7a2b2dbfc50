"""Judge retrieved chunks with a language model: context precision and context recall."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, wait
from copy import deepcopy
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from krag_eval import Document, InvalidInputError, Run, RunProgress, __version__, as_document, normalize
from krag_eval.toolkit import (
    DaemonThreads,
    MeanState,
    RetrieverError,
    check_count,
    describe_error,
    describe_type,
    errors_at,
    gold_first,
    one_of,
    refuse,
    reporter,
)
from krag_eval_answers import References, answer_intervals, read_references
from krag_eval_llm.context_judge.result import (
    ChunkVerdict,
    ContextResult,
    ContextRow,
    StatementVerdict,
    context_precision,
    context_recall,
)
from krag_eval_llm.failures import NoAnswerError
from krag_eval_llm.json_answers import violations
from krag_eval_llm.model import LanguageModel, as_language_model
from krag_eval_llm.prompts import (
    bundled_prompts,
    bundled_schemas,
    check_placeholders,
    delimited,
    fill,
    own_prompts,
    version_of,
)

CONTEXT_METRICS = ("context_precision", "context_recall")
# Running calls get so many seconds to finish when the run is stopped: they are paid for.
_LAST_CALLS = 5.0

_Verdict = tuple[str, dict[str, Any]]  # with its key before it


@gold_first()
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
    progress: bool | Callable[[RunProgress], object] | None = None,
) -> ContextResult:
    """Have a language model judge the retrieved chunks against the reference answers.

    `context_precision` asks for each chunk whether it was useful for arriving at the reference. `context_recall` splits
    the reference into statements, once for all compared systems, and asks which of them the chunks support. Without a
    usable verdict a value is undefined, and counted. An empty result is 0; without a reference both are undefined.
    Equal prompts are asked once.

    Args:
        references: As for `evaluate_answers`: by id, in order, or an `EvalSet`. Of several references of one question
            a chunk may be useful for any, and the recall is that of the best covered one.
        retrieved: By id or in order: the retrieved documents, best first, or the exception that was raised instead;
            or a `Run`. An id of the references that is missing here counts as an empty result.
        llm: A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or the result of
            `as_language_model` with its own retries and time limit.
        questions: By id or in order; not needed with an `EvalSet`, which has them.
        metrics: `"context_precision"`, `"context_recall"`, or both; both by default.
        k: How many chunks to judge; None for all.
        prompts: A folder or a mapping with prompts instead of the bundled ones: `chunk`, `statements`, `attribution`.
        cache: Earlier verdicts by key; new ones are added. Any mutable mapping of strings to dicts; it is read once
            and filled as verdicts come.
        concurrency: How many questions to judge at a time.
        intervals: True for 95 % confidence intervals in `result.intervals`, or another confidence such as 0.9.
        progress: Called with a `RunProgress` after every question.

    Raises:
        InvalidInputError: The sides do not match, or an argument is invalid.
        ModelSetupError: No prompt will be answered: a wrong key, an unknown model, a bug in the program.

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
        intervals=answer_intervals(values, intervals),
    )


def _metrics(given: object) -> tuple[str, ...]:
    names = CONTEXT_METRICS if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names:
        refuse("metrics", "a list of names", given, f"Known metrics: {', '.join(CONTEXT_METRICS)}.")
    return tuple(dict.fromkeys(one_of("metrics", name, CONTEXT_METRICS) for name in names))


def _in_threads(
    model: LanguageModel,
    prompts: Mapping[str, str],
    contexts: Sequence[ContextRow],
    metrics: Sequence[str],
    workers: int,
    cache: MutableMapping[str, Any],
    progress: bool | Callable[[RunProgress], object] | None,
) -> list[ContextRow]:
    """Return the rows in order; after an error nothing more is asked.

    Only the thread of the caller uses the cache. It has a verdict before the thread that got it asks for another one.
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

    judge, running = Judge(model, prompts, dict(cache), tell), DaemonThreads(workers, "krag-eval-judge")
    futures: list[Future[ContextRow]] = []
    report, done, failed = reporter(progress, "verdicts", len(contexts)), 0, 0
    try:
        for context in contexts:
            futures.append(running.submit(_judge, judge, context, metrics))
            futures[-1].add_done_callback(events.put)
        while done < len(contexts):
            event = events.get()
            if not isinstance(event, Future):
                verdict, kept = event
                cache.update([verdict])
                kept.set()
                continue
            done, failed = done + 1, failed + bool(event.result().failures)
            report(done, failed, is_over=done == len(contexts))
    except BaseException:
        judge.stop()
        is_over.set()
        for _, kept in tuple(given):
            kept.set()
        running.close()
        wait([future for future in futures if not future.cancelled()], _LAST_CALLS)
        cache.update([verdict for verdict, _ in given])  # an interruption may have come before one was recorded
        raise
    running.close()
    return [future.result() for future in futures]


def _judge(judge: Judge, row: ContextRow, metrics: Sequence[str]) -> ContextRow:
    """Return the row of one question with the verdicts on it."""
    values: dict[str, float | None] = dict.fromkeys(metrics)
    chunks: tuple[ChunkVerdict, ...] = ()
    statements: tuple[StatementVerdict, ...] = ()
    failures: list[str] = []
    if row.references and not row.documents:
        values = dict.fromkeys(metrics, 0.0)
    elif row.references:
        if "context_precision" in metrics:
            chunks = tuple(_chunk_verdicts(judge, row))
            failures += [chunk.error for chunk in chunks if chunk.error is not None]
            useful = [chunk.is_useful for chunk in chunks if chunk.is_useful is not None]
            values["context_precision"] = context_precision(useful) if len(useful) == len(chunks) else None
        if "context_recall" in metrics:
            try:
                values["context_recall"], statements = _best_covered(judge, row)
            except NoAnswerError as error:
                failures.append(str(error))
    return replace(row, values=values, chunks=chunks, statements=statements, failures=tuple(failures))


def _chunk_verdicts(judge: Judge, row: ContextRow) -> Iterable[ChunkVerdict]:
    reference = "\nor: ".join(row.references)
    first_rank: dict[str, int] = {}
    for rank, text in enumerate(_texts(row), 1):
        earlier = first_rank.setdefault(normalize(text), rank)
        if not text:
            yield ChunkVerdict(False, "The chunk has no text.")
        elif earlier < rank:
            yield ChunkVerdict(False, None, repeats=earlier)
        else:
            yield judge.chunk(row.question or "", reference, text)


def _best_covered(judge: Judge, row: ContextRow) -> tuple[float | None, tuple[StatementVerdict, ...]]:
    """Return the recall of the best covered reference, with its statements."""
    best: tuple[float | None, tuple[StatementVerdict, ...]] = (None, ())
    question, texts = row.question or "", [text for text in _texts(row) if text]
    for reference in row.references:
        verdicts = judge.attribution(question, judge.statements(question, reference), texts)
        recall = context_recall([verdict.is_attributed for verdict in verdicts])
        if recall is not None and (best[0] is None or recall > best[0]):
            best = recall, tuple(verdicts)
    return best


_SCHEMAS = bundled_schemas("krag_eval_llm.context_judge")


def _attribution(n_statements: int) -> dict[str, Any]:
    schema = deepcopy(_SCHEMAS["attribution"])
    verdicts = schema["properties"]["verdicts"]
    verdicts |= {"minItems": n_statements, "maxItems": n_statements}
    verdicts["items"]["properties"]["number"]["maximum"] = n_statements
    return schema


# After so many unanswered prompts in a row, each retried, the model counts as unreachable.
MOST_UNANSWERED = 5


@dataclass(eq=False)
class Judge:
    """A model that gives verdicts, each prompt asked once. Threads may share it.

    After several unanswered prompts in a row the model counts as unreachable and is not asked again.

    Args:
        model: The model.
        prompts: The prompts by name.
        known: Earlier verdicts by key; new ones are added.
        tell: Called with every new verdict and its key, in the thread that asked.
    """

    model: LanguageModel
    prompts: Mapping[str, str]
    known: dict[str, Any]
    tell: Callable[[_Verdict], None]

    def __post_init__(self) -> None:
        self._lock, self._asking = threading.Lock(), dict[str, threading.Lock]()
        self._stopped, self._unanswered = threading.Event(), 0

    def stop(self) -> None:
        """Ask nothing more: further requests fail."""
        self._stopped.set()

    def chunk(self, question: str, reference: str, text: str) -> ChunkVerdict:
        """Judge whether a chunk was useful for arriving at the reference."""
        values = {"question": question, "reference": reference, "passage": text}
        try:
            verdict = self._ask("chunk", values, _SCHEMAS["chunk"])
        except NoAnswerError as error:
            return ChunkVerdict(None, None, str(error))
        return ChunkVerdict(verdict["useful"], verdict["reason"], None)

    def statements(self, question: str, reference: str) -> list[str]:
        """Split a reference into its distinct statements.

        Raises:
            NoAnswerError: The model gave none.
        """
        found = self._ask("statements", {"question": question, "reference": reference}, _SCHEMAS["statements"])
        return list(dict.fromkeys(found["statements"]))

    def attribution(self, question: str, statements: Sequence[str], texts: Sequence[str]) -> list[StatementVerdict]:
        """Judge which statements can be attributed to the chunks.

        Raises:
            NoAnswerError: A verdict is missing.
        """
        values = {
            "question": question,
            "statements": "\n".join(f"{number}. {text}" for number, text in enumerate(statements, 1)),
            "passages": "\n\n".join(delimited(text, "PASSAGE") for text in texts),
        }
        numbers = list(range(1, len(statements) + 1))
        found = self._ask(
            "attribution",
            values,
            _attribution(len(statements)),
            lambda answer: sorted(verdict["number"] for verdict in answer["verdicts"]) == numbers,
        )
        by_number = {verdict["number"]: verdict for verdict in found["verdicts"]}
        return [
            StatementVerdict(text, by_number[number]["attributed"], by_number[number]["reason"])
            for number, text in zip(numbers, statements, strict=True)
        ]

    def _ask(
        self,
        name: str,
        values: Mapping[str, str],
        schema: Mapping[str, Any],
        is_whole: Callable[[dict[str, Any]], bool] = bool,
    ) -> dict[str, Any]:
        told = {key: text if key == "passages" else delimited(text, key.upper()) for key, text in values.items()}
        prompt = fill(self.prompts[name], told)
        key = hashlib.sha256(f"{self.model.name}\0{prompt}".encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # a thread with the same prompt waits for the answer
            with self._lock:
                known = self.known.get(key)
            if known is not None:
                return _checked(known, key, schema)
            if self._stopped.is_set():
                raise NoAnswerError("the run was stopped")
            if self._unanswered >= MOST_UNANSWERED:
                raise NoAnswerError(f"not asked, because the model left {MOST_UNANSWERED} prompts in a row unanswered")
            answer = self._answer(prompt, schema)
            if not is_whole(answer):
                raise NoAnswerError(f"{self.model.name} gave no verdict on some of the statements", "bad_json")
            with self._lock:
                self.known[key] = answer
            self.tell((key, answer))
            return answer

    def _answer(self, prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self.model.ask(prompt, schema)
        except NoAnswerError as error:
            self._count(is_heard=error.is_of_the_model)
            raise
        self._count(is_heard=True)
        return answer

    def _count(self, *, is_heard: bool) -> None:
        with self._lock:
            if self._unanswered < MOST_UNANSWERED:  # once unreachable, it stays so
                self._unanswered = 0 if is_heard else self._unanswered + 1


def _checked(known: object, key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Check that a cached value is a verdict."""
    wrong = next(violations(known, schema), None)
    if wrong is not None or not isinstance(known, dict):
        raise InvalidInputError(
            f"`cache` has no valid verdict for {key}: {wrong}. It must return the dict that was stored. "
            "Remove the entry, or use another cache."
        )
    return known


def read_contexts(rows: References, retrieved: object, questions: object, k: int | None) -> list[ContextRow]:
    """Read what is to be judged, in the order of the references; there are no values and verdicts yet.

    Raises:
        InvalidInputError: `retrieved` cannot be read, or a question to be judged has no text.
    """
    if isinstance(retrieved, Run):
        retrieved = {
            query_id: RetrieverError(row.error) if row.error is not None else row.found
            for query_id, row in retrieved.rows.items()
        }
    asked = rows.question_texts(questions)
    contexts = []
    for row, given in enumerate(rows.column("retrieved", retrieved, ())):
        error = _told(given) if isinstance(given, BaseException) else None
        documents = () if error is not None else tuple(_documents(given, rows.place(row), k))
        if documents and rows.texts[row] and not (asked[row] or "").strip():
            raise InvalidInputError(
                f"The question {rows.place(row)} has no text, but the judge needs it. Pass questions=... by id or in "
                "order, or an EvalSet with questions."
            )
        query_id = rows.ids[row] if rows.ids else None
        about = ContextRow(row, query_id, asked[row], rows.texts[row], len(documents), {})
        contexts.append(replace(about, error=error, documents=documents))
    if any(row.documents for row in contexts) and not any(any(_texts(row)) for row in contexts):
        raise InvalidInputError(
            "No document in `retrieved` has a text, but the judge reads texts. Pass documents with their texts, not "
            "only ids. `read_corpus` gives the text of each id."
        )
    return contexts


def _texts(row: ContextRow) -> list[str]:
    """Return the retrieved texts, best first; empty for a document without text."""
    texts = [document.text or "" for document in row.documents]
    return [text if text.strip() else "" for text in texts]


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, RetrieverError) else describe_error(error)


def _documents(given: object, place: str, k: int | None) -> Iterable[Document]:
    if isinstance(given, (str, bytes, Mapping, set, frozenset)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"What was retrieved for the question {place} is {describe_type(given)}. It must be a list of documents, "
            "best first. Pass [] for an empty result."
        )
    for rank, document in enumerate(list(given)[:k], 1):
        with errors_at(f"Rank {rank} for the question {place}"):
            yield as_document(document)


# The prompts with their placeholders.
PROMPTS = {
    "chunk": {"question", "reference", "passage"},
    "statements": {"question", "reference"},
    "attribution": {"question", "statements", "passages"},
}


def load_prompts(given: object = None) -> dict[str, str]:
    """Load the prompts by name: the given ones, and the bundled ones for the rest.

    Args:
        given: None, a folder with files `chunk.txt`, `statements.txt` and `attribution.txt` or some of them, or a
            mapping from these names to texts.

    Raises:
        InvalidInputError: A prompt has an unknown name, or a missing or unknown placeholder.
    """
    own = own_prompts(given, [*PROMPTS])
    for name, text in own.items():
        check_placeholders(name, text, PROMPTS[name], PROMPTS[name])
    return bundled_prompts("krag_eval_llm.context_judge") | own
