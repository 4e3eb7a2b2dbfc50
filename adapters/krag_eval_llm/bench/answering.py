"""Answer questions from the retrieved documents, with a program or a language model, and record the answers."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

from krag_eval import Document, InvalidInputError, KragEvalError, Question, Run, RunProgress
from krag_eval.toolkit import DaemonThreads, JournalKind, KeyedJournal, describe_error, describe_type, refuse, reporter
from krag_eval_llm.calling import TimeLimit
from krag_eval_llm.failures import ModelSetupError
from krag_eval_llm.model import LanguageModel, as_language_model
from krag_eval_llm.prompts import delimited, fill

ANSWERS_JOURNAL = JournalKind("krag_eval_answers", "set of answers")


class AnswerError(KragEvalError, RuntimeError):
    """A question got no answer; the message says why."""


@dataclass(frozen=True, slots=True)
class _Task:
    question: Question
    documents: Sequence[Document]

    @property
    def key(self) -> str:
        """Twenty hex digits that change with the question and with what was retrieved for it."""
        asked = [self.question.question, [(document.id, document.text) for document in self.documents]]
        return hashlib.sha256(json.dumps(asked, ensure_ascii=True).encode()).hexdigest()[:20]


def answer_questions(
    questions: Sequence[Question],
    run: Run,
    answerer: Answerer,
    journal: KeyedJournal,
    *,
    concurrency: int = 8,
    progress: bool | Callable[[RunProgress], object] | None = None,
) -> dict[str, str | Exception]:
    """Have each question answered from its documents, unless the journal has the answer.

    Args:
        questions: The questions.
        run: What was retrieved for them; a question on which the retriever raised is answered without documents.
        answerer: What answers.
        journal: Where answers are looked up and recorded, by question and documents.
        concurrency: How many questions to answer at a time, each in a thread.
        progress: Called after every answer.

    Returns:
        The answer or an error by the id of the question, in the given order.

    Raises:
        InvalidInputError: The journal cannot be written.
        ModelSetupError: A model cannot be asked at all, as with a wrong key.
    """
    tasks = {question.id: _Task(question, _documents(run, question)) for question in questions}
    done: dict[str, str | Exception] = {}
    for name, task in tasks.items():
        row = journal.get(task.key)
        if row is not None:
            done[name] = _read(row)
    left = [task for name, task in tasks.items() if name not in done]
    report, errors = reporter(progress, "answers", len(tasks)), 0
    answered = DaemonThreads(concurrency, "krag-eval-answer").map(partial(_answer, answerer), left)
    with closing(answered):
        for asked, (task, row) in enumerate(answered, 1):
            if journal.get(task.key) is None:  # two questions may be the same
                journal.put(task.key, row)
            done[task.question.id] = _read(row)
            errors += row.get("error") is not None
            report(len(done), errors, asked, is_over=len(done) == len(tasks))
    return {name: done[name] for name in tasks}


def _documents(run: Run, question: Question) -> Sequence[Document]:
    row = run.rows.get(question.id)
    return () if row is None else row.found


def _read(row: Any) -> str | Exception:
    return AnswerError(str(row["error"])) if row.get("error") is not None else str(row.get("answer") or "")


def _answer(answerer: Answerer, task: _Task) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        answer = answerer(task.question.question or "", task.documents)
    except ModelSetupError:
        raise
    except Exception as error:  # noqa: BLE001 - one question that fails must not cost the others
        return {"query_id": task.question.id, "error": describe_error(error)}
    return {"query_id": task.question.id, "answer": answer, "seconds": round(time.perf_counter() - start, 6)}


Answerer = Callable[[str, Sequence[Document]], str]
"""From a question and the documents retrieved for it, best first, to the answer."""

_NAMES_OF_DOCUMENTS = ("documents", "docs", "context", "contexts", "passages", "retrieved")
# Where frameworks put the text of an answer.
_KEYS = ("answer", "result", "output", "response", "content", "text")


def as_answerer(answer: object, timeout: float | None = None) -> Answerer:
    """Turn a program that answers questions into a function.

    Args:
        answer: A function of the question and the documents; a function of the question alone, which does its own
            retrieval; a LangChain runnable, which gets `{"question", "input", "context", "documents"}`, or the question
            if its `InputType` is str; or a LlamaIndex query engine, which gets the question. Functions may be async. A
            language model itself (a LangChain chat model, a LlamaIndex LLM) is asked with `model_answerer`.
        timeout: The time limit of one answer in seconds, or None.

    Raises:
        InvalidInputError: It is none of these.
    """
    if is_model(answer):
        return model_answerer(as_language_model(answer, timeout=timeout))
    ask = _asking(answer)
    limit = TimeLimit(timeout, "the system that answers")
    return lambda question, documents: read_answer(limit.call(lambda _: ask(question, list(documents)), None))


def _asking(answer: object) -> Callable[[str, list[Document]], object]:
    """Return what to call with a question and its documents."""
    is_made = not isinstance(answer, type)
    invoke, query = getattr(answer, "invoke", None), getattr(answer, "query", None)
    if is_made and callable(invoke):
        if _takes_text(answer):
            return lambda question, _documents: invoke(question)
        return lambda question, documents: invoke(_inputs(question, documents))
    if is_made and callable(query):
        return lambda question, _documents: query(question)
    if not (is_made and callable(answer)):
        must = "a function of a question and its documents, a LangChain runnable or a LlamaIndex query engine"
        refuse("answer", must, answer)
    function = answer
    return function if _takes_documents(function) else lambda question, _documents: function(question)


def model_answerer(model: LanguageModel) -> Answerer:
    """Have a language model answer from the passages, with the prompt `krag_eval_llm/bench/prompts/answer.txt`."""
    prompt = (resources.files("krag_eval_llm.bench") / "prompts" / "answer.txt").read_text(encoding="utf-8")

    def answer(question: str, documents: Sequence[Document]) -> str:
        texts = [document.text for document in documents if document.text]
        passages = "\n\n".join(delimited(text, "PASSAGE") for text in texts) or "(none)"
        return model.ask(fill(prompt, {"question": delimited(question, "QUESTION"), "passages": passages})).strip()

    return answer


def read_answer(given: object) -> str:
    """Return the text of an answer of any framework.

    Raises:
        InvalidInputError: There is none.

    >>> read_answer({"answer": "42", "context": []})
    '42'
    """
    if isinstance(given, str):
        return given
    for value in _parts(given):
        texts = [value] if isinstance(value, str) else [part for part in _parts(value) if isinstance(part, str)]
        if texts:
            return texts[0]
    raise InvalidInputError(
        f"The answer is {describe_type(given)} without a text. Return a string, or an object with one of "
        f"{', '.join(_KEYS)}."
    )


def is_model(answer: object) -> bool:
    """Return whether it is a language model of LangChain or LlamaIndex, not a program around one."""
    if isinstance(answer, (LanguageModel, type)):
        return isinstance(answer, LanguageModel)
    return any(callable(getattr(answer, name, None)) for name in ("generate_prompt", "complete"))


def _takes_text(runnable: object) -> bool:
    try:
        return getattr(runnable, "InputType", None) is str
    except TypeError:  # LangChain raises it if the type is unknown
        return False


def _parts(given: object) -> Iterator[object]:
    """Yield the values of the keys that may have the answer."""
    for name in _KEYS:
        yield given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _inputs(question: str, documents: list[Document]) -> dict[str, object]:
    context = "\n\n".join(document.text for document in documents if document.text)
    return {"question": question, "input": question, "context": context, "documents": documents}


def _takes_documents(function: Callable[..., object]) -> bool:
    """Return whether its second parameter has no default, or a name that means documents."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # it has no readable signature
        return False
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        return any(one.kind is one.VAR_POSITIONAL for one in parameters)
    return positional[1].default is positional[1].empty or positional[1].name in _NAMES_OF_DOCUMENTS
