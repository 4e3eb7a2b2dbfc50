"""Rows with searches and stages: reading, writing, refusing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import Document, InvalidInputError, Run, RunRow, Search, read_run, write_run
from krag_eval.datasets.sessions import Stage

SEARCHES: list[dict[str, Any]] = [
    {"query": "refunds", "retrieved": [{"id": "a"}], "latency_s": 0.25, "tokens": 40, "tool": "search", "turn": 1},
    {"retrieved": [{"id": "b", "text": "Three days.", "score": 0.5}], "turn": 2, "model": "small"},
]
STAGES: list[dict[str, Any]] = [
    {"name": "dense", "retrieved": [{"id": "a"}, {"id": "b"}]},
    {"name": "bm25", "retrieved": [{"id": "c"}], "latency_s": 0.1},
    {"name": "fusion", "inputs": ["dense", "bm25"], "retrieved": [{"id": "a"}, {"id": "c"}]},
]
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "searches": SEARCHES, "cited": [{"id": "b"}]},
    {"query_id": "q2", "searches": [{"stages": STAGES, "query": "once"}]},
    {"query_id": "q3", "stages": STAGES, "cited": []},
    {"query_id": "q4", "retrieved": [{"id": "z"}], "seconds": 0.5},
    {"query_id": "q5", "searches": [{"query": "x", "error": "Timeout: 2 s", "retrieved": []}], "error": "Stopped: why"},
]


def a_run() -> Run:
    return Run.of("agent", [RunRow.from_dict(row) for row in ROWS], parameters={"model": "m"})


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "json"])
def test_a_row_comes_back_from_a_file_as_it_was(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    run = a_run() if ending != "json" else Run.of("agent", a_run().rows.values())
    write_run(run, path)
    assert read_run(path).rows == run.rows


def test_a_table_holds_the_ranking_and_says_what_it_lost(tmp_path: Path) -> None:
    run = Run.of("pipeline", [RunRow.from_dict(row) for row in ROWS[1:4]])
    with pytest.warns(UserWarning, match="Lost or changed: .*`searches`: 1, `stages`: 1"):
        write_run(run, tmp_path / "run.csv")
    back = read_run(tmp_path / "run.csv").rows
    assert {name: [d.id for d in row.ranking] for name, row in back.items()} == {
        name: [d.id for d in row.ranking] for name, row in run.rows.items()
    }
    with pytest.raises(InvalidInputError, match="'q1' has a session of 2 searches"):
        write_run(a_run(), tmp_path / "agent.csv")


def test_a_row_knows_its_ranking() -> None:
    rows = a_run().rows
    assert [row.is_session for row in rows.values()] == [True, False, False, False, False]
    assert [d.id for d in rows["q1"].found] == ["a", "b"]
    assert [d.id for d in rows["q2"].retrieved] == ["a", "c"]  # of the last stage of its only search
    assert [d.id for d in rows["q3"].retrieved] == ["a", "c"]
    assert rows["q1"].cited is not None
    assert rows["q4"].cited is None
    assert rows["q3"].cited == ()
    assert rows["q1"].searches[1].further == {"model": "small"}


def test_a_row_made_in_python_has_the_ranking_of_its_last_stage_or_only_search() -> None:
    a, b = Document(id="a"), Document(id="b")
    stages = (Stage(name="dense", retrieved=(a, b)), Stage(name="cut", retrieved=(b,), inputs=("dense",)))
    search = Search(stages=stages)
    assert RunRow(query_id="q", stages=stages).ranking == search.retrieved == (b,)
    row = RunRow(query_id="q", searches=(search,))
    assert row.ranking == (b,)
    assert RunRow.from_dict(row.to_dict()) == row
    with pytest.raises(InvalidInputError, match="no earlier stage 'dense'"):
        RunRow(query_id="q", stages=stages[1:])


def test_what_is_written_says_nothing_twice() -> None:
    rows = a_run().rows
    assert rows["q1"].to_dict() == ROWS[0]
    assert "retrieved" not in rows["q3"].to_dict()
    assert rows["q4"].to_dict() == ROWS[3]


@pytest.mark.parametrize(("searches", "ids"), [("first", ["a"]), ("last", ["b"]), ("concatenated", ["a", "b"])])
def test_a_session_becomes_a_ranking_when_it_is_asked_for(searches: str, ids: list[str]) -> None:
    flat = a_run().flatten(searches)
    assert [d.id for d in flat.rows["q1"].ranking] == ids
    assert not flat.has_sessions
    assert flat.rows["q4"] == a_run().rows["q4"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"searches": {}}, "`searches` must be a list"),
        ({"searches": [3]}, r"`searches\[0\]` must be a mapping"),
        ({"searches": [{"query": "x"}]}, r"`searches\[0\]`: `retrieved` is missing"),
        ({"searches": [{"retrieved": [{}]}]}, r"`searches\[0\]`: `retrieved\[0\]`: "),
        ({"searches": [{"retrieved": [], "latency_s": -1}]}, r"`searches\[0\]`: `latency_s` must be"),
        ({"searches": [{"retrieved": [], "tokens": float("nan")}]}, "`tokens` must be"),
        ({"searches": [{"retrieved": [], "turn": "2"}]}, "`turn` must be"),
        ({"searches": [{"retrieved": [], "query": 2}]}, "`query` must be"),
        ({"searches": [{"retrieved": [], "turn": 2}, {"retrieved": [], "turn": 1}]}, "in the order in which they were"),
        ({"searches": [{"retrieved": []}], "stages": STAGES}, "Give each search the `stages` of its own"),
        ({"stages": [{"name": "", "retrieved": []}]}, r"`stages\[0\]`: `name` is ''"),
        ({"stages": [STAGES[0], STAGES[0]]}, "the name 'dense' is taken"),
        ({"stages": [STAGES[0], {**STAGES[2], "inputs": ["dens"]}]}, "no earlier stage 'dens' .* Did you mean 'dense'"),
        ({"stages": STAGES[:2]}, "The stage 'dense' is an input of no later stage"),
        ({"stages": STAGES, "retrieved": [{"id": "a"}]}, "`retrieved` is not what the last stage, 'fusion', returned"),
        ({"retrieved": [], "cited": "a"}, "`cited` must be a list of documents, .* got 'a'"),
    ],
)
def test_what_cannot_be_read_is_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        RunRow.from_dict({"query_id": "q1", **row})


def test_credentials_in_the_error_of_a_search_are_hidden() -> None:
    row = RunRow.from_dict({"query_id": "q", "searches": [{"error": "Bad: api_key=sk-abcdefghijklmnopqrstuvwx"}]})
    assert "sk-abc" not in str(row.to_dict())
