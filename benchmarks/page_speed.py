"""How fast a page of many questions and five runs is in Chromium: first paint, keys, the search, and its size.

`python -m benchmarks.page_speed [questions]` prints the figures beside what is asked.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import Row
from benchmarks.report_load import DEPTH, WORDS, row_of
from krag_eval import EvalSet, Run
from krag_eval_report import build_report, write_report

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

SHARES = {"words": 0.6, "chars": 0.65, "dense": 0.62, "hybrid": 0.7, "rerank": 0.75}
ASKED = {"first paint": 1.0, "longest key": 0.1, "processor of the longest key": 0.1, "bytes": 1500.0}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
# From the key to the frame that shows what it did, by the page's own clock.
_KEYS = """() => {
  window.took = [];
  addEventListener("keydown", ({ timeStamp, key }) => {
    requestAnimationFrame(() => setTimeout(() => window.took.push([key, performance.now() - timeStamp])));
  }, { capture: true });
}"""


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the page."""
    n_questions = 200 if smoke else 10_000
    figures = measure(n_questions)
    work = f"a page of {n_questions:,} questions x {DEPTH} x {len(SHARES)} runs"
    yield Row(work=f"{work}: bytes a question and run beyond texts", peer="", ours=figures["bytes"], unit="B")
    for name, seconds in figures.items():
        if name != "bytes":
            yield Row(work=f"{work}: {name}", peer="", ours=seconds, asked=ASKED.get(name))


def measure(n_questions: int) -> dict[str, float]:
    """Return seconds by what was done, and under `"bytes"` the size; only the size where there is no browser."""
    evalset, runs, n_characters = made(n_questions)
    report = build_report(evalset, runs, by=["type", "language"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(report, path)
        size = (path.stat().st_size - n_characters) / n_questions / len(runs)
        return {"bytes": size, **_in_browser(path)}


def made(n_questions: int) -> tuple[EvalSet, dict[str, Run], int]:
    """A set, five runs over ten times as many texts, and how many characters these texts and questions have."""
    rng = np.random.default_rng(20261128)
    words = np.array([f"word{number:04}" for number in range(2000)])
    n_texts = n_questions * DEPTH
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (n_texts, WORDS))].tolist()]
    gold = rng.integers(0, n_texts, n_questions).tolist()
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{query}",
            "question": f"What is said of {texts[number][:60]}?",
            "gold": [{"id": f"d{number}", "text": texts[number]}],
            "type": f"type {query % 5}",
            "metadata": {"language": ["en", "ko", "ru", "zh"][query % 4]},
        }
        for query, number in enumerate(gold)
    ]
    evalset = EvalSet(rows, name="many")
    runs = {}
    for name, share in SHARES.items():
        ranked = rng.integers(0, n_texts, (n_questions, DEPTH))
        found = rng.random(n_questions) < share
        ranked[found, rng.integers(0, DEPTH, n_questions)[found]] = np.array(gold)[found]
        runs[name] = Run.of(name, (row_of(q.id, row, texts) for q, row in zip(evalset, ranked.tolist(), strict=True)))
    return evalset, runs, sum(map(len, texts)) + sum(len(row["question"]) for row in rows)


def _in_browser(path: Path) -> dict[str, float]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return {}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=_SWITCHES)
        page = chromium.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        figures = _opened(page, path)
        figures |= _pressed(page)
        figures |= _done(page, path)
        chromium.close()
    return figures


def _opened(page: Page, path: Path) -> dict[str, float]:
    """Seconds to the first paint of the first screen, and of the list with its rows; the best of three."""
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
    first, drawn = [], []
    for _ in range(3):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
        first.append(page.evaluate(paint))
        start = time.perf_counter()
        page.goto("about:blank")
        page.goto(f"{path.as_uri()}#queries", wait_until="domcontentloaded")
        page.wait_for_selector("#krag-rows [role=row]")
        drawn.append(time.perf_counter() - start)
    return {"first paint": min(first), "list drawn": min(drawn)}


def _pressed(page: Page) -> dict[str, float]:
    """The longest time of a key in the list and in a question, and while a word is typed, by the clock.

    On a machine that does other work, too, the clock says little: so also the time of the processor.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(_KEYS)
    page.focus("#krag-list")
    processor = [_press(page, session, key) for key in _IN_LIST_AND_QUESTION]
    start = time.perf_counter()
    processor += [_press(page, session, key) for key in ("/", *"word0123")]
    page.wait_for_function("document.getElementById('krag-list').getAttribute('aria-busy') === 'false'")
    page.wait_for_function("/^\\d[\\d,]* of /.test(document.getElementById('krag-count').textContent)")
    answered = time.perf_counter() - start
    took = page.evaluate("window.took.map(([, took]) => took / 1000)")
    return {
        "longest key": max(took),
        "processor of the longest key": max(processor),
        "search answered": answered,
    }


_IN_LIST_AND_QUESTION = (
    *("j", "j", "k", "PageDown", "End", "Home", " ", "j", " "),
    *("Enter", "j", "n", "ArrowDown", "Escape"),
)


def _done(page: Page, path: Path) -> dict[str, float]:
    """Seconds that tasks take a scripted person who does not think, from the list of questions to their end."""
    seconds = {}
    for name, task in {"lost in Korean, saved": _lost_in_korean, "why was q17 missed": _why_was_q17_missed}.items():
        page.goto("about:blank")
        page.goto(f"{path.as_uri()}#queries")
        page.wait_for_selector("#krag-rows [role=row]")
        start = time.perf_counter()
        task(page)
        seconds[f"task: {name}"] = time.perf_counter() - start
    return seconds


def _lost_in_korean(page: Page) -> None:
    page.select_option("[data-field=language] select", label="ko")
    page.click("#krag-chips .chip:has-text('Missed by')")
    page.wait_for_function("location.hash.includes('missed=') && location.hash.includes('language=ko')")
    with page.expect_download() as waiting:
        page.click("#krag-save-set")
    waiting.value.path()


def _why_was_q17_missed(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("q17")
    page.wait_for_function("/^\\d[\\d,]* of /.test(document.getElementById('krag-count').textContent)")
    page.locator("#krag-rows .toggle").first.click()
    page.wait_for_selector(".row-open .fates-in-short li")


def _press(page: Page, session: CDPSession, key: str) -> float:
    """Seconds of the processor that a key takes in the page, with all that it sets off."""
    before = _processor(session)
    page.keyboard.press(key)
    page.wait_for_timeout(150)
    return _processor(session) - before


def _processor(session: CDPSession) -> float:
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


def main() -> None:
    """Print the figures."""
    n_questions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name, figure in measure(n_questions).items():
        asked = f" (asked: at most {ASKED[name]:g})" if name in ASKED else ""
        print(f"{name}: {figure:.3f}{asked}" if name != "bytes" else f"bytes a question and run: {figure:.0f}{asked}")


if __name__ == "__main__":
    main()
