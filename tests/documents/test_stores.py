"""The answers of vector stores and search engines, as retrieved documents.

Their clients are not installed here: each class below stands in for the one of its docstring, with its documented
fields. The dicts are as the servers and Chroma return them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from krag_eval import Document, InvalidInputError, as_document, evaluate, evaluate_retriever, run_retriever
from tests.support.marks import nothing_may_match

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


class ScoredPoint(BaseModel):
    """Stands in for `qdrant_client.models.ScoredPoint`."""

    id: int | str
    version: int = 0
    score: float
    payload: dict[str, Any] | None = None
    vector: list[float] | None = None
    shard_key: str | None = None
    order_value: float | None = None


class QueryResponse(BaseModel):
    """Stands in for `qdrant_client.models.QueryResponse`."""

    points: list[ScoredPoint]


@dataclass
class MetadataReturn:
    """Stands in for Weaviate's `MetadataReturn`."""

    distance: float | None = None
    score: float | None = None


@dataclass
class Object:
    """Stands in for Weaviate's `Object`."""

    uuid: uuid.UUID
    properties: dict[str, Any]
    metadata: MetadataReturn = field(default_factory=MetadataReturn)
    references: None = None
    vector: dict[str, list[float]] = field(default_factory=dict)
    collection: str = "Notes"


@dataclass
class QueryReturn:
    """Stands in for Weaviate's `QueryReturn`."""

    objects: list[Object]


class ObjectApiResponse:
    """Stands in for the response of the `elasticsearch` client: a wrapper of a dict, which is no mapping itself."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.body)


def falling(id_: str) -> float:
    """A score that falls with the id: equal ones would be told."""
    return 1 - ord(id_[0]) / 1000


class ScoredVector:
    """Stands in for Pinecone's `ScoredVector`, whose text is in its metadata."""

    def __init__(self, id_: str, metadata: dict[str, Any]) -> None:
        self.id, self.score, self.values, self.metadata = id_, falling(id_), list[float](), metadata


class Matches:
    """Stands in for Pinecone's `QueryResponse`."""

    def __init__(self, matches: list[ScoredVector]) -> None:
        self.matches = matches


def hit(id_: str, **source: Any) -> dict[str, Any]:
    return {"_index": "notes", "_id": id_, "_score": falling(id_), "_source": source}


def of_elasticsearch(*hits: dict[str, Any]) -> dict[str, Any]:
    return {"took": 3, "timed_out": False, "hits": {"total": {"value": 2}, "max_score": 1.5, "hits": list(hits)}}


def of_chroma(*rows: list[tuple[str, str]], **other: Any) -> dict[str, Any]:
    return {
        "ids": [[id_ for id_, _ in row] for row in rows],
        "embeddings": None,
        "documents": [[text for _, text in row] for row in rows],
        "metadatas": [[{"page": 1}, None][: len(row)] for row in rows],
        "distances": [[0.1 * rank for rank, _ in enumerate(row)] for row in rows],
        "included": ["documents", "metadatas", "distances"],
    } | other


NIGHT, NINE = "Closed at night.", "Open from nine."
QDRANT = [ScoredPoint(id=1, score=0.9, payload={"text": NIGHT}), ScoredPoint(id=2, score=0.8, payload={"text": NINE})]
ANSWERS: dict[str, tuple[Callable[[], Any], str]] = {
    "Qdrant response": (lambda: QueryResponse(points=QDRANT), "2"),
    "Qdrant points": (lambda: QDRANT, "2"),
    "Qdrant, as JSON": (lambda: [point.model_dump() for point in QDRANT], "2"),
    "Chroma": (lambda: of_chroma([("a", NIGHT), ("b", NINE)]), "b"),
    "Elasticsearch dict": (lambda: of_elasticsearch(hit("a", body=NIGHT), hit("b", body=NINE)), "b"),
    "Elasticsearch response": (lambda: ObjectApiResponse(of_elasticsearch(hit("a", x=NIGHT), hit("b", x=NINE))), "b"),
    "Elasticsearch hits": (lambda: [hit("a", content=NIGHT), hit("b", content=NINE)], "b"),
    "Weaviate": (lambda: QueryReturn([Object(FIRST, {"chunk": NIGHT}), Object(SECOND, {"chunk": NINE})]), str(SECOND)),
    "Pinecone": (lambda: Matches([ScoredVector("a", {"text": NIGHT}), ScoredVector("b", {"text": NINE})]), "b"),
    "Milvus": (lambda: [{"id": n, "distance": 0.1, "entity": {"text": t}} for n, t in ((1, NIGHT), (2, NINE))], "2"),
    "(document, score)": (lambda: [(Document(text=NIGHT), 0.9), (Document(id="b", text=NINE), 0.8)], "b"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_of_a_store_is_a_ranking_with_ids_and_texts(name: str) -> None:
    make, id_ = ANSWERS[name]
    evalset = [{"id": "q", "question": "When?", "gold": [{"id": id_, "text": NINE}]}]
    for method in ("id", "text"):
        scored = evaluate([[{"id": id_, "text": NINE}]], [make()], metrics="mrr@5", match_method=method)
        asked = evaluate_retriever(
            evalset, lambda _: make(), metrics="mrr@5", match_method=method, progress=False, max_error_rate=0
        )
        assert (scored["mrr@5"], asked["mrr@5"], asked.errors) == (0.5, 0.5, {})


def test_ids_with_scores_are_a_ranking() -> None:
    rows: list[list[Any]] = [[("a", 0.9), ("b", 0.2)], [(7, 0.9), (8, 0.2)], [(FIRST, 0.9), (SECOND, 0.2)]]
    gold = [[{"id": "b"}], [{"id": 8}], [{"id": SECOND}]]
    assert evaluate(gold, rows, metrics="mrr@5", match_method="id")["mrr@5"] == 0.5
    evalset = {f"{number}?": row for number, row in enumerate(gold)}
    asked = evaluate_retriever(evalset, lambda question: rows[int(question[0])], metrics="mrr@5", progress=False)
    assert (asked["mrr@5"], asked.errors) == (0.5, {})


def test_a_string_with_a_score_is_a_text_where_texts_are_compared() -> None:
    assert evaluate([["b"]], [[("a", 0.9), ("b", 0.2)]], metrics="mrr@5")["mrr@5"] == 0.5


def test_two_integers_could_be_two_ids_and_are_asked_about() -> None:
    with pytest.raises(InvalidInputError, match="is not a document"):
        evaluate([[{"id": 1}]], [[(1, 2)]], match_method="id")


def test_one_answer_may_have_the_hits_of_all_queries() -> None:
    gold = [[{"id": "a"}], [{"id": "d"}]]
    several = of_chroma([("a", NIGHT), ("b", NINE)], [("c", NIGHT), ("d", NINE)])
    searches = {"responses": [of_elasticsearch(hit("a")), of_elasticsearch(hit("c"), hit("d"))]}
    for answer in (several, searches):
        assert evaluate(gold, answer, metrics="mrr@5", match_method="id")["mrr@5"] == 0.75
    run = run_retriever({"When?": "At nine."}, lambda _: several, k=2, progress=False, retries=0)
    assert "has the hits of 2 queries, and those of one are expected" in run.errors["0"]


def test_a_listing_of_chroma_is_no_ranking() -> None:
    with pytest.raises(InvalidInputError, match="Chroma's `get` has no ranking"):
        evaluate([[{"id": "a"}]], [{"ids": ["a"], "documents": [NIGHT]}], match_method="id")


@nothing_may_match
def test_columns_that_chroma_was_not_asked_for_are_left_out() -> None:
    answer = of_chroma([("a", NIGHT), ("b", NINE)], documents=None, metadatas=None)
    assert evaluate([[{"id": "b"}]], [answer], metrics="mrr@5", match_method="id")["mrr@5"] == 0.5
    assert evaluate([[{"id": "b"}]], [of_chroma([])], metrics="mrr@5", match_method="id")["mrr@5"] == 0.0


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"text": "t", "title": "x", "url": "y"}, "t"),
        ({"passage": "t", "summary": "s"}, "t"),
        ({"answer": "t", "doc_id": "d", "page": 3}, "t"),
        ({"text": "t", "content": "t"}, "t"),
        ({"text": "t", "content": "other"}, None),
        ({"summary": "t", "answer": "s"}, None),
        ({"doc_id": "d", "sourceUrl": "https://x"}, None),
        ({"page_content": "t", "metadata": {"doc_id": "d"}}, "t"),
        ({}, None),
        (None, None),
    ],
)
def test_the_text_of_a_hit_is_the_field_that_can_only_be_it(payload: Any, text: str | None) -> None:
    for made in (ScoredPoint(id=1, score=0.5, payload=payload), {"_id": "1", "_score": 0.5, "_source": payload or {}}):
        document = as_document(made)
        assert (document.id, document.text, document.score) == ("1", text, 0.5)


def test_the_fields_of_a_hit_are_its_metadata() -> None:
    nested = {"page_content": "t", "metadata": {"doc_id": "d"}, "lang": "ko"}
    point, found = ScoredPoint(id=1, score=0.5, payload=nested), hit("1", **nested)
    for made in (point, found, Object(FIRST, nested)):
        assert as_document(made, id_key="doc_id").id == "d"
        assert as_document(made).metadata["lang"] == "ko"
    assert evaluate([[{"metadata": {"doc_id": "d"}}]], [[point]], k=1, match_method="id", id_key="doc_id")["mrr@1"] == 1


def test_hits_whose_text_is_unclear_are_asked_about() -> None:
    hits = [hit("a", summary=NIGHT, answer=NINE)]
    with pytest.raises(InvalidInputError, match=r"Their fields .*summary, answer.* 'text': "):
        evaluate([[NINE]], [hits])
    with pytest.raises(InvalidInputError, match=r"Their fields .*summary, answer"):
        evaluate_retriever({"When?": NINE}, lambda _: hits, match_method="text", progress=False)


def test_an_object_with_a_text_of_its_own_keeps_it() -> None:
    @dataclass
    class Note:
        id: str
        text: str
        payload: dict[str, Any]

    assert as_document(Note("a", "t", {"text": "other"})).text == "t"
