"""Call again what failed: which errors, how often, and how long to wait before."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeVar

from krag_eval._utils.checks import as_number

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retrying:
    """How a call that fails is retried.

    Attributes:
        retries: How often.
        is_temporary: Whether an error is worth another attempt.
        first: Seconds before the first retry; see `backoff`.
        longest: The most seconds before one.
        longest_asked: The most seconds that are waited if the server asks for so many; by default `longest`.
        sleep: How `call` waits.
    """

    retries: int
    is_temporary: Callable[[Exception], bool]
    first: float
    longest: float
    longest_asked: float | None = None
    sleep: Callable[[float], object] = time.sleep

    def call(self, function: Callable[[], T]) -> T:
        """Return what a function returns, as soon as it does not raise; the last error is raised."""
        n_failures = 0
        while True:
            try:
                return function()
            except Exception as error:  # noqa: BLE001 - raised again, if it is no reason to go on
                n_failures += 1
                seconds = self._pause(error, n_failures)
            self.sleep(seconds)

    async def call_later(self, function: Callable[[], Awaitable[T]]) -> T:
        """Do what `call` does on an event loop."""
        n_failures = 0
        while True:
            try:
                return await function()
            except Exception as error:  # noqa: BLE001 - as above
                n_failures += 1
                seconds = self._pause(error, n_failures)
            await asyncio.sleep(seconds)

    def _pause(self, error: Exception, n_failures: int) -> float:
        """Return how long to wait; what is not worth another attempt is raised again."""
        if n_failures > self.retries or not self.is_temporary(error):
            raise error
        _, asked = status_and_wait(error)
        if asked is None:
            return backoff(n_failures, self.first, self.longest)
        return min(asked, self.longest if self.longest_asked is None else self.longest_asked)


def backoff(n_failures: int, first: float, longest: float) -> float:
    """Return the seconds to wait: `first`, doubled for each further failure in a row, plus up to `first` at random."""
    return min(longest, first * 2.0 ** min(n_failures - 1, 30)) + random.uniform(0.0, min(first, longest))


def status_and_wait(error: BaseException) -> tuple[int | None, float | None]:
    """Return the HTTP status that a server answered, and the seconds that it asks to wait; each None if unknown.

    The error and its response are looked at. What is asked stands in `Retry-After` (seconds or a date) or
    `retry-after-ms`, or in the attributes `retry_after` and `retry_delay`.
    """
    return _status(error), _wait_asked(error)


def _status(error: BaseException) -> int | None:
    response = _attribute(error, "response")
    places = [(error, name) for name in ("status_code", "http_status", "status", "code")]
    places += [(response, "status_code"), (response, "status")]
    places.append((_attribute(response, "ResponseMetadata"), "HTTPStatusCode"))  # AWS
    for holder, name in places:
        value = _attribute(holder, name)
        value = getattr(value, "value", value)  # an enumeration
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return value
    return None


def _wait_asked(error: BaseException) -> float | None:
    headers = _attribute(_attribute(error, "response"), "headers") or _attribute(error, "headers")
    found: dict[str, Any] = {}
    with contextlib.suppress(TypeError, ValueError):
        found = {str(name).lower(): value for name, value in dict(headers or {}).items()}
    milliseconds = _seconds(found.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    for given in (found.get("retry-after"), _attribute(error, "retry_after"), _attribute(error, "retry_delay")):
        seconds = _seconds(getattr(given, "total_seconds", lambda given=given: given)())
        if seconds is not None:
            return seconds
    return None


def _attribute(holder: object, name: str) -> Any:
    """Return an entry or attribute of a foreign object, or None."""
    try:
        return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign error may fail
        return None


def _seconds(given: object) -> float | None:
    """Return the seconds from now that a header means; None if it means none.

    >>> [_seconds(given) for given in ("7", " 2.5 ", 3, "Mon, 04 May 2026 12:00:00 GMT", "-5", "1e9", "soon")]
    [7.0, 2.5, 3.0, 0.0, None, None, None]
    """
    seconds = as_number(given)
    if seconds is None and isinstance(given, str) and given.isascii():
        if given.strip().replace(".", "", 1).isdigit():
            return float(given)
        try:
            at = email.utils.parsedate_to_datetime(given)
            seconds = max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - time.time())
        except (OverflowError, ValueError, TypeError):
            return None
    return seconds if seconds is not None and 0 <= seconds < float("inf") else None
