"""Fuzz target: whatever a file holds, a reader gives what writes and reads back the same, or says where it is wrong."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from krag_eval import EvalSet, InvalidInputError, Run, read_corpus, read_evalset, read_run, write_evalset, write_run
from krag_eval.analysis.gate import read_policy
from krag_eval.datasets.streaming import stream_pairs
from krag_eval_formats.topics import read_queries
from krag_eval_labels.validation import validate

# The first byte of an input says under which name the rest is read, the second by which reader.
NAMES = (
    *("x.jsonl", "x.json", "x.csv", "x.tsv", "x.qrels", "x.run", "x", "x.jsonl.gz", "x.toml"),
    *("x.ragas.jsonl", "x.squad.json", "x.scores.json", "x.llama_index.json"),
)
READERS: tuple[Callable[[Path], object], ...] = (
    read_evalset,
    read_run,
    read_corpus,
    lambda path: list(read_queries(path)),
    lambda path: list(stream_pairs(path, path)),
    lambda path: validate(path, ignore=("near_duplicate", "similar_question")),
    read_policy,
)
_MEMORY = Path("/dev/shm")  # a file in memory takes a tenth of the time


def check(data: bytes) -> None:
    """Read an input.

    Raises:
        AssertionError: A message does not name the file, or what was read does not read back the same.
        Exception: Whatever a reader raised that is no InvalidInputError: a finding.
    """
    if len(data) < 2:
        return
    folder = Path(tempfile.mkdtemp(prefix="krag-fuzz-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check(folder / NAMES[data[0] % len(NAMES)], READERS[data[1] % len(READERS)], data[2:])
    finally:
        shutil.rmtree(folder)


def _check(path: Path, read: Callable[[Path], object], content: bytes) -> None:
    path.write_bytes(content)
    try:
        found = read(path)
    except InvalidInputError as error:
        found = None
        message = str(error)
    else:
        message = f"{path}"
    assert str(path) in message
    assert len(message) < 1_500
    again = path.parent / "again.jsonl"
    if isinstance(found, EvalSet):
        write_evalset(found, again)
        assert read_evalset(again) == found
    elif isinstance(found, Run):
        write_run(found, again, format="jsonl")
        assert dict(read_run(again).rows) == dict(found.rows)
