"""Send scores to Langfuse: through the client's queue, or in requests whose answer is checked."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval import KragEvalError
from krag_eval.toolkit import start_thread, this_process
from krag_eval_langfuse.client import (
    LangfuseRequestError,
    address_of,
    environment_of,
    environment_to_send,
    is_orphaned,
    load_langfuse,
    queue_is_full,
    wait_until_sent,
    why_disabled,
    without_keys,
)
from krag_eval_langfuse.scores import Score

_LOG = logging.getLogger("krag_eval.langfuse")
AT_ONCE = 100
_FULL = "the queue of the Langfuse client is full; use delivery='sync' for large evaluations"
GIVE_UP_AFTER = 3
LONGEST_TOLD = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of sending scores.

    Attributes:
        sent: Number of scores handed over to the client's queue or accepted by the server.
        failed: Number of scores that could not be sent or were rejected.
        problems: The reasons, one line per request.
    """

    sent: int = 0
    failed: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.sent + other.sent, self.failed + other.failed, self.problems + other.problems)


class Delivery(ABC):
    """A way to deliver scores. What is defined here suits one that stores nothing."""

    @property
    def waiting(self) -> int:
        """Return how many scores are neither sent nor failed."""
        return 0

    def start(self, client: Any) -> None:  # noqa: B027 - nothing is left where nothing is stored
        """Start sending the scores that an earlier process left, now that a working client is known."""

    @abstractmethod
    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Accept these scores. Return the results known so far, including those of earlier scores."""

    def finish(self, client: Any) -> Outcome:  # noqa: ARG002 - for those who send batches
        """Flush now, without waiting for a full batch. Return the results known so far."""
        return self.news()

    def news(self) -> Outcome:
        """Return the results that became known since the last call."""
        return Outcome()

    @abstractmethod
    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until everything is sent. Return whether that took at most `timeout` seconds."""

    def close(self, timeout: float | None) -> bool:  # noqa: ARG002 - for those who have a file
        """Flush what can still be flushed and close the files. Return whether no score is waiting."""
        return True

    def describe_waiting(self) -> str:
        """Describe how many scores are waiting and what to do about it."""
        return "No score is waiting."


class QueueDelivery(Delivery):
    """Hand scores to the client, which sends them on its own thread and does not report whether they arrived."""

    def __init__(self) -> None:
        self._flushing: threading.Thread | None = None
        self._n_open = 0  # scores that no flush has confirmed
        self._direct = SyncDelivery()
        self._lock = threading.Lock()
        this_process.renew_when_forked(self)

    def start_anew(self) -> None:
        """Reset the lock in a forked process: the thread that held it does not exist here."""
        self._flushing, self._n_open, self._lock = None, 0, threading.Lock()

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Hand over these scores."""
        if is_orphaned(client):  # nobody would take them out of the queue
            outcome = self._direct.send(client, scores)
            is_exiting = this_process.seconds_exiting() is not None  # then a flush follows
            return outcome if is_exiting else outcome + self._direct.finish(client)
        outcome = Outcome()
        self._n_open += len(scores)
        for place, score in enumerate(scores):
            if queue_is_full(client):
                return outcome + Outcome(failed=len(scores) - place, problems=(_FULL,))
            try:
                client.create_score(
                    name=score.name,
                    value=score.value,
                    score_id=score.id,
                    data_type=score.data_type,
                    config_id=score.config_id,
                    timestamp=score.timestamp,
                    metadata=dict(score.metadata),
                    **score.target.to_dict(),
                    **environment_to_send(client, score.environment),
                )
                outcome += Outcome(sent=1)
            except Exception as error:  # noqa: BLE001 - the application must continue, so count the failure
                outcome += Outcome(failed=1, problems=(describe(error, client),))
        return outcome

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Flush the client on a separate thread, because its own `flush` has no timeout."""
        n_open = self._n_open
        if is_orphaned(client):
            failed = self._direct.finish(client).failed
            if failed:
                _LOG.warning("krag_eval: the process ends, and %d scores have not reached Langfuse", failed)
            return not failed
        if self._flush(client, None if timeout is None else time.monotonic() + timeout):
            self._n_open -= n_open
            return True
        if n_open and this_process.seconds_exiting() is not None:
            _LOG.warning("krag_eval: the process ends, and up to %d scores have not reached Langfuse", n_open)
        return False

    def _flush(self, client: Any, end: float | None) -> bool:
        earlier = self._flushing
        if earlier is not None and not _joined(earlier, end):
            return False
        with self._lock:
            done: list[bool] = []
            try:
                thread = start_thread(lambda: _flush(client, done), "krag-eval-langfuse-flush")
            except RuntimeError:  # Python 3.12 starts no thread while it exits
                return wait_until_sent(client, end)
            self._flushing = thread
        return _joined(thread, end) and bool(done)


class SyncDelivery(Delivery):
    """Send scores in batches and check the answer of the server.

    After three failed requests in a row, all further scores fail without a request until `finish`. Otherwise a server
    that does not answer would delay an evaluation for hours.
    """

    def __init__(self) -> None:
        self._waiting: list[Score] = []
        self._failed_in_a_row = 0
        self._lock = threading.Lock()
        this_process.renew_when_forked(self)

    def start_anew(self) -> None:
        """Reset the state in a forked process: the parent holds the lock and sends the waiting scores."""
        self._waiting, self._lock = [], threading.Lock()

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Accept these scores and send all full batches."""
        with self._lock:
            self._waiting.extend(scores)
            outcome = Outcome()
            while len(self._waiting) >= AT_ONCE:
                outcome += self._post(client)
            return outcome

    def finish(self, client: Any) -> Outcome:
        """Send the remaining scores."""
        with self._lock:
            outcome = Outcome()
            while self._waiting:
                outcome += self._post(client)
            self._failed_in_a_row = 0
            return outcome

    def flush(self, client: Any, timeout: float | None) -> bool:  # noqa: ARG002 - nothing is in flight
        """Return whether no score is waiting."""
        return not self._waiting

    def _post(self, client: Any) -> Outcome:
        batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            problem = f"{len(batch)} scores not tried, because {GIVE_UP_AFTER} requests in a row failed"
            return Outcome(failed=len(batch), problems=(problem,))
        try:
            refusals = post(client, batch)
        except Exception as error:  # noqa: BLE001 - any exception of the client is a failed request
            self._failed_in_a_row += 1
            return Outcome(failed=len(batch), problems=(describe(error, client),))
        self._failed_in_a_row = 0
        problems = tuple(f"rejected: {refusal.message}" for refusal in refusals)
        return Outcome(len(batch) - len(refusals), len(refusals), problems)


def _flush(client: Any, done: list[bool]) -> None:
    try:
        client.flush()
        done.append(True)
    except Exception as error:  # noqa: BLE001 - nothing would catch it on this thread
        _LOG.warning("krag_eval: the Langfuse client cannot flush: %s", describe(error, client))


def _joined(thread: threading.Thread, end: float | None) -> bool:
    thread.join(None if end is None else max(0.0, end - time.monotonic()))
    return not thread.is_alive()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A score that the server rejected in a request that it accepted.

    Attributes:
        message: The reason.
        score_id: The id of the score, if the server names it. langfuse 5 only counts rejected scores.
        status: The HTTP status of this score, if the server gives one.
    """

    message: str
    score_id: str | None = None
    status: int | None = None


class UnknownAnswerError(Exception):
    """The answer does not come from a score endpoint; it may be the page of a proxy."""


def post(client: Any, scores: Sequence[Score], options: Mapping[str, Any] | None = None) -> list[Refusal]:
    """Send scores in one request through the API that this version of langfuse offers.

    Args:
        client: The Langfuse client.
        scores: The scores to send.
        options: The `request_options` of the client, such as `max_retries`.

    Returns:
        The rejected scores.

    Raises:
        Exception: The whole request failed. The exception of the client is passed on.
    """
    types = load_langfuse("krag_eval_langfuse", "langfuse.api")
    ingestion = getattr(client.api, "ingestion", None)
    if ingestion is None:
        answer = client.api.scores.create(
            request=[types.CreateScoreRequest(**_fields(score, client), timestamp=score.timestamp) for score in scores],
            request_options=options,
        )
        rejected = _count_rejected(answer, len(scores))
        refusals = [Refusal(_message(client, error)) for error in getattr(answer, "errors", ())[:rejected]]
        missing = rejected - len(refusals)
        return refusals + [Refusal(f"{rejected} of {len(scores)} scores rejected")] * missing
    events = {str(uuid.uuid4()): score for score in scores}  # ids of the events, not of the scores
    answer = ingestion.batch(  # langfuse 4: its score endpoint accepts neither lists nor timestamps
        batch=[
            types.IngestionEvent_ScoreCreate(
                id=event_id, timestamp=score.timestamp.isoformat(), body=types.ScoreBody(**_fields(score, client))
            )
            for event_id, score in events.items()
        ],
        request_options=options,
    )
    if {told.id for told in (*answer.successes, *answer.errors)} != set(events):
        raise UnknownAnswerError(f"the answer does not contain a result for each score: {answer!r:.500}")
    return [
        Refusal(_message(client, error), events[error.id].id if error.id in events else None, error.status)
        for error in answer.errors
    ]


def _count_rejected(answer: Any, n_scores: int) -> int:
    """Return how many scores were rejected. langfuse parses any JSON object as success, whichever server sent it.

    Raises:
        UnknownAnswerError: It is not the answer of a score endpoint.
    """
    accepted, rejected = getattr(answer, "accepted", None), getattr(answer, "rejected", None)
    if isinstance(accepted, int) and isinstance(rejected, int) and accepted + rejected == n_scores:
        return rejected
    if "message" in getattr(answer, "model_fields_set", ()):
        return 0
    raise UnknownAnswerError(f"the answer does not contain the results of the scores: {answer!r:.500}")


def describe(error: Exception, client: Any = None) -> str:
    """Describe an error in one line without keys; for a server's answer, the status and the start of the body."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"HTTP {status}: {_told(client, getattr(error, 'body', ''))}"
    return f"{type(error).__name__}: {_told(client, error)}"


@contextlib.contextmanager
def requests_of(needed_by: str, client: Any) -> Iterator[None]:
    """Raise what the client raises in this block as an error that says what failed, where, and what to do.

    Raises:
        LangfuseRequestError: A request failed.
    """
    try:
        yield
    except KragEvalError:
        raise
    except Exception as error:
        status = getattr(error, "status_code", None)
        if getattr(client, "api", None) is None:
            cure = f"The client is disabled: {why_disabled(client)}. Pass an enabled client."
        elif status in (401, 403):
            cure = "Check that LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are keys of a project on this server."
        elif status in (404, 405):
            cure = "Check LANGFUSE_BASE_URL, and whether the server is recent enough for this version of langfuse."
        elif isinstance(status, int) and 400 <= status < 500 and status != 429:
            cure = "Check the arguments."
        else:
            cure = "Check whether the server is up and try again; Langfuse(timeout=30) gives it more time."
        where = f" at {address}" if (address := address_of(client)) else ""
        raise LangfuseRequestError(
            f"`{needed_by}` could not be completed: a request to Langfuse{where} failed "
            f"({describe(error, client)}). {cure}"
        ) from error


def _told(client: Any, what: object) -> str:
    # Redact before truncating: half a key must not be shown either.
    try:
        text = f"{what!s:.{20 * LONGEST_TOLD}}"
    except Exception:  # noqa: BLE001 - the error may fail to print; its type is still shown
        return ""
    return without_keys(client, " ".join(text.split()))[:LONGEST_TOLD]


def _fields(score: Score, client: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"id": score.id, "name": score.name, "value": score.value, "data_type": score.data_type}
    given |= score.target.to_dict() | {"metadata": dict(score.metadata)}
    if score.config_id is not None:
        given["config_id"] = score.config_id
    environment = score.environment or environment_of(client)
    return given if environment is None else given | {"environment": environment}


def _message(client: Any, error: Any) -> str:
    return _told(client, getattr(error, "message", None) or error)
