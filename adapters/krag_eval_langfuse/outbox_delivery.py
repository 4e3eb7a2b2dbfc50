"""Send the scores of an outbox on a thread, until Langfuse accepts or rejects each one."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import random
import shlex
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, KragEvalError
from krag_eval.toolkit import backoff, start_thread, status_and_wait, this_process
from krag_eval_langfuse.client import environment_of, project_of, time_limit_of
from krag_eval_langfuse.delivery import Delivery, Outcome, Refusal, describe, post
from krag_eval_langfuse.score_file import WHOLE_TRIES, DamagedError, Row, ScoreFile
from krag_eval_langfuse.scores import Score

_LOG = logging.getLogger("krag_eval.langfuse")
AT_EXIT_SECONDS = 5.0
POLL_SECONDS = 0.5
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0
LONGEST_RETRY_AFTER = 900.0
LONGEST_REQUEST = 120.0
# A score that makes the server fail is tried this often, or for this long if the server accepts no other score.
MOST_TRIES = 6
PATIENCE = 900.0
_LONG_OUTAGE = 20  # after so many failures in a row no score is blamed
_TOLD_AT = 3  # warn once per outage, not at every hiccup
_MOST_PROBLEMS = 20
# Langfuse or a proxy in front of it is busy, restarting or unreachable.
_TEMPORARY = frozenset({408, 425, 429, 502, 503, 504})
# The keys, the address or the plan is wrong, not a score.
_SHUT_OUT = frozenset({401, 402, 403, 404, 405, 407})


class Failure(Enum):
    """The kinds of failed requests, by what they mean for the scores in them."""

    TEMPORARY = "the server is unreachable or busy: trying again later will help"
    SLOW = "no answer came in time: a longer time limit may help"
    DOUBTFUL = "an error inside the server, or an unknown answer: perhaps one score is the cause"
    REFUSED = "the server rejects a score in the request"
    SHUT_OUT = "the server rejects everything from this client"


def failure_of(error: Exception) -> Failure:
    """Classify an exception of the client."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return failure_of_status(status)
    httpx = importlib.import_module("httpx")  # langfuse sends its requests with httpx; importing it is slow
    if isinstance(error, (httpx.ReadTimeout, httpx.WriteTimeout)):
        return Failure.SLOW
    return Failure.TEMPORARY if isinstance(error, (httpx.TransportError, OSError)) else Failure.DOUBTFUL


def failure_of_status(status: int) -> Failure:
    """Classify an HTTP status that is not a success.

    >>> [failure_of_status(status).name for status in (503, 500, 400, 401)]
    ['TEMPORARY', 'DOUBTFUL', 'REFUSED', 'SHUT_OUT']
    """
    if status in _TEMPORARY:
        return Failure.TEMPORARY
    if not 400 <= status < 500:
        return Failure.DOUBTFUL
    return Failure.SHUT_OUT if status in _SHUT_OUT else Failure.REFUSED


class _StoppedError(Exception):
    pass


class Outbox(Delivery):
    """Store scores in a file and send them on a separate thread until each is accepted or rejected.

    All handlers of this process with the same file share one outbox, made by `open_outbox`. Only one process sends at
    a time.

    Args:
        path: The path of the file.

    Attributes:
        file: The file.
        problem: The latest problem, if nothing has arrived since.

    Raises:
        InvalidInputError: The file cannot be written, is damaged, or is not an outbox.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = ScoreFile(path)
        self._client: Any = None
        self.start_anew()
        this_process.renew_when_forked(self)

    def start_anew(self) -> None:
        """Set the initial state, also in a forked process, which must not keep that of its parent."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._news = Outcome()
        self.problem: str | None = None
        self._is_hurried = False
        self._n_failures = self._n_slow = 0
        self._accepted_at = 0.0

    @property
    def waiting(self) -> int:
        """Return how many scores Langfuse has not yet accepted or rejected."""
        return self.file.n_waiting()

    @property
    def is_sending(self) -> bool:
        """Return whether this process is sending, or waiting for another process that is."""
        return self._thread is not None

    def start(self, client: Any) -> None:
        """Start sending all waiting scores, including those of an earlier process.

        Raises:
            InvalidInputError: This outbox already sends to another Langfuse project.
        """
        with self._changed:
            if self._client is not None and project_of(client) != project_of(self._client):
                raise InvalidInputError(
                    f"{self.file.path}: another handler sends this outbox with another public key. Scores would go to "
                    "the wrong project. Use a separate outbox for each project."
                )
            self._client = self._client or client
            if self._thread is None and self.waiting:
                with contextlib.suppress(RuntimeError):  # the interpreter is shutting down: the next process sends
                    self._thread = start_thread(self._work, "krag-eval-langfuse-outbox")

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Store these scores and start sending."""
        environment = environment_of(client) or "default"
        try:
            self.file.put(replace(score, environment=score.environment or environment) for score in scores)
        except Exception as error:  # noqa: BLE001 - the application must continue, so count the failure
            return Outcome(failed=len(scores), problems=(describe(error, client),))
        self.start(client)
        return Outcome()

    def news(self) -> Outcome:
        """Return the results that became known since the last call."""
        with self._changed:
            news, self._news = self._news, Outcome()
            return news

    def wait(self, timeout: float | None, *, since_last: bool = False) -> bool:
        """Wait until Langfuse has accepted or rejected all scores now in the file. Return whether it has.

        Args:
            timeout: The longest time to wait, in seconds.
            since_last: Restart the timeout after every answer.
        """
        last, end = self.file.last(), None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._is_hurried = True  # do not wait for the end of a backoff pause
            self._changed.notify_all()
            left = self.file.n_waiting(last)
            while left and self._thread is not None and (end is None or time.monotonic() < end):
                self._changed.wait(None if end is None else max(0.0, end - time.monotonic()))
                before, left = left, self.file.n_waiting(last)
                if since_last and timeout is not None and left < before:
                    end = time.monotonic() + timeout
            return not left

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until all scores are accepted or rejected. Return whether they are. The others stay in the outbox."""
        self.start(client)
        is_done = self.wait(timeout) and not self.file.n_lost
        if not is_done:
            _LOG.warning("krag_eval: %s", self.describe_waiting())
        return is_done

    def close(self, timeout: float | None) -> bool:
        """Wait as `flush` does, then stop sending and close the file. Return whether no score is waiting.

        Another handler that shares this outbox starts it again when it sends.
        """
        end = None if timeout is None else time.monotonic() + timeout
        self.wait(timeout)
        with self._changed:
            thread, self._thread, self._client = self._thread, None, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(1.0 if end is None else max(0.1, end - time.monotonic()))
        is_done = not self.waiting and not self.file.n_lost
        self.file.close()
        return is_done

    def describe_waiting(self) -> str:
        """Describe how many scores are waiting, why, and what to do."""
        waiting = self.waiting
        if self.file.fault:
            why = f" ({self.problem})" if self.problem else ""
            return f"{waiting:,} scores have not reached Langfuse{why}. {self.file.describe_fault()}"
        return describe_waiting(self.file.path, waiting, self.problem)

    def _work(self) -> None:
        try:
            while self._has_more():
                if self.file.claim():
                    self._deliver(self.file.take())
                else:
                    self._pause(POLL_SECONDS)  # another process sends
        except _StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - nothing would catch it on this thread
            _LOG.warning("krag_eval: sending from the outbox %s has stopped: %s", self.file.path, describe(error))
            with self._changed:
                if self._thread is threading.current_thread():
                    self.problem, self._thread = describe(error), None
                    self.file.release()
                self._changed.notify_all()

    def _has_more(self) -> bool:
        with self._changed:
            self._go_on()
            has_more = self.waiting > 0
            if not has_more:
                self._thread = None
                self.file.release()
            self._changed.notify_all()
            return has_more

    def _go_on(self) -> None:
        if self._thread is not threading.current_thread():
            raise _StoppedError

    def _deliver(self, rows: Sequence[Row]) -> None:
        """Send one request and record the result of each of its scores."""
        client, self._is_hurried = self._client, False
        if not rows or client is None:  # another process was faster, or the outbox was just closed
            return
        limit, doublings = time_limit_of(client), max(rows[0].tries, self._n_slow)
        options: dict[str, Any] = {"max_retries": 0}
        if doublings:
            options["timeout_in_seconds"] = max(limit, min(LONGEST_REQUEST, limit * 2.0 ** min(doublings, 30)))
        scores, began = [row.score(self.file.path) for row in rows], time.monotonic()
        try:
            refusals = post(client, scores, options)
        except Exception as error:  # noqa: BLE001 - any exception of the client is a failed request
            self._has_failed(rows, error, describe(error, client))
            return
        if time.monotonic() - began < limit:
            self._n_slow = 0
        is_anonymous = any(refusal.score_id is None for refusal in refusals)  # langfuse 5 only counts rejected scores
        if is_anonymous and len(refusals) < len(rows):
            self._server_works()
            self._note(lambda: self.file.postpone(rows, WHOLE_TRIES))
        elif is_anonymous:
            self._doubt(rows, f"rejected: {refusals[0].message}")
        else:
            self._sort({str(refusal.score_id): refusal for refusal in refusals}, rows)

    def _sort(self, refusals: Mapping[str, Refusal], rows: Sequence[Row]) -> None:
        accepted = [row for row in rows if row.key not in refusals]
        if accepted:
            self._note(lambda: self.file.settle(accepted), lambda n: Outcome(sent=n))
            self._server_works()
        doubtful = list[Row]()
        for row in rows:
            refusal = refusals.get(row.key)
            if refusal is None:
                continue
            failure = Failure.REFUSED if refusal.status is None else failure_of_status(refusal.status)
            if failure in (Failure.TEMPORARY, Failure.DOUBTFUL):
                doubtful.append(row)
            else:
                self._refuse([row], refusal.message)
        if doubtful:
            self._doubt(doubtful, refusals[doubtful[0].key].message)

    def _has_failed(self, rows: Sequence[Row], error: Exception, said: str) -> None:
        self._go_on()
        failure, (_, asked) = failure_of(error), status_and_wait(error)
        if failure is Failure.SHUT_OUT or (failure is Failure.REFUSED and len(rows) == 1):
            self._refuse(rows, said)
        elif failure is Failure.REFUSED:
            self._note(lambda: self.file.postpone(rows, WHOLE_TRIES))
        elif failure is Failure.DOUBTFUL:
            self._doubt(rows, said, asked)
        else:
            if failure is Failure.SLOW:
                self._n_slow += 1
                self._note(lambda: self.file.postpone(rows))
            self._wait_for_server(said, asked)

    def _doubt(self, rows: Sequence[Row], said: str, asked: float | None = None) -> None:
        """Retry what may be a fault of the server. Blame a score only if the server has accepted others meanwhile."""
        since = time.time() if rows[0].since is None else rows[0].since
        is_blamed = self._accepted_at > since or time.time() - since > PATIENCE
        if is_blamed and len(rows) > 1:
            self._note(lambda: self.file.postpone(rows, WHOLE_TRIES))
        elif is_blamed and rows[0].tries + 1 >= MOST_TRIES:
            self._refuse(rows, said)
        else:
            self._note(lambda: self.file.postpone(rows))
            self._wait_for_server(said, asked)

    def _server_works(self) -> None:
        """Record that the server accepts scores. After a long outage, no score is blamed for earlier failures."""
        if self._n_failures >= _LONG_OUTAGE:
            self._note(self.file.forgive)
        self._n_failures, self._accepted_at = 0, time.time()

    def _refuse(self, rows: Sequence[Row], reason: str) -> None:
        why = reason.removeprefix("rejected: ")
        self._note(lambda: self.file.set_aside(rows, why), lambda n: Outcome(failed=n, problems=(f"rejected: {why}",)))

    def _note(self, change: Callable[[], int | None], news: Callable[[int], Outcome] | None = None) -> None:
        """Record a result, retrying as long as it takes: otherwise scores would be lost or sent again."""
        while True:
            try:
                with self._changed:
                    self._go_on()
                    n = change() or 0
                    if news is not None:
                        outcome = self._news + news(n)
                        known = tuple(dict.fromkeys(outcome.problems))[:_MOST_PROBLEMS]
                        self._news, self.problem = replace(outcome, problems=known), None
                    self._changed.notify_all()
                    return
            except DamagedError:
                raise
            except KragEvalError as error:  # the disk is full
                said = describe(error)
            if self.problem != said:
                _LOG.warning("krag_eval: the results of sent scores cannot be recorded yet: %s", said)
            self.problem = said
            self._pause(LONGEST_WAIT)

    def _wait_for_server(self, said: str, asked: float | None) -> None:
        self._n_failures += 1
        level = logging.WARNING if self._n_failures == _TOLD_AT else logging.DEBUG
        _LOG.log(level, "krag_eval: Langfuse does not accept scores now. They wait in %s: %s", self.file.path, said)
        self.problem = said
        if asked is None:
            self._pause(backoff(self._n_failures, FIRST_WAIT, LONGEST_WAIT), may_hurry=True)
        else:
            self._pause(min(asked, LONGEST_RETRY_AFTER) + random.uniform(0.0, FIRST_WAIT))

    def _pause(self, seconds: float, *, may_hurry: bool = False) -> None:
        """Wait. With `may_hurry`, `wait` ends the pause early. A pause that the server asked for is kept."""
        me = threading.current_thread()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._thread is not me or (may_hurry and self._is_hurried), timeout=seconds)
            self._go_on()


def open_outbox(path: str | os.PathLike[str]) -> Outbox:
    """Return the outbox of this file. All callers in this process share it.

    Raises:
        InvalidInputError: The file cannot be written, is damaged, or is not an outbox.
    """
    with _LOCK:
        outbox = None
        with contextlib.suppress(OSError, ValueError):  # opening it reports the error
            outbox = _OPEN.get(Path(path).resolve())
        if outbox is None:
            outbox = Outbox(path)
            _OPEN[outbox.file.place] = outbox
        return outbox


def describe_waiting(path: Path, waiting: int, problem: str | None) -> str:
    """Describe how many scores are waiting, why, and what to do."""
    why = f" ({problem})" if problem else ""
    scores = "1 score has" if waiting == 1 else f"{waiting:,} scores have"
    return (
        f"{scores} not reached Langfuse yet{why}. Nothing is lost: the next run with the outbox {path} resumes "
        f"sending. To send now, run: krag-eval langfuse-resend {shlex.quote(str(path))}"
    )


_LOCK = threading.RLock()
_OPEN: weakref.WeakValueDictionary[Path, Outbox] = weakref.WeakValueDictionary()


def _at_exit() -> None:
    """Give the last scores a moment to arrive. If a live scorer still writes, that opens the file again."""
    end = time.monotonic() + AT_EXIT_SECONDS - (this_process.seconds_exiting() or 0.0)
    for outbox in tuple(_OPEN.values()):
        if outbox.is_sending and not outbox.wait(max(0.0, end - time.monotonic())):
            _LOG.warning("krag_eval: %s", outbox.describe_waiting())
        outbox.file.close()


this_process.at_exit("send", _at_exit)
this_process.at_fork(before=_LOCK.acquire, in_parent=_LOCK.release, in_child=_LOCK.release)
