"""What the server says to scores from an outbox, and what becomes of those that it does not want."""

from __future__ import annotations

import gc
import json
import logging
import resource
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langfuse import Langfuse

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval_langfuse import LangfuseDeliveryError, LangfuseScoreHandler, outbox_delivery, resend_outbox
from krag_eval_langfuse.score_file import ScoreFile
from tests.adapters.langfuse.conftest import MakeClient
from tests.adapters.langfuse.faulty_server import BUSY, Fault, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, assert_complete, run

pytestmark = pytest.mark.full  # faults of a server, each with retries

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "langfuse.outbox"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)


def handler_of(client: Langfuse, path: Path, **settings: Any) -> LangfuseScoreHandler:
    return LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=path, **settings)


def refuse_bad(server: FaultyLangfuse, bad: set[str], *, whole: bool) -> None:
    """The server wants no score of these traces: nothing of their request, or all of it but these."""
    take = server.respond

    def respond(method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        before = list(server.scores)
        status, answer = take(method, path, query, body)
        came = server.scores[len(before) :]
        wrong = [score for score in came if score["traceId"] in bad]
        if not wrong:
            return status, answer
        server.scores[:] = before if whole else [*before, *(score for score in came if score not in wrong)]
        if whole:
            return 400, {"message": "unknown trace"}
        errors: list[dict[str, Any]] = [{"message": "unknown trace"} for _ in wrong]
        if path == "/api/public/ingestion":
            events = json.loads(body)["batch"]
            errors = [
                {"id": event["id"], "status": 404, "message": "unknown trace"}
                for event in events
                if event["body"]["traceId"] in bad
            ]
            wrong_ids = {error["id"] for error in errors}
            fine = [{"id": event["id"], "status": 201} for event in events if event["id"] not in wrong_ids]
            return 207, {"successes": fine, "errors": errors}
        return 207, {"accepted": len(came) - len(wrong), "rejected": len(wrong), "errors": errors}

    server.respond = respond  # type: ignore[method-assign]


@pytest.mark.parametrize("whole", [True, False], ids=["400", "207"])
def test_wire_only_the_scores_that_the_server_does_not_want_are_set_aside(
    whole: bool, server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    bad = {TRACES[7], TRACES[31]}
    refuse_bad(server, bad, whole=whole)
    handler = handler_of(client, path)
    assert_complete(run(handler))
    assert handler.flush(60)
    assert {score["traceId"] for score in server.scores} == set(TRACES) - bad
    assert len({score["id"] for score in server.scores}) == N_SCORES - 8
    assert (handler.sent, handler.failed, handler.counters.waiting) == (N_SCORES - 8, 8, 0)
    handler.close()
    n_requests = server.n_requests

    again = handler_of(client, path)  # another start does not try them again
    assert again.flush(60)
    again.close()
    assert server.n_requests == n_requests

    kept = resend_outbox(path, client)
    assert (kept.ok, kept.sent, kept.waiting) == (False, 0, 0)
    assert {score.target.trace_id for score, _ in kept.rejected} == bad
    assert all("unknown trace" in reason for _, reason in kept.rejected)
    bad.clear()
    assert (resend_outbox(path, client).sent, resend_outbox(path, client).ok) == (8, True)
    assert {score["traceId"] for score in server.scores} == set(TRACES)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_wire_a_client_that_is_shut_out_loses_nothing(
    status: int, server: FaultyLangfuse, client: Langfuse, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.choose = lambda number: Fault(status, {"message": f"not you: {client._resources.secret_key}"})  # type: ignore[union-attr]
    with caplog.at_level(logging.WARNING, logger="krag_eval.langfuse"):
        handler = handler_of(client, path)
        assert_complete(run(handler))
        assert handler.flush(60)
        handler.close()
    assert f"rejected: HTTP {status}: {{'message': 'not you: [key]'}}" in caplog.text
    assert "sk-lf-test" not in caplog.text
    assert (handler.sent, handler.failed) == (0, N_SCORES)
    assert server.n_requests <= N_SCORES  # none of them twice
    assert b"sk-lf-test" not in path.read_bytes()
    server.choose = lambda number: None
    assert resend_outbox(path, client).sent == N_SCORES
    assert len(server.stored) == N_SCORES


def test_wire_an_error_500_that_passes_sets_nothing_aside(server: FaultyLangfuse, client: Langfuse, path: Path) -> None:
    server.choose = lambda number: Fault(500, {"message": "Internal"}) if number < 4 else None
    handler = handler_of(client, path)
    assert_complete(run(handler))
    assert handler.flush(60)
    assert (handler.sent, handler.failed, len(server.stored)) == (N_SCORES, 0, N_SCORES)
    handler.close()


def test_wire_a_score_that_the_server_cannot_digest_does_not_hold_up_the_others(
    server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    refuse_bad(server, {TRACES[0]}, whole=True)
    taken = server.respond
    server.respond = lambda *given: (  # type: ignore[method-assign]
        (500, {"message": "Internal"}) if (answer := taken(*given))[0] == 400 else answer
    )
    handler = handler_of(client, path)
    run(handler)
    assert handler.flush(60)
    assert (handler.sent, handler.failed) == (N_SCORES - 4, 4)
    handler.close()
    assert [row.reason[:8] for row in ScoreFile(path).refused()] == ["HTTP 500"] * 4


def test_wire_what_is_refused_is_raised_when_the_handler_is_closed(
    server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    server.choose = lambda number: Fault(401, {"message": "Invalid credentials"})
    handler = LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=path, on_error="raise")

    def run_and_close() -> None:  # at the end of the run it may be known, and it may not
        run(handler)
        handler.close(60)

    with pytest.raises(LangfuseDeliveryError, match="6 scores did not reach Langfuse: rejected: HTTP 401"):
        run_and_close()


@pytest.mark.parametrize("on_error", ["log", "raise"])
def test_wire_close_says_how_many_wait_and_how_to_send_them(
    on_error: str, server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    server.choose = lambda number: BUSY
    handler = handler_of(client, path, on_error=on_error)
    assert_complete(run(handler))
    says = rf"{N_SCORES} scores have not reached Langfuse yet \(HTTP 503.*krag-eval langfuse-resend .*langfuse\.outbox"
    if on_error == "raise":
        with pytest.raises(LangfuseDeliveryError, match=says):
            handler.close(0.2)
    else:
        with pytest.warns(KragEvalWarning, match=says):
            handler.close(0.2)
    assert handler.counters.waiting == N_SCORES
    waiting = resend_outbox(path, client, timeout=0.1)
    assert (waiting.sent, waiting.waiting, waiting.ok) == (0, N_SCORES, False)
    server.choose = lambda number: None
    later = LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=path)
    assert later.flush(60)  # what another left is sent by the next that opens it
    assert len(server.stored) == later.sent == N_SCORES
    later.close()


def test_wire_handlers_of_one_process_share_a_file_and_a_forgotten_one_still_delivers(
    server: FaultyLangfuse, client: Langfuse, make_client: MakeClient, path: Path
) -> None:
    for _ in range(3):
        run(handler_of(client, path, run_id="shared"))
    handler = handler_of(client, path)
    assert handler.flush(60)
    assert len({score["id"] for score in server.scores}) == N_SCORES
    with pytest.raises(InvalidInputError, match="with another public key"):
        handler_of(make_client(), path)
    handler.close()
    assert resend_outbox(path, client).ok
    del handler
    gc.collect()
    assert path.resolve() not in outbox_delivery._OPEN
    assert list(path.parent.iterdir()) == [path]


def test_wire_environment_and_time_stay_what_they_were(
    server: FaultyLangfuse, make_client: MakeClient, path: Path
) -> None:
    server.choose = lambda number: BUSY
    handler = handler_of(make_client(environment="staging"), path, timestamp=NOW)
    run(handler)
    with pytest.warns(KragEvalWarning, match="have not reached"):
        handler.close(0)
    server.choose = lambda number: None
    assert resend_outbox(path, make_client(environment="production")).sent == N_SCORES
    assert {score["environment"] for score in server.scores} == {"staging"}
    assert {datetime.fromisoformat(score["timestamp"]) for score in server.scores} == {NOW}


@pytest.mark.parametrize("limit", [200_000, 60_000, 4096, 0])
def test_where_files_may_not_grow_flush_does_not_say_that_all_is_sent(
    server: FaultyLangfuse, client: Langfuse, path: Path, limit: int
) -> None:
    server.choose = lambda number: BUSY
    handler, before = handler_of(client, path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        assert_complete(run(handler))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lost = handler.failed
    assert lost > 0
    assert handler.counters.waiting == N_SCORES - lost
    server.choose = lambda number: None
    assert not handler.flush(60)
    assert len(server.stored) == handler.sent == N_SCORES - lost
    run(handler)
    assert handler.flush(60)  # there is room again
    assert len(server.stored) == N_SCORES
    handler.close()
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_is_full_is_counted_and_disturbs_nobody(
    server: FaultyLangfuse, client: Langfuse, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    handler = handler_of(client, path)
    delivering: Any = handler._sender._delivery
    connection = delivering.file._connect()
    connection.execute("PRAGMA max_page_count = 1")  # which is as many as there are
    with caplog.at_level(logging.WARNING, logger="krag_eval.langfuse"):
        assert_complete(run(handler))
    assert not handler.flush(60)  # though there was room for some
    assert handler.flush(60)  # nothing was lost since
    assert handler.failed == N_SCORES - handler.sent > N_SCORES / 2
    assert len(server.stored) == handler.sent
    assert "langfuse.outbox: cannot be written (database or disk is full)" in caplog.text
    handler.close()
