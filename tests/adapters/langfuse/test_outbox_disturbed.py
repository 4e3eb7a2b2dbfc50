"""An outbox that somebody removes, replaces or damages in use: it is said at once, and what is in memory is sent."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager

from krag_eval import KragEvalWarning
from krag_eval_langfuse import LangfuseScoreHandler, Target
from krag_eval_langfuse.outbox_delivery import Outbox, open_outbox
from krag_eval_langfuse.score_file import ScoreFile
from krag_eval_langfuse.scores import Score
from tests.adapters.langfuse.conftest import MakeClient
from tests.adapters.langfuse.faulty_server import BUSY, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, in_a_copy, run
from tests.adapters.langfuse.test_outbox_file import forks
from tests.support.command_line import Runner

N = 250
DAY = datetime(2026, 5, 4, tzinfo=UTC)


def scores(first: int, n: int = N) -> list[Score]:
    target = Target(trace_id="t")
    return [
        Score(f"s{number}", "krag.mrr", 1.0, target, DAY, {"query": "?" * 80}) for number in range(first, first + n)
    ]


def besides(path: Path, *ends: str) -> None:
    for end in ends:
        Path(f"{path}{end}").unlink()


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def replace(path: Path, by: Callable[[Path], object]) -> None:
    by(path.with_name("new"))
    path.with_name("new").replace(path)


def another_outbox(path: Path) -> None:
    file = ScoreFile(path)
    file.put(scores(9000, 3))
    file.close()


def moved_behind_a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("moved")))


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


GONE: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "removed with its companions": lambda path: besides(path, "", "-wal", "-shm"),
    "its folder removed": lambda path: shutil.rmtree(path.parent),
    "renamed": lambda path: path.rename(path.with_name("renamed")),
    "its folder renamed": lambda path: path.parent.rename(path.parent.with_name("away")),
    "emptied": lambda path: cut(path, 0),
    "cut in half": lambda path: cut(path, 0.5),
    "overwritten": lambda path: path.write_bytes(b"a text\n"),
    "replaced by a file": lambda path: replace(path, lambda new: new.write_bytes(b"a text\n")),
    "replaced by an outbox": lambda path: replace(path, another_outbox),
    "replaced by a link": moved_behind_a_link,
    "replaced by a folder": folder_in_its_place,
}
HEALED: dict[str, Callable[[Path], object]] = {
    "its log removed": lambda path: besides(path, "-wal"),
    "the index of its log removed": lambda path: besides(path, "-shm"),
    "log and index removed": lambda path: besides(path, "-wal", "-shm"),
}
LOSES = ("emptied", "cut in half", "overwritten")  # the pages that were not in memory are gone


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        running.choose = lambda number: BUSY
        yield running


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "langfuse.outbox"


def disturbed(path: Path, client: Langfuse, fault: Callable[[Path], object]) -> Outbox:
    """An outbox with scores of before and after the fault, while the server takes none."""
    box = open_outbox(path)
    assert not box.send(client, scores(0)).failed
    box.file.sync()  # part of it in the file, part of it in the log
    assert not box.send(client, scores(N, 10)).failed
    fault(path)
    return box


@pytest.mark.full
@pytest.mark.parametrize("fault", GONE)
def test_wire_it_is_said_at_once_and_what_can_be_sent_is_sent(
    path: Path, server: FaultyLangfuse, make_client: MakeClient, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    client = make_client()
    box = disturbed(path, client, GONE[fault])
    there = path.read_bytes() if path.is_file() and "link" not in fault else None
    assert not box.send(client, scores(2 * N)).failed
    assert [fault_told.levelno for fault_told in caplog.records if "while it was used" in fault_told.message] == [
        logging.WARNING
    ]
    assert not box.flush(client, 0.2)
    assert "Nothing is lost" not in box.describe_waiting()
    n_lost = box.file.n_lost
    assert n_lost == 0 or (fault in LOSES and n_lost >= N)
    server.choose = lambda number: None
    assert box.flush(client, 60) == (not n_lost)
    assert box.news().sent == len(server.stored) >= 2 * N + 10 - n_lost
    assert {f"s{number}" for number in range(2 * N, 3 * N)} <= {key for key, *_ in server.stored}
    assert box.close(5) == (not n_lost)
    assert there is None or path.read_bytes() == there  # nothing is written into what is there now
    assert "Nothing is lost" not in caplog.text


@pytest.mark.full
@pytest.mark.parametrize("fault", GONE)
def test_wire_a_handler_says_at_the_end_how_many_scores_are_not_kept(
    path: Path, server: FaultyLangfuse, make_client: MakeClient, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "krag_eval_langfuse.score_file.SYNC_SECONDS", 600.0
    )  # a busy machine would empty the log meanwhile
    handler = LangfuseScoreHandler(make_client(), trace_ids=TRACES, delivery="outbox", outbox=path)
    run(handler)
    GONE[fault](path)
    assert not handler.flush(0.2)
    if fault in ("cut in half", "overwritten"):  # every score is in the log so far, from which SQLite mends the file
        with pytest.warns(KragEvalWarning, match="Nothing is lost"):
            handler.close(0.2)
        file = ScoreFile(path)
        assert file.n_waiting() == N_SCORES
        file.close()
        return
    with pytest.warns(KragEvalWarning, match="while it was used, and nothing more is written to it") as told:
        handler.close(0.2)
    counts = [int(word) for one in told for word in str(one.message).split() if word.isdecimal()]
    assert sum(counts) == N_SCORES


@pytest.mark.full
@pytest.mark.parametrize("fault", HEALED)
def test_wire_without_its_log_everything_is_in_the_file_again(
    path: Path, server: FaultyLangfuse, make_client: MakeClient, fault: str
) -> None:
    client = make_client()
    box = disturbed(path, client, HEALED[fault])
    assert not box.send(client, scores(2 * N)).failed
    assert not box.close(0.1)
    assert box.file.fault == ""
    file = ScoreFile(path)
    assert file.n_waiting() == 2 * N + 10
    file.close()


@forks
@pytest.mark.full
def test_without_its_log_another_process_keeps_the_file_and_this_one_its_scores(path: Path) -> None:
    file = ScoreFile(path)
    file.put(scores(0))
    go_on, done = os.pipe(), os.pipe()

    def use() -> None:
        other = ScoreFile(path)
        other.put(scores(N))
        os.write(done[1], b"x")
        os.read(go_on[0], 1)
        os._exit(0)

    child = threading.Thread(target=in_a_copy, args=(use,))
    child.start()
    os.read(done[0], 1)
    assert file.n_waiting() == 2 * N  # both have it open
    besides(path, "-wal")
    assert file.n_waiting() == 2 * N
    assert "lost its companion" in file.fault
    os.write(go_on[1], b"x")
    child.join()


@forks
def test_a_copy_of_a_process_whose_outbox_is_gone_sends_none_of_its_scores(path: Path) -> None:
    file = ScoreFile(path)
    file.put(scores(0, 3))
    path.unlink()
    assert file.n_waiting() == 3

    def look() -> None:
        file.put(scores(3, 1))
        assert file.n_waiting() == 1

    assert in_a_copy(look) == 0
    assert file.n_waiting() == 3


def test_a_file_that_was_closed_is_not_looked_for_elsewhere_when_it_is_used_again(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = ScoreFile(path)
    file.put(scores(0, 3))
    file.close()
    replace(path, another_outbox)
    before = path.read_bytes()
    file.put(scores(3, 1))
    assert (file.n_waiting(), file.n_lost) == (1, 3)
    assert path.read_bytes() == before
    assert "3 scores in it are lost" in caplog.text


def test_a_file_that_was_made_read_only_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = ScoreFile(path)
    file.put(scores(0, 3))
    path.chmod(0o400)
    assert file.n_waiting() == 3
    assert file.n_waiting() == 3
    assert caplog.text.count("was made read-only") == 1


@pytest.mark.full
@pytest.mark.parametrize("fault", ["removed", "replaced by an outbox", "its folder removed", "emptied"])
def test_wire_resending_exits_with_1_where_the_outbox_is_gone_meanwhile(
    path: Path, server: FaultyLangfuse, command: Runner, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    file = ScoreFile(path)
    file.put(scores(0))
    file.close()
    monkeypatch.setattr(LangfuseResourceManager, "_instances", {})
    for name, value in {"BASE_URL": server.url, "PUBLIC_KEY": "pk-lf-x", "SECRET_KEY": "sk-lf-x"}.items():
        monkeypatch.setenv(f"LANGFUSE_{name}", value)

    def disturb(number: int) -> None:
        if number == 0:
            GONE[fault](path)

    server.choose = disturb
    done = command(f"langfuse-resend '{path}'")
    assert done.code == 1
    assert "is damaged" in done.out
