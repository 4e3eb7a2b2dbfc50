"""Reciprocal rank fusion gives the scores of ranx."""

from __future__ import annotations

import random
import warnings

import pytest

from krag_eval import Run, RunRow, fuse

Rankings = dict[str, list[str]]


@pytest.mark.full
def test_the_scores_are_those_of_ranx() -> None:
    source = random.Random(7)
    runs = [{f"q{n}": source.sample([f"d{n}" for n in range(30)], 20) for n in range(50)} for _ in range(3)]
    ours = fuse([_run(str(number), rankings) for number, rankings in enumerate(runs)])
    theirs = by_ranx(runs)
    for query in runs[0]:
        scores = {document.id: document.score for document in ours.rows[query].retrieved}
        assert scores == pytest.approx(theirs[query], abs=1e-12)


def by_ranx(runs: list[Rankings]) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba warns of casts while it compiles
        from ranx import Run as RanxRun
        from ranx import fuse as fuse_by_ranx

        scored = [{q: {d: 1.0 / rank for rank, d in enumerate(ds, 1)} for q, ds in run.items()} for run in runs]
        fused = fuse_by_ranx(runs=[RanxRun(run) for run in scored], method="rrf", params={"k": 60})
    scores: dict[str, dict[str, float]] = fused.to_dict()
    return scores


def _run(name: str, rankings: Rankings) -> Run:
    rows = ({"query_id": query, "retrieved": [{"id": d} for d in ds]} for query, ds in rankings.items())
    return Run.of(name, map(RunRow.from_dict, rows))
