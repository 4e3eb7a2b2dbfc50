"""Rules of access in files whose rows are under a key, and in formats that have no place for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import (
    EvalSet,
    KragEvalWarning,
    read_evalset,
    write_evalset,
)
from tests.datasets.test_rules_in_files import ROWS


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_file_has_the_rules_of_the_set_beside_its_questions(ending: str, tmp_path: Path) -> None:
    given = {
        "askers": {"ann": {"tenant": ["a"]}, "root": {}},
        "supersedes": {"p3": ["p2"], "p2": "p1"},
        "questions": [
            {"id": 1, "question": "q", "gold_chunk_ids": ["p3"], "asker": "ann"},
            {"id": 2, "question": "r", "gold_chunk_ids": ["p1"], "asker": "root"},
        ],
    }
    (tmp_path / f"set.{ending}").write_text(json.dumps(given), encoding="utf-8")  # JSON is YAML
    first, second = read_evalset(tmp_path / f"set.{ending}")
    assert [(one.id, one.metadata["reason"]) for one in first.forbidden()] == [
        ("p2", "superseded by p3"),
        ("p1", "superseded by p3"),
    ]
    assert (first.allowed, second.allowed, second.must_not) == ({"tenant": ["a"]}, {}, ())


def test_a_format_without_a_place_for_rules_says_that_they_are_lost(tmp_path: Path) -> None:
    with pytest.warns(KragEvalWarning, match="`allowed`: 1, `asker`: 1, .*`must_not`: 2"):
        write_evalset(EvalSet(ROWS), tmp_path / "set.qrels", format="trec")
