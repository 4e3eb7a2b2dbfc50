"""Lists in cells of CSV as pandas writes them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, Question, read_evalset


def read(path: Path, column: str, cell: str) -> Question:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", column], ["q1", cell]])
    return read_evalset(path)["q1"]


@pytest.mark.parametrize("ids", [["d1", "d2"], ["it's", 'a "b"'], [7, -8, 0], ["a, b", "c]"], ["한국어\n둘째 줄"]])
def test_a_list_as_python_writes_it_is_read_as_it_was(tmp_path: Path, ids: list[object]) -> None:
    assert read(tmp_path / "set.csv", "gold_chunk_ids", repr(ids)).gold_chunk_ids == tuple(map(str, ids))


def test_passages_are_read_from_such_a_list_too(tmp_path: Path) -> None:
    gold = read(tmp_path / "set.csv", "gold", "['Three days.', \"It's free.\"]").gold
    assert [document.text for document in gold] == ["Three days.", "It's free."]


@pytest.mark.parametrize(
    "cell", ["['a' 'b']", "['a', b]", "['a'", "[__import__('os')]", "['a', ['b']]", r"['\x']", "[01]"]
)
def test_what_is_no_list_of_texts_with_commas_is_refused(tmp_path: Path, cell: str) -> None:
    with pytest.raises(InvalidInputError, match=r"set\.csv:2: `gold_chunk_ids` must be a JSON list"):
        read(tmp_path / "set.csv", "gold_chunk_ids", cell)
