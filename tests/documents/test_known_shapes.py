"""How documents are read is found out once a type, where all objects of the type are read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval.documents.readers import HAYSTACK, PLAIN_OBJECT, KnownShapes


@dataclass
class Declared:
    """Counts how often it is looked through."""

    id: str
    text: str = ""
    looked = 0

    def __getattr__(self, name: str) -> Any:
        type(self).looked += 1
        raise AttributeError(name)


class Undeclared:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def test_a_type_that_declares_its_fields_is_looked_through_once() -> None:
    shapes = KnownShapes()
    first = shapes.reading_of(Declared("a"))
    looked = Declared.looked
    assert shapes.reading_of(Declared("b")) == first == (PLAIN_OBJECT, False, False)
    assert Declared.looked == looked > 0


def test_objects_of_a_type_that_declares_nothing_may_differ() -> None:
    shapes = KnownShapes()
    assert shapes.reading_of(Undeclared(id="a")) == (PLAIN_OBJECT, False, False)
    assert shapes.reading_of(Undeclared(id="a", content="text", meta={}, score=2)) == (HAYSTACK, True, False)


def test_the_score_of_a_pair_counts_before_the_score_of_the_document() -> None:
    shapes = KnownShapes()
    scored, bare = Undeclared(id="a", score=2), Undeclared(id="a")
    found = [shapes.reading_of(one).score(one, paired) for one in (scored, bare) for paired in (None, 0.5)]
    assert found == [2.0, 0.5, None, 0.5]


def test_what_is_no_document_is_refused_each_time() -> None:
    shapes = KnownShapes()
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="an object is not a document"):
            shapes.reading_of(object())
