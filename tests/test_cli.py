"""`krag-eval evaluate`: results on stdout, everything else on stderr, and every mistake told in one line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from krag_eval import __version__, evaluate, evaluate_run, read_evalset, read_run, run_retriever, write_evalset
from krag_eval.cli import main

SCRIPT = Path(sys.executable).with_name("krag-eval")
# Of the four questions the first two have an answer. q1: b (grade 2) at rank 2, a missed. q2: c at rank 1.
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "Wie?",
        "gold": [{"id": "a", "text": "Fees.", "metadata": {"doc": "A"}}, {"id": "b", "text": "Pay", "grade": 2}],
    },
    {"id": "q2", "question": "왜?", "gold": [{"id": "c", "text": "It takes three days", "metadata": {"worth": 0}}]},
    {"id": "q3", "gold": []},
    {"id": "q4", "gold": []},
]
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "retrieved": [{"id": "x", "text": "fees.", "metadata": {"doc": "A"}}, {"id": "b"}]},
    {
        "query_id": "q2",
        "retrieved": [{"id": "c", "text": "So it takes three long day"}, {"id": "y", "text": "three days", "score": 7}],
    },
    {"query_id": "q3", "retrieved": [{"id": "c"}]},
    {"query_id": "q4", "retrieved": []},
]
# MRR@3 = (1/2 + 1) / 2; micro recall@3 = 2 of 3 gold, micro precision@3 = 2 of 4 retrieved; F1@3 = (1/2 + 2/3) / 2;
# MAP@3 = (1/2 / 2 + 1) / 2; nDCG@3 = ((3 / log2(3)) / (3 + 1 / log2(3)) + 1) / 2.
GOLDEN = f"""\
run: 4 queries
metric               @1      @3  undefined
hit_rate         0.5000  1.0000          2
hit_rate_all     0.5000  0.5000          2
mrr              0.5000  0.7500          2
recall           0.5000  0.7500          2
micro_recall     0.3333  0.6667
precision        0.5000  0.5000          2
micro_precision  0.5000  0.5000
f1               0.5000  0.5833          2
micro_f1         0.4000  0.5714
map              0.5000  0.6250          2
ndcg             0.5000  0.7606          2
2 questions without gold documents, undefined above: 50% came back empty, 0.5
documents on average.
match:id|repeat:once|pden:retrieved|gain:exp|hit:partial|k:1,3|v:{__version__}
"""


class Outcome(NamedTuple):
    code: int | str | None
    out: str
    err: str


Runner = Callable[[str], Outcome]


def jsonl(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    """Calls `krag-eval` in a folder that holds `set.jsonl` and `run.jsonl`."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    Path("set.jsonl").write_bytes(jsonl(QUESTIONS))
    Path("run.jsonl").write_bytes(jsonl(ROWS))

    def call(line: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["krag-eval", *shlex.split(line)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        return Outcome(exit_.value.code, *capsys.readouterr())

    return call


def in_a_process(*command: str | Path, **environment: str) -> Outcome:
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def scores(run: Runner, line: str) -> dict[str, Any]:
    outcome = run(f"evaluate {line} --json -")
    assert outcome.code == 0
    runs: dict[str, Any] = json.loads(outcome.out)["runs"]
    return runs


def unpadded(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


@pytest.mark.parametrize("columns", ["30", "300"])
def test_in_a_pipe_the_table_has_80_columns_and_the_signature_is_one_line(run: Runner, columns: str) -> None:
    outcome = in_a_process(SCRIPT, "evaluate", "set.jsonl", "run.jsonl", "--k", "1,3", COLUMNS=columns)
    assert outcome._replace(out=unpadded(outcome.out)) == (0, GOLDEN, "")


def test_a_signature_of_more_than_80_characters_is_not_broken(run: Runner) -> None:
    line = "set.jsonl run.jsonl --match id,text,containment,rougeL"
    signature = scores(run, line)["run"]["signature"]
    assert len(signature) > 80
    assert run(f"evaluate {line}").out.rstrip().splitlines()[-1] == signature


# What is there without the option, the option, and the settings of both together.
OPTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("", "--match text", {"match_method": "text"}),
    ("", "--match 'id, containment'", {"match_method": ["id", "containment"]}),
    ("", "--k 2,all", {"k": (2, None)}),
    ("", "-k 1", {"k": 1}),
    ("", "--metrics mrr,ndcg", {"metrics": ["mrr", "ndcg"]}),
    ("", "--id-key doc", {"id_key": "doc"}),
    ("", "--grade-key worth", {"grade_key": "worth"}),
    ("", "--precision-denominator k", {"precision_denominator": "k"}),
    ("", "--gain linear", {"gain": "linear"}),
    ("--match text", "--raw-text", {"match_method": "text", "normalize": None}),
    ("--match containment", "--containment gold_in_retrieved", {"containment": "gold_in_retrieved"}),
    ("--match rouge1", "--threshold 0.7", {"threshold": 0.7}),
    ("--match id,rougeL", "--threshold rougeL=1", {"match_method": ["id", "rougeL"], "threshold": {"rougeL": 1.0}}),
    ("--match rouge1 --threshold 0.7", "--rouge-measure recall", {"threshold": 0.7, "rouge_measure": "recall"}),
    ("--match rouge1 --threshold 0.7", "--tokenizer characters", {"threshold": 0.7, "tokenizer": "characters"}),
    ("--match rouge1 --threshold 0.7", "--use-stemmer", {"threshold": 0.7, "use_stemmer": True}),
]


@pytest.mark.parametrize(("base", "option", "settings"), OPTIONS, ids=[option for _, option, _ in OPTIONS])
def test_an_option_is_the_setting_of_evaluate(run: Runner, base: str, option: str, settings: dict[str, Any]) -> None:
    method = {"match_method": base.split()[1] if base else "id"}
    gold, retrieved = [q["gold"] for q in QUESTIONS], [row["retrieved"] for row in ROWS]
    expected = evaluate(gold, retrieved, **{"k": (1, 3, 5, 10)} | method | settings)
    actual = scores(run, f"set.jsonl run.jsonl {base} {option}")
    assert actual == {"run": {**json.loads(expected.to_json()), "missing": []}}
    assert actual["run"]["metrics"] != scores(run, f"set.jsonl run.jsonl {base}")["run"]["metrics"]


def test_every_option_of_the_command_is_compared_above() -> None:
    from typer.main import get_command

    from krag_eval.cli.app import app

    command: Any = get_command(app)
    named = {option.split()[0] for _, option, _ in OPTIONS}
    known = {name for parameter in command.commands["evaluate"].params for name in parameter.opts if name[0] == "-"}
    of_levels = {option.split()[0] for option, _ in LEVELS}
    assert known - {"--json", "--per-query", "--intervals"} == named | of_levels


# The option, and the settings of `evaluate_run` with it.
LEVELS: list[tuple[str, dict[str, Any]]] = [
    ("--level document", {"level": "document"}),
    ("--doc-key source", {"doc_key": "source"}),
    ("--proxy", {"proxy": True}),
]


@pytest.mark.parametrize(("option", "settings"), LEVELS, ids=[option for option, _ in LEVELS])
def test_a_level_is_that_of_evaluate_run(run: Runner, option: str, settings: dict[str, Any]) -> None:
    questions = [
        {"id": 1, "gold": [{"id": "a", "metadata": {"doc_id": "A", "source": "S"}}]},
        {"id": 2, "gold_doc_ids": ["B"]},
    ]
    rows = [
        {
            "query_id": 1,
            "retrieved": [
                {"id": "a", "metadata": {"doc_id": "C", "source": "S"}},
                {"id": "z", "metadata": {"doc_id": "A"}},
            ],
        },
        {"query_id": 2, "retrieved": [{"id": "a", "metadata": {"doc_id": "C"}}]},
    ]
    Path("levels.jsonl").write_bytes(jsonl(questions))
    Path("rows.jsonl").write_bytes(jsonl(rows))
    evalset = read_evalset("levels.jsonl")
    expected = evaluate_run(evalset, read_run("rows.jsonl", evalset), **settings)
    actual = scores(run, f"levels.jsonl rows.jsonl {option}")["rows"]
    assert actual == {**json.loads(expected.to_json()), "missing": []}
    assert actual["metrics"] != scores(run, "levels.jsonl rows.jsonl")["rows"]["metrics"]


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


def test_several_runs_get_a_table_each_and_json_and_rows_go_to_files(run: Runner) -> None:
    Path("best.jsonl").write_bytes(jsonl([{"query_id": "q1", "retrieved": QUESTIONS[0]["gold"]}, *ROWS[1:]]))
    outcome = run("evaluate set.jsonl run.jsonl best.jsonl -k 1,3 --json out.json --per-query rows.jsonl")
    assert (outcome.code, outcome.err) == (0, "")
    assert unpadded(outcome.out).startswith(GOLDEN + "\nbest: 4 queries\n")
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert written["evalset"] == "set.jsonl"
    assert {name: part["metrics"]["recall@3"] for name, part in written["runs"].items()} == {"run": 0.75, "best": 1}
    assert written["runs"]["run"]["undefined"]["recall@3"] == 2
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["run"], row["id"]) for row in rows] == [(r, q["id"]) for r in ("run", "best") for q in QUESTIONS]
    assert (rows[1]["query"], rows[1]["mrr@1"], rows[0]["mrr@1"], rows[0]["mrr@3"]) == ("왜?", 1, 0, 1 / 2)
    assert (rows[2]["n_gold"], rows[2]["n_retrieved"], rows[2]["recall@1"]) == (0, 1, None)


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
    assert "run: 2 documents of " in err


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
    run_retriever(answers.__getitem__, asked, k=3, name="r", parameters={"chunk": 9}, journal="r.jsonl", progress=False)
    outcome = run("evaluate asked.jsonl r.jsonl --json out.json")
    assert outcome.code == 0
    assert outcome.err.startswith("r: chunk=9, p50 ")
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))["runs"]["r"]
    assert written["parameters"] == {"chunk": 9}
    assert written["recorded"]["k"] == 3
    assert written["latency"]["n"] == 2
