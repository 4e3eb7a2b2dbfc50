"""A comparison as text, and `krag-eval compare`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, Run, RunRow, read_run, write_evalset, write_run
from krag_eval._utils.formatting import display_width, shorten
from krag_eval.analysis.comparison import compare
from krag_eval.analysis.comparison.text import headline, remark
from krag_eval_cli import main
from krag_eval_cli.output import _Console

SCRIPT = Path(sys.executable).with_name("krag-eval")
SET = EvalSet(
    {"id": f"q{i}", "gold_chunk_ids": [f"g{i}"], "type": ("fact", "부정")[i % 2], "metadata": {"language": "ko"}}
    for i in range(40)
)


def run(name: str, found: range) -> Run:
    rows = [
        {"query_id": f"q{i}", "retrieved": [{"id": f"x{i}"}, {"id": f"g{i}" if i in found else f"y{i}"}]}
        for i in range(40)
    ]
    return Run.of(name, map(RunRow.from_dict, rows))


RUNS = {"bm25": run("bm25", range(40)), "broken": run("broken", range(0, 40, 2))}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "name", ["b", "하이브리드 검색기", "a very long name of a retriever with all of its settings " * 3]
)
def test_the_text_fits_into_80_columns(name: str) -> None:
    long_type = EvalSet(
        [{**q.to_dict(), "type": f"{q.type} 그리고 그 밖의 아주 긴 이름을 가진 유형 하나"} for q in SET]
    )
    comparison = compare(
        long_type, {"bm25": RUNS["bm25"], name: RUNS["broken"]}, k=(1, 5), metrics=None, by=["type", "language"]
    )
    *lines, signature = str(comparison).splitlines()
    assert max(map(display_width, lines)) <= 80
    assert signature == comparison.signature
    assert "hit_rate_all@5" in str(comparison)


def test_a_name_of_several_lines_stays_on_one() -> None:
    comparison = compare(SET, {"bm25": RUNS["bm25"], "two\nlines": RUNS["broken"]}, k=2)
    assert str(comparison).startswith("two lines against bm25: 40 queries\n")


def test_a_text_too_long_loses_its_middle() -> None:
    assert shorten("precision@2000tok", 12) == "precis…00tok"
    assert shorten("recall@5", 8) == "recall@5"
    assert [display_width(shorten("아주 긴 이름", width)) <= width for width in range(1, 13)] == [True] * 12


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    write_evalset(SET, tmp_path / "set.jsonl")
    for name, each in RUNS.items():
        write_run(each, tmp_path / f"{name}.jsonl")
    return [str(tmp_path / f"{name}.jsonl") for name in ("set", *RUNS)]


def krag_eval(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["krag-eval", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_the_command_prints_what_compare_returns(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert krag_eval(["compare", *files, "--baseline", "bm25", "--k", "2"], monkeypatch) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{compare(SET, RUNS, k=2)}\n", "")
    assert "worse: recall@2, mrr@2, ndcg@2" in out
    assert "surely worse: type = 부정 (20 queries)" in out


@pytest.mark.full
def test_the_baseline_may_be_named_by_its_file(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for baseline in ("broken", "broken.jsonl", files[2]):
        assert krag_eval(["compare", *files, "--baseline", baseline, "--k", "2"], monkeypatch) == 0
        assert "bm25 against broken: 40 queries" in capsys.readouterr().out


def test_every_option_reaches_the_library(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"margin": 0.3, "confidence": 0.9, "n_bootstrap": 200, "n_randomisation": 300, "seed": 4}
    options |= {"precision_denominator": "k", "gain": "linear"}
    flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    rest = ["--k", "1,2", "--metrics", "recall,rbp(p=0.5)", "--by", "language,type", "--json", "-"]
    assert krag_eval(["compare", *files, *flags, *rest], monkeypatch) == 0
    expected = compare(SET, RUNS, k=(1, 2), metrics=["recall", "rbp(p=0.5)"], by=["language", "type"], **options)
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())


def test_json_goes_into_a_file_beside_the_tables(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert krag_eval(["compare", *files, "--metrics", "all", "--k", "2", "--json", str(out)], monkeypatch) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["systems"] == ["broken"]
    assert "hit_rate_all@2" in capsys.readouterr().out


def test_markdown_is_printed_or_written(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = compare(SET, RUNS, k=2).to_markdown()
    out, json_out = tmp_path / "out.md", tmp_path / "out.json"
    assert krag_eval(["compare", *files, "--k", "2", "--json", "-", "--markdown", str(out)], monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == ["broken"]
    assert out.read_text(encoding="utf-8") == text
    assert krag_eval(["compare", *files, "--k", "2", "--json", str(json_out), "--markdown", "-"], monkeypatch) == 0
    assert capsys.readouterr().out == text
    assert json_out.exists()
    first = text.splitlines()[0]
    assert first == "### Retrieval: `broken` is worse than `bm25` in recall@2, mrr@2, ndcg@2"
    assert "| `type = 부정`, 20 questions: " in text


def test_two_equal_runs_do_not_differ() -> None:
    same = compare(SET, {"a": RUNS["bm25"], "b": RUNS["bm25"]}, k=2)
    assert headline(same).startswith("no query differs in ")
    assert "<details>" not in same.to_markdown()
    assert "surely worse" not in same.to_markdown()
    pairs = compare(SET, {**RUNS, "again": RUNS["broken"]}, k=2, baseline=None)
    assert headline(pairs).startswith("`broken` is worse than `bm25` in recall@2, mrr@2, ndcg@2; `again` is worse than")


def test_warnings_go_to_stderr_with_the_name_of_the_run(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(run("nothing", range(0)), tmp_path / "nothing.jsonl")
    assert krag_eval(["compare", *files, str(tmp_path / "nothing.jsonl"), "--k", "2"], monkeypatch) == 0
    assert capsys.readouterr().err.startswith("nothing: Not one id matches.")


@pytest.mark.full
def test_runs_that_lack_rows_are_refused_or_taken_as_empty(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.jsonl"
    write_run(Run.of("short", list(RUNS["broken"].rows.values())[:-3]), short)
    assert len(read_run(short)) == 37
    arguments = ["compare", *files[:2], str(short), "--k", "2"]
    assert krag_eval(arguments, monkeypatch) == 2
    assert "The run 'short' has no row for 3 of 40 questions" in capsys.readouterr().err
    assert krag_eval([*arguments, "--missing", "empty"], monkeypatch) == 0


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "bm52"], "`--baseline` 'bm52' is none of the runs. Did you mean 'bm25'?"),
        (["--by", "langauge"], "No question has 'langauge', so there is nothing to slice by. Did you mean 'language'?"),
        (["--confidence", "95"], "`--confidence` must be a number between 0 and 1"),
        (["--missing", "skip"], "`--missing` must be one of 'refuse', 'empty'"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(
    files: list[str],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert krag_eval(["compare", *files, *arguments], monkeypatch) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.full
def test_the_installed_command_runs(files: list[str]) -> None:
    done = subprocess.run(
        [SCRIPT, "compare", *files, "--k", "2"], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert "broken against bm25: 40 queries" in done.stdout
    assert max(map(display_width, done.stdout.splitlines())) <= 80


def test_several_systems_are_one_table_with_the_numbers_of_compare(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    more = {name: run(name, range(number)) for name, number in (("c", 10), ("d", 30), ("e", 39))}
    for name, each in more.items():
        write_run(each, tmp_path / f"{name}.jsonl")
    paths = [*files, *(str(tmp_path / f"{name}.jsonl") for name in more)]
    assert krag_eval(["compare", *paths, "--k", "2", "--by", "type"], monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    found = compare(SET, RUNS | more, k=2, by="type")
    (head,) = [number for number, line in enumerate(lines) if re.match(r"system +metric ", line)]
    table = [line.split() for line in lines[head + 1 : lines.index("", head)]]
    by_row = {(cells[0], cells[1]): cells for cells in table}
    assert len(table) == len(by_row) == 5 * 3
    for row in found.rows:
        cells = by_row[row.system, row.key]
        assert cells[2:4] == [f"{row.mean:.3f}", f"{row.difference:+.3f}"]
        assert cells[-1] == {"better": "better", "worse": "worse", "same": "same", "unresolved": "unclear"}[row.outcome]
    assert by_row["bm25", "recall@2"][-1] == "baseline"
    text, remarks = " ".join(" ".join(lines).split()), [(row, remark(row)) for row in found.rows]
    assert any(said for _, said in remarks)
    assert all(re.search(rf"{row.key} \w+ \({re.escape(said)}\)", text) for row, said in remarks if said)
    assert max(map(display_width, lines)) <= 80
    assert sum(line.startswith("system ") for line in lines) == 2  # the runs, and the slices by type


def test_a_terminal_gets_its_width_and_colours(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("krag_eval_cli.output.console", lambda: _Console(width=130, force_terminal=True))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert krag_eval(["compare", *files, "--k", "2"], monkeypatch) == 0
    out = capsys.readouterr().out
    assert "\x1b[31mworse" in out
    assert 80 < max(display_width(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines()) <= 130
