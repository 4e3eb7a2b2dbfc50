"""Search and filters over all runs of a report, in a real browser: chips, counts, means, rows that open in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from krag_eval import evaluate_ids
from krag_eval_report import build_report
from tests.support.browser import findings, settle, show_controls
from tests.support.five_runs import NAMES, RANKS, five_runs
from tests.support.page_cases import shop, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

ORDER = "#queries?sort=place"


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("five"), five_runs())


def ids(page: Page) -> list[str]:
    settle(page)
    return page.locator("#krag-rows [role=row][data-query] [role=gridcell]:first-child").all_inner_texts()


def chips(page: Page) -> list[str]:
    return [" ".join(text.split()) for text in page.locator("#krag-chips .chip").all_inner_texts()]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("text=%22Filler 3 of rerank%22", [name for name in RANKS if name != "q2"]),  # of the last run
        ("found=hybrid&missed=words", ["q3", "q6", "q9", "q12"]),
        ("found=words&found=dense&missed=hybrid", ["q7"]),
        ("found=words&missed=hybrid&slice.language=ko", ["q7", "q10"]),
        ("missed=words&missed=chars&missed=dense&missed=hybrid&missed=rerank", ["q4", "q8"]),
        ("cause=retriever_error", ["q4"]),
        ("cause=retriever_error&in=hybrid", []),
        ("cause=ranked_below_k", ["q6"]),
        ("cause=ranked_below_k&in=hybrid", []),
        ("cause=none&in=hybrid", ["q1", "q2", "q3", "q5", "q6", "q9", "q11", "q12", "q13"]),
        ("status=failed", ["q4"]),
        ("status=leak", ["q1"]),
        ("status=leak&in=words", []),
        ("status=no_gold", ["q13"]),
        ("metric=recall@5&of=any&least=1&missed=words", ["q3", "q6", "q9", "q12"]),
        ("change=any&missed=dense", ["q2", "q6", "q10", "q12"]),
        ("label=any", []),
    ],
)
def test_filters_look_at_all_runs_or_at_the_one_that_is_named(
    page: Page, five: str, address: str, expected: list[str]
) -> None:
    page.goto(f"{five}{ORDER}&{address}")
    assert ids(page) == expected
    assert page.locator("#krag-in-vain").is_hidden()
    assert page.inner_text("#krag-count").startswith(f"{len(expected)} of 13 questions")


def test_a_run_shown_alone_is_the_one_that_filters_look_at(page: Page, five: str) -> None:
    page.goto(f"{five}{ORDER}&cause=retriever_error&run=dense&against=nothing")
    assert ids(page) == []
    page.goto(f"{five}{ORDER}&cause=retriever_error&run=words&against=nothing")
    assert ids(page) == ["q4"]
    assert "Only words" in " ".join(chips(page))


def test_chips_in_use_come_first_and_each_can_be_taken_away(page: Page, five: str) -> None:
    page.goto(f"{five}{ORDER}&slice.language=ko&found=words&missed=hybrid&cause=any&in=dense&least=0.5&text=a")
    settle(page)
    assert chips(page)[:6] == [
        "All 13",
        "language: ko ×",
        "any miss, by dense ×",
        "Found by words ×",
        "Missed by hybrid ×",
        "recall@5 of words at least 0.5 ×",
    ]
    for chip in ("language: ko", "any miss, by dense", "recall@5 of words at least 0.5"):
        page.click(f"[data-chip='{chip}']")
    assert page.url.endswith("#queries?text=a&found=words&missed=hybrid&sort=place")
    assert ids(page) == ["q7", "q10"]
    page.click("[data-chip=all]")
    assert len(ids(page)) == 13
    assert page.get_attribute("[data-chip=all]", "aria-pressed") == "true"


def test_the_count_of_a_chip_is_the_number_of_questions_that_it_leads_to(page: Page, five: str) -> None:
    page.goto(five + ORDER)
    settle(page)
    offered = page.locator("#krag-chips .chip .n").all_inner_texts()
    assert len(offered) >= 7
    for place, n in enumerate(offered, 1):
        page.goto("about:blank")
        page.goto(five + ORDER)
        page.locator("#krag-chips .chip").nth(place).click()
        assert len(ids(page)) == int(n), chips(page)


def test_means_of_what_is_listed_stand_above_the_marks_of_each_run(page: Page, five: str) -> None:
    page.goto(f"{five}{ORDER}&found=words&missed=hybrid")
    settle(page)
    mean = page.locator("#krag-head .mean [role=gridcell]").all_inner_texts()
    assert mean[-5:] == ["1.000", "1.000", "0.500", "0.000", "1.000"]
    assert "recall@5 of these 2 questions" in mean[1]
    assert "of all 12: words" in mean[1]


def test_marks_say_what_became_of_each_gold_document(page: Page, five: str) -> None:
    page.goto(five + ORDER)
    settle(page)
    marks = page.locator("#krag-row-5 .marks")
    assert marks.all_inner_texts() == ["6", "6", "×", "4", "7"]
    labels = marks.evaluate_all("marks => marks.map((mark) => mark.getAttribute('aria-label'))")
    assert labels[0] == "below the cut-off at rank 6"
    assert labels[2:4] == ["not retrieved", "found at rank 4"]
    assert page.locator("#krag-row-7 .marks").nth(0).locator("span").all_inner_texts() == ["1", "×"]
    assert page.locator("#krag-row-3 .marks").first.get_attribute("aria-label") == "retrieval failed"


def test_what_is_searched_for_is_counted_and_marked(page: Page, five: str) -> None:
    page.goto(five + ORDER)
    page.keyboard.press("/")
    page.keyboard.type("SHIPPING case")
    settle(page)
    expected = "2 of 13 questions contain “SHIPPING case” in the question or a document"
    assert page.inner_text("#krag-count") == expected
    assert page.locator("#krag-row-0 mark").all_inner_texts() == ["shipping", "case"]
    assert page.get_attribute("#krag-count", "role") == "status"
    page.keyboard.press("Escape")
    assert (page.input_value("#krag-text"), len(ids(page))) == ("", 13)
    assert page.evaluate("document.activeElement.id") == "krag-text"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "krag-list"


def test_a_search_of_a_moment_ago_does_not_replace_the_one_of_now(page: Page, five: str) -> None:
    page.goto(five + ORDER)
    page.fill("#krag-text", "Moon")
    page.fill("#krag-text", "payment")
    assert ids(page) == ["q2", "q8"]
    page.fill("#krag-text", "")
    assert len(ids(page)) == 13


def test_a_row_opens_in_place_and_follows_the_keys(page: Page, five: str) -> None:
    page.goto(five + ORDER)
    settle(page)
    page.focus("#krag-list")
    below = page.evaluate("document.querySelector('#krag-row-1').getBoundingClientRect().top")
    page.keyboard.press(" ")
    opened = page.locator(".row-open")
    assert page.get_attribute("#krag-row-0 .toggle", "aria-expanded") == "true"
    assert "g-q1" in opened.inner_text()
    assert "rank 1 words, chars, dense, hybrid, rerank" in " ".join(opened.inner_text().split())
    settle(page)
    moved = page.evaluate("document.querySelector('#krag-row-1').getBoundingClientRect().top") - below
    assert moved == opened.evaluate("part => part.offsetHeight") > 80
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert "nothing like it was retrieved" in opened.inner_text()
    assert opened.count() == 1
    page.keyboard.press("Escape")
    assert opened.count() == 0
    page.locator("#krag-row-4 .toggle").click()
    assert page.get_attribute("#krag-row-4 .toggle", "aria-expanded") == "true"
    assert page.locator("#krag-query").is_hidden()
    opened.get_by_role("button", name="Open the question").click()
    assert page.inner_text("#krag-query-id") == "Questions / q5"
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.id") == "krag-list"


def test_the_first_result_begins_where_the_eye_is(page: Page, five: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(five + "#queries?text=case")
    settle(page)
    assert page.evaluate("document.querySelector('#krag-row-0').getBoundingClientRect().top") <= 290


def test_labels_can_be_filtered_and_taken_back_by_keys(page: Page, five: str) -> None:
    page.goto(f"{five}{ORDER}&q=q3")
    page.keyboard.press("ArrowDown")
    assert page.locator(".card.active").get_attribute("data-rank") == "1"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    active = page.locator(".card.active")
    assert active.get_attribute("data-rank") == "3"
    assert active.locator("[aria-pressed=true]").get_attribute("data-key") == "2"
    page.keyboard.press("u")
    assert active.locator("[aria-pressed=true]").count() == 0
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    assert "Labelled 1" in chips(page)
    page.click("[data-chip=Labelled]")
    assert ids(page) == ["q3"]
    assert page.url.endswith("label=any&sort=place")
    page.goto(f"{five}{ORDER}&label=gold")
    assert ids(page) == []


def test_one_run_of_fifty_is_found_and_a_question_stays_readable(page: Page, tmp_path: Path) -> None:
    runs = {f"run {i}": evaluate_ids([["a"], ["b"]], [["x"] * (i % 7) + ["a"], ["b"]], k=5) for i in range(50)}
    address = write_page(tmp_path, build_report(runs))
    page.goto(address + ORDER)
    heads = page.locator("#krag-head .name").all_inner_texts()
    assert heads == ["No.", "Gold", "Found by", "run 0", "run 1"]
    assert page.locator("#krag-row-0 .number").nth(1).inner_text() == "36 of 50"
    page.goto(address + ORDER + "&n=1")
    short = [" ".join(line.split()) for line in page.locator("#krag-query .fates-in-short li").all_inner_texts()]
    assert short[0].startswith("rank 1 (8) run 0, run 7, run 14")
    assert len(short) == 7
    assert page.locator("#krag-query .fates:visible li").count() == 2
    page.goto(address + "#queries?missed=run 5&found=run 4")
    assert ids(page) == ["1"]


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_in_search_filters_and_a_question(
    browser: Browser, five: str, theme: Literal["light", "dark"], width: int
) -> None:
    context = browser.new_context(
        bypass_csp=True, offline=True, color_scheme=theme, viewport={"width": width, "height": 900}
    )
    try:
        page = context.new_page()
        page.goto(five + "#queries?text=case&slice.language=en&missed=words")
        settle(page)
        show_controls(page)
        page.evaluate("for (const part of document.querySelectorAll('#krag-browser details')) part.open = true")
        page.locator(".toggle").first.click()
        assert findings(page) == []
        page.goto(five + "#queries?q=q8")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("0")
        assert findings(page) == []
        page.keyboard.press("?")
        assert findings(page) == []
    finally:
        context.close()


def test_a_page_says_the_same_in_print_and_without_motion(page: Page, five: str) -> None:
    page.emulate_media(reduced_motion="reduce", forced_colors="active")
    page.goto(five + "#queries?q=q8")
    assert page.locator("#krag-query .strip .at").first.is_visible()
    moving = "Array.from(document.querySelectorAll('*'), (e) => parseFloat(getComputedStyle(e).transitionDuration))"
    assert set(page.evaluate(moving)) == {0}


def test_every_run_is_named_in_the_search_of_two(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    address = write_page(tmp_path_factory.mktemp("two"), shop())
    page.goto(address + ORDER)
    settle(page)
    assert "Missed by second 3" in chips(page)
    assert len(NAMES) == 5
