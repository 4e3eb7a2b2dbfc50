"""Grades below 0 in files."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from krag_eval import (
    EvalSet,
    KragEvalWarning,
    read_evalset,
    write_evalset,
)
from tests.metrics.test_negative_grades import EXPECTED, FORMS, QRELS, ROWS


@pytest.mark.parametrize("form", FORMS)
def test_grades_below_0_mean_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    found = FORMS[form](tmp_path)
    assert {key: found[key] for key in EXPECTED} == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.parametrize("ending", ["qrels", "jsonl", "scores.json"])
def test_files_keep_them(ending: str, tmp_path: Path) -> None:
    questions = EvalSet([{"id": "q", "question": "?", "gold": ROWS}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KragEvalWarning)  # a TREC file has no texts of questions
        write_evalset(questions, tmp_path / f"set.{ending}")
    (question,) = read_evalset(tmp_path / f"set.{ending}")
    assert {document.id: document.grade for document in question.gold} == QRELS["q"]
