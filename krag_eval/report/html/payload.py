"""The data of the browser of queries: what the list shows, what an opened query shows, and the texts, each once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from krag_eval.columns import FloatArray
from krag_eval.diagnosis import CAUSES
from krag_eval.numerals import format_value
from krag_eval.report.html.details import Details
from krag_eval.report.html.numbering import Numbered, Texts
from krag_eval.report.records import Report

# Shown at first, where the report has them: the metrics of the first name, one a name of the second.
_ALONE = ("hit_rate", "mrr", "recall", "ndcg")
_COMPARED = ("recall", "ndcg", "hit_rate", "mrr")


def payload(report: Report) -> Iterator[tuple[str, Any]]:
    """The parts of the data, each with its name, ready for JSON.

    `overview` has one value a query in each of its columns; `details` has the gold and retrieved documents of all
    queries, one after the other, as numbers of documents; `texts-0` and so on have the texts.
    """
    texts = Texts()
    details = Details(report, texts)
    yield "overview", _overview(report, details)
    yield "details", details.columns()
    starts = [0]
    for number, block in enumerate(texts.blocks()):
        yield f"texts-{number}", block
        starts.append(starts[-1] + len(block))
    yield "blocks", starts


def _overview(report: Report, details: Details) -> dict[str, Any]:
    first = report.systems[0].detail
    keys = list(first.values)
    return {
        "n": report.n_queries,
        "systems": [system.name for system in report.systems],
        "ids": None if first.query_ids is None else list(first.query_ids),
        "questions": None if first.queries is None else _column(first.queries),
        "nGold": first.judged.n_gold.tolist(),
        "metrics": [
            {"key": key, "systems": [_values(system.detail.values[key]) for system in report.systems]}
            for key in keys
            if all(key in system.detail.values for system in report.systems)
        ],
        "shown": _shown_first(keys, report),
        "causes": [{"key": key, "text": text} for key, text in CAUSES.items()],
        "k": report.systems[0].diagnosis.k,
        "missed": details.missed,
        "errors": [sorted(system.result.errors) for system in report.systems],
        "slices": _slices(report),
        "lacking": details.lacking,
    }


def _column(values: Any) -> dict[str, list[Any]]:
    """A column in which values repeat."""
    different: Numbered[Any] = Numbered()
    return {"of": [different.number(value) for value in values], "values": different.values()}


def _values(column: FloatArray) -> dict[str, list[Any]]:
    """The values of a metric: the different ones as numbers and as they are printed, and which of them each query has.

    They are printed here, because JavaScript rounds ties in another direction than Python.
    """
    different, of = np.unique(column, return_inverse=True)
    values = [None if math.isnan(value) else value for value in different.tolist()]
    return {"of": of.reshape(-1).tolist(), "values": values, "texts": [format_value(value) for value in values]}


def _shown_first(keys: list[str], report: Report) -> list[str]:
    """The metrics whose columns are shown until the reader chooses others."""
    if report.comparison is not None and report.comparison.keys:
        compared = [key for key in report.comparison.keys if key in keys]
        return [key for name in _COMPARED for key in compared if key.partition("@")[0] == name][:1] or compared[:1]
    last = {key.partition("@")[0]: key for key in keys}  # of several cut-offs the last one stays
    names = _ALONE if len(report.systems) == 1 else _COMPARED[:1]
    return [last[name] for name in names if name in last] or keys[:1]


def _slices(report: Report) -> list[dict[str, Any]]:
    fields: dict[str, list[dict[str, Any]]] = {}
    for part in report.slices:
        if part.field is not None:
            fields.setdefault(part.field, []).append({"value": part.value, "members": part.chosen.tolist()})
    return [{"field": field, "values": values} for field, values in fields.items()]
