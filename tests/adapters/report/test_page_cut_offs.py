"""The metrics that the page computes at a cut-off that the reader chooses: to the digit those of Python."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import KragEvalWarning, diagnose, evaluate
from krag_eval._utils.formatting import format_value
from krag_eval.evaluation.causes import CAUSES, FOUND
from krag_eval.metrics import ALL_METRICS, METRICS
from krag_eval_report import build_report
from krag_eval_report.html.cut_offs import computed_metrics, cut_off_columns
from krag_eval_report.html.page import payload
from krag_eval_report.html.texts import json_in_script
from tests.support.browser import settle
from tests.support.page_cases import from_lists, many, page_of, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from playwright.sync_api import Page

SCRIPTS = ("data", "dom", "words", "filters", "metrics", "documents", "outcomes")
WORDS = ("alpha", "beta", "gamma", "delta", "배송", "무료", "退货", "доставка")
COLUMN = "([key, k]) => { state.k = k; return EVERY.map((query) => printedValue(key, 0, query)); }"
MEAN = "([key, k, queries]) => { state.k = k; return printed(meanOf(key, 0, queries)); }"
MICRO = "([name, k, queries]) => printed(microOf(k, 0, queries)[name])"


def drawn(seed: int, n: int) -> tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]:
    """Gold and retrieved documents in which one chunk may hold several gold texts, of several grades, or repeat one."""
    chance = random.Random(seed)
    actual, predicted = [], []
    for _ in range(n):
        texts = [" ".join(chance.sample(WORDS, 2)) for _ in range(chance.choice([0, 1, 1, 2, 3, 4]))]
        actual.append([{"text": text, "grade": chance.choice([0, 1, 1, 2, 3, 0.5])} for text in texts])
        predicted.append(
            [
                {"text": " | ".join(chance.sample([*texts, *texts, "nothing", "of it"], chance.choice([1, 2])))}
                for _ in range(chance.choice([0, 2, 5, 7]))
                if texts
            ]
        )
    return actual, predicted


def load(page: Page, report: Any) -> None:
    """Open the scripts that compute, in the open, with the data of a report whose own cut-offs are left out."""
    data = dict(payload(report))
    data["overview"] |= {"metrics": [], "shown": []}
    folder = resources.files("krag_eval_report.html") / "templates"
    script = "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    parts = (
        f'<script type="application/json" id="krag-data-{k}">{json_in_script(v)}</script>' for k, v in data.items()
    )
    page.set_content(f"<!DOCTYPE html>{''.join(parts)}<script>{script}</script>")


def test_every_metric_that_needs_nothing_but_ranks_has_a_formula_on_the_page() -> None:
    of_ranks = {
        name
        for name, metric in ALL_METRICS.items()
        if metric.has_cut_off
        and not (metric.reads_documents or metric.reads_matches or metric.reads_sessions or metric.reads_leaks)
    }
    # The one counts repeated needs, the other reads the grades themselves: the page has neither.
    assert computed_metrics() == of_ranks - {"alpha_ndcg", "err"}
    assert {*METRICS} < computed_metrics()


@pytest.mark.parametrize("denominator", ["retrieved", "k"])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_every_metric_of_ranks_is_the_one_of_python(page: Page, denominator: str, gain: str) -> None:
    actual, predicted = drawn(7, 150)
    settings: dict[str, Any] = {"match_method": "containment", "precision_denominator": denominator, "gain": gain}
    metrics = [*sorted(computed_metrics() - {"f"}), "rbp(p=0.5)", "f(beta=2)", "f(beta=0.5)"]
    load(page, from_lists(actual, predicted, k=[2, 4], metrics=metrics, **settings))
    cut_offs = [1, 2, 3, 5, 9]
    expected = evaluate(actual, predicted, k=cut_offs, metrics=metrics, **settings)
    assert expected.detail is not None
    for name, k in itertools.product(metrics, cut_offs):
        values = [format_value(row.values[f"{name}@{k}"]) for row in expected.per_query]
        assert page.evaluate(COLUMN, [f"{name}@4", k]) == values, (name, k)
        assert len(set(values)) > 2, "the cases are too alike to show a difference"
    steps = cut_off_columns(from_lists(actual, predicted, k=3, **settings))
    assert steps is not None
    assert len(steps["systems"][0]["steps"]) > 20, "few queries have a choice"


def test_means_and_micro_values_of_some_queries_are_those_of_python(page: Page) -> None:
    actual, predicted = drawn(11, 120)
    load(page, from_lists(actual, predicted, k=3, match_method="containment"))
    for chosen in (range(120), range(0, 120, 7), range(5, 30), [3]):
        expected = part(actual, predicted, chosen)
        for name in ("hit_rate", "hit_rate_all", "mrr", "recall", "precision", "f1", "map", "ndcg"):
            assert page.evaluate(MEAN, [f"{name}@3", 4, [*chosen]]) == format_value(expected[f"{name}@4"])
        for name in ("recall", "precision", "f1"):
            assert page.evaluate(MICRO, [name, 4, [*chosen]]) == format_value(expected[f"micro_{name}@4"])


def part(actual: list[Any], predicted: list[Any], chosen: Sequence[int]) -> Any:
    """The evaluation of some of the queries."""
    return evaluate([actual[i] for i in chosen], [predicted[i] for i in chosen], k=4, match_method="containment")


def test_the_slider_moves_the_list_the_means_and_the_open_query(page: Page, tmp_path: Path) -> None:
    actual = [["a"], ["b"], ["c", "d"]]
    predicted = [["a", "x"], ["x", "y", "b"], ["d", "x", "y", "z"]]
    result = evaluate(actual, predicted, k=[1, 4], metrics=["recall", "mrr"], query_ids=["q0", "q1", "q2"])
    page.goto(write_page(tmp_path, build_report({"only": result})) + "#queries")
    assert page.locator("#krag-means-table td").all_inner_texts() == ["0.8333", "0.7778", "0.7500"]
    page.locator("#krag-cut-off").fill("2")
    expected = evaluate(actual, predicted, k=2, metrics=["recall", "mrr"])
    means = [format_value(expected[key]) for key in ("recall@2", "mrr@2", "micro_recall@2")]
    assert page.locator("#krag-means-table td").all_inner_texts() == means
    assert "at k = 2" in page.inner_text("#krag-means-of")
    assert page.locator("#krag-head .name").all_inner_texts() == [
        "Id",
        "Gold",
        "Ranks",
        "recall@2",
        "mrr@2",
        "Why missed",
    ]
    assert row_of(page, "q1") == ["q1", "1", "3", "0.0000", "0.0000", "it was retrieved, but below the cut-off"]
    assert row_of(page, "q0")[-1] == "–"
    page.click("#krag-rows [data-query='1']")
    assert "rank 3, below the cut-off 2" in page.inner_text("#krag-query .fates")
    assert page.locator("#krag-query .beyond").all_inner_texts()[0].startswith("3")
    assert page.inner_text("#krag-query .cut-off-line") == "Cut-off 2: below does not count"
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    page.locator("#krag-cut-off").fill("3")
    assert row_of(page, "q1")[-1] == "–"
    assert row_of(page, "q2")[-1] == "nothing like it was retrieved"
    page.click("#krag-cut-off-reset")
    assert page.locator("#krag-means-table td").all_inner_texts() == ["0.8333", "0.7778", "0.7500"]
    page.fill("#krag-text", "q1")
    settle(page)
    assert page.locator("#krag-means-table td").all_inner_texts() == ["1.0000", "0.3333", "1.0000"]
    assert "Means over 1 listed question" in page.inner_text("#krag-means-of")


def test_what_is_changed_right_after_a_query_was_closed_stays(page: Page, tmp_path: Path) -> None:
    result = evaluate([["a"], ["b"]], [["a", "x"], ["x", "b"]], k=2, query_ids=["q0", "q1"])
    page.goto(write_page(tmp_path, build_report({"only": result})) + "#queries")
    page.click("#krag-rows [data-query='1']")
    page.evaluate("""() => {
      document.getElementById("krag-close").click();
      const slider = document.getElementById("krag-cut-off");
      slider.value = 1;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }""")
    settle(page)
    assert page.locator("#krag-query").is_hidden()
    assert page.inner_text("#krag-cut-off-value") == "1"
    assert page.url.endswith("#queries?k=1")


def row_of(page: Page, query: str) -> list[str]:
    """The cells of the row of a query."""
    row = page.locator("#krag-rows [role=row]").filter(has=page.get_by_text(query, exact=True))
    return row.locator("[role=gridcell]").all_inner_texts()


def test_causes_at_another_cut_off_are_those_of_python(page: Page) -> None:
    actual, predicted = with_sources(13, 200)
    result = evaluate(actual, predicted, k=4, match_method="containment")
    result = replace(result, errors=dict.fromkeys(range(0, 200, 9), "TimeoutError"))
    load(page, build_report({"only": result}))
    kinds: set[str] = set()
    for k in (1, 2, 3, 5, 6):
        shown = page.evaluate("(k) => { state.k = k; return EVERY.map((query) => causesOf(0, query)); }", k)
        diagnosis = diagnose(result, k)
        causes: list[set[str]] = [set() for _ in actual]
        for query, cause in zip(diagnosis.gold_queries.tolist(), diagnosis.causes, strict=True):
            causes[query].add(cause)
        by_query = [sorted(every - {FOUND}, key=[*CAUSES].index) for every in causes]
        failed = [["retriever_error"] if query in result.errors else [] for query in range(200)]
        assert shown == [one or error for one, error in zip(by_query, failed, strict=True)]
        fates = page.evaluate(
            "EVERY.flatMap((q) => goldOf(q).map((_, i) => fateOf(0, q, placesOf(details().gold, q)[i]).cause))"
        )
        assert [[*CAUSES, FOUND][cause] for cause in fates if cause >= 0] == [*diagnosis.causes]
        assert fates.count(-1) > 50, "few gold documents are given twice or do not count"
        kinds |= set(diagnosis.causes)
    assert kinds >= {"crowded_out", "ranked_below_k", "wrong_chunk", "never_retrieved", "retriever_error", FOUND}


def with_sources(seed: int, n: int) -> tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]:
    """Gold and retrieved chunks of a few sources, in which repeats and near duplicates stand above others."""
    chance = random.Random(seed)

    def chunk(text: str) -> dict[str, Any]:
        return {"text": text, "metadata": {"doc_id": chance.choice(["s1", "s2", "s3", None])}}

    def line() -> str:
        return " ".join(chance.choices(WORDS, k=chance.choice([6, 12])))

    actual, predicted = [], []
    for _ in range(n):
        golds = [line() for _ in range(chance.choice([0, 1, 2, 3]))]
        pool = [line() for _ in range(2)]
        pool += [f"{text} {chance.choice(WORDS)}" for text in (*pool, *pool, *golds)]
        given = [chunk(text) for text in golds]
        actual.append([{**chunk("none"), "grade": 0}, *given, *given[:1], *given[1:2]])
        predicted.append([chunk(text) for text in chance.choices(pool, k=chance.choice([0, 4, 7, 7]))])
    return actual, predicted


def test_ties_are_rounded_as_python_does(page: Page) -> None:
    load(page, from_lists([["a"]], [["a"]], k=1))
    values = [n / 32 for n in range(33)] + [0.00005, 0.12345, 1 / 3, 0.99995, 1 / 64, 3 / 64]
    assert page.evaluate("(values) => values.map(printed)", values) == [format_value(value) for value in values]


def test_a_mean_is_rounded_once(page: Page) -> None:
    """The sum of these in doubles is off by more than the last digit of a mean allows: 10,000 thirds are a tie."""
    retrieved = [["x", "x2", "g"] if i % 3 else ["g"] for i in range(9600)]
    load(page, from_lists([["g"]] * 9600, retrieved, k=2))
    expected = evaluate([["g"]] * 9600, retrieved, k=3, metrics="mrr")
    assert page.evaluate(MEAN, ["mrr@2", 3, [*range(9600)]]) == format_value(expected["mrr@3"])


def test_what_is_no_metric_of_ranks_stays_at_its_own_cut_off(page: Page) -> None:
    load(page, from_lists([["a"]], [["b", "a"]], k=1, metrics=["recall", "redundancy"]))
    assert page.evaluate(
        "() => { state.k = 2; return ['recall@1', 'redundancy@1', 'r_precision'].map(atCutOff); }"
    ) == [
        "recall@2",
        "redundancy@1",
        "r_precision",
    ]


def test_without_metrics_of_ranks_nothing_is_carried() -> None:
    assert cut_off_columns(from_lists([["a"]], [["a"]], k=1, metrics="redundancy")) is None
    assert cut_off_columns(from_lists([["a"]], [["a"]], k=["20tok"], metrics="recall")) is None
    with pytest.warns(KragEvalWarning, match="Nothing was retrieved"):
        assert cut_off_columns(from_lists([["a"]], [[]], k=1)) is None


@pytest.mark.full
def test_the_judgments_add_little_to_a_page() -> None:
    report = many(10_000)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("krag_eval_report.html.page.cut_off_columns", lambda report: None)
        without = len(page_of(report))
    assert len(page_of(report)) < 1.12 * without, "per query some 30 bytes a system"


def test_the_last_cut_off_is_the_deepest_rank_and_at_most_a_hundred() -> None:
    for depth, last in ((7, 7), (250, 100)):
        columns = cut_off_columns(build_report({"a": evaluate([["d3"]], [[f"d{i}" for i in range(depth)]], k=5)}))
        assert columns is not None
        assert columns["last"] == last
