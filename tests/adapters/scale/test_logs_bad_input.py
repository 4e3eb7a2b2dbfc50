"""What cannot be scored is named with its file, row group and query; what was scored before stands."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, KragEvalWarning, UnknownArgumentError
from krag_eval_scale import score_logs
from krag_eval_scale.output import CompleteFile
from tests.support.arrow_cases import SCHEMA
from tests.support.log_cases import damage, write_logs, write_rows

HOW: dict[str, Any] = {"k": 2, "match_method": "id", "metrics": "recall"}


def refusal(logs: object, out: Path, **more: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        score_logs(logs, out, **HOW | more)  # type: ignore[arg-type]
    return str(caught.value)


def row(query_id: str, **columns: Any) -> dict[str, Any]:
    return {"query_id": query_id, "actual": [{"id": "a"}], "predicted": [{"id": "a"}]} | columns


def test_a_corrupt_page_is_named_and_what_was_scored_before_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROW_GROUPS", 1)
    paths = write_logs(tmp_path / "logs")
    sound = paths[1].read_bytes()
    damage(paths[1], "predicted.list.element.id")
    told = refusal(tmp_path / "logs", tmp_path / "out.parquet")
    assert told.startswith(f"{paths[1]}: row group 0: cannot be read as Parquet (")
    assert "CRC checksum verification failed" in told
    assert len(list((tmp_path / "out.parquet.parts").glob("*.parquet"))) == 4  # the row groups of the first file
    modified = paths[1].stat()
    paths[1].write_bytes(sound)
    os.utime(paths[1], ns=(modified.st_atime_ns, modified.st_mtime_ns))
    assert score_logs(tmp_path / "logs", tmp_path / "out.parquet", **HOW).n_queries == 1200


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_a_query_that_cannot_be_scored_is_named_with_its_row_group(tmp_path: Path, workers: int) -> None:
    rows = [row(f"q{n}") for n in range(30)]
    rows[17]["actual"] = [{"id": "a", "grade": float("inf")}]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / "logs.parquet", row_group_size=10)
    told = refusal(tmp_path / "logs.parquet", tmp_path / "out.parquet", workers=workers)
    assert told.startswith(
        f"{tmp_path}/logs.parquet: row group 1, rows from 0: `actual` of query 'q17', document 1: the grade inf cannot"
    )


def test_a_document_without_an_id_but_with_a_text_matches_nothing_and_is_counted(tmp_path: Path) -> None:
    rows = [row("q1", predicted=[{"text": "no id"}, {"id": "a"}]), row("q2")]
    result = score_logs(write_rows(tmp_path / "logs.parquet", rows, SCHEMA), tmp_path / "out.parquet", **HOW)
    assert (result["recall@2"], result.unmatchable) == (1, {"actual": 0, "predicted": 1})


def test_queries_that_come_twice_in_different_files_are_refused_with_three_named(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "1.parquet", [row(id_) for id_ in "abcdef"], SCHEMA)
    second = write_rows(tmp_path / "2.parquet", [row(id_) for id_ in "xbcdey"], SCHEMA)
    told = refusal([first, second], tmp_path / "out.parquet")
    assert told.startswith("4 query ids are repeated, for example 'b', 'c', 'd'. Each query must be one row")
    assert not (tmp_path / "out.parquet").exists()
    allowed = score_logs([first, second], tmp_path / "out.parquet", allow_repeated_ids=True, **HOW)
    assert allowed.n_queries == 12


def test_a_part_that_is_gone_from_the_disk_is_scored_again(tmp_path: Path) -> None:
    logs = [write_rows(tmp_path / f"{name}.parquet", [row("q1")], SCHEMA) for name in "ab"]
    told = refusal(logs, tmp_path / "out.parquet")
    (tmp_path / "out.parquet.parts" / "000000.parquet").unlink()
    assert refusal(logs, tmp_path / "out.parquet") == told


def test_files_that_are_none_or_no_parquet_are_named(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert refusal(tmp_path / "no*.parquet", out).startswith(f"{tmp_path}/no*.parquet: no such file. Give the path")
    assert refusal([], out).startswith("`logs` must be a path, a pattern such as")
    pointer = tmp_path / "pointer.parquet"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert "is a Git LFS pointer" in refusal(pointer, out)
    pointer.write_bytes(b"PAR1 but not for long")
    assert refusal(pointer, out).startswith(f"{pointer}: cannot be read as Parquet (")


def test_a_column_of_another_type_is_named_with_its_file_before_anything_is_scored(tmp_path: Path) -> None:
    good = write_rows(tmp_path / "1.parquet", [row("q")], SCHEMA)
    bad = write_rows(tmp_path / "2.parquet", [row("r") | {"predicted": [0.5]}])
    told = refusal([good, bad], tmp_path / "out.parquet")
    assert told.startswith(f"{bad}: The column `predicted` has the type list<element: double>, and it needs list<")
    assert not (tmp_path / "out.parquet.parts").exists()


def test_empty_row_groups_and_files_are_passed_over_unless_there_is_nothing_else(tmp_path: Path) -> None:
    empty = write_rows(tmp_path / "0.parquet", [], SCHEMA)
    with pq.ParquetWriter(tmp_path / "1.parquet", SCHEMA) as writer:
        for rows in ([], [row("q")], []):
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
    assert score_logs([empty, tmp_path / "1.parquet"], tmp_path / "out.parquet", **HOW).n_queries == 1
    assert refusal(empty, tmp_path / "no.parquet") == f"{empty}: has no rows. Give at least one query."


def test_nothing_is_written_over_unless_asked_for(tmp_path: Path) -> None:
    logs, out = write_rows(tmp_path / "logs.parquet", [row("q")], SCHEMA), tmp_path / "out.parquet"
    out.write_text("mine")
    assert refusal(logs, out) == f"{out}: exists already. Give another path, or replace it with force=True."
    assert out.read_text() == "mine"
    assert refusal(logs, logs, force=True).startswith(f"{logs}: is also the output.")
    assert score_logs(logs, out, force=True, **HOW).n_queries == 1
    assert pq.read_table(out).num_rows == 1


def test_parts_of_another_scoring_are_never_mixed_in(tmp_path: Path) -> None:
    rows = [row("q1"), row("q1")]
    logs, out = write_rows(tmp_path / "logs.parquet", rows, SCHEMA), tmp_path / "out.parquet"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), logs, row_group_size=1)
    assert "'q1'" in refusal(logs, out)  # two row groups are done
    told = refusal(logs, out, k=3)
    assert told.startswith(f"{out}.parts/journal.jsonl:1: is the journal of another scoring of logs: signature ")
    write_rows(logs, [row("q1"), row("q2"), row("q3")], SCHEMA)
    assert "files " in refusal(logs, out)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"workers": 0}, "`workers` must be an integer of at least 1"),
        ({"match_method": "sound"}, "`match_method` must be one of"),
        ({"workers": 2, "normalize": lambda text: text, "match_method": "text"}, "Define functions with `def`"),
    ],
)
def test_an_argument_that_cannot_be_used_is_told_at_once(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    logs = write_rows(tmp_path / "logs.parquet", [row("q1", actual=[{"text": "a"}])], SCHEMA)
    assert told in refusal(logs, tmp_path / "out.parquet", **wrong)


def test_a_disk_that_is_full_at_the_end_is_told_and_every_part_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, out = write_rows(tmp_path / "logs.parquet", [row("q")], SCHEMA), tmp_path / "out.parquet"

    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    def full(file: CompleteFile) -> None:
        file._writer.close()
        monkeypatch.setattr(file._writer, "close", no_room)
        no_room()

    with monkeypatch.context() as patched:
        patched.setattr(CompleteFile, "_write_group", full)
        told = refusal(logs, out)
    assert told.startswith(f"{out}: cannot be written from its parts ([Errno 28] No space left on device). All parts")
    assert score_logs(logs, out, **HOW).n_queries == 1


@pytest.mark.parametrize("out", ["a file/out.parquet", "a file/deeper/out.parquet"])
def test_a_folder_that_cannot_be_written_to_is_told_by_the_name_of_the_file(tmp_path: Path, out: str) -> None:
    logs = write_rows(tmp_path / "logs.parquet", [row("q")], SCHEMA)
    (tmp_path / "a file").write_text("")
    told = refusal(logs, tmp_path / out)
    assert told == (
        f"{tmp_path}/{out}: cannot be written (Not a directory). Give a path in a folder that you may write to."
    )
    assert score_logs(logs, tmp_path / "new" / "folder" / "out.parquet", **HOW).n_queries == 1


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"top_k": 3}, "'top_k'. It is called `k` here."),
        ({"metric": "mrr"}, "'metric'. It is called `metrics` here."),
        ({"n_jobs": 2}, "'n_jobs'. It is called `workers` here."),
        ({"overwrite": True}, "'overwrite'. It is called `force` here."),
        ({"matching": "id"}, "'matching'. It is called `match_method` here."),
    ],
)
def test_an_argument_as_other_tools_call_it_is_told_before_anything_is_read(
    tmp_path: Path, named: dict[str, Any], told: str
) -> None:
    with pytest.raises(UnknownArgumentError) as caught:
        score_logs("nowhere", tmp_path / "out.parquet", **named)
    assert str(caught.value).startswith(f"`score_logs` has no argument {told} It takes: logs, out, k,")


def test_names_that_no_file_can_have_are_told(tmp_path: Path) -> None:
    logs, long = write_rows(tmp_path / "logs.parquet", [row("q")], SCHEMA), "x" * 300
    assert refusal(logs, tmp_path / long).startswith(f"{tmp_path}/{long}: cannot be written (File name too long). Give")
    assert refusal(tmp_path / long, tmp_path / "out") == (
        f"{tmp_path}/{long}: cannot be read (File name too long). Check the path."
    )
    assert refusal(logs, Path("-")).startswith("`out` must be the path of a file on this machine, got ")


def test_a_folder_that_may_not_be_read_is_told_and_never_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "logs" / "closed"
    closed.mkdir(parents=True)
    write_rows(tmp_path / "logs" / "open.parquet", [row("q")], SCHEMA)
    listing = os.scandir

    def refusing(folder: str) -> Any:  # stands in for the system, which lets root read everything
        if Path(folder) == closed:
            raise PermissionError(13, "Permission denied", str(folder))
        return listing(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    told = refusal(tmp_path / "logs", tmp_path / "out.parquet")
    assert told == f"{closed}: cannot be read (Permission denied). Check the path."


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "compression": None}, {"data_page_version": "2.0"}])
def test_logs_whose_pages_have_no_checksums_are_named_once(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = write_logs(tmp_path / "logs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score_logs(paths, tmp_path / "out.parquet", k=1, match_method="id")
    for path in paths[1:]:
        pq.write_table(pq.read_table(path), path, **options)
    with pytest.warns(KragEvalWarning) as told:
        score_logs(paths, tmp_path / "other.parquet", k=1, match_method="id")
    (message,) = [str(one.message) for one in told]
    assert message.startswith(f"{paths[1]}: has no page checksums, so damaged pages would go unnoticed.")
    assert message.endswith("Programs that write Parquet have an option for them.")
    for path in paths[1:]:
        pq.write_table(pq.read_table(path), path, write_page_checksum=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score_logs(paths, tmp_path / "third.parquet", k=1, match_method="id")


def test_ids_that_are_only_spelled_differently_are_told_of_once_with_an_example(tmp_path: Path) -> None:
    spelled = [("doc01", "doc1"), ("doc02", "doc2"), ("doc03", "doc3"), ("a", "a")]
    rows = [{"query_id": gold, "actual": [{"id": gold}], "predicted": [{"id": found}]} for gold, found in spelled]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet", write_page_checksum=True)
    with pytest.warns(KragEvalWarning) as caught:
        score_logs(tmp_path / "log.parquet", tmp_path / "out.parquet", k=2, match_method="id")
    assert [str(one.message).partition(" differs")[0] for one in caught] == [
        "In 3 of 4 queries, a gold id without a match"
    ]
    assert "'doc01' and 'doc1'" in str(caught[0].message)
