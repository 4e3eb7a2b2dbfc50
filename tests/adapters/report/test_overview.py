"""The first screen: the verdict, what makes numbers doubtful, a few figures, and what to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow, evaluate_ids
from krag_eval.analysis.gate import Policy, check_gate
from krag_eval_report import Report, build_report
from krag_eval_report.html.matrices import matrix_of
from krag_eval_report.html.page import isolating
from krag_eval_report.sections import sections_of
from krag_eval_report.sections.overview import overview_of
from tests.support.marks import nothing_may_match
from tests.support.page_cases import page_of, shop, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

LANGUAGES = ("ko", "zh", "en", "ru")


def by_language(
    found: dict[str, float], n: int = 40, languages: tuple[str, ...] = LANGUAGES
) -> tuple[EvalSet, dict[str, list[str]]]:
    """Questions in some languages with one gold document each, of which these shares are found first."""
    rows: list[dict[str, Any]] = []
    rankings = {}
    for language in languages:
        for i in range(n):
            name = f"{language}{i}"
            rows.append({"id": name, "gold": [{"id": f"g-{name}"}], "metadata": {"language": language}})
            rankings[name] = [f"g-{name}" if i < found.get(language, 0.9) * n else "x", "y"]
    return EvalSet(rows), rankings


def run_of(name: str, rankings: dict[str, list[str]], failed: tuple[str, ...] = ()) -> Run:
    rows = [
        RunRow(query_id=query, error="TimeoutError: too slow")
        if query in failed
        else RunRow.from_dict({"query_id": query, "retrieved": [{"id": one} for one in ids]})
        for query, ids in rankings.items()
    ]
    return Run.of(name, rows)


def texts(cells: tuple[Any, ...]) -> list[str]:
    return [cell.text for cell in cells]


def pair(before: dict[str, float], after: dict[str, float], **options: Any) -> Report:
    questions, first = by_language(before)
    _, second = by_language(after)
    return build_report(
        questions, {"old": run_of("old", first), "new": run_of("new", second)}, by="language", k=[1, 2], **options
    )


def test_of_one_run_the_verdict_says_how_much_it_finds() -> None:
    result = evaluate_ids([["a", "b"], ["c"], []], [["a", "x"], ["c"], ["y"]], k=[1, 2])
    said = overview_of(build_report({"only": result}))
    assert said.verdict.text == "only finds 2 of 3 gold documents in the first 2"
    assert said.verdict.tone is None
    assert texts(said.support) == [
        "recall@2 of only is 0.750 (95 % interval 0.115 to 1.000) over 2 queries.",
        "Queries that miss a gold document: 1 of 2.",
    ]


def test_of_two_runs_it_says_which_one_is_better() -> None:
    better, worse = pair({}, {"ko": 1.0, "en": 1.0, "ru": 1.0, "zh": 1.0}), pair({}, {"zh": 0.0})
    assert overview_of(better).verdict.text == "new is better than old"
    assert overview_of(better).verdict.tone == "good"
    assert (
        overview_of(better)
        .support[0]
        .text.startswith("recall@2 goes from 0.900 to 1.000, by +0.100 (95 % interval +0.0")
    )
    assert overview_of(better).support[1].text == "Also better: mrr@2, ndcg@2."
    assert overview_of(worse).verdict.text == "new is worse than old"
    assert overview_of(worse).verdict.tone == "bad"


@pytest.mark.full
def test_a_verdict_without_a_winner_names_what_was_compared() -> None:
    assert overview_of(pair({}, {})).verdict.text == "new and old score the same on every query"
    unresolved = overview_of(pair({}, {"zh": 0.85})).verdict
    assert unresolved.text == "These queries cannot tell new from old"
    assert unresolved.tone is None


def test_a_verdict_has_at_most_60_characters_however_long_names_are() -> None:
    questions, rankings = by_language({}, n=4)
    long, longer, rtl = "a name of many words " * 15, "x" * 300, "اسم طويل جدا " * 20
    for names in ([long], [long, longer], ["a", rtl], [long, longer, rtl]):
        verdict = overview_of(
            build_report(questions, {name: run_of("r", rankings) for name in names}, k=2)
        ).verdict.text
        assert len(verdict) <= 60
        assert "…" in verdict


@pytest.mark.full
def test_a_slice_in_which_nothing_is_found_is_named_although_it_lost_nothing() -> None:
    said = texts(overview_of(pair({"zh": 0.0}, {"zh": 0.0})).slices)
    assert [text.split(":")[0] for text in said] == ["Surely below the mean of old", "Surely below the mean of new"]
    assert said[0] == "Surely below the mean of old: language = zh, recall@2 0.000 over 40 queries; 0.675 over all."


def test_a_slice_is_named_as_worse_only_if_its_own_verdict_says_so() -> None:
    said = texts(overview_of(pair({}, {"ru": 0.3})).slices)
    assert said[0].startswith("Worse: language = ru, mrr@2 of new −0.600 (95 % interval −0.")
    assert not any(text.startswith("Worse") for text in texts(overview_of(pair({}, {"ru": 0.85})).slices))


@pytest.mark.full
def test_names_that_are_written_from_right_to_left_leave_what_follows_in_its_place() -> None:
    languages = ("لغة <1>", "ل", "zh")
    questions, first = by_language({}, languages=languages)
    _, second = by_language({"لغة <1>": 0.3}, languages=languages)
    runs = {name: run_of(name, found) for name, found in {"قديم": first, "جديد & 2": second}.items()}
    report = build_report(questions, runs, by="language", k=2)
    page = page_of(report)
    assert "Worse: language = \u2068لغة &lt;1&gt;\u2069, mrr@2 of \u2068جديد &amp; 2\u2069 \u22120.600 (" in page
    assert ">\u2068جديد &amp; 2\u2069 is worse than \u2068قديم\u2069</span></h2>" in page
    assert isolating(report)("ل -1, جبل لون -1") == "\u2068ل\u2069 -1, جبل لون -1"


@pytest.mark.full
def test_slices_that_differ_by_chance_are_not_named() -> None:
    said = overview_of(pair({"zh": 0.85}, {"zh": 0.8}))
    assert said.slices == ()
    assert [text.split(" that")[0].split(" of ")[0] for text in texts(said.facts)] == ["Most misses", "Gold documents"]


def test_the_most_frequent_cause_leads_to_its_queries() -> None:
    fact = overview_of(shop(1)).facts[0]
    assert fact.text == (
        "Most misses of first: nothing like it was retrieved (never_retrieved), 2 of 3 missed gold documents "
        "within rank 5."
    )
    assert fact.door == "#queries?cause=never_retrieved"


@pytest.mark.full
@nothing_may_match
def test_what_makes_every_number_doubtful_is_said() -> None:
    questions, rankings = by_language({}, n=2)
    every = tuple(rankings)
    cases: list[tuple[Run, list[str]]] = [
        (run_of("r", rankings, failed=every), ["8 of 8 retrievals of r failed, 8 of them with an answer to find"]),
        (run_of("r", rankings, failed=every[:1]), ["1 of 8 retrievals of r failed, 1 of them with an answer to find"]),
        (
            run_of("r", rankings | {every[0]: [], every[1]: []}),
            ["r retrieved nothing for 2 of 8 queries with gold documents"],
        ),
        (
            run_of("r", {query: ["other"] for query in rankings}),
            ["No retrieved document of r matches a gold document"],
        ),
        (run_of("r", rankings), []),
    ]
    for run, expected in cases:
        assert [alarm.title for alarm in overview_of(build_report(questions, {"r": run})).alarms] == expected


def test_questions_without_an_answer_for_which_nothing_came_back_are_no_alarm() -> None:
    result = evaluate_ids([["a"], []], [["a"], []], k=1)
    assert overview_of(build_report({"only": result})).alarms == ()


def test_failures_state_both_means() -> None:
    questions, rankings = by_language({}, n=10)
    (alarm,) = overview_of(
        build_report(questions, {"r": run_of("r", rankings, failed=tuple(rankings)[:8])}, k=2)
    ).alarms
    assert alarm.text[1] == "So recall@2 is 0.700; over the 32 queries that did not fail it is 0.875."
    assert alarm.text[2] == "8 of 8 with TimeoutError: too slow. Repeat the run before comparing it."
    assert (alarm.n, alarm.door) == (8, "#queries?status=failed")


@pytest.mark.full
def test_the_matrix_marks_the_best_and_what_surely_differs() -> None:
    report = pair({}, {"ru": 0.3, "ko": 1.0})
    old, new = (matrix_of(report, system) for system in report.systems)
    assert [column.title for column in old.columns] == ["metric", "@1", "@2"]
    recall = {table.title: next(row for row in table.rows if row[0].text == "recall") for table in (old, new)}
    assert [cell.tone for cell in recall["old, baseline"][1:]] == ["best", "best"]
    assert [cell.tone for cell in recall["new"][1:]] == [None, "bad"]
    assert "worse" in (recall["new"][2].help or "")
    assert recall["new"][2].door == "#queries?columns=recall%402&run=new&sort=one%3Arecall%402"


def test_of_many_runs_the_best_one_is_the_subject() -> None:
    runs = {f"run {i}": evaluate_ids([["a"]] * 4, [["a"]] * i + [["x"]] * (4 - i), k=1) for i in (1, 4, 2)}
    said = overview_of(build_report(runs))
    assert said.verdict.text == "run 4 has the highest recall@1: 1.000"
    assert texts(said.support) == ["These queries cannot tell it from run 1, run 2, which may be as good."]
    tied = overview_of(build_report({f"run {i}": evaluate_ids([["a"]], [["a"]], k=1) for i in range(3)}))
    assert tied.verdict.text == "run 0 and 2 more have the highest recall@1: 1.000"


@pytest.mark.full
def test_of_many_runs_those_that_the_best_one_beats_are_named() -> None:
    questions, first = by_language({})
    runs = {"old": run_of("old", first)}
    for name, share in (("good", 1.0), ("poor", 0.2)):
        runs[name] = run_of(name, by_language(dict.fromkeys(LANGUAGES, share))[1])
    said = overview_of(build_report(questions, runs, k=2))
    assert texts(said.support) == [
        "Better than old, poor beyond chance.",
        "Worse than old in recall@2: poor.",
    ]


def test_a_gate_stands_first() -> None:
    questions, rankings = by_language({"zh": 0.0})
    run = run_of("new", rankings)
    policy = Policy.from_dict({"gate": {"require": ["recall@2 >= 0.9", "hit_rate@1 >= 0.2"]}})
    gate = check_gate(questions, run, policy)
    report = build_report(questions, {"new": run}, gate=gate)
    checks = overview_of(report).checks
    assert [check.tone for check in checks] == ["bad", "bad", "good"]
    assert checks[0].text == "Gate of new: FAIL"
    assert checks[1].text.startswith("FAIL: recall@2 >= 0.9: ")
    page = page_of(report)
    assert page.index("Gate of new: FAIL") < page.index("krag-scores-title")
    assert "Gate of new: FAIL" in next(iter(sections_of(report))).paragraphs


def test_without_gold_the_verdict_says_why_there_is_no_value() -> None:
    said = overview_of(build_report({"only": evaluate_ids([[], []], [["a"], []], k=1)}))
    assert said.verdict.text == "No value is defined"
    assert said.support[0].text.startswith("No query has a gold document")
    assert said.facts == ()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_answer_is_on_the_first_screen(page: Page, tmp_path: Path, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(write_page(tmp_path, pair({"zh": 0.2}, {"ru": 0.3})))
    bottom = "(name) => document.querySelector(name).getBoundingClientRect().bottom"
    top = "(name) => document.querySelector(name).getBoundingClientRect().top"
    for part in (".verdict", ".lead"):
        assert page.evaluate(bottom, part) <= height, part
    if width == 1440:
        for card in page.locator("#overview .card-box").all():
            assert (card.bounding_box() or {"y": 999})["y"] < 800
    assert page.evaluate(top, "#krag-board") < height
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_queries_are_in_the_menu_without_scrolling(page: Page, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(write_page(tmp_path, shop()))
    box = page.locator("nav a[href='#queries']").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width


def test_the_first_column_stays_where_a_table_is_wider_than_the_screen(page: Page, tmp_path: Path) -> None:
    runs = {f"a run with a long name {i}": evaluate_ids([["a"]], [["a"]], k=[1, 5]) for i in range(6)}
    page.set_viewport_size({"width": 900, "height": 800})
    page.goto(write_page(tmp_path, build_report(runs)) + "#summary")
    region = page.locator("#summary .scroll").first
    region.evaluate("e => { e.scrollLeft = 300; }")
    left = "e => e.querySelector('tbody th').getBoundingClientRect().left - e.getBoundingClientRect().left"
    assert region.evaluate("e => e.scrollLeft") > 100
    assert region.evaluate(left) == 0
