"""Ask a retriever many questions concurrently, with time limits and retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from krag_eval._utils.checks import check_count, check_number, one_of
from krag_eval._utils.errors import InvalidInputError, RunStoppedError, refuse
from krag_eval._utils.redaction import Redactor, describe_error
from krag_eval._utils.retrying import Retrying
from krag_eval._utils.threads import CallThread, with_time_limit
from krag_eval.datasets import Question, RunRow
from krag_eval.documents.document import Document
from krag_eval.documents.readers import IdKey
from krag_eval.retrievers.calling import Caller
from krag_eval.retrievers.responses import METADATA, Copier, needs_a_loop, take, take_later

RetryOn = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]

LONGEST_WAIT = 30.0
MOST_HANGING = 200
# Programming errors: the next attempt would fail in the same way.
_MISTAKES = (TypeError, AttributeError, NameError, ImportError, NotImplementedError)
_FAST_SECONDS, _YIELD_EVERY = 0.001, 16


@dataclass(frozen=True, kw_only=True)
class CallSettings:
    """How a retriever is called; the only place of these defaults.

    Attributes:
        k: How many documents of each result are kept.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one attempt, or None.
        retries: How often a failed call is retried.
        backoff: Seconds before the first retry; doubled before each further one, plus a random delay of up to the
            same length. If the error has `Retry-After`, that is used instead, up to 30 seconds.
        retry_on: Which exceptions are retried: types, or a function that takes an exception.
        metadata: Which metadata of the documents is kept: `"none"`, `"ids"` or `"all"`.
        id_key: The key of the metadata that holds the ids of documents, or None.
    """

    k: int
    concurrency: int = 8
    timeout: float | None = None
    retries: int = 2
    backoff: float = 0.5
    retry_on: RetryOn | None = None
    metadata: str = "all"
    id_key: IdKey | None = None

    def __post_init__(self) -> None:
        one_of("metadata", self.metadata, METADATA)
        check_count("k", self.k)
        check_count("concurrency", self.concurrency)
        check_count("retries", self.retries, least=0)
        if self.timeout is not None:
            check_number("timeout", self.timeout, "It is in seconds.", above=0)
        check_number("backoff", self.backoff, "It is in seconds.", least=0)
        types = self.retry_on if isinstance(self.retry_on, tuple) else (self.retry_on,)
        if not all(callable(one) or one is None for one in types):
            refuse("retry_on", "an exception type, a tuple of these, or a function", self.retry_on)

    def is_worth_retrying(self, error: BaseException) -> bool:
        """Whether another attempt may succeed."""
        if not isinstance(error, Exception) or isinstance(error, (InvalidInputError, RunStoppedError)):
            return False
        if self.retry_on is None:
            return not isinstance(error, _MISTAKES)
        if isinstance(self.retry_on, (type, tuple)):
            return isinstance(error, self.retry_on)
        return bool(self.retry_on(error))


async def ask_all(
    caller: Caller, questions: Iterable[Question], settings: CallSettings, take_row: Callable[[RunRow], None]
) -> None:
    """Ask every question once, in `concurrency` tasks.

    Args:
        caller: The retriever.
        questions: Taken as slots become free.
        settings: How the retriever is called.
        take_row: Called on the event loop with each row, in the order of completion. What it raises ends the run.
    """
    shared = iter(questions)
    hanging = set[CallThread]()
    copy = Copier(settings.metadata, settings.id_key)
    slots = [_Slot(caller, settings, hanging, copy) for _ in range(settings.concurrency)]
    tasks = [asyncio.create_task(slot.work(shared, take_row)) for slot in slots]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Slot:
    """One of `concurrency` slots, which asks one question at a time: in a thread of its own, or on the event loop."""

    def __init__(self, caller: Caller, settings: CallSettings, hanging: set[CallThread], copy: Copier) -> None:
        self._caller, self._settings, self._hanging, self._copy = caller, settings, hanging, copy
        self._thread: CallThread | None = None
        self._redactor: Redactor | None = None  # only an error needs it
        self._seconds = 0.0  # of the last attempt
        self._retrying = Retrying(settings.retries, settings.is_worth_retrying, settings.backoff, LONGEST_WAIT)
        self._attempt = self._attempt_on_the_loop if caller.is_async else self._attempt_in_the_thread

    async def work(self, questions: Iterator[Question], take_row: Callable[[RunRow], None]) -> None:
        try:
            for number, question in enumerate(questions):
                take_row(await self._ask(question))
                # A retriever that never waits would block the loop for everybody else. One that does wait is called
                # again at once: slots that yield all continue together, and then wait for each other.
                if self._seconds < _FAST_SECONDS or number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
        finally:
            if self._thread is not None:
                self._thread.stop()

    async def _ask(self, question: Question) -> RunRow:
        documents: tuple[Document, ...] = ()
        message = None
        try:
            if self._caller.is_agent:
                row: RunRow = await self._answer(question)
                return replace(row, seconds=round(self._seconds, 6))
            documents = await self._answer(question.question or "")
        except RunStoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - a question that fails is a row of the run
            message = self._describe(error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            message = self._describe(error)  # the retriever itself raised it
        seconds = round(self._seconds, 6)  # as in the journal
        return RunRow(query_id=question.id, retrieved=documents, error=message, seconds=seconds)

    def _describe(self, error: BaseException) -> str:
        self._redactor = self._redactor or Redactor(self._caller.function)
        return describe_error(error, self._redactor)

    async def _answer(self, asked: str | Question) -> Any:
        return await self._retrying.call_later(lambda: self._attempt(asked))

    async def _attempt_on_the_loop(self, asked: Any) -> Any:
        start = time.perf_counter()
        try:
            taken = await with_time_limit(self._take_later(self._caller.function(asked)), self._settings.timeout)
        finally:
            self._seconds = time.perf_counter() - start
        return taken if self._caller.is_agent else self._copy(taken)

    def _take_later(self, answer: Any) -> Awaitable[Any]:
        return answer if self._caller.is_agent else take_later(answer, self._settings.k)

    async def _attempt_in_the_thread(self, asked: Any) -> Any:
        if self._thread is None:
            self._check_hanging()
            self._thread = CallThread()
        call, start = _ThreadCall(self._caller, asked, self._settings.k, self._copy), time.perf_counter()
        try:
            return await with_time_limit(self._finish(call, self._thread.call(call)), self._settings.timeout)
        finally:
            self._seconds = time.perf_counter() - start if call.seconds is None else call.seconds
            if call.seconds is None:  # the call has not returned, and cannot be stopped
                self._hanging.add(self._thread)
                self._thread.stop()
                self._thread = None

    async def _finish(self, call: _ThreadCall, answer: Awaitable[Any]) -> Any:
        """Return the documents of the call; await them here if a sync function returned an awaitable."""
        documents = await answer
        if isinstance(documents, tuple) or (self._caller.is_agent and not needs_a_loop(documents)):
            return documents
        start = time.perf_counter()
        try:
            taken = await self._take_later(documents)
        finally:
            call.seconds = (call.seconds or 0.0) + time.perf_counter() - start
        return taken if self._caller.is_agent else self._copy(taken)

    def _check_hanging(self) -> None:
        self._hanging.difference_update([thread for thread in self._hanging if not thread.is_alive])
        if len(self._hanging) >= MOST_HANGING:
            raise RunStoppedError(
                f"{MOST_HANGING} calls of the retriever exceeded the timeout of {self._settings.timeout:g} s and still "
                "hang, each in a thread that cannot be stopped. Give the retriever a time limit of its own."
            )


@dataclass(slots=True)
class _ThreadCall:
    """A call for a thread, which returns the documents, or what has to be awaited to get them."""

    caller: Caller
    asked: Any
    k: int
    copy: Copier
    seconds: float | None = None

    def __call__(self) -> Any:
        start = time.perf_counter()
        try:
            answer = self.caller.function(self.asked)
            taken = answer if self.caller.is_agent or needs_a_loop(answer) else take(answer, self.k)
        finally:
            self.seconds = time.perf_counter() - start
        return taken if taken is answer else self.copy(taken)
