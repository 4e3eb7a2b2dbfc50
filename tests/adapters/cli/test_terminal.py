"""Tables in the terminal: never wider than it is, nothing cut, and no text steers it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from krag_eval._utils.formatting import one_line
from krag_eval.report import Report
from krag_eval.tables.model import Cell, Column, Table
from krag_eval_cli.output import print_report
from tests.support import table_cases as cases
from tests.support.report_reading import printed, tables_of


def whole(report: Report, width: int = 80) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, color_system=None, highlight=False))
    return out.getvalue()


@pytest.mark.full
@pytest.mark.parametrize("width", [40, 80, 133])
@pytest.mark.parametrize("name", cases.REPORTS)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_len, whole(cases.REPORTS[name](), width).split("\n"))) <= width


@pytest.mark.full
def test_long_names_are_folded_and_not_cut() -> None:
    text = whole(cases.many_runs())
    assert "…" not in text
    assert "아주 긴 이름을 가진 한국어" in text
    headings = "".join(character for character in printed(tables_of(cases.many_runs())[0]) if not character.isspace())
    for system in cases.many_runs().systems:
        for word in system.name.split():
            assert word in headings


def test_columns_line_up_where_names_are_wide() -> None:
    table = next(t for t in tables_of(cases.many_runs()) if t.key == "counts")
    lines = [line for line in printed(table).split("\n")[1:] if line]
    assert {cell_len(line) for line in lines} == {cell_len(lines[0])}


def test_many_systems_stand_in_groups_with_their_intervals_beside_them() -> None:
    panels = printed(tables_of(cases.many_runs())[0]).split("\n\n")
    assert len(panels) > 2
    for panel in panels:
        values = [line for line in panel.split("\n") if line.startswith("recall@3")]
        assert len(values) == 1
        assert values[0].count(" to ") >= 1


def test_what_all_rows_share_is_said_once_where_that_saves_a_table() -> None:
    columns = [Column("a", "a", is_number=False), *(Column(f"v{i}", f"system {i}", group=f"{i}") for i in range(2))]
    rows = tuple((Cell("r", f"r{i}"), Cell(1, "0" * 20), Cell(2, "1" * 20), Cell(7, "7")) for i in range(3))
    table = Table("t", None, (*columns, Column("n", "undefined")), rows)
    assert printed(table, 48).startswith("undefined: 7\n")
    assert "undefined: 7" not in printed(table, 80)


def test_words_are_folded_and_numbers_never() -> None:
    columns = (Column("a", "a", is_number=False), Column("n", "n"), Column("w", "w", is_number=False))
    table = Table("t", None, columns, ((Cell("r", "r"), Cell(1, "0.1234 to 0.5678"), Cell("w", "말 " * 60)),))
    text = printed(table, 60)
    assert "0.1234 to 0.5678" in text
    assert text.count("말") == 60


def test_a_column_wider_than_the_terminal_is_folded() -> None:
    columns = (Column("a", "a", is_number=False), Column("n", "n"))
    text = printed(Table("t", None, columns, ((Cell("r", "r"), Cell(1, "9" * 130)),)), 40)
    assert text.count("9") == 130
    assert max(map(len, text.split("\n"))) <= 40


def test_a_table_without_rows_shows_its_headings() -> None:
    assert "slice" in printed(Table("t", None, (Column("s", "slice", is_number=False), Column("n", "n")), ()))


def test_nothing_in_a_hostile_report_steers_the_terminal() -> None:
    text = whole(cases.hostile())
    steering = {c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"}
    assert not steering
    assert not any(unicodedata.bidirectional(c) in ("RLO", "LRO", "RLI") for c in text)
    assert "[link](http://evil.example)" in "".join(text.split("\n"))  # brackets are not rich's markup


@given(st.text())
def test_a_plain_text_is_one_line(text: str) -> None:
    assert one_line(text) == one_line(one_line(text))
    assert not any(unicodedata.category(c) == "Cc" for c in one_line(text))


def test_a_report_without_a_defined_value_says_so() -> None:
    assert "No query has a gold document, so no value is defined" in whole(cases.without_answers(), 200)


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_what_a_console_cannot_show_is_escaped(encoding: str, tmp_path: Path) -> None:
    question = {"id": "q1", "question": "환불은 언제?", "gold_chunk_ids": ["환불.pdf"]}
    (tmp_path / "set.jsonl").write_text(json.dumps(question, ensure_ascii=False) + "\n", encoding="utf-8")
    (tmp_path / "run.jsonl").write_text('{"query_id": "q1", "retrieved": ["ы.pdf"]}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "krag_eval", "diagnose", "set.jsonl", "run.jsonl", "-k", "1"],
        cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"\\ud658\\ubd88.pdf" in done.stdout
    assert b"Traceback" not in done.stderr
