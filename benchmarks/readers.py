"""Files of questions and rankings: read by krag_eval, which checks each row, and parsed as JSON alone.

`python -m benchmarks.readers` prints the rows by itself.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.data import collection
from benchmarks.harness import Prepare, Row, check_equal, in_turn, profiled
from krag_eval import EvalSet, Run, RunRow, read_evalset, read_run, write_evalset, write_run

DEPTH = 10


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the files."""
    n_rows, rounds = (50, 1) if smoke else (10_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        for work, path, read in _files(Path(folder), n_rows):

            def ours(path: Path = path, read: Callable[[Path], Any] = read) -> Prepare:
                return lambda: lambda: read(path)

            times = in_turn(rounds, ours(), *(_parsed(path, loads) for _, loads in PARSERS))
            for (peer, loads), theirs in zip(PARSERS, times[1:], strict=True):
                has_header = path.name == "journal.jsonl"
                check_equal(f"the number of rows of {path.name}", len(times[0].result), theirs.result - has_header)
                row = Row(work=f"{n_rows:,} {work}", peer=peer, ours=times[0].seconds, theirs=theirs.seconds)
                if loads is not json.loads:
                    row = replace(row, limit=theirs.seconds, limited_by="`orjson.loads` of each line, nothing checked")
                yield profiled(row, ours())


def _orjson_loads(line: bytes) -> Any:
    import orjson

    return orjson.loads(line)


PARSERS: tuple[tuple[str, Callable[[bytes], Any]], ...] = (
    ("json.loads, nothing checked", json.loads),
    ("orjson.loads, nothing checked", _orjson_loads),
)


def _parsed(path: Path, loads: Callable[[bytes], Any]) -> Prepare:
    def parse() -> int:
        with path.open("rb") as file:
            return len([loads(line) for line in file])

    return lambda: parse


def _files(folder: Path, n_rows: int) -> Iterator[tuple[str, Path, Callable[[Path], Any]]]:
    """Write a set, a run and a journal, each with texts of 40 words, and a run of ids alone."""
    texts = collection(n_rows, 3, DEPTH, n_tokens=40)
    questions = [
        {"id": f"q{number}", "question": gold[0][:60], "gold": [{"id": one[:12], "text": one} for one in gold]}
        for number, gold in enumerate(texts.gold)
    ]
    write_evalset(EvalSet(questions), folder / "set.jsonl")
    yield "questions x 3 gold texts, JSONL", folder / "set.jsonl", read_evalset
    for name, has_texts, recorded in (("ids", False, {}), ("run", True, {}), ("journal", True, {"k": DEPTH})):
        rows = [
            RunRow.from_dict({"query_id": f"q{number}", "retrieved": _documents(ranking, has_texts)})
            for number, ranking in enumerate(texts.retrieved)
        ]
        path = folder / f"{name}.jsonl"
        write_run(Run.of(name, rows, recorded=recorded), path)
        kind = "journal with checksums" if recorded else "JSONL"
        yield f"rankings x {DEPTH} {'texts' if has_texts else 'ids'}, {kind}", path, read_run


def _documents(ranking: list[str], has_texts: bool) -> list[dict[str, Any]]:
    scored = [{"id": text[:12], "score": 1 / rank} for rank, text in enumerate(ranking, 1)]
    return [one | {"text": text} for one, text in zip(scored, ranking, strict=True)] if has_texts else scored


if __name__ == "__main__":
    for line in run(smoke=False):
        print(*line.cells(), sep="  ")
