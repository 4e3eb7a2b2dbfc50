"""The first screen in a browser: sorting, bad input, narrow screens, print, and without a script."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow, evaluate_ids
from krag_eval_report import Report, build_report
from krag_eval_report.html.axis import Axis
from krag_eval_report.html.board import board_of
from tests.support.browser import findings
from tests.support.marks import nothing_may_match
from tests.support.page_cases import RUSSIAN, many, shop, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

N = 24
SHARES = {"slow and good": 1.0, "fast": 0.7, "slow and poor": 0.4}
SECONDS = {"slow and good": 0.2, "fast": 0.01, "slow and poor": 0.3}


def several(seconds: dict[str, float] | None = None, recorded: dict[str, Any] | None = None) -> Report:
    """Runs that find a share of the gold documents, in so many seconds."""
    questions = EvalSet(
        [
            {"id": f"q{i}", "question": f"question {i}", "gold": [{"id": f"g{i}"}], "metadata": {"topic": "ab"[i % 2]}}
            for i in range(N)
        ]
    )
    runs = {}
    for name, share in SHARES.items():
        rows = [
            {
                "query_id": f"q{i}",
                "retrieved": [{"id": f"g{i}" if i < share * N else "x"}],
                "seconds": (seconds or SECONDS)[name],
            }
            for i in range(N)
        ]
        runs[name] = Run.of(name, list(map(RunRow.from_dict, rows)), recorded=recorded or {})
    return build_report(questions, runs, by="topic", k=1, baseline="fast")


def names(page: Page) -> list[str]:
    return page.locator("#krag-board .run-name").all_inner_texts()


def test_the_leaderboard_is_sorted_by_click_and_by_key(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, several()))
    assert names(page) == ["slow and good", "fast", "slow and poor"]
    head = page.locator("#krag-board th", has_text="p50")
    head.locator("button").click()
    assert names(page) == ["slow and poor", "slow and good", "fast"]
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").press("Enter")
    assert names(page) == ["fast", "slow and good", "slow and poor"]
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator("#krag-board th", has_text="Run").first.locator("button").press("Space")
    assert names(page) == ["fast", "slow and good", "slow and poor"]
    assert head.get_attribute("aria-sort") == "none"


def test_the_frontier_has_the_runs_that_no_other_one_beats(page: Page, tmp_path: Path) -> None:
    board = board_of(several())
    assert board is not None
    assert board.frontier is not None
    assert {name for name, *_, is_on in board.frontier.points if is_on} == {"slow and good", "fast"}
    page.goto(write_page(tmp_path, several()))
    assert page.locator("tr.is-frontier").count() == page.locator(".plane .on").count() == 2


def test_without_latency_the_frontier_is_that_of_what_was_spent() -> None:
    board = board_of(several(recorded={"usage": {"total_tokens": 900}}))
    assert board is not None
    assert board.spent == ("usage.total_tokens",)
    assert [row.spent[0].text for row in board.rows] == ["900"] * 3
    unknown = board_of(several(dict.fromkeys(SHARES, math.nan), {"cost_usd": 0.5}))
    assert unknown is not None
    assert not unknown.has_times
    assert unknown.frontier is not None
    assert unknown.frontier.by == "cost_usd"


def test_a_row_and_a_count_lead_to_the_questions_behind_them(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, several()))
    cause = page.locator("[data-claim=cause]", has_text=re.compile(r"^\d")).first
    n = int(cause.inner_text())
    cause.click()
    page.locator("html[data-view=queries]").wait_for()
    assert page.locator("#krag-rows [role=row]").count() >= min(n, 5)
    page.click(".tabs a[href='#overview']")
    page.locator("html[data-view=overview]").wait_for()
    page.click("#krag-board .run-name >> nth=1")
    page.locator("html[data-view=queries]").wait_for()
    assert "run=fast" in page.url


def test_without_a_script_verdict_leaderboard_and_missed_questions_are_there(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(write_page(tmp_path, several()))
    assert page.inner_text("#krag-verdict") == "slow and good has the highest recall@1: 1.000"
    assert names(page) == ["slow and good", "fast", "slow and poor"]
    page.goto(write_page(tmp_path, shop()))
    listed = page.inner_text("#queries noscript")
    assert RUSSIAN in listed
    assert "Сколько стоит доставка?" in listed
    assert page.locator("#details").is_visible()
    context.close()


@pytest.mark.parametrize(
    "report",
    [
        lambda: build_report({"one": evaluate_ids([["a"]], [["b"]], k=1)}),
        lambda: build_report({"one": evaluate_ids([["a"]], [["a"]], k=1), "two": evaluate_ids([["a"]], [["b"]], k=1)}),
        lambda: build_report({"none": evaluate_ids([[], []], [["a"], []], k=1)}),
        lambda: build_report({name: evaluate_ids([[], []], [["a"], []], k=1) for name in "abc"}),
        lambda: build_report(
            {f"run {i}": evaluate_ids([["a"], ["b"]], [["a"], ["b" if i % 2 else "x"]], k=1) for i in range(50)}
        ),
        lambda: build_report({name * 300: evaluate_ids([["a"]], [["b"]], k=1) for name in ("x", "ب", "y ")}),
        lambda: build_report({name: evaluate_ids([["a"]], [["b"]], k=1) for name in ("a\u202eb", "a", "a ", "A")}),
        lambda: several(dict.fromkeys(SHARES, math.nan)),
        lambda: many(1),
    ],
    ids=[
        "one question",
        "two of one question",
        "no gold",
        "three without gold",
        "fifty",
        "long",
        "bidi",
        "NaN",
        "bare",
    ],
)
@nothing_may_match
def test_bad_input_is_shown_at_every_width(page: Page, tmp_path: Path, report: Any) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = write_page(tmp_path, report())
    for width in (390, 720, 1440):  # 720 is 1440 at 200 %
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert 0 < len(page.inner_text("#krag-verdict")) <= 64  # and the characters that isolate names
        for card in page.locator("#overview .card-box").all():
            assert width < 1440 or (card.bounding_box() or {"y": 999})["y"] < 800
    assert not re.search(
        r"\b(NaN|nan|None|inf|undefined)\b", page.inner_text("#overview").replace("undefined queries", "")
    )
    assert errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_first_screen(browser: Browser, tmp_path: Path, scheme: Any) -> None:
    context = browser.new_context(bypass_csp=True, offline=True, color_scheme=scheme, reduced_motion="reduce")
    for place, report in enumerate((several(), shop(1), shop())):
        (tmp_path / str(place)).mkdir()
        address = write_page(tmp_path / str(place), report)
        for width in (390, 1440):
            page = context.new_page()
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            assert findings(page) == []
            page.close()
    context.close()


def test_in_forced_colours_a_band_and_its_dot_stay_visible(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(forced_colors="active", offline=True)
    page = context.new_page()
    page.goto(write_page(tmp_path, several()))
    fill = "(name) => getComputedStyle(document.querySelector(name)).fill"
    dot, band, ground = page.evaluate(fill, ".iv .dot"), page.evaluate(fill, ".iv .band"), "rgb(255, 255, 255)"
    assert len({dot, band, ground}) == 3
    context.close()


def test_print_has_the_summary_first_and_no_controls(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, several()) + "#queries")
    page.emulate_media(media="print")
    assert page.locator("#overview").is_visible()
    assert page.locator("#krag-board").is_visible()
    assert page.locator(".tools").is_hidden()
    assert page.locator("#krag-browser").is_hidden()


def test_an_axis_holds_its_values_between_round_ticks() -> None:
    assert Axis.of([0.52, 0.94], most=1.0).ticks()[0] == ("0.5", 0.0)
    assert [text for text, _ in Axis.of([-0.07, 0.31], is_signed=True).ticks()] == [
        "\u22120.1",
        "0",
        "+0.1",
        "+0.2",
        "+0.3",
        "+0.4",
    ]
    for values in ([0.0], [1.0, 1.0], [0.5], [1e-9, 1e9], [math.nan, 3.0], [], [-5.0, -4.0]):
        axis = Axis.of(values)
        assert axis.low < axis.high
        assert 2 <= len(axis.ticks()) <= 12
        assert all(0 <= at <= 100 for _, at in axis.ticks())


@pytest.mark.parametrize(("fragment", "is_whole"), [("", False), ("#details", True)])
def test_the_story_is_printed_on_three_pages_and_the_details_where_they_are_open(
    page: Page, tmp_path: Path, fragment: str, is_whole: bool
) -> None:
    page.goto(write_page(tmp_path, several()) + fragment)
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    assert pages >= 1
    assert is_whole or pages <= 3
    page.emulate_media(media="print")
    assert page.locator("#overview").is_visible()
    assert page.locator("#details").is_visible() == is_whole
