"""How long an outbox waits before it tries again, and what it tries again at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from langfuse.api.core import ApiError
from tenacity import Future, RetryCallState, Retrying

from krag_eval_langfuse.outbox import LONGEST_RETRY_AFTER, Waits, failure_of, retry_after

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Mon, 04 May 2026 12:01:30 GMT", 90.0),
        ("Mon, 04 May 2026 21:00:10 +0900", 10.0),
        ("Mon, 04 May 2026 11:00:00 GMT", 0.0),
        ("Fri, 04 May 2999 12:00:00 GMT", LONGEST_RETRY_AFTER),
        ("99999999999999999999", LONGEST_RETRY_AFTER),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(header: str, seconds: float | None) -> None:
    assert retry_after(ApiError(status_code=429, headers={"retry-after": header}), NOW) == seconds
    assert retry_after(ConnectionError(), NOW) is None


def waits(attempt: int, error: Exception) -> list[float]:
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    state.outcome = Future.construct(attempt, error, has_exception=True)
    wait = Waits(0.5, 30.0, lambda: NOW)
    return [wait(state) for _ in range(300)]


def test_waits_double_up_to_a_limit_and_are_spread_at_random() -> None:
    for attempt, longest in ((1, 0.5), (2, 1.0), (5, 8.0), (20, 30.0)):
        found = waits(attempt, ConnectionError())
        assert 0.05 <= min(found) < longest / 3
        assert longest * 2 / 3 < max(found) <= longest
    asked = waits(9, ApiError(status_code=429, headers={"Retry-After": "12"}))
    assert 12 <= min(asked) < max(asked) <= 12.5
    later = (NOW + timedelta(seconds=40)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert min(waits(1, ApiError(status_code=503, headers={"retry-after": later}))) >= 40


@pytest.mark.parametrize(
    ("error", "name"),
    [
        *[(ApiError(status_code=status), "TEMPORARY") for status in (408, 425, 429, 502, 503, 504)],
        *[(ApiError(status_code=status), "REFUSED") for status in (400, 409, 413, 422)],
        *[(ApiError(status_code=status), "SHUT_OUT") for status in (401, 403, 404, 405)],
        *[(ApiError(status_code=status), "DOUBTFUL") for status in (200, 302, 500, 501)],
        (httpx.ConnectError(""), "TEMPORARY"),
        (httpx.ReadTimeout(""), "TEMPORARY"),
        (httpx.RemoteProtocolError(""), "TEMPORARY"),
        (ConnectionResetError(), "TEMPORARY"),
        (UnicodeEncodeError("utf-8", "", 0, 1, ""), "DOUBTFUL"),
    ],
    ids=lambda value: getattr(value, "status_code", None) or getattr(value, "__class__", value).__name__,
)
def test_what_passes_is_told_from_what_does_not(error: Exception, name: str) -> None:
    assert failure_of(error).name == name
