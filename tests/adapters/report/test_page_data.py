"""The data in a page: each text once, the digits that are printed everywhere, and what is undefined left open."""

from __future__ import annotations

import builtins
import json
import re
from typing import Any

import pytest

from krag_eval import EvalSet, MissingDependencyError, evaluate_ids
from krag_eval_report import build_report
from krag_eval_report.html import html_page, html_parts
from krag_eval_report.html.numbered import Texts
from krag_eval_report.html.page import SCRIPTS, fluent
from tests.support.page_cases import RUSSIAN, TEXTS, from_lists, page_of, run_of, shop


def data_of(page: str) -> dict[str, Any]:
    """What the scripts of a page read, by name."""
    found = re.findall(r'<script type="application/json" id="krag-data-([\w-]+)">(.*?)</script>', page)
    return {name: json.loads(text) for name, text in found}


def texts_of(data: dict[str, Any]) -> list[str]:
    return [text for number in range(len(data["blocks"]) - 1) for text in data[f"texts-{number}"]]


def test_each_text_stands_in_the_data_once() -> None:
    page = page_of(shop())
    data = data_of(page)
    texts = texts_of(data)
    assert len(texts) == len(set(texts))
    assert {*TEXTS.values(), "Самовывоз бесплатный.", "Nobody answers.", "이틀 걸립니다."} <= set(texts)
    for text in TEXTS.values():
        assert page.count(text) == 1, text


def test_ids_without_texts_are_in_the_data() -> None:
    data = data_of(page_of(build_report({"ids": evaluate_ids([["a", "b"]], [["b", "c"]], k=5)})))
    details = data["details"]
    ranks, gold = data["system-0"]["ranks"]["document"], details["gold"]["document"]
    assert texts_of(data) == []
    assert [gold[0] != gold[1], gold[1] == ranks[0], ranks[1] not in gold] == [True] * 3
    assert sorted(details["ids"]) == ["a", "b", "c"]


def test_a_text_that_two_runs_return_a_thousand_times_is_as_large_as_one() -> None:
    text = "a text of some length " * 1000
    evalset = EvalSet({"id": f"q{i}", "gold": [{"id": "d", "text": text}]} for i in range(100))
    ranking = {f"q{i}": ["d"] for i in range(100)}
    runs = {name: run_of(name, ranking, {"d": text}) for name in ("a", "b")}
    assert len(page_of(build_report(evalset, runs, k=1, metrics=["recall"]))) < 2 * len(text) + 500_000


def test_many_texts_leave_in_blocks_that_say_where_they_begin() -> None:
    texts = Texts()
    given = ["aaa", "bb", "c" * 20, "d", "e"]
    assert [texts.number(text) for text in (*given, "bb", None)] == [0, 1, 2, 3, 4, 1, -1]
    assert list(texts.blocks(5)) == [["aaa", "bb"], ["c" * 20], ["d", "e"]]
    assert list(Texts().blocks()) == []


def test_values_are_printed_in_python_and_undefined_is_no_number() -> None:
    # 0.03125 is a tie at four digits: Python rounds it down to the even digit, JavaScript would round it up.
    gold = [[f"g{i}" for i in range(32)], []]
    data = data_of(page_of(from_lists(gold, [["g0"], ["x"]], k=1, metrics=["recall"])))
    column = data["overview"]["metrics"][0]["systems"][0]
    assert [column["texts"][place] for place in column["of"]] == ["0.0312", "-"]
    assert [column["values"][place] for place in column["of"]] == [0.03125, None]


def test_what_became_of_a_query_is_what_its_explanation_says() -> None:
    report = shop()
    data = data_of(page_of(report))
    overview, details = data["overview"], data["details"]
    query = overview["ids"].index(RUSSIAN)
    texts = texts_of(data)
    for number, system in enumerate(report.systems):
        explanation = system.result.explain(query)
        ranks, gold = data[f"system-{number}"]["ranks"], data[f"system-{number}"]["gold"]
        start, stop = ranks["start"][query : query + 2]
        documents = [details["documents"]["text"][d] for d in ranks["document"][start:stop]]
        assert [texts[text] for text in documents] == [rank.document.text for rank in explanation.ranks]
        assert ranks["credit"][start:stop] == [2 if rank.is_credited else 0 for rank in explanation.ranks]
        first, last = details["gold"]["start"][query : query + 2]
        assert gold["rank"][first:last] == [outcome.match.rank if outcome.match else 0 for outcome in explanation.gold]
        causes = [cause["key"] for cause in overview["causes"]]
        missed = [causes[place] for place in range(len(causes)) if overview["missed"][number][query] >> place & 1]
        assert missed == ["never_retrieved"]


@pytest.mark.full
def test_the_parts_are_the_page() -> None:
    report = from_lists([["a"]], [["a"]])
    assert "".join(html_parts(report)) == html_page(report)


def test_a_report_is_the_same_each_time() -> None:
    assert page_of(shop()) == page_of(shop())


def test_every_script_is_in_the_page_and_none_writes_markup() -> None:
    page = page_of(shop())
    assert len(SCRIPTS) == len(set(SCRIPTS))
    script = page.rpartition("<script>")[2].replace(fluent(), "")
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert forbidden not in script
    for address in ("fetch(", "XMLHttpRequest", "import(", "://", "sendBeacon", "WebSocket"):
        assert address not in script


def test_without_jinja2_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingDependencyError, match=r"needs the package \'jinja2\'.*krag-eval\[report\]"):
        html_page(from_lists([["a"]], [["a"]]))
