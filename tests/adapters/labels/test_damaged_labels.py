"""A file of labels that was damaged after it was written is refused, whatever the damage."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.journal.rows import read_checked, with_checksum
from krag_eval_labels.files import put_label

ROWS = [
    {"query_id": f"q{number}", "document": {"id": f"d{number}", "text": "배송은 무료"}, "label": number % 3, "note": ""}
    for number in range(4)
]
LINES = [with_checksum(row, "a label") for row in ROWS]
DAMAGES: dict[str, Callable[[random.Random, bytearray], object]] = {
    "a bit": lambda draw, data: data.__setitem__(at := draw.randrange(len(data)), data[at] ^ 1 << draw.randrange(8)),
    "a digit": lambda draw, data: data.__setitem__(draw.choice(_digits(data)), draw.choice(b"0123456789")),
    "a byte lost": lambda draw, data: data.pop(draw.randrange(len(data))),
    "a byte twice": lambda draw, data: data.insert(at := draw.randrange(len(data)), data[at]),
    "two places changed": lambda draw, data: data.__setitem__(
        slice(at := draw.randrange(len(data) - 9), at + 9), data[at : at + 9][::-1]
    ),
    "an end lost": lambda draw, data: data.__delitem__(slice(-draw.randrange(2, len(LINES[-1].encode())), None)),
}


def _digits(data: bytearray) -> list[int]:
    return [at for at, byte in enumerate(data) if byte in b"0123456789"]


def read(path: Path) -> list[dict[str, object]]:
    return [row for _, row in read_checked(path)]


@pytest.mark.full
@pytest.mark.parametrize("kind", DAMAGES)
def test_none_of_400_damages_of_each_kind_is_silent(kind: str, tmp_path: Path) -> None:
    path, draw, n_refused = tmp_path / "labels.jsonl", random.Random(7), 0
    for _ in range(400):
        data = bytearray("".join(LINES).encode())
        DAMAGES[kind](draw, data)
        path.write_bytes(data)
        with contextlib.suppress(InvalidInputError):
            n_refused += 1
            assert read(path) == ROWS, bytes(data)
            n_refused -= 1
    assert n_refused > 300


def test_a_file_without_checksums_is_read_and_gets_them_with_the_next_label(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    assert read(path) == ROWS
    more = {"query_id": "q9", "document": {"id": "d9"}, "label": True}
    assert put_label(path, more) == 5
    assert read(path) == [*ROWS, more]
    assert all(line.endswith('"}') and ', "crc": "' in line for line in path.read_text("utf-8").splitlines())


def test_a_row_that_a_person_adds_to_rows_with_checksums_is_named_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join([*LINES, json.dumps(ROWS[0])]), encoding="utf-8")
    with pytest.raises(
        InvalidInputError, match=r"labels\.jsonl:5: the checksum of the row is missing: .* take `crc` out"
    ):
        read(path)
