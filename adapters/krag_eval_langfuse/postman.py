"""Sends what lies in an outbox, oldest first, on a thread of its own, until the server has taken it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tenacity import RetryCallState, Retrying

from krag_eval import KragEvalError, Outbox, OutboxEntry
from krag_eval_langfuse.delivery import AT_ONCE, Outcome
from krag_eval_langfuse.posting import Refusal, describe, post
from krag_eval_langfuse.retrying import MOST_DOUBTFUL, Failure, Waits, failure_of, failure_of_status
from krag_eval_langfuse.scores import score_from_row

_LOG = logging.getLogger("krag_eval.langfuse")
_ONE_TRY = {"max_retries": 0}
_MOST_PROBLEMS = 20
_TOLD_AT = 3  # once in an outage, and not at every hiccup


class _StoppedError(Exception):
    pass


class _NotYetError(Exception):
    """The server took the request, and says of a score in it that it could not see to it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.status_code, self.body = refusal.status, refusal.message


class Postman:
    """Delivers the scores of an outbox.

    A failure that passes is waited for, as long as it takes. A request of several scores with one that is refused is
    divided until that one is found. A request that the server cannot digest is divided, too, after some attempts.

    Args:
        outbox: Where the scores are.
        client: The Langfuse client.
        waits: How long to wait between attempts.

    Attributes:
        problem: What went wrong last, if nothing has arrived since.
    """

    def __init__(self, outbox: Outbox, client: Any, waits: Waits | None = None) -> None:
        self.problem: str | None = None
        self._outbox, self._client, self._waits = outbox, client, waits or Waits()
        self._changed = threading.Condition()
        self._news = Outcome()
        self._is_hurried = self._is_delivering = self._is_stopping = self._is_broken = False
        self._retirement: Callable[[], bool] | None = None
        self._thread = threading.Thread(target=self._work, name="krag-eval-langfuse-outbox", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something new."""
        with self._changed:
            self._changed.notify_all()

    def news(self) -> Outcome:
        """What has become known since this was asked last."""
        with self._changed:
            news, self._news = self._news, Outcome()
            return news

    def wait(self, timeout: float | None, *, since_last: bool = False) -> bool:
        """Wait until nothing waits in the outbox; whether that is so.

        Args:
            timeout: For at most so many seconds.
            since_last: Count them anew whenever something was delivered.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._is_hurried = True  # the next attempt need not wait for the end of a pause
            self._changed.notify_all()
            left = self._outbox.n_waiting
            while (left or self._is_delivering) and not self._is_broken:
                self._changed.wait(None if end is None else max(0.0, end - time.monotonic()))
                if since_last and timeout is not None and self._outbox.n_waiting < left:
                    end = time.monotonic() + timeout
                left = self._outbox.n_waiting
                if end is not None and time.monotonic() >= end:
                    break
            return not left and not self._is_delivering

    def retire(self, may_go: Callable[[], bool]) -> None:
        """When nothing waits any longer, ask whether that was all, and end if so."""
        with self._changed:
            self._retirement = may_go
            self._changed.notify_all()

    def stop(self, timeout: float = 0.0) -> None:
        """Begin no further request, and wait so many seconds for the one that is under way."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_stopping or self._retirement or self._outbox.n_waiting)
                    if self._is_stopping:
                        return
                    self._is_delivering = bool(self._outbox.n_waiting)
                    may_go, self._retirement = self._retirement, self._retirement if self._is_delivering else None
                if not self._is_delivering:
                    if may_go is not None and may_go():
                        return
                    continue
                self._deliver(self._outbox.peek(AT_ONCE))
        except _StoppedError:
            pass
        except Exception as error:  # noqa: BLE001 - on a thread of its own nobody would catch it
            _LOG.warning("krag_eval: the outbox %s is not delivered further: %s", self._outbox.path, describe(error))
            with self._changed:
                self.problem, self._is_broken = describe(error), True
                self._changed.notify_all()

    def _deliver(self, batch: Sequence[OutboxEntry]) -> None:
        newest = list({entry.key: entry for entry in batch}.values())  # of two values of one score the later is right
        refused = dict[str, str]()
        parts = [newest]
        while parts:
            part = parts.pop()
            try:
                found = self._send(part)
            except _StoppedError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the client raises is the answer
                if self._is_stopping:
                    raise _StoppedError from None
                if len(part) > 1 and failure_of(error) is not Failure.SHUT_OUT:
                    parts += [part[len(part) // 2 :], part[: len(part) // 2]]
                    continue
                found = dict.fromkeys((entry.key for entry in part), self._say(error))
            else:
                if found is None:
                    parts += [part[len(part) // 2 :], part[: len(part) // 2]]
                    continue
            refused |= found
        for entry in newest:
            if entry.key in refused:
                self._set_aside(entry, refused[entry.key])
        self._settle(batch)
        failed = sum(entry.key in refused for entry in batch)
        problems = tuple(dict.fromkeys(f"rejected: {reason}" for reason in refused.values()))
        with self._changed:
            known = (self._news.problems + problems)[:_MOST_PROBLEMS]
            self._news = Outcome(self._news.sent + len(batch) - failed, self._news.failed + failed, known)
            self.problem, self._is_delivering = None, False
            self._changed.notify_all()

    def _set_aside(self, entry: OutboxEntry, reason: str) -> None:
        """Note that a score was refused, however long that takes: settled without it, its row would be forgotten."""
        while True:
            try:
                return self._outbox.refuse(entry, reason)
            except KragEvalError as error:  # the disk is full
                with self._changed:
                    if self.problem != describe(error):
                        _LOG.warning("krag_eval: what was refused could not be noted down yet: %s", describe(error))
                    self.problem = describe(error)
                    if self._changed.wait_for(lambda: self._is_stopping, timeout=self._waits.longest):
                        raise _StoppedError from None

    def _settle(self, batch: Sequence[OutboxEntry]) -> None:
        try:
            self._outbox.settle(batch)
        except KragEvalError as error:  # the disk is full: the next start sends these again, which changes nothing
            if self._is_stopping:
                raise _StoppedError from None
            _LOG.warning("krag_eval: what arrived could not be noted down: %s", describe(error))

    def _send(self, part: Sequence[OutboxEntry]) -> dict[str, str] | None:
        """Send scores until the server answers; the refused ones, or None where it does not say which they are."""
        n_doubtful = 0

        def is_worth_it(state: RetryCallState) -> bool:
            nonlocal n_doubtful
            error = state.outcome.exception() if state.outcome is not None else None
            if not isinstance(error, Exception) or isinstance(error, _StoppedError):
                return False
            failure = failure_of(error)
            n_doubtful = n_doubtful + 1 if failure is Failure.DOUBTFUL else 0
            return failure is Failure.TEMPORARY or (failure is Failure.DOUBTFUL and n_doubtful < MOST_DOUBTFUL)

        retrying = Retrying(
            sleep=_no_sleep,
            wait=self._waits,
            retry=is_worth_it,
            before_sleep=self._pause,
            reraise=True,
        )
        return retrying(self._try, part)

    def _try(self, part: Sequence[OutboxEntry]) -> dict[str, str] | None:
        with self._changed:
            if self._is_stopping:
                raise _StoppedError
            self._is_hurried = False
        refusals = post(self._client, [score_from_row(entry.row) for entry in part], _ONE_TRY)
        for refusal in refusals:
            if refusal.status is not None and failure_of_status(refusal.status) in (
                Failure.TEMPORARY,
                Failure.DOUBTFUL,
            ):
                raise _NotYetError(refusal)
        if refusals and len(refusals) >= len(part):
            why = "; ".join(dict.fromkeys(refusal.message for refusal in refusals))
            named = {refusal.score_id: refusal.message for refusal in refusals}
            return {entry.key: named.get(entry.key, why) for entry in part}
        if any(refusal.score_id is None for refusal in refusals):
            return None
        return {str(refusal.score_id): refusal.message for refusal in refusals}

    def _say(self, error: Exception) -> str:
        return describe(error, self._client)

    def _pause(self, state: RetryCallState) -> None:
        """Wait before the next attempt; a pause that the server asked for is kept even if somebody is in a hurry."""
        error = state.outcome.exception() if state.outcome is not None else None
        seconds = state.next_action.sleep if state.next_action is not None else 0.0
        is_asked_for = self._waits.asked_for(state) is not None
        said = self._say(error) if isinstance(error, Exception) else ""
        level = logging.WARNING if state.attempt_number == _TOLD_AT else logging.DEBUG
        _LOG.log(level, "krag_eval: Langfuse does not take scores now, they wait in %s: %s", self._outbox.path, said)
        with self._changed:
            self.problem = said
            self._changed.wait_for(
                lambda: self._is_stopping or (self._is_hurried and not is_asked_for), timeout=seconds
            )
            if self._is_stopping:
                raise _StoppedError


def _no_sleep(seconds: float) -> None:
    """The pause is made by `_pause`, which knows who asked for it."""
