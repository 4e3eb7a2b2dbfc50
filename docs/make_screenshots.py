"""Take the pictures of the report in docs/img: `make screenshots`. Needs Chromium and playwright.

Each main view of a report of the bundled collection, light and dark, and the states that a small report has.
`make states FOLDER=...` takes every state of the page in each theme, width and language, to be looked at.
"""

from __future__ import annotations

import io
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markdown import markdown
from PIL import Image
from playwright.sync_api import Browser, Page, Route, sync_playwright

from examples import tenants
from krag_eval import EvalSet, Policy, Run, RunRow, check_gate, evaluate_ids, write_run
from krag_eval_chunkers.demo_data import load_collection, load_rules_collection
from krag_eval_chunkers.local import build_retrievers
from krag_eval_labels import plan_labels, write_queue
from krag_eval_labels.labelling.page import QueuesOnPages
from krag_eval_report import build_report, write_report
from krag_eval_report.html.page import label_page
from krag_eval_report.languages import languages

IMAGES = Path(__file__).resolve().parent / "img"
DEPTH = 10
WIDE, MEDIUM, NARROW = (1440, 900), (1024, 800), (390, 844)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


_AS_IN_A_PULL_REQUEST = """
:root { color-scheme: light dark; --line: light-dark(#d1d9e0, #3d444d); --code: light-dark(#818b981f, #656c7633); }
body { font: 14px/1.5 system-ui, sans-serif; margin: 24px; color: light-dark(#1f2328, #f0f6fc);
       background: light-dark(#fff, #0d1117); }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: 6px 13px; text-align: left; }
code { font: 85% ui-monospace, monospace; padding: .2em .4em; border-radius: 6px; background: var(--code); }
td:first-child { white-space: nowrap; }
"""


@dataclass(frozen=True)
class View:
    """One picture.

    Attributes:
        name: What it shows.
        report: The file.
        fragment: The place in it.
        size: Of the window.
        act: What is done before the picture is taken.
    """

    name: str
    report: str
    fragment: str = ""
    size: tuple[int, int] = WIDE
    act: Callable[[Page], object] | None = None


def _label(page: Page) -> None:
    page.click("#krag-query .card h4 >> nth=0")
    page.click("#krag-query .labels button >> nth=0")
    page.locator("#krag-query .labels").first.scroll_into_view_if_needed()


VIEWS = (
    View("overview", "pair"),
    View("overview-one", "one"),
    View("overview-many", "many"),
    View("pictures", "pair", "#figure-hits"),
    View("comparison", "pair", "#comparison"),
    View("slices", "pair", "#slices"),
    View("slices-many", "many", "#slices"),
    View("causes", "pair", "#causes"),
    View("queries", "pair", "#queries"),
    View("queries-many", "many", "#queries"),
    View("filtered", "pair", "#queries?change=better"),
    View("cut-off", "pair", "#queries?k=3"),
    View("keys", "pair", "#queries", act=lambda page: page.keyboard.press("?")),
    View("query-two-runs", "pair", "#q=ko-q12"),
    View("query", "one", "#q=ru-q11"),
    View("missed", "one", "#q=ko-q13"),
    View("labels", "one", "#q=ko-q13", act=_label),
    View("ids-only", "ids", "#queries"),
    View("no-gold", "no-gold"),
    View("no-match", "one", "#queries", act=lambda page: page.fill("#krag-text", "nothing is called this")),
    View("in-vain", "one", "#queries?cause=no_such_cause"),
    View("gate-leak", "gate-leak", size=(1000, 620)),
    View("medium-overview", "pair", size=MEDIUM),
    View("medium-queries", "pair", "#queries", size=MEDIUM),
    View("medium-query", "pair", "#q=zh-q10", size=MEDIUM),
    View("narrow-overview", "pair", size=NARROW),
    View("narrow-queries", "pair", "#queries", size=NARROW),
    View("narrow-query", "pair", "#q=zh-q10", size=NARROW),
)


# What a page can show, in every theme, width and language.
STATES = (
    View("five-runs", "many"),
    View("one-run", "one"),
    View("two-runs", "pair"),
    View("search", "many", "#queries?text=배송"),
    View("question", "many", "#q=ko-q12"),
    View("details", "pair", "#details"),
    View("leak-and-failures", "leak"),
    View("fifty-runs", "fifty"),
    View("stages", "stages"),
    View("ids-only", "ids"),
    View("no-gold", "no-gold"),
    View("without-script", "one"),
)
WIDTHS = (WIDE, MEDIUM, NARROW)


def states(folder: Path) -> None:
    """Take every state of the page in each theme, width and language."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as reports, sync_playwright() as playwright:
        _write_reports(Path(reports))
        _write_states(Path(reports))
        browser = playwright.chromium.launch(executable_path=_browser_path(), args=_SWITCHES)
        for view, size, scheme, language in itertools.product(STATES, WIDTHS, ("light", "dark"), languages()):
            shown = replace(view, size=size)
            with _opened(browser, shown, scheme, Path(reports), language) as page:
                _save(
                    page.screenshot(full_page=size == NARROW), folder / f"{view.name}-{scheme}-{size[0]}-{language}.png"
                )
        browser.close()


def _browser_path() -> str:
    browser_path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser_path is None:
        sys.exit(f"No browser: none of {', '.join(_BROWSERS)} is on PATH. Install chromium.")
    return browser_path


def main(folder: Path) -> None:
    """Take every picture."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as reports, sync_playwright() as playwright:
        _write_reports(Path(reports))
        browser = playwright.chromium.launch(executable_path=_browser_path(), args=_SWITCHES)
        for view in VIEWS:
            for scheme in ("light", "dark"):
                with _opened(browser, view, scheme, Path(reports)) as page:
                    _save(page.screenshot(), folder / f"report-{view.name}-{scheme}.png")
        for scheme in ("light", "dark"):
            with _labelling(browser, scheme, Path(reports)) as page:
                _save(page.screenshot(), folder / f"report-label-page-{scheme}.png")
        browser.close()


def _save(picture: bytes, path: Path) -> None:
    """Write a picture with as few colours as it needs: a third of the size."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


@contextmanager
def _opened(browser: Browser, view: View, scheme: str, reports: Path, language: str = "en") -> Iterator[Page]:
    width, height = view.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        locale=language,
        java_script_enabled=view.name != "without-script",
        offline=True,
    )
    page = context.new_page()
    page.goto((reports / f"{view.report}.html").as_uri() + view.fragment)
    page.wait_for_timeout(100)
    if view.act is not None:
        view.act(page)
    page.wait_for_timeout(300)
    yield page
    context.close()


@contextmanager
def _labelling(browser: Browser, scheme: str, folder: Path) -> Iterator[Page]:
    """Show the page for labels after 20 of them, with a server that is in this process."""
    documents, questions = load_collection()
    found = build_retrievers(documents)["bm25 words"]([question["question"] for question in questions], 5)
    pairs = zip(questions, found, strict=True)
    run = Run.of("bm25", [RunRow.from_dict({"query_id": one["id"], "retrieved": row}) for one, row in pairs])
    path = folder / scheme / "queue.jsonl"
    (path.parent / "runs").mkdir(parents=True)
    write_run(run, path.parent / "runs" / "bm25.jsonl")
    nobody = {query: {document.id: 0 for document in row.ranking} for query, row in run.rows.items()}
    texts = EvalSet([{"id": one["id"], "question": one["question"], "gold": []} for one in questions])
    write_queue(plan_labels(run, judge=nobody, n=120, k=5, evalset=texts), path)
    served, page_text = QueuesOnPages(), label_page(path.name, "/label/queue.jsonl", "localhost")[0]

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(json=served.answer(path, route.request.post_data_json or {}))
        else:
            route.fulfill(body=page_text, content_type="text/html; charset=utf-8")

    context = browser.new_context(viewport={"width": 1000, "height": 700}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.route("**/*", answer)
    page.goto("http://localhost/label/queue.jsonl")
    for number in range(21):
        page.wait_for_selector(f"#krag-pair[data-place='{number}']")
        page.keyboard.press("012"[number % 3])
    page.wait_for_selector("#krag-pair[data-place='21']")
    yield page
    context.close()


def _write_reports(folder: Path) -> None:
    documents, questions = load_collection()
    evalset = EvalSet(questions, name="Onbori")
    runs = {}
    for name, retrieve in build_retrievers(documents).items():
        rankings = retrieve(evalset.texts, DEPTH)
        rows = [
            RunRow.from_dict({"query_id": question.id, "retrieved": ranking})
            for question, ranking in zip(evalset, rankings, strict=True)
        ]
        runs[name] = Run.of(name, rows, parameters={"collection": "Onbori", "depth": DEPTH})
    first, *_, last = runs
    pair = {first: runs[first], last: runs[last]}
    write_report(build_report(evalset, pair, by=["type", "language"]), folder / "pair.html")
    write_report(build_report(evalset, {first: runs[first]}, by=["type", "language"]), folder / "one.html")
    write_report(build_report(evalset, runs, by=["type", "language"]), folder / "many.html")
    ids = evaluate_ids([["a", "b"], ["c"]], [["b", "x", "a"], ["y"]], k=3, query_ids=["q1", "q2"])
    write_report(build_report({"ids only": ids}), folder / "ids.html")
    nothing = evaluate_ids([[], []], [["a"], []], k=3, query_ids=["q1", "q2"])
    write_report(build_report({"no gold": nothing}), folder / "no-gold.html")
    (folder / "gate-leak.html").write_text(_leak_summary(), encoding="utf-8")


def _write_states(folder: Path) -> None:
    """Write the reports of states that the documentation has no picture of."""
    documents, questions = load_collection()
    evalset = EvalSet(questions, name="Onbori")
    found = {name: retrieve(evalset.texts, DEPTH) for name, retrieve in build_retrievers(documents).items()}
    (first, firsts), *_, (last, lasts) = found.items()

    def run(name: str, rows: Iterable[dict[str, Any]]) -> Run:
        return Run.of(name, [RunRow.from_dict(row) for row in rows])

    known = [
        {"query_id": one.id, "retrieved": [{"id": f"faq-{one.id}", "text": one.question}, *ranking][:DEPTH]}
        for one, ranking in zip(evalset, firsts, strict=True)
    ]
    failing = [
        {
            "query_id": one.id,
            **({"error": "TimeoutError: no answer within 2 s"} if place % 9 == 0 else {"retrieved": ranking}),
        }
        for place, (one, ranking) in enumerate(zip(evalset, lasts, strict=True))
    ]
    rows = [{"query_id": one.id, "retrieved": ranking} for one, ranking in zip(evalset, firsts, strict=True)]
    leak = {first: run(first, rows), last: run(last, failing), f"{first}, with FAQ": run("faq", known)}
    write_report(build_report(evalset, leak, by=["type", "language"]), folder / "leak.html")
    fifty = {}
    for place in range(50):
        name, rankings = list(found.items())[place % len(found)]
        long = " with all that its settings say, written out in words" * (3 if place % 7 == 3 else 0)
        made = [
            {"query_id": one.id, "retrieved": ranking[(place + number) % 5 == 0 :], "seconds": 0.001 * (1 + place % 9)}
            for number, (one, ranking) in enumerate(zip(evalset, rankings, strict=True))
        ]
        fifty[f"{name} {place}{long}"] = run(name, made)
    write_report(build_report(evalset, fifty, by=["type", "language"]), folder / "fifty.html")
    staged = [
        {
            "query_id": one.id,
            "stages": [
                {"name": "search", "retrieved": wide},
                {"name": "rerank", "inputs": ["search"], "retrieved": wide[number % 3 : 5]},
            ],
        }
        for number, (one, wide) in enumerate(zip(evalset, lasts, strict=True))
    ]
    write_report(
        build_report(evalset, {"search, then rerank": run("staged", staged)}, by="language"), folder / "stages.html"
    )


def _leak_summary() -> str:
    """Return the summary that a pull request gets from the gate of examples/tenants.py, as a page."""
    questions = EvalSet(load_rules_collection()[1], name="tenants").where(lambda question: question.type != "version")
    search = tenants.make_search(tenants.fill_store(), fallback_filters=False)
    run = tenants.run_of("fallback without filter", questions, search)
    summary = check_gate(questions, run, Policy.from_dict(tenants.POLICY)).to_markdown()
    return f"<meta charset=utf-8><style>{_AS_IN_A_PULL_REQUEST}</style>{markdown(summary, extensions=['tables'])}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--states"]:
        states(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
