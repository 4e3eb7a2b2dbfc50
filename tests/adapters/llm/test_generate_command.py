"""`krag-eval generate`: a corpus and a model by its path, the questions in a file, every mistake in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import read_evalset
from tests.support.command_line import Outcome, Runner
from tests.support.generation_cases import CHUNKS, Writer, generate

MODELS = """
from tests.support.generation_cases import Writer

write = Writer()
useless = lambda prompt: "no JSON"

def make():
    return Writer()

def refused(prompt):
    raise PermissionError("wrong key")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "writing.py").write_text(MODELS)
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in CHUNKS))
    return tmp_path


@pytest.fixture
def run(folder: Path, command: Runner) -> Runner:
    def call(*arguments: str, llm: str = "writing:write", out: str = "set.jsonl") -> Outcome:
        return command(f"generate chunks.jsonl --llm {llm} --out {out}", *arguments)

    return call


@pytest.mark.parametrize("llm", ["writing:write", "writing:make"])
def test_the_questions_are_in_the_file_and_the_report_on_stdout(run: Runner, llm: str) -> None:
    outcome = run("-n", "6", "--seed", "3", llm=llm)
    assert (outcome.code, outcome.err) == (0, "")
    assert read_evalset("set.jsonl") == generate(Writer(), n=6, seed=3).evalset
    lines = outcome.out.splitlines()
    assert lines[0].startswith("6 of 6 questions, written by Writer (prompts ")
    assert "Generated questions flatter retrievers" in outcome.out
    assert lines[-1] == "The questions are in set.jsonl"


def test_generated_questions_stand_beside_those_of_people_with_their_origin(run: Runner) -> None:
    Path("log.jsonl").write_text('{"id": "7", "question": "When?", "gold": [], "metadata": {"origin": "log"}}\n')
    Path("own.jsonl").write_text('{"id": "8", "question": "Who?", "gold": []}\n')
    assert run("-n", "2", "--beside", "log.jsonl").code == 0
    assert run("-n", "2", "--beside", "own.jsonl", out="own-both.jsonl").code == 0
    assert [one.metadata["origin"] for one in read_evalset("set.jsonl")] == ["log", "generated", "generated"]
    assert [one.metadata["origin"] for one in read_evalset("own-both.jsonl")] == ["given", "generated", "generated"]
    assert all(one.metadata["generated"] for one in read_evalset("set.jsonl")[1:])
    made = [json.loads(line)["id"] for line in Path("set.jsonl").read_text().splitlines()][1]
    Path("same.jsonl").write_text(json.dumps({"id": made, "question": "When?", "gold": []}))
    assert run("-n", "2", "--beside", "same.jsonl", out="none.jsonl").code == 2
    assert not Path("none.jsonl").exists()


def test_the_options_reach_the_library(run: Runner, folder: Path) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "literal.txt").write_text("In {language}: Use the words of the passage. {passage}")
    options = [
        "--type",
        "literal",
        "--type",
        "negative",
        "--language",
        "en",
        "--prompts",
        "prompts",
        "--min-words",
        "5",
    ]
    outcome = run("--samples", "2", *options, "--journal", "j.jsonl", "--json", "-", "--concurrency", "2")
    report = json.loads(outcome.out)
    assert (report["made"], list(report["types"]), report["language"]) == (2, ["literal", "negative"], "en")
    assert report["evalset"] == "set.jsonl"
    again = run("--samples", "2", *options, "--journal", "j.jsonl", "--json", "r.json", "--force")
    assert again.code == 0
    assert json.loads((folder / "r.json").read_text())["answers_from_the_journal"] == 2


def test_fewer_questions_than_wanted_are_written_and_said(run: Runner) -> None:
    outcome = run("-n", "99", "--type", "literal")
    assert outcome.code == 0
    assert outcome.err.startswith("Only 18 of 99 questions could be made. There are no further chunks to ask about.")
    assert len(read_evalset("set.jsonl")) == 18


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "llm", "message"),
    [
        ((), "writing:nothing", "`--llm` writing:nothing: 'writing' has no 'nothing'"),
        ((), "writing", "`--llm` must be module:object"),
        ((), "writing:refused", "refused cannot be asked: PermissionError: wrong key"),
        (
            ("-n", "1"),
            "writing:useless",
            "set.jsonl: not written, because no question could be generated. `most_prompts` was",
        ),
        (("--type", "litteral"), "writing:write", "Did you mean 'literal'?"),
        (("--prompts", "nowhere"), "writing:write", "nowhere: is not a folder"),
    ],
)
def test_mistakes_are_told_in_one_line(run: Runner, arguments: tuple[str, ...], llm: str, message: str) -> None:
    outcome = run(*arguments, llm=llm)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err.splitlines()[-1]
    assert not Path("set.jsonl").exists()


def test_a_file_that_is_there_is_not_replaced_without_a_word(run: Runner, folder: Path) -> None:
    (folder / "set.jsonl").write_text("mine")
    outcome = run("-n", "2")
    assert (outcome.code, outcome.err) == (
        2, "InvalidInputError: set.jsonl: already exists. Choose another name, or overwrite it with --force.\n",
    )  # fmt: skip
    assert (folder / "set.jsonl").read_text() == "mine"
