"""What a notebook shows: small tables, without scripts, and with nothing but the core installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest

from krag_eval import Scorer, compare, diagnose, evaluate, evaluate_ids, evaluate_stream
from krag_eval_report.notebooks import notebook_html
from tests.support import table_cases as cases
from tests.support.marks import nothing_may_match
from tests.support.report_reading import html_tables

GOLD = [["a"], ["b"], []]


def elements(text: str) -> list[Element]:
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    fragment: Element = parser.parseFragment(text)
    return list(fragment.iter())


def words(text: str) -> str:
    return " ".join("".join(element.itertext()) for element in elements(text)[:1])


def test_a_result_shows_one_row_a_metric_and_one_column_a_cut_off() -> None:
    result = evaluate(GOLD, [["x", "a"], ["b"], []], k=[1, 2], metrics=["recall", "mrr"])
    ((head, *rows),) = html_tables(result._repr_html_())
    assert head == ["metric", "@1", "@2", "undefined"]
    assert rows == [
        ["recall", "0.5000", "1.0000", "1"],
        ["micro_recall", "0.5000", "1.0000", ""],
        ["mrr", "0.5000", "0.7500", "1"],
    ]
    assert result.signature in words(result._repr_html_())
    assert "Queries without gold documents: 1" in words(result._repr_html_())


def test_intervals_stand_below_the_values() -> None:
    result = evaluate(GOLD, GOLD, k=1, metrics="recall", intervals=True)
    ((_, row, _),) = html_tables(result._repr_html_())
    low, high = (result.intervals or {})["recall@1"] or (0, 0)
    assert row[1] == f"1.0000{low:.4f} to {high:.4f}"


def test_a_metric_without_a_cut_off_has_one_value() -> None:
    result = evaluate_ids([[1], [2]], [[1], [3]], k=[1, 2], metrics=["recall", "r_precision"])
    table = html_tables(result._repr_html_())[0]
    assert table[-1] == ["r_precision", "0.5000", "", "0"]


def test_a_streamed_result_shows_itself() -> None:
    result = evaluate_stream(iter([(["a"], ["a"])]), k=1)
    assert html_tables(result._repr_html_())[0][1][:2] == ["hit_rate", "1.0000"]


def test_a_result_without_a_defined_value_says_so() -> None:
    text = words(evaluate([[]], [["a"]], k=1)._repr_html_())
    assert "No query has a gold document, so no value is defined" in text
    assert "nan" not in text.lower()
    assert "There is no query, so no value is defined." in words(Scorer(k=1).result()._repr_html_())


@nothing_may_match
def test_a_comparison_shows_verdicts() -> None:
    gold = [[n] for n in range(40)]
    comparison = compare({"never": evaluate_ids(gold, [[]] * 40, k=1), "always": evaluate_ids(gold, gold, k=1)})
    (rows,) = html_tables(comparison._repr_html_())
    assert rows[0] == ["metric", "base", "here", "diff", "interval", "p", "+/=/-", "verdict"]
    assert rows[1][0] == "hit_rate@1"
    assert {row[-1] for row in rows[1:]} == {"better"}


def hostile() -> list[str]:
    report = cases.hostile()
    assert report.comparison is not None
    return [notebook_html(report.comparison), *(notebook_html(system.result) for system in report.systems)]


@pytest.mark.parametrize("place", range(3))
def test_no_text_of_a_user_becomes_markup(place: int) -> None:
    text = hostile()[place]
    assert {element.tag for element in elements(text)} <= {
        "DOCUMENT_FRAGMENT", "div", "p", "b", "br", "small", "code",
        "table", "caption", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    attributes = {name for element in elements(text) for name in element.attrib}
    assert attributes <= {"class", "style", "scope", "title"}
    assert not re.search("[\x00-\x08\x0b-\x1f]", text)


def test_nothing_is_loaded_and_no_colour_is_set() -> None:
    """Dark notebooks stay dark: the colours are those of the notebook."""
    for text in hostile():
        assert {"color:inherit" in one.attrib["style"] for one in elements(text) if one.tag == "table"} == {True}
        styles = {element.attrib.get("style", "").replace("color:inherit", "") for element in elements(text)}
        assert not any(word in style for style in styles for word in ("color", "background", "url", "expression"))
        assert not {"src", "href"} & {name for element in elements(text) for name in element.attrib}


CORE = """
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"jinja2", "matplotlib", "scipy", "rich", "click", "pandas", "markupsafe"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import warnings
import krag_eval
from krag_eval import evaluate, KragEvalWarning

result = evaluate([["a"], []], [["a"], ["b"]], k=[1, 2])
assert "<table" in result._repr_html_()
from krag_eval_report import build_report, write_report
report = build_report({"a": result, "b": result})
assert report.comparison is None and "no intervals and no comparison" in report.notes[0], report.notes
for name in ("a.md", "a.json", "a.csv"):
    result.report(name)
    write_report(report, name, force=True)
try:
    result.report("a.html")
except krag_eval.MissingDependencyError as error:
    print(error)
"""


@pytest.mark.full
def test_a_notebook_markdown_json_and_csv_need_nothing_but_the_core(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CORE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 'pip install "krag-eval[report]"' in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.json", "a.md"]


def test_a_diagnosis_shows_causes_ceilings_and_the_first_misses() -> None:
    gold = [[f"gold {n}"] for n in range(12)]
    html = diagnose(evaluate(gold, [["gold 0"], *([["<b>other</b>"]] * 11)], k=1))._repr_html_()
    causes, ceilings, misses = html_tables(html)
    assert causes[1][:3] == ["found", "1", "8.3 %"]
    assert sum(int(row[1]) for row in causes[1:]) == 12
    assert ceilings[1] == ["as it is", "0.0833"]
    assert len(misses) == 1 + 10
    assert misses[1][:2] == ["1", "'gold 1'"]
    assert "Missed: the first 10 of 11" in words(html)
    assert "1 of 12 gold documents found within rank 1" in words(html)
    assert len(html_tables(diagnose(evaluate(gold, gold, k=1))._repr_html_())) == 2
