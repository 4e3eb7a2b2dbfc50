"""Files scored in parts give the rows and the result of one batch, to the last bit."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import EvaluationResult, InvalidInputError, RunProgress
from krag_eval_scale import ColumnarScorer, score_logs
from tests.support.log_cases import (
    WHOLE,
    damage,
    recall_but_always_killed,
    recall_but_the_first_process_is_killed,
    write_logs,
)

HOW: dict[str, Any] = {"k": (1, 3), "match_method": ["id", "rougeL"]}


def told(result: EvaluationResult) -> tuple[Any, ...]:
    return result.to_dict(), result.intervals, result.undefined, result.signature, result.n_queries, result.unmatchable


def expected(**how: Any) -> tuple[pa.RecordBatch, tuple[Any, ...]]:
    scorer = ColumnarScorer(**how)
    rows, state = scorer.score_with_state(WHOLE)
    return rows, told(scorer.finalize(state, intervals=True))


def rows_of(path: Path) -> pa.Table:
    return pq.read_table(path, page_checksum_verification=True).replace_schema_metadata()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.full)])
def test_rows_and_result_are_those_of_one_batch(tmp_path: Path, workers: int) -> None:
    write_logs(tmp_path / "logs")
    seen: list[RunProgress] = []
    result = score_logs(
        tmp_path / "logs", tmp_path / "out.parquet", workers=workers, intervals=True, progress=seen.append, **HOW
    )
    rows, aggregates = expected(**HOW)
    assert told(result) == aggregates
    assert rows_of(tmp_path / "out.parquet").combine_chunks().to_batches() == [rows]
    assert (seen[0].done, seen[-1].done, seen[-1].total, seen[-1].is_over) == (0, 1200, 1200, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "out.parquet"]


def test_what_is_written_says_how_it_was_scored_and_its_pages_have_checksums(tmp_path: Path) -> None:
    result = score_logs(write_logs(tmp_path / "logs"), tmp_path / "out.parquet", **HOW)
    metadata = pq.read_metadata(tmp_path / "out.parquet").metadata
    assert metadata[b"krag_eval.signature"].decode() == result.signature
    damage(tmp_path / "out.parquet", "ndcg@3")
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        rows_of(tmp_path / "out.parquet")


@pytest.mark.full
def test_patterns_folders_and_addresses_name_the_same_files(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    named: list[Any] = [
        f"{tmp_path}/logs/*.parquet",
        tmp_path / "logs",
        (tmp_path / "logs").as_uri(),
        (tmp_path / "logs").as_uri() + "/?.par*",
    ]
    results = [score_logs(logs, tmp_path / f"{n}.parquet", **HOW) for n, logs in enumerate([*named, named[:1] * 2])]
    assert {str(told(result)) for result in results} == {str(told(results[0]))}
    one = score_logs((tmp_path / "logs" / "0.parquet").as_uri(), tmp_path / "one.parquet", **HOW)
    assert one.n_queries == 500


@pytest.mark.full
def test_a_killed_process_is_replaced_and_no_bit_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRAG_EVAL_TEST_MARKS", str(tmp_path))
    how = HOW | {"metrics": ["ndcg", recall_but_the_first_process_is_killed]}
    result = score_logs(write_logs(tmp_path / "logs"), tmp_path / "out.parquet", workers=2, intervals=True, **how)
    assert (tmp_path / "killed").exists()
    rows, aggregates = expected(**how)
    assert told(result) == aggregates
    assert rows_of(tmp_path / "out.parquet").combine_chunks().to_batches() == [rows]


@pytest.mark.full
def test_a_row_group_that_kills_every_process_is_named_among_those_scored_together(tmp_path: Path) -> None:
    paths = write_logs(tmp_path / "logs", bounds=(0, *range(2, 24, 2)))
    killing = [n for n in range(11) if any(_kills(row) for row in WHOLE.slice(2 * n, 2).to_pylist())]
    assert (len(killing) > 0, 0 in killing) == (True, False)
    with pytest.raises(InvalidInputError) as caught:
        score_logs(paths, tmp_path / "out.parquet", workers=2, **HOW | {"metrics": recall_but_always_killed})
    place = f"{paths[killing[0]]}: row group 0, rows from 0"
    assert str(caught.value).startswith(f"{place}: its process was killed 4 times. The system does that if memory runs")
    assert not (tmp_path / "out.parquet").exists()


def _kills(row: dict[str, Any]) -> bool:
    grades = {d["id"] or d["text"]: d["grade"] for d in row["actual"]}
    return len(row["predicted"]) == 7 and sum(grade is None or grade > 0 for grade in grades.values()) == 3


SCRIPT = """
import sys
from krag_eval_scale import score_logs
from krag_eval_scale import tasks
from tests.support.log_cases import recall_but_three_times_none_is_killed as metric
tasks.MAX_ROW_GROUPS = 1
result = score_logs(sys.argv[1], sys.argv[2], k=(1, 3), metrics=[metric], match_method=["id", "rougeL"])
print(result.to_dict())
"""


@pytest.mark.full
def test_a_scoring_that_was_killed_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("KRAG_EVAL_TEST_MARKS", str(marks))
    write_logs(tmp_path / "logs")
    line = [sys.executable, "-c", SCRIPT, str(tmp_path / "logs"), str(tmp_path / "out.parquet")]
    assert subprocess.run(line, check=False).returncode == -9
    assert (len(list(marks.glob("call-*"))), (tmp_path / "out.parquet").exists()) == (3, False)
    (marks / "allowed").touch()
    output = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    # Nine row groups with a call for each of two cut-offs: the first was done, of the second one call is made again.
    assert len(list(marks.glob("call-*"))) == 3 + 16
    whole = ColumnarScorer((1, 3), metrics="recall", match_method=["id", "rougeL"])
    values = whole.finalize(whole.partial_state(WHOLE)).to_dict()
    name = "recall_but_three_times_none_is_killed"
    assert ast.literal_eval(output) == {f"{name}@{k}": values[f"recall@{k}"] for k in (1, 3)}
    assert rows_of(tmp_path / "out.parquet").column("query_id").to_pylist() == [f"q{n}" for n in range(1200)]
    assert not (tmp_path / "out.parquet.parts").exists()
