"""How a language model of any kind is called with one prompt, with a JSON schema or without."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.language_model.counters import Counting
from krag_eval.language_model.failures import classify
from krag_eval.language_model.limits import TimeLimit
from krag_eval.language_model.replies import Reply, read_reply
from krag_eval.shapes import describe_type

_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "repo_id")
_AS_JSON = "\n\nAnswer with one JSON object and nothing else: no code fence, no remarks. It follows this JSON schema:\n"
_UNSUPPORTED = (NotImplementedError, TypeError, ValueError, AttributeError, ImportError)


class Caller:
    """A language model, ready to be called.

    Args:
        llm: What the table of the package lists.
        limit: How long a call may take.
        counting: Counts the calls.

    Attributes:
        name: What the model is called in reports: the name of the model behind it where it tells one.

    Raises:
        InvalidInputError: It is no language model.
    """

    def __init__(self, llm: Any, limit: TimeLimit, counting: Counting) -> None:
        self._llm, self._limit, self._counting = llm, limit, counting
        self._function = _function_of(llm)
        self.name = _name_of(llm)
        self._is_structured = callable(getattr(llm, "with_structured_output", None))
        self._has_worked = False
        self._structured: dict[str, Callable[[str], Any]] = {}

    def text(self, prompt: str) -> Reply:
        """The answer to a prompt."""
        return self._call(self._function, prompt)

    def object(self, prompt: str, schema: Mapping[str, Any]) -> Reply:
        """The answer to a prompt that asks for a JSON object.

        Where the framework can have the model follow a schema, it is asked to. Where that turns out not to work, the
        schema is put into the prompt, this time and from then on.
        """
        written = json.dumps(schema, ensure_ascii=False)
        asking = f"{prompt}{_AS_JSON}{written}"
        if not self._is_structured:
            return self.text(asking)
        try:
            if written not in self._structured:
                self._structured[written] = _structured(self._llm, schema)
        except _UNSUPPORTED:
            self._is_structured = False
            return self.text(asking)
        try:
            reply = self._call(self._structured[written], prompt)
        except Exception as error:
            if self._has_worked or not (isinstance(error, _UNSUPPORTED) or classify(error).reason == "rejected"):
                raise
            reply = self.text(asking)  # if that fails too, it was not the schema
            self._is_structured = False
            return reply
        self._has_worked = True
        return reply

    def _call(self, function: Callable[[str], Any], prompt: str) -> Reply:
        self._counting.add(calls=1)
        reply = read_reply(self._limit.call(function, prompt))
        self._counting.add(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        return reply


def _structured(llm: Any, schema: Mapping[str, Any]) -> Callable[[str], Any]:
    method = llm.with_structured_output
    named = {"title": "answer", "description": "The answer.", **schema}
    parameters = inspect.signature(method).parameters
    takes_raw = "include_raw" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    made = method(named, include_raw=True) if takes_raw else method(named)
    function: Callable[[str], Any] = made.invoke
    return function


def _function_of(llm: Any) -> Callable[[str], Any]:
    if isinstance(llm, type):
        raise InvalidInputError(f"The language model is the class {llm.__name__}. It must be an object: create one.")
    for method in ("invoke", "complete"):
        function = getattr(llm, method, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    if isinstance(llm, str) or not callable(llm):
        raise InvalidInputError(
            f"The language model is {describe_type(llm)}, which cannot be asked. It must be a LangChain chat model, a "
            "LlamaIndex LLM, or a function that takes a prompt and returns a string."
        )
    if inspect.iscoroutinefunction(getattr(llm, "__call__", None)):  # noqa: B004 - an object may have an async one
        return llm.__call__  # type: ignore[no-any-return]
    _check_signature(llm)
    return llm  # type: ignore[no-any-return]


def _check_signature(function: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind("prompt")
    except TypeError:
        raise InvalidInputError(
            f"The language model takes ({', '.join(signature.parameters)}) and cannot be called with a prompt alone. "
            "Wrap it, for example as `lambda prompt: ask(prompt, temperature=0)`."
        ) from None


def _name_of(llm: Any) -> str:
    while isinstance(llm, functools.partial):
        llm = llm.func
    for holder in (getattr(llm, "metadata", None), llm):  # LlamaIndex keeps the name in its metadata
        for name in _MODEL_NAMES:
            value = getattr(holder, name, None)
            if isinstance(value, str) and value and value != "unknown":
                return value
    own = getattr(llm, "__name__", None)
    return own if isinstance(own, str) and own != "<lambda>" else type(llm).__name__
