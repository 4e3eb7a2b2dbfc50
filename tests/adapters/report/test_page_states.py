"""What a page looks like in its other states: without texts, without gold, without scripts, dark, narrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krag_eval import evaluate_ids
from krag_eval_report import build_report
from tests.support.browser import show_controls
from tests.support.page_cases import from_lists, shop, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STYLE = (resources.files("krag_eval_report.html") / "templates" / "tokens.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("two"), shop(), pictures=True)


def test_ids_only_says_that_texts_are_missing_and_shows_the_ids(page: Page, tmp_path: Path) -> None:
    result = evaluate_ids([["a", "b"]], [["b", "c"]], k=5)
    page.goto(write_page(tmp_path, build_report({"ids": result})) + "#queries")
    expected = "The texts of the gold documents and retrieved documents are missing: only their ids are known."
    assert page.inner_text("#krag-lacking") == expected
    page.click("#krag-rows [role=row]")
    assert page.locator("#krag-query .id").all_inner_texts() == ["1", "a", "b", "b", "c"]
    assert page.locator("#krag-query .card >> text='No text.'").count() == 4
    assert page.locator("#krag-query .question").count() == 0


def test_texts_on_one_side_alone_are_named(page: Page, tmp_path: Path) -> None:
    gold = [[{"id": "a", "text": "known"}]]
    page.goto(write_page(tmp_path, from_lists(gold, [[{"id": "a"}]], match_method="id")) + "#queries")
    assert page.inner_text("#krag-lacking").startswith("The texts of the retrieved documents are missing")


def test_where_texts_are_there_nothing_is_said_of_them(page: Page, two_runs: str) -> None:
    page.goto(two_runs)
    assert page.locator("#krag-lacking").is_hidden()
    assert page.locator("#krag-undefined").is_hidden()


def test_without_any_gold_document_no_metric_is_defined_and_no_number_is_made_up(page: Page, tmp_path: Path) -> None:
    address = write_page(tmp_path, from_lists([[], []], [["a"], []], queries=["one?", "two?"]), pictures=True)
    page.goto(address + "#queries")
    show_controls(page)
    assert page.inner_text("#krag-undefined") == "No question has gold documents, so no metric is defined."
    assert page.locator("#krag-row-0 .number").all_inner_texts() == ["0", "-", "-", "-", "-"]
    page.select_option("#krag-cause", value="any")
    page.locator("#krag-empty").wait_for()
    page.goto(address + "#n=1")
    assert "No gold document answers this question" in page.inner_text("#krag-query")
    assert page.locator("#krag-query .column").first.locator(".empty").inner_text() == "No gold documents."
    everything = page.inner_text("body") + page.inner_text("#krag-query")
    assert not re.search(r"\b(NaN|nan|null|None|Infinity)\b", everything)


def test_without_scripts_the_tables_are_there_and_the_browser_says_what_it_needs(
    browser: Browser, two_runs: str
) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(two_runs)
    assert "need JavaScript" in page.inner_text("noscript")
    assert page.locator("#krag-browser").is_hidden()
    assert page.locator("main table").count() > 3
    assert page.locator("main figure svg").count() > 1
    context.close()


def test_dark_follows_the_system_until_the_reader_chooses(browser: Browser, two_runs: str) -> None:
    context = browser.new_context(color_scheme="dark", offline=True)
    page = context.new_page()
    ground = "getComputedStyle(document.documentElement).backgroundColor"

    def turns(colour: str) -> None:  # at the next frame, which a busy machine draws late
        page.wait_for_function(f"{ground} === '{colour}'", timeout=10_000)

    page.goto(two_runs)
    turns("rgb(14, 16, 20)")
    assert page.inner_text("#krag-theme") == "Light"
    page.click("#krag-theme")
    turns("rgb(252, 252, 253)")
    page.reload()
    turns("rgb(252, 252, 253)")
    page.click("#krag-theme")
    turns("rgb(14, 16, 20)")
    context.close()


def test_the_theme_changes_where_a_file_has_no_storage(page: Page, two_runs: str) -> None:
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    page.goto(two_runs)
    page.click("#krag-theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("width", [400, 800, 1200])
@pytest.mark.parametrize("fragment", ["", "#queries", "#details", "#q=q-ru"])
def test_nothing_is_wider_than_the_screen(page: Page, two_runs: str, width: int, fragment: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(two_runs + fragment)
    place = "document.querySelector('#krag-query')" if "q=" in fragment else "document.documentElement"
    assert page.evaluate(f"{place}.scrollWidth <= {place}.clientWidth")


def test_on_a_narrow_screen_the_name_of_the_theme_stays_whole(page: Page, tmp_path: Path) -> None:
    report = replace(from_lists([["a"]], [["a"]]), title="a title of many words, longer than a screen is wide " * 3)
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(write_page(tmp_path, report) + "#queries")
    assert page.evaluate("document.querySelector('#krag-theme').offsetHeight") < 40  # one line


def test_on_a_narrow_screen_the_names_of_metrics_stay_whole(page: Page, two_runs: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(two_runs + "#details")
    page.click("nav a[href='#summary']")
    names = page.locator("#summary table >> nth=0").locator("tbody th")
    assert "micro_precision@5" in names.all_inner_texts()
    assert names.evaluate_all("names => names.every((name) => name.offsetHeight < 40)")


def test_a_question_from_right_to_left_begins_at_the_right_of_a_wide_screen(page: Page, two_runs: str) -> None:
    page.set_viewport_size({"width": 1900, "height": 800})
    page.goto(two_runs + "#q=q-ar")
    right = "(name) => document.querySelector(`#krag-query ${name}`).getBoundingClientRect().right"
    column = page.evaluate(right, ".columns > :first-child")
    assert page.evaluate(right, ".question") > column


def test_long_words_wrap(page: Page, tmp_path: Path) -> None:
    word = "w" * 900
    report = from_lists(
        [[{"id": word, "text": word}]], [[{"id": word, "text": word}]], queries=[word], query_ids=[word]
    )
    page.set_viewport_size({"width": 600, "height": 800})
    page.goto(write_page(tmp_path, report) + "#queries")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.click("#krag-rows [role=row]")
    assert page.evaluate("document.querySelector('#krag-query').scrollWidth <= 600")


def pairs_of_colours() -> Iterator[tuple[str, str, int]]:
    for text in ("text", "text-2", "text-3", "accent", "bad"):
        for ground in ("page", "surface", "sunken", "hover", "accent-soft", "bad-soft"):
            yield from ((text, ground, theme) for theme in (0, 1))
    for text, ground in (
        ("text", "mark"),
        ("text-2", "mark"),
        ("text", "held"),
        ("text", "missed"),
        ("on-accent", "accent"),
    ):
        yield from ((text, ground, theme) for theme in (0, 1))


@pytest.mark.sample(7)
@pytest.mark.parametrize(("text", "ground", "theme"), list(pairs_of_colours()))
def test_every_text_stands_out_from_its_ground_as_wcag_asks(text: str, ground: str, theme: int) -> None:
    lighter, darker = sorted((luminance(text, theme), luminance(ground, theme)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(name: str, theme: int) -> float:
    """The relative luminance of a colour of the style, by WCAG 2.2."""
    found = re.search(rf"--{name}: light-dark\(#(\w{{6}}), #(\w{{6}})\)", STYLE)
    assert found is not None
    channels = [int(found[theme + 1][i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
