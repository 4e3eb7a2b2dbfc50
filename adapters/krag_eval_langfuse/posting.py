"""Scores in one request, and what the server said to each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval_langfuse.client import environment_of, load_langfuse
from krag_eval_langfuse.scores import Score


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
        rejected = int(getattr(answer, "rejected", 0))
        refusals = [Refusal(_message(error)) for error in getattr(answer, "errors", ())[:rejected]]
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
        Refusal(_message(error), events[error.id].id if error.id in events else None, error.status)
        for error in answer.errors
    ]


def describe(error: Exception) -> str:
    """What an error says in a line; of an answer of the server its status and the beginning of its body."""
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"HTTP {status}: {getattr(error, 'body', '')!s:.200}"
    return f"{type(error).__name__}: {error!s:.200}"


def _fields(score: Score, client: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"id": score.id, "name": score.name, "value": score.value, "data_type": "NUMERIC"}
    given |= score.target.to_dict() | {"metadata": dict(score.metadata)}
    environment = score.environment or environment_of(client)
    return given if environment is None else given | {"environment": environment}


def _message(error: Any) -> str:
    return f"{getattr(error, 'message', None) or error!s:.200}"
