"""`Qrels` and `Run` of ranx itself, scored as they are."""

from __future__ import annotations

import random

import pytest

from krag_eval import as_evalset, evaluate, evaluate_ids, evaluate_run

pytestmark = [pytest.mark.peer, pytest.mark.full, pytest.mark.filterwarnings("ignore")]

METRICS = ["ndcg@10", "recall@5", "precision@5", "mrr@10", "map@20"]


def test_the_objects_of_ranx_get_the_numbers_of_ranx() -> None:
    import ranx

    rng = random.Random(1)
    ids = [f"d{n}" for n in range(30)]
    judged = {f"q{n}": {d: rng.choice([0, 1, 2]) for d in rng.sample(ids, 8)} | {"d0": 1} for n in range(50)}
    scored = {query: {d: rng.random() for d in rng.sample(ids, 20)} for query in judged}
    qrels, run = ranx.Qrels(judged), ranx.Run(scored, name="bm25")
    theirs = ranx.evaluate(qrels, run, METRICS)
    for score in (evaluate, evaluate_ids, evaluate_run):
        ours = score(qrels, run, metrics=METRICS, gain="linear", precision_denominator="k")
        assert {key: ours[key] for key in METRICS} == pytest.approx(theirs, abs=1e-12)
    assert sorted(as_evalset(qrels).ids) == sorted(judged)
