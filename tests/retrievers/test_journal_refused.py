"""Journals that are damaged, of another run, or in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, read_run
from krag_eval._utils.files.io import lock
from krag_eval._utils.journal.rows import seal
from krag_eval.datasets import EvalSet
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.retrievers.runner import run_retriever
from tests.support.journal_cases import EVALSET, PARAMETERS, Search, documents, finished, query_ids, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return finished(tmp_path_factory.mktemp("whole"))


def test_a_finished_run_is_not_asked_again_and_not_changed(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole)
    search = Search()
    resumed = run(path, search, concurrency=1)
    assert (search.asked, path.read_bytes()) == ([], whole)
    assert documents(resumed) == documents(read_run(path))
    # What was recorded is what the first session wrote, concurrency included.
    assert resumed.recorded["concurrency"] == 8


def changed(whole: bytes, line: int, change: Callable[[bytes], bytes]) -> bytes:
    lines = whole.split(b"\n")
    lines[line - 1] = change(lines[line - 1])
    return b"\n".join(lines)


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a row cut in the middle": (lambda w: changed(w, 3, lambda line: line[:20]), ":3: the row is damaged"),
    "a row overwritten": (lambda w: changed(w, 3, lambda line: b"\0" * len(line)), ":3: the row is damaged"),
    "a row changed": (lambda w: changed(w, 3, lambda line: line.replace(b'"c', b'"d', 1)), ":3: the checksum of the"),
    "the last row changed": (
        lambda w: changed(w, 7, lambda line: line.replace(b'"c', b'"d', 1)),
        ":7: the checksum of the row is wrong",
    ),
    "the last row cut in the middle and ended": (lambda w: w[:-40] + b"\n", ":7: the row is damaged"),
    "the end of the last row flipped": (lambda w: w[:-1] + b"\x0b", ":7: the row is damaged"),
    "the ends of the last two rows flipped": (
        lambda w: b"\x8a".join(w.rsplit(b"\n", 2)),
        ":6: the row is damaged",
    ),
    "the last two rows overwritten": (lambda w: w[:-300] + b"\0" * 299 + b"\n", ": the row is damaged"),
    "zeros amid the last row": (lambda w: w[:-60] + b"\0" * 20 + w[-40:-1], ":7: the row is damaged"),
    "a row without a checksum": (
        lambda w: w + b'{"query_id": "q9", "retrieved": []}\n',
        ":8: the checksum of the row is missing",
    ),
    "a row twice": (lambda w: w + w.split(b"\n")[2] + b"\n", "appears twice"),
    "the header changed": (
        lambda w: changed(w, 1, lambda line: line.replace(b"bm25", b"bm26")),
        ":1: the checksum of the row is wrong",
    ),
    "the header damaged": (lambda w: changed(w, 1, lambda line: line[:-5]), ":1: the row is damaged"),
    "no header": (lambda w: w.partition(b"\n")[2], ":1: is not a journal of a run"),
    "a run of another kind": (lambda _: b'{"query_id": "q1", "retrieved": []}\n', ":1: is not a journal of a run"),
    "a file that somebody else wrote": (lambda _: b"Dear diary", ":1: is not a journal of a run"),
    "a later version": (
        lambda w: seal(json.loads(w.partition(b', "crc"')[0] + b"}") | {RUN_HEADER: 2}),
        ":1: the journal has version 2, and only version 1 can be read here.",
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_refused_by_its_place_and_the_file_left_as_it_is(
    tmp_path: Path, whole: bytes, damage: Callable[[bytes], bytes], message: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(damaged := damage(whole))
    with pytest.raises(InvalidInputError) as refused:
        run(path)
    assert str(refused.value).startswith(f"{path}:")
    assert message in str(refused.value)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 3}, "k 2 in the journal, 3 now"),
        ({"name": "dense"}, "retriever name 'bm25' in the journal, 'dense' now"),
        ({"k": 9, "name": "dense"}, "retriever name 'bm25' in the journal, 'dense' now; k 2 in the journal, 9 now"),
    ],
)
def test_a_journal_made_in_another_way_is_refused_with_what_differs(
    tmp_path: Path, whole: bytes, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole)
    with pytest.raises(InvalidInputError) as refused:
        run(path, **options)
    assert str(refused.value).startswith(f"{path}:1: the journal belongs to another run: {message}. Give another path")
    assert path.read_bytes() == whole


def test_a_journal_of_another_evaluation_set_is_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole)
    other = EvalSet([*EVALSET[:5], {"id": "q5", "question": "질문 5", "gold_chunk_ids": ["c7"]}], name="six, mended")
    with pytest.raises(
        InvalidInputError, match=r"evaluation set 'six' with fingerprint \w+ in the journal, 'six, mended' with"
    ):
        run_retriever(other, Search(), k=2, name="bm25", parameters=PARAMETERS, journal=path)
    assert path.read_bytes() == whole


def test_without_resuming_nothing_is_written_over(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole)
    with pytest.raises(InvalidInputError, match="already exists, and resuming is turned off"):
        run(path, resume=False)
    assert path.read_bytes() == whole
    assert len(run(tmp_path / "new.jsonl", resume=False)) == 6


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    refusals = []

    def search(question: str) -> list[str]:
        with pytest.raises(InvalidInputError) as refused:
            run(path)
        refusals.append(str(refused.value))
        return ["a"]

    run_retriever(EVALSET, search, k=2, name="bm25", parameters=PARAMETERS, journal=path)
    assert set(refusals) == {f"{path}: another run is writing to it. Wait until it is done, or give another path."}
    assert sorted(query_ids(path)) == EVALSET.ids


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null", "."])
def test_what_is_no_regular_file_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be resumed|Is a directory"):
        run(Path(path))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match=r"file/run\.jsonl: cannot be written"):
        run(tmp_path / "file" / "run.jsonl")


def test_a_file_put_in_the_place_of_the_journal_while_it_was_opened_is_the_one_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "run.jsonl", tmp_path / "other.jsonl"
    other.write_bytes(b"")

    def replace_first(handle: int) -> bool:
        if other.exists():
            other.replace(path)
        return lock(handle)

    monkeypatch.setattr("krag_eval._utils.journal.journal.lock", replace_first)
    assert len(run(path)) == 6
    assert sorted(query_ids(path)) == EVALSET.ids
