"""CSV: one row a query and system, in full, and nothing in it is a formula."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import evaluate
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval.tables.sheets import neutralise
from krag_eval_report import Report, build_report, write_report
from krag_eval_report.writers import report_csv
from tests.support import table_cases as cases


def rows(report: Report) -> list[dict[str, str]]:
    text = "".join(report_csv(report))
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_there_is_a_row_for_each_system_and_query() -> None:
    given = rows(cases.two_runs())
    assert [(row["system"], row["id"]) for row in given] == [
        (name, question.id) for name in ("bm25 단어", "гибрид (RRF)") for question in cases.evalset()
    ]
    first = given[0]
    assert (first["index"], first["question"], first["type"], first["language"]) == (
        "0",
        "배송은 며칠 걸리나요?",
        "literal",
        "ko",
    )
    assert (first["n_gold"], first["n_retrieved"], first["causes"], first["error"]) == ("1", "5", "", "")


def test_every_value_is_there_in_full_and_an_undefined_one_is_empty() -> None:
    report = cases.two_runs()
    given = iter(rows(report))
    for system in report.systems:
        for query in system.result.per_query:
            row = next(given)
            for key, value in query.values.items():
                assert row[key] == ("" if value is None else repr(value))
    assert next(given, None) is None


def test_causes_and_errors_stand_beside_the_query() -> None:
    failed = rows(cases.two_runs())[12 + 7]
    assert (failed["error"], failed["causes"]) == ("TimeoutError: 30 с", "retriever_error")
    assert rows(cases.two_runs())[4]["causes"] == "never_retrieved"


def test_several_values_of_a_field_stand_in_one_cell() -> None:
    questions = cases.evalset(
        [{"id": i, "question": "?", "gold": [{"id": "g"}], "metadata": {"tags": ["a", "b"][: i + 1]}} for i in range(3)]
    )
    report = build_report(questions, {"a": cases.run("a", [1], questions)}, k=1, by="tags")
    assert [row["tags"] for row in rows(report)] == ["a", "a; b", "a; b"]


def test_a_field_with_the_name_of_another_column_hides_nothing() -> None:
    metadata = {"system": "S", "n_gold": 7, "recall@1": "good", "slice system": "other"}
    questions = cases.evalset([{"id": 1, "question": "?", "gold": [{"id": "g"}], "metadata": metadata}])
    report = build_report(questions, {"a": cases.run("a", [1], questions)}, k=1, by=list(metadata))
    heading = next(iter(csv.reader(io.StringIO("".join(report_csv(report)).removeprefix("\ufeff"), newline=""))))
    assert len(set(heading)) == len(heading)
    (row,) = rows(report)
    assert (row["system"], row["n_gold"], row["recall@1"]) == ("a", "1", "1.0")
    assert [row[f"slice {field}"] for field in ("system", "n_gold", "recall@1")] == ["S", "7", "good"]
    assert row["slice slice system"] == "other"


@pytest.mark.parametrize("first", ["a", "="])
def test_a_text_that_no_cell_holds_is_cut(first: str) -> None:
    question = first + "질" * 200_000
    given = rows(build_report({"a": evaluate([["g"]], [["g"]], queries=[question], k=1)}))
    expected = ("'" if first == "=" else "") + question
    assert given[0]["question"] == expected[:32_766] + "…"
    assert given[0]["recall@1"] == "1.0"


def test_pandas_and_excel_read_it(tmp_path: Path) -> None:
    path = write_report(cases.two_runs(), tmp_path / "report.csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbfsystem,index,")  # the mark by which Excel knows UTF-8
    frame = pd.read_csv(path)
    assert list(frame.columns[:4]) == ["system", "index", "id", "question"]
    assert frame["recall@5"].dtype == "float64"
    assert [math.isnan(value) for value in frame["recall@5"]].count(True) == 4


@pytest.mark.parametrize(
    "text",
    [
        "=1",
        "+1",
        "-1",
        "@A",
        "\t1",
        "\r1",
        "\n1",
        " =1",
        "\u00a0=1",
        "\u200b=1",
        "\ufeff=1",
        "\0=1",
        "＝1",
        "＠A",
        "  \t-2",
    ],
)
def test_what_a_spreadsheet_takes_for_a_formula_gets_a_quote(text: str) -> None:
    assert neutralise(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "'=1", "ko-1", "질문", "a@b", "(=1)"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == text


def test_a_number_below_zero_stays_a_number() -> None:

    def loss(judged: Judgments, k: object) -> FloatArray:
        return np.array([-0.25, 1.0])

    gold = [["a"], ["b"]]
    result = evaluate(gold, gold, k=1, metrics=[loss])
    assert [row["loss@1"] for row in rows(build_report({"x": result}))] == ["-0.25", "1.0"]


def test_no_cell_of_a_hostile_report_is_a_formula_and_all_text_is_there() -> None:
    report = cases.hostile()
    text = "".join(report_csv(report)).removeprefix("\ufeff")
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert not cell.lstrip().startswith(tuple("=+-@＝＋－＠"))
            assert not cell.startswith(("\t", "\r", "\n"))
    assert [row["question"].removeprefix("'") for row in rows(report)][: len(cases.ATTACKS)] == [
        attack.removeprefix("'") for attack in cases.ATTACKS
    ]


@given(st.text())
def test_a_text_is_the_same_but_for_the_quote(text: str) -> None:
    assert neutralise(text) in (text, f"'{text}")
    assert not neutralise(text).lstrip().startswith(("=", "+", "-", "@"))
