"""An outbox loses no score, whatever the server and the process do; the server is a stand-in, the client is real."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from langfuse import Langfuse

from krag_eval import evaluate
from krag_eval_langfuse import LangfuseScoreHandler
from krag_eval_langfuse.score_file import ScoreFile
from tests.adapters.langfuse import wire
from tests.adapters.langfuse.faulty_server import BUSY, CUT_AFTER, CUT_BEFORE, Fault, FaultyLangfuse, unlucky
from tests.adapters.langfuse.runs import N_SCORES, TRACES, assert_complete, run, run_without
from tests.support.command_line import Runner
from tests.support.marks import nothing_may_match

ROOT = Path(__file__).parents[2]
EXPECTED = {
    (trace, f"krag.{key.replace('@', '_at_')}", value)
    for trace, row in zip(TRACES, run_without().per_query, strict=True)
    for key, value in row.values.items()
}


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running
    wire.check(running.scores)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits, fifty times as short."""
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.01)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.05)


def assert_all_arrived(server: FaultyLangfuse) -> None:
    """Every score is stored once and right, and what came twice came with the same id and time."""
    stored = list(server.stored.values())
    assert {(score["traceId"], score["name"], score["value"]) for score in stored} == EXPECTED
    assert len(stored) == len({score["id"] for score in stored}) == N_SCORES
    assert len({(score["id"], score["timestamp"]) for score in server.scores}) == N_SCORES


def is_settled(path: Path) -> bool:
    """Whether no score is left, not even in space that is free."""
    return not ScoreFile(path).last() and b"krag.mrr" not in path.read_bytes()


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 5))])
def test_wire_every_score_arrives_once_and_right_at_a_server_with_faults(
    seed: int, server: FaultyLangfuse, client: Langfuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_langfuse.score_file.AT_ONCE", 7)  # more requests, more faults
    server.choose = unlucky(seed)
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "outbox")
    assert_complete(run(handler))
    handler.close(60)
    assert_all_arrived(server)
    assert server.n_requests > N_SCORES / 7
    assert (handler.sent, handler.failed, handler.counters.waiting) == (N_SCORES, 0, 0)
    assert is_settled(tmp_path / "outbox")


@pytest.mark.full
def test_wire_every_score_arrives_after_an_outage(server: FaultyLangfuse, client: Langfuse, tmp_path: Path) -> None:
    is_out, asked_often = threading.Event(), threading.Event()
    is_out.set()

    def choose(number: int) -> Fault | None:
        if number >= 12:
            asked_often.set()
        return (BUSY, CUT_BEFORE, CUT_AFTER)[number % 3] if is_out.is_set() else None

    server.choose = choose
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "outbox")
    assert_complete(run(handler))
    assert handler.flush(0) is False
    assert (handler.sent, handler.failed, handler.counters.waiting) == (0, 0, N_SCORES)
    assert asked_often.wait(60)
    is_out.clear()
    assert handler.flush(60)
    assert_all_arrived(server)
    assert (handler.sent, handler.failed, handler.counters.waiting) == (N_SCORES, 0, 0)
    handler.close()


@pytest.mark.full
@nothing_may_match
def test_wire_of_two_values_of_one_score_the_later_is_stored(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_langfuse.score_file.AT_ONCE", 9)
    server.choose = unlucky(7)
    handler = LangfuseScoreHandler(
        client, trace_ids=TRACES, run_id="nightly", delivery="outbox", outbox=tmp_path / "outbox"
    )
    for retrieved in ("wrong", "other", "a"):
        n = len(TRACES)
        evaluate([["a"]] * n, [[retrieved]] * n, k=(1, 2), metrics=["recall", "mrr"], callbacks=[handler])
    handler.close(60)
    assert {(score["traceId"], score["name"], score["value"]) for score in server.stored.values()} == EXPECTED
    assert len(server.stored) == N_SCORES
    assert handler.sent == 3 * N_SCORES


def contents(path: Path) -> list[str]:
    """The scores that wait, as a copy of the file has them."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        connection = sqlite3.connect(Path(folder, path.name))
        found = [row for (row,) in connection.execute("SELECT row FROM scores WHERE reason IS NULL ORDER BY n")]
        connection.close()
        return found


def start(server: FaultyLangfuse, path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LANGFUSE_")}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.langfuse.outbox_child", server.url, str(path), *arguments],
        env=environment | {"PYTHONPATH": paths},
        cwd=ROOT,
    )


@pytest.mark.full
def test_wire_kill_9_loses_nothing_and_doubles_nothing(
    server: FaultyLangfuse, command: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two acknowledgements, then while a request is under way, then sent by the command."""
    path = tmp_path / "outbox"
    assert start(server, path, "evaluate", "die-before-settling").wait(120) == -9
    written = contents(path)
    assert len(written) == N_SCORES
    assert server.scores
    assert not any(b"sk-lf-canary" in file.read_bytes() for file in tmp_path.iterdir())

    children: list[subprocess.Popen[bytes]] = []
    is_started = threading.Event()

    def choose(number: int) -> Fault:
        is_started.wait(60)
        return Fault(kills=children[0].pid)

    server.choose = choose
    children.append(start(server, path, "go-on"))
    is_started.set()
    assert children[0].wait(120) == -9
    assert contents(path) == written

    server.choose = unlucky(3)
    for name, value in {"BASE_URL": server.url, "PUBLIC_KEY": "pk-lf-resend", "SECRET_KEY": "sk-lf-resend"}.items():
        monkeypatch.setenv(f"LANGFUSE_{name}", value)
    code, out, err = command("langfuse-resend", str(path))
    assert (code, err) == (0, "")
    assert out == f"{path}: {N_SCORES} sent, 0 waiting, 0 rejected\n"
    assert_all_arrived(server)
    assert len(server.scores) > N_SCORES  # some came twice, and count once
    assert is_settled(path)
