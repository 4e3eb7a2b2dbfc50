"""How long an outbox waits before it tries again, and what it tries again at all."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langfuse.api.core import ApiError

from krag_eval_langfuse import Target
from krag_eval_langfuse.delivery import UnknownAnswerError, post
from krag_eval_langfuse.outbox import LONGEST_RETRY_AFTER, backoff, failure_of, retry_after
from krag_eval_langfuse.scores import Score

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


def test_waits_double_up_to_a_limit_and_are_spread_at_random() -> None:
    for failures, longest in ((1, 0.5), (2, 1.0), (5, 8.0), (20, 15.0), (100_000, 15.0)):
        found = [backoff(failures) for _ in range(300)]
        assert 0.05 <= min(found) < longest / 3
        assert longest * 2 / 3 < max(found) <= longest


@pytest.mark.parametrize(
    ("error", "name"),
    [
        *[(ApiError(status_code=status), "TEMPORARY") for status in (408, 425, 429, 502, 503, 504)],
        *[(ApiError(status_code=status), "REFUSED") for status in (400, 409, 413, 422)],
        *[(ApiError(status_code=status), "SHUT_OUT") for status in (401, 402, 403, 404, 405, 407)],
        *[(ApiError(status_code=status), "DOUBTFUL") for status in (200, 302, 500, 501)],
        (httpx.ConnectError(""), "TEMPORARY"),
        (httpx.ConnectTimeout(""), "TEMPORARY"),
        (httpx.ReadTimeout(""), "SLOW"),
        (httpx.WriteTimeout(""), "SLOW"),
        (httpx.RemoteProtocolError(""), "TEMPORARY"),
        (ConnectionResetError(), "TEMPORARY"),
        (UnicodeEncodeError("utf-8", "", 0, 1, ""), "DOUBTFUL"),
    ],
    ids=lambda value: getattr(value, "status_code", None) or getattr(value, "__class__", value).__name__,
)
def test_what_passes_is_told_from_what_does_not(error: Exception, name: str) -> None:
    assert failure_of(error).name == name


@pytest.mark.parametrize(
    ("told", "n_refused"),
    [(["one", "two"], 0), (["one"], None), ([], None), (["one", "two", "three"], None)],
)
def test_langfuse_4_has_to_say_what_became_of_each_score(
    told: list[str], n_refused: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client in its form: where it is not installed, nothing else has it."""
    names = iter(["one", "two"])
    monkeypatch.setattr("krag_eval_langfuse.delivery.uuid.uuid4", lambda: next(names))
    monkeypatch.setattr(
        "krag_eval_langfuse.delivery.load_langfuse",
        lambda *_: SimpleNamespace(IngestionEvent_ScoreCreate=SimpleNamespace, ScoreBody=SimpleNamespace),
    )
    answer = SimpleNamespace(successes=[SimpleNamespace(id=name) for name in told], errors=[])
    client: Any = SimpleNamespace(api=SimpleNamespace(ingestion=SimpleNamespace(batch=lambda **_: answer)))
    scores = [Score(str(n), "krag.mrr", 1.0, Target(trace_id="t"), NOW, {}) for n in range(2)]
    if n_refused is None:
        with pytest.raises(UnknownAnswerError, match="does not contain a result for each score"):
            post(client, scores)
    else:
        assert len(post(client, scores)) == n_refused
