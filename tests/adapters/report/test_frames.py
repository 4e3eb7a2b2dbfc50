"""Results as frames of polars, as Arrow streams, and as tables of LaTeX."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from krag_eval import MissingDependencyError, compare, diagnose, evaluate
from krag_eval_report import leaderboard
from tests.support.marks import nothing_may_match

GOLD = [[f"g{n}"] for n in range(40)]
HALF = evaluate([*GOLD, []], [*([f"g{n}" if n % 2 else "x"] for n in range(40)), []], k=[1, 2], metrics="recall")
ALL = evaluate([*GOLD, []], [*GOLD, []], k=[1, 2], metrics="recall")
COMPARED = compare({"half_1": HALF, "all": ALL}, keys=["recall@1"])
TABLES = {"result": HALF, "comparison": COMPARED, "diagnosis": diagnose(HALF), "board": leaderboard({"h": HALF})}


@pytest.mark.parametrize("name", TABLES)
def test_polars_and_arrow_have_the_rows_of_pandas(name: str) -> None:
    table: Any = TABLES[name]
    expected = table.to_pandas().reset_index(drop=table.to_pandas().index.name is None)
    frame = table.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.equals(pl.DataFrame(pa.table(table)))
    of_polars = pd.DataFrame(frame.to_dicts(), columns=frame.columns)
    pd.testing.assert_frame_equal(of_polars, expected, check_dtype=False, check_index_type=False)


@nothing_may_match
def test_a_column_of_values_is_a_column_of_doubles_even_if_all_are_undefined() -> None:
    schema = evaluate([[]], [["a"]], k=1, metrics="recall").to_polars().schema
    assert schema["recall@1"] == pl.Float64
    assert compare({"a": HALF, "b": HALF}).to_polars().schema["run_deviation"] == pl.Float64


def test_a_lone_surrogate_is_escaped() -> None:
    assert evaluate([["a"]], [["a"]], k=1, query_ids=["q\ud800"]).to_polars()["id"].to_list() == ["q\\ud800"]


def test_without_a_row_there_is_no_column() -> None:
    assert diagnose(ALL).to_polars().shape == (0, 0)


@pytest.mark.parametrize(
    ("missing", "cure"), [("polars", 'pip install "polars"'), ("pyarrow", 'pip install "krag-eval[arrow]"')]
)
def test_a_missing_package_is_named_with_its_cure(missing: str, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError) as caught:
        HALF.to_polars()
    assert str(caught.value).endswith(cure)


def test_latex_of_a_result_has_a_row_per_metric() -> None:
    assert HALF.to_latex().splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"metric & @1 & @2 \\",
        r"\midrule",
        r"recall & 0.5000 & 0.5000 \\",
        r"micro\_recall & 0.5000 & 0.5000 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_of_a_comparison_marks_the_best_and_the_significant() -> None:
    first, *lines = COMPARED.to_latex().splitlines()
    assert first.startswith("% 95 % intervals from")
    assert lines[4:6] == [r"half\_1 & 0.5000 \\", r"all & \textbf{1.0000}$^{*}$ \\"]
    same = compare({"a": HALF, "b": HALF}, keys=["recall@1"]).to_latex()
    assert "textbf" not in same
    assert "^" not in same


def test_latex_of_all_pairs_has_letters() -> None:
    found = compare({"half": HALF, "all": ALL, "again": ALL}, keys=["recall@1"], baseline=None).to_latex()
    assert found.splitlines()[5:8] == [
        r"half & 0.5000$^{b}$ \\",
        r"all & \textbf{1.0000}$^{a}$ \\",
        r"again & \textbf{1.0000}$^{a}$ \\",
    ]
