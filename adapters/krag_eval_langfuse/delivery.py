"""How scores leave: through the client's queue, or in requests with an answer for each."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from krag_eval_langfuse.client import environment_of, load_langfuse, queue_is_full, renew_when_forked, without_keys
from krag_eval_langfuse.scores import Score

_LOG = logging.getLogger("krag_eval.langfuse")
AT_ONCE = 100
_FULL = "the queue of the Langfuse client is full; delivery='sync' sends large evaluations without it"
GIVE_UP_AFTER = 3
LONGEST_TOLD = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of scores.

    Attributes:
        sent: Those handed over to the client's queue, or accepted by the server.
        failed: Those that were not.
        problems: Why, one line a request.
    """

    sent: int = 0
    failed: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.sent + other.sent, self.failed + other.failed, self.problems + other.problems)


class Delivery(Protocol):
    """A way for scores to leave."""

    @property
    def waiting(self) -> int:
        """How many scores have neither left nor failed."""

    def start(self, client: Any) -> None:
        """There is a client that sends: go on with what an earlier process left."""

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Take these scores; what is known by now about them and earlier ones."""

    def finish(self, client: Any) -> Outcome:
        """Nothing may wait for company any longer; what is known by now."""

    def news(self) -> Outcome:
        """What has become known since the last answer."""

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until everything has left; whether that was so within `timeout` seconds."""

    def close(self, timeout: float | None) -> bool:
        """Flush what can still be flushed and let go of files; whether nothing waits."""

    def describe_waiting(self) -> str:
        """How many scores wait, and what to do about it."""


class _WithoutFile:
    """What there is to say of ways that keep nothing."""

    waiting = 0

    def start(self, client: Any) -> None:
        """Nothing was left by an earlier process."""

    def news(self) -> Outcome:
        """All is known at once."""
        return Outcome()

    def close(self, timeout: float | None) -> bool:  # noqa: ARG002 - as above
        """There is no file."""
        return True

    def describe_waiting(self) -> str:
        """Nothing waits."""
        return "No score waits."


class QueueDelivery(_WithoutFile):
    """Hands scores to the client, which sends them on a thread of its own and tells nobody what became of them."""

    def __init__(self) -> None:
        self._flushing: threading.Thread | None = None
        self._lock = threading.Lock()
        renew_when_forked(self)

    def renew(self) -> None:
        """This is a copy of the process: whoever held the lock is not here."""
        self._flushing, self._lock = None, threading.Lock()

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Hand over these scores."""
        outcome = Outcome()
        for place, score in enumerate(scores):
            if queue_is_full(client):
                return outcome + Outcome(failed=len(scores) - place, problems=(_FULL,))
            try:
                client.create_score(
                    name=score.name,
                    value=score.value,
                    score_id=score.id,
                    data_type="NUMERIC",
                    timestamp=score.timestamp,
                    metadata=dict(score.metadata),
                    **score.target.to_dict(),
                )
                outcome += Outcome(sent=1)
            except Exception as error:  # noqa: BLE001 - the application goes on, and the failure is counted
                outcome += Outcome(failed=1, problems=(describe(error, client),))
        return outcome

    def finish(self, client: Any) -> Outcome:  # noqa: ARG002 - nothing waits here
        """Nothing waits here."""
        return Outcome()

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Let the client send what it holds. Its own `flush` has no timeout, hence the thread."""
        end = None if timeout is None else time.monotonic() + timeout
        earlier = self._flushing
        if earlier is not None and not _joined(earlier, end):
            return False
        with self._lock:
            done: list[bool] = []
            thread = threading.Thread(target=_flush, args=(client, done), name="krag-eval-langfuse-flush", daemon=True)
            self._flushing = thread
            thread.start()
        return _joined(thread, end) and bool(done)


class SyncDelivery(_WithoutFile):
    """Sends scores at once, some at a time, and knows what the server said.

    After three requests in a row that failed, the rest of the scores is given up until `finish`: a server that does
    not answer would hold up an evaluation for hours.
    """

    def __init__(self) -> None:
        self._waiting: list[Score] = []
        self._failed_in_a_row = 0
        self._lock = threading.Lock()
        renew_when_forked(self)

    def renew(self) -> None:
        """This is a copy of the process: whoever held the lock is not here, and sends what waits there."""
        self._waiting, self._lock = [], threading.Lock()

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Take these scores, and send all full requests."""
        with self._lock:
            self._waiting.extend(scores)
            outcome = Outcome()
            while len(self._waiting) >= AT_ONCE:
                outcome += self._post(client)
            return outcome

    def finish(self, client: Any) -> Outcome:
        """Send the rest."""
        with self._lock:
            outcome = Outcome()
            while self._waiting:
                outcome += self._post(client)
            self._failed_in_a_row = 0
            return outcome

    def flush(self, client: Any, timeout: float | None) -> bool:  # noqa: ARG002 - nothing is under way
        """Whether nothing waits."""
        return not self._waiting

    def _post(self, client: Any) -> Outcome:
        batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            problem = f"{len(batch)} scores not tried, since {GIVE_UP_AFTER} requests in a row had failed"
            return Outcome(failed=len(batch), problems=(problem,))
        try:
            refusals = post(client, batch)
        except Exception as error:  # noqa: BLE001 - whatever the client raises is the answer
            self._failed_in_a_row += 1
            return Outcome(failed=len(batch), problems=(describe(error, client),))
        self._failed_in_a_row = 0
        problems = tuple(f"rejected: {refusal.message}" for refusal in refusals)
        return Outcome(len(batch) - len(refusals), len(refusals), problems)


def _flush(client: Any, done: list[bool]) -> None:
    try:
        client.flush()
        done.append(True)
    except Exception as error:  # noqa: BLE001 - on a thread of its own nobody would catch it
        _LOG.warning("krag_eval: the Langfuse client cannot flush: %s", describe(error, client))


def _joined(thread: threading.Thread, end: float | None) -> bool:
    thread.join(None if end is None else max(0.0, end - time.monotonic()))
    return not thread.is_alive()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A score that the server did not take, of a request that it did.

    Attributes:
        message: Why.
        score_id: Which one, where the server says it: langfuse 5 only counts them.
        status: What it answered for this one, where it says that.
    """

    message: str
    score_id: str | None = None
    status: int | None = None


class UnknownAnswerError(Exception):
    """Something answered that does not take scores, such as the page of a proxy."""


def post(client: Any, scores: Sequence[Score], options: Mapping[str, Any] | None = None) -> list[Refusal]:
    """Send scores in one request by the road that this version of langfuse has.

    Args:
        client: The Langfuse client.
        scores: What to send.
        options: Its `request_options`, such as `max_retries`.

    Returns:
        The scores that were not taken.

    Raises:
        Exception: Whatever the client raises where the whole request failed.
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
    events = {str(uuid.uuid4()): score for score in scores}  # ids of this request, not of the scores
    answer = ingestion.batch(  # langfuse 4, whose own score endpoint takes neither lists nor timestamps
        batch=[
            types.IngestionEvent_ScoreCreate(
                id=event_id, timestamp=score.timestamp.isoformat(), body=types.ScoreBody(**_fields(score, client))
            )
            for event_id, score in events.items()
        ],
        request_options=options,
    )
    if {told.id for told in (*answer.successes, *answer.errors)} != set(events):
        raise UnknownAnswerError(f"an answer that does not say what became of each score: {answer!r:.500}")
    return [
        Refusal(_message(client, error), events[error.id].id if error.id in events else None, error.status)
        for error in answer.errors
    ]


def _count_rejected(answer: Any, n_scores: int) -> int:
    """How many scores were not accepted; langfuse takes any JSON object for a yes, from whoever answers in its place.

    Raises:
        UnknownAnswerError: It is no answer to scores.
    """
    accepted, rejected = getattr(answer, "accepted", None), getattr(answer, "rejected", None)
    if isinstance(accepted, int) and isinstance(rejected, int) and accepted + rejected == n_scores:
        return rejected
    if "message" in getattr(answer, "model_fields_set", ()):
        return 0
    raise UnknownAnswerError(f"an answer that does not say what became of the scores: {answer!r:.500}")


def describe(error: Exception, client: Any = None) -> str:
    """What an error says in a line, without keys; of an answer of the server its status and how its body begins."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"HTTP {status}: {_told(client, getattr(error, 'body', ''))}"
    return f"{type(error).__name__}: {_told(client, error)}"


def _told(client: Any, what: object) -> str:
    # Keys are taken out before it is cut: the first half of a key is too much, too.
    try:
        text = f"{what!s:.{20 * LONGEST_TOLD}}"
    except Exception:  # noqa: BLE001 - a foreign error that cannot be printed still has a name
        return ""
    return without_keys(client, " ".join(text.split()))[:LONGEST_TOLD]


def _fields(score: Score, client: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"id": score.id, "name": score.name, "value": score.value, "data_type": "NUMERIC"}
    given |= score.target.to_dict() | {"metadata": dict(score.metadata)}
    environment = score.environment or environment_of(client)
    return given if environment is None else given | {"environment": environment}


def _message(client: Any, error: Any) -> str:
    return _told(client, getattr(error, "message", None) or error)
