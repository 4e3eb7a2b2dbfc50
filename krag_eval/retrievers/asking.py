"""Asks a retriever many questions: some at a time, each with a time limit, and again where it fails.

How a retriever of any kind is called with one question. No framework is imported: kinds are told by their methods.

| retriever | called as |
|---|---|
| LangChain retriever or runnable | `invoke(question)`, `ainvoke(question)` |
| LlamaIndex retriever | `retrieve(question)`, `aretrieve(question)` |
| Haystack component, or another object with `run(query=...)` | `run(query=question)`, `run_async(query=question)` |
| Haystack pipeline | `run(data={"query": question})`, with the open inputs called `query`, `text` or `question` |
| function, bound method, or object with `__call__`, plain or async | `retriever(question)` |

`run_retriever` takes the plain method of an object that has both, `arun_retriever` the async one, unless that is only
the framework's stand-in for it: LangChain's uses the few threads of the loop, LlamaIndex's blocks the loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from krag_eval._utils.checks import as_number, check_count, describe_type
from krag_eval._utils.errors import InvalidInputError, RunStoppedError
from krag_eval._utils.redaction import describe_error
from krag_eval._utils.threads import CallThread
from krag_eval.datasets import Question, RunRow
from krag_eval.documents.document import Document
from krag_eval.retrievers.responses import copy_documents, needs_a_loop, take, take_later

RetryOn = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]

LONGEST_WAIT = 30.0
MOST_HANGING = 200
# The next attempt would fail just so.
_MISTAKES = (TypeError, AttributeError, NameError, ImportError, NotImplementedError)
_HARDLY_WAITED, _GIVES_WAY_EVERY = 0.001, 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a retriever is asked.

    Attributes:
        k: How many documents of each answer are kept.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one attempt, or None.
        retries: How often a question is asked again.
        backoff: Seconds before the second attempt; doubled before each further one, with as much again by chance.
        retry_on: Which exceptions are worth another attempt: types, or a function that says so.
    """

    k: int
    concurrency: int = 8
    timeout: float | None = None
    retries: int = 2
    backoff: float = 0.5
    retry_on: RetryOn | None = None

    def __post_init__(self) -> None:
        check_count("k", self.k)
        check_count("concurrency", self.concurrency)
        if self.retries != 0:
            check_count("retries", self.retries)
        for name, least in (("timeout", "more than 0"), ("backoff", "at least 0")):
            value = getattr(self, name)
            number = as_number(value)
            if value is None and name == "timeout":
                continue
            if number is None or not 0 <= number < float("inf") or (name == "timeout" and number == 0):
                raise InvalidInputError(f"`{name}` must be a number of seconds, {least}, got {value!r:.60}.")
        types = self.retry_on if isinstance(self.retry_on, tuple) else (self.retry_on,)
        if not all(callable(one) or one is None for one in types):
            raise InvalidInputError(
                f"`retry_on` must be an exception type, a tuple of these, or a function, got {self.retry_on!r:.60}."
            )

    def is_worth_retrying(self, error: BaseException) -> bool:
        """Whether another attempt may go better."""
        if not isinstance(error, Exception) or isinstance(error, (InvalidInputError, RunStoppedError)):
            return False
        if self.retry_on is None:
            return not isinstance(error, _MISTAKES)
        if isinstance(self.retry_on, (type, tuple)):
            return isinstance(error, self.retry_on)
        return bool(self.retry_on(error))


async def ask_all(
    caller: Caller, questions: Iterable[Question], manner: Manner, take_row: Callable[[RunRow], None]
) -> None:
    """Ask every question once; there are never more tasks than `concurrency`.

    Args:
        caller: The retriever.
        questions: What to ask; taken as slots become free.
        manner: How to ask.
        take_row: Called on the event loop with each row, as they come. What it raises ends it all.
    """
    shared = iter(questions)
    hanging = set[CallThread]()
    slots = [_Slot(caller, manner, hanging) for _ in range(manner.concurrency)]
    tasks = [asyncio.create_task(slot.work(shared, take_row)) for slot in slots]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Slot:
    """Asks one question at a time; a plain retriever in a thread of its own, an async one on the loop."""

    def __init__(self, caller: Caller, manner: Manner, hanging: set[CallThread]) -> None:
        self._caller, self._manner, self._hanging = caller, manner, hanging
        self._thread: CallThread | None = None
        self._seconds = 0.0  # of the last attempt
        # One a slot: tenacity keeps the state of the attempt in it.
        self._retrying = AsyncRetrying(
            stop=stop_after_attempt(manner.retries + 1),
            wait=wait_exponential(multiplier=manner.backoff, max=LONGEST_WAIT) + wait_random(0, manner.backoff),
            retry=retry_if_exception(manner.is_worth_retrying),
            reraise=True,
        )
        self._attempt = self._attempt_on_the_loop if caller.is_async else self._attempt_in_the_thread

    async def work(self, questions: Iterator[Question], take_row: Callable[[RunRow], None]) -> None:
        try:
            for number, question in enumerate(questions):
                take_row(await self._ask(question))
                # A retriever that never waits would keep the loop from everybody else. One that does wait is asked
                # again at once: slots that give way go on all together, and then wait for each other.
                if self._seconds < _HARDLY_WAITED or number % _GIVES_WAY_EVERY == 0:
                    await asyncio.sleep(0)
        finally:
            if self._thread is not None:
                self._thread.stop()

    async def _ask(self, question: Question) -> RunRow:
        documents: tuple[Document, ...] = ()
        message = None
        try:
            documents = await self._answer(question.question or "")
        except RunStoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - a question that fails is a row of the run
            message = describe_error(error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            message = describe_error(error)  # the retriever's own
        seconds = round(self._seconds, 6)  # what the journal has and what memory has shall be equal
        return RunRow(query_id=question.id, retrieved=documents, error=message, seconds=seconds)

    async def _answer(self, text: str) -> tuple[Document, ...]:
        try:
            return await self._attempt(text)
        except Exception as error:  # noqa: BLE001 - it is raised again below
            failed = [error]

        async def attempt() -> tuple[Document, ...]:
            if failed:  # tenacity costs more than the call of a fast retriever: it sees only what failed
                raise failed.pop()
            return await self._attempt(text)

        return await self._retrying(attempt)

    async def _attempt_on_the_loop(self, text: str) -> tuple[Document, ...]:
        start = time.perf_counter()
        try:
            taken = await _limited(take_later(self._caller.function(text), self._manner.k), self._manner.timeout)
        finally:
            self._seconds = time.perf_counter() - start
        return copy_documents(taken)

    async def _attempt_in_the_thread(self, text: str) -> tuple[Document, ...]:
        if self._thread is None:
            self._check_hanging()
            self._thread = CallThread()
        call, start = _ThreadCall(self._caller.function, text, self._manner.k), time.perf_counter()
        try:
            return await _limited(self._finish(call, self._thread.call(call)), self._manner.timeout)
        finally:
            self._seconds = time.perf_counter() - start if call.seconds is None else call.seconds
            if call.seconds is None:  # it has not returned, and cannot be stopped
                self._hanging.add(self._thread)
                self._thread.stop()
                self._thread = None

    async def _finish(self, call: _ThreadCall, answer: Awaitable[Any]) -> tuple[Document, ...]:
        """What the thread made of it; where a plain function returned something to await, that is awaited here."""
        documents = await answer
        if isinstance(documents, tuple):
            return documents
        start = time.perf_counter()
        try:
            taken = await take_later(documents, self._manner.k)
        finally:
            call.seconds = (call.seconds or 0.0) + time.perf_counter() - start
        return copy_documents(taken)

    def _check_hanging(self) -> None:
        self._hanging.difference_update([thread for thread in self._hanging if not thread.is_alive])
        if len(self._hanging) >= MOST_HANGING:
            raise RunStoppedError(
                f"{MOST_HANGING} calls of the retriever ran into the timeout of {self._manner.timeout:g} s and hang "
                "still, each in a thread that nobody can stop. Give the retriever a time limit of its own."
            )


@dataclass(slots=True)
class _ThreadCall:
    """One call, for a thread: returns the documents, or what has to be awaited for them."""

    function: Callable[[str], Any]
    text: str
    k: int
    seconds: float | None = None

    def __call__(self) -> Any:
        start = time.perf_counter()
        try:
            answer = self.function(self.text)
            taken = answer if needs_a_loop(answer) else take(answer, self.k)
        finally:
            self.seconds = time.perf_counter() - start
        return taken if taken is answer else copy_documents(taken)


async def _limited(awaitable: Awaitable[T], seconds: float | None) -> T:
    if seconds is None:
        return await awaitable
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await awaitable
    except TimeoutError:
        if scope.expired():
            raise TimeoutError(f"no answer within {seconds:g} s") from None
        raise  # the retriever's own


# The plain method, the async one, what a retriever overrides to be truly async, and the module that has the stand-in.
_METHODS = (
    ("invoke", "ainvoke", "_aget_relevant_documents", "langchain_core.retrievers"),
    ("retrieve", "aretrieve", "_aretrieve", "llama_index.core.base.base_retriever"),
    ("run", "run_async", "", ""),
)
_METHOD_NAMES = {name for methods in _METHODS for name in methods[:2]}
_QUESTION_INPUTS = ("query", "text", "question")


@dataclass(frozen=True, slots=True)
class Caller:
    """A retriever, ready to be asked.

    Attributes:
        function: Takes the text of a question.
        is_async: Whether it is called on the event loop, and not in a thread.
        name: What the retriever is called where no name is given.
        path: The module and the name of its type, or of the function.
    """

    function: Callable[[str], Any]
    is_async: bool
    name: str
    path: str


def caller_of(retriever: Any, *, prefer_async: bool = False) -> Caller:
    """How this retriever is called.

    Args:
        retriever: What the table of this module lists.
        prefer_async: Take the async method of an object that has both.

    Raises:
        InvalidInputError: It is no retriever, or cannot be called with a question alone.
    """
    if isinstance(retriever, type):
        raise InvalidInputError(
            f"The retriever is the class {retriever.__name__}. It must be an object of it: create one first."
        )
    name, path = _names_of(retriever)
    for plain, async_, hook, stand_in in _METHODS:
        methods = [m for m in (getattr(retriever, plain, None), getattr(retriever, async_, None)) if callable(m)]
        if methods:
            is_async = (prefer_async and _overrides(retriever, hook, stand_in)) or _is_async_lambda(retriever)
            function = methods[-1 if is_async else 0]
            break
    else:
        plain, function = "", retriever
    if not callable(function):
        raise InvalidInputError(
            f"`retriever` is {describe_type(retriever)}, which cannot be asked. It must be a function that takes a "
            "question, or an object with `invoke`, `retrieve` or `run`."
        )
    if plain == "run":
        function = _haystack_call(retriever, function)
    else:
        _check_signature(function, name)
    return Caller(function, _is_async(function), name, path)


def _overrides(retriever: Any, hook: str, stand_in: str) -> bool:
    method = getattr(type(retriever), hook, None) if hook else None
    return method is None or getattr(method, "__module__", None) != stand_in


def _is_async_lambda(retriever: Any) -> bool:
    """Whether it is LangChain's RunnableLambda around nothing but an async function."""
    return hasattr(retriever, "afunc") and not hasattr(retriever, "func")


def _is_async(function: Callable[..., Any]) -> bool:
    return any(
        inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f)
        for f in (function, getattr(function, "__call__", None))  # noqa: B004 - an object may have an async one
    )


def _check_signature(function: Callable[..., Any], name: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind("question")
    except TypeError:
        raise InvalidInputError(
            f"The retriever {name}({', '.join(signature.parameters)}) cannot be called with a question alone. "
            "Wrap it, for example as `lambda question: search(question, top_k=20)`."
        ) from None


def _haystack_call(retriever: Any, run: Callable[..., Any]) -> Callable[[str], Any]:
    parameters = inspect.signature(run).parameters
    known = [name for name in _QUESTION_INPUTS if name in parameters]
    if known or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        call = functools.partial(_run_component, run, [*known, "query"][0])
    elif "data" in parameters:
        call = functools.partial(_run_pipeline, run, _question_inputs(retriever))
    else:
        raise InvalidInputError(
            f"`run` of {describe_type(retriever)} takes no `query`, so that it cannot be asked a question. "
            "Give a function that takes a question and does what has to be done before, such as embedding it."
        )
    return call if not _is_async(run) else _async_twin(call)


def _run_component(run: Callable[..., Any], argument: str, question: str) -> Any:
    return run(**{argument: question})


def _run_pipeline(run: Callable[..., Any], inputs: list[str], question: str) -> Any:
    return run(data=dict.fromkeys(inputs, question))


def _async_twin(call: Callable[[str], Any]) -> Callable[[str], Any]:
    async def twin(question: str) -> Any:
        return await call(question)

    return twin


def _question_inputs(pipeline: Any) -> list[str]:
    """The open inputs of a pipeline that take the question."""
    if not callable(getattr(pipeline, "inputs", None)):
        return ["query"]
    is_open = {name for sockets in pipeline.inputs().values() for name in sockets}
    inputs = [name for name in _QUESTION_INPUTS if name in is_open]
    if not inputs:
        raise InvalidInputError(
            f"The pipeline has no open input called {', '.join(_QUESTION_INPUTS[:-1])} or {_QUESTION_INPUTS[-1]}. "
            "Give a function that takes a question and runs the pipeline with it."
        )
    return inputs


def _names_of(retriever: Any) -> tuple[str, str]:
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
