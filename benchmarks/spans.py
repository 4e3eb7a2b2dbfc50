"""Spans: characters of chunks with offsets, and chunks that are looked for in a corpus by their texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.harness import Prepare, Row, Work, check_equal, in_turn, profiled
from benchmarks.memory_child import peak_megabytes
from krag_eval import evaluate
from krag_eval.matching.spans import CorpusTexts

_METRICS = ["span_recall", "span_precision", "span_iou", "span_f1"]


def run(smoke: bool) -> Iterator[Row]:
    """The rows of spans, measured in a process of its own, whose peak of memory is that of nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield from pool.submit(_rows, smoke).result()


def _rows(smoke: bool) -> list[Row]:
    return list(_measured(smoke))


def _measured(smoke: bool) -> Iterator[Row]:
    n_queries, rounds = (20, 1) if smoke else (10_000, 3)
    gold, retrieved = _with_offsets(n_queries)
    [scored] = in_turn(rounds, _scoring(gold, retrieved))
    work = f"four metrics of spans at k=10, {n_queries:,} x 3 spans x 100 chunks with offsets"
    yield profiled(Row(work=work, peer="", ours=scored.seconds, asked=1.0), _scoring(gold, retrieved))
    n_chunks, size = (100, 100_000) if smoke else (100_000, 100_000_000)
    for n_documents, is_named in ((1000, True), (1000, False), (10, True)):
        texts, wanted = _corpus(n_documents // (100 if smoke and n_documents > 10 else 1), size, n_chunks, is_named)
        [found] = in_turn(1, _locating(texts, wanted))
        check_equal("chunks that were found", len(found.result), len(set(wanted)))
        how = "named" if is_named else "unnamed"
        work = f"place {n_chunks:,} chunks in {size / 1e6:g} MB of {n_documents:,} documents ({how})"
        yield Row(work=work, peer="", ours=found.seconds, asked=60.0)
    yield Row(work="peak memory of all these", peer="", ours=peak_megabytes(), asked=2000.0, unit="MB")


def _scoring(gold: list[Any], retrieved: list[Any]) -> Prepare:
    def prepare() -> Work:
        return lambda: evaluate(gold, retrieved, k=10, metrics=_METRICS, match_method="span")

    return prepare


def _locating(texts: dict[str, str], wanted: list[tuple[str | None, str]]) -> Prepare:
    def prepare() -> Work:
        corpus = CorpusTexts(texts)
        return lambda: corpus.find(wanted)

    return prepare


def _with_offsets(n_queries: int) -> tuple[list[Any], list[Any]]:
    rng = random.Random(0)

    def place(length: int) -> dict[str, Any]:
        start = rng.randrange(100_000)
        return {"doc_id": f"d{rng.randrange(20)}", "start": start, "end": start + length}

    gold = [[place(200) for _ in range(3)] for _ in range(n_queries)]
    return gold, [[{"text": "x", "metadata": place(1000)} for _ in range(100)] for _ in range(n_queries)]


def _corpus(
    n_documents: int, size: int, n_chunks: int, is_named: bool
) -> tuple[dict[str, str], list[tuple[str | None, str]]]:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(20_000)]
    texts = {f"d{n}": " ".join(rng.choices(words, k=size // n_documents // 6)) for n in range(n_documents)}
    wanted: list[tuple[str | None, str]] = []
    for _ in range(n_chunks):
        name = f"d{rng.randrange(n_documents)}"
        start = rng.randrange(max(1, len(texts[name]) - 1000))
        wanted.append((name if is_named else None, texts[name][start : start + rng.randint(300, 1000)]))
    return texts, wanted
