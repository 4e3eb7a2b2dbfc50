"""LlamaIndex's question-and-context data sets: the same evaluation set from the file, the dict and the object."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval_llama_index import evaluate_retriever, read_llama_index_qa
from tests.adapters.llama_index.world import QUESTIONS, TEXTS, index

DATASET: dict[str, Any] = {
    "queries": {f"{i}-uuid": query for i, query in enumerate(QUESTIONS)},
    "corpus": TEXTS,
    "relevant_docs": {f"{i}-uuid": ids for i, ids in enumerate(QUESTIONS.values())},
    "mode": "text",
}


def test_the_file_the_dict_and_the_object_are_the_same_set(tmp_path: Path) -> None:
    # Written as `EmbeddingQAFinetuneDataset.save_json` writes it.
    path = tmp_path / "qa.json"
    path.write_text(json.dumps(DATASET, indent=4), encoding="utf-8")
    from_file = read_llama_index_qa(path)
    assert read_llama_index_qa(str(path)) == from_file
    assert read_llama_index_qa(DATASET) == from_file
    assert read_llama_index_qa(SimpleNamespace(**DATASET)) == from_file
    assert read_llama_index_qa(DATASET).fingerprint == from_file.fingerprint
    assert from_file.texts == list(QUESTIONS)
    gold = [[(document.id, document.text) for document in question.gold] for question in from_file]
    assert gold == [[(id_, TEXTS[id_]) for id_ in ids] for ids in QUESTIONS.values()]


def test_a_retriever_is_scored_against_it_by_ids_and_by_texts() -> None:
    retriever, evalset = index().as_retriever(similarity_top_k=3), read_llama_index_qa(DATASET)
    by_id = evaluate_retriever(evalset, retriever, k=3, progress=False)
    by_text = evaluate_retriever(evalset, retriever, k=3, match_method="text", progress=False)
    assert by_id.to_dict() == by_text.to_dict()
    assert 0 < (by_id["recall@3"] or 0) < 1


def test_a_query_that_nothing_answers_is_kept() -> None:
    (question,) = read_llama_index_qa({"queries": {"q": "Why?"}, "corpus": {}, "relevant_docs": {"q": []}})
    assert question.is_negative


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in DATASET.items() if key != name}


@pytest.mark.parametrize(
    ("dataset", "says"),
    [
        pytest.param(without("corpus"), "`corpus` is", id="no corpus"),
        pytest.param({**DATASET, "queries": ["When?"]}, "`queries` is", id="a list"),
        pytest.param({**DATASET, "relevant_docs": {"7-uuid": []}}, "relevant_docs.* has '7-uuid'", id="unknown query"),
        pytest.param({**DATASET, "relevant_docs": {}}, r"relevant_docs\['0-uuid'\]", id="no entry"),
        pytest.param(
            {**DATASET, "relevant_docs": {**DATASET["relevant_docs"], "0-uuid": "en/fine"}},
            r"relevant_docs\['0-uuid'\].* must be a list of ids",
            id="no list",
        ),
        pytest.param(
            {**DATASET, "relevant_docs": {**DATASET["relevant_docs"], "0-uuid": [1.5]}}, "1.5|neither an id", id="no id"
        ),
        pytest.param(
            {**DATASET, "queries": {**DATASET["queries"], "0-uuid": 7}},
            "must be .*, got 7",
            id="no text",
        ),
    ],
)
def test_what_is_no_such_data_set_is_told(dataset: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "qa.json"
    path.write_text(json.dumps(dataset), encoding="utf-8")
    for source in (dataset, SimpleNamespace(**dataset), path):
        with pytest.raises(InvalidInputError, match=says):
            read_llama_index_qa(source)


def test_chunks_that_are_not_in_the_corpus_keep_their_ids_and_are_told_about(tmp_path: Path) -> None:
    dataset = {"queries": {"q": "When?"}, "corpus": {}, "relevant_docs": {"q": ["n1"]}}
    path = tmp_path / "qa.json"
    path.write_text(json.dumps(dataset), encoding="utf-8")
    for source in (dataset, path):
        with pytest.warns(KragEvalWarning, match="1 relevant chunks are not in `corpus`"):
            (question,) = read_llama_index_qa(source)
        assert [(document.id, document.text) for document in question.gold_chunks()] == [("n1", None)]
