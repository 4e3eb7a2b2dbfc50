"""The repr of whatever holds a user's texts stays short, so that a notebook that ends in it can be read."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from krag_eval import Document, EvalSet, Need, Question, Run, RunRow, evaluate
from krag_eval._utils.objects import LONGEST_REPR, ShortRepr
from krag_eval.datasets import Search, Stage

LONG = [
    Document(id=f"d{n}", text="long " * 10_000, metadata={f"k{i}": "v" * 500 for i in range(50)}) for n in range(50)
]
ROW = RunRow(query_id="q" * 1_000, retrieved=tuple(LONG))
LARGE = {
    "document": LONG[0],
    "need": Need(any_of=LONG),
    "question": Question(id="q", question="why " * 5_000, gold=tuple(LONG[:3]), notes="n" * 9_000),
    "row": ROW,
    "stage": Stage(name="dense", retrieved=tuple(LONG)),
    "search": Search(retrieved=tuple(LONG), query="why " * 5_000),
    "run": Run.of("bm25 " * 1_000, [ROW]),
    "set": EvalSet([{"id": "q", "question": "why " * 5_000, "gold": LONG}]),
    "explanation": evaluate([LONG], [LONG], 3, match_method="id").explain(0),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_repr_of_what_is_large_is_short_and_begins_as_ever(name: str) -> None:
    shown = repr(LARGE[name])
    assert len(shown) <= LONGEST_REPR
    assert type(LARGE[name]).__name__ in shown[:20]


def test_no_field_of_what_is_large_is_cut_off() -> None:
    shown = repr(LARGE["question"])
    assert [field.name for field in dataclasses.fields(Question) if f"{field.name}=" not in shown] == []


def test_the_repr_of_what_is_small_is_that_of_a_dataclass() -> None:
    @dataclasses.dataclass(frozen=True, repr=False)
    class Ours(ShortRepr):
        name: str
        numbers: tuple[int, ...]
        more: dict[str, Any]

    @dataclasses.dataclass(frozen=True)
    class Theirs:
        name: str
        numbers: tuple[int, ...]
        more: dict[str, Any]

    given: Any = ("x", (1, 2), {"z": [1.5, None], "a": {"b": ()}})
    assert repr(Ours(*given)).partition("(")[2] == repr(Theirs(*given)).partition("(")[2]
