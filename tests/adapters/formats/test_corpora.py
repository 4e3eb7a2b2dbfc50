"""Corpora that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval.datasets.corpus import read_corpus


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', ":2: the document id 'a' appears twice"),
        ("c.jsonl", '{"title": "x"}\n', ":1: has neither an id (id, _id, chunk_id, docid, docno, doc_id) nor a text"),
        ("c.jsonl", "", ": holds no document"),
        ("c.jsonl", "{", ":1: not valid JSON"),
        ("c.json", '{"queries": {}, "corpus": {"a": 5}, "relevant_docs": {}}', ": `corpus['a']` must be a text, got 5"),
        ("absent.jsonl", None, ": cannot be read (No such file or directory)"),
        (".", None, ": cannot be read (Is a directory)"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path if name == "." else tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidInputError) as error:
        read_corpus(path)
    assert str(error.value).startswith(f"{path}{message}")
