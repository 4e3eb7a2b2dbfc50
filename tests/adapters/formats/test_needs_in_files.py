"""Needs in the files of other programs: those of AutoRAG, and what flat formats make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import (
    Document,
    KragEvalWarning,
    Need,
    evaluate_run,
    read_evalset,
    write_evalset,
)
from tests.datasets.test_needs import SET, refused


@pytest.mark.filterwarnings("ignore:.*relevant chunks are not in")
@pytest.mark.parametrize("name", ["s.qrels", "s.scores.json", "s.llama_index.json", "s.ragas.jsonl"])
def test_flat_formats_say_what_becomes_of_needs(name: str, tmp_path: Path) -> None:
    with pytest.warns(KragEvalWarning, match=r"needs \(each of their documents became needed\): 2"):
        write_evalset(SET, tmp_path / name)
    assert not any(isinstance(entry, Need) for question in read_evalset(tmp_path / name) for entry in question.gold)


def test_autorag_files_are_read_with_their_corpus(tmp_path: Path) -> None:
    rows = {
        "qid": ["q1", "q2", "q3"],
        "query": ["When?", "Who?", "Why?"],
        "retrieval_gt": [[["a", "b"], ["c"]], [["d"]], [[]]],
        "generation_gt": [["Now", "Today"], ["Me"], ["?"]],
    }
    pq.write_table(pa.table(rows), tmp_path / "qa.parquet")
    without = read_evalset(tmp_path / "qa.parquet")
    corpus = {"doc_id": ["a", "b", "c", "z"], "contents": ["alpha", "beta", "gamma", "z"]}
    pq.write_table(pa.table(corpus), tmp_path / "corpus.parquet")
    evalset = read_evalset(tmp_path / "qa.parquet")
    need, plain = evalset["q1"].gold
    assert isinstance(need, Need)
    assert [(one.id, one.text) for one in need.any_of] == [("a", "alpha"), ("b", "beta")]
    assert (plain, evalset["q2"].gold) == (Document(id="c", text="gamma"), (Document(id="d"),))
    assert (evalset["q1"].answer, evalset["q1"].further) == ("Now", {"generation_gt": ["Now", "Today"]})
    assert evalset["q3"].is_negative
    found = {"q1": {"b": 2.0, "c": 1.0}, "q2": {"x": 1.0}, "q3": {"x": 1.0}}
    for one in (evalset, without):
        assert evaluate_run(one, found, k=2, metrics="recall")["recall@2"] == 0.5


@pytest.mark.parametrize("given", [["a", "b"], "a", [["a"], []], [[None]]])
def test_autorag_rows_that_cannot_be_read_are_refused(given: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"qid": ["q1"], "query": ["?"], "retrieval_gt": [given]}), tmp_path / "qa.parquet")
    assert "qa.parquet: row 1: " in refused(lambda: read_evalset(tmp_path / "qa.parquet"))
