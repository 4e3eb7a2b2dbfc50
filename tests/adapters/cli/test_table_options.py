"""`--columns`, `--sheet`, `--encoding` and `--from`: what a message suggests is typed in, and works."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from krag_eval import read_corpus, read_evalset, read_run
from krag_eval_cli.files import FileOptions
from tests.support.command_line import Outcome, Runner
from tests.support.workbooks import Cell, write_workbook

ROWS: list[list[Cell]] = [
    ["질문", "정답 문서", *(f"검색 결과 {rank}" for rank in range(1, 6))],
    [
        "환불은 언제 되나요?",
        "환불은 사흘 안에 됩니다.",
        "배송은 이틀 걸립니다.",
        "환불은 사흘 안에 됩니다.",
        None,
        None,
        None,
    ],
    ["몇 시에 여나요?", "아홉 시에 엽니다.", "아홉 시에 엽니다.", "환불은 사흘 안에 됩니다.", None, None, None],
    ["주차장이 있나요?", "지하에 있습니다.", None, None, None, None, None],
]
COLUMNS = ["--columns", "question=질문,gold=정답 문서,retrieved=검색 결과"]


def write_csv(path: str, encoding: str, delimiter: str = ",", rows: Sequence[Sequence[Cell]] = ROWS) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    Path(path).write_bytes(text.getvalue().encode(encoding))


def until_it_works(command: Runner, line: str, most: int = 3) -> tuple[Outcome, list[str]]:
    """Call a line, and again with the first options that its error suggests, in the place of earlier ones."""
    options: dict[str, str] = {}
    while (outcome := command(line, *(part for pair in options.items() for part in pair))).code != 0:
        assert len(options) <= most, outcome
        found = re.search(
            r"(--(?:columns|encoding|sheet|from)) ('(?:[^']|'\"'\"')*'|\S+?)(?=[\s,.?]*(?:\s|$))", outcome.err
        )
        assert found, outcome
        options[found[1]] = shlex.split(found[2])[0]
    return outcome, list(options)


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("faq.xlsx", []),
        ("cp949.csv", ["--encoding"]),
        ("utf16.csv", ["--encoding"]),
    ],
)
def test_an_analyst_reaches_numbers_by_what_is_suggested(command: Runner, name: str, needed: list[str]) -> None:
    write_workbook("faq.xlsx", {"FAQ": ROWS})
    write_csv("cp949.csv", "cp949")
    write_csv("utf16.csv", "utf-16", "\t")
    outcome, options = until_it_works(command, f"evaluate {name} {name} --match text -k 1,5 --metrics recall,mrr")
    assert options == needed
    assert "recall        0.3333  0.6667" in outcome.out
    assert "mrr           0.3333  0.5000" in outcome.out
    assert outcome.err == ""


def test_the_sheet_that_is_suggested_is_read_and_each_workbook_may_have_its_own(command: Runner) -> None:
    sets: list[list[Cell]] = [["id", "question", "gold_chunk_ids"], ["q", "언제?", "c1"]]
    runs: list[list[Cell]] = [["query_id", "retrieved_1"], ["q", "c1"]]
    write_workbook("book.xlsx", {"My questions": sets, "bm25": runs})
    outcome, options = until_it_works(command, "convert book.xlsx x.jsonl")
    assert (outcome.code, options) == (0, ["--sheet"])
    line = "evaluate book.xlsx book.xlsx -k 1 --metrics recall --sheet 'My questions' --sheet bm25"
    assert "recall        1.0000" in command(line).out
    assert "more workbooks" in command(line.replace("evaluate book.xlsx", "evaluate book.xlsx book.xlsx")).err


def test_columns_hold_for_a_run_that_is_converted(command: Runner) -> None:
    write_csv("faq.csv", "utf-8")
    line = "convert faq.csv run.jsonl --kind run"
    assert command(line, "--columns", "question=질문,retrieved_texts=검색 결과").out.startswith("3 rankings from")
    assert [document.text for document in read_run("run.jsonl").rows["1"].retrieved] == [ROWS[2][2], ROWS[2][3]]
    outcome = command(f"{line} --force", *COLUMNS)
    assert (
        "'배송은 이틀 걸립니다.' may be an id or a text. Say what '검색 결과' holds: --columns 'question=질문,"
        in outcome.err
    )
    assert until_it_works(command, f"{line} --force")[0].code == 0
    assert command("convert faq.csv both.jsonl", *COLUMNS).err.endswith(
        "Choose one with --kind evalset or --kind run.\n"
    )
    assert command("convert faq.csv both.jsonl --kind evalset", *COLUMNS).code == 0
    assert len(read_evalset("both.jsonl")) == 3


def test_a_column_with_a_comma_is_named_as_json(command: Runner) -> None:
    write_csv("faq.csv", "utf-8", rows=[["질문, 원문", "정답=문서"], ["언제?", "사흘 안에 됩니다."]])
    columns = {"question": "질문, 원문", "gold_texts": "정답=문서"}
    assert command("convert faq.csv x.jsonl --columns", json.dumps(columns)).code == 0
    assert read_evalset("x.jsonl")["0"].gold[0].text == "사흘 안에 됩니다."


@pytest.mark.sample(3)
@pytest.mark.parametrize("value", ["question", "=a", "question=", "{", '{"question": ""}', "[1]"])
def test_columns_that_are_no_mapping_are_refused(command: Runner, value: str) -> None:
    write_csv("faq.csv", "utf-8")
    assert (
        "`--columns` must be such as question=query,gold=pos, got"
        in command("convert faq.csv x.jsonl --columns", value).err
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "line",
    [
        "compare faq.csv faq.csv second.csv --match text -k 1 --metrics recall --n-bootstrap 100",
        "report faq.csv faq.csv --match text -k 1",
        "doctor faq.csv faq.csv --match text",
        "gate faq.csv faq.csv --policy policy.toml",
        "validate faq.csv --ignore near_duplicate --json -",
        "run faq.csv --retriever search:nothing -k 1 --out out.jsonl",
        "generate corpus.csv --llm search:model --out out.jsonl -n 1",
        "reanchor faq.csv --corpus corpus.csv --out out.jsonl",
    ],
)
def test_every_command_that_reads_a_table_takes_the_options(command: Runner, line: str) -> None:
    write_csv("faq.csv", "cp949")
    write_csv("second.csv", "utf-8")
    write_csv("corpus.csv", "cp949", rows=[["번호", "본문"], *([str(n), row[1]] for n, row in enumerate(ROWS[1:]))])
    Path("policy.toml").write_text('[gate]\nrequire = ["recall@1 >= 0.1"]\n[scoring]\nmatch_method = "text"\n')
    Path("search.py").write_text("def nothing(question):\n    return []\ndef model(prompt):\n    return 'no'\n")
    columns = [COLUMNS[0], f"{COLUMNS[1]},chunk_id=번호,text=본문"]
    outcome = command(f"{line} --encoding cp949", *columns)
    assert outcome.code in (0, 1, 3) or "could be generated" in outcome.err
    assert not re.search("cannot be read|UTF-8|no column '|No such option|policy", outcome.err), outcome


def test_a_corpus_takes_them_too(command: Runner) -> None:
    write_csv("corpus.csv", "cp949", rows=[["번호", "본문"], ["c1", "하나"]])
    options = FileOptions(columns="chunk_id=번호,text=본문,question=질문", encoding="cp949")
    (document,) = options.corpus(Path("corpus.csv"))
    assert (document.id, document.text) == ("c1", "하나")
    assert read_corpus("corpus.csv", encoding="cp949", columns={"id": "번호", "text": "본문"}) == [document]


def test_one_encoding_serves_files_that_need_it_and_files_that_do_not(command: Runner) -> None:
    write_csv("faq.csv", "cp949")
    assert command("convert faq.csv run.jsonl --kind run --encoding cp949 --columns", f"{COLUMNS[1]}_texts").code == 2
    columns = "question=질문,retrieved_texts=검색 결과"
    assert command("convert faq.csv run.jsonl --encoding cp949 --columns", columns).code == 0
    outcome = command("evaluate faq.csv run.jsonl --match text -k 1 --metrics recall --encoding cp949", *COLUMNS)
    assert "recall        0.3333" in outcome.out
    assert command("evaluate faq.csv run.jsonl --encoding cp499").err.startswith(
        "InvalidInputError: Unknown `--encoding` 'cp499'. Did you mean 'cp949'?"
    )


def test_the_next_command_that_is_printed_carries_the_options(command: Runner) -> None:
    write_csv("faq.csv", "cp949")
    Path("search.py").write_text(
        "def same(question):\n    return [{'id': 'a', 'text': '아홉 시에 엽니다.'}]\n", encoding="utf-8"
    )
    outcome = command("run faq.csv --retriever search:same -k 1 --out run.jsonl --encoding cp949", *COLUMNS)
    (line,) = re.findall("Score it with: krag-eval (.*)", outcome.out)
    assert "recall        0.3333" in command(f"{line} --match text -k 1 --metrics recall").out


def test_one_table_may_hold_the_questions_and_what_was_retrieved(command: Runner) -> None:
    write_workbook(
        "faq.xlsx",
        {"FAQ": [["질문", "정답 문서", "검색 결과 1", "검색 결과 2"], ["언제?", "환불-01", "배송-02", "환불-01"]]},
    )
    outcome = command("evaluate faq.xlsx -k 2 --metrics recall,mrr")
    assert "recall        1.0000" in outcome.out
    assert "mrr           0.5000" in outcome.out
    assert "match:id|" in outcome.out


def test_a_run_that_was_not_named_is_missed_by_name(command: Runner) -> None:
    write_csv("faq.csv", "utf-8", rows=[["question", "gold"], ["언제?", "사흘 안에 됩니다."]])
    outcome = command("evaluate faq.csv")
    assert outcome.code == 2
    assert outcome.err.endswith(
        "RUN, the file with what was retrieved, is missing. faq.csv: holds an evaluation set and nothing that was "
        "retrieved: the gold is in `gold`. Give a run.\n"
    )


def test_a_column_of_questions_that_holds_ids_is_one_of_ids(command: Runner) -> None:
    write_csv("run.csv", "utf-8", rows=[["frage", "treffer"], ["q1", "d1;d2"]])
    assert command("convert run.csv run.jsonl").code == 0
    assert [document.id for document in read_run("run.jsonl").rows["q1"].retrieved] == ["d1", "d2"]


def test_rows_under_a_key_and_a_separator_hold_for_every_command(command: Runner) -> None:
    rows = [{"id": 1, "question": "언제?", "gold_chunk_ids": "c1 & c2"}]
    Path("set.json").write_text(json.dumps({"dev": rows, "test": [*rows, {**rows[0], "id": 2, "question": "왜?"}]}))
    Path("run.jsonl").write_text('{"query_id": "1", "retrieved": [{"id": "c1"}, {"id": "c2"}]}')
    for line in ("validate set.json --json -", "evaluate set.json run.jsonl -k 2 --json -"):
        assert command(f"{line} --rows dev --separator", " & ").code == 0
    assert command("convert set.json new.jsonl --rows test --separator", "&").code == 0
    assert [question.gold_chunk_ids for question in read_evalset("new.jsonl")] == [("c1", "c2")] * 2
    assert "Choose one, such as --rows dev." in command("convert set.json x.jsonl").err


@pytest.mark.parametrize("line", ["report", "diagnose", "evaluate", "verify", "gate --policy policy.toml"])
def test_a_file_with_gold_and_results_is_given_once(command: Runner, line: str) -> None:
    Path("policy.toml").write_text('[gate]\nrequire = ["recall@5 >= 0.1"]\n')
    rows = [["질문", "정답 청크", "검색 결과"], *([f"언제 {n}?", f"c{n}", f"c{n}; x"] for n in range(30))]
    write_csv("faq.csv", "utf-8", rows=rows)
    assert command(f"{line} faq.csv").code == 0
    write_csv("set.csv", "utf-8", rows=[row[:2] for row in rows])
    outcome = command(f"{line} set.csv")
    assert (outcome.code, outcome.err.rpartition(". ")[2]) == (2, "Give a run.\n")
