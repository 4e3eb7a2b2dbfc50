"""Every view in both themes, wide and narrow, by axe-core; colours by WCAG's formula and by simulated eyes."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest

from krag_eval import evaluate_ids
from krag_eval_chunkers import compare_chunkers
from krag_eval_report import build_report
from tests.support.browser import findings, follow
from tests.support.page_cases import KOREAN, shop, write_page
from tests.support.view_cases import fill, serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

STYLE = (resources.files("krag_eval_report.html") / "templates" / "overview.css").read_text(encoding="utf-8")
OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"


# Contrast depends on the theme, and what covers what on the width.
@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, theme: Literal["light", "dark"], width: int) -> None:
    runs = {f"run {i}": evaluate_ids([["a"], ["b"], []], [["x"] * i + ["a"], ["b"], []], k=[1, 3]) for i in range(4)}
    pair, drawn, many = tmp_path / "pair", tmp_path / "drawn", tmp_path / "many"
    for folder in (pair, drawn, many):
        folder.mkdir()
    two, four = write_page(pair, shop()), write_page(many, build_report(runs))
    chunkings = compare_chunkers(
        [{"id": "q1", "question": "days to Jeju", "gold": [{"doc_id": "a", "start": 19, "end": 35}]}],
        [{"id": "a", "text": "Closed on Sundays. Two days to Jeju. Returns are free."}],
        {"small": "words:3", "large": "words:6"},
        budgets=(4, 8),
    ).report(tmp_path / "chunkings.html")
    # The policy of the page would keep axe out.
    context = browser.new_context(
        bypass_csp=True, offline=True, color_scheme=theme, viewport={"width": width, "height": 900}
    )
    try:
        views = [
            write_page(drawn, shop(), pictures=True),
            *(f"{two}#{part}" for part in ("details", "queries", f"q={KOREAN}", "q=q-error", "queries?text=none")),
        ]
        for address in [*views, four, four + "#n=1", chunkings.as_uri()]:
            page = context.new_page()
            page.goto(address)
            page.evaluate(OPEN_ALL)
            follow(page)
            assert findings(page) == [], address
            page.close()
        page = context.new_page()
        page.goto(two)
        page.keyboard.press("?")
        assert findings(page) == []
    finally:
        context.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 1440)])
def test_axe_finds_nothing_in_the_list_of_reports(
    browser: Browser, tmp_path: Path, theme: Literal["light", "dark"], width: int
) -> None:
    pytest.importorskip("uvicorn", reason="need the extra view")
    fill(tmp_path)
    context = browser.new_context(bypass_csp=True, color_scheme=theme, viewport={"width": width, "height": 900})
    with serving(tmp_path) as served:
        page = context.new_page()
        page.goto(served.address)
        assert page.locator("tbody tr").count() == 3
        assert findings(page) == []
        context.close()


def test_axe_finds_a_fault_that_is_there(page: Page) -> None:
    page.set_content("<!DOCTYPE html><html lang=en><title>t</title><main><h1>a</h1><img src='data:,'></main></html>")
    assert [line.split(":")[0] for line in findings(page)] == ["image-alt"]


def heat(theme: int) -> list[tuple[float, float, float]]:
    """The eleven grounds of the heat map, as linear red, green and blue."""
    found = re.findall(r"\.heat-\d+ \{ --heat: light-dark\(#(\w{6}), #(\w{6})\)", STYLE)
    assert len(found) == 11
    return [linear(colours[theme]) for colours in found]


def linear(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4))
    one, two, three = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue))
    return one, two, three


def luminance(colour: tuple[float, float, float]) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


@pytest.mark.parametrize(("theme", "text"), [(0, "1c2126"), (1, "ffffff")])
def test_numbers_stand_out_from_every_step_of_the_heat_map(theme: int, text: str) -> None:
    assert "light-dark(#1c2126, #ffffff)" in STYLE
    for ground in heat(theme):
        lighter, darker = sorted((luminance(ground), luminance(linear(text))), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.parametrize("theme", [0, 1])
def test_the_steps_of_the_heat_map_keep_their_order_without_colour(theme: int) -> None:
    """In grey, which is what print and any colour-blindness leave at least: lightness alone tells the steps apart."""
    steps = [luminance(ground) for ground in heat(theme)]
    assert steps == sorted(steps, reverse=theme == 0)
    assert min(abs(a - b) for a, b in pairwise(steps)) > 0.004
