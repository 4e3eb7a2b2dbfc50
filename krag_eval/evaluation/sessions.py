"""Score sessions of several searches: judge each search by itself, and choose the metrics of sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.errors import InvalidInputError
from krag_eval.datasets.run import FLATTEN, RunRow
from krag_eval.datasets.sessions import Search
from krag_eval.evaluation.pipeline import MetricsByName, columns_of, judge_batch
from krag_eval.matching.settings import Settings
from krag_eval.metrics import Metric
from krag_eval.metrics.cut_offs import GivenCutOff
from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.leaks import Leaks
from krag_eval.metrics.sessions import SessionJudgments

SESSION_METRICS = (
    "session_recall",
    "evidence_complete",
    "searches_to_evidence",
    "redundant_searches",
    "needless_searches",
    "late_recovery",
    "n_searches",
)
"""What sessions are scored by where no metrics are named, beside those of `OPTIONAL_METRICS` that can be computed."""

OPTIONAL_METRICS = {
    "tokens_to_evidence": ("tokens", "`tokens` in its searches"),
    "seconds_to_evidence": ("seconds", "`latency_s` in its searches"),
    "seen_not_cited": ("cited", "`cited` in its rows"),
}


def judge_sessions(
    gold: Sequence[Sequence[object]], rows: Sequence[RunRow | None], settings: Settings
) -> SessionJudgments:
    """Match and judge each search of each session by itself.

    Args:
        gold: The gold documents of each question.
        rows: What was searched for each question; None where nothing was.
        settings: The scoring settings.

    Raises:
        InvalidInputError: A document cannot be read.
    """
    searches = [searches_of(row) for row in rows]
    offsets = np.append(0, np.cumsum([max(len(of_row), 1) for of_row in searches]))
    rankings = [search.retrieved for of_row in searches for search in of_row or (Search(),)]
    repeated = [documents for documents, n in zip(gold, np.diff(offsets).tolist(), strict=True) for _ in range(n)]
    judged = judge_batch(repeated, rankings, settings)
    cited, has_cited = _cited(gold, rows, settings)
    amounts = [[search.latency_s, search.tokens] for of_row in searches for search in of_row or (Search(),)]
    seconds, tokens = np.array(amounts, dtype=np.float64).reshape(-1, 2).T
    return SessionJudgments(
        batch=judged.batch,
        judgments=judged.judgments,
        offsets=offsets,
        n_searches=np.array([len(of_row) for of_row in searches], dtype=np.int64),
        seconds=seconds,
        tokens=tokens,
        cited=cited,
        has_cited=has_cited,
        queries=[search.query for of_row in searches for search in of_row or (Search(),)],
    )


def searches_of(row: RunRow | None) -> tuple[Search, ...]:
    """Return the searches of a row: a ranking alone is one search, and a retriever that raised made none."""
    if row is None or row.error is not None:
        return ()
    if row.searches:
        return row.searches
    return (Search(retrieved=row.retrieved, latency_s=row.seconds, stages=row.stages),)


def _cited(
    gold: Sequence[Sequence[object]], rows: Sequence[RunRow | None], settings: Settings
) -> tuple[BoolArray | None, BoolArray]:
    """Return which gold documents a cited document satisfies, and which sessions say what was cited."""
    cited = [None if row is None or row.error is not None else row.cited for row in rows]
    has_cited = np.array([one is not None for one in cited], dtype=bool)
    if not has_cited.any():
        return None, has_cited
    judged = judge_batch(gold, [one or () for one in cited], replace(settings, unjudged="irrelevant"))
    return judged.judgments.gold_rank > 0, has_cited


def choose_session_metrics(sessions: SessionJudgments) -> list[str]:
    """Return the names of the metrics of sessions that can be computed."""
    return [*SESSION_METRICS, *(name for name in OPTIONAL_METRICS if not _is_missing(name, sessions))]


def bind_sessions(metrics: Mapping[str, Metric], sessions: SessionJudgments) -> dict[str, Metric]:
    """Return the metrics, those of sessions with what each search found.

    Raises:
        InvalidInputError: A metric needs what no row of the run says.
    """
    bound = {}
    for name, metric in metrics.items():
        if metric.reads_sessions:
            if _is_missing(name, sessions):
                raise InvalidInputError(
                    f"The metric {name!r} needs {OPTIONAL_METRICS[name][1]}, and no row of the run has any. Record it, "
                    "or leave the metric out."
                )
            metric = replace(metric, function=partial(metric.function, sessions=sessions))
        elif metric.reads_leaks:
            metric = replace(metric, function=partial(_within_searches, metric.function, sessions), reads_sessions=True)
        bound[name] = metric
    return bound


def _within_searches(
    function: Callable[..., FloatArray], sessions: SessionJudgments, judged: Judgments, k: GivenCutOff, *, leaks: Leaks
) -> FloatArray:
    """Return a metric of forbidden ranks with the cut-off, also a budget of tokens, in each search."""
    return function(judged, sessions.ranks(k), leaks=leaks)


def refuse_metrics_of_rankings(metrics: Mapping[str, Metric], name: str, *further: str) -> None:
    """Refuse metrics that score one ranking, for a run with sessions of several searches.

    Raises:
        InvalidInputError: There is one.
    """
    of_sessions = {name for name, metric in metrics.items() if metric.reads_sessions or metric.reads_leaks}
    of_rankings = [*(name for name in metrics if name not in of_sessions), *further]
    if of_rankings:
        raise InvalidInputError(
            f"The run {name!r:.60} has sessions of several searches, and {', '.join(of_rankings)} "
            f"{'scores' if len(of_rankings) == 1 else 'score'} one ranking. Use metrics of sessions, such as "
            "`session_recall`, or score one ranking per question: ",
            *FLATTEN,
        )


def _is_missing(name: str, sessions: SessionJudgments) -> bool:
    field = OPTIONAL_METRICS[name][0] if name in OPTIONAL_METRICS else None
    if field is None:
        return False
    if field == "cited":
        return sessions.cited is None
    return bool(np.isnan(getattr(sessions, field)).all())


def score_sessions(
    sessions: SessionJudgments, metrics: MetricsByName, cut_offs: Sequence[GivenCutOff]
) -> dict[str, FloatArray]:
    """Return the values of all sessions by key, for metrics that `bind_sessions` returned."""
    columns = columns_of(metrics, cut_offs)
    return {key: metric.function(sessions.judgments, k) for key, (metric, k) in columns.items()}
