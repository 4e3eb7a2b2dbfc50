"""Corpora in the formats that other programs index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import Document
from krag_eval.datasets.corpus import read_corpus

ROWS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "차", "text": "사월", "metadata": {"url": "u"}},
    {"id": 2, "contents": "Kaffee", "doc_id": "D", "lang": "de"},
    {"docid": "d3", "page_content": "", "title": ""},
    {"doc_id": "d4", "passage": "x"},
    {"text": "no id"},
    {"page_content": "langchain", "metadata": {"id": "d6", "source": "s"}},
]
DOCUMENTS = [
    Document(id="d1", text="사월", metadata={"title": "차", "url": "u"}),
    Document(id="2", text="Kaffee", metadata={"doc_id": "D", "lang": "de"}),
    Document(id="d3", text=""),
    Document(id="d4", text="x", metadata={"doc_id": "d4"}),
    Document(text="no id"),
    Document(id="d6", text="langchain", metadata={"id": "d6", "source": "s"}),
]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_ids_and_texts_are_found_under_their_usual_names(tmp_path: Path) -> None:
    assert read_corpus(write(tmp_path / "corpus.jsonl", ROWS)) == DOCUMENTS
    (tmp_path / "corpus.json").write_text(json.dumps(ROWS))
    assert read_corpus(tmp_path / "corpus.json") == DOCUMENTS
    assert read_corpus(tmp_path) == DOCUMENTS  # the folder of a BEIR corpus


def test_tables_and_parquet_hold_corpora(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text('id,text,metadata\n1,"a, b","{""page"": 3}"\n2,c,\n', encoding="utf-8")
    expected = [Document(id="1", text="a, b", metadata={"page": 3}), Document(id="2", text="c")]
    assert read_corpus(tmp_path / "c.csv") == expected
    rows = [{"id": 1, "text": "a, b", "metadata": {"page": 3}}, {"id": 2, "text": "c", "metadata": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    assert read_corpus(tmp_path / "c.parquet") == expected


def test_a_title_goes_to_the_metadata_or_before_the_text(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.jsonl", ROWS[:2])
    assert [document.text for document in read_corpus(path, prepend_title=True)] == ["차 사월", "Kaffee"]
    assert read_corpus(path, prepend_title=True)[0].metadata["title"] == "차"
