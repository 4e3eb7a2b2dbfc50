"""The journal of a run: what is in it, and that it is resumed from any end it may have come to."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from krag_eval import read_run
from krag_eval._utils.errors import RunStoppedError
from krag_eval.datasets import RunRow, bulk
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.retrievers.runner import plan_run
from tests.support.journal_cases import EVALSET, PARAMETERS, Search, documents, finished, query_ids, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return finished(tmp_path_factory.mktemp("whole"))


def test_a_journal_is_a_run_file_that_says_how_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.jsonl"
    made = run(path)
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    header = rows[0]
    assert (header[RUN_HEADER], header["name"], header["parameters"]) == (1, "bm25", PARAMETERS)
    assert (header["k"], header["evalset"], header["fingerprint"]) == (2, "six", EVALSET.fingerprint)
    assert sorted(row["query_id"] for row in rows[1:]) == EVALSET.ids
    assert all(len(row["crc"]) == 8 for row in rows)
    read = read_run(path, evalset=EVALSET)
    assert documents(read) == documents(made)
    assert [read.rows[q].seconds for q in EVALSET.ids] == [row.seconds for row in made.rows.values()]
    assert (read.parameters, read.recorded) == (made.parameters, made.recorded)
    assert all(row.further == {} for row in read.rows.values())


@pytest.mark.full
def test_wherever_a_journal_was_cut_off_every_question_is_there_once_after_resuming(
    tmp_path: Path, whole: bytes
) -> None:
    path, wanted = tmp_path / "run.jsonl", documents(run(tmp_path / "other.jsonl"))
    for length in [*range(40), *range(40, len(whole), 7), *range(len(whole) - 12, len(whole) + 1)]:
        path.write_bytes(whole[:length])
        search = Search()
        assert documents(run(path, search)) == wanted, length
        assert sorted(query_ids(path)) == EVALSET.ids
        finished = whole[:length].count(b"\n") - 1
        # A row that only lacks the end of its line is whole.
        assert len(search.asked) in {len(EVALSET) - max(finished, 0), len(EVALSET) - max(finished, 0) - 1}
        assert all(line.endswith(b"\n") for line in path.read_bytes().splitlines(keepends=True))


def test_rows_are_resumed_in_bulk_as_they_are_one_by_one(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, failed = tmp_path / "run.jsonl", tmp_path / "failed.jsonl"
    path.write_bytes(whole)
    run(failed, Search("1", "4"))
    before = failed.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(bulk, "read_rankings", lambda rows: None)
        one_by_one, with_errors = run(path), run(failed, retry_errors=False)
        retried = run(failed, Search())
    failed.write_bytes(before)
    assert run(failed, retry_errors=False).rows == with_errors.rows
    assert run(failed, search := Search()).rows.keys() == retried.rows.keys()
    assert sorted(search.asked) == [EVALSET["q1"].question, EVALSET["q4"].question]
    monkeypatch.setattr(RunRow, "from_dict", None)
    assert run(path).rows == one_by_one.rows


def test_a_last_row_that_lacks_only_its_line_end_is_kept(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole[:-1])
    search = Search()
    run(path, search)
    assert (search.asked, path.read_bytes()) == ([], whole)


def test_blocks_of_zeros_at_the_end_after_a_power_cut_are_cut_off(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:30] + b"\0" * 552)
    search = Search()
    run(path, search)
    assert len(search.asked) == 3
    assert sorted(query_ids(path)) == EVALSET.ids


def test_a_torn_journal_can_be_scored_as_it_is(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole[:-20])
    assert len(read_run(path).rows) == 5


def test_questions_that_failed_are_asked_again_unless_their_errors_are_to_stay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert list(run(path, Search("1", "4")).errors) == ["q1", "q4"]
    path.chmod(0o640)
    search = Search()
    assert list(run(path, search, retry_errors=False).errors) == ["q1", "q4"]
    assert search.asked == []
    resumed = run(path, search)
    assert (resumed.errors, sorted(search.asked)) == ({}, ["질문 1", "질문 4"])
    assert sorted(query_ids(path)) == EVALSET.ids
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]
    assert documents(read_run(path)) == {q: documents(resumed)[q] for q in query_ids(path)}


def test_a_hopeless_run_leaves_a_journal_that_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(RunStoppedError) as stopped:
        run(path, Search("0", "1", "2"), max_error_rate=0.4)
    assert f"6 of 6 questions were asked; their rows are in {path}" in str(stopped.value)
    assert str(stopped.value).endswith("Run the same again to resume. Failed questions are asked again.")
    assert run(path, max_error_rate=0.4).errors == {}


def test_each_row_is_one_write_and_all_of_them_are_synced_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    write, sync = os.write, os.fsync

    def note_write(handle: int, data: bytes) -> int:
        events.append("row" if data.startswith(b"{") and data.endswith(b"}\n") else "part")
        return write(handle, data)

    def note_sync(handle: int) -> None:
        events.append("sync")
        sync(handle)

    monkeypatch.setattr(os, "write", note_write)
    monkeypatch.setattr(os, "fsync", note_sync)
    run(tmp_path / "run.jsonl")
    assert events.count("row") == 1 + len(EVALSET)
    assert "part" not in events
    assert events[-1] == "sync"


def test_a_recorder_counts_what_failed_now_and_what_is_asked_again(tmp_path: Path) -> None:
    def counts(search: Search) -> tuple[object, ...]:
        plan = plan_run(EVALSET, search, k=2, retries=0, journal=tmp_path / "run.jsonl", progress=False)
        recorder = plan.carry_out()
        assert recorder.is_comparable
        asked = (recorder.n_asked, recorder.n_done)
        return (*asked, recorder.n_errors, recorder.n_retried, recorder.most_retrieved, recorder.first_error)

    *numbers, first = counts(Search("1", "4"))
    assert numbers == [6, 6, 2, 0, 2]
    assert first in ("q1: ConnectionError: refused", "q4: ConnectionError: refused")  # whichever ended first
    assert counts(Search()) == (2, 6, 0, 2, 2, None)
    assert counts(Search()) == (0, 6, 0, 0, 2, None)
