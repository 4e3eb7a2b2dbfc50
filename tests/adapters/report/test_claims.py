"""Every claim of the first screen has a source in the results; `page_of` checks each page of the other tests, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import EvalSet, Run, RunRow, compare, evaluate_ids
from krag_eval_report import Report, build_report
from krag_eval_report.html import html_page
from krag_eval_report.sections.overview import overview_of
from tests.adapters.report.test_overview import by_language, pair, run_of
from tests.support import table_cases as cases
from tests.support.claims import faults
from tests.support.page_cases import many, page_of, shop


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_report.html.page.figures_of", lambda report, speaker: [])


def several() -> Report:
    runs = {f"run {i}": evaluate_ids([["a"], ["b"], []], [["x"] * i + ["a"], ["b"], []], k=[1, 3]) for i in range(4)}
    return build_report(runs)


def test_what_a_page_claims_is_so() -> None:
    for report in (shop(1), shop(), many(50), several(), *(make() for make in cases.REPORTS.values())):
        assert faults(report, html_page(report)) == []


# What a page would say that is not so, and what the checker says of it.
LIES: list[tuple[Callable[[str], str], str]] = [
    (lambda page: re.sub(r'(data-claim="value"[^>]*>)0\.\d', r"\g<1>0.9", page, count=1), "value of"),
    (lambda page: re.sub(r'(data-claim="cause"[^>]*>)\d+', r"\g<1>77", page, count=1), "cause of"),
    (
        lambda page: re.sub(r'(id="krag-verdict">.*?)</h2>', r"\g<1> 3 of 4</h2>", page, count=1, flags=re.DOTALL),
        "has no source",
    ),
    (
        lambda page: page.replace("These queries cannot tell second from first", "second is better than first"),
        "verdict-open",
    ),
    (lambda page: page.replace('data-l10n="verdict-open"', 'data-l10n="verdict-better"', 1), "verdict-better"),
    (
        lambda page: page.replace('data-claim="won"', 'data-claim="lost"', 1).replace(
            'data-claim="tied"', 'data-claim="won"', 1
        ),
        "of [",
    ),
    (lambda page: page.replace('data-claim="n_gold"', "", 1), "has no source"),
    (lambda page: page.replace('data-claim="n_gold"', 'data-claim="anything"', 1), "nothing checks the number"),
    (lambda page: re.sub(r'cx="[\d.]+%"', 'cx="3%"', page, count=1), "a dot stands at"),
    (
        lambda page: re.sub(r"(over the )(\d+)( queries that did not fail)", r"\g<1>77\g<3>", page, count=1),
        "alarm-failed-means",
    ),
]


@pytest.mark.parametrize("number", range(len(LIES)))
def test_a_claim_that_is_not_so_is_found(number: int) -> None:
    lie, expected = LIES[number]
    page = html_page(shop())
    told = lie(page)
    assert told != page
    found = faults(shop(), told)
    assert any(expected in fault for fault in found), found


def test_a_session_has_one_number_on_the_whole_screen() -> None:
    """What is found and not cited is found: 50 of 60 in the verdict, and 0.833 as the value beside it."""
    questions = EvalSet([{"id": f"q{i}", "gold": [{"id": f"g{i}"}]} for i in range(60)])
    rows = [
        RunRow.from_dict(
            {
                "query_id": f"q{i}",
                "searches": [
                    {"query": "a", "retrieved": [{"id": f"g{i}" if i < 50 else "x"}]},
                    {"query": "b", "retrieved": [{"id": "y"}]},
                ],
                "cited": [{"id": f"g{i}"}] if i < 30 else [],
            }
        )
        for i in range(60)
    ]
    report = build_report(questions, {"agent": Run.of("agent", rows)}, k=5)
    said = overview_of(report)
    assert said.verdict.text == "agent finds 50 of 60 gold documents in the first 5"
    assert said.support[0].text.startswith("session_recall@5 of agent is 0.833 (")
    page = page_of(report)
    assert ">0.833<" in page[: page.index('<section id="queries"')]


def test_what_changed_is_counted_at_the_rank_of_the_verdict_and_says_it() -> None:
    questions = EvalSet([{"id": f"q{i}", "gold": [{"id": f"g{i}"}]} for i in range(40)])

    def ranked(ranks: list[int]) -> dict[str, list[str]]:
        return {f"q{i}": [f"g{i}" if at == rank else f"x{at}" for at in range(1, 11)] for i, rank in enumerate(ranks)}

    runs = {
        "old": run_of("old", ranked([7] * 20 + [1] * 20)),
        "new": run_of("new", ranked([2] * 22 + [8] * 3 + [1] * 15)),
    }
    comparison = compare(questions, runs, k=(1, 3, 5, 10), keys=["recall@5"])
    assert comparison.rank == 5
    assert (comparison.changed("new", found=True)[0], comparison.changed("new", found=False)[0]) == (20, 3)
    assert "missed before within rank 5: 20 (20 ranked_below_k)" in " ".join(repr(comparison).split())
    report = build_report(questions, comparison.results, comparison=comparison)
    facts = [cell.text for cell in overview_of(report).facts]
    assert "Gold documents that new finds within rank 5 and old misses: 20 (queries: 20)." in facts
    page_of(report)


def test_a_run_with_stages_names_the_stage_that_loses_most() -> None:
    rows: list[dict[str, Any]] = []
    for i in range(6):
        first = [{"id": f"g{i}"}, {"id": "x"}]
        last = [{"id": "x"}] if i < 4 else first
        stages = [{"name": "search", "retrieved": first}, {"name": "rerank", "inputs": ["search"], "retrieved": last}]
        rows.append({"query_id": f"q{i}", "stages": stages})
    questions = EvalSet([{"id": f"q{i}", "gold": [{"id": f"g{i}"}]} for i in range(6)])
    report = build_report(questions, {"r": Run.of("r", list(map(RunRow.from_dict, rows)))}, k=2)
    assert "Of 6 gold documents of r, 4 are lost in the stage rerank." in [c.text for c in overview_of(report).facts]
    page = page_of(report)
    assert "Lost in the stage rerank" in page


def test_nothing_is_called_worst_and_no_threshold_is_blamed_where_ids_are_compared() -> None:
    for report in (shop(), pair({"zh": 0.2}, {"ru": 0.3}), several()):
        page = page_of(report)
        screen = page[page.index('<section id="overview"') : page.index('<section id="queries"')]
        assert not re.search(r"\b(worst|lost most|threshold)\b", screen, re.IGNORECASE)


def test_a_run_whose_questions_stand_in_its_index_is_not_ranked() -> None:
    questions, first = by_language({})
    rows = [{**question.to_dict(), "question": f"What about {question.id}?"} for question in questions]
    questions = EvalSet(rows)
    leak = [
        RunRow.from_dict({"query_id": one["id"], "retrieved": [{"id": f"g-{one['id']}", "text": one["question"]}]})
        for one in rows
    ]
    runs = {"old": run_of("old", first), "leak": Run.of("leak", leak)}
    report = build_report(questions, runs, k=2)
    said = overview_of(report)
    assert said.alarms[0].title == "Do not use the scores of leak: the questions stand in its index"
    assert said.verdict.text.startswith("old finds ")
    page = page_of(report)
    assert page.count("<s><a") == 1
    assert "is-void" in page
