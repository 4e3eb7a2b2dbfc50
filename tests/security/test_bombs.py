"""Small files that take gigabytes or hours where nothing is bounded: each is refused in bounded memory and work."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, evaluate, read_evalset, set_limits
from krag_eval._utils.limits import LIMITS_VARIABLE
from tests.support.workbooks import write_workbook

MB = 2**20
SHEET = "xl/worksheets/sheet1.xml"
READ = "from krag_eval import read_evalset; read_evalset(path)"
LOG = "from krag_eval import score_logs; score_logs(path, path + '.out', match_method='id')"
RUN = "from krag_eval import read_run; read_run(path)"
NORMAL = "from krag_eval import evaluate, read_evalset; evaluate([read_evalset(path)[0].gold], [[{'text': 'x'}]])"
# The outcome, the most memory in MB and the processor seconds of a child, which may take 6 GB at most.
CHILD = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import krag_eval
path, started = sys.argv[1], time.process_time()
try:
    exec(sys.argv[2])
    told = "read"
except krag_eval.InvalidInputError as error:
    told = str(error)
status = open("/proc/self/status").read()  # `getrusage` counts what the parent had when it forked
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024, time.process_time() - started, ascii(told))
"""


def packed(path: Path, before: bytes, unit: bytes, n_units: int, after: bytes) -> None:
    with gzip.open(path, "wb") as file:
        file.write(before)
        for _ in range(16):
            file.write(unit * (n_units // 16))
        file.write(after)


def one_string(path: Path) -> None:
    pq.write_table(
        pa.table({"id": ["q"], "question": ["x" * 600 * MB], "gold_chunk_ids": [["a"]]}), path, compression="zstd"
    )


def repeated_string(path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * MB]))
    table = pa.table({"id": [f"q{n}" for n in range(100_000)], "question": text, "gold": pa.array([[]] * 100_000)})
    pq.write_table(table, path, compression="zstd", store_schema=False)


def repeated_text(path: Path) -> None:
    """One text in every document of one query; what else the row group has, cannot be packed."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(60_000, np.int32)), pa.array(["x" * 2**16]))
    found = pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), pa.StructArray.from_arrays([text], ["text"]))
    noise = pa.array([np.random.default_rng(0).bytes(10 * MB)], pa.binary())
    table = pa.table({"id": ["q"], "question": ["?"], "gold": found, "noise": noise})
    pq.write_table(table, path, store_schema=False)


def long_list(path: Path) -> None:
    empty = pa.StructArray.from_arrays([pa.nulls(20_000_000, pa.string())], ["id"])
    found = pa.ListArray.from_arrays(pa.array([0, len(empty)], pa.int32()), empty)
    pq.write_table(pa.table({"query_id": ["q"], "actual": [[{"id": "a"}]], "predicted": found}), path)


def many_rows(path: Path) -> None:
    rows = pa.array(np.zeros(20_000_000, np.int8))
    pq.write_table(pa.table({"id": rows, "question": rows}), path, row_group_size=len(rows))


def many_columns(path: Path) -> None:
    pq.write_table(pa.table({f"c{n}": pa.array([1], pa.int8()) for n in range(20_001)}), path, write_statistics=False)


def workbook(old: bytes, new: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        write_workbook(path, {"S": [["id", "gold"], ["q", "a b"]]})
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        assert old in parts[SHEET]
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, part in parts.items():
                file.writestr(name, part.replace(old, new, 1) if name == SHEET else part)

    return make


def document(text: str, n_times: int) -> Callable[[Path], None]:
    before, after = b'{"id": "q", "gold": [{"text": "', b'"}]}\n'
    return lambda path: packed(path, before, text.encode(), n_times, after)


END = b"</sheetData>"
QUESTION = b'{"id": "q", "gold": [], "metadata": '
BOMBS: dict[str, tuple[str, Callable[[Path], object], str, str]] = {
    "parquet, one string": ("x.parquet", one_string, READ, r"column `question` unpacks .* set_limits\(file="),
    "parquet, a string repeated": ("x.parquet", repeated_string, READ, "row .*unpack to more than 500 times"),
    "parquet, a text repeated": ("x.parquet", repeated_text, READ, r"row 1 unpacks to .* set_limits\(row="),
    "log, one list": ("x.parquet", long_list, LOG, r"predicted.* has 20,000,000 values in .* set_limits\(values="),
    "parquet, runs of rows": ("x.parquet", many_rows, READ, r"has 20,000,000 values in .* bytes"),
    "parquet, columns": ("x.parquet", many_columns, READ, r"has 20,001 columns.* set_limits\(columns="),
    "gzip, empty lists": (
        "x.jsonl.gz",
        lambda path: packed(path, b'{"id": "q", "gold": [', b"[],", 16_000_000, b"[]]}\n"),
        READ,
        r":1: has more than 4,000,000 values.* set_limits\(values=",
    ),
    "gzip, empty lines": ("x.jsonl.gz", lambda path: packed(path, b"", b"\n", 60_000_000, b""), READ, ":1000001: more"),
    "gzip of gzip": (
        "x.jsonl.gz",
        lambda path: path.write_bytes(gzip.compress(gzip.compress(bytes(50 * MB)))),
        READ,
        ":1: not UTF-8",
    ),
    "json, keys": (
        "x.json",
        lambda path: path.write_bytes(b"[{" + b",".join(b'"%d":1' % n for n in range(5_000_000)) + b"}]"),
        READ,
        r"has more than 4,000,000 values",
    ),
    "json, one integer": (
        "x.jsonl",
        lambda path: path.write_bytes(QUESTION + b'{"x": ' + b"9" * 30_000_000 + b"}}"),
        READ,
        "4300 digits",
    ),
    "json, a text of 300 MB": (
        "x.json",
        lambda path: path.write_bytes(b'[{"id": "' + b"x" * 300 * MB + b'"}]'),
        READ,
        r"more than 256 MB.* set_limits\(file=",
    ),
    "csv, one field": (
        "x.csv",
        lambda path: path.write_bytes(b"id,gold\nq," + b"x" * 100 * MB),
        READ,
        r":2: this line has more than 64 MB.* set_limits\(row=",
    ),
    "csv, columns": (
        "x.csv",
        lambda path: path.write_bytes(b"id," + b",".join(b"%d" % n for n in range(1_000_000)) + b"\n"),
        READ,
        r":1: has 1,000,001 columns.* set_limits\(columns=",
    ),
    "trec, one query": (
        "x.run",
        lambda path: path.write_bytes(b"q Q0 d 1 1 t\n" * 1_100_000),
        RUN,
        r":1000001: the query .* has 1,000,001 lines.* set_limits\(values=",
    ),
    "xlsx, cells": (
        "x.xlsx",
        workbook(END, b"<row>" + b"<c/>" * 12_000_000 + b"</row>" + END),
        READ,
        r"more than 1,000,000 cells.* set_limits\(cells=",
    ),
    "xlsx, rows": ("x.xlsx", workbook(END, b"<row/>" * 9_000_000 + END), READ, "more than 1,000,000 cells"),
    "xlsx, merged cells": (
        "x.xlsx",
        workbook(END, END + b'<mergeCells count="1"><mergeCell ref="A3:XFD1048576"/></mergeCells>'),
        READ,
        "more than 1,000,000 cells",
    ),
    "xlsx, entities": (
        "x.xlsx",
        workbook(b"<worksheet", b"<!DOCTYPE x []><worksheet"),
        READ,
        "entities",
    ),
    "xlsx, packed spaces": (
        "x.xlsx",
        lambda path: workbook(END, END + b" " * 400 * MB)(path),
        READ,
        r"to 400 MB, too much for a workbook.* set_limits\(file=",
    ),
    "a character of eighteen": ("x.jsonl.gz", document("\ufdfa", 10_000_000), NORMAL, "after NFKC.* set_limits.text="),
    "a letter with marks": ("x.jsonl.gz", document("\u0301\u0316", 4_000_000), NORMAL, "after NFKC"),
}


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_within_a_gigabyte_and_ten_seconds_of_work(bomb: str, tmp_path: Path) -> None:
    name, make, code, message = BOMBS[bomb]
    make(tmp_path / name)
    command = [sys.executable, "-c", CHILD, str(tmp_path / name), code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    most_memory, seconds, told = done.stdout.split(" ", 2)
    assert re.search(message, told), told
    assert int(most_memory) < 1024
    assert float(seconds) < 10


@pytest.fixture
def own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "")


@pytest.mark.usefixtures("own_limits")
def test_a_row_is_read_once_the_limit_that_the_message_names_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    row = {"id": "q", "question": "?", "gold_chunk_ids": [str(n) for n in range(20_000)]}
    path.write_text(json.dumps(row), encoding="utf-8")
    for name, size in (("row", 20_000), ("values", 12_000)):
        set_limits(**{name: size})
        with pytest.raises(InvalidInputError, match=rf"x\.jsonl:1: .*set_limits\({name}=") as error:
            read_evalset(path)
        advised = str(error.value).rpartition("set_limits(")[2].split('"')
        set_limits(**{name: advised[1]})
    assert len(read_evalset(path)[0].gold_chunk_ids or ()) == 20_000


@pytest.mark.usefixtures("own_limits")
def test_commas_and_brackets_in_a_text_are_no_values(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    row = {"id": "q", "question": '?, [{ " \\ ,' * 20_000, "gold_chunk_ids": [f"{n}," for n in range(11_000)]}
    path.write_text(json.dumps(row), encoding="utf-8")
    set_limits(values="12k")
    assert read_evalset(path)[0].question == row["question"]


@pytest.mark.usefixtures("own_limits")
def test_a_limit_that_is_unknown_or_no_size_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"There is no limit 'rows'. Did you mean 'row'\?"):
        set_limits(rows="1GB")
    with pytest.raises(InvalidInputError, match="must be a size such as 500MB or 10M, got 'much'"):
        set_limits(row="much")
    assert set_limits()["row"] == 64 * MB


@pytest.mark.usefixtures("own_limits")
def test_rouge_l_of_texts_that_are_too_long_names_the_query_and_the_document() -> None:
    rng = np.random.default_rng(0)
    one, other = (" ".join(map(str, rng.integers(0, 300, 3000).tolist())) for _ in range(2))
    gold, found = [[{"text": "a"}]] * 7 + [[{"text": one}]], [[{"text": "a"}]] * 7 + [[{"text": "b"}, {"text": other}]]
    settings: dict[str, Any] = {"match_method": "rougeL", "threshold": 0.1}
    assert evaluate(gold, found, k=2, **settings)["recall@2"] == 1
    set_limits(token_pairs="8M")
    with pytest.raises(InvalidInputError) as error:
        evaluate(gold, found, k=2, **settings)
    assert str(error.value).startswith(
        "`actual[7][0]` (query 7, rank 1) and `predicted[7][1]` (query 7, rank 2): texts of 3,000 and 3,000 tokens are "
        "too long for rougeL, which compares at most 8,000,000 pairs of tokens."
    )
    set_limits(token_pairs="9M")
    assert evaluate(gold, found, k=2, **settings)["recall@2"] == 1
