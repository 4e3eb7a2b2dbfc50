"""The address of a page: what one reader sees, another one sees by the link; every number leads to its queries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from krag_eval import evaluate_ids
from krag_eval_report import build_report
from krag_eval_report.cells import door
from krag_eval_report.html import html_page
from tests.support.browser import follow, settle, show_controls
from tests.support.page_cases import ARABIC, CHINESE, KOREAN, RUSSIAN, page_of, shop, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("two"), shop())


def ids(page: Page) -> list[str]:
    settle(page)
    return page.locator("#krag-rows [role=row] [role=gridcell]:first-child").all_inner_texts()


def seen(page: Page) -> dict[str, object]:
    """What a reader sees of the list: its rows, heads and controls."""
    settle(page)
    controls = "form => Array.from(form.elements, (e) => [e.id, e.type === 'checkbox' ? e.checked : e.value])"
    return {
        "rows": page.locator("#krag-rows [role=row]").all_inner_texts(),
        "heads": page.locator("#krag-head [role=columnheader]").all_inner_texts(),
        "controls": page.locator("#krag-controls").evaluate(controls),
        "k": page.inner_text("#krag-cut-off-value"),
        "theme": page.evaluate("document.documentElement.dataset.theme"),
        "open": page.locator("#krag-query").is_visible(),
    }


def test_a_link_shows_what_the_sender_sees(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    show_controls(page)
    page.select_option("[data-field=type] select", label="scenario")
    page.select_option("#krag-one", label="second")
    page.select_option("#krag-other", label="first")
    page.select_option("#krag-cause", "never_retrieved")
    page.select_option("#krag-metric", "mrr@5")
    page.select_option("#krag-change", "worse")
    page.fill("#krag-most", "1")
    page.click("#krag-columns summary")
    page.check("#krag-keys input[value='map@5']")
    settle(page)
    page.click("[data-column='other:map@5'] button")
    page.fill("#krag-text", 'доставка "q-ru"')
    page.locator("#krag-cut-off").fill("2")
    page.click("#krag-theme")
    settle(page)
    sent = seen(page)
    assert len(sent["rows"]) == 1  # type: ignore[arg-type]
    page.click("#krag-rows [role=row]")
    link = page.url
    other = page.context.new_page()
    other.goto("about:blank")
    other.goto(link)
    assert other.inner_text("#krag-query-id") == f"Questions / {RUSSIAN}"
    assert seen(other) == sent | {"open": True}


def test_back_and_forward_go_from_door_to_door(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    page.evaluate(f"location.hash = {door(cause='never_retrieved', run='first', against='nothing')!r}")
    assert ids(page) == [CHINESE, RUSSIAN]
    page.evaluate(f"location.hash = {door(part=('language', 'ko'))!r}")
    assert ids(page) == [KOREAN]
    page.click("#krag-rows [role=row]")
    assert page.locator("#krag-query").is_visible()
    page.go_back()
    page.locator("#krag-query").wait_for(state="hidden")
    assert ids(page) == [KOREAN]
    page.go_back()
    assert ids(page) == [CHINESE, RUSSIAN]
    page.go_forward()
    assert ids(page) == [KOREAN]


def test_every_door_of_a_page_leads_somewhere(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    doors = page.locator("a[href^='#queries?']").evaluate_all("doors => doors.map((door) => door.getAttribute('href'))")
    assert len(doors) > 60
    for address in dict.fromkeys(doors):
        page.evaluate("(address) => { location.hash = address; }", address)
        follow(page)
        assert page.locator("#krag-in-vain").is_hidden(), page.inner_text("#krag-in-vain")
        assert page.locator("#krag-rows [role=row]").count() or "change=" in address, address


def test_the_count_of_a_cause_is_the_number_of_queries_that_it_leads_to(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#details")
    page.click("nav a[href='#causes']")
    link = page.locator("#table-causes tr", has_text="never_retrieved").locator("a").first
    assert link.inner_text() == "2"
    link.click()
    assert ids(page) == [CHINESE, RUSSIAN]
    assert page.input_value("#krag-other") == ""


def test_a_bar_leads_to_the_queries_that_it_stands_for(page: Page, tmp_path: Path) -> None:
    address = write_page(tmp_path, shop(), pictures=True)
    page.goto(address + "#causes")
    page.locator("#figure-causes a[aria-label^='second: found'] path").click()
    assert ids(page) == [RUSSIAN, KOREAN, ARABIC]  # the worst first
    page.goto(address + "#comparison")
    bar = page.locator("#figure-changes a[aria-label^='mrr@5: won']")
    wins = int((bar.get_attribute("aria-label") or "").split()[-1])
    bar.focus()
    page.keyboard.press("Enter")
    assert len(ids(page)) == wins > 0


def test_found_is_the_queries_with_a_gold_document_that_was_found_at_any_cut_off(page: Page, two_runs: str) -> None:
    page.goto(two_runs + door(cause="found", run="first", against="nothing", sort="place"))
    assert ids(page) == [KOREAN, ARABIC, RUSSIAN]  # of the last one another gold document was missed
    page.goto(two_runs + door(cause="found", run="first", against="nothing", k="1"))
    assert ids(page) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [("failed", ["q-error"]), ("empty", ["q-none"]), ("no_gold", ["q-none"]), ("no_gold_empty", ["q-none"])],
)
def test_queries_that_failed_or_came_back_empty_can_be_listed(
    page: Page, two_runs: str, status: str, expected: list[str]
) -> None:
    page.goto(two_runs + door(status=status))
    assert ids(page) == expected
    assert page.input_value("#krag-status") == status


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("#queries?cause=no_such", "cause no_such"),
        ("#queries?slice.type=no", "type = no"),
        ("#queries?slice.no=1", "no = 1"),
        ("#queries?run=third", "run third"),
        ("#queries?metric=no@5", "metric no@5"),
        ("#queries?columns=recall@5,no@1", "column no@1"),
        ("#queries?sort=one:no@1", "order one:no@1"),
        ("#queries?k=99", "k = 99"),
        ("#queries?status=odd", "status odd"),
        ("#queries?q=q-99", "question q-99"),
        ("#queries?unknown=1", "unknown"),
        ("#q=%E0%A4%A", "question %E0%A4%A"),
    ],
)
def test_what_an_address_asks_for_in_vain_is_said(page: Page, two_runs: str, address: str, named: str) -> None:
    page.goto(two_runs + address)
    said = page.inner_text("#krag-in-vain")
    assert said == f"The address asks for what this report does not have: {named}."
    page.evaluate("location.hash = '#queries'")
    page.locator("#krag-in-vain").wait_for(state="hidden")


def test_ids_of_any_kind_stand_in_an_address(page: Page, tmp_path: Path) -> None:
    queries = ["a&b=c#d", "100 %", "ü?é", "배송+무료", "half \ud800"]
    result = evaluate_ids([["g"]] * 5, [["g"]] * 5, k=1, query_ids=queries)
    address = write_page(tmp_path, build_report({"only": result}))
    for place, query in enumerate(queries[:4]):
        page.goto(address + "#queries")
        page.click(f"#krag-row-{place}")
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        assert page.inner_text("#krag-query-id") == f"Questions / {query}"
    page.goto(address + "#queries")
    page.click("#krag-row-4")
    assert page.url.endswith("n=5")


def test_a_section_that_is_linked_to_is_open(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#details")
    assert page.locator("#table-causes").is_hidden()
    page.click("nav a[href='#causes']")
    page.locator("#table-causes").wait_for()
    page.goto("about:blank")
    page.goto(two_runs + "#table-counts")
    assert page.locator("#table-counts").is_visible()


def test_the_keys_search_move_and_open(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries?sort=place")
    page.keyboard.press("/")
    page.keyboard.type("j k n ?")
    assert page.input_value("#krag-text") == "j k n ?"
    assert ids(page) == []
    page.fill("#krag-text", "")
    assert len(ids(page)) == 6
    page.focus("#krag-list")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator("[aria-selected=true]").get_attribute("data-query") == "1"
    page.keyboard.press("Enter")
    assert page.inner_text("#krag-query-id") == f"Questions / {ARABIC}"
    page.keyboard.press("n")
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"
    page.keyboard.press("n")
    assert page.inner_text("#krag-query-id") == f"Questions / {RUSSIAN}"
    page.keyboard.press("n")
    assert page.inner_text("#krag-query-id") == "Questions / q-error"
    page.keyboard.press("n")
    assert page.inner_text("#krag-query-id") == "Questions / q-error"  # there is no other one
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    page.keyboard.press("?")
    assert page.locator("#krag-keys-help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#krag-keys-help").is_hidden()


def test_from_opening_the_file_to_the_reason_of_the_worst_miss_in_two_clicks(page: Page, two_runs: str) -> None:
    page.goto(two_runs)
    page.click(".tabs a[href='#queries']")
    page.click("#krag-row-0")
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"
    assert "nothing like it was retrieved" in page.inner_text("#krag-query .fates")


def test_the_same_walk_by_keyboard_alone(page: Page, two_runs: str) -> None:
    page.goto(two_runs)
    page.keyboard.press("n")
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"
    assert "nothing like it was retrieved" in page.inner_text("#krag-query .fates")
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    for _ in range(60):  # with Tab alone, as somebody does who knows no key
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "krag-list":
            break
    page.keyboard.press("Enter")
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"


def test_with_several_runs_the_list_shows_each(page: Page, tmp_path: Path) -> None:
    runs = {f"run {i}": evaluate_ids([["a"], ["b"]], [["x"] * (i % 3) + ["a"], ["b"]], k=3) for i in range(4)}
    page.goto(write_page(tmp_path, build_report(runs)) + "#queries")
    show_controls(page)
    names = "heads => heads.map(h => h.dataset.column)"
    heads = page.locator("#krag-head [role=columnheader]")
    assert heads.evaluate_all(names) == ["id", "nGold", "marks0", "marks1", "marks2", "marks3"]
    page.click("#krag-columns summary")
    page.check("#krag-keys input[value='recall@3']")
    settle(page)
    assert page.locator("#krag-head .of").all_inner_texts() == ["run 0", "run 1", "run 2", "run 3", "difference"]
    page.select_option("#krag-one", label="run 2")
    page.select_option("#krag-other", label="run 3")
    settle(page)
    of = [column.split(":")[0] for column in heads.evaluate_all(names) if ":" in column]
    assert of == ["run0", "run1", "one", "other", "difference"]
    page.click("[data-column^='run1:'] button")
    assert "sort=run1" in page.url
    page.click("[data-column='marks2'] button")
    assert "sort=-marks2" in page.url


@pytest.mark.full
def test_the_addresses_of_python_are_written_as_the_page_reads_them() -> None:
    assert door() == "#queries"
    assert door("causes") == "#causes"
    assert door(part=("a b", "c&d"), k=None) == "#queries?slice.a%20b=c%26d"
    links = re.findall(r'href="(#queries\?[^"]+)"', page_of(shop()))
    assert any("slice.language=ko" in link for link in links)
    assert "javascript:" not in html_page(shop())
