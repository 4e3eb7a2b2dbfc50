"""How documents are read depends on the document alone: not on its place, nor on what else stands beside it."""

from __future__ import annotations

import functools
import itertools
import pickle
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from krag_eval import InvalidInputError, as_document, compare, evaluate
from krag_eval.documents.readers import read_grade, reader_of


class Optional:
    """A class without declared fields: its objects have what they were made with."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class WithSlots:
    """A class whose slots may be empty."""

    __slots__ = ("content", "id", "meta", "metadata", "page_content", "text")

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)


class Answering:
    """A class that answers for attributes that it does not have."""

    def __init__(self, **attributes: Any) -> None:
        self._attributes = attributes

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_attributes"][name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass
class Filled:
    """A dataclass whose objects get one attribute more."""

    id: str | None = None
    page: str | None = None

    def __post_init__(self) -> None:
        if self.page is not None:
            self.page_content = self.page


@functools.cache
def open_type() -> Any:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("Open", __config__=pydantic.ConfigDict(extra="allow"), id=(str | None, None))


def open_model(**attributes: Any) -> Any:
    return open_type()(**attributes)


# Three places for a text, three for an id; of one type, in any order.
MIXED: list[dict[str, Any]] = [
    {"page_content": "alpha", "metadata": {"id": "a"}},
    {"text": "beta", "id": "b"},
    {"content": "gamma", "id": "c", "meta": {"lang": "en"}},
]
ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("make", [Optional, WithSlots, Answering, SimpleNamespace, open_model])
@pytest.mark.parametrize("method", ["id", "text"])
def test_documents_of_a_type_with_optional_attributes_are_found_in_every_order(
    make: Any, order: tuple[int, ...], method: str
) -> None:
    retrieved = [make(**MIXED[place]) for place in order]
    gold = [{"id": "a", "text": "alpha"}, {"id": "b", "text": "beta"}, {"id": "c", "text": "gamma"}]
    found = evaluate([gold], [retrieved], k=3, match_method=method)
    assert (found["recall@3"], found["precision@3"]) == (1, 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_attribute_that_only_some_objects_of_a_dataclass_get_is_read(order: tuple[int, ...]) -> None:
    documents = [Filled(id="a", page="alpha"), Filled(id="b")]
    assert [as_document(documents[place]).text for place in order] == [["alpha", None][place] for place in order]


def test_evaluate_reads_what_as_document_reads() -> None:
    documents = [SimpleNamespace(id="a", text="alpha"), SimpleNamespace(page_content="beta", id="b")]
    texts = [as_document(document).text for document in documents]
    assert texts == ["alpha", "beta"]
    assert evaluate([texts], [documents], k=2)["recall@2"] == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_grade_of_each_object_is_read_where_it_has_one(order: tuple[int, ...]) -> None:
    documents = [Optional(page_content="alpha", metadata={"relevance": 2}), Optional(id="b", text="beta", grade=3)]
    gold = [documents[place] for place in order]
    grades = [[2.0, 3.0][place] for place in order]
    assert [read_grade(document, "relevance") for document in gold] == grades
    found = evaluate([gold], [gold], k=1, metrics="ndcg", gain="linear")
    assert found["ndcg@1"] == grades[0] / 3


@dataclass(slots=True)
class Declared:
    """Its fields are all that its objects have."""

    id: str
    text: str = ""


def test_a_type_that_declares_its_fields_has_one_reader() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Closed", id=str, text=str)
    for one, other in [
        (Declared("a"), Declared("b")),
        ({"id": "a"}, {"text": "t"}),
        ("a", "b"),
        (model(id="a", text="t"), model(id="b", text="")),
    ]:
        assert reader_of(one) is reader_of(other) is not None


def test_a_declared_type_without_a_score_is_not_asked_for_one() -> None:
    reader = reader_of(Declared("a"))
    assert reader is not None
    assert [reader.read_score(Declared("a"), paired) for paired in (None, 0.5)] == [None, 0.5]


def test_the_score_of_a_pair_counts_before_the_score_of_the_document() -> None:
    scored, bare = Optional(id="a", score=2), Optional(id="a")
    given = [scored, bare, (scored, 0.5), (bare, 0.5)]
    assert [as_document(one).score for one in given] == [2.0, None, 0.5, 0.5]


def test_what_is_no_document_is_refused_each_time() -> None:
    for _ in range(2):
        assert reader_of(object()) is None
        with pytest.raises(InvalidInputError, match="an object is not a document"):
            as_document(object())


def langchain(**attributes: Any) -> Any:
    documents = pytest.importorskip("langchain_core.documents")
    return documents.Document(id=attributes["id"], page_content=attributes["text"])


@pytest.mark.parametrize("make", [dict, Optional, SimpleNamespace, langchain])
@pytest.mark.parametrize("method", ["id", "text", "rougeL"])
def test_a_result_can_be_pickled_with_its_documents(make: Any, method: str) -> None:
    result = evaluate([[make(id="a", text="t")]], [[make(id="a", text="t")]], k=1, match_method=method)
    copied = pickle.loads(pickle.dumps(result))
    assert (copied.signature, copied.explain(0)) == (result.signature, result.explain(0))


def test_a_comparison_can_be_pickled() -> None:
    one, other = (evaluate([["t"], ["u"]], [["t"], [text]], k=1) for text in ("u", "v"))
    copied = pickle.loads(pickle.dumps(compare({"one": one, "other": other})))
    assert len(copied.rows) > 0
