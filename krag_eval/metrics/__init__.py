"""The metrics: one per file, each a pure function over `Judgments`, and the tables that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.alpha_ndcg import alpha_ndcg
from krag_eval.metrics.average_precision import average_precision
from krag_eval.metrics.f1 import f1
from krag_eval.metrics.freshness import freshness, undated
from krag_eval.metrics.hit_rate import hit_rate, hit_rate_all
from krag_eval.metrics.incomplete_labels import bpref, hit_rate_upper, infap, judged, mrr_upper, precision_upper
from krag_eval.metrics.ndcg import ndcg
from krag_eval.metrics.precision import precision
from krag_eval.metrics.r_precision import r_precision
from krag_eval.metrics.rbp import rbp
from krag_eval.metrics.recall import recall
from krag_eval.metrics.reciprocal_rank import complete_rank, reciprocal_rank
from krag_eval.metrics.redundancy import redundancy
from krag_eval.metrics.sessions import (
    session_complete,
    session_late_recovery,
    session_length,
    session_needless,
    session_recall,
    session_redundancy,
    session_searches,
    session_seconds,
    session_seen_not_cited,
    session_tokens,
)
from krag_eval.metrics.spans import span_f1, span_iou, span_precision, span_recall


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called.

    Attributes:
        function: From `Judgments` and a cut-off to one value per query, NaN where it is undefined.
        settings: Keyword arguments of the function, each with the name of the setting that it takes.
        has_micro: Whether it also has a micro value, from summed counts.
        parameters: Keyword arguments that may be part of its name, such as `rbp(p=0.5)`, each with its check.
        has_cut_off: Whether it depends on the cut-off; one that does not has one key, its name.
        reads_documents: Whether it is also given the documents, as `batch`.
        reads_matches: Whether it is also given `batch`, and what matches what as `matches`.
        reads_sessions: Whether it is also given what each search of a session found, as `sessions`.
        has_ideal: Whether it compares with an ideal ranking that `cut_ideal` cuts.
        companion: The metric that is always reported beside it, with the parameters that both take.
        cut_offs: The cut-offs at which it is asked for; None for all those of the evaluation.
        lower_is_better: Whether less of it is better.
    """

    function: Callable[..., FloatArray]
    settings: Mapping[str, str] = field(default_factory=dict)
    has_micro: bool = False
    parameters: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    has_cut_off: bool = True
    reads_documents: bool = False
    reads_matches: bool = False
    reads_sessions: bool = False
    has_ideal: bool = False
    companion: str | None = None
    cut_offs: tuple[Any, ...] | None = None
    lower_is_better: bool = False


METRICS: dict[str, Metric] = {
    "hit_rate": Metric(hit_rate),
    "hit_rate_all": Metric(hit_rate_all),
    "mrr": Metric(reciprocal_rank),
    "recall": Metric(recall, has_micro=True),
    "precision": Metric(precision, {"denominator": "precision_denominator"}, has_micro=True),
    "f1": Metric(f1, {"denominator": "precision_denominator"}, has_micro=True),
    "map": Metric(average_precision),
    "ndcg": Metric(ndcg, {"gain": "gain"}, has_ideal=True),
}


def _checked(text: str, kind: Callable[[str], Any], is_right: Callable[[Any], bool], must: str) -> Any:
    """Return a parameter in the name of a metric as a number."""
    number = kind(text)
    if is_right(number):
        return number
    raise ValueError(f"it must {must}")


_SHARE = partial(_checked, kind=float, is_right=lambda number: 0 <= number <= 1, must="lie between 0 and 1")
_DAYS = partial(_checked, kind=float, is_right=lambda number: number > 0, must="be a number of days above 0")
_COUNT = partial(_checked, kind=int, is_right=lambda number: number > 0, must="be at least 1")

# Computed where they are asked for by name.
FURTHER_METRICS: dict[str, Metric] = {
    "success": Metric(hit_rate),
    "complete_rank": Metric(complete_rank),
    "r_precision": Metric(r_precision, has_cut_off=False),
    "rbp": Metric(rbp, parameters={"p": _SHARE}),
    "alpha_ndcg": Metric(alpha_ndcg, parameters={"alpha": _SHARE}, has_ideal=True),
    "redundancy": Metric(redundancy, parameters={"overlap": _SHARE}, reads_documents=True, lower_is_better=True),
    "freshness": Metric(
        freshness,
        parameters={"half_life": _DAYS, "now": str, "date_key": str},
        reads_documents=True,
        companion="undated",  # freshness leaves out documents without a date, and `undated` counts them
    ),
    "undated": Metric(undated, parameters={"now": str, "date_key": str}, reads_documents=True, lower_is_better=True),
    "span_recall": Metric(span_recall, reads_documents=True),
    "span_precision": Metric(span_precision, reads_documents=True),
    "span_iou": Metric(span_iou, reads_documents=True),
    "span_f1": Metric(span_f1, reads_documents=True),
    "judged": Metric(judged, reads_matches=True),
    "bpref": Metric(bpref, has_cut_off=False, reads_matches=True),
    "infap": Metric(infap, has_cut_off=False, reads_matches=True),
    "precision_upper": Metric(precision_upper, {"denominator": "precision_denominator"}, reads_matches=True),
    "hit_rate_upper": Metric(hit_rate_upper, reads_matches=True),
    "mrr_upper": Metric(mrr_upper, reads_matches=True),
    "session_recall": Metric(session_recall, parameters={"searches": _COUNT}, reads_sessions=True),
    "evidence_complete": Metric(session_complete, reads_sessions=True),
    "searches_to_evidence": Metric(session_searches, reads_sessions=True, lower_is_better=True),
    "tokens_to_evidence": Metric(session_tokens, reads_sessions=True, lower_is_better=True),
    "seconds_to_evidence": Metric(session_seconds, reads_sessions=True, lower_is_better=True),
    "redundant_searches": Metric(session_redundancy, reads_sessions=True, lower_is_better=True),
    "needless_searches": Metric(session_needless, reads_sessions=True, lower_is_better=True),
    "late_recovery": Metric(session_late_recovery, reads_sessions=True),
    "seen_not_cited": Metric(session_seen_not_cited, reads_sessions=True, lower_is_better=True),
    "n_searches": Metric(session_length, has_cut_off=False, reads_sessions=True, lower_is_better=True),
}
ALL_METRICS = {**METRICS, **FURTHER_METRICS}
