"""What a spreadsheet would run as a formula is written as text, and read back as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvalSet, read_evalset, write_evalset
from krag_eval.datasets.formats.tables import guarded, unguarded

STARTS = ["=", "+", "-", "@", "\t=", "\r", " =", "\u200b@", "＝", "'=", "''+", "\n-"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_no_cell_begins_as_a_formula_does_and_all_are_read_back(name: str, tmp_path: Path) -> None:
    rows = [
        {"id": f"{start}q", "question": f"{start}HYPERLINK(A1)", "gold_chunk_ids": [f"{start}1+1"], "notes": "-5"}
        for start in STARTS
    ]
    evalset = EvalSet(rows)
    write_evalset(evalset, tmp_path / name)
    with (tmp_path / name).open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file, delimiter="\t" if name == "x.tsv" else ","))
    assert all(row[key].startswith("'") for row in cells for key in ("id", "question"))
    assert {row["notes"] for row in cells} == {"-5"}
    assert read_evalset(tmp_path / name) == evalset


@given(text=st.text("'=+-@ \t\ra1", max_size=6) | st.text())
def test_the_guard_comes_off_as_it_went_on(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert guarded(text)[:1] not in set("=@\t\r")
