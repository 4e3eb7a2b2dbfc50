"""What a page carries to compute the metrics of ranks at any cut-off, as `krag_eval.metrics` does."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import numpy as np

from krag_eval.toolkit import CAUSES, BoolArray, FloatArray, IntArray, ideal_of
from krag_eval_report.records import Report, ReportedSystem

CAUSE_NUMBERS = {cause: number for number, cause in enumerate(CAUSES)}
LAST = 100
"""The deepest cut-off that a reader can choose."""


def computed_metrics() -> frozenset[str]:
    """Return the metrics that the page computes at any cut-off: those with a formula in `metrics.js`.

    All of them follow from the columns below.
    """
    script = (resources.files(__package__) / "templates" / "metrics.js").read_text(encoding="utf-8")
    return frozenset(
        re.findall(r"^  (\w+):", script.partition("const FORMULAS = {\n")[2].partition("\n}")[0], re.MULTILINE)
    )


def cut_off_columns(report: Report) -> dict[str, Any] | None:
    """Return the judgments of each system as columns; None if the report has no metric of ranks, or is of sessions.

    `names` are the metrics, with their parameters, `last` the deepest cut-off. For each system, the gold documents of
    all queries follow each other (`nGold` of the overview says how many each query has) with the best rank, 0 for
    none, the gain as a number in `gains`, relative to the highest of the query, and what tells the cause of a miss at
    any cut-off (see `Diagnosis.ranks_of_causes`). The relevant ranks of query `i` are at `start[i]` to `start[i + 1]`;
    `credit` is the number of the gain, -1 without credit. `steps` has the DCG down to each rank of queries in which
    the assignment of ranks to gold documents is a choice.
    """
    first = report.systems[0].detail
    keys = [key.partition("@") for key in first.values if "rel=" not in key]  # the columns are those of all grades
    known = computed_metrics()
    names = dict.fromkeys(name for name, _, k in keys if k.isdecimal() and name.partition("(")[0] in known)
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
            _columns_of(system, ideal.gains, ideal.discounts, gains)
            for system, ideal in zip(report.systems, ideals, strict=True)
        ],
    }


def _columns_of(
    system: ReportedSystem, of_gold: FloatArray, discounts: FloatArray, gains: FloatArray
) -> dict[str, Any]:
    judged = system.detail.judged
    query, rank = judged.relevant_query, judged.relevant_rank
    number = np.searchsorted(gains, of_gold)
    depth = int(judged.n_retrieved.max(initial=0)) + 1
    place = query * depth + rank
    first_edge = np.searchsorted(judged.edge_query * depth + judged.edge_rank, place)
    is_credited = np.isin(place, judged.credited_query * depth + judged.credited_rank)
    return {
        "retrieved": judged.n_retrieved.tolist(),
        "gold": {"rank": judged.gold_rank.tolist(), "gain": number.tolist(), **_causes_of(system)},
        "start": np.searchsorted(query, np.arange(len(judged) + 1)).tolist(),
        "rank": rank.tolist(),
        "credit": np.where(is_credited, number[judged.edge_gold[first_edge]], -1).tolist(),
        "steps": {str(query): steps for query, steps in judged.dcg_steps(of_gold, discounts).items()},
    }


def _causes_of(system: ReportedSystem) -> dict[str, Any]:
    """Return the cause of gold documents without a rank, and where they matter, the ranks of `ranks_of_causes`."""
    rank = system.detail.judged.gold_rank
    without, same = system.diagnosis.ranks_of_causes(system.detail)
    causes = zip(system.diagnosis.causes, rank.tolist(), strict=True)
    return {
        "missed": [0 if at else CAUSE_NUMBERS[cause] for cause, at in causes],
        "without": _where((rank > 1) & (without != rank), without),
        "same": _where(same > 0, same),
    }


def _where(wanted: BoolArray, values: IntArray) -> dict[str, int]:
    """Return the values that are wanted, by their places."""
    places = np.flatnonzero(wanted)
    return dict(zip(map(str, places.tolist()), values[places].tolist(), strict=True))
