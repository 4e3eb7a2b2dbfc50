"""Who answers a question from what was retrieved: a program of the user's, or a language model with a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import resources

from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.language_model import LanguageModel
from krag_eval.prompts import delimited, fill
from krag_eval.shapes import describe_type

Answerer = Callable[[str, Sequence[Document]], str]
"""From a question and the documents retrieved for it, best first, to the answer."""

_NAMES_OF_DOCUMENTS = ("documents", "docs", "context", "contexts", "passages", "retrieved")
# Where frameworks put the text of an answer.
_KEYS = ("answer", "result", "output", "response", "content", "text")


def as_answerer(answer: object) -> Answerer:
    """A program that answers questions, as a function.

    Args:
        answer: A function of the question and the documents; a function of the question alone, which retrieves for
            itself; a LangChain runnable, which is given `{"question", "input", "context", "documents"}`; or a
            LlamaIndex query engine, which is given the question.

    Raises:
        InvalidInputError: It is none of these.
    """
    invoke, query = getattr(answer, "invoke", None), getattr(answer, "query", None)
    if callable(invoke):
        return _invoking(invoke)
    if callable(query):
        return lambda question, _documents: read_answer(query(question))
    if not callable(answer):
        raise InvalidInputError(
            f"`answer` is {describe_type(answer)}. It must be a function of a question and its documents, a LangChain "
            "runnable or a LlamaIndex query engine."
        )
    function = answer
    if _takes_documents(function):
        return lambda question, documents: read_answer(function(question, list(documents)))
    return lambda question, _documents: read_answer(function(question))


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
    values = map(given.get, _KEYS) if isinstance(given, Mapping) else (getattr(given, name, None) for name in _KEYS)
    for value in values:
        if isinstance(value, str):
            return value
    raise InvalidInputError(
        f"The answer is {describe_type(given)}, and there is no text in it. Return a string, or an object with one of "
        f"{', '.join(_KEYS)}."
    )


def _invoking(invoke: Callable[[object], object]) -> Answerer:
    def answer(question: str, documents: Sequence[Document]) -> str:
        context = "\n\n".join(document.text for document in documents if document.text)
        given = {"question": question, "input": question, "context": context, "documents": list(documents)}
        return read_answer(invoke(given))

    return answer


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
