"""The settings of an evaluation set at its two levels."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval.datasets.question import settings_at


@pytest.mark.parametrize(
    ("level", "given", "expected"),
    [
        ("chunk", {}, {"match_method": "id"}),
        ("chunk", {"match_method": "text", "id_key": "key"}, {"match_method": "text", "id_key": "key"}),
        ("document", {}, {"match_method": "id", "id_key": "doc_id"}),
        ("document", {"match_method": ["id"]}, {"match_method": ["id"], "id_key": "doc_id"}),
        ("document", {"id_key": "source"}, {"match_method": "id", "id_key": "source"}),
        ("document", {"id_key": None}, {"match_method": "id", "id_key": "doc_id"}),
    ],
)
def test_ids_are_matched_unless_told_otherwise(level: str, given: Any, expected: Any) -> None:
    before = dict(given)
    assert settings_at(level, "doc_id", given) == expected
    assert given == before


def test_documents_are_matched_by_nothing_but_ids() -> None:
    with pytest.raises(InvalidInputError, match="matched by id, got match_method=\\['id', 'text'\\]"):
        settings_at("document", "doc_id", {"match_method": ["id", "text"]})


def test_a_level_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="`level` must be one of 'chunk', 'document', got 'page'"):
        settings_at("page", "doc_id", {})
