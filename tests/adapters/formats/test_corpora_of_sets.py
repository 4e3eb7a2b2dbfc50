"""Corpora in the formats of question sets."""

from __future__ import annotations

import json
from pathlib import Path

from krag_eval import Document
from krag_eval.datasets.corpus import read_corpus


def test_question_sets_are_the_corpora_of_their_paragraphs(shared_data: Path, tmp_path: Path) -> None:
    korquad = read_corpus(shared_data / "korquad1" / "KorQuAD_v1.0_dev.json")
    assert (len(korquad), len({document.text for document in korquad})) == (961, 961)
    assert korquad[0].id == "0-0"
    data = {"queries": {}, "corpus": {"n1": "사월", "n2": "x"}, "relevant_docs": {}}
    (tmp_path / "qa.json").write_text(json.dumps(data))
    assert read_corpus(tmp_path / "qa.json") == [Document(id="n1", text="사월"), Document(id="n2", text="x")]
