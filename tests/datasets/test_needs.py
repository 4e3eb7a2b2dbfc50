"""Needs in evaluation sets: files of every format, bad input, AutoRAG, and what else reads gold documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    Need,
    Question,
    Run,
    RunRow,
    evaluate,
    evaluate_run,
    evaluate_stream,
    read_evalset,
    stream_pairs,
    verify,
    write_evalset,
    write_run,
)

ROWS = [
    {
        "id": "q1",
        "question": "When?",
        "gold": [{"any_of": [{"id": "a", "text": "alpha"}, {"id": "b"}], "grade": 2}, {"id": "c"}],
    },
    {"id": "q2", "question": "Who?", "gold": [{"any_of": [{"id": "d", "metadata": {"doc_id": "D"}}, {"id": "e"}]}]},
    {"id": "q3", "question": "Why?", "type": "negative", "gold": []},
]
SET = EvalSet(ROWS)
RUN = Run.of(
    "r",
    [
        RunRow(query_id="q1", retrieved=(Document(id="b"), Document(id="x"))),
        RunRow(query_id="q2", retrieved=(Document(id="x"),)),
        RunRow(query_id="q3"),
    ],
)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidInputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("name", ["s.jsonl", "s.json", "s.csv", "s.tsv", "s.parquet"])
def test_files_keep_needs(name: str, tmp_path: Path) -> None:
    write_evalset(SET, tmp_path / name)
    read = read_evalset(tmp_path / name)
    assert read == SET
    assert read.fingerprint == SET.fingerprint
    assert [type(entry) for entry in read["q1"].gold] == [Need, Document]
    assert evaluate_run(read, RUN, k=2).to_json() == evaluate_run(SET, RUN, k=2).to_json()


def test_tables_with_null_fields_hold_needs(tmp_path: Path) -> None:
    gold = [[{"any_of": [{"id": "a"}, {"id": "b"}], "id": None}, {"any_of": None, "id": "c"}]]
    pq.write_table(pa.table({"id": ["q"], "gold": gold}), tmp_path / "s.parquet")
    expected = EvalSet([{"id": "q", "gold": [Need(any_of=[{"id": "a"}, {"id": "b"}]), {"id": "c"}]}])
    assert read_evalset(tmp_path / "s.parquet") == expected
    assert EvalSet(SET.to_pandas()).gold() == SET.gold()


BAD: list[tuple[Any, str]] = [
    ({"any_of": []}, "`any_of` is empty"),
    ({"any_of": "a"}, "`any_of` must be"),
    ({"any_of": [{"id": "a"}], "id": "b"}, "`id` stands beside `any_of`"),
    ({"any_of": [{"id": "a"}], "metadata": {"x": 1}}, "`metadata` stands beside `any_of`"),
    ({"any_of": [{"any_of": [{"id": "a"}]}]}, "`any_of[0]` is a need itself"),
    ({"any_of": [{"id": "a", "grade": 1}, {"id": "b", "grade": 2}]}, "different grades, 1 and 2"),
    ({"any_of": [{"id": "a", "grade": 1}, {"id": "b"}], "grade": 2}, "different grades, 1 and 2"),
    ({"any_of": [{"id": "a"}], "grade": "two"}, "`grade` must be a finite number, got 'two'"),
    ({"any_of": [{"id": "a"}, {}]}, "neither an id nor a text"),
]


@pytest.mark.parametrize(("entry", "message"), BAD)
def test_bad_needs_are_refused_with_their_place(entry: Any, message: str, tmp_path: Path) -> None:
    in_list = refused(lambda: evaluate([[{"id": "z"}], [{"id": "z"}, entry]], [[], [{"id": "a"}]], match_method="id"))
    assert in_list.startswith("`actual[1][1]`")
    in_set = refused(lambda: EvalSet([{"id": "q", "gold": [{"id": "z"}, entry]}]))
    assert in_set.startswith("question 0: `gold[1]`: ")
    for text in (in_list, in_set):
        assert message in text


def test_grades_in_the_metadata_are_checked_where_their_key_is_known(tmp_path: Path) -> None:
    entry = {"any_of": [{"id": "a", "metadata": {"relevance": 3}}, {"id": "b"}]}
    given = EvalSet([{"id": "q", "gold": [entry]}])
    write_evalset(given, tmp_path / "s.jsonl")
    assert "s.jsonl:1: `gold[0]`: the alternatives" in refused(lambda: read_evalset(tmp_path / "s.jsonl"))
    assert "`actual[0][0]` (query 0, rank 1), `any_of[1]`: the alternatives of a need have different grades" in refused(
        lambda: evaluate_run(given, {"q": {"a": 1.0}})
    )
    read_evalset(tmp_path / "s.jsonl", grade_key="other")


def test_a_need_in_a_pair_or_among_the_retrieved_is_refused() -> None:
    assert "is no part of a pair" in refused(lambda: evaluate([[(Need(any_of=["a"]), 2)]], [["a"]]))
    assert "`predicted[0][0]`" in refused(lambda: evaluate([["a"]], [[Need(any_of=["a"])]]))


def test_documents_of_needs_at_document_level() -> None:
    def chunk(name: str, doc: str) -> dict[str, Any]:
        return {"id": name, "metadata": {"doc_id": doc}}

    def question(*gold: Any) -> Question:
        return Question(id="q", gold=gold)

    same = question({"any_of": [chunk("a1", "A"), chunk("a2", "A")], "grade": 2}, chunk("a3", "A"))
    assert [(d.id, d.grade) for d in same.gold_documents() if isinstance(d, Document)] == [("A", 2.0)]
    other = question({"any_of": [chunk("a1", "A"), chunk("b1", "B")], "grade": 2}, chunk("c", "C"))
    document, need = other.gold_documents()
    assert isinstance(document, Document)
    assert document.id == "C"
    assert isinstance(need, Need)
    assert ([one.id for one in need.any_of], need.grade) == (["A", "B"], 2.0)
    found = {"q": [{"id": "x", "metadata": {"doc_id": "B"}}]}
    run = Run.of("r", [RunRow.from_dict({"query_id": "q", "retrieved": found["q"]})])
    assert evaluate_run(EvalSet([other]), run, k=1, level="document", metrics="recall")["recall@1"] == 0.5


@pytest.mark.parametrize("bare_ids", [False, True])
def test_streams_of_files_hold_needs(bare_ids: bool, tmp_path: Path) -> None:
    write_evalset(SET, tmp_path / "s.jsonl")
    write_run(RUN, tmp_path / "r.jsonl")
    pairs = stream_pairs(tmp_path / "s.jsonl", tmp_path / "r.jsonl", bare_ids=bare_ids)
    settings: Any = {"bare_ids": True} if bare_ids else {"match_method": "id"}
    streamed, whole = evaluate_stream(pairs, k=2, **settings), evaluate_run(SET, RUN, k=2)
    assert (streamed.to_dict(), streamed.signature) == (whole.to_dict(), whole.signature)


def test_trec_eval_is_not_asked_about_needs() -> None:
    pytest.importorskip("pytrec_eval")
    assert "has needs with several alternatives" in refused(lambda: verify(SET, RUN, k=2))
