"""One run in a process of its own, whose peak memory is nobody else's: `python -m benchmarks.memory_child NAME ...`."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from krag_eval import EvaluationResult, evaluate, evaluate_ids, evaluate_stream, set_limits
from krag_eval.datasets.streaming import stream_pairs

Pairs = Iterator[tuple[list[str], list[str]]]

_BLOCK = 1000
_VOCABULARY = 20_000


def ids(n_queries: int) -> Pairs:
    """Three gold and ten retrieved ids a query, about one in three gold ids among the retrieved."""
    rng = np.random.default_rng(20261125)
    for start in range(0, n_queries, _BLOCK):
        numbers = rng.integers(0, 10**9, (_BLOCK, 13))
        found = rng.random((_BLOCK, 3)) < 0.33
        places = rng.integers(0, 3, (_BLOCK, 3)) + np.array([3, 6, 9])  # three different ranks
        for gold in range(3):
            rows = np.flatnonzero(found[:, gold])
            numbers[rows, places[rows, gold]] = numbers[rows, gold]
        for row in numbers[: n_queries - start].tolist():
            texts = [f"doc-{number}" for number in row]
            yield texts[:3], texts[3:]


def ids_in(path: Path) -> Pairs:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["gold"], row["retrieved"]


def words(rng: np.random.Generator, n_tokens: int) -> list[str]:
    """Words by Zipf's law."""
    drawn: list[str] = np.array(_WORDS, dtype=object)[_draw(rng, n_tokens)].tolist()
    return drawn


def texts(n_queries: int) -> Pairs:
    """Three gold and ten retrieved texts a query, none of which comes up again; a gold text is an edited copy."""
    rng = np.random.default_rng(20261126)
    for _ in range(n_queries):
        retrieved = np.array(_WORDS, dtype=object)[_draw(rng, 10 * 150)].reshape(10, 150)
        gold = retrieved[:3].copy()
        edited = rng.random(gold.shape) < rng.uniform(0.05, 0.6, (3, 1))
        gold[edited] = words(rng, int(edited.sum()))
        yield [" ".join(row) for row in gold.tolist()], [" ".join(row) for row in retrieved.tolist()]


def long_texts(size: int, kind: str) -> tuple[str, str]:
    """Two texts of about `size` bytes: independent ones, or one with 2 % of the words exchanged."""
    rng = np.random.default_rng(20261127)
    one = words(rng, int(size / _MEAN_LENGTH))
    other = words(rng, len(one))
    if kind == "nearly_equal":
        kept = (rng.random(len(one)) > 0.02).tolist()
        other = [mine if keep else new for mine, new, keep in zip(one, other, kept, strict=True)]
    return " ".join(one), " ".join(other)


def _draw(rng: np.random.Generator, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.searchsorted(_SHARES, rng.random(size), side="right")


_WEIGHTS = 1 / (np.arange(_VOCABULARY) + 2.7)
_SHARES = np.cumsum(_WEIGHTS / _WEIGHTS.sum())
_SHARES[-1] = 1.0
# Distinct words of 2 to 8 letters, the frequent ones short.
_WORDS = [
    "".join("bcdfghjklm"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(number))
    for number in range(_VOCABULARY)
]
_MEAN_LENGTH = float((_WEIGHTS / _WEIGHTS.sum()) @ np.array([len(word) + 1 for word in _WORDS]))


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage also counts what the parent held when it forked
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _write_ids(n_queries: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for gold, retrieved in ids(n_queries):
            file.write(json.dumps({"gold": gold, "retrieved": retrieved}) + "\n")


def _write_files(n_queries: int, evalset: Path, run: Path) -> None:
    """The same ids as an evaluation set and a run."""
    with evalset.open("w", encoding="utf-8") as questions, run.open("w", encoding="utf-8") as rankings:
        for number, (gold, retrieved) in enumerate(ids(n_queries)):
            query_id = f"q{number}"
            question = {"id": query_id, "question": "Which ones?", "gold": [{"id": one} for one in gold]}
            found = [{"id": one, "score": 1 / rank} for rank, one in enumerate(retrieved, 1)]
            questions.write(json.dumps(question) + "\n")
            rankings.write(json.dumps({"query_id": query_id, "retrieved": found}) + "\n")


def main(name: str, size: int, rest: list[str]) -> None:
    """Run it, and print seconds, peak memory before and after, and the values to the last bit."""
    before = peak_megabytes()
    if name == "write_ids":
        _write_ids(size, Path(rest[0]))
        print("{}")
        return
    if name == "write_files":
        _write_files(size, Path(rest[0]), Path(rest[1]))
        print("{}")
        return
    work: Callable[[], EvaluationResult]
    limited: Callable[[], object] = list  # what nobody can avoid
    if name == "ids_generator":
        work = lambda: evaluate_stream(ids(size), bare_ids=True)  # noqa: E731
    elif name == "ids_jsonl":
        work = lambda: evaluate_stream(ids_in(Path(rest[0])), bare_ids=True)  # noqa: E731
    elif name == "files":
        work = lambda: evaluate_stream(stream_pairs(rest[0], rest[1]), match_method="id")  # noqa: E731
    elif name == "files_bare_ids":
        work = lambda: evaluate_stream(stream_pairs(rest[0], rest[1], bare_ids=True), bare_ids=True)  # noqa: E731
    elif name == "ids_at_once":
        gold, retrieved = zip(*ids(size), strict=True)
        work = lambda: evaluate_ids(gold, retrieved)  # noqa: E731
    elif name == "rouge_generator":
        work = lambda: evaluate_stream(texts(size), match_method="rouge1", threshold=0.7)  # noqa: E731
    else:
        one, other = long_texts(size, rest[0])
        set_limits(token_pairs="1T")  # two texts of 5 MB have more pairs of tokens than is allowed by default
        work = lambda: evaluate([[one]], [[other]], 1, match_method="rougeL", threshold=0.7)  # noqa: E731
        limited = lambda: (one.split(), other.split())  # noqa: E731
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak, start = peak_megabytes(), time.perf_counter()
    limited()
    limit = time.perf_counter() - start
    values = {key: None if value is None else value.hex() for key, value in result.to_dict().items()}
    print(json.dumps({"seconds": seconds, "before": before, "mb": peak, "limit": limit, "values": values}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
