"""Logs with one row a retrieved document give the numbers and rows of the same queries in lists, to the last bit."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from krag_eval import ColumnarScorer, InvalidInputError, score_logs
from krag_eval.scale.batch import Fields
from krag_eval.scale.long_form import LongForm, _in_lists, _out_of_lists
from tests.scale.test_logs_same_numbers import rows_of, told
from tests.support.arrow_cases import as_batch
from tests.support.log_cases import recall_but_three_times_none_is_killed, write_rows
from tests.support.long_logs import Row, plain_join, random_logs

HOW: dict[str, Any] = {"k": (1, 3), "match_method": "id"}


def joined(folder: Path, logs: list[Row] | Path, gold: list[Row] | Path, kmax: int = 3) -> list[Row]:
    """What logs and gold become, as rows."""
    sides = {"logs": logs, "gold": gold}
    files = [
        [str(write_rows(folder / f"{name}.parquet", side) if isinstance(side, list) else side)]
        for name, side in sides.items()
    ]
    LongForm(files[0], files[1], kmax, Fields("id", "text", ("grade", "relevance"))).join(folder / "joined.parquet")
    rows: list[Row] = pq.read_table(folder / "joined.parquet", page_checksum_verification=True).to_pylist()
    return rows


def ids_found(folder: Path, logs: list[Row], kmax: int = 9) -> list[Any]:
    rows = joined(folder, [{"query_id": "q"} | row for row in logs], [{"query_id": "q", "id": "a"}], kmax)
    return [document["id"] for document in rows[0]["predicted"]]


def refusal(logs: object, gold: object, out: Path, **more: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        score_logs(logs, out, gold=gold, **HOW | more)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.full)])
def test_numbers_and_rows_are_those_of_a_plain_join(tmp_path: Path, workers: int) -> None:
    logs, gold = random_logs(seed=3)
    for part in range(3):
        table = pa.Table.from_pylist(logs[part::3])
        pq.write_table(table, tmp_path / f"log-{part}.parquet", row_group_size=100, write_page_checksum=True)
    write_rows(tmp_path / "gold.parquet", gold)
    result = score_logs(
        tmp_path / "log-*.parquet",
        tmp_path / "out.parquet",
        gold=tmp_path / "gold.parquet",
        workers=workers,
        intervals=True,
        **HOW,
    )
    plain = plain_join(logs, gold, kmax=3)
    scorer = ColumnarScorer(**HOW)
    batch = as_batch(*zip(*plain.values(), strict=True))
    batch = batch.set_column(0, "query_id", pa.array(list(plain)))
    rows, state = scorer.score_with_state(batch)
    assert told(scorer.finalize(state, intervals=True)) == told(result)
    assert [rows] == rows_of(tmp_path / "out.parquet").combine_chunks().to_batches()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "gold.parquet",
        *(f"log-{part}.parquet" for part in range(3)),
        "out.parquet",
    ]


def test_lowest_ranks_come_first_and_ties_go_by_score_then_id_then_text(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"id": "z", "rank": 1, "score": 0.1},
        {"id": "b", "rank": 2, "score": None},
        {"id": "d", "rank": 2, "score": math.nan},
        {"id": "c", "rank": 2, "score": 0.3},
        {"id": "a", "rank": 2, "score": 0.3},
        {"id": "e", "rank": None, "score": 0.9},
        {"id": "f", "rank": math.nan, "score": 1.0},
    ]
    expected = ["z", "a", "c", "b", "d", "f", "e"]
    assert expected == ids_found(tmp_path, rows)
    assert expected == ids_found(tmp_path, rows[::-1])
    assert expected[:4] == ids_found(tmp_path, rows, kmax=4)
    texts = [{"id": "a", "text": text, "rank": 1} for text in ("y", "x", None)]
    found = joined(tmp_path, [{"query_id": "q"} | row for row in texts], [{"query_id": "q", "id": "a"}])
    assert [{"id": "a", "text": text} for text in ("x", "y", None)] == found[0]["predicted"]


def test_without_ranks_the_highest_scores_come_first(tmp_path: Path) -> None:
    scores = {"a": 0.1, "b": 2.0, "c": None, "d": -3.0}
    rows: list[Row] = [{"id": name, "score": score} for name, score in scores.items()]
    assert ids_found(tmp_path, rows) == ["b", "a", "d", "c"]
    assert ids_found(tmp_path, [{"id": name, "rank": -n} for n, name in enumerate("abc")]) == ["c", "b", "a"]


def test_ids_may_be_integers_on_one_side_and_strings_or_dictionaries_on_the_other(tmp_path: Path) -> None:
    ids = pa.array(["7", "8"]).dictionary_encode()
    pq.write_table(pa.table({"query_id": ["1", "1"], "id": ids, "rank": [1, 2]}), tmp_path / "logs.parquet")
    gold = write_rows(tmp_path / "gold.parquet", [{"query_id": 1, "id": 8}])
    expected = {"query_id": "1", "actual": [{"id": "8"}], "predicted": [{"id": "7"}, {"id": "8"}]}
    assert [expected] == joined(tmp_path, tmp_path / "logs.parquet", gold)


def test_queries_of_the_gold_are_scored_and_no_others(tmp_path: Path) -> None:
    logs: list[Row] = [{"query_id": query, "id": "a", "rank": 1} for query in ("only in the logs", "both")]
    logs += [{"query_id": "asked in vain", "id": None, "rank": None}]
    gold: list[Row] = [{"query_id": query, "id": "a"} for query in ("both", "only in the gold", "asked in vain")]
    gold += [{"query_id": "no answer", "id": None}]
    assert joined(tmp_path, logs, gold) == [
        {"query_id": "asked in vain", "actual": [{"id": "a"}], "predicted": []},
        {"query_id": "both", "actual": [{"id": "a"}], "predicted": [{"id": "a"}]},
        {"query_id": "no answer", "actual": [], "predicted": []},
        {"query_id": "only in the gold", "actual": [{"id": "a"}], "predicted": []},
    ]


def test_grades_and_ids_may_stand_under_other_names(tmp_path: Path) -> None:
    logs = write_rows(tmp_path / "logs.parquet", [{"query_id": "q", "key": k, "rank": n} for n, k in enumerate("ab")])
    gold_rows = [{"query_id": "q", "key": "a", "worth": 1}, {"query_id": "q", "key": "b", "worth": 3}]
    gold = write_rows(tmp_path / "gold.parquet", gold_rows)
    how: dict[str, Any] = {"k": 2, "metrics": "ndcg", "match_method": "id"}
    result = score_logs(logs, tmp_path / "out.parquet", gold=gold, id_key="key", grade_key="worth", **how)
    scorer = ColumnarScorer(**how)
    batch = as_batch([[{"id": "a", "grade": 1.0}, {"id": "b", "grade": 3.0}]], [[{"id": "a"}, {"id": "b"}]])
    assert scorer.finalize(scorer.partial_state(batch)).to_dict() == result.to_dict()
    assert (result["ndcg@2"] or 1) < 1


def test_texts_are_matched_where_the_method_reads_them(tmp_path: Path) -> None:
    logs = write_rows(
        tmp_path / "logs.parquet",
        [{"query_id": "q", "text": "a b c", "rank": 2}, {"query_id": "q", "text": "d e f", "rank": 1}],
    )
    gold = write_rows(tmp_path / "gold.parquet", [{"query_id": "q", "text": "a b c"}])
    result = score_logs(logs, tmp_path / "out.parquet", gold=gold, k=2, metrics="mrr", match_method="rougeL")
    assert result["mrr@2"] == 0.5
    told = refusal(logs, gold, tmp_path / "no.parquet")
    assert told.startswith(f"{logs}, joined to {gold}: The column `actual` has the type ")
    assert "Its documents have no field 'id'." in told
    assert not (tmp_path / "no.parquet.parts").exists()


@pytest.mark.full
def test_one_query_with_a_million_rows_stays_within_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval.scale.long_form._MEMORY", "64MB")
    n_queries, n_rows = 20_000, 1_000_000
    schema = pa.schema([("query_id", pa.int64()), ("id", pa.string()), ("rank", pa.int64())])
    with pq.ParquetWriter(tmp_path / "logs.parquet", schema) as writer:
        few, many = np.arange(2 * n_queries), np.arange(n_rows)
        ids = np.char.add("d", (few % 7).astype(str)), np.char.add("runaway-", many.astype(str))
        writer.write_table(pa.table([few // 2, ids[0], few % 2 - n_rows], schema=schema))
        writer.write_table(pa.table([np.full(n_rows, 77), ids[1], -many], schema=schema))
    gold = pa.table({"query_id": np.arange(n_queries), "id": np.full(n_queries, "d1")})
    pq.write_table(gold, tmp_path / "gold.parquet")
    rows = joined(tmp_path, tmp_path / "logs.parquet", tmp_path / "gold.parquet", kmax=4)
    found = {int(row["query_id"]): [document["id"] for document in row["predicted"]] for row in rows}
    expected = {query: [f"d{2 * query % 7}", f"d{(2 * query + 1) % 7}"] for query in range(n_queries)}
    expected[77] += ["runaway-999999", "runaway-999998"]
    assert expected == found
    assert not list(tmp_path.glob("spilled/*"))


@pytest.mark.full
def test_texts_of_any_size_are_joined_within_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval.scale.long_form._MEMORY", "64MB")
    n_queries, n_ranks = 8_000, 5
    schema = pa.schema([("query_id", pa.int64()), ("text", pa.string()), ("rank", pa.int64())])
    order = np.random.default_rng(0).permutation(n_queries * n_ranks)
    with pq.ParquetWriter(tmp_path / "logs.parquet", schema) as writer:
        for places in np.split(order, 20):
            texts = [None if place % 97 == 0 else f"{place} " * 1000 for place in places.tolist()]
            writer.write_table(pa.table([places // n_ranks, texts, places % n_ranks], schema=schema))
    gold = pa.table(
        {"query_id": np.arange(n_queries), "text": [f"gold {n}" if n % 3 else "" for n in range(n_queries)]}
    )
    pq.write_table(gold, tmp_path / "gold.parquet")
    rows = joined(tmp_path, tmp_path / "logs.parquet", tmp_path / "gold.parquet", kmax=n_ranks)
    assert len(rows) == n_queries
    for row in rows:
        query = int(row["query_id"])
        found = [place for place in range(query * n_ranks, (query + 1) * n_ranks) if place % 97]
        assert [document["text"] for document in row["actual"]] == [f"gold {query}" if query % 3 else ""]
        assert [document["text"] for document in row["predicted"]] == [f"{place} " * 1000 for place in found]
    assert {path.name for path in tmp_path.iterdir()} <= {"logs.parquet", "gold.parquet", "joined.parquet"}


SCRIPT = """
import sys
from krag_eval import score_logs
from tests.support.log_cases import recall_but_three_times_none_is_killed as metric
result = score_logs(sys.argv[1], sys.argv[2], gold=sys.argv[3], k=(1, 3), metrics=[metric], match_method="id")
print(result.to_dict())
"""


@pytest.mark.full
def test_a_killed_scoring_goes_on_with_what_it_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("KRAG_EVAL_TEST_MARKS", str(marks))
    for name in ("call-a", "call-b", "call-c"):  # the first call is the one that is killed
        (marks / name).touch()
    logs, gold = random_logs(seed=4)
    files = write_rows(tmp_path / "logs.parquet", logs), write_rows(tmp_path / "gold.parquet", gold)
    line = [sys.executable, "-c", SCRIPT, str(files[0]), str(tmp_path / "out.parquet"), str(files[1])]
    assert subprocess.run(line, check=False).returncode == -9
    (marks / "allowed").touch()
    monkeypatch.setattr(LongForm, "join", lambda *_: pytest.fail("joined again"))
    metric: Any = recall_but_three_times_none_is_killed
    result = score_logs(files[0], tmp_path / "out.parquet", gold=files[1], metrics=[metric], **HOW)
    scorer = ColumnarScorer(metrics=[metric], **HOW)
    state = scorer.partial_state(as_batch(*zip(*plain_join(logs, gold, kmax=3).values(), strict=True)))
    assert scorer.finalize(state).to_dict() == result.to_dict()


def test_logs_or_gold_that_changed_are_not_mixed_with_what_was_joined(tmp_path: Path) -> None:
    files = tmp_path / "logs.parquet", tmp_path / "gold.parquet"
    write_rows(files[0], [{"query_id": "q", "id": "a", "rank": 1}])
    write_rows(files[1], [{"query_id": "q", "id": "a", "grade": -1.0}])
    assert "the grade -1.0 cannot be used" in refusal(*files, tmp_path / "out.parquet")
    write_rows(files[1], [{"query_id": "q", "id": "a", "grade": 1.0}])
    assert "is the journal of another scoring of logs: files " in refusal(*files, tmp_path / "out.parquet")


def test_rows_are_moved_in_lists_unless_they_are_long() -> None:
    queries = pa.array([*"abbbbc", *"d" * 40], pa.large_string())
    sizes = {}
    for text in ("short", "long" * 1000):
        rows = pa.record_batch({"query_id": queries, "text": pa.array([text] * len(queries), pa.large_string())})
        lists = _in_lists(rows)
        sizes[text[:5]] = pc.list_value_length(lists.column("rows")).to_pylist()
        assert _out_of_lists(lists, rows.schema).equals(rows)
    assert sizes == {"short": [1, 4, 1, 16, 16, 8], "longl": [1] * 46}
