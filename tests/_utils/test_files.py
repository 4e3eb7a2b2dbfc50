"""A file is read line by line, each mistake with its line; a file is written whole or not at all."""

from __future__ import annotations

import itertools
import os
import stat
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.files.io import lines_of, write_atomically
from krag_eval._utils.files.strict_json import parse_jsonl


def read_jsonl(path: str | Path) -> Iterator[tuple[str, dict[str, object]]]:
    return parse_jsonl(lines_of(path), path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_rows_come_with_their_path_and_line_and_empty_lines_count(path: Path) -> None:
    path.write_bytes(b'\n{"a": 1}\r\n \t\n{"a": 2}')
    assert list(read_jsonl(path)) == [(f"{path}:2", {"a": 1}), (f"{path}:4", {"a": 2})]


def test_the_path_may_be_a_string(path: Path) -> None:
    path.write_text('{"a": null}')
    assert list(read_jsonl(str(path))) == [(f"{path}:1", {"a": None})]


def test_only_a_newline_ends_a_line(path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d"
    path.write_text(f'{{"text": "{text}"}}\n{{}}\n', encoding="utf-8")
    assert list(read_jsonl(path)) == [(f"{path}:1", {"text": text}), (f"{path}:2", {})]


def test_a_byte_order_mark_is_passed_over_at_the_beginning_and_nowhere_else(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n")
    rows = read_jsonl(path)
    assert next(rows) == (f"{path}:1", {})
    with pytest.raises(InvalidInputError, match=":2: not valid JSON"):
        next(rows)


def test_rows_before_a_broken_line_are_given_before_it_is_read(path: Path) -> None:
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n{"a"')
    rows = read_jsonl(path)
    assert [row["a"] for _, row in itertools.islice(rows, 2)] == [1, 2]
    with pytest.raises(InvalidInputError) as error:
        next(rows)
    assert str(error.value).startswith(f"{path}:3: not valid JSON")


def test_of_a_large_file_only_a_line_is_held_in_memory(path: Path) -> None:
    row = '{"text": "' + "x" * 10_000 + '"}\n'
    path.write_text(row * 1_000)
    assert len(list(itertools.islice(read_jsonl(path), 9))) == 9  # imports NumPy, which is not what is measured
    tracemalloc.start()
    count = sum(1 for _ in read_jsonl(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1_000
    assert peak < path.stat().st_size / 20


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"{", "not valid JSON"),
        (b'{"a": 1}{"a": 2}', "not valid JSON"),
        (b'{"a": NaN}', "NaN is not a JSON value"),
        (b'{"a": 1, "a": 2}', "the key 'a' appears twice"),
        (b'"\xc3"', "not UTF-8 at byte 1"),
        (b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "nested too deep"),
        (b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", "nested too deep"),
        (b"[{}]", "holds a list"),
        (b"\x00", "not valid JSON"),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_a_line_that_is_no_object_is_named(path: Path, row: bytes, message: str) -> None:
    path.write_bytes(b"{}\n" + row + b"\n{}\n")
    with pytest.raises(InvalidInputError) as error:
        list(read_jsonl(path))
    assert str(error.value).startswith(f"{path}:2: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "reason"), [("absent", "No such file"), (".", "Is a directory"), ("a" * 300, "too long")]
)
def test_a_file_that_cannot_be_opened_is_named_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        list(read_jsonl(tmp_path / name))
    assert str(error.value).startswith(f"{tmp_path / name}: cannot be read (")
    assert reason in str(error.value)


def test_a_file_is_written_as_utf_8_with_its_line_ends_unchanged(path: Path) -> None:
    write_atomically(path, ["환불\n", "возврат\r\n", "", "退款"])
    assert path.read_bytes() == "환불\nвозврат\r\n退款".encode()


def test_an_older_file_is_replaced_whole(path: Path) -> None:
    path.write_text("something much longer")
    write_atomically(str(path), ["new"])
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", ["old", None])
def test_a_failure_half_way_leaves_what_was_there_and_nothing_else(
    path: Path, error: type[BaseException], old: str | None
) -> None:
    def parts() -> Iterator[str]:
        yield "new " * 10_000
        raise error

    if old is not None:
        path.write_text(old)
    with pytest.raises(error):
        write_atomically(path, parts())
    assert {file.name: file.read_text() for file in path.parent.iterdir()} == ({path.name: old} if old else {})


def test_nothing_stands_under_the_name_while_it_is_written(path: Path) -> None:
    seen: list[bool] = []

    def parts() -> Iterator[str]:
        for _ in range(2):
            seen.append(path.exists())
            yield "x" * 100_000

    write_atomically(path, parts())
    assert (seen, path.stat().st_size) == ([False, False], 200_000)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_the_permissions_are_those_of_any_new_file_under_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(path, ["x"])
        assert os.umask(umask) == umask, "writing changed the umask"
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("name", ["absent/out.json", "a" * 300])
def test_a_file_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        write_atomically(tmp_path / name, ["x"])
    assert str(error.value).startswith(f"{tmp_path / name}: cannot be written (")


def test_a_folder_is_not_written_over_and_no_temporary_file_is_left(path: Path) -> None:
    path.mkdir()
    with pytest.raises(InvalidInputError) as error:
        write_atomically(path, ["x"])
    assert str(error.value).startswith(f"{path}: cannot be written (")
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_a_link_and_the_file_behind_it_is_written(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "elsewhere" / "target.jsonl"
    target.parent.mkdir()
    target.write_text("old")
    path.symlink_to(target)
    write_atomically(path, ["new"])
    assert path.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_or_a_device_is_written_to_and_never_replaced(path: Path) -> None:
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, ["through"])
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
