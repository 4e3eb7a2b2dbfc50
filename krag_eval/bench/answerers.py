"""Who answers a question from what was retrieved: a program of the user's, or a language model with a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources

from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.language_model import LanguageModel, as_language_model
from krag_eval.language_model.limits import TimeLimit
from krag_eval.prompts import delimited, fill
from krag_eval.shapes import describe_type

Answerer = Callable[[str, Sequence[Document]], str]
"""From a question and the documents retrieved for it, best first, to the answer."""

_NAMES_OF_DOCUMENTS = ("documents", "docs", "context", "contexts", "passages", "retrieved")
# Where frameworks put the text of an answer.
_KEYS = ("answer", "result", "output", "response", "content", "text")


def as_answerer(answer: object, timeout: float | None = None) -> Answerer:
    """A program that answers questions, as a function.

    Args:
        answer: A function of the question and the documents; a function of the question alone, which retrieves for
            itself; a LangChain runnable, which is given `{"question", "input", "context", "documents"}`, or the
            question where its `InputType` is str; or a LlamaIndex query engine, which is given the question. Functions
            may be async. A language model itself (a LangChain chat model, a LlamaIndex LLM) is asked as
            `model_answerer` does.
        timeout: Seconds for one answer, or None.

    Raises:
        InvalidInputError: It is none of these.
    """
    if is_model(answer):
        return model_answerer(as_language_model(answer, timeout=timeout))
    ask = _asking(answer)
    limit = TimeLimit(timeout, "the system that answers")
    return lambda question, documents: read_answer(limit.call(lambda _: ask(question, list(documents)), None))


def _asking(answer: object) -> Callable[[str, list[Document]], object]:
    """What is called with a question and its documents, whatever it returns."""
    is_made = not isinstance(answer, type)
    invoke, query = getattr(answer, "invoke", None), getattr(answer, "query", None)
    if is_made and callable(invoke):
        if _takes_text(answer):
            return lambda question, _documents: invoke(question)
        return lambda question, documents: invoke(_inputs(question, documents))
    if is_made and callable(query):
        return lambda question, _documents: query(question)
    if not (is_made and callable(answer)):
        raise InvalidInputError(
            f"`answer` is {describe_type(answer)}. It must be a function of a question and its documents, a LangChain "
            "runnable or a LlamaIndex query engine."
        )
    function = answer
    if _takes_documents(function):
        return lambda question, documents: function(question, documents)
    return lambda question, _documents: function(question)


def model_answerer(model: LanguageModel) -> Answerer:
    """A language model that answers from the passages, as `krag_eval/bench/prompts/answer.txt` asks it to."""
    prompt = (resources.files("krag_eval.bench") / "prompts" / "answer.txt").read_text(encoding="utf-8")

    def answer(question: str, documents: Sequence[Document]) -> str:
        texts = [document.text for document in documents if document.text]
        passages = "\n\n".join(delimited(text, "PASSAGE") for text in texts) or "(none)"
        return model.ask(fill(prompt, {"question": delimited(question, "QUESTION"), "passages": passages})).strip()

    return answer


def read_answer(given: object) -> str:
    """The text of an answer of any framework.

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
        f"The answer is {describe_type(given)}, and there is no text in it. Return a string, or an object with one of "
        f"{', '.join(_KEYS)}."
    )


def is_model(answer: object) -> bool:
    """Whether it is a language model of LangChain or LlamaIndex, and no program around one."""
    if isinstance(answer, (LanguageModel, type)):
        return isinstance(answer, LanguageModel)
    return any(callable(getattr(answer, name, None)) for name in ("generate_prompt", "complete"))


def _takes_text(runnable: object) -> bool:
    try:
        return getattr(runnable, "InputType", None) is str
    except TypeError:  # LangChain's way of saying that it cannot tell
        return False


def _parts(given: object) -> Iterator[object]:
    """What stands where an answer may stand."""
    for name in _KEYS:
        yield given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _inputs(question: str, documents: list[Document]) -> dict[str, object]:
    context = "\n\n".join(document.text for document in documents if document.text)
    return {"question": question, "input": question, "context": context, "documents": documents}


def _takes_documents(function: Callable[..., object]) -> bool:
    """Whether its second parameter has no default, or a name that says documents; else the question is all it wants."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # it does not tell
        return False
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        return any(one.kind is one.VAR_POSITIONAL for one in parameters)
    return positional[1].default is positional[1].empty or positional[1].name in _NAMES_OF_DOCUMENTS
