"""Documents with two ids: the one in the metadata wins by default, and `id_key=".id"` lets the document's own win."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument

from krag_eval import (
    Document,
    EvalSet,
    as_document,
    evaluate,
)


def both(own: str, in_metadata: object) -> LangChainDocument:
    return LangChainDocument("text", id=own, metadata={"id": in_metadata})


ROW: Any = {"page_content": "text", "id": "own", "metadata": {"id": "other"}}


@pytest.mark.parametrize(
    ("document", "by_default", "own", "in_metadata"),
    [
        (both("own", "other"), "other", "own", "other"),
        (both("same", "same"), "same", "same", "same"),
        (LangChainDocument("text", id="own"), "own", "own", None),
        (LangChainDocument("text", metadata={"id": "other"}), "other", "other", "other"),
        (ROW, "other", "own", "other"),
        ({"text": "text", "id": "own", "metadata": {"id": "other"}}, "own", "own", "other"),
        (Document(id="own", metadata={"id": "other"}), "own", "own", "other"),
        (Document(id="other", metadata={"id": "other", ".id": "own"}), "other", "own", "other"),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_the_setting_says_which_id_wins(
    document: Any, by_default: str, own: str, in_metadata: str | None, recorded: bool
) -> None:
    given = as_document(document) if recorded else document
    assert as_document(given).id == by_default
    assert as_document(given, id_key=".id").id == own
    assert as_document(given, id_key="id").id == in_metadata


def test_a_record_keeps_the_other_id_only_where_there_is_one() -> None:
    assert as_document(both("own", "other")).metadata == {"id": "other", ".id": "own"}
    assert as_document(both("same", "same")).metadata == {"id": "same"}
    assert as_document(both("own", "other"), id_key="id").metadata == {"id": "other"}
    assert as_document({"id": "a", "metadata": {"id": "b"}}).metadata == {"id": "b"}


GOLD: Any = [{"id": "q1", "question": "first?", "gold_chunk_ids": ["d1"]}]


def search(question: str) -> list[Any]:
    return [both("d9", "12"), both("d1", "13")]


def test_an_id_that_a_store_made_up_does_not_change_the_fingerprint() -> None:
    sets = [EvalSet([{"id": "q", "gold": [both(own, "d1")]}]) for own in ("uuid-1", "uuid-2")]
    assert sets[0].fingerprint == sets[1].fingerprint
    assert evaluate(sets[0].gold(), [[both("uuid-1", "x")]], 1, match_method="id", id_key=".id")["recall@1"] == 1
