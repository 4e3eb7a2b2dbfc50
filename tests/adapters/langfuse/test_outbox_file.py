"""The file of an outbox: what is put is there until it is settled, damage is told, and several processes share it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import sqlite3
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langfuse import Langfuse

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval_langfuse import Target, resend_outbox
from krag_eval_langfuse.score_file import Row, ScoreFile
from krag_eval_langfuse.scores import Score
from krag_eval_langfuse.write_ahead_log import is_whole
from tests.adapters.langfuse.faulty_server import FaultyLangfuse
from tests.adapters.langfuse.runs import in_a_copy

DAY = datetime(2026, 5, 4, tzinfo=UTC)
N = 1000
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: nothing is forked here.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "langfuse.outbox"


def score(key: str, value: float = 1.0) -> Score:
    return Score(key, "krag.mrr", value, Target(trace_id="t"), DAY, {"query": "?" * 80})


def filled(path: Path, *keys: str) -> ScoreFile:
    file = ScoreFile(path)
    for number, key in enumerate(keys):
        file.put([score(key, number)])
    return file


def values(file: ScoreFile) -> list[tuple[str, float | str]]:
    return [(row.key, row.score(file.path).value) for row in file.take()]


def test_what_is_put_is_taken_in_order_until_it_is_settled(path: Path) -> None:
    file = filled(path, "a", "b", "c")
    file.settle(file.take()[:1])
    assert (values(file), file.n_waiting()) == ([("b", 1.0), ("c", 2.0)], 2)
    file.close()
    assert [row.key for row in ScoreFile(path).take()] == ["b", "c"]


def test_a_file_that_was_emptied_is_told_and_a_new_outbox_begins_in_it(path: Path) -> None:
    filled(path, "a").close()
    path.write_bytes(b"")
    os.utime(path, (0, 0))
    with pytest.warns(KragEvalWarning, match=r"langfuse\.outbox: is empty, .* they are gone"):
        assert values(filled(path, "b")) == [("b", 0.0)]


def test_the_later_of_two_values_takes_the_place_of_the_earlier_wherever_that_is(path: Path) -> None:
    file = filled(path, "a", "b", "a")
    assert values(file) == [("a", 2.0), ("b", 1.0)]
    assert file.settle(file.take()) == 3
    file.put([score("a", 3)])
    file.set_aside(file.take(), "no")
    file.put([score("a", 4)])
    assert (values(file), file.refused()) == ([("a", 4.0)], [])
    file.postpone(file.take())
    file.put([score("a", 5)])
    (newest,) = file.take()
    assert newest.score(path).value == 5  # it is tried first, and what failed before must not come after it
    file.settle([newest])
    assert file.n_waiting() == 0


def test_what_fails_comes_after_the_others_and_in_ever_smaller_requests(path: Path) -> None:
    file = ScoreFile(path)
    file.put(score(f"k{number}") for number in range(100))
    sizes = list[int]()
    for _ in range(9):
        rows = file.take()
        sizes.append(len(rows))
        file.postpone(rows)
        while (others := file.take())[0].tries <= rows[0].tries:
            file.settle(others)
    assert sizes == [100, 100, 100, 50, 25, 12, 6, 3, 1]
    file.put([score("new")])
    assert [row.key for row in file.take()] == ["new"]


STEPS = st.lists(st.sampled_from(["put", "settle", "refuse", "postpone", "die", "retry"]), max_size=40)


@pytest.mark.full
@settings(max_examples=2 * settings().max_examples)
@given(STEPS)
def test_whatever_happens_no_key_is_forgotten_and_the_last_value_is_delivered_last(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    file, delivered, newest = ScoreFile(folder / "0"), dict[str, float | str](), dict[str, float | str]()
    for number, step in enumerate(steps):
        rows = file.take()[:3]
        if step == "put":
            newest[f"k{number % 4}"] = number
            file.put([score(f"k{number % 4}", number)])
        elif step == "retry":
            file.retry()
        elif step == "die":  # what another process finds then
            for end in ("", "-wal"):
                shutil.copy(f"{file.path}{end}", folder / f"{number + 1}{end}")
            file = ScoreFile(folder / f"{number + 1}")
        elif step == "postpone":
            file.postpone(rows)
        elif step in ("settle", "refuse") and rows:
            if step == "refuse":
                file.set_aside(rows[:1], "no")
            sent = rows[step == "refuse" :]
            file.settle(sent)
            delivered |= {row.key: row.score(file.path).value for row in sent}
    held = {row.key: row.score(file.path).value for row in file.refused()}
    while rows := file.take():
        held |= {row.key: row.score(file.path).value for row in rows}
        file.settle(rows)
    file.close()
    assert delivered | held == newest


@pytest.mark.full
def test_an_outbox_that_is_never_empty_does_not_grow_and_shrinks_when_it_is_done(path: Path) -> None:
    file, sizes = ScoreFile(path), list[int]()
    for number in range(100):
        file.put(score(f"k{number}-{place}") for place in range(10))
        file.sync()
        file.settle(file.take()[: 10 if number > 20 else 0])
        sizes.append(path.stat().st_size)
    assert max(sizes) < 1.5 * sizes[40]
    while rows := file.take():
        file.settle(rows)
    file.close()
    assert path.stat().st_size < 40_000
    assert list(path.parent.iterdir()) == [path]


def test_only_its_owner_may_read_it_unless_it_was_there(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch(0o660)
    (tmp_path / "theirs").chmod(0o660)
    for name, expected in (("own", 0o600), ("theirs", 0o660)):
        file = filled(tmp_path / name, "a")
        assert file.claim()
        modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in tmp_path.glob(f"{name}*")}
        assert modes == dict.fromkeys((name, f"{name}-wal", f"{name}-shm", f"{name}-lock"), expected)
        file.close()


def test_a_program_that_goes_to_another_folder_takes_its_outbox_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    file = filled(Path("outbox"), "a")
    monkeypatch.chdir(tmp_path / "elsewhere")
    file.put([score("b")])
    file.close()
    file.put([score("c")])  # it is opened once more
    file.close()
    assert list(Path().iterdir()) == []
    assert ScoreFile(tmp_path / "outbox").n_waiting() == 3


def test_what_is_interrupted_in_the_midst_of_writing_is_there_whole_or_not_at_all(path: Path) -> None:
    file = filled(path, "a")

    connection = file._connect()
    for moment in range(1, 200, 3):  # of the work of SQLite, in instructions
        ticks, before = itertools.count(1), file.n_waiting()
        connection.set_progress_handler(lambda ticks=ticks, moment=moment: next(ticks) == moment, 1)  # type: ignore[misc]
        expected = before
        with contextlib.suppress(InvalidInputError):
            file.put([score("x"), score("y")])
            expected += 2
        connection.set_progress_handler(None, 0)
        assert file.n_waiting() == expected


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300, "/"])
def test_an_outbox_under_the_name_of_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r": cannot be written \("):
        ScoreFile(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"krag_outbox": 1, "of": "scores for Langfuse"}\n', "is an outbox of an earlier version of krag_eval"),
        (b"question,gold\n" * 400, "is not an outbox of this version"),
        (b"\0" * 8192, "is not an outbox of this version"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=says):
        ScoreFile(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE scores (n INTEGER PRIMARY KEY)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(InvalidInputError, match="is not an outbox of this version"):
        ScoreFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("row", ["{}", "[]", "NaN", "[" * 10_000, '{"timestamp": 3}', "{", '{"timestamp": "x"}'])
def test_a_row_that_is_no_score_is_refused_by_its_number(path: Path, row: str) -> None:
    with pytest.raises(InvalidInputError, match=r"langfuse.outbox: row 7 is not a score"):
        Row(7, "key", row).score(path)


@pytest.mark.full
@forks
def test_several_processes_write_to_one_file_and_one_of_them_sends(path: Path) -> None:
    def write() -> None:
        for _ in range(3):
            file = ScoreFile(path)
            for number in range(20):
                file.put(score(f"{os.getpid()}-{number}-{place}") for place in range(3))
            file.close()

    def write_beside_others() -> None:
        thread = threading.Thread(target=in_a_copy, args=(write,))
        thread.start()
        write()
        thread.join()

    def write_four_times() -> None:
        thread = threading.Thread(target=in_a_copy, args=(write_beside_others,))
        thread.start()
        write_beside_others()
        thread.join()

    assert in_a_copy(write_four_times) == 0
    one, other = ScoreFile(path), ScoreFile(path)
    assert one.n_waiting() == 4 * 180
    assert (one.claim(), other.claim(), one.claim()) == (True, False, True)
    one.release()
    assert other.claim()
    for file in (one, other):
        file.close()


@pytest.mark.full
@forks
@pytest.mark.parametrize("n_put", [1, 17, 160, 400])
def test_a_process_that_is_killed_while_it_writes_loses_nothing_and_holds_nothing(path: Path, n_put: int) -> None:
    told, tell = os.pipe()

    def write() -> None:
        file = ScoreFile(path)
        file.claim()
        for number in range(1000):
            file.put([score(f"k{number}")])
            os.write(tell, b".")
            if number % 3 == 0:
                file.settle(file.take()[:1])

    def kill() -> None:
        child = os.fork()
        if child == 0:
            write()
            os._exit(0)
        for _ in range(n_put):
            os.read(told, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    assert in_a_copy(kill) == 0
    os.close(tell)
    n_put += len(os.read(told, 10_000))
    os.close(told)
    file = ScoreFile(path)
    kept = {row[0] for row in file._read("SELECT key FROM scores")}
    assert {f"k{number}" for number in range(n_put // 3 + 1, n_put)} <= kept
    assert len(kept) <= n_put + 1
    assert file.claim()
    file.close()


def copied(source: ScoreFile, path: Path) -> dict[str, bytes]:
    """Copy a file that is open, with its log and index: what a process that is killed now leaves."""
    contents = {end: Path(f"{source.path}{end}").read_bytes() for end in ("", "-wal", "-shm")}
    for end, content in contents.items():
        Path(f"{path}{end}").write_bytes(content)
    return contents


@pytest.mark.full
@pytest.mark.parametrize("is_used_again", [False, True])
def test_a_page_that_was_being_written_when_the_process_was_killed_is_no_damage_wherever_it_is_cut(
    path: Path, tmp_path: Path, is_used_again: bool
) -> None:
    file = filled(tmp_path / "running", *(f"id-{number}" for number in range(5)))
    if is_used_again:  # then pages of the earlier use follow, with another salt
        file._read("PRAGMA wal_checkpoint(RESTART)")
        file.put([score("before")])
    before = copied(file, path)
    file.put([score("last")])
    after = copied(file, path)
    file.close()
    old, new = before["-wal"], after["-wal"]
    written = [place for place in range(len(new)) if new[place : place + 1] != old[place : place + 1]]
    first, last = written[0], written[-1] + 1
    assert last - first > 8192
    # At every byte, this takes minutes and says the same.
    for cut in [*range(first, last, 499), *range(first, first + 40), last - 1, last]:
        for end, content in before.items():
            Path(f"{path}{end}").write_bytes(content)
        Path(f"{path}-wal").write_bytes(new[:cut] + old[cut:])
        opened = ScoreFile(path)
        assert opened.n_waiting() in (5 + is_used_again, 6 + is_used_again), cut
        opened.close()
    for place in [*range(0, last, 997), *range(32, 56), last - 1]:  # what had been written, flipped or cut off
        for damaged in (new[:place] + bytes([new[place] ^ 1]) + new[place + 1 :], new[: max(1, place)]):
            Path(f"{path}-wal").write_bytes(damaged)
            Path(f"{path}-shm").write_bytes(after["-shm"])
            assert not is_whole(path), place
    with pytest.raises(InvalidInputError, match=r"is damaged \(langfuse.outbox-wal is missing, or its end"):
        ScoreFile(path)


def make_damaged(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    kind, _, where = how.partition(" ")
    if kind == "zero":
        start = len(content) - 4096 if where == "the end" else int(where) * 4096
        content[start : start + 4096] = bytes(4096)
    elif kind == "cut":
        del content[-int(where) :]
    elif kind == "flip":
        random = Random(where)
        for _ in range(3):
            content[random.randrange(4096, len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


DAMAGES = ["zero the end", "zero 7", "cut 100000", *(f"flip {n}" for n in range(3))]
MORE_DAMAGES = ["zero 40", "cut 1", "cut 4096", *(f"flip {n}" for n in range(3, 12))]


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running


@pytest.mark.sample(5)
@pytest.mark.parametrize("how", [*DAMAGES, *(pytest.param(how, marks=pytest.mark.full) for how in MORE_DAMAGES)])
def test_wire_of_a_damaged_outbox_every_score_is_sent_or_counted_and_named(
    how: str, path: Path, server: FaultyLangfuse, client: Langfuse
) -> None:
    file = ScoreFile(path)
    file.put(score(f"id-{number:04}") for number in range(N))
    file.close()
    make_damaged(path, how)
    content = path.read_bytes()
    resent = resend_outbox(path, client)
    assert path.read_bytes() == content
    lost = {f"id-{number:04}" for number in range(N)} - {sent["id"] for sent in server.scores}
    if resent.ok:
        assert how.startswith("flip")  # of bits that nothing is in
        assert lost == set()
        return
    assert resent.damage is not None
    assert (resent.sent, resent.waiting) == (N - len(lost), 0)
    named = {name.partition("(")[2].rstrip(")") for name in resent.damaged}
    assert len(resent.damaged) >= len(lost)
    assert lost <= named or "its id is lost" in named
    with pytest.raises(InvalidInputError, match=r"is damaged .*krag-eval langfuse-resend"):
        ScoreFile(path)


@pytest.mark.full
def test_wire_where_the_log_of_a_killed_process_is_damaged_that_is_told(
    path: Path, server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    file, log = filled(tmp_path / "running", *(f"id-{number}" for number in range(50))), Path(f"{path}-wal")
    shutil.copy(file.path, path)  # as a process that is killed leaves them
    shutil.copy(f"{file.path}-wal", log)
    content = log.read_bytes()
    zeros = bytes(4096)
    for damaged in (content[:-4096] + zeros, content[:9000] + zeros + content[13096:], bytes(32) + content[32:]):
        log.write_bytes(damaged)
        with pytest.raises(InvalidInputError, match=r"is damaged \(langfuse.outbox-wal is missing, or its end"):
            ScoreFile(path)
        resent = resend_outbox(path, client)
        assert (resent.ok, resent.damage) == (False, "langfuse.outbox-wal is missing, or its end cannot be read")
        assert log.read_bytes() == damaged
    log.write_bytes(content[:-100])  # what was being written then is no damage
    assert resend_outbox(path, client).ok
    file.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("left", [None, b"", "of an earlier use"])
def test_wire_where_the_log_of_a_killed_process_is_gone_that_is_told(
    path: Path, server: FaultyLangfuse, client: Langfuse, tmp_path: Path, left: bytes | str | None
) -> None:
    file, log = filled(tmp_path / "running", *(f"id-{number}" for number in range(5))), Path(f"{path}-wal")
    earlier = Path(f"{file.path}-wal").read_bytes()
    file.sync()
    file.put([score("acknowledged")])
    copied(file, path)
    content = path.read_bytes()
    log.unlink()
    if left is not None:
        log.write_bytes(left if isinstance(left, bytes) else earlier)
    with pytest.raises(InvalidInputError, match=r"is damaged \(langfuse.outbox-wal is missing, or its end"):
        ScoreFile(path)
    resent = resend_outbox(path, client)
    assert (resent.ok, resent.damage) == (False, "langfuse.outbox-wal is missing, or its end cannot be read")
    assert path.read_bytes() == content
    assert len(server.scores) == 5
    file.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", ["TRUNCATE", "PASSIVE", "FULL", "RESTART"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_log_that_is_in_the_file_already_may_be_missing(path: Path, tmp_path: Path, how: str, is_there: bool) -> None:
    file = filled(tmp_path / "running", "a", "b")
    file._read(f"PRAGMA wal_checkpoint({how})")
    copied(file, path)
    if not is_there:
        Path(f"{path}-wal").unlink()
    opened = ScoreFile(path)
    assert opened.n_waiting() == 2
    for used in (file, opened):
        used.close()
