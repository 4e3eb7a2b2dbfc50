"""Logs scored by group: the numbers of one evaluation per group, whatever the files, processes and interruptions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import EvaluationResult, InvalidInputError, MissingDependencyError, evaluate
from krag_eval_scale import score_logs
from tests.support.log_cases import ACTUAL, PREDICTED, WHOLE
from tests.support.marks import nothing_may_match

pytestmark = nothing_may_match

HOW: dict[str, Any] = {"k": (1, 3), "match_method": ["id", "text"]}
MODELS = [("a", "b", None)[number * number % 7 % 3] for number in range(len(ACTUAL))]
TABLE = pa.Table.from_batches([WHOLE.append_column("model", pa.array(MODELS))])


def write(folder: Path, *tables: pa.Table) -> Path:
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=150, write_page_checksum=True)
    return folder


def told(result: EvaluationResult) -> Any:
    return json.loads(result.to_json())


def alone(**how: Any) -> dict[Any, Any]:
    """What `evaluate` says of each group alone."""
    places = {model: [n for n, other in enumerate(MODELS) if other == model] for model in set(MODELS)}
    sides = {model: [[side[n] for n in mine] for side in (ACTUAL, PREDICTED)] for model, mine in places.items()}
    return {model: told(evaluate(actual, predicted, **how)) for model, (actual, predicted) in sides.items()}


def by_group(result: EvaluationResult) -> dict[Any, Any]:
    assert result.groups is not None
    return {key: told(one) for key, one in result.groups.items()}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.full)])
def test_the_groups_of_files_are_those_of_evaluate(tmp_path: Path, workers: int) -> None:
    # Of one file the column is a dictionary: other types of equal values are the same group.
    last = TABLE.slice(900)
    last = last.set_column(3, "model", last.column("model").combine_chunks().dictionary_encode())
    logs = write(tmp_path / "logs", TABLE.slice(0, 500), TABLE.slice(500, 400), last)
    result = score_logs(logs, tmp_path / "out.parquet", by="model", workers=workers, intervals=True, **HOW)
    plain = score_logs(logs, tmp_path / "plain.parquet", intervals=True, **HOW)
    assert told(result) == told(plain)
    assert pq.read_table(tmp_path / "out.parquet") == pq.read_table(tmp_path / "plain.parquet")
    assert plain.groups is None
    assert by_group(result) == alone(intervals=True, **HOW)


def test_folders_named_by_a_value_are_group_columns(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, model in (("model=a", "a"), ("model=b", "b"), ("model=__HIVE_DEFAULT_PARTITION__", None)):
        rows = pa.array([other == model for other in MODELS])
        write(logs / name, TABLE.filter(rows).drop_columns("model"))
    result = score_logs(logs, tmp_path / "out.parquet", by="model", **HOW)
    assert by_group(result) == alone(**HOW)


SCRIPT = """
import sys
from krag_eval_scale import score_logs
from krag_eval_scale import tasks
from tests.support.log_cases import recall_but_three_times_none_is_killed as metric
tasks.MAX_ROW_GROUPS = 1
by = sys.argv[3:]
result = score_logs(sys.argv[1], sys.argv[2], by=by, k=(1, 3), metrics=[metric], match_method=["id", "text"])
print([[*key, one.n_queries, *one.to_dict().values()] for key, one in result.groups.items()])
"""


@pytest.mark.full
def test_groups_of_finished_parts_are_kept_when_a_scoring_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("KRAG_EVAL_TEST_MARKS", str(marks))
    logs = write(tmp_path / "logs", TABLE)
    line = [sys.executable, "-c", SCRIPT, str(logs), str(tmp_path / "out.parquet")]
    assert subprocess.run([*line, "model"], check=False).returncode == -9
    assert len(list((tmp_path / "out.parquet.parts").glob("*.parquet"))) == 1
    (marks / "allowed").touch()
    other = subprocess.run([*line, "query_id"], check=False, capture_output=True, text=True)
    assert "`by` cannot group by 'query_id'" in other.stderr
    output = subprocess.run([*line, "model"], check=True, capture_output=True, text=True).stdout
    # Eight row groups with a call for each of two cut-offs; the calls of the first one are not made again.
    assert len(list(marks.glob("call-*"))) == 3 + 14
    expected = alone(**HOW, metrics="recall")
    rows = [
        [model, expected[model]["n_queries"], *(expected[model]["metrics"][f"recall@{k}"] for k in (1, 3))]
        for model in ("a", "b", None)
    ]
    assert output.strip() == str(rows)


def test_repeated_ids_are_refused_or_counted_with_groups(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", TABLE.slice(0, 300), TABLE.slice(299, 301))
    with pytest.raises(InvalidInputError, match="1 query ids are repeated, for example 'q299'"):
        score_logs(logs, tmp_path / "out.parquet", by="model", **HOW)
    result = score_logs(logs, tmp_path / "other.parquet", by="model", allow_repeated_ids=True, **HOW)
    assert result.groups is not None
    assert sum(one.n_queries for one in result.groups.values()) == result.n_queries == 601


def test_parts_of_other_groups_are_not_used(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", TABLE.slice(0, 300), TABLE.slice(299, 301))
    with pytest.raises(InvalidInputError, match="repeated"):
        score_logs(logs, tmp_path / "out.parquet", by="model", **HOW)
    with pytest.raises(InvalidInputError, match=r"out.parquet.parts.journal.jsonl"):
        score_logs(logs, tmp_path / "out.parquet", **HOW)


def test_columns_of_other_types_in_other_files_are_refused_before_any_work(tmp_path: Path) -> None:
    numbers = TABLE.slice(500).set_column(3, "model", pa.array(range(700)))
    logs = write(tmp_path / "logs", TABLE.slice(0, 500), numbers)
    with pytest.raises(InvalidInputError, match=r"1\.parquet: the column `model` has the type int64, and"):
        score_logs(logs, tmp_path / "out.parquet", by="model", **HOW)
    with pytest.raises(InvalidInputError, match=r"0\.parquet: The input has no column 'team', which `by` names"):
        score_logs(logs, tmp_path / "out.parquet", by=["model", "team"], **HOW)
    assert not list(tmp_path.glob("out.parquet*"))


@pytest.mark.parametrize("intervals", [1.5, "yes"])
def test_wrong_intervals_are_refused_before_a_file_is_looked_for(tmp_path: Path, intervals: Any) -> None:
    with pytest.raises(InvalidInputError, match="`intervals` must be a number between 0 and 1"):
        score_logs(tmp_path / "none", tmp_path / "out.parquet", intervals=intervals)


def test_missing_scipy_is_reported_before_a_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r"intervals.*scipy|scipy.*intervals"):
        score_logs(tmp_path / "none", tmp_path / "out.parquet", intervals=True)
