"""JSON: everything by name, in full, and never a NaN."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import __version__, evaluate
from krag_eval_report import build_report
from krag_eval_report.writers import json_lines
from tests.support import table_cases as cases
from tests.support.report_reading import json_document


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", cases.REPORTS)
def test_every_report_is_valid_json_without_nan(name: str) -> None:
    report = cases.REPORTS[name]()
    document = json_document(report)
    assert document["krag_eval"] == __version__
    assert document["title"] == report.title
    assert len(document["queries"]) == document["n_queries"] == report.n_queries


def test_the_set_and_the_systems_are_named() -> None:
    report = cases.two_runs()
    document = json_document(report)
    assert report.evalset is not None
    assert document["evalset"] == {"name": "가게 FAQ", "fingerprint": report.evalset.fingerprint}
    one, two = document["systems"]
    assert (one["name"], two["name"], two["n_errors"]) == ("bm25 단어", "гибрид (RRF)", 1)
    assert one["signature"] == report.systems[0].result.signature
    assert one["metrics"] == report.systems[0].result.to_dict()
    assert one["undefined"] == report.systems[0].result.undefined
    assert one["parameters"] == {"chunk_size": 500, "overlap": 50}
    assert two["recorded"]["versions"] == {"krag_eval": "0.1.0", "python": "3.11.9"}
    assert report.systems[1].run is not None
    assert report.systems[1].run.latency is not None
    assert two["latency"] == report.systems[1].run.latency.to_dict()
    assert one["causes"]["counts"] == report.systems[0].diagnosis.counts
    assert one["no_answer"] == {"n_queries": 2, "empty_share": 0.0, "mean_retrieved": 4.0}


def test_the_comparison_is_that_of_to_dict() -> None:
    report = cases.two_runs()
    assert report.comparison is not None
    assert json_document(report)["comparison"]["rows"] == report.comparison.to_dict()["rows"]
    assert json_document(cases.one_run())["comparison"] is None


def test_a_query_says_what_became_of_its_gold_documents() -> None:
    first, second, *_, last = json_document(cases.two_runs())["queries"]
    assert (first["id"], first["question"], first["slices"]) == (
        "ko-1",
        "배송은 며칠 걸리나요?",
        {"type": ["literal"], "language": ["ko"]},
    )
    one = second["systems"]["bm25 단어"]
    assert one["gold"] == [{"id": "ko-2#1", "cause": "found", "rank": 3}]
    assert one["retrieved"] == ["other-0", "other-1", "ko-2#1", "other-2", "other-3"]
    assert one["values"]["mrr@3"] == 1 / 3
    assert one["values"]["mrr@1"] == 0
    assert one["causes"] == []
    assert last["n_gold"] == 0
    assert set(last["systems"]["bm25 단어"]["values"].values()) == {None}


def test_gold_documents_of_grade_0_and_repeats_are_told_apart() -> None:
    gold = [{"id": "a"}, {"id": "b", "grade": 0}, {"id": "a"}, {"id": "c"}]
    questions = cases.evalset([{"id": "q", "question": "?", "gold": gold}])
    report = build_report(questions, {"x": cases.run("x", [2], questions)}, k=1)
    (query,) = json_document(report)["queries"]
    assert query["systems"]["x"]["gold"] == [
        {"id": "a", "cause": "ranked_below_k", "rank": 2},
        {"id": "b", "cause": None, "rank": None},
        {"id": "a", "cause": "ranked_below_k", "rank": 2},
        {"id": "c", "cause": "never_retrieved", "rank": None},
    ]
    assert query["systems"]["x"]["causes"] == ["ranked_below_k", "never_retrieved"]


def test_ids_alone_are_enough() -> None:
    query = json_document(cases.ids_only())["queries"][1]
    assert query["systems"]["ids"]["gold"] == [{"id": "g1", "cause": "found", "rank": 2}]
    assert query["question"] is None


def test_documents_without_an_id_have_none() -> None:
    report = build_report({"a": evaluate([["x y"]], [["x y", "z"]], k=1, queries=["?"])})
    (query,) = json_document(report)["queries"]
    assert query["systems"]["a"]["retrieved"] == [None, None]
    assert query["question"] == "?"


def test_what_json_cannot_hold_becomes_none_or_text() -> None:
    values: dict[str, Any] = {"a": float("inf"), "b": {1: {2}}, "c": [float("nan"), None], "d": "\ud800"}
    report = build_report(cases.evalset(), {"a": cases.run("a", [1], parameters=values)}, k=1)
    (system,) = json_document(report)["systems"]
    assert system["parameters"] == {"a": None, "b": {"1": "{2}"}, "c": [None, None], "d": "\ud800"}
    "".join(json_lines(report)).encode("utf-8")


def test_one_query_takes_one_line() -> None:
    lines = "".join(json_lines(cases.two_runs())).split("\n")
    assert len([line for line in lines if line.startswith('    {"index": ')]) == 12
