"""Alternatives of gold documents on the page."""

from __future__ import annotations

from krag_eval import evaluate
from krag_eval_report import build_report
from krag_eval_report.html.numbered import Texts
from krag_eval_report.html.page import Details

EITHER = [{"any_of": [{"id": "a"}, {"id": "b"}], "grade": 2}, {"id": "b"}]
FOUND = [{"id": "b"}, {"id": "x"}, {"id": "a"}]


def test_the_page_shows_alternatives_as_one_gold_document() -> None:
    result = evaluate([EITHER, [{"id": "c"}]], [FOUND, [{"id": "c"}]], k=2, match_method="id")
    details = Details(build_report({"r": result}), Texts())
    assert details.columns()["gold"]["alternative"] == [-1, 0, -1, -1]
    causes = details.systems()[0]["gold"]["cause"]
    assert len(causes) == 4
    assert causes[1] == -1
