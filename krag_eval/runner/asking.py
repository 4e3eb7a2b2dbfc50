"""Asks a retriever many questions: some at a time, each with a time limit, and again where it fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from krag_eval.checks import check_count
from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import Question, RunRow
from krag_eval.redaction import describe_error
from krag_eval.runner.answers import DocumentCopier, needs_a_loop, take, take_later
from krag_eval.runner.calling import Caller
from krag_eval.runner.failures import RunStoppedError
from krag_eval.runner.threads import CallThread
from krag_eval.shapes import as_number

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
    copier, hanging = DocumentCopier(), set[CallThread]()
    slots = [_Slot(caller, manner, copier, hanging) for _ in range(manner.concurrency)]
    tasks = [asyncio.create_task(slot.work(shared, take_row)) for slot in slots]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Slot:
    """Asks one question at a time; a plain retriever in a thread of its own, an async one on the loop."""

    def __init__(self, caller: Caller, manner: Manner, copier: DocumentCopier, hanging: set[CallThread]) -> None:
        self._caller, self._manner, self._copier, self._hanging = caller, manner, copier, hanging
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
        return self._copier.copy(taken)

    async def _attempt_in_the_thread(self, text: str) -> tuple[Document, ...]:
        if self._thread is None:
            self._check_hanging()
            self._thread = CallThread()
        call, start = _ThreadCall(self._caller.function, text, self._manner.k, self._copier), time.perf_counter()
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
        return self._copier.copy(taken)

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
    copier: DocumentCopier
    seconds: float | None = None

    def __call__(self) -> Any:
        start = time.perf_counter()
        try:
            answer = self.function(self.text)
            taken = answer if needs_a_loop(answer) else take(answer, self.k)
        finally:
            self.seconds = time.perf_counter() - start
        return taken if taken is answer else self.copier.copy(taken)


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
