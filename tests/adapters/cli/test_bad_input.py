"""Whatever is wrong with a file or an option of `krag-eval` is told in one line on stderr, with exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Outcome, Runner

SCRIPT = Path(sys.executable).with_name("krag-eval")
SET = b'{"id": "q1", "gold": [{"id": "a"}]}\n{"id": 2, "question": "\xec\x99\x9c\xe2\x80\xa8?", "gold": ["c"]}\n'
RUN = b'{"query_id": "q1", "retrieved": [{"id": "b"}, {"id": "a"}]}\n{"query_id": "2", "retrieved": []}\n'


@pytest.fixture
def run(command: Runner) -> Runner:
    """Calls `krag-eval evaluate set.jsonl run.jsonl` with what these files shall hold and further arguments."""

    def call(*arguments: str, questions: bytes = SET, rows: bytes = RUN) -> Outcome:
        Path("set.jsonl").write_bytes(questions)
        Path("run.jsonl").write_bytes(rows)
        return command("evaluate set.jsonl run.jsonl", *arguments)

    return call


def assert_refused(outcome: Outcome, start: str, part: str = "") -> None:
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1), outcome
    assert outcome.err.startswith(start)
    assert part in outcome.err


def in_a_process(*command: str | Path, **environment: str) -> Outcome:
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


# The second row of the evaluation set, and what the message says about it.
QUESTIONS = {
    b'{"id": "q2", "gold": [}': "not valid JSON: Expecting value",
    b'{"id": "q2", "gold": [': "not valid JSON",
    b'{"id": "q2", "gold": []} {"id": "q3", "gold": []}': "not valid JSON: Extra data",
    b'{"id": "\xff", "gold": []}': "not UTF-8 at byte 8 of the line",
    b'{"id": "q2", "gold": [], "x": NaN}': "not valid JSON: NaN is not a JSON value",
    b'{"id": "q2", "gold": [], "x": [Infinity]}': "not valid JSON: Infinity is not a JSON value",
    b'{"id": "q2", "gold": [], "x": -Infinity}': "not valid JSON: -Infinity is not a JSON value",
    b'{"id": "q2", "gold": ' + b"[" * 20_000 + b"]" * 20_000 + b"}": "nested too deep",
    b'{"id": "q2", "gold": [], "x": ' + b"9" * 5_000 + b"}": "not valid JSON",
    b"[]": "holds a list. Each line must be one JSON object",
    b'"q2"': "holds a str",
    b"null": "holds ",
    b'{"gold": []}': "`id` is missing",
    b'{"id": null, "gold": []}': "`id` is None",
    b'{"id": "", "gold": []}': "`id` is ''",
    b'{"id": true, "gold": []}': "`id` is True",
    b'{"id": 1.5, "gold": []}': "`id` is 1.5",
    b'{"id": "q1", "gold": []}': "the question id 'q1' appears twice",
    b'{"id": "q2", "question": 5, "gold": []}': "`question` must be",
    b'{"id": "q2"}': "`gold` is missing",
    b'{"id": "q2", "gold": "a"}': "`gold` must be a list of documents",
    b'{"id": "q2", "gold": {"id": "a"}}': "`gold` must be",
    b'{"id": "q2", "gold": [{"id": "a"}, {}]}': "`gold[1]`: a dict has neither an id nor a text",
    b'{"id": "q2", "gold": [{"id": "", "text": 5}]}': "`gold[0]`: a dict has neither an id nor a text",
    b'{"id": "q2", "gold": [7]}': "`gold[0]`: an int is not a document",
    b'{"id": "q2", "gold": [{"id": "a", "grade": [1]}]}': "`gold[0]`: `grade` must be a finite number",
    b'{"id": "q2", "gold": [{"id": "a", "grade": "2"}]}': "got '2'",
    b'{"id": "q2", "gold": [{"id": "a", "grade": true}]}': "got True",
    b'{"id": "q2", "gold": [{"id": "a", "grade": 1e999}]}': "not valid JSON: a number is too large for a float",
    b'{"id": "q2", "gold": [{"id": "a", "grade": ' + b"9" * 400 + b"}]}": "`gold[0]`: `grade` must be",
    b'{"id": "q2", "gold": [{"id": "a", "metadata": {"relevance": "-2"}}]}': "got '-2'",
}
ROWS = {
    b'{"query_id": "q7", "retrieved": []}': "the evaluation set has no question 'q7'",
    b'{"query_id": "q1", "retrieved": []}': "the query 'q1' appears twice",
    b'{"id": "q1", "retrieved": []}': "`query_id` is missing",
    b'{"query_id": "2"}': "`retrieved` is missing",
    b'{"query_id": "2", "retrieved": null, "error": null}': "`retrieved` must be a list of documents",
    b'{"query_id": "2", "retrieved": [{"score": 1}]}': "`retrieved[0]`: a dict has neither an id nor a text",
    b'{"query_id": "2", "retrieved": [["a", 0.5]]}': "`retrieved[0]`: a list is not a document",
    b"{'query_id': '2'}": "not valid JSON",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("row", "message"), QUESTIONS.items(), ids=[f"{row!r:.70}" for row in QUESTIONS])
def test_a_bad_row_of_the_evaluation_set_is_named_by_path_and_line(run: Runner, row: bytes, message: str) -> None:
    outcome = run(questions=SET.splitlines(keepends=True)[0] + row + b"\n")
    assert_refused(outcome, "InvalidInputError: set.jsonl:2: ", message)
    assert len(outcome.err) < 400


def test_a_message_about_broken_json_gives_the_column_and_one_line_number_only(run: Runner) -> None:
    outcome = run(questions=b'\n\n{"id": "q2", "gold": [}')
    assert_refused(outcome, "InvalidInputError: set.jsonl:3: ", "column 23")
    assert "line 1" not in outcome.err


@pytest.mark.sample(3)
@pytest.mark.parametrize(("row", "message"), ROWS.items(), ids=[f"{row!r:.70}" for row in ROWS])
def test_a_bad_row_of_a_run_is_named_by_path_and_line(run: Runner, row: bytes, message: str) -> None:
    outcome = run(rows=RUN.splitlines(keepends=True)[0] + b"\n" + row)
    assert_refused(outcome, "InvalidInputError: run.jsonl:3: ", message)


def test_a_file_in_utf_16_is_refused_at_its_first_line(run: Runner) -> None:
    assert_refused(run(questions=SET.decode().encode("utf-16")), "InvalidInputError: set.jsonl:1: not UTF-8")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"], ids=["no byte", "blank lines", "a BOM"])
def test_an_evaluation_set_without_questions_is_refused(run: Runner, content: bytes) -> None:
    assert_refused(run(questions=content), "InvalidInputError: set.jsonl: holds no question")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("questions", "rows"),
    [
        (b"\xef\xbb\xbf" + SET, b"\xef\xbb\xbf" + RUN),
        (SET.replace(b"\n", b"\r\n"), RUN.replace(b"\n", b"\r\n")),
        (SET.rstrip(), RUN.rstrip()),
        (b"\n" + SET.replace(b"\n", b"\n \n"), b"\t\n" + RUN + b"\n\n"),
    ],
    ids=["BOM", "CRLF", "no final newline", "empty lines"],
)
def test_a_file_may_come_from_any_editor(run: Runner, questions: bytes, rows: bytes) -> None:
    expected = run("--json", "-")
    assert json.loads(expected.out)["runs"]["run"]["metrics"]["mrr@3"] == (1 / 2 + 0) / 2
    assert run("--json", "-", questions=questions, rows=rows) == expected


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("absent.jsonl", "InvalidInputError: absent.jsonl: cannot be read (No such file or directory)"),
        (".", "InvalidInputError: .: cannot be read (Is a directory)"),
        ("--match idd", "InvalidInputError: `--match` must be one of 'id', 'text'"),
        ("--match ,", "InvalidInputError: `--match` must be a name"),
        ("--metrics ndgc", "UnknownMetricError: Unknown metric 'ndgc'. Did you mean 'ndcg'?"),
        ("--metrics ,", "InvalidInputError: `--metrics` must be a list of names"),
        ("--k 5,x", "InvalidInputError: `--k` must be positive integers separated by commas"),
        (
            "--k 0",
            "InvalidInputError: `--k` must be positive integers separated by commas, such as 1,5,10, or `all`",
        ),
        ("--threshold nan", "InvalidInputError: `--threshold` must be a number from 0 to 1, got nan"),
        ("--threshold half", "InvalidInputError: `--threshold` must be a number from 0 to 1"),
        ("--match rouge1 --threshold rougeL=0.5", "InvalidInputError: `--threshold` must be one of 'rouge1'"),
        ("--match rouge1 --tokenizer word", "InvalidInputError: Unknown tokenizer 'word'"),
        ("--gain log", "InvalidInputError: `--gain` must be one of 'exponential', 'linear'"),
        ("--json no/folder.json", "InvalidInputError: no/folder.json: cannot be written (No such file or directory)"),
        ("--per-query .", "InvalidInputError: .: cannot be written"),
    ],
)
def test_a_bad_argument_is_told_in_one_line(run: Runner, arguments: str, message: str) -> None:
    assert_refused(run(*arguments.split()), message)


def test_an_unknown_method_gets_the_nearest_name(run: Runner) -> None:
    assert_refused(run("--match", "id,rougel"), "InvalidInputError", "got 'rougel'. Did you mean 'rougeL'?")


@pytest.mark.parametrize("arguments", [["--k", "0"], ["--match", "text"]])
def test_the_cure_is_one_that_works_on_the_command_line(run: Runner, arguments: list[str]) -> None:
    outcome = run(*arguments, questions=b'{"id": "q1", "gold": [{"id": "a"}]}', rows=RUN.splitlines()[0])
    assert_refused(outcome, "InvalidInputError: ")
    # Leaving `--k` out does not score every rank there, and nobody can call a function.
    assert [words for words in ("Leave it out", 'match_method="', "evaluate_ids") if words in outcome.err] == []


def test_a_grade_under_the_key_asked_for_is_checked_with_its_line_and_no_other_is(run: Runner) -> None:
    row = b'{"id": "q1", "gold": [{"id": "a", "metadata": {"relevance": "high", "worth": %b}}]}\n'
    rows = RUN.splitlines()[0]
    assert run("--grade-key", "worth", questions=row % b"2", rows=rows).code == 0
    assert_refused(run("--grade-key", "worth", questions=row % b"true", rows=rows), "InvalidInputError: set.jsonl:1: ")


def test_documents_may_have_nothing_but_the_id_under_the_key_asked_for(run: Runner) -> None:
    document = b'[{"metadata": {"doc": "a"}}]}'
    questions, rows = b'{"id": "q1", "gold": ' + document, b'{"query_id": "q1", "retrieved": ' + document
    outcome = run("--id-key", "doc", "--json", "-", questions=questions, rows=rows)
    assert outcome.err == ""
    assert json.loads(outcome.out)["runs"]["run"]["metrics"]["recall@1"] == 1


def test_an_id_with_a_lone_surrogate_comes_out_as_it_went_in(run: Runner) -> None:
    questions, rows = b'{"id": "q\\ud800", "gold": [{"id": "a"}]}', b'{"query_id": "q\\ud800", "retrieved": []}'
    assert run("--json", "out.json", "--per-query", "rows.jsonl", questions=questions, rows=rows).code == 0
    assert json.loads(Path("rows.jsonl").read_text(encoding="utf-8"))["id"] == "q\ud800"


def test_a_mistake_in_a_real_process_is_one_line_on_stderr_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_bytes(b"{\n")
    outcome = in_a_process(SCRIPT, "evaluate", tmp_path / "set.jsonl", tmp_path / "run.jsonl")
    assert_refused(outcome, f"InvalidInputError: {tmp_path}/set.jsonl:1: not valid JSON")


@pytest.mark.sample(2)
@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_its_extra_the_command_names_the_extra(tmp_path: Path, package: str) -> None:
    (tmp_path / "no_extra.py").write_text(f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Block())
from krag_eval_cli import main
main()
""")
    outcome = in_a_process(sys.executable, tmp_path / "no_extra.py", "validate", "set.jsonl")
    start = f"MissingDependencyError: `krag-eval` needs the package '{package}', which is not installed."
    assert_refused(outcome, start, 'pip install "krag-eval[cli]"')


@pytest.mark.full
def test_what_is_broken_inside_an_extra_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import no_such_module")
    outcome = in_a_process(sys.executable, "-c", "from krag_eval_cli import main; main()", PYTHONPATH=str(tmp_path))
    assert "No module named 'no_such_module'" in outcome.err
    assert "not installed" not in outcome.err


def test_files_in_each_others_place_are_told_to_change_places(run: Runner) -> None:
    assert_refused(run(questions=RUN, rows=SET), "InvalidInputError: set.jsonl:1: ", "the evaluation set comes first")


def test_a_run_without_rows_is_said_to_be_one(run: Runner) -> None:
    outcome = run("--metrics", "recall", rows=b"")
    assert outcome.code == 0
    assert outcome.err.startswith("run.jsonl: holds no ranking, so every question counts as nothing retrieved.")


def test_a_cut_off_of_the_demonstration_is_a_rank(command: Runner) -> None:
    assert_refused(command("demo --k 0"), "InvalidInputError: `--k` must be an integer of at least 1, got 0.\n")
