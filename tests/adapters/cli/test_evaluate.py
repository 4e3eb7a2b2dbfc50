"""`krag-eval evaluate`: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from krag_eval import __version__, evaluate, read_evalset, run_retriever, write_evalset
from tests.support.cli_evaluate_cases import GOLDEN, QUESTIONS, ROWS, jsonl, prepare, scores, unpadded
from tests.support.command_line import Outcome, Runner

SCRIPT = Path(sys.executable).with_name("krag-eval")


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    return command


def in_a_process(*command: str | Path, **environment: str) -> Outcome:
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.full
@pytest.mark.parametrize("columns", ["30", "300"])
def test_in_a_pipe_the_table_has_80_columns_and_the_signature_is_one_line(run: Runner, columns: str) -> None:
    outcome = in_a_process(SCRIPT, "evaluate", "set.jsonl", "run.jsonl", "--k", "1,3", COLUMNS=columns)
    assert outcome._replace(out=unpadded(outcome.out)) == (0, GOLDEN, "")


def test_a_signature_of_more_than_80_characters_is_not_broken(run: Runner) -> None:
    line = "set.jsonl run.jsonl --match id,text,containment,rougeL"
    signature = scores(run, line)["run"]["signature"]
    assert len(signature) > 80
    assert run(f"evaluate {line}").out.rstrip().splitlines()[-1] == signature


def test_intervals_stand_below_the_values(run: Runner) -> None:
    lines = run("evaluate set.jsonl run.jsonl --k 1,3 --metrics mrr,recall --intervals").out.splitlines()
    assert lines[2].split() == ["mrr", "0.5000", "0.7500", "2"]
    intervals = (
        evaluate(
            [q["gold"] for q in QUESTIONS], [r["retrieved"] for r in ROWS], k=(1, 3), match_method="id", intervals=True
        ).intervals
        or {}
    )
    ends = [intervals[key] or (0, 0) for key in ("mrr@1", "mrr@3")]
    assert lines[3].split() == [f"{low:.2f}-{high:.2f}" for low, high in ends]


def test_questions_without_gold_chunks_are_named_below_the_table(run: Runner) -> None:
    Path("levels.jsonl").write_bytes(jsonl([{"id": "q1", "gold": [{"id": "b"}]}, {"id": "q2", "gold_doc_ids": ["B"]}]))
    Path("rows.jsonl").write_bytes(jsonl(ROWS[:2]))
    outcome = run("evaluate levels.jsonl rows.jsonl")
    assert "1 question with gold at the other level only (chunk or document)" in outcome.out
    assert "without gold documents" not in outcome.out


def test_runs_whose_files_have_one_name_are_told_apart_by_their_folders(run: Runner) -> None:
    for name in ("old/bm25.v1", "new/bm25.v1"):
        Path(name).mkdir(parents=True)
        Path(name, "run.jsonl").write_bytes(Path("run.jsonl").read_bytes())
    Path("new/bm25.v1/other.jsonl").write_bytes(Path("run.jsonl").read_bytes())
    files = "old/bm25.v1/run.jsonl new/bm25.v1/run.jsonl new/bm25.v1/other.jsonl new/bm25.v1/other.jsonl"
    outcome = run(f"evaluate set.jsonl {files} --json out.json")
    assert outcome.code == 0
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert list(written["runs"]) == ["old/bm25.v1/run", "new/bm25.v1/run", "other", "other#2"]


def test_several_runs_are_one_table_and_json_and_rows_go_to_files(run: Runner) -> None:
    Path("best.jsonl").write_bytes(jsonl([{"query_id": "q1", "retrieved": QUESTIONS[0]["gold"]}, *ROWS[1:]]))
    outcome = run("evaluate set.jsonl run.jsonl best.jsonl -k 1,3 --json out.json --per-query rows.jsonl")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("hit_rate@1") == 1
    assert [line.split()[0] for line in outcome.out.splitlines() if line.startswith(("run  ", "best  "))][:3] == [
        "run",
        "run",
        "best",
    ]
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert written["evalset"] == "set.jsonl"
    assert {name: part["metrics"]["recall@3"] for name, part in written["runs"].items()} == {"run": 0.75, "best": 1}
    assert written["runs"]["run"]["undefined"]["recall@3"] == 2
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["run"], row["id"]) for row in rows] == [(r, q["id"]) for r in ("run", "best") for q in QUESTIONS]
    assert (rows[1]["query"], rows[1]["mrr@1"], rows[0]["mrr@1"], rows[0]["mrr@3"]) == ("왜?", 1, 0, 1 / 2)
    assert (rows[2]["n_gold"], rows[2]["n_retrieved"], rows[2]["recall@1"]) == (0, 1, None)


TABLE = f"""\
2 runs, 4 queries, values at 3
run      mrr   recall
run   0.7500   0.7500
best  0.7500  *1.0000
* the best value of its column; others may be as good
run: 2 questions without gold documents, undefined above: 50% came back empty,
0.5 documents on average.
run: 1 of 2 queries misses gold documents within rank 3.
best: 2 questions without gold documents, undefined above: 50% came back empty,
0.5 documents on average.
--failed lists them, and `krag-eval diagnose` counts the causes.
match:id|repeat:once|pden:retrieved|gain:exp|hit:partial|k:3|v:{__version__}
"""


def two_runs() -> None:
    better = [{"id": "b"}, {"id": "x"}, {"id": "a"}]
    Path("best.jsonl").write_bytes(
        jsonl([{"query_id": "q1", "retrieved": better}, ROWS[1] | {"retrieved": [{"id": "y"}, {"id": "c"}]}, *ROWS[2:]])
    )


def test_the_table_of_several_runs_has_a_row_for_each_and_marks_the_best(run: Runner) -> None:
    two_runs()
    outcome = run("evaluate set.jsonl run.jsonl best.jsonl -k 3 --metrics mrr,recall")
    assert outcome._replace(out=unpadded(outcome.out)) == (0, TABLE, "")


def test_without_further_wishes_the_table_has_each_metric_at_its_largest_cut_off(run: Runner) -> None:
    two_runs()
    lines = run("evaluate set.jsonl run.jsonl best.jsonl").out.splitlines()
    assert lines[0] == "2 runs, 4 queries, values at 10"
    assert lines[1].split() == ["run", "hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg"]
    assert "Choose other columns with --k and --metrics; --json has all values." in lines
    wished = run("evaluate set.jsonl run.jsonl best.jsonl --metrics mrr").out.splitlines()
    assert wished[1].split() == ["run", "mrr@1", "mrr@3", "mrr@5", "mrr@10"]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("markdown", "| run | recall@1 |\n|---|---:|\n| run | 0.5000 |\n| best | 0.2500 |\n"),
        ("latex", "\\begin{tabular}{lr}\n\\toprule\nrun & recall@1 \\\\\n\\midrule\n"),
        ("csv", "run,recall@1\n"),
    ],
)
def test_the_table_is_printed_for_other_programs_too(run: Runner, name: str, start: str) -> None:
    two_runs()
    outcome = run(f"evaluate set.jsonl run.jsonl best.jsonl -k 1 --metrics recall --format {name}")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.replace("\r\n", "\n").replace("**", "").startswith(start)
    assert run(f"evaluate set.jsonl run.jsonl -k 1 --metrics recall --format {name}").out != ""


def test_runs_with_intervals_have_them_in_columns_of_their_own(run: Runner) -> None:
    two_runs()
    out = run("evaluate set.jsonl run.jsonl best.jsonl -k 1 --metrics recall --intervals --format markdown").out
    assert out.startswith("| run | recall@1 | interval |\n")


def test_failed_questions_are_listed_with_what_was_retrieved_instead(run: Runner) -> None:
    out = unpadded(run("evaluate set.jsonl run.jsonl -k 3 --failed --metrics recall").out)
    assert "--failed lists them" not in out
    assert out.endswith(
        "\n\nrun: 1 of 2 queries misses gold documents within rank 3\n"
        "q1: Wie?\n"
        "  recall@3 0.5000, first hit at rank 2\n"
        "  missed     a 'Fees.': the same text was retrieved under another id (rank 1)\n"
        "  found      b 'Pay': rank 2\n"
        "  retrieved  1. x 'fees.'\n"
        "             2. b\n"
        "2 queries left out: recall@3 is undefined there, for example without gold documents.\n"
    )


def test_the_worst_questions_are_listed_by_ndcg(run: Runner) -> None:
    out = run("evaluate set.jsonl run.jsonl -k 3 --worst 1").out
    assert "run: The lowest 1 of 4 queries by ndcg@3\nq1: Wie?\n" in out
    assert "\nq2" not in out


def test_the_lists_of_questions_are_in_the_json(run: Runner) -> None:
    written = json.loads(run("evaluate set.jsonl run.jsonl -k 3 --failed --worst 9 --json -").out)["runs"]["run"]
    assert [(row["id"], row["causes"]) for row in written["misses"]] == [("q1", ["other_id", "found"])]
    assert [row["id"] for row in written["worst"]] == ["q1", "q2"]


def test_a_long_list_of_failed_questions_is_cut_and_says_where_the_rest_is(run: Runner) -> None:
    questions = [{"id": f"q{n}", "gold": [{"id": f"g{n}"}]} for n in range(103)]
    Path("many.jsonl").write_bytes(jsonl(questions))
    Path("none.jsonl").write_bytes(jsonl([{"query_id": "q0", "retrieved": [{"id": "g0"}]}]))
    out = run("evaluate many.jsonl none.jsonl --failed").out
    assert "\nq100\n" in out
    assert "... and 2 more. All are in the output of `--json`." in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--format docx", "`--format` must be one of 'terminal', 'markdown', 'latex', 'csv', got 'docx'."),
        ("--format csv --failed", "`--failed` and `--worst` list questions as text or JSON. Leave out `--format`."),
        ("--worst 0", "`--worst` must be an integer of at least 1, got 0."),
    ],
)
def test_options_that_mean_nothing_are_refused(run: Runner, options: str, message: str) -> None:
    outcome = run(f"evaluate set.jsonl run.jsonl {options}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"InvalidInputError: {message}\n"


def test_json_to_a_dash_prints_json_and_no_table(run: Runner) -> None:
    outcome = run("evaluate set.jsonl run.jsonl --json -")
    assert json.loads(outcome.out)["runs"]["run"]["signature"].startswith("match:id|")
    assert sorted(path.name for path in Path().iterdir()) == ["run.jsonl", "set.jsonl"]


def test_rows_to_a_dash_are_printed_or_refused_but_no_file_is_called_dash(run: Runner) -> None:
    run("evaluate set.jsonl run.jsonl --per-query -")
    assert not Path("-").exists()


@pytest.mark.parametrize("paths", ["a/run.jsonl b/run.jsonl", "run.jsonl run", "a/run.jsonl b/run.jsonl c/run.jsonl"])
def test_of_files_with_the_same_name_none_is_lost(run: Runner, paths: str) -> None:
    for number, path in enumerate(paths.split()):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(jsonl([row for row in ROWS if row is not ROWS[number]]))
    missing = [part["missing"] for part in scores(run, f"set.jsonl {paths}").values()]
    assert missing == [[f"q{number}"] for number in range(1, len(paths.split()) + 1)]


def test_questions_without_a_row_count_as_nothing_retrieved_and_are_listed_on_stderr(run: Runner) -> None:
    Path("part.jsonl").write_bytes(jsonl(ROWS[1:2]))
    outcome = run("evaluate set.jsonl part.jsonl -k 1 --metrics recall")
    assert outcome.err == "part: 3 questions without a row, scored as nothing retrieved: q1, q3, q4\n"
    assert "recall        0.5000          2\n" in unpadded(outcome.out)
    assert "100% came back empty" in outcome.out


def test_failed_retrievals_and_documents_without_what_is_read_are_counted_on_stderr(run: Runner) -> None:
    Path("run.jsonl").write_bytes(jsonl([{"query_id": "q2", "error": "timed out"}, ROWS[0], ROWS[2], ROWS[3]]))
    err = run("evaluate set.jsonl run.jsonl --match text").err
    assert "run: 1 retrieval failed, scored as nothing retrieved. First: timed out\n" in err
    assert "run: 2 retrieved documents without the id or text that the matching method reads.\n" in err


def test_a_table_that_is_wider_than_80_columns_loses_no_name_and_no_digit(run: Runner) -> None:
    line = "evaluate set.jsonl run.jsonl -k 1,2,3,4,5,6,7,8,9,10,20,50,100"
    values = scores(run, line.removeprefix("evaluate "))["run"]["metrics"]
    printed = run(line).out.split()
    assert [name for name in ("micro_precision", "undefined", "@100", "ndcg") if name not in printed] == []
    assert sum(printed.count(text) for text in {f"{value:.4f}" for value in values.values()}) == len(values)


def test_a_long_name_of_a_run_stands_unbroken_over_its_table(run: Runner) -> None:
    name = "multilingual-e5-large-with-chunks-of-400-tokens"
    Path(f"{name}.jsonl").write_bytes(jsonl(ROWS))
    assert run(f"evaluate set.jsonl {name}.jsonl -k 1 --metrics mrr").out.startswith(f"{name}: 4 queries")


@pytest.mark.full
def test_a_warning_is_one_line_on_stderr_for_each_run_that_it_is_about(run: Runner) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        Path(name).write_bytes(jsonl([{"query_id": q["id"], "retrieved": [{"id": "z"}]} for q in QUESTIONS]))
    lines = in_a_process(SCRIPT, "evaluate", "set.jsonl", "one.jsonl", "two.jsonl").err.splitlines()
    assert [line.partition(". ")[0] for line in lines] == ["one: Not one id matches", "two: Not one id matches"]


def test_what_the_runner_wrote_down_stands_beside_the_scores(run: Runner) -> None:
    evalset = read_evalset("set.jsonl")
    answers = {q["question"]: row["retrieved"] for q, row in zip(QUESTIONS, ROWS, strict=True) if "question" in q}
    asked = evalset.where(lambda question: bool(question.question))
    write_evalset(asked, "asked.jsonl")
    run_retriever(asked, answers.__getitem__, k=3, name="r", parameters={"chunk": 9}, journal="r.jsonl", progress=False)
    outcome = run("evaluate asked.jsonl r.jsonl --json out.json")
    assert outcome.code == 0
    assert outcome.err.startswith("r: chunk=9, latency p50 ")
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))["runs"]["r"]
    assert written["parameters"] == {"chunk": 9}
    assert written["recorded"]["k"] == 3
    assert written["latency"]["n"] == 2
