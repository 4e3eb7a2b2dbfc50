"""Which metadata of the retrieved documents a run keeps, and what is said when its ids are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate_retriever, evaluate_run, read_run, run_retriever

EVALSET = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"], "gold_doc_ids": ["d1"]}]
METADATA = {
    "doc_id": "d1",
    "chunkId": "c1",
    "source": "faq.md",
    "file_path": "a/faq.md",
    "url": "https://docs.example/faq",
    "page_id": 7,
    "page": 3,
    "paid": "no",
    "author": "Ann",
    "ids": ["c1"],
    "doi": {"deep": "10.1"},
}
IDS = {name: METADATA[name] for name in ("doc_id", "chunkId", "source", "file_path", "url", "page_id")}


def retrieve(question: str) -> list[dict[str, Any]]:
    return [{"id": "x1", "text": "At nine.", "metadata": METADATA}]


@pytest.mark.parametrize(("metadata", "kept"), [("all", METADATA), ("ids", IDS), ("none", {})])
def test_what_is_kept(metadata: str, kept: dict[str, Any], tmp_path: Path) -> None:
    run = run_retriever(EVALSET, retrieve, k=1, metadata=metadata, journal=tmp_path / "run.jsonl")
    assert run.rows["q1"].retrieved[0].metadata == kept
    again = read_run(tmp_path / "run.jsonl")
    assert again.rows["q1"].retrieved == run.rows["q1"].retrieved
    assert again.recorded.get("metadata", "all") == metadata


def test_ids_of_documents_and_keys_are_scored_with_ids_alone() -> None:
    run = run_retriever(EVALSET, retrieve, k=1, metadata="ids")
    assert evaluate_run(EVALSET, run, k=1, id_key="chunkId")["recall@1"] == 1
    assert evaluate_run(EVALSET, run, k=1, level="document")["recall@1"] == 1
    result = evaluate_retriever(EVALSET, retrieve, k=1, metadata="ids", id_key="chunkId", metrics="mrr")
    assert result["mrr@1"] == 1


@pytest.mark.parametrize(
    ("metadata", "settings", "key"),
    [
        ("none", {"id_key": "chunkId"}, "chunkId"),
        ("ids", {"id_key": "author"}, "author"),
        ("none", {"level": "document"}, "doc_id"),
    ],
)
def test_a_run_without_the_ids_says_how_to_get_them(
    metadata: str, settings: dict[str, str], key: str, tmp_path: Path
) -> None:
    run_retriever(EVALSET, retrieve, k=1, metadata=metadata, journal=tmp_path / "run.jsonl", name="bm25")
    run = read_run(tmp_path / "run.jsonl")
    told = f"The run 'bm25' was recorded with metadata='{metadata}', and none of its documents has the key '{key}'"
    with pytest.raises(InvalidInputError, match=told) as error:
        evaluate_run(EVALSET, run, k=1, **settings)  # type: ignore[arg-type]
    assert "Ask the retriever again with metadata='all'" in str(error.value)


def test_a_document_of_which_nothing_is_left_is_an_error_of_its_question() -> None:
    run = run_retriever(EVALSET, lambda question: [{"metadata": {"start_char_idx": 7}}], k=1, metadata="ids", retries=0)
    assert (
        "`retrieved[0]`: the document has neither an id nor a text, and metadata='ids' drops the rest"
        in run.errors["q1"]
    )


def test_a_journal_is_not_resumed_with_other_metadata(tmp_path: Path) -> None:
    run_retriever(EVALSET, retrieve, k=1, metadata="ids", journal=tmp_path / "run.jsonl")
    with pytest.raises(InvalidInputError, match="another run: metadata 'ids' in the journal, 'all' now"):
        run_retriever(EVALSET, retrieve, k=1, journal=tmp_path / "run.jsonl")


def test_another_word_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="`metadata` must be one of 'none', 'ids', 'all', got 'id'"):
        run_retriever(EVALSET, retrieve, k=1, metadata="id")


def test_metadata_lose_their_credentials_and_keep_everything_else() -> None:
    found = {
        "source": "https://me:pw0rd-1@docs.example/a?n=1",
        "tags": ["a", {"password": "hunter22"}],
        "n": 1.5,
        "x": None,
    }
    run = run_retriever(
        EVALSET, lambda question: [{"id": "c1", "metadata": found}, {"id": "c2", "metadata": METADATA}], k=2
    )
    first, second = run.rows["q1"].retrieved
    kept = {"source": "https://docs.example/a?n=1", "tags": ["a", {"password": "[key]"}], "n": 1.5, "x": None}
    assert (first.metadata, second.metadata) == (kept, METADATA)
    assert found["tags"] == ["a", {"password": "hunter22"}]
