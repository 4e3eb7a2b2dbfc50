"""Whatever is given as a document: a right number, or an InvalidInputError that says where. Nothing is changed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import EvalSet, InvalidInputError, evaluate, evaluate_ids
from krag_eval.documents.document import as_document
from tests.support.marks import nothing_may_match

Make = Callable[[], Any]


class Loud(str):
    """A string that lies about itself."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __bool__(self) -> bool:
        raise RuntimeError("no")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows it, so that a failing example is shown with its own error."""
        printer.text("Loud('a')")


class Moody(dict[str, Any]):
    """A mapping whose `get` fails."""

    def get(self, key: str, default: Any = None) -> Any:
        raise KeyError(key)


class Endless(Mapping[str, Any]):
    """A mapping that says that it has keys, and fails to show them."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("gone")

    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")

    def __len__(self) -> int:
        return 3


class Counting:
    """Its properties change it each time they are read."""

    def __init__(self) -> None:
        self.n_reads = 0

    @property
    def id(self) -> str:
        self.n_reads += 1
        return f"a{self.n_reads}"

    @property
    def text(self) -> str:
        self.n_reads += 1
        return "t"


class Number(float):
    """A number that cannot be converted."""

    def __float__(self) -> float:
        raise ZeroDivisionError


def raising(attribute: str, error: type[Exception]) -> Any:
    def fail(_: object) -> Any:
        raise error("password=hunter22")

    return type("Raising", (), {"id": "a", "text": "t", "metadata": {}, attribute: property(fail)})()


def cyclic() -> dict[str, Any]:
    document: dict[str, Any] = {"id": "a", "text": "t"}
    document["metadata"] = {"self": document, "relevance": 1}
    return document


def failing() -> Iterator[Any]:
    yield {"id": "a", "text": "t"}
    raise ConnectionError("lost")


TEXTS = ["", "a", "t", "\ud800", "a\0b", " \u200b ", "x" * 1_000_000, "é" * 3, "=1+1"]
VALUES = [None, True, 0, 7, -1, 10**5_000, -(10**5_000), 1.5, float("nan"), float("inf"), b"a", [], {}, object()]
VALUES += [Loud("a"), Number(1), np.int64(7), np.float32(1), np.array([1, 2]), UUID(int=7), 3 + 4j, *TEXTS]
ANYTHING = st.sampled_from(VALUES)
ERRORS = st.sampled_from([RuntimeError, KeyError, RecursionError, MemoryError, AttributeError, StopIteration])
KEYS = st.sampled_from(["id", "text", "page_content", "content", "grade", "score", "metadata", "meta", "doc_id"])


def made(kind: str, value: object, more: dict[str, Any]) -> Any:
    """An object of a framework's shape around any values."""
    fields = {"langchain": ("page_content", "metadata"), "haystack": ("id", "content", "meta"), "own": ("id", "text")}
    return type(kind, (), {**dict.fromkeys(fields[kind], value), **more})()


ODD: st.SearchStrategy[Make] = st.one_of(
    st.builds(lambda fields: lambda: dict(fields), st.dictionaries(KEYS, ANYTHING, max_size=4)),
    st.builds(lambda v, m: lambda: {"id": "a", "text": v, "metadata": m}, ANYTHING, st.dictionaries(KEYS, ANYTHING)),
    st.builds(
        lambda *given: lambda: made(*given),
        st.sampled_from(["langchain", "haystack", "own"]),
        ANYTHING,
        st.dictionaries(KEYS, ANYTHING, max_size=3),
    ),
    st.builds(
        lambda *given: lambda: raising(*given),
        st.sampled_from(["id", "text", "metadata", "page_content", "content", "meta", "node", "grade", "score"]),
        ERRORS,
    ),
    st.builds(lambda value: lambda: value, ANYTHING),
    st.builds(lambda make, number: lambda: (make, number), ANYTHING, ANYTHING),
    st.sampled_from([cyclic, Counting, lambda: Moody(id="a", text="t"), Endless, lambda: Moody, failing]),
)
PLAIN: st.SearchStrategy[Make] = st.builds(
    lambda id_, text: lambda: {"id": id_, "text": text}, st.sampled_from("abc"), st.sampled_from(["t", "u", "\ud800"])
)
LISTS = st.lists(ODD | PLAIN, max_size=3)
ROWS = LISTS.map(lambda makes: lambda: [make() for make in makes]) | ODD | st.just(failing)
SIDES = st.lists(ROWS, max_size=3).map(lambda rows: lambda: [row() for row in rows]) | ODD
PLAIN_SIDES = st.lists(st.lists(PLAIN, max_size=3), max_size=3).map(
    lambda rows: lambda: [[d() for d in r] for r in rows]
)
METHODS = st.sampled_from(["id", "text", "containment", "rouge1", "rougeL", ["id", "text"]])


@nothing_may_match
@settings(max_examples=4 * settings().max_examples)
@given(
    sides=st.tuples(SIDES, PLAIN_SIDES) | st.tuples(PLAIN_SIDES, SIDES) | st.tuples(SIDES, SIDES),
    match_method=METHODS,
    id_key=st.none() | st.just("doc_id"),
)
def test_anything_is_scored_or_refused_with_its_place(
    sides: tuple[Make, Make], match_method: Any, id_key: str | None
) -> None:
    gold, retrieved = (side() for side in sides)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = evaluate(gold, retrieved, k=(1, None), match_method=match_method, id_key=id_key)
        except InvalidInputError as error:
            message = str(error)
        else:
            message = "`actual`"
            values = [value for value in result.to_dict().values() if isinstance(value, float)]
            assert all(0 <= value <= 1 for value in values)
            result.to_json()
            for query in range(result.n_queries):
                str(result.explain(query))
    # What has fields of a run on the side of the gold is taken for swapped sides.
    places = ("`actual", "`predicted", "gold document", "retrieved document", "order of the arguments")
    assert any(side in message for side in places)
    assert "hunter22" not in message
    assert len(message) < 1_000


@settings(max_examples=2 * settings().max_examples)
@given(makes=LISTS, row=st.dictionaries(st.sampled_from(["question", "answer", "gold_chunk_ids"]), ANYTHING))
def test_any_row_makes_a_question_or_is_refused_by_its_number(makes: list[Make], row: dict[str, Any]) -> None:
    message = ""
    try:
        EvalSet([{"id": 1, **row, "gold": [make() for make in makes]}])
    except InvalidInputError as error:
        message = str(error)
    assert message == "" or message.startswith("question 0: ")


@settings(max_examples=2 * settings().max_examples)
@given(make=ODD, is_gold=st.booleans())
def test_any_object_is_read_as_a_document_or_refused(make: Make, is_gold: bool) -> None:
    given_ = make()
    try:
        document = as_document(given_, is_gold=is_gold)
    except InvalidInputError:
        return
    assert type(document.id) in (str, type(None))
    assert type(document.text) in (str, type(None))


@nothing_may_match
@settings(max_examples=2 * settings().max_examples)
@given(actual=st.lists(st.lists(ANYTHING) | ANYTHING, max_size=3), predicted=st.lists(st.lists(ANYTHING), max_size=3))
def test_any_bare_id_is_scored_or_refused_with_its_place(actual: list[Any], predicted: list[Any]) -> None:
    try:
        evaluate_ids(actual, predicted, k=1)
    except InvalidInputError as error:
        message = str(error)
    else:
        message = "`actual`"
    assert any(side in message for side in ("`actual", "`predicted", "gold document", "retrieved document"))


@pytest.mark.sample(7)
@pytest.mark.parametrize("k", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_any_cut_off_is_taken_or_refused(k: object) -> None:
    try:
        evaluate([["a"]], [["a"]], k=k, match_method="text")  # type: ignore[arg-type]  # that is the point
    except InvalidInputError as error:
        assert str(error).startswith("`k` ")  # noqa: PT017 - a cut-off may also be fine


@nothing_may_match
@given(rows=st.lists(st.lists(PLAIN, max_size=3), min_size=1, max_size=3), match_method=METHODS)
def test_what_was_given_is_as_it_was(rows: list[list[Make]], match_method: Any) -> None:
    gold, same = ([[{**make(), "metadata": cyclic()} for make in row] for row in rows] for _ in range(2))
    inner = [[document["metadata"] for document in row] for row in gold]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluate(gold, [row[::-1] for row in gold], match_method=match_method)
    assert [[(d["id"], d["text"], list(d)) for d in row] for row in gold] == [
        [(d["id"], d["text"], list(d)) for d in row] for row in same
    ]
    assert all(
        a is d["metadata"] for row, those in zip(gold, inner, strict=True) for d, a in zip(row, those, strict=True)
    )
