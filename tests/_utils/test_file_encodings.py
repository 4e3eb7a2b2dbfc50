"""What is said of files that spreadsheets saved in another encoding."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, read_evalset
from krag_eval._utils.files.encodings import encoding_of

TEXTS = {
    "cp949": "q1,환불은 영업일 기준 3일 이내에 입금되나요?,refunds",
    "cp1251": "q1,«Когда» вы вернёте деньги — и как? Я жду.,refunds",
    "gb18030": "q1,退款需要几个工作日,周日是否营业？,refunds",
    "cp932": "q1,返金はいつですか。営業日で三日,refunds",
    "cp950": "q1,退款需要幾個工作天？週日營業嗎,refunds",
    "cp1252": "q1,Où est le café près de l’église créée ?,refunds",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_encoding_of_a_line_is_told_by_its_script(encoding: str) -> None:
    assert encoding_of(TEXTS[encoding].encode(encoding)) == encoding


def test_what_comes_after_pages_of_ascii_is_looked_at() -> None:
    assert encoding_of(b"x" * 9999 + "환불".encode("cp949")) == "cp949"


@pytest.mark.parametrize("data", [b"", b"plain", b"\x00\x01\xff\xfe" * 9, bytes(range(128, 256)), "한 бег".encode()])
def test_nothing_is_guessed_of_bytes_that_are_text_in_no_script(data: bytes) -> None:
    assert encoding_of(data) is None


ENCODINGS = {
    **dict.fromkeys(TEXTS),
    "euc-kr": "cp949",
    "utf-16": None,
    "utf-16-le": None,
    "utf-8": None,
    "utf-8-sig": None,
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_file_in_a_named_encoding_is_read(tmp_path: Path, encoding: str, ending: str) -> None:
    text = TEXTS.get(ENCODINGS[encoding] or encoding, TEXTS["cp949"])
    rows = {
        "csv": f'id,question,gold\r\nq1,"{text}",[]\r\n',
        "jsonl": f'{{"id": "q1", "question": "{text}", "gold": []}}\n',
    }
    path = tmp_path / f"set.{ending}"
    path.write_bytes(rows.get(ending, f"[\n{rows['jsonl']}]").encode(encoding))
    assert read_evalset(path, encoding=encoding)["q1"].question == text


@pytest.mark.parametrize("encoding", ["cp949", "utf-16", "cp1251"])
def test_a_file_in_utf8_stays_what_it_is_under_any_named_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text("id,question,gold\nq1,환불은 언제?,[]\n", encoding="utf-8")
    assert read_evalset(path, encoding=encoding)["q1"].question == "환불은 언제?"


def test_a_line_that_is_not_in_the_named_encoding_is_refused_at_its_place_with_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_bytes("id,question,gold\nq1,plain,[]\nq2,환불은 언제?,[]\n".encode("cp949"))
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path, encoding="ascii")
    message = str(error.value).replace(str(path), path.name)
    assert message.startswith("set.csv:3: not ascii; as cp949 it reads")
    assert "Read it with encoding='cp949'" in message


@pytest.mark.parametrize("name", ["cp499", "hex", "rot13", "", "utf9"])
def test_an_encoding_that_there_is_not_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^Unknown `encoding` .* Known are cp1251, .* and the others of Python\."
    ):
        read_evalset(tmp_path / "set.csv", encoding=name)


def test_the_copy_of_a_decoded_file_goes_with_what_was_read_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "set.csv"
    path.write_bytes("id,question,gold\nq1,환불은 언제?,[]\n".encode("cp949"))
    assert len(read_evalset(path, encoding="cp949")) == 1
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []
