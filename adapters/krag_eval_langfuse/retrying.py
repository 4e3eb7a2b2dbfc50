"""Which failures of a request pass, and how long to wait for that."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

from tenacity import RetryCallState, wait_random_exponential

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
