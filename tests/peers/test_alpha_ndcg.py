"""Alpha-nDCG equals that of ndeval, through ir_measures, where every judged document was retrieved."""

from __future__ import annotations

import random

import ir_measures
import pytest

from krag_eval import evaluate

pytestmark = pytest.mark.peer

# Both add the same terms in double precision, in orders of their own.
ROUNDING = 1e-12
CUT_OFFS = (1, 2, 5, 10)
N_QUERIES = 30

Coverage = list[set[int]]
"""For each document the subtopics that it is about."""


def draw_coverage(rng: random.Random) -> Coverage:
    """Up to 12 documents about some of at least two subtopics, each of which a document is about."""
    n_subtopics = rng.randint(2, 6)
    coverage = [
        {topic for topic in range(n_subtopics) if rng.random() < 0.4} for _ in range(rng.randint(n_subtopics, 12))
    ]
    for topic in range(n_subtopics):
        rng.choice(coverage).add(topic)
    return coverage


def nugget(topic: int) -> str:
    return f"nugget {topic} end"


def name(rank: int) -> str:
    """A name that falls from rank to rank: of documents that gain the same, ndeval's ideal takes the last name."""
    return f"d{99 - rank}"


def texts(coverage: Coverage) -> list[str]:
    return [f"document {n} about {' '.join(map(nugget, sorted(topics)))}" for n, topics in enumerate(coverage)]


def their_values(queries: list[Coverage], alpha: float) -> dict[tuple[int, int], float]:
    """Their value of each query at each cut-off."""
    qrels = [
        ir_measures.Qrel(str(query), name(document), 1, str(topic))
        for query, coverage in enumerate(queries)
        for document, topics in enumerate(coverage)
        for topic in topics
    ]
    run = [
        ir_measures.ScoredDoc(str(query), name(document), -float(document))
        for query, coverage in enumerate(queries)
        for document in range(len(coverage))
    ]
    measures = {ir_measures.alpha_nDCG(alpha=alpha) @ k: k for k in CUT_OFFS}
    return {
        (int(metric.query_id), measures[metric.measure]): metric.value
        for metric in ir_measures.iter_calc([*measures], qrels, run)
    }


# Of these all powers and their sums are exact, so that both programs see the same documents gain the same.
@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_alpha_ndcg_equals_that_of_ndeval(alpha: float) -> None:
    rng = random.Random(f"alpha {alpha}")
    queries = [draw_coverage(rng) for _ in range(N_QUERIES)]
    result = evaluate(
        [[nugget(topic) for topic in sorted(set().union(*coverage))] for coverage in queries],
        [texts(coverage) for coverage in queries],
        CUT_OFFS,
        metrics=f"alpha_ndcg(alpha={alpha})",
        match_method="containment",
        containment="gold_in_retrieved",
    )
    ours = {(row.index, k): row.values[f"alpha_ndcg(alpha={alpha})@{k}"] for row in result.per_query for k in CUT_OFFS}
    assert pytest.approx(their_values(queries, alpha), abs=ROUNDING, rel=0) == ours
    assert len({round(value, 6) for value in ours.values() if value is not None}) > N_QUERIES
