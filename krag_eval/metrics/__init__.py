"""The metrics, each a pure function over `Judgments` in the file of its subject, and the tables that name them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics import freshness, incomplete_labels, leaks, ranking, sessions, spans
from krag_eval.metrics.alpha_ndcg import alpha_ndcg
from krag_eval.metrics.ndcg import ndcg
from krag_eval.metrics.redundancy import redundancy


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called.

    Attributes:
        function: From `Judgments` and a cut-off to one value per query, NaN where it is undefined.
        settings: Keyword arguments of the function, each with the name of the setting that it takes.
        has_micro: Whether it also has a micro value, from summed counts.
        parameters: Keyword arguments that may be part of its name, such as `rbp(p=0.5)`, each with its check.
        has_cut_off: Whether it depends on the cut-off; one that does not has one key, its name.
        is_binary: Whether a grade is relevant to it or not; `rel=2` in its name then says from which grade on.
        level: That grade; None for all above 0.
        at: The parameter whose number may end its name, as in IPrec@0.1 and set_F_0.5, if that is no cut-off.
        reads_documents: Whether it is also given the documents, as `batch`.
        reads_matches: Whether it is also given `batch`, and what matches what as `matches`.
        reads_sessions: Whether it is also given what each search of a session found, as `sessions`.
        reads_leaks: Whether it is also given which ranks are forbidden, as `leaks`.
        has_ideal: Whether it compares with an ideal ranking that `cut_ideal` cuts.
        companion: The metric that is always reported beside it, with the parameters that both take.
        cut_offs: The cut-offs at which it is asked for; None for all those of the evaluation.
        lower_is_better: Whether less of it is better.
        has_limits: Whether every value lies between 0 and 1.
    """

    function: Callable[..., FloatArray]
    settings: Mapping[str, str] = field(default_factory=dict)
    has_micro: bool = False
    parameters: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    has_cut_off: bool = True
    is_binary: bool = False
    level: float | None = None
    at: str | None = None
    reads_documents: bool = False
    reads_matches: bool = False
    reads_sessions: bool = False
    reads_leaks: bool = False
    has_ideal: bool = False
    companion: str | None = None
    cut_offs: tuple[Any, ...] | None = None
    lower_is_better: bool = False
    has_limits: bool = True


_binary = partial(Metric, is_binary=True)
_of_sessions = partial(Metric, reads_sessions=True)
_fewer_is_better = partial(_of_sessions, lower_is_better=True)
_WITH_PRECISION = {"denominator": "precision_denominator"}

METRICS: dict[str, Metric] = {
    "hit_rate": _binary(ranking.hit_rate),
    "hit_rate_all": _binary(ranking.hit_rate_all),
    "mrr": _binary(ranking.reciprocal_rank),
    "recall": _binary(ranking.recall, has_micro=True),
    "precision": _binary(ranking.precision, _WITH_PRECISION, has_micro=True),
    "f1": _binary(ranking.f1, _WITH_PRECISION, has_micro=True),
    "map": _binary(ranking.average_precision),
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
_ABOVE_0 = partial(_checked, kind=float, is_right=lambda number: 0 < number < math.inf, must="be a number above 0")

read_level = _ABOVE_0
"""Reads the grade from which on a binary metric counts a gold document, `rel=2` in its name."""

# Computed where they are asked for by name.
FURTHER_METRICS: dict[str, Metric] = {
    "success": _binary(ranking.hit_rate),
    "complete_rank": _binary(ranking.complete_rank),
    "r_precision": _binary(ranking.r_precision, has_cut_off=False),
    "rbp": _binary(ranking.rbp, parameters={"p": _SHARE}),
    "f": _binary(ranking.f_beta, _WITH_PRECISION, parameters={"beta": _ABOVE_0}),
    "err": Metric(ranking.err, parameters={"max_grade": _ABOVE_0}),
    "iprec": _binary(ranking.iprec, parameters={"recall": _SHARE}, has_cut_off=False, at="recall"),
    "set_precision": _binary(ranking.set_precision, has_cut_off=False),
    "set_recall": _binary(ranking.set_recall, has_cut_off=False),
    "set_f": _binary(ranking.set_f, parameters={"beta": _ABOVE_0}, has_cut_off=False, at="beta"),
    "set_map": _binary(ranking.set_map, has_cut_off=False),
    "num_ret": Metric(ranking.num_ret, has_cut_off=False, has_limits=False),
    "num_rel": _binary(ranking.num_rel, has_cut_off=False, has_limits=False),
    "num_rel_ret": _binary(ranking.num_rel_ret, has_cut_off=False, has_limits=False),
    "alpha_ndcg": Metric(alpha_ndcg, parameters={"alpha": _SHARE}, has_ideal=True),
    "redundancy": Metric(redundancy, parameters={"overlap": _SHARE}, reads_documents=True, lower_is_better=True),
    "freshness": Metric(
        freshness.freshness,
        parameters={"half_life": _DAYS, "now": str, "date_key": str},
        reads_documents=True,
        companion="undated",  # freshness leaves out documents without a date, and `undated` counts them
    ),
    "undated": Metric(
        freshness.undated, parameters={"now": str, "date_key": str}, reads_documents=True, lower_is_better=True
    ),
    "leak": Metric(leaks.leak, reads_leaks=True, lower_is_better=True),
    "leak_share": Metric(leaks.leak_share, reads_leaks=True, lower_is_better=True),
    "first_leak": Metric(leaks.first_leak, has_cut_off=False, has_limits=False, reads_leaks=True, lower_is_better=True),
    "span_recall": Metric(spans.span_recall, reads_documents=True),
    "span_precision": Metric(spans.span_precision, reads_documents=True),
    "span_iou": Metric(spans.span_iou, reads_documents=True),
    "span_f1": Metric(spans.span_f1, reads_documents=True),
    "judged": Metric(incomplete_labels.judged, reads_matches=True),
    "bpref": _binary(incomplete_labels.bpref, has_cut_off=False, reads_matches=True),
    "infap": _binary(incomplete_labels.infap, has_cut_off=False, reads_matches=True),
    "precision_upper": _binary(incomplete_labels.precision_upper, _WITH_PRECISION, reads_matches=True),
    "hit_rate_upper": _binary(incomplete_labels.hit_rate_upper, reads_matches=True),
    "mrr_upper": _binary(incomplete_labels.mrr_upper, reads_matches=True),
    "session_recall": _of_sessions(sessions.session_recall, parameters={"searches": _COUNT}),
    "evidence_complete": _of_sessions(sessions.session_complete),
    "searches_to_evidence": _fewer_is_better(sessions.session_searches, has_limits=False),
    "tokens_to_evidence": _fewer_is_better(sessions.session_tokens, has_limits=False),
    "seconds_to_evidence": _fewer_is_better(sessions.session_seconds, has_limits=False),
    "redundant_searches": _fewer_is_better(sessions.session_redundancy),
    "needless_searches": _fewer_is_better(sessions.session_needless),
    "late_recovery": _of_sessions(sessions.session_late_recovery),
    "seen_not_cited": _fewer_is_better(sessions.session_seen_not_cited),
    "filter_loss": _fewer_is_better(sessions.session_filter_loss, parameters={"stage": str}),
    "n_searches": _fewer_is_better(sessions.session_length, has_cut_off=False, has_limits=False),
}
LEAK_METRICS = ("leak", "leak_share", "first_leak")
"""What is computed beside the metrics by default, where a question forbids something."""

ALL_METRICS = {**METRICS, **FURTHER_METRICS}
