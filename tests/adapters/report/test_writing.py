"""`write_report`: whole or not at all, never over a file that is there, and errors before any work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, compare, evaluate, evaluate_stream
from krag_eval_report import Report, write_report
from krag_eval_report.writers import FORMATS, check_target
from tests.support import table_cases as cases

GOLD = [["a"], ["b"]]


def refuse(report: Report) -> Iterator[str]:
    raise AssertionError("work was done")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "given", "begins"),
    [
        ("report.md", None, "# bm25"),
        ("보고서.MARKDOWN", None, "# bm25"),
        ("report.json", None, '{\n  "krag_eval"'),
        ("report.csv", None, "\ufeffsystem,"),
        ("report.html", None, "<!DOCTYPE html>"),
        ("report.htm", None, "<!DOCTYPE html>"),
        ("report.txt", "md", "# bm25"),
        ("report.html", "JSON", '{\n  "krag_eval"'),
        ("report", ".csv", "\ufeffsystem,"),
    ],
)
def test_the_ending_or_the_format_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: str | None, begins: str
) -> None:
    monkeypatch.setattr("krag_eval_report.html.page.figures_of", lambda report, speaker: [])  # drawing takes a second
    path = write_report(cases.two_runs(), tmp_path / name, format=given)
    assert path == tmp_path / name
    assert path.read_text(encoding="utf-8").startswith(begins)


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    assert write_report(cases.one_run(), f"{tmp_path}/a.md") == tmp_path / "a.md"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("report.txt", None, "has the unknown ending '.txt'. It must end with .html, .md, .json"),
        ("report", None, "has no ending. It must end with"),
        ("report.md", "pdf", "`format` 'pdf' is not a report format. Known formats: html, md, json, csv."),
        ("report.md", "htm", "Did you mean 'html'?"),
        ("missing/report.md", None, "its folder does not exist. Create the folder first"),
        ("there.md/report.md", None, "its folder is not a folder"),
        ("there.md", None, "already exists. Give another path, or replace it with force=True."),
        (".", "md", "is a folder. Give the path of a file in it, such as report.md."),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: str | None, message: str
) -> None:
    for key in FORMATS:
        monkeypatch.setitem(FORMATS, key, refuse)
    (tmp_path / "there.md").write_text("old", encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        write_report(cases.one_run(), tmp_path / name, format=given)
    assert message in str(caught.value)
    assert (tmp_path / "there.md").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["there.md"]


@pytest.mark.parametrize(("path", "message"), [("-", "`path` must be a file"), ("", "`path` is empty")])
def test_a_path_that_names_no_file_is_refused(path: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_target(path, "md")


def test_a_file_that_is_there_is_replaced_with_force(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old", encoding="utf-8")
    write_report(cases.one_run(), path, force=True)
    assert path.read_text(encoding="utf-8").startswith("# dense")


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    with pytest.raises(InvalidInputError, match=r"a\.md: cannot be written \(Permission denied\)"):
        write_report(cases.one_run(), tmp_path / "a.md")


def test_a_disk_that_is_full_is_told_and_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(report: Report) -> Iterator[str]:
        yield "new"
        raise OSError(28, "No space left on device")

    (tmp_path / "a.md").write_text("old", encoding="utf-8")
    monkeypatch.setitem(FORMATS, "md", full)
    with pytest.raises(InvalidInputError, match=r"cannot be written \(No space left on device\). Nothing was changed"):
        write_report(cases.one_run(), tmp_path / "a.md", force=True)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(report: Report) -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    (tmp_path / "a.md").write_text("old", encoding="utf-8")
    monkeypatch.setitem(FORMATS, "md", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(cases.one_run(), tmp_path / "a.md", force=True)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


KILLED = """
import os, signal, sys
from krag_eval import evaluate
from krag_eval_report import build_report, write_report
from krag_eval_report.writers import FORMATS

def killed(report):
    yield "new" * 100_000
    os.kill(os.getpid(), signal.SIGKILL)

FORMATS["md"] = killed
write_report(build_report({"a": evaluate([["a"]], [["a"]], k=1)}), sys.argv[1], force=True)
"""


@pytest.mark.full
def test_killed_in_the_middle_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old", encoding="utf-8")
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == "old"


def test_a_result_and_a_comparison_write_themselves(tmp_path: Path) -> None:
    one, two = evaluate(GOLD, GOLD, k=1), evaluate(GOLD, [["a"], ["x"]], k=1)
    assert one.report(tmp_path / "one.md", title="제목").read_text(encoding="utf-8").startswith("# 제목\n")
    text = compare({"one": one, "two": two}).report(tmp_path / "both.md").read_text(encoding="utf-8")
    assert "### two against one" in text
    with pytest.raises(InvalidInputError, match="already exists"):
        one.report(tmp_path / "one.md")
    one.report(tmp_path / "one.md", force=True)


def test_a_streamed_result_has_no_report(tmp_path: Path) -> None:
    streamed = evaluate_stream(iter([(["a"], ["a"])]), k=1)
    with pytest.raises(InvalidInputError, match="was streamed and kept no queries"):
        streamed.report(tmp_path / "a.md")
    assert not list(tmp_path.iterdir())
