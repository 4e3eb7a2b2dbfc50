"""What a notebook or a log shows of any object: small whatever its names and texts are, escaped, without secrets."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    Policy,
    Run,
    RunRow,
    check_gate,
    compare,
    diagnose,
    evaluate_run,
    funnel,
    leaderboard,
    read_evalset,
)
from krag_eval._utils.objects import LONGEST_REPR
from krag_eval.report import build_report
from krag_eval.tables.html import MOST_BYTES
from krag_eval_formats import inspect_file
from krag_eval_labels import audit_labels, validate

LONG, BIG = "이름<b>" * 75, "x<script>alert(1)</script>" * 8_000
N = 60
SECRET = "sk-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"


@functools.cache
def questions() -> EvalSet:
    rows = [
        {
            "id": f"{LONG}{i}",
            "question": BIG,
            "gold": [{"id": f"g{i}{LONG}", "text": BIG}],
            "must_not": [{"id": "x", "reason": BIG}],
            "type": f"{LONG}{i % 30}",
        }
        for i in range(N)
    ]
    return EvalSet(rows, name=LONG)


@functools.cache
def run(found: int, name: str = LONG) -> Run:
    rows = []
    for place, query_id in enumerate(questions().ids):
        last = f"g{place}{LONG}" if place % found else "x"
        stages = [
            {"name": f"dense{LONG}", "retrieved": [{"id": f"g{place}{LONG}", "text": BIG}, {"id": "x", "text": BIG}]},
            {"name": f"rerank{LONG}", "inputs": [f"dense{LONG}"], "retrieved": [{"id": last, "text": BIG}]},
        ]
        row = {"query_id": query_id, "stages": stages} if place % 7 else {"query_id": query_id, "error": BIG}
        rows.append(RunRow.from_dict(row))
    return Run.of(name, rows, parameters={"api_key": SECRET, "note": BIG})


@functools.cache
def result(n_cut_offs: int = 3) -> Any:
    return evaluate_run(questions(), run(2), k=list(range(1, n_cut_offs + 1)), intervals=True)


@functools.cache
def many() -> dict[str, Run]:
    return {f"{LONG}{number}": run(number % 4 + 2, f"{number}") for number in range(6)}


@functools.cache
def compared(baseline: str | None = f"{LONG}0") -> Any:
    return compare(questions(), many(), baseline=baseline, by="type", n_bootstrap=100, n_randomisation=100)


def inspected(folder: Path) -> Any:
    path = folder / "rows.jsonl"
    row = {f"{LONG}{number}": BIG for number in range(40)} | {"question": "why?", "gold_ids": ["a"]}
    path.write_text("\n".join([json.dumps(row)] * 3), encoding="utf-8")
    return inspect_file(path)


OBJECTS: dict[str, Callable[[Path], Any]] = {
    "set": lambda _: questions(),
    "question": lambda _: questions()[1],
    "run": lambda _: run(2),
    "row": lambda _: run(2).rows[questions().ids[1]],
    "result": lambda _: result(),
    "result at 60 cut-offs": lambda _: result(60),
    "row of a result": lambda _: result().per_query[1],
    "detail": lambda _: result().detail,
    "misses": lambda _: result().misses(),
    "leaks": lambda _: result().leaks(),
    "explanation": lambda _: result().explain(1),
    "diagnosis": lambda _: diagnose(result()),
    "comparison": lambda _: compared(),
    "row of a comparison": lambda _: compared().rows[0],
    "transition": lambda _: compared().transitions[0],
    "all pairs": lambda _: compared(None),
    "leaderboard": lambda _: leaderboard({f"{LONG}{number}": result() for number in range(12)}, intervals=True),
    "funnel": lambda _: funnel(questions(), run(2), by="type"),
    "gate": lambda _: check_gate(
        questions(), run(2), Policy.from_dict({"gate": {"require": ["recall@10 >= 0.9"], "never": ["leak@10"]}})
    ),
    "report": lambda _: build_report(questions(), {LONG: run(2)}, by=()),
    "inspection": inspected,
    "validation": lambda _: validate(questions()),
    "doctor": lambda _: audit_labels(questions(), {LONG: run(2)}),
}
ALLOWED = {"div", "p", "b", "br", "small", "code", "table", "caption", "thead", "tbody", "tr", "th", "td"}
SHOWN = ("set", "run", "result", "diagnosis", "comparison", "all pairs", "leaderboard", "inspection")


@pytest.fixture(autouse=True)
def _quiet(recwarn: pytest.WarningsRecorder) -> None:
    """Such sets are full of what is warned of."""


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_the_repr_of_anything_is_short(make: Callable[[Path], Any], tmp_path: Path) -> None:
    shown = repr(make(tmp_path))
    assert len(shown) <= LONGEST_REPR
    assert SECRET not in shown


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("name", SHOWN)
def test_the_html_of_anything_is_small_and_escaped(name: str, tmp_path: Path) -> None:
    html = OBJECTS[name](tmp_path)._repr_html_()
    assert len(html.encode("utf-8")) <= MOST_BYTES
    assert SECRET not in html
    found = _Elements()
    found.feed(html)
    assert found.names <= ALLOWED
    assert found.attributes <= {"class", "style", "scope", "title"}
    assert {"table", "td"} <= found.names


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_print_shows_all_of_what_the_repr_shortens() -> None:
    text = str(compared())
    assert len(text) > LONGEST_REPR
    assert text.count("\n") > repr(compared()).count("\n")
    assert repr(compared()).startswith(text[:50])


def test_a_small_result_is_shown_whole() -> None:
    small = evaluate_run([{"id": 1, "gold": [{"id": "a"}]}], {"1": ["a"]}, k=1)
    assert repr(small) == str(small)


def test_a_set_and_a_run_show_their_first_rows() -> None:
    asked = EvalSet([{"id": f"q{i}", "question": f"Who is {i}?", "gold": [{"id": f"g{i}"}]} for i in range(12)])
    html = asked._repr_html_()
    assert "Who is 9?" in html
    assert "Who is 10?" not in html
    assert "g9" in html
    bm25 = Run.of("bm25", [RunRow.from_dict({"query_id": "q1", "retrieved": [{"id": "doc-7"}], "seconds": 0.25})])
    assert "doc-7" in bm25._repr_html_()
    assert "250 ms" in bm25._repr_html_()


def test_of_an_empty_set_and_run_there_is_nothing_to_show(tmp_path: Path) -> None:
    for empty in (EvalSet([]), Run.of("none", [])):
        assert "<table" in empty._repr_html_()
    (tmp_path / "empty.jsonl").write_text('{"id": 1, "question": "", "gold": []}\n', encoding="utf-8")
    assert "<table" in read_evalset(tmp_path / "empty.jsonl")._repr_html_()


RUN = "from nbclient.cli import main; main()"  # what `jupyter execute` is
CELLS = (
    """
import time
from krag_eval import EvalSet, compare, evaluate_run, run_retriever
asked = EvalSet([{"id": f"q{i}", "question": f"{i}?", "gold": [{"id": str(i)}]} for i in range(30)])
def search(question):
    time.sleep(0.1)
    return [{"id": question[:-1]}]
run = run_retriever(asked, search, k=1, progress=True, concurrency=1)
""",
    "run",
    "asked",
    "evaluate_run(asked, run, k=1)",
    "compare(asked, {'one': run, 'other': run}, k=1)",
    "evaluate_run(asked, run, k=[1, 2]).plot()",
)


@pytest.mark.full
def test_a_real_kernel_shows_progress_tables_and_pictures(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="need nbformat (make setup)")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    path = tmp_path / "cells.ipynb"
    nbformat.write(notebook, path)
    homes = {name: str(tmp_path / name) for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from nbclient.cli import main; main()",
            "--inplace",
            "--startup_timeout=120",
            str(path),
        ],
        cwd=tmp_path,
        env={**os.environ, **homes},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    asking, *shown = json.loads(path.read_text(encoding="utf-8"))["cells"]
    line = "".join("".join(output["text"]) for output in asking["outputs"] if output.get("name") == "stderr")
    assert 3 <= line.count("\r") <= 8  # three seconds, once a second, and the end
    assert line.endswith("\n")
    assert "30 of 30" in line
    for cell in shown:
        (data,) = [output["data"] for output in cell["outputs"] if "data" in output]
        assert "<table" in "".join(data["text/html"]) or "<desc" in "".join(data["text/html"])
