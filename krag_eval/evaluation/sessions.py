"""Score sessions of several searches: judge each search by itself, and choose the metrics of sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.errors import Argument, InvalidInputError
from krag_eval.datasets.run import FLATTEN, RunRow
from krag_eval.datasets.sessions import Search
from krag_eval.documents.document import Document
from krag_eval.evaluation.pipeline import judge_batch
from krag_eval.evaluation.rules import leaks_of
from krag_eval.matching.forbidden import Rules
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
    times = np.diff(offsets).tolist()
    rankings = [search.retrieved for of_row in searches for search in of_row or (Search(),)]
    repeated = [documents for documents, n in zip(gold, times, strict=True) for _ in range(n)]
    judged = judge_batch(repeated, rankings, settings, query_ids=_names(rows, times))
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
        filtered=partial(_filtered, gold, rows, settings),
    )


def _names(rows: Sequence[RunRow | None], times: Sequence[int]) -> list[str]:
    return ["" if row is None else row.query_id for row, n in zip(rows, times, strict=True) for _ in range(n)]


def judge_with_rules(
    gold: Sequence[Sequence[object]], rows: Sequence[RunRow | None], settings: Settings, rules: Rules | None
) -> tuple[SessionJudgments, Leaks | None]:
    """Judge each search of each session by the gold that whoever asks may see; return also which ranks are forbidden.

    Raises:
        InvalidInputError: A document cannot be read.
    """
    if rules is None:
        return judge_sessions(gold, rows, settings), None
    seen, hidden = rules.visible(gold)
    sessions = judge_sessions(seen, rows, settings)
    repeated = rules.repeated(np.diff(sessions.offsets).tolist())
    return sessions, replace(leaks_of(sessions.batch, repeated, sessions.offsets), hidden=hidden)


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
    judged = judge_batch(
        gold, [one or () for one in cited], replace(settings, unjudged="irrelevant", exclude_self=False)
    )
    return judged.judgments.gold_rank > 0, has_cited


def _filtered(
    gold: Sequence[Sequence[object]], rows: Sequence[RunRow | None], settings: Settings, name: str | None
) -> tuple[BoolArray, BoolArray]:
    """Return which needs a filter was given and did not return, and which rows went through one.

    Raises:
        InvalidInputError: No row has such a stage.
    """
    lists: list[Sequence[Document]] = []
    of_row: list[int] = []
    names: dict[str, None] = {}
    for place, row in enumerate(rows):
        for search in searches_of(row):
            returned = {stage.name: stage.retrieved for stage in search.stages}
            names |= {stage.name: None for stage in search.stages if stage.inputs}
            for stage in search.stages:
                if stage.is_filter(name):
                    lists += [[one for given in stage.inputs for one in returned[given]], stage.retrieved]
                    of_row += [place] * 2
    if not lists:
        wanted = "whose name contains 'filter'" if name is None else f"named {name!r:.60}"
        known = f" The stages with inputs are: {', '.join(map(repr, names))!s:.200}. Name the filter, such as "
        named = (known, Argument("metrics", f"filter_loss(stage={next(iter(names))})"), ".") if names else ()
        raise InvalidInputError(
            f"The metric 'filter_loss' needs a stage {wanted}, with the `inputs` that it was given, and no row of the "
            "run has one.",
            *named,
        )
    places = [*of_row, *range(len(rows))]  # what each row needs is counted with an empty ranking
    query_ids = _names([rows[place] for place in places], [1] * len(places))
    rankings = [*lists, *[()] * len(rows)]
    judged = judge_batch([gold[place] for place in places], rankings, settings, query_ids=query_ids).judgments
    first = np.append(0, np.cumsum(judged.n_gold[len(lists) :]))
    filters = judged.gold_query < len(lists)
    was_given, found = judged.gold_query[filters] % 2 == 0, judged.gold_rank[filters] > 0
    before = np.append(0, np.cumsum(judged.n_gold))[judged.gold_query[filters]]
    needs = first[np.array(of_row)[judged.gold_query[filters]]] + np.arange(len(before)) - before
    taken_out = np.zeros(int(first[-1]), dtype=bool)
    given, returned_it = needs[was_given], found[~was_given]  # both lists of a filter have the same needs
    taken_out[given[found[was_given] & ~returned_it]] = True
    return taken_out, np.isin(np.arange(len(rows)), of_row)


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
