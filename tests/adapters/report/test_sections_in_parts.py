"""Slices, causes, questions without an answer, parameters and latencies: what their tables say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from krag_eval import Run
from krag_eval_report import build_report
from tests.support import table_cases as cases
from tests.support.report_reading import row, section, table, texts


def test_slices_show_how_many_queries_and_the_mean_of_each_system() -> None:
    report = cases.two_runs()
    by_language = next(t for t in section(report, "slices").tables if t.title == "recall@5 by language")
    ko = row(by_language, "ko")
    assert (ko["queries"], ko["defined"]) == (3, 2)
    assert (ko["value:bm25 단어"], ko["value:гибрид (RRF)"]) == (1.0, 1.0)
    negative = row(next(t for t in section(report, "slices").tables if t.title == "recall@5 by type"), "negative")
    assert (negative["defined"], negative["value:bm25 단어"], negative["verdict:гибрид (RRF)"]) == (0, None, None)


def test_one_system_has_one_table_of_slices_by_field() -> None:
    tables = section(cases.one_run(), "slices").tables
    assert [t.title for t in tables] == ["By type"]
    assert [c.title for c in tables[0].columns] == ["type", "queries", "defined", "mrr@3", "recall@3", "ndcg@3"]


def test_questions_without_a_value_in_a_field_are_a_slice_of_their_own() -> None:
    rows = [{"id": i, "question": "?", "gold": [{"id": f"g{i}"}], "type": "x" if i else None} for i in range(3)]
    questions = cases.evalset(rows)
    report = build_report(questions, {"a": cases.run("a", [1], questions)}, k=1)
    assert [cells[0].text for cells in section(report, "slices").tables[0].rows] == ["x", "(none)"]


def test_causes_add_up_to_all_gold_documents() -> None:
    report = cases.two_runs()
    causes = table(report, "causes")
    for system in report.systems:
        assert sum(row(causes, cells[0].text)[f"count:{system.name}"] for cells in causes.rows) == 10
        shares = [row(causes, cells[0].text)[f"share:{system.name}"] for cells in causes.rows]
        assert sum(shares) == pytest.approx(1)
    assert row(causes, "retriever_error")["count:гибрид (RRF)"] == 1
    assert row(causes, "found")["meaning"] == "a retrieved document matches it within the cut-off"


def test_causes_by_slice_add_up_to_those_of_all() -> None:
    report = cases.two_runs()
    for number, system in enumerate(report.systems, 1):
        by_type = table(report, f"causes-1-{number}")
        for place, column in enumerate(by_type.columns[1:], 1):
            assert sum(int(str(cells[place].value)) for cells in by_type.rows) == system.diagnosis.causes.count(
                column.key
            )


def test_the_ceilings_of_recall_are_those_of_the_diagnosis() -> None:
    report = cases.two_runs()
    for place, system in enumerate(report.systems, 1):
        ceilings = system.diagnosis.ceilings
        assert [cells[place].value for cells in table(report, "ceilings").rows] == [
            ceilings.recall,
            ceilings.with_perfect_reranking,
            ceilings.without_repeats,
        ]


def test_questions_without_an_answer_are_counted_apart() -> None:
    assert texts(table(cases.two_runs(), "negatives")) == [
        ["bm25 단어", "2", "0", "0.0 %", "4.0"],
        ["гибрид (RRF)", "2", "0", "0.0 %", "4.0"],
    ]


def test_parameters_stand_side_by_side() -> None:
    report = cases.two_runs()
    assert texts(table(report, "parameters")) == [
        ["chunk_size", "500", "256"],
        ["overlap", "50", ""],
        ["model", "", "다국어-v2"],
        ["rerank", "", "true"],
    ]
    assert texts(table(report, "recorded")) == [
        ["k", "", "5"],
        ["retriever", "", "search:make"],
        ["versions.krag_eval", "", "0.1.0"],
        ["versions.python", "", "3.11.9"],
    ]


def test_latencies_are_those_of_the_calls_that_gave_an_answer() -> None:
    report = cases.two_runs()
    latency = row(table(report, "latency"), "гибрид (RRF)")
    of_run = report.systems[1].run
    assert of_run is not None
    assert of_run.latency is not None
    assert (latency["n"], latency["p50"], latency["p95"], latency["failed"]) == (
        11,
        of_run.latency.p50,
        of_run.latency.p95,
        1,
    )


def test_a_parameter_of_any_type_is_shown() -> None:
    values = {"a": None, "b": [1, {"c": "한"}], "d": {"e": 1.5, "f": {}}, "g": float("nan"), "h": False, "i": 10**30}
    report = build_report(cases.evalset(), {"a": replace_parameters(cases.run("a", [1]), values)}, k=1)
    shown = table(report, "parameters")
    assert texts(shown) == [
        ["a", "-"],
        ["b", '[1, {"c": "한"}]'],
        ["d.e", "1.5"],
        ["d.f", "{}"],
        ["g", "nan"],
        ["h", "false"],
        ["i", str(10**30)],
    ]
    assert row(shown, "g")["value:a"] is None


def replace_parameters(run: Run, parameters: dict[str, Any]) -> Run:
    return replace(run, parameters=parameters)
