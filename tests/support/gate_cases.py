"""A question set and runs that find what they are told to find."""

from __future__ import annotations

from typing import Any

from krag_eval import EvalSet, Run, RunRow


def make_set(n: int) -> EvalSet:
    kinds = ("literal", "paraphrase")
    return EvalSet([{"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "type": kinds[i % 2]} for i in range(n)])


def make_run(name: str, evalset: EvalSet, misses: set[int] | range = range(0), **fields: Any) -> Run:
    """A run that finds the gold chunk of every question first, but for those whose number is among the misses."""
    rows = [
        RunRow.from_dict({"query_id": q.id, "retrieved": [{"id": "x" if i in misses else f"c{i}"}], **fields})
        for i, q in enumerate(evalset)
    ]
    return Run.of(name, rows)


SET = make_set(100)
