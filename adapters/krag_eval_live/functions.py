"""Retrievals in plain Python: a function that searches, and the question that searches belong to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from krag_eval.toolkit import refuse

F = TypeVar("F", bound=Callable[..., Any])

# The usual names of the argument that holds the question.
_QUESTIONS = ("query", "question", "q", "text", "search_query", "input", "prompt")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a retrieval belongs.

    Attributes:
        session_id: The id of its session; None for one of its own.
        query_id: The id of the question, or None.
        question: The text of the question, or None.
    """

    session_id: str | None = None
    query_id: str | None = None
    question: str | None = None


class Places:
    """The question that was opened where this is called, and whether that is inside a retrieval; by context."""

    def __init__(self) -> None:
        self.opened: ContextVar[Place | None] = ContextVar("krag_eval_question", default=None)
        self._inside: ContextVar[bool] = ContextVar("krag_eval_inside", default=False)

    @property
    def is_inside(self) -> bool:
        """Whether a function that is a retrieval is running: what it searches is counted once, by what it returns."""
        return self._inside.get()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be inside a retrieval."""
        token = self._inside.set(True)
        try:
            yield
        finally:
            self._inside.reset(token)


class Recorder(Protocol):
    """What records the retrievals: a live scorer."""

    places: Places

    def begin_here(self, query: object, name: str) -> str:
        """Note that a retrieval starts, in the place where this is called; return its id."""
        ...

    def end_here(self, run_id: str, documents: object) -> None:
        """Note what it returned, or that it raised this."""
        ...


def recorded(recorder: Recorder, function: F, query: str | None, name: str | None) -> F:
    """Return the function with its calls recorded as retrievals; what it returns and raises stays as it is.

    Args:
        recorder: Records them.
        function: Sync or async; it may be a generator.
        query: The argument that holds the question; None for the usual names, or else the first argument.
        name: The name of the retriever.

    Raises:
        InvalidInputError: The function has no such argument.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # one of Python's own, which does not say what it takes
        signature = inspect.signature(lambda query: query)
    called = getattr(function, "__name__", type(function).__name__)
    names = [one for one in signature.parameters if one not in ("self", "cls")]
    asked = query or next((one for one in _QUESTIONS if one in names), names[0] if names else None)
    if asked not in signature.parameters:
        refuse("query", f"the name of an argument of `{called}`", query, "Its arguments: " + ", ".join(names))

    def begin(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
        if recorder.places.is_inside:
            return None
        try:
            given = signature.bind(*arguments, **keywords)
        except TypeError:
            return None  # the function raises it, too
        given.apply_defaults()
        return recorder.begin_here(given.arguments[str(asked)], name or called)

    @contextmanager
    def call(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[_Call]:
        run_id, made = begin(arguments, keywords), _Call()
        outcome: object = None
        try:
            yield made
            outcome = made.found
        except GeneratorExit:  # the application has read enough
            outcome = made.found
            raise
        except BaseException as error:
            outcome = error
            raise
        finally:
            if run_id is not None:
                recorder.end_here(run_id, outcome)

    return _WRAPPERS[_kind_of(function)](recorder.places, function, call)  # type: ignore[return-value]


@dataclass(slots=True)
class _Call:
    """A call of the function, with what it has returned so far."""

    found: Any = None


Calls = Callable[[tuple[Any, ...], dict[str, Any]], AbstractContextManager[_Call]]


def _kind_of(function: Callable[..., Any]) -> str:
    kinds = {
        "async generator": inspect.isasyncgenfunction,
        "generator": inspect.isgeneratorfunction,
        "async": inspect.iscoroutinefunction,
    }
    return next((kind for kind, is_it in kinds.items() if is_it(function)), "sync")


def _sync(places: Places, function: Callable[..., Any], calls: Calls) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with calls(arguments, keywords) as made, places.inside():
            made.found = function(*arguments, **keywords)
        return made.found

    return call


def _async(places: Places, function: Callable[..., Any], calls: Calls) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*arguments: Any, **keywords: Any) -> Any:
        with calls(arguments, keywords) as made, places.inside():
            made.found = await function(*arguments, **keywords)
        return made.found

    return call


def _generator(places: Places, function: Callable[..., Any], calls: Calls) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Iterator[Any]:
        with calls(arguments, keywords) as made:
            made.found, documents = [], function(*arguments, **keywords)
            while True:
                with places.inside():  # not while the application has the document
                    document = next(documents, _END)
                if document is _END:
                    return
                made.found.append(document)
                yield document

    return call


def _async_generator(places: Places, function: Callable[..., Any], calls: Calls) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*arguments: Any, **keywords: Any) -> AsyncIterator[Any]:
        with calls(arguments, keywords) as made:
            made.found, documents = [], function(*arguments, **keywords)
            while True:
                with places.inside():
                    document = await anext(documents, _END)
                if document is _END:
                    return
                made.found.append(document)
                yield document

    return call


_END = object()
_WRAPPERS = {"sync": _sync, "async": _async, "generator": _generator, "async generator": _async_generator}
