"""`max_bad_rows`: bad lines are left out, told and kept; one too many is the error that it always was."""

from __future__ import annotations

import base64
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning, read_corpus, read_evalset, read_run
from tests.adapters.formats.test_bad_files import CORPUS, REFUSED
from tests.support.command_line import Runner

GOOD = b'{"id": "good", "gold": [{"id": "a"}]}'
WITH_BAD_LINES = [
    *("1e999.jsonl", "cp949.jsonl", "deep-cell.csv", "infinity.jsonl", "key-twice-escaped.jsonl", "key-twice.jsonl"),
    *("key-twice-inside.jsonl", "latin-1.csv", "many-digits.jsonl", "mark-inside.jsonl", "nan.jsonl"),
    *("nested-201.jsonl", "nul.jsonl", "open-quote.csv", "repeated-id.jsonl", "repeated-query.run.jsonl"),
    *("two-on-a-line.jsonl", "zeros.jsonl"),
]
BROKEN = sorted(set(REFUSED) - set(WITH_BAD_LINES) - {"deep.toml", "many-digits.toml"})


def rejected(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(f"{path}.rejected.jsonl").read_text("utf-8").splitlines()]


def write(path: Path, *lines: str | bytes) -> Path:
    content = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read_quietly(path: Path, most: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KragEvalWarning)
        return (read_run if ".run" in path.name else read_evalset)(path, max_bad_rows=most)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", WITH_BAD_LINES)
def test_each_kept_file_with_a_bad_line_is_read_without_it(name: str, tmp_path: Path) -> None:
    lines = (CORPUS / name).read_bytes().rstrip(b"\n").split(b"\n")
    if ".run" not in name:
        n_cells = lines[0].count(b",") + 1
        lines.append(b"good" + b"," * (n_cells - 2) + b",[]" if name.endswith(".csv") else GOOD)
    path = write(tmp_path / name, *lines)
    with pytest.warns(KragEvalWarning) as caught:
        read = (read_run if ".run" in name else read_evalset)(path, max_bad_rows=1)
    assert read.n_rejected == 1
    assert len(read) == len(lines) - 1 - name.endswith(".csv")
    (row,) = rejected(path)
    assert row["line"] == 2
    assert f"{path}:2: {row['reason']}".startswith(f"{path}{REFUSED[name]}")
    raw = base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode()
    assert raw == lines[1]
    assert [str(warning.message) for warning in caught] == [
        f"{path}:2: {row['reason']} The line is skipped.",
        f"{path}: 1 bad line skipped, and saved in {path}.rejected.jsonl. Correct them there, or in the file itself.",
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_broken_as_a_whole_is_refused_as_ever(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((CORPUS / name).read_bytes())
    with pytest.raises(InvalidInputError) as error:
        read_quietly(path, 100)
    assert str(error.value).startswith(f"{path}{REFUSED[name]}")
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_one_bad_line_too_many_is_the_error_and_those_before_it_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", GOOD, "{", "[]", "nonsense")
    with pytest.raises(InvalidInputError) as error:
        read_quietly(path, 2)
    assert str(error.value) == (
        f"{path}:4: not valid JSON: Expecting value at column 1. Each line must be one JSON object. "
        f"Skipped before that: 2 bad lines, saved in {path}.rejected.jsonl."
    )
    assert [(row["line"], row["text"]) for row in rejected(path)] == [(2, "{"), (3, "[]")]


def test_without_it_nothing_is_left_out_and_nothing_written(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", GOOD, "{")
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path)
    assert str(error.value).startswith(f"{path}:2: not valid JSON")
    assert str(error.value).endswith("Each line must be one JSON object.")
    assert [one.name for one in tmp_path.iterdir()] == ["x.jsonl"]


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None])
def test_what_is_no_number_of_lines_is_refused(value: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", GOOD)
    with pytest.raises(InvalidInputError, match="`max_bad_rows` must be an integer of at least 0"):
        read_evalset(path, max_bad_rows=value)
    with pytest.raises(InvalidInputError, match="`max_bad_rows` must be an integer of at least 0"):
        read_corpus(path, max_bad_rows=value)


def test_the_first_three_are_told_and_an_older_file_is_replaced(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl.gz", *["{"] * 5, GOOD)
    write(tmp_path / "x.jsonl.gz.rejected.jsonl", "old")
    with pytest.warns(KragEvalWarning) as caught:
        assert read_evalset(path, max_bad_rows=9).ids == ["good"]
    told = [str(warning.message).removeprefix(f"{path}:") for warning in caught]
    assert [one[:2] for one in told] == ["1:", "2:", "3:", " 5"]
    assert [row["line"] for row in rejected(path)] == [1, 2, 3, 4, 5]


def test_of_qrels_and_results_single_lines_are_left_out(tmp_path: Path) -> None:
    qrels = write(tmp_path / "x.qrels", "q1 0 a 1", "q1 0 b much", "q1 0 c", "q2 0 a nan", "q1 0 a 2", b"q3 0 \xff 1")
    evalset = read_quietly(qrels, 5)
    assert [(question.id, [document.id for document in question.gold]) for question in evalset] == [("q1", ["a"])]
    assert [row["line"] for row in rejected(qrels)] == [2, 3, 4, 5, 6]
    run = write(tmp_path / "x.run", "q1 Q0 a 1 2.5 t", "q1 Q0 b 2 high t", "q1 Q0", "q1 Q0 c 3 1.5 t")
    read = read_quietly(run, 2)
    assert [document.id for document in read.rows["q1"].retrieved] == ["a", "c"]
    assert read.n_rejected == 2


def test_a_ranking_of_a_question_that_was_left_out_counts_all_its_lines(tmp_path: Path) -> None:
    evalset = read_quietly(write(tmp_path / "x.qrels", "q1 0 a 1", "q2 0 a x"), 1)
    run = write(tmp_path / "x.run", "q2 Q0 a 1 2 t", "q1 Q0 a 1 2 t", "q2 Q0 b 2 1 t")
    with pytest.raises(InvalidInputError, match=r"x\.run:1: the evaluation set has no question 'q2'"):
        read_run(run, evalset=evalset, max_bad_rows=1)
    with pytest.warns(KragEvalWarning) as caught:
        assert list(read_run(run, evalset=evalset, max_bad_rows=2).rows) == ["q1"]
    assert "2 bad lines skipped" in str(caught[-1].message)
    assert [(row["line"], row["reason"][:30]) for row in rejected(run)] == [
        (1, "the evaluation set has no ques"),
        (3, "belongs to the row at line 1"),
    ]


def test_a_bad_record_of_several_lines_counts_them_all_and_nothing_in_it_is_taken_for_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "id,gold_chunk_ids,notes", 'q1,a,"two', 'trap,trap,trap"x', "q2,a,", 'q3,"')
    assert read_quietly(path, 3).ids == ["q2"]
    assert [row["line"] for row in rejected(path)] == [2, 3, 5]


def test_rows_of_a_corpus_are_left_out_too(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", '{"id": "a", "text": "x"}', '{"id": "a", "text": "y"}', '{"n": 1}', "{")
    with pytest.warns(KragEvalWarning) as caught:
        documents = read_corpus(path, max_bad_rows=3)
    assert "3 bad lines skipped" in str(caught[-1].message)
    assert [(document.id, document.text) for document in documents] == [("a", "x")]


def test_a_row_without_an_id_is_not_given_the_number_of_another(tmp_path: Path) -> None:
    ragas = '{"user_input": "When?", "reference_contexts": ["Now."]}'
    path = write(tmp_path / "x.jsonl", ragas, "{", ragas)
    assert read_quietly(path, 2).ids == ["0"]
    assert rejected(path)[1]["reason"].startswith("has no id, and lines before it were skipped")


def test_the_format_shows_behind_a_bad_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", "{", '{"id": 7, "user_input": "When?", "reference_contexts": ["Now."]}')
    assert read_quietly(path, 1).ids == ["7"]


def test_evaluate_scores_the_rest_and_its_json_says_what_is_not_in_it(command: Runner, tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl", *(f'{{"id": "q{n}", "gold": [{{"id": "a"}}]}}' for n in (1, 2)), "{")
    write(tmp_path / "bm25.jsonl", '{"query_id": "q1", "retrieved": [{"id": "a"}]}', '{"query_id": "q2"}')
    strict = command("evaluate set.jsonl bm25.jsonl")
    assert (strict.code, strict.err.startswith("InvalidInputError: set.jsonl:3: ")) == (2, True)
    outcome = command("evaluate set.jsonl bm25.jsonl --k 1 --metrics recall --max-bad-rows 1 --json -")
    assert outcome.code == 0
    written = json.loads(outcome.out)
    (run,) = written["runs"].values()
    assert (written["rejected_lines"], run["rejected_lines"], run["missing"]) == (1, 1, ["q2"])
    assert "set.jsonl:3: not valid JSON" in outcome.err
    assert "bm25.jsonl:2: `retrieved` is missing." in outcome.err
    assert "saved in bm25.jsonl.rejected.jsonl" in outcome.err
    assert "bm25: 1 question without a row, scored as nothing retrieved: q2" in outcome.err


def test_convert_writes_the_good_rows_for_every_other_command(command: Runner, tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl", "{", GOOD)
    outcome = command("convert set.jsonl good.jsonl --max-bad-rows 1")
    assert (outcome.code, outcome.out) == (0, "1 question from set.jsonl (jsonl) to good.jsonl (jsonl)\n")
    assert "set.jsonl: 1 bad line skipped, and saved in set.jsonl.rejected.jsonl." in outcome.err
    assert read_evalset(tmp_path / "good.jsonl").ids == ["good"]
