"""The threshold sweeps of a report: made where they cost next to nothing."""

from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Any

from krag_eval.columns import Side
from krag_eval.id_rows import with_documents
from krag_eval.metrics import METRICS
from krag_eval.report.plots.reading import largest_cut_off, metrics_of
from krag_eval.report.records import Report, ReportedSystem
from krag_eval.settings import Settings
from krag_eval.threshold_sweep import Sweep, sweep

METRICS_SWEPT = ("recall", "precision", "mrr", "ndcg")
MOST_PAIRS = 50_000  # of a gold and a retrieved text, all retrievers together: about two seconds
MOST_CHARACTERS = 5_000_000  # of different texts


def sweeps_of(report: Report) -> dict[str, Sweep]:
    """Recall, precision, MRR and nDCG over the threshold, by retriever.

    Empty where no threshold decides (ids, equal texts), where several methods have different ones, where an embedding
    model would be asked, and where there are more than 50,000 pairs of texts or 5 million characters to compare.
    `krag_eval.sweep` does all of these, and `plot_sweep` draws what it returns.
    """
    names = [name for name in METRICS_SWEPT if name in metrics_of(report) and name in METRICS]
    if not names or not all(_has_one_threshold(system.detail.batch.settings) for system in report.systems):
        return {}
    if sum(map(_pairs, report.systems)) > MOST_PAIRS or sum(map(_characters, report.systems)) > MOST_CHARACTERS:
        return {}
    k = _as_cut_off(largest_cut_off(report))
    return {system.name: _sweep(system, k, names) for system in report.systems}


def _has_one_threshold(settings: Settings) -> bool:
    return settings.uses_rouge and not settings.uses_embeddings and len(set(settings.thresholds.values())) == 1


def _pairs(system: ReportedSystem) -> int:
    batch = system.detail.batch
    return int((batch.actual.sizes * batch.predicted.sizes).sum())


def _characters(system: ReportedSystem) -> int:
    return sum(map(len, system.detail.batch.unique_texts))


def _as_cut_off(at: str) -> int | str | None:
    name = at.removeprefix("@")
    return int(name) if name.isdecimal() else name or None


def _sweep(system: ReportedSystem, k: int | str | None, metrics: list[str]) -> Sweep:
    batch = with_documents(system.detail.batch)
    given: dict[str, Any] = {
        field.name: getattr(batch.settings, field.name)
        for field in fields(Settings)
        if field.init and field.name != "threshold"
    }
    in_use = next(iter(batch.settings.thresholds.values()))
    return sweep(_rows(batch.actual), _rows(batch.predicted), k=k, in_use=in_use, metrics=metrics, **given)


def _rows(side: Side) -> list[list[Any]]:
    return [side.documents[start:stop] for start, stop in itertools.pairwise(side.offsets.tolist())]
