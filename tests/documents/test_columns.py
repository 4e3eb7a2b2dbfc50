"""Whole columns are read as their documents are read one by one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import InvalidInputError, evaluate
from krag_eval.documents.columns import Side
from krag_eval.documents.readers import id_of_pair, read_grade, reader_of, reader_of_pair, split_pair
from krag_eval.matching.batch import Batch, join
from krag_eval.matching.settings import make_settings

BY_ID = make_settings(match_method="id")


@dataclass(slots=True)
class LangChainLike:
    """What is read as LangChain's documents are."""

    page_content: str
    id: Any = None
    metadata: Any = field(default_factory=dict)


@dataclass(slots=True)
class HaystackLike:
    """What is read as Haystack's documents are."""

    content: str
    id: Any = None
    meta: Any = field(default_factory=dict)


@dataclass(slots=True)
class NodeLike:
    """What is read as a node of LlamaIndex is."""

    node_id: str
    text: str = "node"

    def get_content(self) -> str:
        return self.text


class Text(str):
    """A string of another type, which looks different from what it is."""

    __slots__ = ()

    def __str__(self) -> str:
        return "other"


class Mapped(dict[str, Any]):
    """A dict of another type, which has a value under every key when it is indexed."""

    def __missing__(self, key: str) -> str:
        return "made"


@dataclass
class Open:
    """A Haystack document whose objects may have further attributes."""

    content: str
    id: Any = None
    meta: Any = field(default_factory=dict)


def opened(id_: Any, further: dict[str, Any]) -> Open:
    """Return one with these further attributes."""
    made = Open("t", id_)
    vars(made).update(further)
    return made


ODD_IDS = [None, "", "a", "b", "c", 0, 1, True, 1.5, uuid.UUID(int=7), "1", Text("a"), np.str_("b"), np.int64(1)]
GRADES = st.sampled_from([None, 0, 1, 2.5, 3])
NUMBERS = st.sampled_from([0.5, 1, np.float32(0.25), None])


@st.composite
def rows_of_documents(draw: st.DrawFn) -> list[list[Any]]:
    """Rows of one kind of documents or of several, with ids as they should be or of any kind."""
    ids = draw(
        st.sampled_from([st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", None]), st.sampled_from(ODD_IDS)])
    )
    metadata = st.fixed_dictionaries({}, optional={"id": ids, "key": ids, "grade": GRADES})
    text = st.sampled_from(["t", "u"])
    mappings = st.fixed_dictionaries(
        {"text": text},
        optional={
            **dict.fromkeys(("id", "_id", "uuid", "key"), ids),
            **dict.fromkeys(("metadata", "meta"), metadata),
            **dict.fromkeys(("page_content", "content"), text),
        },
    )
    kinds = [
        mappings,
        st.builds(LangChainLike, text, ids, metadata),
        st.builds(LangChainLike, text, ids, st.one_of(metadata, st.none())),
        st.builds(HaystackLike, text, ids, metadata),
        st.builds(NodeLike, st.sampled_from(["a", "b", ""])),
        st.builds(lambda i, m: SimpleNamespace(id=i, text="t", metadata=m), ids, metadata),
        st.sampled_from(["a", "some text.", Text("a")]),
        st.builds(Mapped, mappings),
        st.builds(
            opened, ids, st.fixed_dictionaries({}, optional={"page_content": text, "node": st.just(NodeLike("c"))})
        ),
    ]
    documents = st.one_of(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)))
    if draw(st.booleans()):
        documents = draw(
            st.sampled_from([st.tuples(documents, NUMBERS), st.one_of(documents, st.tuples(documents, NUMBERS))])
        )
    return draw(st.lists(st.lists(documents, max_size=3), min_size=1, max_size=3))


ROWS = rows_of_documents()


def one_by_one(document: Any, id_key: str | None) -> str | None:
    """The id of a document, read alone."""
    inner = split_pair(document)[0]
    reader = reader_of(inner) or reader_of_pair(document)
    assert reader is not None
    found = reader.read_id(inner, id_key)
    return id_of_pair(document) if found is None and id_key is None else found


@given(ROWS, st.sampled_from([None, "key", ".id"]))
def test_ids_are_those_of_the_documents_alone(rows: list[list[Any]], id_key: str | None) -> None:
    documents = [document for row in rows for document in row]
    expected = [one_by_one(document, id_key) for document in documents]
    side = Side("predicted", rows, id_key, "grade")
    assert list(side.ids) == expected
    assert side.has_id.tolist() == [one is not None for one in expected]
    by_row = Side("predicted", rows, id_key, "grade")
    first = next(by_row.id_rows(), [])
    assert [*first, *(id_ for ids in islice(by_row.id_rows(), 1, None) for id_ in ids)] == expected
    assert by_row.documents == documents
    assert list(by_row.ids) == expected


@given(ROWS)
def test_grades_are_those_of_the_documents_alone(rows: list[list[Any]]) -> None:
    try:
        side = Side("actual", rows, None, "grade")
        expected = [read_grade(document, "grade") for row in rows for document in row]
    except InvalidInputError:
        return
    assert side.grades.tolist() == expected


@given(ROWS, ROWS)
@pytest.mark.full
def test_ids_matched_query_by_query_are_those_matched_all_together(
    gold: list[list[Any]], rows: list[list[Any]]
) -> None:
    rows = [*rows, *([[]] * len(gold))][: len(gold)]
    batch = Batch(Side("actual", gold, None, "grade"), Side("predicted", rows, None, "grade"), BY_ID)
    found = batch.equal_ids()
    expected = join(batch, batch.ids)
    pairs = [sorted(zip(one.actual.tolist(), one.predicted.tolist(), strict=True)) for one in (found, expected)]
    assert pairs[0] == pairs[1]
    repeated = [len(set(ids)) < len(ids) for ids in batch.actual.id_rows()]
    assert batch.has_gold_repeats >= any(repeated)


@pytest.mark.parametrize("id_key", [None, "key"])
def test_the_document_that_cannot_be_read_is_named_although_all_are_read_together(id_key: str | None) -> None:
    good = {"id": "a", "text": "t", "metadata": {"key": "a"}}
    rows = [[good] * 3, [good, {"metadata": {}}]]
    with pytest.raises(InvalidInputError, match=r"`predicted\[1\]\[1\]` \(query 1, rank 2\)"):
        evaluate([[good], [good]], rows, k=2, match_method="id", id_key=id_key)


def test_an_attribute_that_only_one_object_of_a_type_has_decides_how_that_one_is_read() -> None:
    rows = [[Open("t", "a"), opened("a", {"node": NodeLike("c")})]]
    assert list(Side("predicted", rows, None, "grade").ids) == ["a", "c"]


def test_rows_that_change_after_their_ids_were_read_change_no_documents() -> None:
    rows = [[{"id": "a"}], [{"id": "b"}]]
    side = Side("predicted", rows, None, "grade")
    assert list(side.ids) == ["a", "b"]
    rows[0].clear()
    assert side.documents == [{"id": "a"}, {"id": "b"}]
