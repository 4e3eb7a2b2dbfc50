"""What an outbox tries again."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langfuse.api.core import ApiError

from krag_eval_langfuse import Target
from krag_eval_langfuse.delivery import UnknownAnswerError, post
from krag_eval_langfuse.outbox_delivery import failure_of
from krag_eval_langfuse.scores import Score


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
    scores = [Score(str(n), "krag.mrr", 1.0, Target(trace_id="t"), datetime.now(UTC), {}) for n in range(2)]
    if n_refused is None:
        with pytest.raises(UnknownAnswerError, match="does not contain a result for each score"):
            post(client, scores)
    else:
        assert len(post(client, scores)) == n_refused
