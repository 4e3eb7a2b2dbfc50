"""Ids under a path in the metadata, and ids of several values, mean the same wherever a key is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    Run,
    RunRow,
    compare,
    evaluate,
    evaluate_run,
    fuse,
    read_evalset,
    read_run,
    run_retriever,
    score_row,
    write_evalset,
    write_run,
)

PAGES = ("file", "page")
NESTED: dict[str, Any] = {"source": {"url": "u1"}, "file": "a.pdf", "page": 2, "v.1": "w1"}
OTHER: dict[str, Any] = {"source": {"url": "u2"}, "file": "a.pdf", "page": 3, "v.1": "w2"}
ID: dict[str, Any] = {"match_method": "id"}
GOLD = {
    "source.url": [{"source": {"url": "u2"}}],
    "v.1": [{"v.1": "w2"}],
    PAGES: [{"file": "a.pdf", "page": "3"}],
    ("source.url", "page"): [{"source": {"url": "u2"}, "page": 3}],
}


def documents(kind: str) -> list[Any]:
    if kind == "mapping":
        return [{"text": "t", **one} for one in (NESTED, OTHER)]
    if kind == "metadata":
        return [{"text": "t", "metadata": one} for one in (NESTED, OTHER)]
    return [(LangChainDocument if kind == "LangChain" else make)("t", metadata=one) for one in (NESTED, OTHER)]


def make(text: str, metadata: dict[str, Any]) -> Document:
    return Document(text=text, metadata=metadata)


@pytest.mark.parametrize("kind", ["mapping", "metadata", "LangChain", "Document"])
@pytest.mark.parametrize("key", GOLD, ids=str)
def test_every_kind_of_document_is_read_under_every_kind_of_key(kind: str, key: Any) -> None:
    result = evaluate([GOLD[key]], [documents(kind)], k=2, id_key=key, **ID)
    assert result["mrr@2"] == 0.5
    as_list: Any = list(key) if key == PAGES else key
    assert evaluate([GOLD[key]], [documents(kind)], k=2, id_key=as_list, **ID) == result


@pytest.mark.parametrize(
    "gold",
    [
        ["a.pdf", 3],
        ("a.pdf", "3"),
        (["a.pdf", 3], 2),
        {"any_of": [["b.pdf", 1], ["a.pdf", 3]]},
        Document(id='["a.pdf", "3"]'),
    ],
    ids=str,
)
def test_gold_may_be_a_list_of_the_parts(gold: Any) -> None:
    result = evaluate([[gold]], [documents("LangChain")], k=2, id_key=PAGES, **ID)
    assert result["mrr@2"] == 0.5
    assert "2. a.pdf, 3" in str(result.explain(0))


def test_a_key_that_is_there_as_it_stands_wins_over_a_path() -> None:
    retrieved = [[{"source.url": "x", "source": {"url": "y"}}]]
    for name, value in (("x", 1), ("z", 0)):
        assert (
            evaluate([[{"source.url": name}], [{"source.url": "x"}]], retrieved * 2, k=1, id_key="source.url", **ID)[
                "recall@1"
            ]
            == (1 + value) / 2
        )


def test_a_document_without_one_of_the_keys_has_no_id() -> None:
    gold = [[["a", 1]], [["b", 2]]]
    retrieved = [[{"text": "t", "file": "a"}], [{"text": "t", "file": "b", "page": 2}]]
    result = evaluate(gold, retrieved, k=1, id_key=PAGES, **ID)
    assert (result["recall@1"], result.unmatchable["predicted"]) == (0.5, 1)


def test_files_and_levels(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "q1", "question": "w", "gold_chunk_ids": [["a.pdf", 3]], "gold_doc_ids": [["a.pdf", 3]]},
        {"id": "q2", "question": "w", "gold": [{"file": "a.pdf", "page": 3}]},
        {"id": "q3", "question": "w", "gold": [["a.pdf", 3]]},
    ]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evalset = read_evalset(tmp_path / "set.jsonl", id_key=PAGES)
    run = Run.of("r", [RunRow.from_dict({"query_id": row["id"], "retrieved": documents("metadata")}) for row in rows])
    write_run(run, tmp_path / "run.jsonl")
    write_evalset(evalset, tmp_path / "again.jsonl")
    assert json.loads((tmp_path / "again.jsonl").read_text().split("\n")[0])["gold_chunk_ids"] == [["a.pdf", "3"]]
    for questions in (evalset, read_evalset(tmp_path / "again.jsonl", id_key=PAGES)):
        result = evaluate_run(questions, read_run(tmp_path / "run.jsonl"), k=2, id_key=PAGES)
        assert result["mrr@2"] == 0.5
        assert "[0] a.pdf, 3: found at rank 2" in str(result.explain(0))
        at_documents = evaluate_run(questions, run, k=2, level="document", doc_key=PAGES)
        assert at_documents["mrr@2"] == 0.5
        assert "|idkey:file,page|" in at_documents.signature


def test_rows_and_fused_runs() -> None:
    gold = EvalSet([{"id": "q", "question": "w", "gold": [["a.pdf", 3]]}])
    assert score_row([["a.pdf", 3]], documents("LangChain"), 2, id_key=PAGES, **ID)["mrr@2"] == 0.5
    runs = {n: Run.of(n, [RunRow(query_id="q", retrieved=tuple(documents("Document")))]) for n in "ab"}
    assert len(fuse([documents("LangChain")] * 2, id_key=PAGES)) == 2
    assert compare(gold, runs, k=2, metrics="mrr", id_key=PAGES).rows


@pytest.mark.parametrize("key", ["source.url", PAGES], ids=str)
def test_a_recorded_run_keeps_what_the_key_reads(key: Any) -> None:
    gold = EvalSet([{"id": "q", "question": "w", "gold": GOLD[key]}])
    run = run_retriever(gold, lambda _: documents("LangChain"), k=2, metadata="ids", id_key=key)
    assert evaluate_run(gold, run, k=2, id_key=key)["mrr@2"] == 0.5


@pytest.mark.parametrize("key", ["", (), ("file", ""), ("file", 2), 7, {"file"}])
def test_keys_that_cannot_be_used_are_refused(key: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate([[{"id": "a"}]], [[{"id": "a"}]], id_key=key, **ID)
    assert refused.value.argument == "id_key"
