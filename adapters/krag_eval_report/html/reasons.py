"""Why gold documents were missed, by counts in plain words; where a pipeline lost them; what recall could be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from krag_eval.toolkit import CAUSES
from krag_eval_report.cells import door, run_alone
from krag_eval_report.html.figures import Figure, count_figure, mean_figure
from krag_eval_report.html.saying import message
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections.overview import main_key, subject_of

_MOST_RUNS = 5
_CAUSE = "missed"


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause and its counts.

    Attributes:
        key: Its technical name.
        title: The same in plain words.
        about: What it means.
        counts: How many gold documents it is the cause of, one figure per run.
    """

    key: str
    title: str
    about: str
    counts: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why gold documents were missed.

    Attributes:
        runs: The names of the runs, as many as the counts of a reason.
        reasons: The causes, the most frequent of the subject first.
        totals: How many gold documents are missed, one figure per run.
        n_gold: How many there are.
        k: The rank within which one counts as found; None for all ranks.
        is_all: Whether these are all runs.
    """

    runs: tuple[str, ...]
    reasons: tuple[Reason, ...]
    totals: tuple[Figure, ...]
    n_gold: Figure
    k: int | None
    is_all: bool


def reasons_of(report: Report) -> Reasons | None:
    """Return the causes of all runs, or of the subject alone if they are many; None without gold documents."""
    subject = subject_of(report)
    if not subject.diagnosis.n_gold:
        return None
    are_few = len(report.systems) <= _MOST_RUNS
    systems = report.systems if are_few else (subject,)
    counts = {system.name: Counter(miss.cause for miss in system.diagnosis.misses) for system in systems}
    order = sorted(CAUSES, key=lambda cause: -counts[subject.name][cause])
    k = subject.diagnosis.k
    reasons = [
        Reason(
            cause,
            _title(cause, k),
            CAUSES[cause],
            tuple(_count(report, one, cause, counts[one.name][cause]) for one in systems),
        )
        for cause in order
        if any(of[cause] for of in counts.values())
    ]
    totals = tuple(
        count_figure(
            one.diagnosis.n_gold - one.diagnosis.n_found,
            "missed",
            one.name,
            door=door(cause="any", **_alone(report, one)),
        )
        for one in systems
    )
    n_gold = count_figure(subject.diagnosis.n_gold, "n_gold")
    return Reasons(tuple(one.name for one in systems), tuple(reasons), totals, n_gold, k, are_few)


def _title(cause: str, k: int | None) -> str:
    return message(f"{_CAUSE}-{cause}", **({"k": k or 0} if cause == "ranked_below_k" else {}))


def _count(report: Report, system: ReportedSystem, cause: str, n: int) -> Figure:
    return count_figure(n, "cause", system.name, cause, door=door(cause=cause, **_alone(report, system)))


def _alone(report: Report, system: ReportedSystem) -> dict[str, Any]:
    return run_alone(system.name, len(report.systems))


@dataclass(frozen=True, slots=True)
class Loss:
    """How many gold documents a pipeline lost somewhere.

    Attributes:
        fate: The technical name.
        title: The same in plain words, with the name of the stage.
        n: How many.
    """

    fate: str
    title: str
    n: Figure


def losses_of(report: Report) -> tuple[str, tuple[Loss, ...]] | None:
    """Return the subject, or the first run with stages, and where its stages lost gold documents, the most first."""
    funnels = {funnel.name: funnel for funnel in report.funnels}
    name = next((name for name in (subject_of(report).name, *funnels) if name in funnels), None)
    if name is None:
        return None
    counts = {fate: n for fate, n in funnels[name].counts.items() if fate != "kept" and n}
    losses = [
        Loss(fate, _fate(fate, funnels[name].k), count_figure(counts[fate], "fate", name, fate, door=door("stages")))
        for fate in sorted(counts, key=lambda fate: -counts[fate])
    ]
    return (name, tuple(losses)) if losses else None


def _fate(fate: str, k: str | None) -> str:
    kind, _, stage = fate.partition(":")
    if kind == "lost_in":
        return message("fate-lost-in", stage=stage)
    if kind == "below_k":
        return message("fate-below-k", k=f"{k}")
    return message({"not_in_corpus": "fate-not-in-corpus"}.get(kind, "fate-not-retrieved"))


def ceilings_of(report: Report) -> tuple[tuple[str, Figure], ...]:
    """Return what the recall of a single run is and what it could be, each with its words."""
    key, system = main_key(report), report.systems[0]
    if len(report.systems) > 1 or not key.startswith("recall"):
        return ()
    ceilings = system.diagnosis.ceilings
    known = {
        "ceiling-recall": ceilings.recall,
        "ceiling-without-repeats": ceilings.without_repeats,
        "ceiling-best-order": ceilings.with_perfect_reranking,
    }
    return tuple((message(name), mean_figure(value, name)) for name, value in known.items() if value is not None)
