"""The listed questions as files: a set that the real command evaluates, and a table that no spreadsheet calculates."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow, evaluate_ids, read_evalset, write_evalset, write_run
from krag_eval.tables.sheets import csv_lines
from krag_eval_report import build_report
from tests.support.browser import settle, show_controls
from tests.support.command_line import Outcome, Runner
from tests.support.five_runs import NAMES, five_runs, rows_of_set, runs_of_five
from tests.support.page_cases import from_lists, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOST_IN_KOREAN = "#queries?found=words&missed=hybrid&slice.language=ko&sort=place"


def saved(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.click(f"#krag-{button}")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def recall_of(outcome: Outcome) -> float:
    assert outcome.code == 0, outcome.err
    found = re.search(r'"recall@5": ([\d.]+)', outcome.out)
    assert found is not None, outcome.out
    return float(found[1])


def set_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file without what a run retrieved."""
    rows = (question.to_dict() for question in read_evalset(path))
    return [{name: value for name, value in row.items() if name not in ("retrieved", "error")} for row in rows]


def test_the_filtered_list_is_a_set_that_the_command_evaluates(page: Page, command: Runner, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, five_runs()) + LOST_IN_KOREAN)
    settle(page)
    path = saved(page, "save-set", tmp_path)
    assert path.name == "questions.jsonl"
    assert [question.id for question in read_evalset(path)] == ["q7", "q10"]
    assert recall_of(command("evaluate questions.jsonl -k 5 --json -")) == 0.0  # of hybrid, which is compared
    rows = {name: row for name, row in runs_of_five()["chars"].rows.items() if name in ("q7", "q10")}
    write_run(Run.of("chars", rows.values()), "chars.jsonl")
    assert recall_of(command("evaluate questions.jsonl chars.jsonl -k 5 --json -")) == 1.0
    page.select_option("#krag-language", "en")
    show_controls(page)
    page.select_option("#krag-other", label="dense")
    settle(page)
    page.click("[data-chip='Missed by hybrid']")
    mean = float(page.locator("#krag-head .mean .of-run").nth(2).inner_text())
    saved(page, "save-set", tmp_path)
    assert recall_of(command("evaluate questions.jsonl -k 5 --json -")) == pytest.approx(mean, abs=5e-4)


def test_the_whole_list_is_the_set_as_it_was_given(page: Page, tmp_path: Path) -> None:
    whole = EvalSet(rows_of_set(), name="five")
    page.goto(write_page(tmp_path, five_runs()) + "#queries?sort=place")
    path = saved(page, "save-set", tmp_path)
    assert set_of(path) == [question.to_dict() for question in whole]
    read = read_evalset(path)
    assert read["q8"].gold[0].metadata == {"relevance": 2}
    assert read["q3"].metadata["big"] == 2**60 + 3  # more than a number of JavaScript holds


def test_a_report_of_results_alone_gives_a_set_of_what_it_knows(page: Page, tmp_path: Path) -> None:
    gold = [[{"id": "a", "text": "alpha", "relevance": 3}, {"id": "b", "text": "beta", "relevance": 1}]]
    report = from_lists(gold, [[{"id": "a"}]], match_method="id", queries=["What?"], query_ids=["one"], k=2)
    page.goto(write_page(tmp_path, report) + "#queries")
    (question,) = read_evalset(saved(page, "save-set", tmp_path))
    assert (question.id, question.question) == ("one", "What?")
    assert [(one.id, one.text, one.metadata) for one in question.gold] == [
        ("a", "alpha", {"relevance": 3}),
        ("b", "beta", {}),
    ]
    bare = build_report({"only": evaluate_ids([["a", "b"]], [["b"]], k=1)})
    (folder := tmp_path / "bare").mkdir()
    page.goto(write_page(folder, bare) + "#queries")
    (row,) = (json.loads(line) for line in saved(page, "save-set", tmp_path).read_text("utf-8").splitlines())
    assert row == {"id": "1", "gold": [{"id": "a"}, {"id": "b"}], "retrieved": [{"id": "b"}]}


def test_strings_that_look_like_the_marks_of_texts_stay_what_they_are(page: Page, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "q\\", "question": "\x015", "gold": [{"id": '"\x010', "text": '"\\\x011"'}], "metadata": {"a": "\x01q"}},
        {"id": "r", "gold": [{"id": "</script>", "text": "\u2028 배송 \U0001f600"}], "answer": ""},
    ]
    evalset = EvalSet(rows)
    run = Run.of("only", [RunRow.from_dict({"query_id": "r", "retrieved": [{"id": "</script>"}]})])
    page.goto(write_page(tmp_path, build_report(evalset, {"only": run})) + "#queries?sort=place")
    assert set_of(saved(page, "save-set", tmp_path)) == [question.to_dict() for question in evalset]


def test_credentials_in_metadata_do_not_leave_by_the_set(page: Page, tmp_path: Path) -> None:
    metadata = {"api_key": "sk-abcdefghijklmnopqrstuvwxyz0123456789", "url": "https://u:secret-word-9@host.test/a"}
    evalset = EvalSet([{"id": "q", "gold": [{"id": "a", "metadata": metadata}], "metadata": metadata}])
    run = Run.of("only", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "a"}]})])
    address = write_page(tmp_path, build_report(evalset, {"only": run}))
    assert "secret-word-9" not in (tmp_path / "report.html").read_text("utf-8")
    page.goto(address + "#queries")
    text = saved(page, "save-set", tmp_path).read_text("utf-8")
    assert "secret-word-9" not in text
    assert "abcdefghijklmnopqrstuvwxyz" not in text
    assert read_evalset(tmp_path / "questions.jsonl")["q"].gold[0].id == "a"


def test_the_table_has_a_line_for_each_question_and_columns_for_each_run(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, five_runs()) + LOST_IN_KOREAN)
    settle(page)
    text = saved(page, "save-table", tmp_path).read_bytes().decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["id"] for line in lines] == ["q7", "q10"]
    assert list(lines[0])[:5] == ["id", "question", "type", "language", "gold"]
    assert [lines[0][f"{name}: recall@5"] for name in NAMES] == ["1", "1", "1", "0", "1"]
    assert [lines[1][f"{name}: ranks"] for name in NAMES] == ["1", "3", "x", "x", "2"]
    assert lines[0]["hybrid: causes"] == "never_retrieved"
    assert (lines[0]["language"], lines[0]["gold"]) == ("ko", "g-q7")


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        " =1",
        "\u200b=1",
        "＝1+1",
        "＠a",
        'a"b, c',
        "line\nbreak",
        "배송, 무료",
        "x" * 40_000,
        "a=b",
        "'=1",
    ],
)
def test_a_cell_is_what_python_writes_into_one(page: Page, tmp_path: Path, text: str) -> None:
    result = evaluate_ids([["a"]], [["a"]], k=1, queries=[text], query_ids=["id"])
    page.goto(write_page(tmp_path, build_report({"only": result})) + "#queries")
    written = saved(page, "save-table", tmp_path).read_bytes().decode("utf-8-sig")
    expected = next(csv_lines([["id", text]], mark=False)).removesuffix("\r\n")
    assert written.partition("\r\n")[2].startswith(expected + ",")
    (_, line) = csv.reader(io.StringIO(written, newline=""))
    assert not line[1].lstrip().startswith(("=", "+", "-", "@"))


def test_a_set_round_trips_through_the_page_and_the_writer(page: Page, command: Runner, tmp_path: Path) -> None:
    write_evalset(EvalSet(rows_of_set(), name="five"), "set.jsonl")
    for name, run in runs_of_five().items():
        write_run(run, f"{name}.jsonl")
    assert command("report set.jsonl words.jsonl hybrid.jsonl --out two.html --by language -k 5").code == 0
    page.goto((tmp_path / "two.html").as_uri() + "#queries?change=worse&metric=recall@5")
    settle(page)
    saved(page, "save-set", tmp_path)
    assert {one.id for one in read_evalset("questions.jsonl")} == {"q7", "q10"}
    assert recall_of(command("evaluate questions.jsonl -k 5 --json -")) == 0.0
