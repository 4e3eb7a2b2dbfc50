"""Files that krag_eval writes and reads again, random damage to them, and what the reading of a damaged one says."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from krag_eval import InvalidInputError, read_evalset, read_run, run_retriever, write_evalset, write_run
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from krag_eval.datasets import EvalSet
from krag_eval_scale import ColumnarScorer, PartialState, score_logs
from tests.support.log_cases import WHOLE, write_logs

BLOCK = 4096
KIND = JournalKind("krag_eval_verdicts", "set of verdicts")
SET = EvalSet(
    [
        {"id": f"q{n}", "question": f"질문 {n}?", "gold": [{"id": f"c{n}", "text": f"passage {n} " * 5}], "type": "a"}
        for n in range(200)
    ],
    name="set",
)
# What a row that is missing means: it is reported by `evaluate`, or found out once more on resuming.
LOST = "reported as missing"


@dataclass(frozen=True)
class Files:
    """Files of one kind.

    Attributes:
        make: Writes them into a folder, as an interrupted or finished program leaves them.
        look: Returns what they hold, or raises.
        victims: The files that are damaged.
        lost: Returns whether the second result lacks rows of the first, and each of these is reported.
    """

    make: Callable[[Path], object]
    look: Callable[[Path], Any]
    victims: tuple[str, ...]
    lost: Callable[[Any, Any], bool] = lambda _, __: False


def faults(content: bytes, random: Random) -> bytes:
    """Return the content with one random fault."""
    data, how = bytearray(content), random.choice(["flip", "flip", "flip", "cut", "zero", "zero block", "copy", "swap"])
    size = min(BLOCK, max(1, len(data) // 4))
    one, other = (random.randrange(-(-len(data) // size)) * size for _ in range(2))
    if how == "flip":
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif how == "cut":
        del data[random.choice([0, random.randrange(len(data))]) :]
    elif how == "zero":
        start = random.randrange(len(data))
        data[start : start + size] = bytes(len(data[start : start + size]))
    elif how == "zero block":
        data[one : one + size] = bytes(len(data[one : one + size]))
    else:
        length = min(size, len(data) - max(one, other))
        first, second = data[one : one + length], data[other : other + length]
        data[other : other + length] = first
        if how == "swap":
            data[one : one + length] = second
    return bytes(data)


def classify(files: Files, n: int, seed: int = 0) -> Counter[str]:
    """Damage files `n` times, each time anew, and count what is said.

    Returns:
        How often each of: "refused" by name, "identical" to the undamaged result, `LOST`, and what must never be:
        "WRONG" with the damage, and "UNCAUGHT" with the error.
    """
    random, counts = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, work = Path(name, "whole"), Path(name, "work")
        work.mkdir()
        files.make(work)
        shutil.copytree(work, whole)
        expected = files.look(work)
        for number in range(n):
            shutil.rmtree(work)
            shutil.copytree(whole, work)
            victim = work / files.victims[number % len(files.victims)]
            before = victim.read_bytes()
            victim.write_bytes(faults(before, random))
            os.utime(victim, (0, 0))
            counts[_said(files, work, victim, expected, f"{seed}, {number}")] += 1
    return counts


def _said(files: Files, work: Path, victim: Path, expected: Any, number: str) -> str:
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = files.look(work)
    except InvalidInputError as error:
        stem = victim.name.split(".")[0]
        return "refused" if stem in str(error) or "`PartialState.to_json`" in str(error) else f"UNNAMED {error}"
    except Exception as error:  # noqa: BLE001 - any other error is a finding
        return f"UNCAUGHT {number}: {type(error).__name__}: {error}"
    if found == expected:
        return "identical"
    if any(f"{victim.name}: is empty" in str(one.message) for one in told):
        return LOST
    return LOST if files.lost(expected, found) else f"WRONG {number}"


def _lacks(expected: Any, found: Any) -> bool:
    return bool(found.items() <= expected.items())


def _make_run(folder: Path) -> None:
    run_retriever(SET, lambda _: [{"id": "c1", "text": "a"}], k=2, name="bm25", journal=folder / "run.jsonl")


def _rows(path: Path) -> dict[str, str]:
    return {query_id: repr((row.retrieved, row.error)) for query_id, row in read_run(path).rows.items()}


def _make_keyed(folder: Path) -> None:
    with KeyedJournal(folder / "verdicts.jsonl", KIND, {"model": "m"}) as journal:
        for number in range(200):
            journal.put(f"key {number}", {"verdict": number, "reason": "because " * (number % 9)})


def _keyed(folder: Path) -> dict[str, Any]:
    with KeyedJournal(folder / "verdicts.jsonl", KIND, {"model": "m"}) as journal:
        return {key: journal.get(key) for key in journal}


def _make_parts(folder: Path) -> None:
    write_logs(folder / "logs", (0, 300), 100)
    _leave_parts(lambda: _score(folder), folder / "out.parquet")


def _make_groups(folder: Path) -> None:
    for day, path in enumerate(write_logs(folder / "logs", (0, 150, 300), 100)):
        (folder / "logs" / f"day={day}").mkdir()
        path.rename(folder / "logs" / f"day={day}" / path.name)
    _leave_parts(lambda: _by_day(folder), folder / "out.parquet")


def _by_day(folder: Path) -> Any:
    return _score(folder, by="day")


def _leave_parts(run: Callable[[], object], out: Path) -> None:
    with _kept():
        run()
    out.unlink()


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """Keep the parts of a scoring, as if it had been killed at its very end."""
    remove = shutil.rmtree
    shutil.rmtree = lambda *_, **__: None  # type: ignore[assignment]
    try:
        yield
    finally:
        shutil.rmtree = remove


def _score(folder: Path, out: str = "out.parquet", **more: Any) -> Any:
    before = Path.cwd()
    os.chdir(folder)  # the journal compares paths and times of the logs
    try:
        result = score_logs("logs", out, k=3, metrics=["recall", "ndcg"], match_method="id", **more)
        groups = None if result.groups is None else {key: one.to_json() for key, one in result.groups.items()}
        return result.to_json(), groups, Path(out).read_bytes()
    finally:
        os.chdir(before)


def _make_state(folder: Path, by: str | None = None) -> None:
    rows = WHOLE.slice(0, 400)
    if by is not None:
        rows = rows.append_column(by, pa.array([f"model {number % 7}" for number in range(len(rows))]))
    state = ColumnarScorer(3, match_method="id", by=by).partial_state(rows)
    (folder / "state.json").write_text(state.to_json(), encoding="utf-8")


def _state(folder: Path) -> Any:
    state = PartialState.from_json((folder / "state.json").read_bytes())
    return state.to_json()


def _make_parquet(folder: Path) -> None:
    write_evalset(SET, folder / "set.parquet")
    _make_run(folder)
    write_run(read_run(folder / "run.jsonl"), folder / "run.parquet")


def _parquet(folder: Path) -> Any:
    evalset, run = read_evalset(folder / "set.parquet"), read_run(folder / "run.parquet")
    return [question.to_dict() for question in evalset], _rows(folder / "run.parquet"), run.parameters, run.recorded


def score(number: int) -> Any:
    from krag_eval_langfuse import Target
    from krag_eval_langfuse.scores import Score

    moment = datetime(2026, 5, 4, tzinfo=UTC)
    return Score(f"id-{number:04}", "krag.mrr", float(number), Target(trace_id="t"), moment, {"query": "?" * 80})


def _make_outbox(folder: Path, *, is_killed: bool = False) -> None:
    from krag_eval_langfuse.score_file import ScoreFile

    file = ScoreFile(folder / "running")
    for first in range(0, 200, 40):
        file.put(score(number) for number in range(first, first + 40))
        if first == 80:
            file.sync()
    if not is_killed:
        file.close()
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{file.path}{end}", folder / f"outbox{end}")
    file.close()
    for path in folder.glob("running*"):
        path.unlink()


def _outbox(folder: Path) -> tuple[dict[str, float], list[str]]:
    from krag_eval_langfuse.outbox import salvage
    from krag_eval_langfuse.score_file import DamagedError, ScoreFile

    damaged: list[str] = []
    place = folder / "outbox"
    before = [path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.endswith("-shm")]
    try:
        file = ScoreFile(place)
    except DamagedError:
        assert [path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.endswith("-shm")] == before
        (folder / "salvage").mkdir()
        sound, damaged = salvage(place, folder / "salvage")
        file, damaged = ScoreFile(sound), damaged or ["scores may be lost"]
    found = dict[str, Any]()
    while rows := file.take():
        found |= {row.key: row.score(place).value for row in rows}
        file.settle(rows)
    file.close()
    return found, damaged


def _lost_scores(expected: Any, found: Any) -> bool:
    """Return whether the file was called damaged, and no score is wrong."""
    return bool(found[1]) and found[0].items() <= expected[0].items()


PARTS = "out.parquet.parts"
FILES = {
    "journal of a run": Files(_make_run, lambda folder: _rows(folder / "run.jsonl"), ("run.jsonl",), _lacks),
    "journal by key (bench, generation, judge)": Files(_make_keyed, _keyed, ("verdicts.jsonl",), _lacks),
    "part of a scoring of logs": Files(_make_parts, _score, (f"{PARTS}/000000.parquet",)),
    "hashes of query ids": Files(_make_parts, _score, (f"{PARTS}/000000.parquet.ids.npy",)),
    "journal of a scoring of logs": Files(_make_parts, _score, (f"{PARTS}/journal.jsonl",)),
    "part of a scoring by group": Files(_make_groups, _by_day, (f"{PARTS}/000000.parquet",)),
    "partial state": Files(_make_state, _state, ("state.json",)),
    "partial state by group": Files(lambda folder: _make_state(folder, "model"), _state, ("state.json",)),
    "set and run in Parquet": Files(_make_parquet, _parquet, ("set.parquet", "run.parquet")),
    "outbox": Files(_make_outbox, _outbox, ("outbox",), _lost_scores),
    "outbox of a killed process": Files(
        lambda folder: _make_outbox(folder, is_killed=True),
        _outbox,
        ("outbox", "outbox-wal", "outbox-shm"),
        _lost_scores,
    ),
}
