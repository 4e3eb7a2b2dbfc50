"""Call a retriever of any kind with one question.

No framework is imported: the kind of a retriever is recognized by its methods.

| retriever | called as |
|---|---|
| LangChain retriever or runnable | `invoke(question)`, `ainvoke(question)` |
| LlamaIndex retriever | `retrieve(question)`, `aretrieve(question)` |
| Haystack component, or another object with `run(query=...)` | `run(query=question)`, `run_async(query=question)` |
| Haystack pipeline | `run(data={"query": question})`, with the open inputs called `query`, `text` or `question` |
| function, bound method, or object with `__call__`, sync or async | `retriever(question)` |

If an object has both methods, `run_retriever` calls the sync one. `arun_retriever` calls the async one, unless that is
only the framework's default, which calls the sync one: LangChain's uses the few threads of the loop, LlamaIndex's
blocks the loop.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from krag_eval._utils.errors import InvalidInputError, describe_type

# The sync method, the async one, what a retriever overrides to be truly async, and the module of the default.
_METHODS = (
    ("invoke", "ainvoke", "_aget_relevant_documents", "langchain_core.retrievers"),
    ("retrieve", "aretrieve", "_aretrieve", "llama_index.core.base.base_retriever"),
    ("run", "run_async", "", ""),
)
_METHOD_NAMES = {name for methods in _METHODS for name in methods[:2]}
_QUESTION_INPUTS = ("query", "text", "question")


class _Invoked(Protocol):
    @property
    def invoke(self) -> Any: ...


class _InvokedLater(Protocol):
    @property
    def ainvoke(self) -> Any: ...


class _Retrieving(Protocol):
    @property
    def retrieve(self) -> Any: ...


class _RetrievingLater(Protocol):
    @property
    def aretrieve(self) -> Any: ...


class _Running(Protocol):
    @property
    def run(self) -> Any: ...


class _RunningLater(Protocol):
    @property
    def run_async(self) -> Any: ...


Retriever = Callable[..., Any] | _Invoked | _InvokedLater | _Retrieving | _RetrievingLater | _Running | _RunningLater
"""What can be asked a question; no evaluation set is one of these."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A retriever as a function of a question.

    Attributes:
        function: Takes the text of a question.
        is_async: Whether it is called on the event loop instead of in a thread.
        name: The default name of the retriever.
        path: The module and the name of its type, or of the function.
        is_agent: Whether the function takes the question itself and returns a row.
    """

    function: Callable[[Any], Any]
    is_async: bool
    name: str
    path: str
    is_agent: bool = False


def caller_of(retriever: Any, *, prefer_async: bool = False) -> Caller:
    """Return how to call this retriever.

    Args:
        retriever: Any kind in the table of this module.
        prefer_async: Call the async method of an object that has both.

    Raises:
        InvalidInputError: The object is not a retriever, or cannot be called with a question alone.
    """
    if isinstance(retriever, type):
        raise InvalidInputError(
            f"The retriever is the class {retriever.__name__}. It must be an instance of it: create one first."
        )
    name, path = names_of(retriever)
    for sync, async_, hook, default_module in _METHODS:
        methods = [m for m in (getattr(retriever, sync, None), getattr(retriever, async_, None)) if callable(m)]
        if methods:
            take_async = (prefer_async and _overrides(retriever, hook, default_module)) or _is_async_lambda(retriever)
            function = methods[-1 if take_async else 0]
            break
    else:
        sync, function = "", retriever
    if not callable(function):
        raise InvalidInputError(
            f"`retriever` is {describe_type(retriever)}, which cannot be called. It must be a function that takes a "
            "question, or an object with `invoke`, `retrieve` or `run`."
        )
    runs_on_loop = is_async(function)
    if sync == "run":
        function = _haystack_call(retriever, function)
    elif (parameters := wrong_parameters(function)) is not None:
        raise InvalidInputError(
            f"The retriever {name}({parameters}) cannot be called with a question alone. "
            "Wrap it, for example as `lambda question: search(question, top_k=20)`."
        )
    return Caller(function, runs_on_loop, name, path)


def _overrides(retriever: Any, hook: str, default_module: str) -> bool:
    method = getattr(type(retriever), hook, None) if hook else None
    return method is None or getattr(method, "__module__", None) != default_module


def _is_async_lambda(retriever: Any) -> bool:
    """Whether this is LangChain's RunnableLambda around an async function alone."""
    return hasattr(retriever, "afunc") and not hasattr(retriever, "func")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether the result of a function has to be awaited, as far as its definition says."""
    return any(
        inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f)
        for f in (function, getattr(function, "__call__", None))  # noqa: B004 - an object may have an async one
    )


def wrong_parameters(function: Callable[..., Any]) -> str | None:
    """Return the parameters of a function that cannot be called with one argument alone; None if it can."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return None
    try:
        signature.bind("question")
    except TypeError:
        return ", ".join(signature.parameters)
    return None


def _haystack_call(retriever: Any, run: Callable[..., Any]) -> Callable[[str], Any]:
    parameters = inspect.signature(run).parameters
    known = [name for name in _QUESTION_INPUTS if name in parameters]
    if known or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        argument = known[0] if known else "query"
        return lambda question: run(**{argument: question})
    if "data" in parameters:
        inputs = _question_inputs(retriever)
        return lambda question: run(data=dict.fromkeys(inputs, question))
    raise InvalidInputError(
        f"`run` of {describe_type(retriever)} takes no `query`, so it cannot be called with a question. "
        "Pass a function that takes a question and prepares what `run` needs, such as its embedding."
    )


def _question_inputs(pipeline: Any) -> list[str]:
    """Return the open inputs of a pipeline that take the question."""
    if not callable(getattr(pipeline, "inputs", None)):
        return ["query"]
    is_open = {name for sockets in pipeline.inputs().values() for name in sockets}
    inputs = [name for name in _QUESTION_INPUTS if name in is_open]
    if not inputs:
        raise InvalidInputError(
            "The pipeline has no open input called query, text or question. "
            "Pass a function that takes a question and runs the pipeline with it."
        )
    return inputs


def names_of(retriever: Any) -> tuple[str, str]:
    """Return the default name of a retriever, and the module and the name of its type, or of the function."""
    inner = retriever
    while isinstance(inner, functools.partial):
        inner = inner.func
    owner, name = getattr(inner, "__self__", None), getattr(inner, "__name__", None)
    if isinstance(name, str) and not inspect.ismodule(owner) and owner is not None and name in _METHOD_NAMES:
        inner, name = owner, None
    if not isinstance(name, str):
        kind = type(inner)
        return kind.__name__, f"{kind.__module__}.{kind.__qualname__}"
    path = f"{getattr(inner, '__module__', None) or '?'}.{getattr(inner, '__qualname__', name)}"
    return ("retriever" if name == "<lambda>" else name), path
