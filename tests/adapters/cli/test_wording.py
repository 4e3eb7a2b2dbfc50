"""Messages name options in place of arguments of the library, and show what users wrote as they wrote it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, Question, evaluate
from tests.support.command_line import Runner

# What users may write: as an id, a text, a name of a column or a file.
TEXTS = (
    "threshold=0.4",
    "force=True",
    "k=0",
    'id_key="x"',
    "`threshold`",
    "encoding='cp949'",
    "columns={'gold': 'a'}",
    "document of `actual`",
    'run.flatten("first")',
    'set_limits(row="1GB")',
    "match_method='rouge1+text', or call `evaluate_ids`",
    "id.strip() for the gold ids",
)
# Commands that show such a text, and what they say: `set.jsonl` has it as a gold id, FILE is a file of that name.
SHOWN = {
    "nothing matches": ("evaluate set.jsonl other.jsonl -k 1", "Gold ids look like"),
    "nothing matches by text": ("evaluate text.jsonl other.jsonl -k 1 --match text", "Gold texts look like"),
    "compare": ("compare set.jsonl other.jsonl again.jsonl -k 1 --metrics mrr", "Gold ids look like"),
    "one side has no texts": ("evaluate set.jsonl other.jsonl -k 1 --match text", "reads"),
    "unknown question": ("evaluate set.jsonl unknown.jsonl -k 1", "the evaluation set has no question"),
    "a file that exists": ("convert set.jsonl FILE.jsonl", "already exists"),
    "a file that is missing": ("evaluate FILE.csv other.jsonl", "FILE"),
    "a bad line": ("evaluate FILE.jsonl other.jsonl", "not valid JSON"),
    "a bad line that is skipped": ("evaluate FILE.jsonl other.jsonl -k 1 --max-bad-rows 1", "The line is skipped"),
    "validate": ("validate FILE.jsonl", "FILE"),
    "a baseline": ("compare set.jsonl other.jsonl again.jsonl --baseline TEXT", "is none of the runs"),
    "a metric": ("evaluate set.jsonl other.jsonl --metrics TEXT", "nknown"),
    "a field": ("compare set.jsonl other.jsonl again.jsonl --by TEXT", "TEXT"),
    "a column": ("evaluate set.csv other.jsonl", "The columns are"),
}


def _lines(path: str, *rows: object) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "case"), [*((text, "nothing matches") for text in TEXTS), *(("force=True", case) for case in SHOWN)]
)
def test_what_users_wrote_is_shown_as_it_is(command: Runner, text: str, case: str) -> None:
    _lines("set.jsonl", {"id": "1", "question": "?", "gold_chunk_ids": [text]})
    _lines("text.jsonl", {"id": "1", "question": "?", "gold": [{"text": text}]})
    _lines("other.jsonl", {"query_id": "1", "retrieved": [{"id": text + "!", "text": "Other."}]})
    _lines("again.jsonl", {"query_id": "1", "retrieved": [{"id": text + "?", "text": "Other."}]})
    _lines("unknown.jsonl", {"query_id": text, "retrieved": []})
    Path(f"{text}.jsonl").write_text(Path("set.jsonl").read_text("utf-8") + "{\n", encoding="utf-8")
    cells = [f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in ("question", text)]
    Path("set.csv").write_text(f"{','.join(cells)}\nWhen?,Now.\n", encoding="utf-8")
    line, about = SHOWN[case]
    outcome = command(line.replace("FILE", shlex.quote(text)).replace("TEXT", shlex.quote(text)))
    said = " ".join((outcome.err + outcome.out).split())
    assert about.replace("FILE", text).replace("TEXT", text) in said
    assert any(shown in said for shown in (text, repr(text)[1:-1])), said


def test_an_error_carries_its_argument_and_value() -> None:
    with pytest.raises(InvalidInputError) as raised:
        evaluate([["a"]], [["a"]], k=0)
    error = raised.value
    assert (error.argument, error.expected, error.got) == ("k", "an integer of at least 1", "0")
    assert str(error) == "`k` must be an integer of at least 1, got 0. Leave it out to score every rank."


def test_an_error_of_a_row_carries_the_field() -> None:
    with pytest.raises(InvalidInputError) as raised:
        Question.from_dict({"id": "q", "question": 5, "gold": []})
    assert (raised.value.argument, raised.value.got) == ("question", "5")


def test_the_command_line_names_the_option(command: Runner) -> None:
    _lines("set.jsonl", {"id": "1", "question": "?", "gold_chunk_ids": ["a"]})
    _lines("run.jsonl", {"query_id": "1", "retrieved": [{"id": "a"}]})
    assert "`--k` must be" in command("evaluate set.jsonl run.jsonl -k 0").err
    assert "`--id-key` must be" in command("evaluate set.jsonl run.jsonl --id-key", "").err
