"""A comparison of five systems, in a process of its own, whose peak memory is nobody else's."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Row
from benchmarks.memory_child import peak_megabytes
from krag_eval import EvalSet, Run, RunRow
from krag_eval.analysis.comparison import compare
from krag_eval.evaluation.runs import evaluate_run

METRICS = ("hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg")
N_SYSTEMS = 5
DEPTH = 10


def run(smoke: bool) -> Iterator[Row]:
    """The rows of a comparison: seconds and peak memory, from results and from runs."""
    n_queries, rounds = (200, 200) if smoke else (10_000, 10_000)
    work = (
        f"compare: {n_queries:,} queries x {N_SYSTEMS} systems x {len(METRICS)} metrics, "
        f"{rounds:,} resamples and {rounds:,} rounds of signs"
    )
    for what in ("results", "results, slices", "runs, slices"):
        command = [sys.executable, "-m", "benchmarks.comparing", what, str(n_queries), str(rounds)]
        outcome = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        yield Row(work=f"{work}, from {what}", peer="", ours=outcome["seconds"], asked=30.0)
        note = f"{outcome['before']:.0f} MB of it imports and input"
        yield Row(
            work=f"peak memory of that, from {what}", peer="", ours=outcome["mb"], asked=1000.0, unit="MB", note=note
        )


def questions(n_queries: int) -> EvalSet:
    """Questions of five types with one to three gold documents."""
    n_gold = np.random.default_rng(20261128).integers(1, 4, n_queries).tolist()
    return EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": [f"g{i}-{j}" for j in range(count)], "type": f"type {i % 5}"}
        for i, count in enumerate(n_gold)
    )


def rankings(evalset: EvalSet, system: int) -> Run:
    """Ten documents a question, among them most of its gold."""
    rng = np.random.default_rng([20261128, system])
    rows = []
    for number, question in enumerate(evalset):
        ids = [f"x{number}-{rank}" for rank in range(DEPTH)]
        places = rng.exponential(4 + 0.1 * system, len(question.gold_chunk_ids)).astype(np.int64).tolist()
        for gold_id, place in zip(question.gold_chunk_ids, places, strict=True):
            if place < DEPTH:
                ids[place] = gold_id
        rows.append(RunRow.from_dict({"query_id": question.id, "retrieved": [{"id": id_} for id_ in ids]}))
    return Run.of(f"system {system}", rows)


def main(what: str, n_queries: int, rounds: int) -> None:
    """Compare, and print seconds and peak memory before and after."""
    evalset = questions(n_queries)
    runs = {f"system {number}": rankings(evalset, number) for number in range(N_SYSTEMS)}
    results = {name: evaluate_run(evalset, one, DEPTH, metrics=METRICS) for name, one in runs.items()}
    before, start = peak_megabytes(), time.perf_counter()
    by = ("type",) if "slices" in what else ()
    if what.startswith("runs"):
        compare(evalset, runs, k=DEPTH, metrics=METRICS, by=by, n_bootstrap=rounds, n_randomisation=rounds)
    else:
        compare(evalset, results, by=by, n_bootstrap=rounds, n_randomisation=rounds)
    print(json.dumps({"seconds": time.perf_counter() - start, "before": before, "mb": peak_megabytes()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
