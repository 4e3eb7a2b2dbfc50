"""Many queries and long documents in a real browser: little of them is in the page at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import build_report
from tests.support.browser import settle, show_controls
from tests.support.page_cases import LONG, from_lists, many, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

IS_CUT = "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('#krag-row-0 > div'))"


def ids(page: Page) -> list[str]:
    """The ids of the rows that are in the page, once the controls have been read."""
    settle(page)
    return page.locator("#krag-rows [role=row] [role=gridcell]:first-child").all_inner_texts()


def test_ten_thousand_queries_are_few_rows_at_a_time(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, many(10_000)) + "#queries?sort=place")
    show_controls(page)
    assert page.inner_text("#krag-count") == "10,000 questions"
    assert page.get_attribute("#krag-list", "aria-rowcount") == "10001"
    assert 10 < page.locator("#krag-rows [role=row]").count() < 100
    page.evaluate("document.getElementById('krag-list').scrollTop = 44 * 5000")
    page.wait_for_selector("#krag-row-5003")
    assert page.locator("#krag-rows [role=row]").count() < 100
    page.focus("#krag-list")
    page.keyboard.press("End")
    assert page.inner_text("#krag-row-9999 [role=gridcell]:first-child") == "q9999"
    assert page.locator("#krag-row-9999").is_visible()
    page.select_option("#krag-change", label="got better")
    settle(page)
    shown = [i for i in range(10_000) if i % 7 < 5 and not i % 2 and i % 3]
    assert page.inner_text("#krag-count") == f"{len(shown):,} of 10,000 questions"
    page.click("[data-column=id] button")
    assert ids(page)[:3] == [f"q{i}" for i in shown[:3]]
    page.fill("#krag-text", f"d{shown[7]}-4")
    assert ids(page) == [f"q{shown[7]}"]


def test_a_document_of_five_megabytes_is_shown_shortened_until_all_of_it_is_asked_for(
    page: Page, tmp_path: Path
) -> None:
    text = "start of it. " + LONG + " the end"
    page.goto(write_page(tmp_path, from_lists([["start of it"]], [[text]], match_method="containment")) + "#n=1")
    block = page.locator("#krag-query .column:last-child .text")
    assert len(block.inner_text()) < 2100
    assert block.locator("mark").all_inner_texts()[:3] == ["start", "of", "it"]
    page.click("#krag-query .more")
    page.wait_for_selector("#krag-query .text.long[aria-busy=false]")
    assert page.evaluate("document.querySelector('#krag-query ol .text.long').textContent") == text
    assert page.locator("#krag-query .more").count() == 0


def test_a_question_of_a_million_characters_is_shown_shortened_too(page: Page, tmp_path: Path) -> None:
    question = "คำถามยาวมาก " * 80_000
    page.goto(write_page(tmp_path, from_lists([["a"]], [["a"]], queries=[question])) + "#queries")
    cell = page.locator("#krag-row-0 bdi").nth(1)
    assert cell.inner_text() == f"{question[:300]}…"
    page.click("#krag-rows [role=row]")
    block = page.locator("#krag-query .question")
    assert len(block.locator(".text").inner_text()) < 2100
    assert block.locator(".more").inner_text() == f"Show all {len(question):,} characters"


def test_an_error_of_many_lines_leaves_room_for_the_documents(page: Page, tmp_path: Path) -> None:
    run = Run.of("only", [RunRow(query_id="q", error="Traceback: a line of it\n" * 5000)])
    page.goto(write_page(tmp_path, build_report(EvalSet([{"id": "q", "gold": [{"id": "a"}]}]), {"only": run})) + "#q=q")
    assert page.evaluate("document.querySelector('#krag-query .notice').offsetHeight") < 250
    notice = page.locator("#krag-query .notice").inner_text()
    assert notice.count("Traceback") > 300
    assert "characters left out" in notice


def test_an_id_has_as_much_room_as_it_needs_where_there_is_any(page: Page, tmp_path: Path) -> None:
    queries = [f"6548850-0-{i}-56e77ceebb" for i in range(3)]
    page.goto(
        write_page(tmp_path, from_lists([["a"]] * 3, [["a"]] * 3, query_ids=queries, queries=["?"] * 3)) + "#queries"
    )
    assert page.evaluate(IS_CUT) is False
    assert page.locator("#krag-row-0 bdi").first.get_attribute("title") == queries[0]
