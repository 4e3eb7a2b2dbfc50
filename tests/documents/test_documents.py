"""Every kind of document that users hold, with the real frameworks."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import json
import pickle
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from krag_eval import Document, InvalidInputError, KragDocument, as_document, evaluate
from tests.support.marks import nothing_may_match

UUID = uuid.UUID(int=5)


@dataclass
class Note:
    """A user's own record."""

    id: object = None
    text: str | None = None
    grade: object = None


def read(document: object, **settings: Any) -> tuple[str | None, str | None]:
    found = as_document(document, **settings)
    return found.id, found.text


def recall(gold: object, retrieved: object, **settings: Any) -> float | None:
    return evaluate([[gold]], [[retrieved]], k=1, metrics="recall", **settings)["recall@1"]


def of(package: str, kind: str, /, *values: object, **fields: Any) -> Any:
    return getattr(importlib.import_module(package), kind)(*values, **fields)


# Imported when the first one is made: the frameworks take seconds.
langchain = functools.partial(of, "langchain_core.documents", "Document")
haystack = functools.partial(of, "haystack", "Document")
llama_index = functools.partial(of, "llama_index.core.schema")


def scored_node(score: float | None, kind: str = "TextNode", **fields: Any) -> Any:
    return llama_index("NodeWithScore", node=llama_index(kind, **fields), score=score)


FRAMEWORK_DOCUMENTS: dict[str, tuple[Callable[[], Any], str | None, str | None]] = {
    "LangChain, metadata id wins": (lambda: langchain(page_content="t", id="x", metadata={"id": "m"}), "m", "t"),
    "LangChain, metadata id is none": (lambda: langchain(page_content="t", id="x", metadata={"id": None}), "x", "t"),
    "LangChain, own id": (lambda: langchain(page_content="t", id="x"), "x", "t"),
    "LangChain, no id": (lambda: langchain(page_content="t"), None, "t"),
    "LlamaIndex node with score": (lambda: scored_node(0.3, text="t", id_="n", metadata={"id": "m"}), "n", "t"),
    "LlamaIndex text node": (lambda: llama_index("TextNode", text="t", id_="n"), "n", "t"),
    "LlamaIndex document": (lambda: llama_index("Document", text="t", id_="n"), "n", "t"),
    "LlamaIndex image node": (lambda: llama_index("ImageNode", image="aGk=", id_="n"), "n", ""),
    "LlamaIndex index node": (lambda: llama_index("IndexNode", text="t", index_id="i", id_="n"), "n", "t"),
    "LlamaIndex scored image node": (lambda: scored_node(None, "ImageNode", text="t", id_="n"), "n", "t"),
    "Haystack": (lambda: haystack(id="h", content="t"), "h", "t"),
    "Haystack without content": (lambda: haystack(id="h", content=None), "h", None),
    "Pydantic model": (lambda: of("pydantic", "create_model", "M", id=int, text=str)(id=7, text="t"), "7", "t"),
}


@pytest.mark.parametrize("kind", FRAMEWORK_DOCUMENTS)
def test_a_frameworks_document_is_read(kind: str) -> None:
    make, id_, text = FRAMEWORK_DOCUMENTS[kind]
    assert read(make()) == (id_, text)


PLAIN_DOCUMENTS: list[tuple[object, str | None, str | None]] = [
    ("t", None, "t"),
    ("", None, ""),
    ({"id": "a", "text": "t"}, "a", "t"),
    ({"id": "a", "content": "t", "meta": {"id": "m"}}, "a", "t"),
    ({"id": "a", "page_content": "t", "metadata": {"id": "m"}}, "m", "t"),
    ({"id": "a", "page_content": "t"}, "a", "t"),
    ({"text": "t", "metadata": {"id": "m"}}, "m", "t"),
    ({"id": "", "text": None, "content": "t", "metadata": {"id": "m"}}, "m", "t"),
    ({"id": "a", "metadata": None}, "a", None),
    ({"id": "a", "metadata": "no mapping"}, "a", None),
    (("t", 0.5), "t", "t"),
    (("two words", 0.5), None, "two words"),
    (("退款会在三个工作日内到账。", 0.5), None, "退款会在三个工作日内到账。"),
    ((7, 0.5), "7", None),
    ((UUID, 0.5), str(UUID), None),
    (("t", None), None, "t"),
    (({"id": "a"}, np.float32(0.5)), "a", None),
    (KragDocument("t", {"id": "m"}), "m", "t"),
    (Document(id="a", text="t"), "a", "t"),
    (Note(id="a", text="t"), "a", "t"),
    (Note(text="t"), None, "t"),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("document", "id_", "text"), PLAIN_DOCUMENTS, ids=repr)
def test_a_plain_document_is_read(document: object, id_: str | None, text: str | None) -> None:
    assert read(document) == (id_, text)


@pytest.mark.sample(7)
@pytest.mark.parametrize("make_note", [lambda i: {"id": i, "text": "t"}, lambda i: Note(id=i, text="t")])
@pytest.mark.parametrize(
    ("value", "id_"),
    [("a", "a"), (7, "7"), (0, "0"), (-1, "-1"), (np.int64(7), "7"), (np.str_("a"), "a"), (UUID, str(UUID))]
    + [(no_id, None) for no_id in (None, "", True, False, np.True_, 1.0, float("nan"), b"a", [1], {"a": 1}, (1,))],
    ids=repr,
)
def test_strings_ints_and_uuids_are_ids_and_nothing_else_is(
    make_note: Callable[[object], object], value: object, id_: str | None
) -> None:
    assert as_document(make_note(value)).id == id_


def test_the_same_id_as_int_string_and_numpy_int_matches() -> None:
    assert recall({"id": 7}, {"id": "7"}, match_method="id") == 1
    assert recall({"id": np.int64(7)}, Note(id=7), match_method="id") == 1


WITH_DOCUMENT_ID: dict[str, Callable[[], Any]] = {
    "LangChain": lambda: langchain(page_content="t", id="chunk", metadata={"id": "chunk", "doc_id": "D"}),
    "LlamaIndex": lambda: scored_node(None, text="t", id_="chunk", metadata={"doc_id": "D"}),
    "Haystack": lambda: haystack(id="chunk", content="t", meta={"doc_id": "D"}),
    "mapping": lambda: {"id": "chunk", "metadata": {"doc_id": "D"}},
    "flat mapping": lambda: {"id": "chunk", "doc_id": "D"},
    "KragDocument": lambda: KragDocument("t", {"id": "chunk", "doc_id": "D"}),
    "Document": lambda: Document(id="chunk", metadata={"doc_id": "D"}),
}


@pytest.mark.parametrize("kind", WITH_DOCUMENT_ID)
def test_id_key_reads_the_metadata_and_never_falls_back_to_another_id(kind: str) -> None:
    document = WITH_DOCUMENT_ID[kind]()
    assert (as_document(document).id, as_document(document, id_key="doc_id").id) == ("chunk", "D")
    assert as_document(document, id_key="parent").id is None


def test_id_key_scores_the_same_run_by_chunk_and_by_document() -> None:
    gold, retrieved = {"id": "c1", "doc_id": "D"}, [{"id": "c2", "doc_id": "D"}, {"id": "c1", "doc_id": "X"}]
    by_chunk = evaluate([[gold]], [retrieved], match_method="id", metrics="mrr")
    by_document = evaluate([[gold]], [retrieved], match_method="id", id_key="doc_id", metrics="mrr")
    assert (by_chunk["mrr@3"], by_document["mrr@3"]) == (0.5, 1)


GRADED: dict[str, tuple[Callable[[], Any], float]] = {
    "no grade": (lambda: "t", 1),
    "pair": (lambda: ("t", 2), 2),
    "pair wins over metadata": (lambda: (KragDocument("t", {"relevance": 3}), 2), 2),
    "numpy float": (lambda: ("t", np.float32(2.5)), 2.5),
    "numpy int": (lambda: {"id": "a", "grade": np.int64(2)}, 2),
    "mapping": (lambda: {"id": "a", "grade": 3, "metadata": {"relevance": 1}}, 3),
    "flat mapping": (lambda: {"id": "a", "relevance": 3}, 3),
    "mapping with an empty grade": (lambda: {"id": "a", "grade": None, "metadata": {"relevance": 2}}, 2),
    "LangChain": (lambda: langchain(page_content="t", metadata={"relevance": 2}), 2),
    "LangChain, empty": (lambda: langchain(page_content="t", metadata={"relevance": None}), 1),
    "LlamaIndex": (lambda: scored_node(0.9, text="t", metadata={"relevance": np.int64(2)}), 2),
    "Haystack": (lambda: haystack(content="t", meta={"relevance": 0}, score=0.5), 0),
    "own attribute": (lambda: Note(id="a", grade=3), 3),
    "own Document": (lambda: Document(id="a", grade=3), 3),
    "own Document wins over its metadata": (lambda: Document(id="a", grade=3, metadata={"relevance": 1}), 3),
}


@pytest.mark.parametrize("kind", GRADED)
def test_the_grade_of_a_gold_document_is_read(kind: str) -> None:
    make, grade = GRADED[kind]
    assert as_document(make(), is_gold=True).grade == grade


def test_the_grade_can_stand_under_another_key() -> None:
    document = langchain(page_content="t", metadata={"relevance": 1, "stars": 4})
    assert as_document(document, is_gold=True, grade_key="stars").grade == 4
    result = evaluate([[document, "x"]], [["x", "t"]], k=2, gain="linear", grade_key="stars", metrics="ndcg")
    expected = (1 + 4 / np.log2(3)) / (4 + 1 / np.log2(3))
    assert result["ndcg@2"] == pytest.approx(expected, abs=1e-15)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "grade", [float("nan"), float("inf"), float("-inf"), "2", True, [2], 10**400], ids=lambda g: f"{g!r:.9}"
)
@pytest.mark.parametrize(
    "as_gold", [lambda g: {"text": "b", "grade": g}, lambda g: KragDocument("b", {"relevance": g})]
)
def test_a_grade_that_is_none_is_refused_with_its_place_and_value(
    as_gold: Callable[[object], object], grade: object
) -> None:
    with pytest.raises(InvalidInputError, match=r"actual\[1\]\[1\].*query 1.*grade.*a finite number") as refused:
        evaluate([["a"], ["a", as_gold(grade)]], [["a"], ["a"]])
    assert f"{grade!r:.9}" in str(refused.value)


@pytest.mark.parametrize("grade", ["2", True], ids=repr)
def test_a_pair_with_something_else_than_a_number_names_it(grade: object) -> None:
    with pytest.raises(InvalidInputError, match=rf"actual\[0\]\[0\].*{grade}"):
        evaluate([[("a", grade)]], [["a"]])


def test_a_document_of_grade_0_is_no_gold_document() -> None:
    result = evaluate([["a", ("b", 0)], [("c", 0)]], [["b", "a"], ["c"]], k=2)
    assert (result["recall@2"], result["mrr@2"], result.undefined["recall@2"]) == (1, 0.5, 1)
    assert [row.n_gold for row in result.per_query] == [1, 0]


def test_a_score_is_read_and_never_ranks() -> None:
    assert as_document(scored_node(0.3, text="t")).score == 0.3
    assert as_document(({"id": "a", "score": 0.1}, 0.4)).score == 0.4
    assert evaluate([["a"]], [[("b", 0.1), ("a", 0.9)]], k=1)["mrr@1"] == 0


@nothing_may_match
def test_the_input_is_never_mutated() -> None:
    gold = [[make() for make, _ in GRADED.values()], [make() for make, _, _ in FRAMEWORK_DOCUMENTS.values()]]
    retrieved = [[make() for make in WITH_DOCUMENT_ID.values()], ["t", ("t", 0.5)]]
    before = copy.deepcopy((gold[0], retrieved))
    result = evaluate(gold, retrieved, match_method=["id", "text", "containment", "rougeL"], id_key="doc_id")
    result.explain(0)
    assert (gold[0], retrieved) == before


def raising(attribute: str) -> object:
    fields = {"id": "a", "text": "t", attribute: property(lambda _: 1 / 0)}
    return type("Raising", (), fields)()


@pytest.mark.parametrize(
    "case", ["id id actual", "id id predicted", "text rougeL predicted", "metadata text actual", "grade text actual"]
)
def test_a_document_that_cannot_be_read_is_named(case: str) -> None:
    attribute, match_method, side = case.split()
    good: list[object] = [{"id": "a", "text": "t"}]
    sides = {"actual": [good], "predicted": [good], side: [[*good, raising(attribute)]]}
    with pytest.raises(InvalidInputError, match=rf"`{side}\[0\]\[1\]`.*Raising.*ZeroDivisionError: division by zero"):
        evaluate(sides["actual"], sides["predicted"], match_method=match_method)


def test_an_attribute_that_scoring_does_not_read_may_raise() -> None:
    assert recall(raising("text"), raising("score"), match_method="id") == 1


def test_cyclic_metadata_lone_surrogates_and_long_ids_do_no_harm() -> None:
    cyclic: dict[str, Any] = {"id": "a", "text": "t"}
    cyclic["metadata"] = cyclic
    assert recall(cyclic, cyclic, match_method=["id", "text"]) == 1
    for id_ in ("\ud800", "a\0b", "x" * 1_000_000):
        document = {"id": id_, "text": "t"}
        result = evaluate([[document]], [[document]], k=1, match_method="id", query_ids=[id_])
        assert result["recall@1"] == 1
        assert json.loads(result.to_json())["metrics"]["recall@1"] == 1
        assert "found at rank 1" in str(result.explain(0))


def test_a_lone_string_is_neither_the_id_nor_the_text_of_a_document() -> None:
    with pytest.raises(TypeError, match="by name") as caught:
        Document("Returns take 14 days.")  # type: ignore[call-arg, unused-ignore]
    assert isinstance(caught.value, InvalidInputError)
    suggested = [eval(call) for call in re.findall(r"Document\(\w+='[^']*'\)", str(caught.value))]
    assert suggested == [Document(id="Returns take 14 days."), Document(text="Returns take 14 days.")]


def test_a_document_can_be_copied_changed_and_pickled() -> None:
    document = Document(id="a", text="t", grade=2.0, metadata={"n": 1})
    assert pickle.loads(pickle.dumps(document)) == copy.deepcopy(document) == document
    assert dataclasses.replace(document, text=None) == Document(id="a", grade=2.0, metadata={"n": 1})
    assert Document(id="a").metadata == {}
