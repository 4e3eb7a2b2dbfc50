"""`krag-eval score-logs`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval_scale import score_logs
from tests.support.arrow_cases import SCHEMA
from tests.support.command_line import Runner
from tests.support.log_cases import WHOLE, write_logs, write_rows

LINE = "score-logs 'logs/*.parquet' --match id --k 5,10 --workers 2 --out per_query.parquet"


PROGRAM = [sys.executable, "-c", "from krag_eval_cli import main; main()"]


@pytest.fixture
def run(command: Runner) -> Runner:
    write_logs(Path("logs"))
    return command


def row(query_id: str) -> dict[str, Any]:
    return {"query_id": query_id, "actual": [{"id": "a"}], "predicted": [{"id": "a"}]}


def test_logs_are_scored_into_a_file_and_a_table(run: Runner) -> None:
    outcome = run(LINE)
    expected = score_logs("logs", "expected.parquet", k=(5, 10), match_method="id")
    assert (outcome.code, outcome.err.splitlines()) == (
        0,
        [
            f"{count} {side} documents without the id or text that the matching method reads."
            for side, count in zip(("gold", "retrieved"), expected.unmatchable.values(), strict=True)
        ],
    )
    lines = outcome.out.splitlines()
    assert lines[0].strip() == "per_query.parquet: 1,200 queries"
    assert lines[-1] == expected.signature
    cells = next(line.split() for line in lines if line.strip().startswith("recall "))
    assert cells[1:3] == [f"{expected['recall@5']:.4f}", f"{expected['recall@10']:.4f}"]
    assert pq.read_table("expected.parquet") == pq.read_table("per_query.parquet")


def test_the_result_is_printed_or_written_as_json(run: Runner) -> None:
    line = "score-logs logs -k 3 --metrics mrr,ndcg --workers 1 --out 1.parquet"
    printed = json.loads(run(f"{line} --json -").out)
    expected = score_logs("logs", "expected.parquet", k=3, metrics=["mrr", "ndcg"], match_method="id")
    assert printed == {"out": "1.parquet", **json.loads(expected.to_json())}
    outcome = run(f"{line} --force --json result.json")
    assert json.loads(Path("result.json").read_text()) == printed
    assert expected.signature in outcome.out


@pytest.mark.full
def test_intervals_are_shown_where_they_are_asked_for(run: Runner) -> None:
    plain = run("score-logs logs -k 3 --metrics recall --workers 1 --out 1.parquet")
    outcome = run("score-logs logs -k 3 --metrics recall --workers 1 --intervals --out 2.parquet")
    assert outcome.code == 0
    expected = score_logs("logs", "3.parquet", k=3, metrics="recall", intervals=True, match_method="id")
    low, high = (expected.intervals or {})["recall@3"] or (0, 0)
    assert [f"{low:.2f}-{high:.2f}"] in [line.split() for line in outcome.out.splitlines()]
    assert f"{low:.2f}-{high:.2f}" not in plain.out


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("score-logs none.parquet --out 1.parquet", "none.parquet: no such file."),
        ("score-logs logs --out logs/0.parquet", "logs/0.parquet: exists already. Give another path, or replace it "),
        ("score-logs logs --out 1.parquet --workers 0", "`--workers` must be"),
        ("score-logs logs --out 1.parquet --metrics recal", "Unknown metric 'recal'."),
        ("score-logs logs --out 1.parquet --match sound", "`--match` must be"),
        (
            "score-logs logs --out logs/0.parquet/1.parquet",
            "logs/0.parquet/1.parquet: cannot be written",
        ),
    ],
)
def test_a_mistake_ends_with_2_and_is_told_in_one_line(run: Runner, line: str, said: str) -> None:
    outcome = run(line)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.match(r"\w+Error: " + re.escape(said), outcome.err), outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_what_is_there_is_replaced_by_force_alone(run: Runner) -> None:
    Path("1.parquet").write_text("mine")
    outcome = run("score-logs logs --out 1.parquet")
    assert (outcome.code, Path("1.parquet").read_text()) == (2, "mine")
    assert outcome.err.endswith("Give another path, or replace it with --force.\n")
    assert run("score-logs logs --out 1.parquet --workers 1 --force").code == 0
    assert pq.read_table("1.parquet").num_rows == 1200


@pytest.mark.full
def test_queries_that_come_twice_are_refused_or_allowed_with_an_option(command: Runner) -> None:
    write_rows(Path("logs.parquet"), [row("q"), row("q")], SCHEMA)
    outcome = command("score-logs logs.parquet --out 1.parquet")
    assert outcome.code == 2
    assert outcome.err.endswith("or allow repeats with --allow-repeated-ids.\n")
    assert command("score-logs logs.parquet --out 1.parquet --allow-repeated-ids").code == 0


@pytest.mark.full
def test_progress_is_shown_on_a_terminal_alone(run: Runner) -> None:
    assert "1,200/1,200" not in run("score-logs logs --out 1.parquet --workers 1").err
    read_end, write_end = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "score-logs", "logs", "--out", "2.parquet", "--workers", "1"],
        stdout=subprocess.DEVNULL,
        stderr=write_end,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(write_end)
    shown = b""
    while True:
        try:
            part = os.read(read_end, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(read_end)
    assert process.wait() == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    assert re.search(r"2\.parquet .* 1200/1200 +[\d,]+\.\d/s +0 errors", text), text


@pytest.mark.full
def test_without_pyarrow_the_cure_is_told_and_other_commands_start(
    command: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow" or "log_scoring" in name]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("krag_eval_scale")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = command("score-logs logs --out 1.parquet")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "MissingDependencyError: `krag_eval_scale` needs the package 'pyarrow', which is not installed. "
        'Install it with: pip install "krag-eval[arrow]"\n'
    )
    start = "import sys; sys.modules['pyarrow'] = None; sys.argv = ['krag-eval', '--help']"
    line = [sys.executable, "-c", f"{start}; {PROGRAM[-1]}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "score-logs" in done.stdout


@pytest.mark.parametrize("has_parts", [True, False])
def test_an_interruption_says_what_stands_and_nothing_of_what_does_not(
    run: Runner, monkeypatch: pytest.MonkeyPatch, has_parts: bool
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        if has_parts:
            Path("out.parquet.parts").mkdir()
            Path("out.parquet.parts/000000.parquet").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("krag_eval_scale.score_logs", interrupted)
    outcome = run("score-logs logs --out out.parquet")
    stands = " The scores so far are in out.parquet.parts: rerun the same command to resume." if has_parts else ""
    assert (outcome.code, outcome.out, outcome.err) == (130, "", f"Stopped.{stands}\n")


def test_columns_are_kept_bad_rows_skipped_and_the_rest_scored_by_group(command: Runner) -> None:
    rows = [row(f"q{n}") | {"model": f"m{n % 2}", "day": 7} for n in range(6)]
    rows[3]["predicted"] = None
    write_rows(Path("logs.parquet"), rows)
    line = "score-logs logs.parquet --workers 1 -k 1 --metrics recall --keep model,day --by model --names safe"
    outcome = command(f"{line} --out 1.parquet")
    assert outcome.code == 2
    assert "`predicted` is null for query 'q3'" in outcome.err
    outcome = command(f"{line} --out 1.parquet --max-bad-rows 1")
    assert outcome.code == 0
    assert outcome.err.splitlines()[-2:] == [
        (
            "logs.parquet: row group 0, row 3: `predicted` is null for query 'q3'. Write an empty list where nothing "
            "was retrieved. The row is skipped."
        ),
        "1.parquet: 1 bad row skipped, and saved in 1.parquet.rejected.jsonl. Correct them in the logs.",
    ]
    assert outcome.out.splitlines()[0].strip() == "1.parquet: 5 queries, 1 bad row left out"
    assert ["m1", "2", "1.0000"] in [shown.split() for shown in outcome.out.splitlines()]
    written = pq.read_table("1.parquet")
    assert written.schema.names == ["query_id", "model", "day", "n_gold", "n_retrieved", "recall_at_1"]
    assert json.loads(Path("1.parquet.rejected.jsonl").read_text())["query_id"] == "q3"
    printed = json.loads(command(f"{line} --out 2.parquet --max-bad-rows 1 --keep all --json -").out)
    assert (printed["n_bad_rows"], [group["model"] for group in printed["groups"]]) == (1, ["m0", "m1"])
    assert pq.read_schema("2.parquet").names == written.schema.names


def write_groups(n_groups: int) -> None:
    groups = [n_groups - 1 - number % n_groups for number in range(WHOLE.num_rows)]
    pq.write_table(pa.Table.from_batches([WHOLE.append_column("group", pa.array(groups))]), "grouped.parquet")


@pytest.mark.full
def test_scores_by_group_are_printed_in_order(command: Runner) -> None:
    write_groups(40)
    out = command("score-logs grouped.parquet --match id -k 1,3 --workers 1 --by group --out 1.parquet").out
    lines = out.splitlines()
    title = lines.index("40 groups by group")
    assert lines[title + 1].split()[:4] == ["group", "queries", "hit_rate@3", "hit_rate_all@3"]
    groups = score_logs("grouped.parquet", "2.parquet", k=(1, 3), match_method="id", by="group").groups
    assert groups is not None
    for number, line in enumerate(lines[title + 2 : title + 32]):
        assert line.split()[:2] == [str(number), "30"]
        assert line.split()[-1] == f"{groups[number]['ndcg@3']:.4f}"
    assert lines[title + 32] == "... and 10 more groups: --json FILE writes all"


@pytest.mark.full
def test_scores_by_group_are_written_as_json(command: Runner) -> None:
    write_groups(40)
    line = "score-logs grouped.parquet --match id -k 3 --workers 1 --by group --intervals --metrics mrr --json -"
    printed = json.loads(command(f"{line} --out 1.parquet").out)
    groups = score_logs(
        "grouped.parquet", "2.parquet", k=3, match_method="id", by="group", metrics="mrr", intervals=True
    ).groups
    assert groups is not None
    assert printed["groups"] == groups.to_records()
    assert list(printed["groups"][0]) == ["group", "n_queries", "mrr@3", "mrr@3_low", "mrr@3_high"]


def test_columns_that_are_not_there_are_refused(run: Runner) -> None:
    outcome = run("score-logs logs --match id --by model --out 1.parquet")
    assert outcome.code == 2
    assert "logs/0.parquet: The input has no column 'model', which `--by` names." in outcome.err
    assert not list(Path().glob("1.parquet*"))
