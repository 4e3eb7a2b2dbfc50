"""`krag-eval run` repeated: nothing of an old retriever is mixed with a new one, and what failed is asked again."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from krag_eval import read_run
from krag_eval._utils.journal.rows import seal
from krag_eval.datasets.formats.native import read_journal_rows
from tests.support.command_line import Outcome, Runner

LINE = "run set.jsonl --k 2 --retries 0 --out run.jsonl"
SEARCH = """
import ranking

def search(question):
    if question == {failing!r}:
        raise ConnectionError("no route")
    return ranking.rank({first!r})
"""
FAILING = "def search(question):\n    raise ConnectionError('no route')\n"


@pytest.fixture
def rerun(command: Runner, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Calls `krag-eval run` as a new process does, with what the files say now."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within a second have one size
    rows = [{"id": f"q{n}", "question": f"question {n}", "gold": [{"id": "a"}]} for n in range(4)]
    Path("set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write(search=SEARCH.format(failing="question 3", first="a"))
    write(ranking="def rank(first):\n    return [{'id': first}, {'id': 'z'}]\n")

    def call(*arguments: str, retriever: str = "searching:search") -> Outcome:
        for name in ("searching", "ranking"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return command(LINE, "--retriever", retriever, *arguments)

    return call


def write(*, search: str | None = None, ranking: str | None = None) -> None:
    for name, content in (("searching.py", search), ("ranking.py", ranking)):
        if content is not None:
            Path(name).write_text(content, encoding="utf-8")


def first_ids() -> list[str | None]:
    return [row.retrieved[0].id if row.retrieved else None for _, row in sorted(read_run("run.jsonl").rows.items())]


def edit() -> None:
    write(search=SEARCH.format(failing="question 3", first="b"))


def edit_what_it_imports() -> None:
    write(ranking="def rank(first):\n    return [{'id': 'b'}, {'id': 'z'}]\n")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("change", "arguments", "retriever", "said"),
    [
        (edit, [], "searching:search", "searching.py was edited"),
        (edit_what_it_imports, [], "searching:search", "ranking.py was edited"),
        (bool, ["--param", "chunk=5"], "searching:search", "parameter chunk 'absent' in the journal, 5 now"),
        (bool, ["--name", "search"], "ranking:rank", "searching:search in the journal, ranking:rank now; searching"),
    ],
    ids=["its file", "a module that it imports", "its parameters", "another retriever of that name"],
)
def test_a_changed_retriever_is_asked_about_and_nothing_is_touched(
    rerun: Runner, change: object, arguments: list[str], retriever: str, said: str
) -> None:
    assert rerun().code == 0
    before = Path("run.jsonl").read_bytes()
    change()  # type: ignore[operator]
    outcome = rerun(*arguments, retriever=retriever)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert f"run.jsonl: the retriever was changed after 3 rows: {said}" in outcome.err
    assert outcome.err.endswith(
        "Rerun with --resume to keep these rows and ask only the other questions, or with --fresh to replace them.\n"
    )
    assert Path("run.jsonl").read_bytes() == before


def test_resume_keeps_the_old_rows_and_records_who_made_the_new_ones(rerun: Runner) -> None:
    rerun()
    write(search=SEARCH.format(failing=None, first="b"))
    outcome = rerun("--resume")
    assert outcome.code == 0
    assert outcome.out.startswith("search: 4 rows (3 of them from an earlier session, 1 asked again after an error)")
    assert first_ids() == ["a", "a", "a", "b"]
    headers = [row for _, row in read_journal_rows("run.jsonl") if "krag_eval_run" in row]
    assert len({json.dumps(header["source"]) for header in headers}) == len(headers) == 2
    assert rerun().code == 0  # the retriever is that of the last session
    edit()
    assert rerun().code == 2


def test_fresh_asks_every_question_again(rerun: Runner) -> None:
    rerun()
    edit()
    outcome = rerun("--fresh")
    assert outcome.out.startswith("search: 4 rows, 1 error")
    assert first_ids() == ["b", "b", "b", None]
    assert rerun().out.startswith("search: 4 rows (3 of them from an earlier session, 1 asked again after an error)")


@pytest.mark.parametrize("content", ['{"query_id": "q0", "retrieved": []}\n', "Dear diary", '{"id": "q0"}\n'])
def test_fresh_replaces_nothing_but_a_journal(rerun: Runner, content: str) -> None:
    Path("run.jsonl").write_text(content, encoding="utf-8")
    outcome = rerun("--fresh")
    assert (outcome.code, outcome.out) == (2, "")
    assert "run.jsonl: is not a journal of a run, and nothing else is replaced." in outcome.err
    assert Path("run.jsonl").read_text(encoding="utf-8") == content


def test_failed_questions_are_asked_again_unless_their_errors_are_to_be_kept(rerun: Runner) -> None:
    assert rerun().out.startswith("search: 4 rows, 1 error,")
    kept = rerun("--keep-errors")
    assert kept.out.startswith("search: 4 rows (4 of them from an earlier session), 1 error,")
    assert "Nothing was asked: every question has a row already. Use --fresh" in kept.err
    again = rerun("--json", "-")
    assert {name: json.loads(again.out)[name] for name in ("asked", "retried", "errors")} == {
        "asked": 1, "retried": 1, "errors": 1,
    }  # fmt: skip
    assert json.loads(rerun("--retry-errors", "--json", "-").out)["retried"] == 1


def test_a_run_whose_every_call_failed_ends_with_1_and_the_reason(rerun: Runner) -> None:
    write(search=FAILING)
    outcome = rerun()
    assert outcome.code == 1
    assert "Score it with" not in outcome.out
    assert re.search(r"Every question failed\. The first error: q\d: ConnectionError: no route\.", outcome.err)
    assert json.loads(rerun("--json", "-").out)["score"] is None
    # Nothing that it found is there, so its repair has nothing to be mixed with.
    write(search=SEARCH.format(failing=None, first="a"))
    repaired = rerun()
    assert (repaired.code, first_ids()) == (0, ["a"] * 4)
    assert repaired.out.startswith("search: 4 rows (4 asked again after an error), 0 errors")
    assert [row["source"]["files"].keys() for _, row in read_journal_rows("run.jsonl") if "source" in row] == [
        {"searching.py", "ranking.py"}
    ]


def test_no_allowed_error_is_no_reason_to_call_a_failure_an_answer(rerun: Runner) -> None:
    write(search=FAILING)
    outcome = rerun("--max-error-rate", "0")
    assert (outcome.code, outcome.out) == (2, "")
    assert "4 of 4 questions failed, more than `--max-error-rate` 0 allows. The first error: q" in outcome.err
    assert "answer" not in outcome.err


def test_a_journal_of_before_is_resumed_and_says_what_it_does_not_record(rerun: Runner) -> None:
    rerun()
    lines = [row for _, row in read_journal_rows("run.jsonl")]
    lines[0].pop("source")
    Path("run.jsonl").write_bytes(b"".join(map(seal, lines)))
    edit()
    outcome = rerun()
    assert (outcome.code, first_ids()) == (0, ["a", "a", "a", None])
    assert "run.jsonl does not record the source of its retriever, so a change of it since" in outcome.err


def test_what_no_retriever_is_made_of_may_change(rerun: Runner) -> None:
    rerun()
    Path("other.py").write_text("", encoding="utf-8")
    Path("set.jsonl").touch()
    assert rerun().code == 0


def test_both_answers_at_once_are_refused(rerun: Runner) -> None:
    outcome = rerun("--resume", "--fresh")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert re.search(r"--resume keeps the rows .* --fresh drops them", outcome.err)
