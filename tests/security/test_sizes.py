"""Files that are larger than they look, or deeper, or have no end: refused in bounded time and memory."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, read_evalset, read_run
from krag_eval._utils.limits import limit
from krag_eval_formats.topics import read_queries
from krag_eval_labels.validation import validate

pytestmark = pytest.mark.full

MB = 2**20


def write_bomb(path: Path, unit: bytes, size: int) -> int:
    """Pack `size` bytes of a repeated unit; how many bytes that took."""
    block = unit * (16 * MB // len(unit))
    path.write_bytes(gzip.compress(block) * (size // len(block)))
    return path.stat().st_size


@pytest.mark.parametrize(
    ("unit", "size", "message"),
    [
        (b"[", 300 * MB, ":1: unpacks to a line of more than 64 MB"),
        (b" " * 65_535 + b"\n", 100 * MB, "unpacks to more than 500 times its size, which is no real data"),
    ],
    ids=["one line without an end", "lines with nothing on them"],
)
def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(
    unit: bytes, size: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl.gz"
    assert write_bomb(path, unit, size) < 0.4 * MB
    tracemalloc.start()
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path, format="jsonl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message in str(error.value)
    assert peak < 3 * limit("row")


def test_a_parquet_of_many_rows_in_few_bytes_is_read_a_batch_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    text = pa.array(["x" * 1_000]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.nulls(300_000, pa.int32()).fill_null(0), text.dictionary)
    pq.write_table(pa.table({"question": column}), path, compression="zstd")
    assert path.stat().st_size < 0.1 * MB
    tracemalloc.start()
    with pytest.raises(InvalidInputError, match=r"row 1: `gold` is missing"):
        read_evalset(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * MB


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.qrels", "x.run"])
def test_a_line_without_an_end_is_refused_at_the_bound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=1000")
    lines = {
        "x.jsonl": b'{"id": "q", "gold": []}',
        "x.csv": b"id,gold",
        "x.qrels": b"q 0 a 1",
        "x.run": b"q Q0 a 1 1 t",
    }
    (tmp_path / name).write_bytes(lines[name] + b"\n" + b"9" * 1_001)
    with pytest.raises(InvalidInputError, match=rf"{name}:2: this line has more than 1000 B"):
        (read_run if name == "x.run" else read_evalset)(tmp_path / name)


@pytest.mark.parametrize("reader", [read_evalset, read_queries], ids=["evalset", "queries"])
def test_a_device_without_an_end_is_refused_at_the_bound(
    reader: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=3MB,file=3MB")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    with pytest.raises(InvalidInputError, match="more than"):
        list(reader(tmp_path / "zero.json"))  # type: ignore[operator]  # a reader


BRACKETS = {"lists": (b"[", b"]"), "objects": (b'{"a":', b"}"), "both": (b'[{"a":', b"}]"), "left open": (b"[", b"")}


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x"])
@pytest.mark.parametrize("kind", BRACKETS)
def test_nesting_of_20_000_levels_is_refused(kind: str, name: str, tmp_path: Path) -> None:
    opened, closed = BRACKETS[kind]
    deep = opened * 20_000 + b"1" + closed * 20_000
    row = b'{"id": "q", "gold": [], "x": ' + deep + b"}"
    if name == "x.csv":
        row = b'id,metadata,gold\nq,"' + row.replace(b'"', b'""') + b'",[]\n'
    (tmp_path / name).write_bytes(row)
    with pytest.raises(InvalidInputError) as error:
        read_evalset(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}")
    if name == "x.jsonl":
        assert [finding.kind for finding in validate(tmp_path / name).findings] == ["unreadable"]


def test_as_deep_as_allowed_can_also_be_written_compared_and_hashed(tmp_path: Path) -> None:
    levels = opening_levels = 198  # with the row and its metadata
    deep = b"[" * levels + b"1" + b"]" * opening_levels
    (tmp_path / "x.jsonl").write_bytes(b'{"id": "q", "gold": [], "metadata": {"x": ' + deep + b"}}\n")
    evalset = read_evalset(tmp_path / "x.jsonl")
    assert evalset == read_evalset(tmp_path / "x.jsonl")
    assert len(evalset.fingerprint) == 16
    assert repr(evalset[0])
