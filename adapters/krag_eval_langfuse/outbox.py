"""Sends what lies in an outbox, oldest first, on a thread of its own, until the server has taken it.

One outbox and its postman for all handlers of this process that name the same file.

Scores by way of a file: written down at once, sent on a thread of its own, forgotten when the server has them.

Sends what an outbox still holds, when the run that filled it is over.

Which failures of a request pass, and how long to wait for that.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shlex
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from pathlib import Path
from typing import Any

from tenacity import RetryCallState, Retrying, wait_random_exponential

from krag_eval import InvalidInputError, KragEvalError, Outbox, OutboxEntry
from krag_eval_langfuse.client import LangfuseDeliveryError, environment_of, load_langfuse, why_disabled
from krag_eval_langfuse.delivery import AT_ONCE, Outcome, Refusal, describe, post
from krag_eval_langfuse.scores import Score, score_from_row

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


OF = "scores for Langfuse"
AT_EXIT_SECONDS = 5.0
_LOCK = threading.RLock()
_OFFICES: dict[Path, PostOffice] = {}


class PostOffice:
    """An outbox that is open, and who uses it; made by `join`.

    Attributes:
        outbox: The outbox; in a copy of the process it takes and gives nothing.
        postman: Who delivers, as soon as there is a client.
    """

    def __init__(self, path: Path, place: Path) -> None:
        self.outbox = Outbox(path, OF)
        self.postman: Postman | None = None
        self._place = place  # what it is found by, wherever the program goes
        self._client: Any = None
        self._n_users = 0

    @staticmethod
    def join(path: str | os.PathLike[str]) -> PostOffice:
        """The office of this file.

        Raises:
            InvalidInputError: The file cannot be written, is in use elsewhere, damaged, or something else.
        """
        with _LOCK:
            place = Path(path).resolve()
            office = _OFFICES.get(place)
            if office is None:
                office = _OFFICES[place] = PostOffice(Path(path), place)
            office._n_users += 1
            return office

    def start(self, client: Any, waits: Waits | None = None) -> Postman:
        """Begin to deliver, with what an earlier process left.

        Raises:
            InvalidInputError: It delivers to another project of Langfuse already.
        """
        with _LOCK:
            if self.postman is None:
                self._client, self.postman = client, Postman(self.outbox, client, waits)
            elif _project(client) != _project(self._client):
                raise InvalidInputError(
                    f"{self.outbox.path}: another handler delivers this outbox with another public key. Scores would "
                    "go to the wrong project. Give each project an outbox of its own."
                )
            return self.postman

    def leave(self) -> None:
        """One user less. After the last one the rest is still delivered, then the file is closed."""
        if self.outbox.is_copy:
            return
        with _LOCK:
            self._n_users -= 1
            if self._n_users:
                return
            if self.postman is None or not self.outbox.n_waiting:
                self._close()
            else:
                self.postman.retire(self._close_if_unused)

    def close(self, timeout: float) -> None:
        """One user less. After the last one nothing more is sent, and the file is closed."""
        if self.outbox.is_copy:
            return
        with _LOCK:
            self._n_users -= 1
            if self._n_users:
                return
            _OFFICES.pop(self._place, None)
        if self.postman is not None:
            self.postman.stop(timeout)
        self.outbox.close()

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        problem = None if self.postman is None else self.postman.problem
        return describe_waiting(self.outbox.path, self.outbox.n_waiting, problem)

    def _close(self) -> None:
        _OFFICES.pop(self._place, None)
        if self.postman is not None:
            self.postman.stop()
        self.outbox.close()

    def _close_if_unused(self) -> bool:
        with _LOCK:
            if not self._n_users:
                self._close()
            return not self._n_users


def describe_waiting(path: Path, waiting: int, problem: str | None) -> str:
    """How many scores wait, why, and what to do."""
    why = f" ({problem})" if problem else ""
    scores = "1 score has" if waiting == 1 else f"{waiting:,} scores have"
    return (
        f"{scores} not reached Langfuse yet{why}. Nothing is lost: the next run with the outbox {path} goes on, or "
        f"this command: krag-eval langfuse-resend {shlex.quote(str(path))}"
    )


def _project(client: Any) -> object:
    return getattr(getattr(client, "_resources", None), "public_key", None)


def _at_exit() -> None:
    """Give what was written last a moment to arrive. The files stay open: live scorers may still have something."""
    end = time.monotonic() + AT_EXIT_SECONDS
    for office in tuple(_OFFICES.values()):
        is_done = office.postman is None or office.postman.wait(max(0.0, end - time.monotonic()))
        if not is_done:
            _LOG.warning("krag_eval: %s", office.describe_waiting())


def _start_anew() -> None:
    """In a copy of the process: the offices, and who is busy there, are those of another, and so may be the lock."""
    global _LOCK
    _LOCK = threading.RLock()
    _OFFICES.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_start_anew)


class OutboxDelivery:
    """Writes scores into an outbox and has them sent from there, until each is accepted or refused.

    Args:
        path: The file of the outbox.

    Raises:
        InvalidInputError: It cannot be written, is in use elsewhere, damaged, or something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._office = PostOffice.join(path)
        self._leave = weakref.finalize(self, _leave, self._office)
        self._leave.atexit = False

    @property
    def waiting(self) -> int:
        """How many scores Langfuse has not answered for."""
        return self._office.outbox.n_waiting

    def start(self, client: Any) -> None:
        """Send what an earlier process left."""
        if not self._office.outbox.is_copy:
            self._office.start(client)

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Write these scores down."""
        environment, problems, n_failed = environment_of(client) or "default", list[str](), 0
        for score in scores:
            try:
                self._office.outbox.put(score.id, replace(score, environment=environment).to_row())
            except Exception as error:  # noqa: BLE001 - the application goes on, and the failure is counted
                n_failed += 1
                problems.append(describe(error, client))
        if not self._office.outbox.is_copy:
            self._office.start(client).wake()
        return Outcome(failed=n_failed, problems=tuple(dict.fromkeys(problems)))

    def finish(self, client: Any) -> Outcome:  # noqa: ARG002 - nobody waits for the server here
        """What is known by now."""
        return self.news()

    def news(self) -> Outcome:
        """What has become known since this was asked last."""
        if self._office.postman is None or self._office.outbox.is_copy:
            return Outcome()
        return self._office.postman.news()

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until Langfuse has answered for all; whether it has. What waits goes on waiting."""
        if self._office.outbox.is_copy:  # what waits there is sent by the process that opened it
            return True
        is_done = self._office.start(client).wait(timeout)
        if not is_done:
            _LOG.warning("krag_eval: %s", self.describe_waiting())
        return is_done

    def close(self, timeout: float | None) -> bool:
        """Wait as `flush` does, then let go of the file; whether nothing waits in it."""
        if self._office.outbox.is_copy:
            return True
        end = None if timeout is None else time.monotonic() + timeout
        if self._office.postman is not None:
            self._office.postman.wait(timeout)
        if self._leave.detach():
            self._office.close(1.0 if end is None else max(0.1, end - time.monotonic()))
        return not self.waiting

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        return self._office.describe_waiting()


def _leave(office: PostOffice) -> None:
    """On a thread of its own: what collects garbage may hold any of the locks that are needed."""
    threading.Thread(target=office.leave, name="krag-eval-langfuse-leave", daemon=True).start()


@dataclass(frozen=True, slots=True)
class Resent:
    """What became of the scores in an outbox.

    Attributes:
        path: The outbox.
        sent: How many Langfuse accepted now.
        waiting: How many it has not answered for; they stay in the outbox.
        rejected: Those that it did not accept, with its reasons; they stay in the outbox, too.
        problem: What went wrong last, where some wait.
    """

    path: Path
    sent: int
    waiting: int
    rejected: tuple[tuple[Score, str], ...]
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the outbox is empty now."""
        return not self.waiting and not self.rejected

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        return describe_waiting(self.path, self.waiting, self.problem)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        rejected = [score.to_row() | {"reason": reason} for score, reason in self.rejected]
        return {
            "outbox": str(self.path),
            "sent": self.sent,
            "waiting": self.waiting,
            "problem": self.problem,
            "rejected": rejected,
        }


def resend_outbox(path: str | os.PathLike[str], client: Any = None, *, timeout: float = 60.0) -> Resent:
    """Send what is still in an outbox, and once more what Langfuse rejected: the key may be another one now.

    Scores keep their ids and times, so that one that had arrived is overwritten, not doubled.

    Args:
        path: The outbox.
        client: A Langfuse client; None takes that of the environment (`LANGFUSE_PUBLIC_KEY` and so on), whatever other
            clients there are, and without a key there `langfuse.get_client()`.
        timeout: Give up when nothing was answered for so many seconds.

    Raises:
        InvalidInputError: There is no such file, or it is in use, damaged, or no outbox of scores.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client sends nothing, for example because there are no keys.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file. Give the outbox that a run was given as `outbox`.")
    outbox = Outbox(path, OF)
    postman: Postman | None = None
    try:
        if not outbox.n_waiting and not outbox.n_refused:
            return Resent(Path(path), 0, 0, ())
        if client is None:
            langfuse = load_langfuse("resend_outbox")
            client = langfuse.Langfuse() if os.environ.get("LANGFUSE_PUBLIC_KEY") else langfuse.get_client()
        disabled = why_disabled(client)
        if disabled is not None:
            n_left = outbox.n_waiting + outbox.n_refused
            raise LangfuseDeliveryError(
                f"The Langfuse client sends nothing: {disabled}. {n_left:,} scores stay in {path}. Set the "
                "environment variables of the project and send them again.",
                (disabled,),
            )
        outbox.retry_refused()
        postman = Postman(outbox, client)
        postman.wait(timeout, since_last=True)
        postman.stop(1.0)
        rejected = tuple((score_from_row(entry.row), reason) for entry, reason in outbox.refused())
        return Resent(Path(path), postman.news().sent, outbox.n_waiting, rejected, postman.problem)
    finally:
        if postman is not None:
            postman.stop()
        outbox.close()


# What Langfuse and what stands before it answer while they are busy, restarted or out of reach.
TEMPORARY = frozenset({408, 425, 429, 502, 503, 504})
# What is about the keys, the address or the plan, and not about any score.
_SHUT_OUT = frozenset({401, 402, 403, 404, 405, 407})
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0
LONGEST_RETRY_AFTER = 900.0
MOST_DOUBTFUL = 6


class Failure(Enum):
    """What a failed request means for the scores in it."""

    TEMPORARY = "the server cannot be reached or is busy: it will pass"
    DOUBTFUL = (
        "an error inside the server, or an answer that nobody understands: perhaps one of the scores is the cause"
    )
    REFUSED = "the server does not want a score in it"
    SHUT_OUT = "the server does not want anything from this client"


def failure_of(error: Exception) -> Failure:
    """What an exception of the client means."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return failure_of_status(status)
    httpx = importlib.import_module("httpx")  # langfuse speaks through it, and it costs time to import
    return Failure.TEMPORARY if isinstance(error, (httpx.TransportError, OSError)) else Failure.DOUBTFUL


def failure_of_status(status: int) -> Failure:
    """What a status that is no success means.

    >>> [failure_of_status(status).name for status in (503, 500, 400, 401)]
    ['TEMPORARY', 'DOUBTFUL', 'REFUSED', 'SHUT_OUT']
    """
    if status in TEMPORARY:
        return Failure.TEMPORARY
    if not 400 <= status < 500:
        return Failure.DOUBTFUL
    return Failure.SHUT_OUT if status in _SHUT_OUT else Failure.REFUSED


def retry_after(error: Exception, now: datetime) -> float | None:
    """The seconds that the server asks to wait, at most 15 minutes; None where it does not, or not readably."""
    headers = getattr(error, "headers", None) or {}
    given = next((str(value) for name, value in headers.items() if str(name).lower() == "retry-after"), "").strip()
    if given.isascii() and given.isdigit():
        seconds = float(given)
    else:
        try:
            at = parsedate_to_datetime(given)
            seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)


class Waits:
    """How long to wait before the next attempt: what the server asked for, or ever longer, and never all at once.

    Args:
        first: The longest first wait in seconds; doubled before each further attempt.
        longest: The longest wait that the server did not ask for.
        now: The time of day, which dates in `Retry-After` are compared with.

    Attributes:
        longest: The longest wait that the server did not ask for.
    """

    def __init__(
        self,
        first: float = FIRST_WAIT,
        longest: float = LONGEST_WAIT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._now, self.longest = now, longest
        self._backoff = wait_random_exponential(multiplier=first, max=longest, min=first / 10)
        self._jitter = wait_random_exponential(multiplier=first, max=first)

    def __call__(self, state: RetryCallState) -> float:
        """Seconds."""
        asked = self.asked_for(state)
        return self._backoff(state) if asked is None else asked + self._jitter(state)

    def asked_for(self, state: RetryCallState) -> float | None:
        """The seconds that the server asked for, if it did."""
        error: Any = None if state.outcome is None else state.outcome.exception()
        return None if error is None else retry_after(error, self._now())
