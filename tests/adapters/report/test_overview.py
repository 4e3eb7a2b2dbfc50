"""The first screen: the verdict, what makes numbers doubtful, a few figures, and what to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow, evaluate_ids
from krag_eval.analysis.gate import Policy, check_gate
from krag_eval.report import Report, build_report
from krag_eval.report.sections import overview_of, sections_of
from krag_eval_report.html.page import isolating
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
    assert said.verdict.text == (
        "only finds 2 of 3 gold documents (67 %) in the first 2 ranks; 1 of 2 queries misses at least one."
    )
    assert said.verdict.tone is None


def test_of_two_runs_it_says_which_one_is_better() -> None:
    better, worse = pair({}, {"ko": 1.0, "en": 1.0, "ru": 1.0, "zh": 1.0}), pair({}, {"zh": 0.0})
    assert overview_of(better).verdict.text.startswith("new is better than old in ")
    assert overview_of(better).verdict.tone == "good"
    assert overview_of(worse).verdict.text.startswith("new is worse than old in ")
    assert overview_of(worse).verdict.tone == "bad"


@pytest.mark.full
def test_a_verdict_without_a_winner_names_what_was_compared() -> None:
    assert overview_of(pair({}, {})).verdict.text == "new against old: no query differs in mrr@2, recall@2, ndcg@2."
    unresolved = overview_of(pair({}, {"zh": 0.85})).verdict
    assert unresolved.text == "new against old: cannot be resolved with 160 questions."
    assert unresolved.tone is None


@pytest.mark.full
def test_a_slice_in_which_nothing_is_found_is_named_although_it_lost_nothing() -> None:
    said = overview_of(pair({"zh": 0.0}, {"zh": 0.0}))
    worst = [text for text in texts(said.facts) if text.startswith("Surely below")]
    assert len(worst) == 2
    assert worst[0].startswith("Surely below the mean of old: language = zh, recall@2 0.0000 (0.0000 to 0.1")
    assert worst[0].endswith("over 40 queries; 0.6750 over all.")
    assert not any(text.startswith("Surely worse") for text in texts(said.facts))


def test_the_slice_that_lost_most_is_named_if_it_surely_lost() -> None:
    lost = [text for text in texts(overview_of(pair({}, {"ru": 0.3})).facts) if text.startswith("Surely worse")]
    assert len(lost) == 1
    assert lost[0].startswith("Surely worse: language = ru, mrr@2 of new -0.600 (")
    assert not any(text.startswith("Surely worse") for text in texts(overview_of(pair({}, {"ru": 0.85})).facts))


@pytest.mark.full
def test_names_that_are_written_from_right_to_left_leave_what_follows_in_its_place() -> None:
    languages = ("لغة <1>", "ل", "zh")
    questions, first = by_language({}, languages=languages)
    _, second = by_language({"لغة <1>": 0.3}, languages=languages)
    runs = {name: run_of(name, found) for name, found in {"قديم": first, "جديد & 2": second}.items()}
    report = build_report(questions, runs, by="language", k=2)
    page = page_of(report)
    assert "Surely worse: language = \u2068لغة &lt;1&gt;\u2069, mrr@2 of \u2068جديد &amp; 2\u2069 -0.600 (" in page
    assert '<p class="verdict bad">\u2068جديد &amp; 2\u2069 is worse than \u2068قديم\u2069' in page
    assert isolating(report)("ل -1, جبل لون -1") == "\u2068ل\u2069 -1, جبل لون -1"


@pytest.mark.full
def test_slices_that_differ_by_chance_are_not_named() -> None:
    said = overview_of(pair({"zh": 0.85}, {"zh": 0.8}))
    assert [text.split(":")[0] for text in texts(said.facts)] == ["Most misses of new"]


def test_the_most_frequent_cause_leads_to_its_queries() -> None:
    fact = overview_of(shop(1)).facts[0]
    assert fact.text.startswith(
        "Most misses: never_retrieved (nothing like it was retrieved), 2 of 3 missed gold documents."
    )
    assert fact.door == "#queries?cause=never_retrieved"


@pytest.mark.full
@nothing_may_match
def test_what_makes_every_number_doubtful_is_said() -> None:
    questions, rankings = by_language({}, n=2)
    every = tuple(rankings)
    cases: list[tuple[Run, list[str]]] = [
        (run_of("r", rankings, failed=every), ["r: 8 of 8 retrievals failed. They count as nothing retrieved."]),
        (run_of("r", rankings, failed=every[:1]), ["r: 1 of 8 retrievals failed. They count as nothing retrieved."]),
        (
            run_of("r", rankings | {every[0]: [], every[1]: []}),
            ["r: nothing was retrieved for 2 of 8 queries with gold documents."],
        ),
        (
            run_of("r", {query: ["other"] for query in rankings}),
            ["r: no retrieved document matches a gold document. Check ids, texts and the matching method."],
        ),
        (run_of("r", rankings), []),
    ]
    for run, expected in cases:
        assert texts(overview_of(build_report(questions, {"r": run})).alarms) == expected


def test_questions_without_an_answer_for_which_nothing_came_back_are_no_alarm() -> None:
    result = evaluate_ids([["a"], []], [["a"], []], k=1)
    assert overview_of(build_report({"only": result})).alarms == ()


def test_figures_have_intervals_and_changes() -> None:
    figures = overview_of(pair({}, {"ru": 0.3})).figures
    assert [figure.key for figure in figures] == ["recall@2", "ndcg@2", "mrr@2"]  # those that were tested
    recall = figures[0]
    assert (recall.of, recall.value.text) == ("new", "0.7500")
    assert recall.interval.text.startswith("0.")
    assert recall.change is not None
    assert recall.change.text.startswith("-0.150 (-0.")
    assert recall.change.text.endswith(", worse")
    assert recall.change.tone == "bad"
    assert recall.change.door == "#queries?change=worse&metric=recall%402&run=old&against=new"


@pytest.mark.full
def test_the_matrix_marks_the_best_and_what_surely_differs() -> None:
    report = pair({}, {"ru": 0.3, "ko": 1.0})
    old, new = overview_of(report).matrices
    assert [column.title for column in old.columns] == ["metric", "@1", "@2"]
    recall = {table.title: next(row for row in table.rows if row[0].text == "recall") for table in (old, new)}
    assert [cell.tone for cell in recall["old, baseline"][1:]] == ["best", "best"]
    assert [cell.tone for cell in recall["new"][1:]] == [None, "bad"]
    assert "worse" in (recall["new"][2].help or "")
    assert recall["new"][2].door == "#queries?columns=recall%402&run=new&sort=one%3Arecall%402"


def test_of_many_runs_the_best_one_is_the_subject() -> None:
    runs = {f"run {i}": evaluate_ids([["a"]] * 4, [["a"]] * i + [["x"]] * (4 - i), k=1) for i in (1, 4, 2)}
    said = overview_of(build_report(runs))
    assert {figure.of for figure in said.figures} == {"run 4"}
    assert said.verdict.text == (
        "run 4 has the highest recall@1 of 3 runs; run 1, run 2 may be as good. "
        "Against run 1, not resolved: run 4, run 2."
    )
    assert len(said.matrices) == 3


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
    assert page.index("Gate of new: FAIL") < page.index("Most misses")
    assert "Gate of new: FAIL" in next(iter(sections_of(report))).paragraphs


def test_without_gold_the_verdict_says_why_there_is_no_value() -> None:
    said = overview_of(build_report({"only": evaluate_ids([[], []], [["a"], []], k=1)}))
    assert said.verdict.text.startswith("No query has a gold document")
    assert said.facts == ()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_answer_is_on_the_first_screen(page: Page, tmp_path: Path, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(write_page(tmp_path, pair({"zh": 0.2}, {"ru": 0.3})))
    bottom = "(name) => document.querySelector(name).getBoundingClientRect().bottom"
    for part in (".verdict", ".figures", ".facts"):
        assert page.evaluate(bottom, part) <= height, part
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
