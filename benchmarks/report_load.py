"""How long a report of many queries takes to build, how large it is, and how long Chromium takes to open it.

`python -m benchmarks.report_load [queries]` prints the figures by itself.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Row
from benchmarks.memory_child import peak_megabytes
from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import build_report, write_report

DEPTH = 10
WORDS = 40  # of about 300 characters
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
_ROWS = "#krag-rows [role=row]"


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the report."""
    n_queries = 200 if smoke else 10_000
    build, write, megabytes, load = measure(n_queries)
    work = f"a report of {n_queries:,} queries x {DEPTH} x 2 runs"
    yield Row(work=f"{work}: scores, intervals, comparison", peer="", ours=build)
    yield Row(work=f"{work}: the page written", peer="", ours=write)
    yield Row(work=f"{work}: size of the file", peer="", ours=megabytes, unit="MB")
    if load is not None:
        yield Row(work=f"{work}: opened in Chromium, with the list", peer="", ours=load, asked=3.0)


def measure(n_queries: int) -> tuple[float, float, float, float | None]:
    """Seconds to build, seconds to write, megabytes, and seconds to open; None where there is no browser."""
    systems, evalset = _runs(n_queries)
    start = time.perf_counter()
    report = build_report(evalset, systems, by=["type"])
    build = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.perf_counter()
        write_report(report, path)
        return build, time.perf_counter() - start, path.stat().st_size / 1e6, _load_seconds(path)


def _runs(n_queries: int) -> tuple[dict[str, Run], EvalSet]:
    """Two runs over as many texts as they return: what most of the file consists of."""
    rng = np.random.default_rng(20261128)
    words = np.array([f"word{number:04}" for number in range(2000)])
    n_texts = n_queries * DEPTH
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (n_texts, WORDS))].tolist()]
    gold = rng.integers(0, n_texts, n_queries).tolist()
    rows = [
        {
            "id": f"q{query}",
            "question": f"What is said of {texts[number][:60]}?",
            "gold": [{"id": f"d{number}", "text": texts[number]}],
            "type": f"type {query % 5}",
        }
        for query, number in enumerate(gold)
    ]
    evalset = EvalSet(rows, name="many")
    runs = {}
    for name, share in (("first", 0.6), ("second", 0.7)):
        ranked = rng.integers(0, n_texts, (n_queries, DEPTH))
        found = rng.random(n_queries) < share
        ranked[found, rng.integers(0, DEPTH, n_queries)[found]] = np.array(gold)[found]
        runs[name] = Run.of(name, (row_of(q.id, row, texts) for q, row in zip(evalset, ranked.tolist(), strict=True)))
    return runs, evalset


def row_of(query_id: str, ranked: list[int], texts: list[str]) -> RunRow:
    documents = [{"id": f"d{n}", "text": texts[n], "score": 1 / rank} for rank, n in enumerate(ranked, 1)]
    return RunRow.from_dict({"query_id": query_id, "retrieved": documents})


def _load_seconds(path: Path) -> float | None:
    """From the address to the list drawn, the best of three."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return None
    seconds = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=_SWITCHES)
        for _ in range(3):
            page = chromium.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            page.wait_for_selector(_ROWS)
            seconds.append(time.perf_counter() - start)
            page.close()
        chromium.close()
    return min(seconds)


def main() -> None:
    """Print the figures."""
    n_queries = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    build, write, megabytes, load = measure(n_queries)
    opened = "no browser" if load is None else f"{load:.2f} s to open"
    print(f"{n_queries:,} queries: {build:.1f} s to build, {write:.1f} s to write, {megabytes:.1f} MB, {opened}")
    print(f"peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
