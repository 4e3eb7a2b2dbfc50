"""Scores in one request, and what the server said to each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval_langfuse.client import environment_of, load_langfuse, without_keys
from krag_eval_langfuse.scores import Score

LONGEST_TOLD = 200


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
