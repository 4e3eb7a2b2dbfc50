"""One way to try again: which errors, how often, and how long to wait before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest

from krag_eval._utils.retrying import Retrying, backoff, status_and_wait


class AskedError(Exception):
    """An error with the headers of a server."""

    def __init__(self, **headers: str) -> None:
        super().__init__("slow down")
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def failing(*errors: Exception) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


@pytest.mark.parametrize("is_later", [False, True])
def test_a_call_is_retried_until_it_succeeds_with_doubled_waits(
    monkeypatch: pytest.MonkeyPatch, is_later: bool
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("random.uniform", lambda low, high: high / 2)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    retrying = Retrying(4, lambda error: True, first=1.0, longest=3.0, longest_asked=9.0, sleep=waits.append)
    call = failing(OSError(), OSError(), OSError(), AskedError(Retry_After="7"))

    async def later() -> str:
        return call()

    found = asyncio.run(retrying.call_later(later)) if is_later else retrying.call(call)
    assert (found, waits) == ("done", [1.5, 2.5, 3.5, 7.0])


@pytest.mark.parametrize(("retries", "n_calls"), [(0, 1), (2, 3)])
def test_after_so_many_retries_the_last_error_is_raised(retries: int, n_calls: int) -> None:
    errors = [OSError(str(n)) for n in range(5)]
    waits: list[float] = []
    retrying = Retrying(retries, lambda error: True, first=0.0, longest=1.0, sleep=waits.append)
    with pytest.raises(OSError, match=str(n_calls - 1)):
        retrying.call(failing(*errors))
    assert len(waits) == retries


def test_an_error_that_another_attempt_does_not_cure_is_raised_at_once() -> None:
    retrying = Retrying(5, lambda error: not isinstance(error, ValueError), first=60.0, longest=60.0)
    with pytest.raises(ValueError, match="wrong"):
        retrying.call(failing(ValueError("wrong")))


def test_a_server_that_asks_for_too_long_is_asked_again_earlier() -> None:
    waits: list[float] = []
    retrying = Retrying(1, lambda error: True, first=0.2, longest=5.0, sleep=waits.append)
    assert retrying.call(failing(AskedError(Retry_After="3600"))) == "done"
    assert waits == [5.0]


def test_waits_double_up_to_a_limit_and_are_spread_at_random() -> None:
    for n_failures, least in ((1, 0.5), (2, 1.0), (5, 8.0), (20, 15.0), (100_000, 15.0)):
        found = [backoff(n_failures, 0.5, 15.0) for _ in range(300)]
        assert least <= min(found) < least + 0.1
        assert least + 0.4 < max(found) <= least + 0.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("2.5", 2.5),
        ("Mon, 04 May 2026 12:01:30 GMT", 90.0),
        ("Mon, 04 May 2026 12:01:30", 90.0),
        ("Mon, 04 May 2026 21:00:10 +0900", 10.0),
        ("Mon, 04 May 2026 11:00:00 GMT", 0.0),
        ("99999999999999999999", 1e20),
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(
    header: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_777_896_000.0)  # 4 May 2026, 12:00 UTC
    assert status_and_wait(AskedError(retry_after=header))[1] == seconds


def test_what_a_server_asks_is_found_where_clients_keep_it() -> None:
    of_response, of_error = OSError(), OSError()
    of_response.response = SimpleNamespace(headers={"Retry-After-Ms": "250", "Retry-After": "9"})  # type: ignore[attr-defined]
    of_error.retry_delay = timedelta(seconds=4)  # type: ignore[attr-defined]
    assert [status_and_wait(error)[1] for error in (of_response, of_error, OSError())] == [0.25, 4.0, None]
