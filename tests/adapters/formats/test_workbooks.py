"""Excel workbooks: one sheet is a table like any other, and what is not a table is refused with its place."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, MissingDependencyError, read_corpus, read_evalset, read_run, write_evalset
from krag_eval_formats import workbook
from tests.support.workbooks import DATE, DATE_AND_TIME, PADDED, Cell, write_workbook

HEADER: list[Cell] = ["id", "question", "gold_chunk_ids"]


def refused(path: Path, sheet: str | None = None) -> str:
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path, sheet=sheet)
    return str(error.value).replace(str(path), path.name)


def test_numbers_texts_and_dates_are_what_a_reader_of_the_sheet_sees(tmp_path: Path) -> None:
    cells: dict[str, Cell] = {
        "whole": 1.0,
        "padded": (7, PADDED),
        "text": "007",
        "fraction": 0.25,
        "date": (45000, DATE),
        "time": (45000.5, DATE_AND_TIME),
        "true": True,
        "lines": "a\nb",
        "formula": b"t='str'><f>1+1</f><v>=1+1</v>",
        "rich": b"t='inlineStr'><is><r><t>rich</t></r><r><t> text</t></r></is>",
        "none": None,
    }
    rows: list[list[Cell]] = [["id", "gold_doc_ids", *cells], [1, "a.pdf; b.pdf", *cells.values()], [None, "", " "]]
    question = read_evalset(write_workbook(tmp_path / "x.xlsx", {"S": rows}))["1"]
    assert question.gold_doc_ids == ("a.pdf", "b.pdf")
    assert question.further == {
        "whole": "1",
        "padded": "007",
        "text": "007",
        "fraction": "0.25",
        "date": "2023-03-15",
        "time": "2023-03-15T12:00:00",
        "true": "true",
        "lines": "a\nb",
        "formula": "=1+1",
        "rich": "rich text",
    }


def test_the_only_sheet_that_holds_something_and_is_shown_is_taken(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [HEADER, ["q", "언제?", "c1"]]
    sheets: dict[str, list[list[Cell]]] = {"빈 시트": [], "FAQ": rows, "old": rows}
    assert read_evalset(write_workbook(tmp_path / "x.xlsx", sheets, hidden=["old"])).ids == ["q"]


def test_of_several_sheets_one_is_asked_for(tmp_path: Path) -> None:
    sets: list[list[Cell]] = [HEADER, ["q", "언제?", "c1"]]
    runs: list[list[Cell]] = [["query_id", "retrieved_1", "retrieved_2"], ["q", "c2", "c1"]]
    path = write_workbook(tmp_path / "x.xlsx", {"질문 목록": sets, "bm25": runs})
    assert refused(path) == "x.xlsx: has several sheets: '질문 목록', 'bm25'. Choose one, such as sheet='질문 목록'."
    assert refused(path, "bm52") == "x.xlsx: has no sheet 'bm52'. Did you mean 'bm25'? It has: '질문 목록', 'bm25'."
    questions = read_evalset(path, sheet="질문 목록")
    assert [document.id for document in read_run(path, evalset=questions, sheet="bm25").rows["q"].retrieved] == [
        "c2",
        "c1",
    ]


@pytest.mark.parametrize(
    ("top", "merged"),
    [
        ([["고객 질문 2026", None, None, None]], ["A1:D1"]),
        ([["고객 질문 2026", None, None, None], [None] * 4], ["A1:D2"]),
        ([[None] * 4], []),
    ],
)
def test_a_title_above_the_names_is_skipped(tmp_path: Path, top: list[list[Cell]], merged: list[str]) -> None:
    rows: list[list[Cell]] = [*top, ["id", "question", "gold", None], ["q", "언제?", "사흘 안에 됩니다.", None]]
    (question,) = read_evalset(write_workbook(tmp_path / "x.xlsx", {"S": rows}, merged=merged))
    assert (question.id, question.gold[0].text, question.further) == ("q", "사흘 안에 됩니다.", {})


@pytest.mark.parametrize(
    ("names", "merged"),
    [
        ([["query_id", "검색 결과", None, None]], ["B1:D1"]),
        ([["query_id", "검색 결과", None, None], [None, 1, 2, 3]], ["A1:A2", "B1:D1"]),
        ([["query_id", "검색 결과", None, None], [None, 1, 2, 3]], ["B1:D1"]),
    ],
)
def test_a_name_over_several_columns_is_the_name_of_each(
    tmp_path: Path, names: list[list[Cell]], merged: list[str]
) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [*names, ["q", "c1", "c2", None]]}, merged=merged)
    row = read_run(path, columns={"retrieved": "검색 결과"}).rows["q"]
    assert [document.id for document in row.retrieved] == ["c1", "c2"]


def test_a_corpus_may_be_a_workbook(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [["번호", "본문", "title"], [3, "사흘 안에 됩니다.", "환불"]]})
    (document,) = read_corpus(path, columns={"id": "번호", "text": "본문"})
    assert (document.id, document.text, document.metadata) == ("3", "사흘 안에 됩니다.", {"title": "환불"})


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("rows", "merged", "message"),
    [
        ([], [], "x.xlsx: is empty."),
        ([["id", "gold"], ["q", b"t='e'><v>#N/A</v>"]], [], "x.xlsx: row 2: the cell B2 holds the error #N/A."),
        ([["id", "gold", None], ["q", "a b", "c"]], [], "x.xlsx: row 1: the column 3 has cells but no name."),
        ([["id", "gold", "gold"], ["q", "a b", "c"]], [], "x.xlsx: row 1: two columns are called 'gold'."),
        (
            [["id", "gold"], ["q", "a b"], [None, "c d"]],
            ["A2:A3"],
            "x.xlsx: row 2: cells are merged, in columns 1 to 1",
        ),
        ([["id", "gold"], [None, None], ["q", "[1"]], [], "x.xlsx: row 3: `gold` must be a JSON list, got '[1'"),
    ],
)
def test_what_is_no_table_is_refused_at_its_row(
    tmp_path: Path, rows: list[list[Cell]], merged: list[str], message: str
) -> None:
    assert refused(write_workbook(tmp_path / "x.xlsx", {"S": rows}, merged=merged)).startswith(message)


def test_a_cell_far_away_and_a_workbook_that_swells_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [["id", "gold"], ["q", "a b"]]})
    parts = {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()}
    sheet = "xl/worksheets/sheet1.xml"

    def rewritten(content: bytes) -> str:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, part in (parts | {sheet: content}).items():
                file.writestr(name, part)
        return refused(path)

    far = b"<row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData>"
    assert "the sheet reaches to row 1,048,576" in rewritten(parts[sheet].replace(b"</sheetData>", far))
    monkeypatch.setattr(workbook, "_ALWAYS", 1000)
    assert "too much for a workbook" in rewritten(parts[sheet] + b" " * 2_000_000)


def test_a_damaged_workbook_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [["id", "gold"], ["q", "a b"]]})
    content = path.read_bytes()
    for at in range(0, len(content), 41):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        with contextlib.suppress(InvalidInputError):
            assert len(read_evalset(path)) == 1
    path.write_bytes(content[:-30])
    assert "It may be damaged or cut off" in refused(path)


def test_other_workbooks_are_named_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "x.ods"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    assert refused(path) == "x.ods: is an OpenDocument file. Open it in Excel or LibreOffice and save it as .xlsx."
    (tmp_path / "x.xlsx").write_text("id,gold\n")
    assert refused(tmp_path / "x.xlsx").startswith("x.xlsx: is not an Excel workbook. Open it in Excel")


def test_a_workbook_is_not_written(tmp_path: Path) -> None:
    questions = read_evalset(write_workbook(tmp_path / "x.xlsx", {"S": [["id", "gold"], ["q", "a b"]]}))
    with pytest.raises(InvalidInputError, match=r"y\.xlsx: workbooks are read, not written\. Write a \.csv file"):
        write_evalset(questions, tmp_path / "y.xlsx")


def test_without_its_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [["id", "gold"], ["q", "a b"]]})
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[xlsx\]"'):
        read_evalset(path)
