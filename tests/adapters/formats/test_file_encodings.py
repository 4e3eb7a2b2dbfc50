"""What is said of files in another encoding, and of workbooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import InvalidInputError, read_evalset


def refused(path: Path) -> str:
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path)
    return str(error.value).replace(str(path), path.name)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json"])
def test_a_file_in_another_encoding_is_refused_with_its_name_and_a_piece_of_its_text(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"set.{ending}"
    texts = {
        "csv": "id,question\nq1,환불은 언제?\n",
        "tsv": "id\tquestion\nq1\t환불은 언제?\n",
        "jsonl": '\n{"question": "환불은 언제?"}\n',
        "json": '\n[{"question": "환불은 언제?"}]\n',
    }
    path.write_bytes(texts[ending].encode("cp949"))
    message = refused(path)
    assert message.startswith(f"set.{ending}:2: not UTF-8 at byte ")
    assert "; as cp949 it reads '환불은 언제?" in message
    assert message.endswith(". Read it with encoding='cp949', or save it as UTF-8, which Excel calls “CSV UTF-8”.")


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_unicode_text_of_excel_is_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"set.{ending}"
    path.write_bytes("id\tquestion\nq1\tКогда?\n".encode("utf-16"))
    assert "it looks like UTF-16, which Excel calls “Unicode Text”. Read it with encoding='utf-16', or" in refused(path)


@pytest.mark.parametrize("name", ["set.xlsx", "set.csv", "set.xls"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x14\x00\xff", "is no readable Excel workbook (File is not a zip file). It may be damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is a workbook of Excel 97 (.xls), or protected by a password. Open it in"),
    ],
)
def test_a_workbook_is_named_whatever_its_ending(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert refused(path).startswith(f"{name}: {message}")
    assert "save it as .xlsx" in refused(path)
