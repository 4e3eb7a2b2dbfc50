"""What a page carries to compute the metrics of ranks at any cut-off, as `krag_eval.metrics` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.ndcg import ideal_of
from krag_eval.report.records import Report

# The metrics that the page computes. All follow from the columns below; metrics.js has the same formulas.
METRICS = (
    "hit_rate",
    "success",
    "hit_rate_all",
    "mrr",
    "complete_rank",
    "recall",
    "precision",
    "f1",
    "map",
    "ndcg",
    "rbp",
)
LAST = 100
"""The deepest cut-off that a reader can choose."""


def cut_off_columns(report: Report) -> dict[str, Any] | None:
    """Return the judgments of each system as columns; None if the report has no metric of ranks, or is of sessions.

    `names` are the metrics, with their parameters, `last` the deepest cut-off. For each system, the gold documents of
    all queries follow each other (`nGold` of the overview says how many each query has) with the best rank, 0 for
    none, and the gain as a number in `gains`, relative to the highest of the query. The relevant ranks of query `i` are
    at `start[i]` to `start[i + 1]`; `credit` is the number of the gain, -1 without credit. `steps` has the DCG down to
    each rank of queries in which the assignment of ranks to gold documents is a choice.
    """
    first = report.systems[0].detail
    keys = [key.partition("@") for key in first.values]
    names = dict.fromkeys(name for name, _, k in keys if k.isdecimal() and name.partition("(")[0] in METRICS)
    judged = [system.detail.judged for system in report.systems]
    last = min(LAST, max(int(one.n_retrieved.max(initial=0)) for one in judged))
    if not names or last < 1 or any(system.detail.sessions is not None for system in report.systems):
        return None
    settings = first.batch.settings
    ideals = [ideal_of(one, settings.gain) for one in judged]
    gains = np.unique(np.concatenate([ideal.gains for ideal in ideals]))
    return {
        "names": list(names),
        "last": last,
        "dividesByK": settings.precision_denominator == "k",
        "gains": gains.tolist(),
        "systems": [
            _columns_of(one, ideal.gains, ideal.discounts, gains) for one, ideal in zip(judged, ideals, strict=True)
        ],
    }


def _columns_of(judged: Judgments, of_gold: Any, discounts: Any, gains: Any) -> dict[str, Any]:
    query, rank = judged.relevant_query, judged.relevant_rank
    number = np.searchsorted(gains, of_gold)
    depth = int(judged.n_retrieved.max(initial=0)) + 1
    place = query * depth + rank
    first_edge = np.searchsorted(judged.edge_query * depth + judged.edge_rank, place)
    is_credited = np.isin(place, judged.credited_query * depth + judged.credited_rank)
    return {
        "retrieved": judged.n_retrieved.tolist(),
        "gold": {"rank": judged.gold_rank.tolist(), "gain": number.tolist()},
        "start": np.searchsorted(query, np.arange(len(judged) + 1)).tolist(),
        "rank": rank.tolist(),
        "credit": np.where(is_credited, number[judged.edge_gold[first_edge]], -1).tolist(),
        "steps": {str(query): steps for query, steps in judged.dcg_steps(of_gold, discounts).items()},
    }
