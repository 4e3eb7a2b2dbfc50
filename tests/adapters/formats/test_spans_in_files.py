"""Spans from files of other programs: answers of SQuAD, and the excerpts of chunking_evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, read_evalset
from tests.datasets.test_span_sets import squad


def test_answers_of_squad_are_alternatives_of_one_need(tmp_path: Path) -> None:
    answers = [{"text": "weekdays", "answer_start": 19}] * 2 + [{"text": "on\nweekdays", "answer_start": 16}]
    [question] = read_evalset(squad(tmp_path / "s.json", answers), format="squad_spans")
    [need] = question.gold
    assert [(d.metadata["doc_id"], d.metadata["start"], d.text) for d in need.any_of] == [
        ("p1", 19, "weekdays"),
        ("p1", 16, "on\nweekdays"),
    ]
    [plain] = read_evalset(tmp_path / "s.json")
    assert plain.gold[0].id == "p1"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"text": "weekdays", "answer_start": 18}, "which has '\\nweekday' there"),
        ({"text": "weekdays"}, "has no `answer_start`"),
        ({"text": "weekdays", "answer_start": -1}, "is not at `answer_start` -1"),
        ({"text": "Intro.", "answer_start": -1}, "is not at `answer_start` -1"),
        ({"text": "end.", "answer_start": -4}, "is not at `answer_start` -4"),
        ({"text": "", "answer_start": 0}, "is not at `answer_start` 0"),
        ({"text": "ntro.", "answer_start": True}, "has no `answer_start`"),
    ],
)
def test_an_answer_that_is_not_where_it_says_is_refused(answer: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_evalset(squad(tmp_path / "s.json", [answer]), format="squad_spans")
    assert said in str(caught.value)
    assert "qas[0]" in str(caught.value)


def test_an_excerpt_with_another_length_is_refused_with_its_line(tmp_path: Path) -> None:
    rows = (
        'question,references,corpus_id\nWhen?,"[{""content"": ""abc"", ""start_index"": 0, ""end_index"": 4}]",guide\n'
    )
    (tmp_path / "q.csv").write_text(rows)
    with pytest.raises(InvalidInputError, match=r"q\.csv:2.*'abc' has 3 characters"):
        read_evalset(tmp_path / "q.csv")
