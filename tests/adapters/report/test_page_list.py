"""The list of queries in a real browser: filters, order, keyboard, and how much of it is in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import settle, show_controls
from tests.support.page_cases import ARABIC, CHINESE, KOREAN, RUSSIAN, shop, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

ORDER = "#queries?sort=place"
ALL = [KOREAN, ARABIC, CHINESE, RUSSIAN, "q-none", "q-error"]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("two"), shop())


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("one"), shop(1))


def ids(page: Page) -> list[str]:
    """The ids of the rows that are shown, once the controls have been read."""
    settle(page)
    return page.locator("#krag-rows [role=row] [role=gridcell]:first-child").all_inner_texts()


def cells(page: Page, column: str) -> list[str]:
    heads = page.locator("#krag-head [role=columnheader]")
    place = [head.get_attribute("data-column") for head in heads.all()].index(column) + 1
    return page.locator(f"#krag-rows [role=row] [role=gridcell]:nth-child({place})").all_inner_texts()


def sort_by(page: Page, column: str) -> None:
    page.locator(f"[data-column='{column}'] button").click()


def test_the_list_has_every_query_and_the_worst_first(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    show_controls(page)
    assert ids(page) == [CHINESE, "q-error", RUSSIAN, KOREAN, ARABIC, "q-none"]
    assert cells(page, "difference:recall@5") == ["0.0000"] * 5 + ["-"]
    page.select_option("#krag-order", label="as in the set")
    assert ids(page) == ALL


def test_every_query_can_be_seen_in_the_order_of_the_set(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    assert ids(page) == ALL
    assert page.inner_text("#krag-count") == "6 questions"
    assert page.locator("#krag-empty").is_hidden()


def test_a_slice_is_one_value_of_a_field_and_two_fields_narrow_each_other(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.select_option("[data-field=type] select", label="scenario")
    assert ids(page) == [CHINESE, RUSSIAN]
    assert page.inner_text("#krag-count") == "2 of 6 questions"
    page.select_option("[data-field=language] select", label="ru")
    assert ids(page) == [RUSSIAN]
    page.click("[data-chip='type: scenario']")
    page.click("[data-chip='language: ru']")
    page.select_option("[data-field=language] select", label="(none)")
    assert ids(page) == ["q-none", "q-error"]


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("any", [CHINESE, RUSSIAN, "q-error"]),
        ("none", [KOREAN, ARABIC, "q-none"]),
        ("retriever_error", ["q-error"]),
        ("never_retrieved", [CHINESE, RUSSIAN, "q-error"]),  # of the second system
        ("crowded_out", []),
    ],
)
def test_a_cause_is_looked_for_in_both_systems_that_are_shown(
    page: Page, two_runs: str, cause: str, expected: list[str]
) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.select_option("#krag-cause", value=cause)
    assert ids(page) == expected


def test_a_cause_of_the_other_system_does_not_count_where_one_is_shown_alone(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.select_option("#krag-one", label="second")
    page.select_option("#krag-other", label="nothing")
    page.select_option("#krag-cause", value="retriever_error")
    assert ids(page) == []


def test_a_range_of_a_metric_leaves_out_what_is_undefined(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.select_option("#krag-metric", label="recall@5")
    page.fill("#krag-most", "0.5")
    assert ids(page) == [CHINESE, RUSSIAN, "q-error"]
    page.fill("#krag-least", "0.5")
    assert ids(page) == [RUSSIAN]
    page.select_option("#krag-metric", label="mrr@5")
    page.select_option("#krag-of", label="difference")
    page.fill("#krag-most", "")
    page.fill("#krag-least", "0.1")
    assert ids(page) == [KOREAN, ARABIC, RUSSIAN]


def test_only_what_changed_is_shown_where_that_is_asked_for(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.select_option("#krag-metric", label="mrr@5")
    page.select_option("#krag-change", label="got better")
    assert ids(page) == [KOREAN, ARABIC, RUSSIAN]
    page.select_option("#krag-change", label="got worse")
    assert ids(page) == []
    assert page.inner_text("#krag-empty") == "No question matches these filters. Reset"
    page.click("#krag-empty-reset")
    assert sorted(ids(page)) == sorted(ALL)
    page.select_option("#krag-one", label="second")
    page.select_option("#krag-other", label="first")
    page.select_option("#krag-metric", label="mrr@5")
    page.select_option("#krag-change", label="got worse")
    assert ids(page) == [RUSSIAN, KOREAN, ARABIC]  # all lose as much, and the first has the lowest value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ДОСТАВКА", [RUSSIAN]),
        ("배송", [KOREAN]),
        ("q-n", ["q-none"]),
        ("الطلب", [ARABIC]),
        ("الطَّلَب", [ARABIC]),  # vowel signs are left out by most
        (" moon ", ["q-none"]),
        ("(", []),
    ],
)
def test_a_search_looks_in_questions_and_ids(page: Page, one_run: str, text: str, expected: list[str]) -> None:
    page.goto(one_run + ORDER)
    page.fill("#krag-text", text)
    assert ids(page) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ru-2", [RUSSIAN]),
        ("SOMEBODY ELSE", [KOREAN, "q-none"]),
        ("else somebody", [KOREAN, "q-none"]),
        ('"else somebody"', []),
        ('"somebody else" 배송', [KOREAN]),
        ("七天 退货", [CHINESE]),
        ("scenario доставка", [RUSSIAN]),
    ],
)
def test_a_search_looks_for_words_in_any_order_everywhere(
    page: Page, one_run: str, text: str, expected: list[str]
) -> None:
    page.goto(one_run + ORDER)
    page.fill("#krag-text", text)
    assert ids(page) == expected


def test_every_column_can_be_sorted_by_and_what_is_undefined_stays_last(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    columns = page.locator("#krag-head [role=columnheader]").evaluate_all("heads => heads.map(h => h.dataset.column)")
    assert columns == [
        "id",
        "question",
        "slice",
        "nGold",
        "marks0",
        "marks1",
        *(f"{of}:recall@5" for of in ("one", "other", "difference")),
        "causes",
    ]
    sort_by(page, "nGold")
    assert cells(page, "nGold") == ["2", "1", "1", "1", "1", "0"]
    sort_by(page, "nGold")
    assert cells(page, "nGold") == ["0", "1", "1", "1", "1", "2"]
    sort_by(page, "nGold")
    assert page.input_value("#krag-order") == "worst"
    sort_by(page, "one:recall@5")
    assert cells(page, "one:recall@5") == ["0.0000", "0.0000", "0.5000", "1.0000", "1.0000", "-"]
    assert page.locator("[data-column='one:recall@5']").get_attribute("aria-sort") == "ascending"
    sort_by(page, "one:recall@5")
    assert cells(page, "one:recall@5") == ["1.0000", "1.0000", "0.5000", "0.0000", "0.0000", "-"]
    sort_by(page, "id")
    assert ids(page) == [ARABIC, "q-error", KOREAN, "q-none", RUSSIAN, CHINESE]
    sort_by(page, "marks1")
    assert cells(page, "marks1") == ["1\n×", "×", "×", "1", "1", "–"]  # most misses first
    sort_by(page, "causes")
    assert ids(page)[:3] == [CHINESE, RUSSIAN, "q-error"]
    sort_by(page, "question")
    assert cells(page, "question")[0] == "Is there a shop on the Moon?"


def test_columns_of_other_metrics_can_be_chosen(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    show_controls(page)
    page.click("#krag-columns summary")
    page.check("#krag-keys input[value='mrr@5']")
    settle(page)
    sort_by(page, "difference:mrr@5")
    assert cells(page, "difference:mrr@5") == ["0.0000", "0.0000", "+0.5000", "+0.5000", "+0.5000", "-"]
    page.uncheck("#krag-keys input[value='mrr@5']")
    settle(page)
    assert page.input_value("#krag-order") == "worst"  # the column that the list was sorted by is gone


def test_one_system_has_nothing_to_compare_with(page: Page, one_run: str) -> None:
    page.goto(one_run + ORDER)
    assert page.locator(".two:visible").count() == 0
    assert ids(page) == ALL
    heads = page.locator("#krag-head .name").all_inner_texts()
    assert [head.strip() for head in heads] == [
        "Id",
        "Question",
        "type",
        "Gold",
        "Ranks",
        "recall@5",
        "ndcg@5",
        "mrr@5",
        "hit_rate@5",
        "Why missed",
    ]


def test_the_keyboard_moves_and_opens_and_comes_back(page: Page, two_runs: str) -> None:
    page.goto(two_runs + ORDER)
    page.focus("#krag-list")
    for key, expected in (("ArrowDown", 1), ("End", 5), ("ArrowDown", 5), ("ArrowUp", 4), ("Home", 0), ("ArrowUp", 0)):
        page.keyboard.press(key)
        selected = page.locator("#krag-rows [aria-selected=true]")
        assert selected.get_attribute("aria-rowindex") == str(expected + 2), key
        assert page.get_attribute("#krag-list", "aria-activedescendant") == selected.get_attribute("id")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#krag-query").is_visible()
    assert page.inner_text("#krag-query-id") == f"Questions / {ARABIC}"
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#krag-query-id") == f"Questions / {KOREAN}"
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.id") == "krag-list"
