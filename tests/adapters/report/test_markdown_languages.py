"""The report's Markdown in other languages: the same tables, and the English of the core as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, evaluate_ids
from krag_eval_report import write_report
from krag_eval_report.languages import languages
from krag_eval_report.writers import markdown
from tests.support import table_cases
from tests.support.command_line import Runner

OTHERS = [code for code in languages() if code != "en"]


@pytest.mark.parametrize("name", table_cases.REPORTS)
def test_the_english_of_the_package_is_that_of_the_core(name: str, tmp_path: Path) -> None:
    report = table_cases.REPORTS[name]()
    core = write_report(report, tmp_path / "core.md").read_text(encoding="utf-8")
    ours = "".join(markdown(report, "en"))
    if name != "hostile":  # whose names run from right to left
        assert ours.replace("10,000", "10000") == core.replace("10,000", "10000")


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_has_the_same_tables(code: str, tmp_path: Path) -> None:
    report = table_cases.two_runs()
    core = write_report(report, tmp_path / "core.md").read_text(encoding="utf-8").splitlines()
    ours = write_report(report, tmp_path / "ours.md", language=code).read_text(encoding="utf-8").splitlines()
    assert len(ours) == len(core)
    assert [line.count("|") for line in ours] == [line.count("|") for line in core]
    assert [line for line in ours if line.startswith("|--")] == [line for line in core if line.startswith("|--")]
    russian = [line for line in ours if line.startswith("| recall@5")]
    assert all(("0,7000" in line) == (code == "ru") for line in russian if "7000" in line)


def test_the_language_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    result = evaluate_ids([["a"]], [["a"]], k=1)
    for name, language in (("a.json", "ko"), ("a.csv", "ko"), ("a.md", "kr")):
        with pytest.raises(InvalidInputError, match="language"):
            result.report(tmp_path / name, language=language)
    assert list(tmp_path.iterdir()) == []
    assert "## 점수" in result.report(tmp_path / "a.md", language="ko").read_text(encoding="utf-8")


def test_the_command_writes_a_language(command: Runner, tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "retrieved": [{"id": "d1"}]}]
    (tmp_path / "set.jsonl").write_text(json.dumps({"id": "q1", "question": "?", "gold_chunk_ids": ["d1"]}) + "\n")
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("report set.jsonl run.jsonl --language ru --out a.md").code == 0
    assert "## Метрики" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert command("report set.jsonl run.jsonl --language zh --out a.html").code == 0
    assert '<html lang="zh" dir="ltr" data-chosen>' in (tmp_path / "a.html").read_text(encoding="utf-8")
    for wrong in ("--language ru", "--language kr --out b.md", "--language ru --out b.csv"):
        assert command(f"report set.jsonl run.jsonl {wrong}").code == 2
    assert not list(tmp_path.glob("b.*"))
