"""Only files that are new since the last call are scored, and the result is that of one call for all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import EvaluationResult, InvalidInputError, KragEvalWarning, score_logs
from krag_eval.scale.increments import Increments
from tests.support.log_cases import WHOLE, write_logs

HOW: dict[str, Any] = {"k": (1, 3), "match_method": "id", "keep": "all", "by": "day"}
SIZES = (0, 300, 301, 700, 1200)


def write_days(folder: Path, days: range) -> None:
    for day in days:
        rows = pa.Table.from_batches([WHOLE.slice(SIZES[day], SIZES[day + 1] - SIZES[day])])
        (folder / f"day={day}").mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, folder / f"day={day}" / "part-0.parquet", row_group_size=100)


def score(tmp_path: Path, **more: Any) -> EvaluationResult:
    return score_logs(tmp_path / "logs", tmp_path / "scores", incremental=True, **HOW | more)


def refusal(tmp_path: Path, **more: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        score(tmp_path, **more)
    return str(caught.value)


def records(result: EvaluationResult) -> Any:
    assert result.groups is not None
    return result.to_dict(), result.intervals, result.groups.to_records(), result.n_queries


@pytest.mark.full
def test_the_result_and_the_rows_are_those_of_one_call_for_all_files(tmp_path: Path) -> None:
    for day in range(4):
        write_days(tmp_path / "logs", range(day, day + 1))
        result = score(tmp_path, intervals=True)
        out = tmp_path / f"{day}.parquet"
        assert records(result) == records(score_logs(tmp_path / "logs", out, intervals=True, **HOW))
        assert pq.read_table(tmp_path / "scores").equals(pq.read_table(out))
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
        "_krag_eval",
        *(f"part-00000{day}.parquet" for day in range(4)),
    ]
    assert not [*(tmp_path / "scores" / "_krag_eval").glob("scoring-*")]


def test_old_files_are_not_scored_again(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    write_days(tmp_path / "logs", range(2, 4))
    rows: list[int] = []
    result = score(tmp_path, progress=lambda seen: rows.append(seen.total))
    assert (set(rows), result.n_queries) == ({SIZES[4] - SIZES[2]}, SIZES[4])
    again = score(tmp_path, progress=lambda seen: rows.append(-1), workers=2)
    assert -1 not in rows
    assert records(again) == records(result)


@pytest.mark.parametrize("step", ["commit", "states"])
def test_a_call_that_was_stopped_is_resumed_and_counts_nothing_twice(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    write_days(tmp_path / "logs", range(3))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Increments, step, stop)
        with pytest.raises(KeyboardInterrupt):
            score(tmp_path)
    write_days(tmp_path / "logs", range(4))  # there may be more when it is resumed
    result = score(tmp_path)
    out = tmp_path / "out.parquet"
    assert records(result) == records(score_logs(tmp_path / "logs", out, **HOW))
    assert sorted(pq.read_table(tmp_path / "scores").column("query_id").to_pylist()) == sorted(
        pq.read_table(out).column("query_id").to_pylist()
    )


def test_a_query_id_that_was_scored_before_is_refused_unless_repeats_are_allowed(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    (tmp_path / "logs" / "day=9").mkdir()
    shutil.copy(tmp_path / "logs" / "day=1" / "part-0.parquet", tmp_path / "logs" / "day=9" / "part-0.parquet")
    assert refusal(tmp_path).startswith("1 query ids are repeated, for example 'q300'.")
    assert score(tmp_path, allow_repeated_ids=True).n_queries == SIZES[2] + 1


def test_a_file_that_has_changed_is_refused_and_one_that_was_copied_is_not(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    path = tmp_path / "logs" / "day=0" / "part-0.parquet"
    os.utime(path, (1, 1))
    assert score(tmp_path).n_queries == SIZES[2]
    pq.write_table(pq.read_table(path, partitioning=None).slice(1), path)
    assert refusal(tmp_path) == (
        f"{path}: has changed since it was scored into {tmp_path}/scores/part-000000.parquet. Restore it, or score all "
        "files into a new folder."
    )


def test_a_file_that_has_disappeared_still_counts_with_a_warning(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    (tmp_path / "logs" / "day=0" / "part-0.parquet").unlink()
    with pytest.warns(KragEvalWarning, match="1 file scored before into .* are not among the logs now, such as"):
        assert score(tmp_path).n_queries == SIZES[2]


@pytest.mark.parametrize(
    "change", [{"k": 2}, {"keep": ["day"]}, {"by": None}, {"names": "safe"}, {"metrics": "recall"}], ids=str
)
def test_a_folder_of_other_settings_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(1))
    score(tmp_path)
    told = refusal(tmp_path, **change)
    assert told.startswith(f"{tmp_path}/scores/_krag_eval/journal.jsonl:1: is the journal of another incremental scor")


def flip(path: Path, place: Callable[[int], int]) -> None:
    content = bytearray(path.read_bytes())
    content[place(len(content))] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("where", [-300, -100, -20])
@pytest.mark.parametrize("name", ["part-000000.parquet", "_krag_eval/part-000000.ids.npy"])
def test_a_damaged_file_of_an_earlier_call_is_refused(name: str, where: int, tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(2))
    score(tmp_path)
    flip(tmp_path / "scores" / name, lambda size: size + where)
    part, ids = (tmp_path / "scores" / one for one in ("part-000000.parquet", "_krag_eval/part-000000.ids.npy"))
    told = f"{part}: is missing or damaged, or {ids} is. Restore them, or score all files into a new folder."
    assert refusal(tmp_path) == told
    (tmp_path / "scores" / name).unlink()
    assert refusal(tmp_path) == told


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(1))
    score(tmp_path)
    flip(tmp_path / "scores" / "_krag_eval" / "journal.jsonl", lambda size: size - 100)
    assert "the checksum of the row is wrong" in refusal(tmp_path)


def test_bad_rows_of_all_calls_are_counted(tmp_path: Path) -> None:
    for day in range(2):
        write_days(tmp_path / "logs", range(day, day + 1))
        path = tmp_path / "logs" / f"day={day}" / "part-0.parquet"
        rows = pq.read_table(path, partitioning=None).to_pylist()
        rows[0]["predicted"] = None
        pq.write_table(pa.Table.from_pylist([*rows, rows[0] | {"query_id": f"more-{day}"}], WHOLE.schema), path)
        with pytest.warns(KragEvalWarning):
            result = score(tmp_path, max_bad_rows=2)
        assert result.n_bad_rows == 2 * (day + 1)
    assert score(tmp_path).n_bad_rows == 4
    assert len(list((tmp_path / "scores" / "_krag_eval").glob("*.rejected.jsonl"))) == 2


def test_a_kept_column_of_a_wider_type_is_refused(tmp_path: Path) -> None:
    for day, type_ in enumerate((pa.int32(), pa.int16(), pa.int64())):
        rows = pa.Table.from_batches([WHOLE.slice(day, 1)]).append_column("n", pa.array([1], type_))
        (tmp_path / "logs" / f"day={day}").mkdir(parents=True)
        pq.write_table(rows, tmp_path / "logs" / f"day={day}" / "0.parquet")
        if day < 2:
            assert score(tmp_path, keep="n").n_queries == day + 1
    assert refusal(tmp_path, keep="n") == (
        f"{tmp_path}/logs/day=2/0.parquet: the column `n` needs the type int64, and in "
        f"{tmp_path}/scores/part-000001.parquet it has the type int32. Write the files with that type, or score all "
        "files into a new folder."
    )


def test_a_folder_with_something_else_and_arguments_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    how: dict[str, Any] = {"by": None, "keep": ()}
    assert refusal(tmp_path, force=True, **how).startswith("`incremental` does not work with `force`: to start again,")
    assert refusal(tmp_path, gold=tmp_path / "logs", **how).startswith("`incremental` does not work with `gold`: join")
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "mine.txt").touch()
    assert refusal(tmp_path, **how) == (
        f"{tmp_path}/scores: was not made by `incremental=True`. Give the path of a new folder, or of one that was."
    )
    with pytest.raises(InvalidInputError, match="`out` must be the path of a folder on this machine"):
        score_logs(tmp_path / "logs", "s3://bucket/scores", incremental=True)


def test_only_one_call_at_a_time_scores_into_a_folder(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(1))

    def again(_: object) -> None:
        assert "another incremental scoring of logs is writing to it. Wait until" in refusal(tmp_path)
        told.append("refused")

    told: list[str] = []
    score(tmp_path, progress=again)
    assert told


@pytest.mark.parametrize("rows_left", [0, 1, 2])
def test_scores_are_not_replaced_where_the_journal_has_lost_them(tmp_path: Path, rows_left: int) -> None:
    for day in range(3):
        write_days(tmp_path / "logs", range(day, day + 1))
        score(tmp_path)
    shutil.rmtree(tmp_path / "logs")  # as logs are that have been scored
    write_days(tmp_path / "logs", range(3, 4))
    journal = tmp_path / "scores" / "_krag_eval" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: rows_left + 1]))
    before = {path: path.read_bytes() for path in (tmp_path / "scores").glob("*.parquet")}
    assert refusal(tmp_path) == (
        f"{journal}: is damaged: it lacks {tmp_path}/scores/part-00000{rows_left}.parquet. Restore it, or score all "
        "files into a new folder."
    )
    assert {path: path.read_bytes() for path in (tmp_path / "scores").glob("*.parquet")} == before


@pytest.mark.parametrize("keep", [0, 1, -100])
def test_an_earlier_file_whose_end_is_damaged_is_named(tmp_path: Path, keep: int) -> None:
    write_days(tmp_path / "logs", range(1))
    score(tmp_path)
    write_days(tmp_path / "logs", range(2))
    part = tmp_path / "scores" / "part-000000.parquet"
    part.write_bytes(part.read_bytes()[:keep])
    assert refusal(tmp_path).startswith(f"{part}: is missing or damaged, or ")
