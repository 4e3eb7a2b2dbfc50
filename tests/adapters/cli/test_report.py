"""`krag-eval report`: files in, a report out, and what was written is said."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from krag_eval import EvalSet, Run, RunRow
from krag_eval.datasets.reading import read_evalset, read_run, write_evalset, write_run
from krag_eval_cli.output import print_report
from krag_eval_report import build_report
from tests.support import table_cases as cases
from tests.support.cli_evaluate_cases import prepare
from tests.support.command_line import Outcome, Runner

SET, ONE, TWO = "faq.jsonl", "bm25.jsonl", "dense.jsonl"


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    write_evalset(cases.evalset(), SET)
    write_run(cases.run("bm25", [1, 3, None, 2], parameters={"chunk_size": 500}), ONE)
    write_run(cases.run("dense", [1, 1, 2, "TimeoutError: late"]), TWO)
    return command


def done(outcome: Outcome) -> str:
    assert outcome.code == 0, outcome.err
    return outcome.out


def refused(outcome: Outcome) -> str:
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    return outcome.err


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("ending", "begins"), [("html", "<!DOCTYPE"), ("md", "# bm25"), ("json", "{"), ("csv", "\ufeffsystem")]
)
def test_each_format_is_written_and_said(run: Runner, ending: str, begins: str) -> None:
    out = done(run(f"report {SET} {ONE} {TWO} --out report.{ending} --metrics recall,mrr -k 3"))
    written = Path(f"report.{ending}").read_bytes()
    assert written.startswith(begins.encode())
    assert out == f"Wrote report.{ending} ({len(written):,} bytes)\n"


def test_the_format_may_be_named(run: Runner) -> None:
    done(run(f"report {SET} {ONE} --out report.txt --format md"))
    assert Path("report.txt").read_text(encoding="utf-8").startswith("# bm25")


@pytest.mark.parametrize("target", [SET, ONE, f"../{{folder}}/{TWO}", "link.html"])
def test_what_is_read_is_never_replaced(run: Runner, target: str) -> None:
    Path("link.html").symlink_to(TWO)
    before = [Path(path).read_bytes() for path in (SET, ONE, TWO)]
    said = refused(run(f"report {SET} {ONE} {TWO} --force --format json --out {target.format(folder=Path.cwd().name)}"))
    assert "is one of the inputs and is never overwritten" in said
    assert [Path(path).read_bytes() for path in (SET, ONE, TWO)] == before


def test_a_format_without_a_file_is_refused_rather_than_ignored(run: Runner) -> None:
    said = refused(run(f"report {SET} {ONE} --format md"))
    assert said == (
        "InvalidInputError: `--format` 'md' needs a file to write: printed tables have no other format. "
        "Give `--out` too.\n"
    )


def test_without_a_file_the_tables_are_printed_at_80_columns(run: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    out = done(run(f"report {SET} {ONE} {TWO} --by type,language -k 1,3"))
    assert max(map(cell_len, out.split("\n"))) <= 80
    questions = read_evalset(SET)
    runs = {name: read_run(path, evalset=questions, name=name) for name, path in (("bm25", ONE), ("dense", TWO))}
    print_report(build_report(questions, runs, by=["type", "language"], k=(1, 3)))
    assert out == capsys.readouterr().out


def test_the_options_of_scoring_reach_the_numbers(run: Runner) -> None:
    line = "--match text,rouge1 --threshold rouge1=0.9 --precision-denominator k --gain linear --tokenizer characters"
    done(run(f"report {SET} {ONE} --out a.json {line} --raw-text -k 2,all --metrics recall,precision"))
    (system,) = json.loads(Path("a.json").read_text(encoding="utf-8"))["systems"]
    for part in ("match:text+rouge1>=0.9", "tok:characters", "norm:none", "pden:k", "gain:lin", "k:2,all"):
        assert part in system["signature"]
    assert set(system["metrics"]) == {
        f"{micro}{name}{at}" for micro in ("", "micro_") for name in ("recall", "precision") for at in ("@2", "")
    }


def test_documents_are_scored_by_the_chunks_of_them(run: Runner) -> None:
    done(run(f"report {SET} {ONE} --out a.json --level document -k 3"))
    (system,) = json.loads(Path("a.json").read_text(encoding="utf-8"))["systems"]
    assert "level:document" in system["signature"]


def test_the_baseline_the_title_and_the_seed_are_those_given(run: Runner) -> None:
    done(run(f"report {SET} {ONE} {TWO} --out a.json --baseline dense.jsonl --title '비교' --seed 7 -k 3"))
    document = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert document["title"] == "비교"
    assert [system["name"] for system in document["systems"]] == ["dense", "bm25"]
    assert (document["comparison"]["baseline"], document["comparison"]["seed"]) == ("dense", 7)


def test_warnings_stand_on_stderr_in_one_line_each_and_in_the_report(run: Runner) -> None:
    rows = Path(ONE).read_text(encoding="utf-8").split("\n")
    Path("short.jsonl").write_text("\n".join(rows[:6]), encoding="utf-8")
    outcome = run(f"report {SET} short.jsonl --out a.md")
    done(outcome)
    assert outcome.err.count("\n") == 1
    assert "have no row in any run" in outcome.err
    assert "\n> 7 of 12 questions" in Path("a.md").read_text(encoding="utf-8")


@pytest.mark.full
def test_pictures_are_written_into_a_folder(run: Runner) -> None:
    out = done(run(f"report {SET} {ONE} --out a.md --plots pictures -k 1,3 --metrics hit_rate"))
    written = [line.split(" (")[0].removeprefix("Wrote ") for line in out.splitlines()]
    assert written[-1] == "a.md"
    assert "pictures/hits.svg" in written
    assert all(Path(path).stat().st_size for path in written)
    assert "pictures: already contains hits.svg" in refused(
        run(f"report {SET} {ONE} --out b.md --plots pictures -k 1,3")
    )
    assert not Path("b.md").exists()


def test_a_file_that_is_there_stays_unless_force_is_given(run: Runner) -> None:
    Path("a.md").write_text("old", encoding="utf-8")
    line = f"report {SET} {ONE} --out a.md"
    assert refused(run(line)) == (
        "InvalidInputError: a.md: already exists. Give another path, or replace it with --force.\n"
    )
    assert Path("a.md").read_text(encoding="utf-8") == "old"
    done(run(f"{line} --force"))
    assert Path("a.md").read_text(encoding="utf-8").startswith("# bm25")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f"{SET} {ONE} --out a.pdf",
            "It must end with .html, .md, .json or .csv. Rename it, or give a `--format` of html, md",
        ),
        (f"{SET} {ONE} --out a.md --format docx", "`--format` 'docx' is not a report format."),
        (f"{SET} {ONE} --out missing/a.md", "its folder does not exist"),
        (f"{SET} {ONE} --out -", "`path` must be a file such as report.html, got '-'"),
        (f"{SET} {ONE} --match rougeX", "`--match` must be one of 'id'"),
        (f"{SET} {ONE} --by colour", "No question has 'colour'"),
        (f"{SET} {ONE} {TWO} --baseline bm", "`--baseline` 'bm' is none of the runs. Did you mean 'bm25'?"),
        (f"{SET} missing.jsonl", "missing.jsonl: cannot be read"),
        (f"missing.jsonl {ONE}", "missing.jsonl: cannot be read"),
        (f"{SET} {ONE} -k 0", "`--k` must be"),
        (f"{SET} {ONE} --threshold x", "`--threshold` must be a number"),
    ],
)
def test_a_mistake_is_told_in_one_line(run: Runner, line: str, message: str) -> None:
    assert message in refused(run(f"report {line}"))


def test_what_cannot_be_written_is_told_before_the_runs_are_read(run: Runner) -> None:
    assert "its folder does not exist" in refused(run("report no-set.jsonl no-run.jsonl --out missing/a.md"))


def test_runs_that_lack_rows_are_refused_or_taken_as_empty(run: Runner) -> None:
    rows = Path(TWO).read_text(encoding="utf-8").split("\n")
    Path("short.jsonl").write_text("\n".join(rows[:6]), encoding="utf-8")
    line = f"report {SET} {ONE} short.jsonl -k 3 --metrics recall"
    assert "--missing empty" in refused(run(line))
    done(run(f"{line} --missing empty"))


def test_two_files_of_one_name_are_told_apart(run: Runner) -> None:
    Path("other").mkdir()
    Path("other/bm25.jsonl").write_bytes(Path(TWO).read_bytes())
    done(run(f"report {SET} {ONE} other/bm25.jsonl --out a.json -k 3"))
    document = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert [system["name"] for system in document["systems"]] == ["bm25", "other/bm25"]


def shared_gold() -> None:
    """Ten questions that share two gold documents, and two runs of which each finds one of these."""
    rows = [{"id": f"q{i}", "question": f"{i}?", "gold": [{"id": "ab"[i % 2]}]} for i in range(40)]
    write_evalset(EvalSet(rows), "shared.jsonl")
    for name in "ab":
        made = [RunRow.from_dict({"query_id": row["id"], "retrieved": [{"id": name}]}) for row in rows]
        write_run(Run.of(name, made), f"{name}.jsonl")


def test_queries_that_share_gold_are_clustered_by_an_option_which_the_warning_names(run: Runner) -> None:
    shared_gold()
    told = run("report shared.jsonl a.jsonl b.jsonl --out apart.json")
    assert "--cluster gold" in told.err
    assert "cluster=" not in told.err + Path("apart.json").read_text(encoding="utf-8")
    quiet = run("report shared.jsonl a.jsonl b.jsonl --cluster id --out same.json")
    assert "--cluster" not in quiet.err
    done(run("report shared.jsonl a.jsonl b.jsonl --cluster gold --out joined.json"))
    apart, same, joined = (
        json.loads(Path(f"{name}.json").read_text(encoding="utf-8")) for name in ("apart", "same", "joined")
    )
    assert apart["comparison"]["rows"] == same["comparison"]["rows"]
    assert joined["comparison"]["rows"][0]["n_clusters"] == 2
    low, high = (report["systems"][0]["intervals"]["recall@10"] for report in (apart, joined))
    assert high[1] - high[0] > low[1] - low[0]


def test_each_step_of_a_report_is_reported() -> None:
    told: list[tuple[str, int, int]] = []
    evalset = cases.evalset()
    runs = {name: cases.run(name, [1, 2, None, 1]) for name in ("bm25", "dense")}
    build_report(evalset, runs, progress=lambda one: told.append((one.name, one.done, one.total)))
    assert told[0] == ("score", 0, 2)
    assert ("score", 2, 2) in told
    assert told[-1][1:] == (1, 1)


@pytest.mark.full
def test_a_terminal_shows_the_steps(run: Runner, tmp_path: Path) -> None:
    read_end, write_end = pty.openpty()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("krag-eval")), "report", SET, ONE, TWO, "--out", "steps.html"],
        stdout=subprocess.DEVNULL,
        stderr=write_end,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(write_end)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(read_end, 4096):
            shown += part
    os.close(read_end)
    assert process.wait() == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    for step in ("read the evaluation set", "read", "score", "causes", "write"):
        assert re.search(rf"{step} .*\d+/\d+ 0:00:\d\d", text), step
