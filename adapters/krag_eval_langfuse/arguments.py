"""Single arguments, checked."""

from __future__ import annotations

from datetime import UTC, datetime

from krag_eval import InvalidInputError


def check_run_id(run_id: object) -> str | None:
    """The id of a run, a string that is not empty, or None.

    Raises:
        InvalidInputError: It is something else.
    """
    if run_id is not None and not (isinstance(run_id, str) and run_id):
        raise InvalidInputError(f"`run_id` is {run_id!r:.60}. It must be a string, or left out. Give a name.")
    return run_id


def check_timestamp(timestamp: object) -> datetime | None:
    """A time in UTC, or None.

    Raises:
        InvalidInputError: It is something else, or has no time zone.
    """
    if timestamp is None:
        return None
    if not isinstance(timestamp, datetime) or timestamp.utcoffset() is None:
        raise InvalidInputError(
            f"`timestamp` is {timestamp!r:.60}. Langfuse needs a time with a time zone: the day that it falls on "
            "decides what is overwritten. Give for example datetime.now(timezone.utc)."
        )
    return timestamp.astimezone(UTC)


def check_count(name: str, value: object, *, most: int | None = None) -> int:
    """A whole number of at least 1, and at most `most`.

    Raises:
        InvalidInputError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        expected = "an integer of at least 1" if most is None else f"an integer from 1 to {most}"
        raise InvalidInputError(f"`{name}` is {value!r:.60}. It must be {expected}. Give such a number.")
    return value
