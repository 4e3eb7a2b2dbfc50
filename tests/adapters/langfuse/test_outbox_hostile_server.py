"""Whatever answers in the place of Langfuse, and whenever: every score arrives once and right, and none is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langfuse import Langfuse

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval_langfuse import LangfuseScoreHandler, resend_outbox
from krag_eval_langfuse.score_file import ScoreFile
from tests.adapters.langfuse.conftest import MakeClient
from tests.adapters.langfuse.faulty_server import Fault, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, assert_complete, run
from tests.adapters.langfuse.test_outbox_faults import assert_all_arrived, contents, is_settled, start

pytestmark = pytest.mark.full  # nineteen hostile answers, each with waits

HTML = b"<html><head><title>502</title></head><body><h1>Sorry!</h1></body></html>"
# What langfuse 5 takes for a yes.
WORDY = {"message": "Accepted", "note": "x" * 500, "successes": [], "errors": []}
NEVER = threading.Event()
PASSING = {
    "500 with a page": Fault(500, HTML, (("Content-Type", "text/html"),)),
    "500 after storing": Fault(500, HTML, is_processed=True),
    "408": Fault(408, {"message": "too slow"}),
    "425": Fault(425, b""),
    "503 without a body": Fault(503, b"", (("Retry-After", "-5"),)),
    "429 until a day long ago": Fault(429, {}, (("Retry-After", "Mon, 04 May 2020 12:00:00 GMT"),)),
    "429 until nonsense": Fault(429, {}, (("Retry-After", "1e9"),)),
    "page in place of an answer": Fault(200, HTML, (("Content-Type", "text/html"),)),
    "another JSON": Fault(200, {"status": "maintenance"}),
    "an empty object": Fault(202, {}),
    "no object": Fault(202, [1, 2]),
    "half of JSON": Fault(202, b'{"message": "Acc', is_processed=True),
    "cut in the body": Fault(202, WORDY, cut_at=40, is_processed=True),
    "moved": Fault(301, b"", (("Location", "/elsewhere"),)),
    "moved for now": Fault(307, b"", (("Location", "/api/public/scores?again"),)),
    "in a circle": Fault(302, b"", (("Location", "/api/public/scores"),)),
    "nothing was counted": Fault(207, {"accepted": 0, "rejected": 0, "errors": []}),
    "no answer": Fault(202, WORDY, holds=NEVER),
    "no answer after storing": Fault(202, WORDY, holds=NEVER, is_processed=True),
}


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    NEVER.clear()
    with FaultyLangfuse() as running:
        yield running
        NEVER.set()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "langfuse.outbox"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)


def handler_of(client: Langfuse, path: Path, **settings: Any) -> LangfuseScoreHandler:
    return LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=path, **settings)


@pytest.mark.parametrize("name", PASSING)
def test_wire_what_passes_loses_and_doubles_nothing(
    name: str, server: FaultyLangfuse, make_client: MakeClient, path: Path
) -> None:
    server.choose = lambda number: PASSING[name] if number in (0, 1, 4) else None
    client = make_client(timeout=0.1 if PASSING[name].holds else 5)
    handler = handler_of(client, path)
    assert_complete(run(handler))
    assert handler.flush(60)
    handler.close()
    assert_all_arrived(server)
    assert (handler.sent, handler.failed, handler.counters.waiting) == (N_SCORES, 0, 0)
    assert is_settled(path)


def test_wire_an_answer_that_comes_drop_by_drop_is_an_answer(
    server: FaultyLangfuse, make_client: MakeClient, path: Path
) -> None:
    server.choose = lambda number: Fault(202, drips=True, is_processed=True)  # with the answer to it
    handler = handler_of(make_client(), path)
    run(handler)
    assert handler.flush(60)
    handler.close()
    assert_all_arrived(server)
    assert len(server.scores) == N_SCORES


@pytest.mark.parametrize("answer", ["413", "counts"])
def test_wire_requests_that_are_too_large_are_divided(
    answer: str, server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    """413 for more than 20 scores; or 207 that takes the first 20 and counts the others, without a word on them."""
    take = server.respond

    def respond(method: str, where: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        given: Any = json.loads(body)
        if where == "/api/public/ingestion":  # langfuse 4
            too_many = len(given["batch"]) > 20
        else:
            too_many = where == "/api/public/scores" and len(given) > 20
        if not too_many:
            return take(method, where, query, body)
        if answer == "413" or where == "/api/public/ingestion":
            return 413, {"message": "too large"}
        take(method, where, query, json.dumps(given[:20]).encode())
        return 207, {"accepted": 20, "rejected": len(given) - 20, "errors": [{"message": "quota"}]}

    server.respond = respond  # type: ignore[method-assign, assignment]
    handler = handler_of(client, path)
    assert_complete(run(handler))
    assert handler.flush(60)
    handler.close()
    assert_all_arrived(server)
    assert (handler.sent, handler.failed) == (N_SCORES, 0)


def test_wire_a_server_that_comes_up_later_gets_everything(make_client: MakeClient, path: Path) -> None:
    with FaultyLangfuse() as gone:
        pass  # nobody listens at this address any longer
    handler = handler_of(make_client(base_url=gone.url), path)
    run(handler)
    assert handler.flush(0.05) is False
    assert handler.counters.waiting == N_SCORES
    late = FaultyLangfuse()
    late.port = int(gone.url.rpartition(":")[2])
    with late:
        assert handler.flush(60)
        handler.close()
    assert_all_arrived(late)


def test_wire_an_address_that_speaks_no_tls_keeps_everything_for_the_right_one(
    server: FaultyLangfuse, make_client: MakeClient, client: Langfuse, path: Path
) -> None:
    handler = handler_of(make_client(base_url=server.url.replace("http:", "https:")), path)
    run(handler)
    assert handler.flush(0.1) is False
    with pytest.warns(KragEvalWarning, match=rf"{N_SCORES} scores have not reached Langfuse yet \(ConnectError: .*SSL"):
        handler.close(0)
    assert server.scores == []
    assert resend_outbox(path, client).sent == N_SCORES
    assert_all_arrived(server)


@pytest.mark.parametrize("end", ["SIGTERM", "end of the program"])
def test_wire_a_process_that_ends_while_nobody_answers_ends_and_loses_nothing(
    end: str, server: FaultyLangfuse, client: Langfuse, path: Path
) -> None:
    server.choose = lambda number: Fault(202, WORDY, holds=NEVER)
    child = start(server, path, "evaluate" if end == "SIGTERM" else "leave")
    if end == "SIGTERM":
        while not server.n_requests or (not path.exists() or len(contents(path)) < N_SCORES):
            assert child.poll() is None
            NEVER.wait(0.005)
        child.terminate()
    assert child.wait(60) == (-15 if end == "SIGTERM" else 0)
    assert len(contents(path)) == N_SCORES
    NEVER.set()
    server.choose = lambda number: None
    assert resend_outbox(path, client).sent == N_SCORES
    assert_all_arrived(server)


def test_wire_a_refusal_that_a_full_disk_does_not_take_is_noted_when_there_is_room(
    server: FaultyLangfuse, client: Langfuse, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_full, set_aside = 0, ScoreFile.set_aside

    def full(self: ScoreFile, rows: Any, reason: str) -> int:
        nonlocal n_full
        if n_full < 3:
            n_full += 1
            raise InvalidInputError("cannot be written (database or disk is full)")
        return set_aside(self, rows, reason)

    monkeypatch.setattr(ScoreFile, "set_aside", full)
    server.choose = lambda number: Fault(403, {"message": "wrong project"}) if number == 0 else None
    handler = handler_of(client, path)
    run(handler)
    assert handler.flush(60)
    handler.close()
    assert n_full == 3
    assert handler.failed == N_SCORES - handler.sent > 0
    server.choose = lambda number: None
    assert resend_outbox(path, client).sent == handler.failed
    assert_all_arrived(server)


def test_wire_one_file_under_two_names_is_one_outbox(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "outbox")
    now = datetime(2026, 5, 4, tzinfo=UTC)
    handlers = [handler_of(client, Path(name), timestamp=now) for name in ("outbox", "link", "./outbox")]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for handler in handlers:
        run(handler)
        assert handler.flush(60)
    for handler in handlers:
        handler.close()
    assert_all_arrived(server)
    assert is_settled(tmp_path / "outbox")
    assert resend_outbox(tmp_path / "outbox", client).ok  # nobody holds it
