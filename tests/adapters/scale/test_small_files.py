"""Many small files are scored together: the same bits, and every message still names the file that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, RunProgress
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.ranking import recall
from krag_eval_scale import ColumnarScorer, score_logs
from krag_eval_scale import logs as scoring
from krag_eval_scale.files import RowGroup
from krag_eval_scale.tasks import Task, combine, divide, read_batches
from tests.adapters.scale.test_logs_bad_input import HOW, refusal, row
from tests.support.arrow_cases import SCHEMA
from tests.support.log_cases import WHOLE, damage, write_logs, write_rows

BOUNDS = tuple(range(0, 1201, 40))
SIDES = ("actual", "predicted")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(9000, 1), (5000, 1), (3000, 1), (300, 1), (8192, 1)], [[0], [1, 2], [3], [4]]),
        ([(1, 1 << 24), (1, 1 << 24), (1, 1), (1, 1 << 26)], [[0, 1], [2], [3]]),
        ([(1, 1)] * 600, [[*range(256)], [*range(256, 512)], [*range(512, 600)]]),
        ([], []),
    ],
)
def test_row_groups_that_follow_each_other_are_put_together_up_to_a_limit(
    sizes: list[tuple[int, int]], expected: list[list[int]]
) -> None:
    tasks = divide(RowGroup("logs.parquet", n, rows, size) for n, (rows, size) in enumerate(sizes))
    assert [[group.number for group in task.groups] for task in tasks] == expected
    assert [task.number for task in tasks] == list(range(len(expected)))


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.full)])
def test_small_files_are_scored_at_once_with_the_rows_and_the_result_of_one_batch(tmp_path: Path, workers: int) -> None:
    write_logs(tmp_path / "logs", BOUNDS, row_group=15)
    names = sorted((tmp_path / "logs").iterdir(), key=lambda path: int(path.stem))
    seen: list[RunProgress] = []
    result = score_logs(names, tmp_path / "out.parquet", progress=seen.append, workers=workers, intervals=True, **HOW)
    scorer = ColumnarScorer(**HOW)
    rows, state = scorer.score_with_state(WHOLE)
    expected = scorer.finalize(state, intervals=True)
    assert (result.to_json(), result.intervals) == (expected.to_json(), expected.intervals)
    assert pq.read_table(tmp_path / "out.parquet").replace_schema_metadata().combine_chunks().to_batches() == [rows]
    assert [one.done for one in seen] == [0, 1200, 1200]  # thirty files of three row groups are one task


@pytest.mark.full
def test_the_file_is_the_same_to_the_last_byte_however_it_was_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_scale.output._ROWS_AT_ONCE", 100)
    logs = write_logs(tmp_path / "logs", (0, 500, 540, 700, 1200), row_group=90)
    for name, most in (("together", 256), ("alone", 1)):
        monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROW_GROUPS", most)
        score_logs(logs, tmp_path / name, **HOW)
    assert pq.read_metadata(tmp_path / "alone").num_row_groups > 4
    assert (tmp_path / "together").read_bytes() == (tmp_path / "alone").read_bytes()


def test_files_of_different_types_are_scored_by_themselves(tmp_path: Path) -> None:
    ids = pa.list_(pa.struct([("id", pa.int64())]))
    numbers = pa.schema([("query_id", pa.int64()), ("actual", ids), ("predicted", ids)])
    plain: list[dict[str, Any]] = [
        {"query_id": n, "actual": [{"id": n}], "predicted": [{"id": 4}, {"id": n}]} for n in range(6)
    ]
    texts = [
        {"query_id": str(r["query_id"]), **{side: [{"id": str(d["id"])} for d in r[side]] for side in SIDES}}
        for r in plain
    ]
    logs = [
        write_rows(tmp_path / f"{n}.parquet", [(texts if n % 2 else plain)[n]], SCHEMA if n % 2 else numbers)
        for n in range(6)
    ]
    score_logs(logs, tmp_path / "out.parquet", **HOW)
    expected = ColumnarScorer(**HOW).score_batch(pa.RecordBatch.from_pylist(texts, SCHEMA))
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == expected.to_pylist()


def test_files_that_lack_values_or_fields_which_others_have_are_scored_with_them(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "query_id": "q0",
            "actual": [{"id": "a", "grade": 2.0}, {"id": "b", "grade": 1.0}],
            "predicted": [{"id": "b"}],
        },
        {"query_id": "q1", "actual": [{"id": "a", "grade": None}], "predicted": [{"id": "a"}]},
        {"query_id": "q2", "actual": [], "predicted": [{"id": "a"}]},
        {"query_id": "q3", "actual": [{"id": "a"}], "predicted": []},
        {"query_id": "q4", "actual": [{"id": "a", "grade": 3.0}], "predicted": [{"id": "b"}, {"id": "a"}]},
    ]
    logs = [write_rows(tmp_path / f"{n}.parquet", [one]) for n, one in enumerate(rows)]
    scorer = ColumnarScorer(**HOW | {"metrics": "ndcg"})
    (task,) = divide(RowGroup(str(path), 0, 1, 100) for path in logs)
    assert [len(group) for group in combine(read_batches(task, scorer.fields, allow_repeated_ids=False))] == [5]
    score_logs(logs, tmp_path / "out.parquet", **HOW | {"metrics": "ndcg"})
    expected = scorer.score_batch(pa.RecordBatch.from_pylist(rows, SCHEMA)).to_pylist()
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == expected


def test_a_query_that_cannot_be_scored_is_named_with_its_own_file(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", (0, 40, 80, 120), row_group=15)
    bad = [row("good"), row("bad", actual=[{"id": "a", "grade": float("inf")}])]
    logs.insert(2, write_rows(tmp_path / "logs" / "bad.parquet", bad, SCHEMA))
    told = refusal(logs, tmp_path / "out.parquet")
    assert told.startswith(f"{logs[2]}: row group 0, rows from 0: `actual` of query 'bad', document 1: the grade")


def test_a_damaged_page_is_named_with_its_own_file(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", (0, 40, 80, 120), row_group=40)
    damage(logs[1], "predicted.list.element.id")
    assert refusal(logs, tmp_path / "out.parquet").startswith(f"{logs[1]}: row group 0: cannot be read as Parquet (")


def test_a_query_that_comes_twice_in_one_file_is_named_with_that_file(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "1.parquet", [row("a"), row("b")], SCHEMA)
    second = write_rows(tmp_path / "2.parquet", [row("c"), row("d"), row("c")], SCHEMA)
    told = refusal([first, second], tmp_path / "out.parquet")
    assert told.startswith(f"{second}: row group 0, rows from 0: 1 query ids are repeated, for example 'c'.")


def recall_of_at_most_two(judged: Judgments, k: Any) -> FloatArray:
    if len(judged) > 2:
        raise ZeroDivisionError("more than two")
    return recall(judged, k)


def test_where_only_all_together_fail_the_files_are_told_from_which_to_which(tmp_path: Path) -> None:
    logs = [write_rows(tmp_path / f"{n}.parquet", [row(f"{n}-{m}") for m in "ab"], SCHEMA) for n in range(3)]
    told = refusal(logs, tmp_path / "out.parquet", metrics=[recall_of_at_most_two])
    assert told.startswith(
        f"{logs[0]}: row group 0, rows from 0, to {logs[2]}: row group 0, rows from 0: could not be scored "
        "(ZeroDivisionError: more than two)."
    )


def test_parts_of_other_tasks_are_never_taken_for_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [write_rows(tmp_path / f"{n}.parquet", [row("twice")], SCHEMA) for n in range(3)]
    monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROW_GROUPS", 1)
    assert "'twice'" in refusal(logs, tmp_path / "out.parquet")
    monkeypatch.undo()
    assert "journal.jsonl:1: is the journal of another scoring of logs: units [" in refusal(
        logs, tmp_path / "out.parquet"
    )


def test_a_file_that_is_written_to_while_it_is_scored_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [write_rows(tmp_path / f"{n}.parquet", [row(f"{n}")], SCHEMA) for n in range(3)]

    def divide_and_change(groups: list[RowGroup]) -> list[Task]:
        write_rows(logs[1], [row("1"), row("more")], SCHEMA)
        return divide(groups)

    monkeypatch.setattr(scoring, "divide", divide_and_change)
    told = refusal(logs, tmp_path / "out.parquet")
    assert told.startswith(f"{logs[1]}: row group 0: has changed since the scoring started.")


def test_a_journal_says_how_many_files_it_is_of_whatever_their_number(tmp_path: Path) -> None:
    logs = [write_rows(tmp_path / f"{n}.parquet", [row("twice")], SCHEMA) for n in range(9)]
    refusal(logs, tmp_path / "out.parquet")
    told = refusal(logs[:8], tmp_path / "out.parquet")
    assert "files '9 of 9 rows, " in told
    assert "' there, '8 of 8 rows, " in told
    with pytest.raises(InvalidInputError, match="are repeated"):
        score_logs(logs, tmp_path / "out.parquet", **HOW)


def test_a_file_that_disappears_while_others_are_scored_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [write_rows(tmp_path / f"{n}.parquet", [row(f"{n}")], SCHEMA) for n in range(3)]

    def divide_and_lose(groups: list[RowGroup]) -> list[Task]:
        logs[2].unlink()
        return divide(groups)

    monkeypatch.setattr(scoring, "divide", divide_and_lose)
    told = refusal(logs, tmp_path / "out.parquet")
    assert told == f"{logs[2]}: has disappeared. Do not remove logs while they are scored, and run again."
