"""The first screen: what voids numbers, the verdict with its support, and what to look at first.

Whether something is better or worse is asked of `ComparisonRow.is_decided` alone, which knows the corrected verdict of
each row. What only a page shows stands in its package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from krag_eval import normalize
from krag_eval.analysis import Comparison, ComparisonRow, Outcome
from krag_eval.toolkit import (
    CAUSES,
    Cell,
    Said,
    Section,
    clip,
    decisive_keys,
    format_mean,
    is_lower_better,
    one_line,
    said,
)
from krag_eval_report.cells import changed, door, format_signed, run_alone, worst_first
from krag_eval_report.proven import best_against_others, slices_against_all
from krag_eval_report.records import Alarm, Overview, Report, ReportedSystem
from krag_eval_report.sections.comparison import TONES
from krag_eval_report.sections.summary import no_value_reason

MOST = 60
"""How many characters a verdict has at most; its support says the rest."""
_CONFIDENCE = 0.95
_MOST_SLICES = 3
# From this share of empty lists on, a run does not do what it should.
_MANY_EMPTY = 0.1
_NONE = "(none)"
# Of many runs a sentence names the first, and of a long name the beginning.
_MOST_NAMES, _LONGEST = 4, 48


def overview_of(report: Report) -> Overview:
    """Return what the first screen says."""
    verdict, *support = _verdict(report)
    return Overview(
        verdict=verdict,
        support=tuple(support),
        alarms=tuple(_alarms(report)),
        facts=tuple(_facts(report)),
        slices=tuple(_slices(report)),
        checks=tuple(_checks(report)),
    )


def overview_section(report: Report) -> Section:
    """Return what the first screen says as sentences, for formats without one."""
    said_of = overview_of(report)
    alarms = tuple(sentence for alarm in said_of.alarms for sentence in (alarm.title, *alarm.text))
    cells = (said_of.verdict, *said_of.support, *said_of.checks, *said_of.facts, *said_of.slices)
    return Section("overview", said("overview-title", "In short"), (*alarms, *(cell.text for cell in cells)))


def subject_of(report: Report) -> ReportedSystem:
    """Return the system that the report is about: the one compared with the baseline, of several the best.

    One that leaks is not, if there is another.
    """
    ranked = ranked_systems(report) or report.systems
    if len(report.systems) < 3:
        return ranked[-1]
    key = main_key(report)
    known = [system for system in ranked if system.value(key) is not None]
    sign = 1 if is_lower_better(key) else -1
    return min(known or ranked, key=lambda system: sign * (system.value(key) or 0.0))


def ranked_systems(report: Report) -> list[ReportedSystem]:
    """Return the systems whose scores can be used: those that show nothing forbidden, and do not know the questions."""
    return [system for system in report.systems if not n_forbidden(system) and not _knows_questions(system)]


def main_key(report: Report) -> str:
    """Return the key that everything is judged by: recall, if it was compared, at the rank at which misses count."""
    keys, k = _keys(report), report.systems[0].diagnosis.k
    is_session = any(system.detail.sessions is not None for system in report.systems)
    first = "session_recall" if is_session else "recall"
    named = [key for key in keys if key.partition("@")[0] == first] or keys
    return next((key for key in named if key.partition("@")[2] == f"{k or ''}"), named[0] if named else "")


def _keys(report: Report) -> list[str]:
    if report.comparison is not None and report.comparison.keys:
        return list(report.comparison.keys)
    return decisive_keys([system.result for system in report.systems])


def main_rows(report: Report) -> list[ComparisonRow]:
    """Return the rows against the baseline over all queries, of systems whose scores can be used; none without it."""
    ranked = {system.name for system in ranked_systems(report)}
    if report.comparison is None or report.comparison.baseline not in ranked:
        return []
    return [row for row in report.comparison.rows if row.system in ranked and row.n]


def fitted(message: str, english: str, /, *names: str, **arguments: object) -> Said:
    """Return a verdict of at most `MOST` characters, for which its names, `{a}` and `{b}`, are cut where they must."""
    named = dict(zip("ab", map(one_line, names), strict=False))
    room = MOST - len(english.format_map(arguments | dict.fromkeys(named, "")))
    long = {place for place, name in named.items() if len(name) > room // len(named)}
    left = room - sum(len(name) for place, name in named.items() if place not in long)
    cut = {place: clip(name, max(left // len(long), 2)) if place in long else name for place, name in named.items()}
    return said(message, english, **arguments, **cut)


def _verdict(report: Report) -> Iterator[Cell]:
    """Yield the verdict, then what supports it, in sentences."""
    subject, rows = subject_of(report), main_rows(report)
    reason = no_value_reason(subject.result)
    ranked = ranked_systems(report)
    if reason is not None:
        yield Cell.of_text(said("verdict-undefined", "No value is defined"), "bad")
        yield Cell.of_text(reason)
    elif len(report.systems) > 1 and not ranked:
        yield Cell.of_text(said("verdict-none-ranked", "No run can be used: each of them leaks"), "bad")
    elif len(ranked) > 2 or (len(ranked) == 2 and not rows):
        yield from _of_many(report, ranked, subject, rows)
    elif len(ranked) == 2:
        yield from _of_two(report, rows)
    else:
        yield from _of_one(report, subject)


def _of_one(report: Report, system: ReportedSystem) -> Iterator[Cell]:
    """Yield how much of the gold a system finds."""
    diagnosis = system.diagnosis
    numbers = {"n": diagnosis.n_found, "gold": diagnosis.n_gold}
    tone = None if diagnosis.n_found else "bad"
    if diagnosis.k is None:
        yield Cell.of_text(
            fitted("verdict-finds", "{a} finds {n} of {gold} gold documents", system.name, **numbers), tone
        )
    else:
        english = "{a} finds {n} of {gold} gold documents in the first {k}"
        yield Cell.of_text(fitted("verdict-finds-within", english, system.name, k=diagnosis.k, **numbers), tone)
    yield from _scored(report, system)
    missing = len({miss.query_index for miss in diagnosis.misses if miss.cause != "not_cited"})
    english = "Queries that miss a gold document: {missing} of {n}."
    with_gold = int(system.detail.judged.is_defined.sum())
    if missing:
        where = door(cause="any", **run_alone(system.name, len(report.systems)))
        yield Cell(missing, said("support-missing", english, missing=missing, n=with_gold), door=where)


def _scored(report: Report, system: ReportedSystem) -> Iterator[Cell]:
    """Yield the value of the main key with its interval."""
    key = main_key(report)
    value, ends = system.value(key), system.interval(key)
    if value is None:
        return
    numbers = {
        "name": system.name,
        "key": key,
        "value": format_mean(value),
        "n": system.result.tally.means[key].n_defined,
    }
    alone = None if len(report.systems) == 1 else system.name
    if ends is None:
        text = said("support-value", "{key} of {name} is {value} over {n} queries.", **numbers)
    else:
        english = "{key} of {name} is {value} (95 % interval {low} to {high}) over {n} queries."
        text = said("support-value-interval", english, low=format_mean(ends[0]), high=format_mean(ends[1]), **numbers)
    yield Cell(value, text, door=worst_first(key, alone))


def _of_two(report: Report, rows: Sequence[ComparisonRow]) -> Iterator[Cell]:
    """Yield whether a system is better or worse than the baseline, in its main key and the others."""
    key = main_key(report)
    main = next((row for row in rows if row.key == key), rows[0])
    better, worse = ([row for row in rows if row.is_decided(one)] for one in (Outcome.BETTER, Outcome.WORSE))
    names = main.system, main.baseline
    tone = "bad" if worse else "good" if better else None
    if better and worse:
        text = fitted("verdict-both", "{a} is better and worse than {b}", *names)
    elif main in better:
        text = fitted("verdict-better", "{a} is better than {b}", *names)
    elif main in worse:
        text = fitted("verdict-worse", "{a} is worse than {b}", *names)
    elif better:
        text = fitted("verdict-better-in", "{a} is better than {b} in {key}", *names, key=better[0].key)
    elif worse:
        text = fitted("verdict-worse-in", "{a} is worse than {b} in {key}", *names, key=worse[0].key)
    elif not any(row.wins or row.losses for row in rows):
        text = fitted("verdict-equal", "{a} and {b} score the same on every query", *names)
    elif main.outcome is Outcome.SAME:
        english = "{a} and {b} differ by at most {margin}"
        text = fitted("verdict-same", english, *names, margin=f"{main.margin:g}")
    else:
        text = fitted("verdict-open", "These queries cannot tell {a} from {b}", *names)
    yield Cell.of_text(text, tone)
    yield Cell(main.difference, _difference(main), TONES[main.outcome], changed(main, "differs"))
    for outcome, of_outcome in ((Outcome.WORSE, worse), (Outcome.BETTER, better)):
        others = ", ".join(row.key for row in of_outcome if row is not main)
        if others and main in of_outcome:
            yield Cell.of_text(said(f"support-also-{outcome}", f"Also {outcome}: {{keys}}.", keys=others))
        elif others:
            yield Cell.of_text(said(f"support-{outcome}", f"{str(outcome).capitalize()}: {{keys}}.", keys=others))
    yield from _latencies(report, *names)


def _difference(row: ComparisonRow) -> Said:
    """Say from where to where a value goes, and on how many queries."""
    numbers = {
        "key": row.key,
        "before": format_mean(row.baseline_mean),
        "after": format_mean(row.mean),
        "difference": format_signed(row.difference),
        "low": format_signed(row.low),
        "high": format_signed(row.high),
        "won": row.wins,
        "tied": row.ties,
        "lost": row.losses,
        "n": row.n,
    }
    if row.low is None:
        return said(
            "support-from-to",
            "{key} goes from {before} to {after}: won {won}, tied {tied}, lost {lost} of {n}.",
            **numbers,
        )
    english = (
        "{key} goes from {before} to {after}, by {difference} (95 % interval {low} to {high}): "
        "won {won}, tied {tied}, lost {lost} of {n} queries."
    )
    return said("support-from-to-interval", english, **numbers)


def _latencies(report: Report, system: str, baseline: str) -> Iterator[Cell]:
    times = {one.name: None if one.run is None else one.run.latency for one in report.systems}
    ours, theirs = times[system], times[baseline]
    if ours is not None and theirs is not None and np.isfinite([ours.p50, theirs.p50]).all():
        english = "Median latency: {ours} ms against {theirs} ms."
        text = said("support-latency", english, ours=milliseconds(ours.p50), theirs=milliseconds(theirs.p50))
        yield Cell(ours.p50, text)


def milliseconds(seconds: float) -> str:
    """Return a duration as milliseconds, with two digits that mean something.

    >>> milliseconds(0.0000756), milliseconds(0.00216), milliseconds(1.25)
    ('0.08', '2.2', '1250')
    """
    value = 1000 * seconds
    return f"{value:.{2 if value < 1 else 1 if value < 100 else 0}f}"


def _of_many(
    report: Report, ranked: Sequence[ReportedSystem], best: ReportedSystem, rows: Sequence[ComparisonRow]
) -> Iterator[Cell]:
    """Yield which system has the best mean, which ones may be as good, and which are better than the baseline."""
    key, value = main_key(report), best.value(main_key(report))
    word = "lowest" if is_lower_better(key) else "highest"
    text = format_mean(value)
    ties = [one.name for one in ranked if one is not best and format_mean(one.value(key)) == text]
    is_better = any((row.system, row.key) == (best.name, key) and row.is_decided(Outcome.BETTER) for row in rows)
    if ties:
        english = f"{{a}} and {{others}} more have the {word} {{key}}: {{value}}"
        verdict = fitted(f"verdict-{word}-tied", english, best.name, others=len(ties), key=key, value=text)
    else:
        verdict = fitted(f"verdict-{word}", f"{{a}} has the {word} {{key}}: {{value}}", best.name, key=key, value=text)
    yield Cell.of_text(verdict, "good" if is_better else None)
    below, close = apart_from_best(report)
    if below:
        yield Cell.of_text(_listed("support-better-than", "Better than {names}{more} beyond chance.", below))
    if close:
        english = "These queries cannot tell it from {names}{more}, which may be as good."
        yield Cell.of_text(_listed("support-close", english, close))
    baseline = rows[0].baseline if rows else ""
    for outcome in (Outcome.WORSE, Outcome.BETTER):
        named = [row.system for row in rows if row.key == key and row.is_decided(outcome)]
        others = [name for name in dict.fromkeys(named) if name != best.name]
        if others:
            english = f"{str(outcome).capitalize()} than {{baseline}} in {{key}}: {{names}}{{more}}."
            yield Cell.of_text(
                _listed(f"support-many-{outcome}", english, others, baseline=clip(baseline, _LONGEST), key=key)
            )


def _listed(message: str, english: str, names: Sequence[str], **arguments: object) -> Said:
    """Return a sentence with the first of some names, and how many more there are."""
    first = ", ".join(clip(one_line(name), _LONGEST) for name in names[:_MOST_NAMES])
    n = len(names) - _MOST_NAMES
    if n <= 0:
        return said(message, english.replace("{more}", ""), names=first, **arguments)
    return said(f"{message}-more", english.replace("{more}", " and {more} more"), names=first, more=n, **arguments)


def apart_from_best(report: Report) -> tuple[list[str], list[str]]:
    """Return which systems the best one is better than by the verdict of their rows, and which may be as good.

    Against the baseline the row of the comparison decides, against the others one that allows for the choice. Without
    SciPy nothing is said of any.
    """
    if any(system.result.intervals is None for system in report.systems):  # without scipy
        return [], []
    key, best, ranked = main_key(report), subject_of(report).name, ranked_systems(report)
    rows = {row.system: row for row in main_rows(report) if row.key == key}
    columns = {system.name: np.asarray(system.detail.values[key]) for system in ranked}
    level = _CONFIDENCE if report.comparison is None else report.comparison.confidence
    made = best_against_others(columns, best, key, level)
    below = {row.baseline for row in made if row.is_decided(Outcome.BETTER)}
    for row in rows.values():
        if best in (row.system, row.baseline):
            other, outcome = (row.baseline, Outcome.BETTER) if best == row.system else (row.system, Outcome.WORSE)
            below = below | {other} if row.is_decided(outcome) else below - {other}
    others = [system.name for system in ranked if system.name != best]
    return [name for name in others if name in below], [name for name in others if name not in below]


def n_forbidden(system: ReportedSystem) -> int:
    """Return for how many queries a system retrieves a forbidden document."""
    return 0 if system.detail.leaks is None else system.result.leaks().n_leaking


def known_questions(system: ReportedSystem) -> list[int]:
    """Return the queries with gold documents whose first document is the question itself, word for word."""
    queries = system.detail.queries
    if queries is None:
        return []
    side, defined = system.detail.documents.predicted, system.detail.judged.is_defined
    firsts = side.offsets[:-1].tolist()
    ends = side.offsets[1:].tolist()
    return [
        place
        for place, (question, first, end) in enumerate(zip(queries, firsts, ends, strict=True))
        if defined[place]
        and question
        and end > first
        and (text := side.texts[first])
        and abs(len(text) - len(question)) <= len(question)
        and normalize(text) == normalize(question)
    ]


def _knows_questions(system: ReportedSystem) -> bool:
    """Return whether that is so of at least half of the queries: an accident is rarer."""
    n = int(system.detail.judged.is_defined.sum())
    return n > 1 and 2 * len(known_questions(system)) >= n


def _alarms(report: Report) -> Iterator[Alarm]:
    many = len(report.systems) > 1
    left_out = said("alarm-left-out", "The run is left out of the ranking.")
    for system in report.systems:
        alone = run_alone(system.name, len(report.systems))
        if n_forbidden(system):
            leaks = system.result.leaks()
            title = said("alarm-forbidden", "Do not use {name}: it shows forbidden documents", name=system.name)
            numbers = {"n": leaks.n_leaking, "of": leaks.n_defined, "first": str(leaks[0])}
            english = "{n} of {of} queries got a forbidden document. First: {first}."
            text = [said("alarm-forbidden-evidence", english, **numbers)]
            yield Alarm(
                system.name,
                title,
                (*text, *([left_out] if many else [])),
                _forbidden_door(report, alone),
                leaks.n_leaking,
            )
        known = known_questions(system)
        if _knows_questions(system):
            english = "Do not use the scores of {name}: the questions stand in its index"
            title = said("alarm-questions", english, name=system.name)
            english = (
                "For {n} of {of} queries with gold documents the document at rank 1 is the question itself, "
                "word for word."
            )
            text = [
                said("alarm-questions-evidence", english, n=len(known), of=int(system.detail.judged.is_defined.sum()))
            ]
            remedy = said("alarm-questions-remedy", "Take them out of the index, and retrieve again.")
            yield Alarm(system.name, title, (*text, *([left_out] if many else []), remedy), door(**alone), len(known))
    for system in report.systems:
        yield from _failures(report, system)


def _forbidden_door(report: Report, alone: dict[str, Any]) -> str:
    key = next((key for key in report.systems[0].detail.values if key.partition("@")[0] == "leak"), None)
    return door(metric=key, least=None if key is None else "1", **alone)


def _failures(report: Report, system: ReportedSystem) -> Iterator[Alarm]:
    result, judged = system.result, system.detail.judged
    alone = run_alone(system.name, len(report.systems))
    failed, with_gold = len(result.errors), int(judged.is_defined.sum())
    failed_with_gold = sum(bool(judged.is_defined[query]) for query in result.errors)
    if failed:
        numbers = {"n": failed, "of": result.n_queries, "name": system.name, "gold": failed_with_gold}
        english = "{n} of {of} retrievals of {name} failed, {gold} of them with an answer to find"
        title = said("alarm-failed", english, **numbers)
        key = main_key(report)
        value = system.value(key)
        text = [said("alarm-failed-count", "They count as nothing retrieved.")]
        if value is not None and with_gold > failed_with_gold:
            column = np.array(system.detail.values[key], dtype=float)
            column[list(result.errors)] = np.nan
            english = "So {key} is {value}; over the {n} queries that did not fail it is {other}."
            both = {"key": key, "value": format_mean(value), "other": format_mean(float(np.nanmean(column)))}
            text.append(said("alarm-failed-means", english, n=int((~np.isnan(column)).sum()), **both))
        error, count = Counter(result.errors.values()).most_common(1)[0]
        english = "{n} of {of} with {error}. Repeat the run before comparing it."
        text.append(said("alarm-failed-error", english, error=clip(one_line(error), 160), n=count, of=failed))
        yield Alarm(system.name, title, tuple(text), door(status="failed", **alone), failed)
    n_empty = int((judged.is_defined & (judged.n_retrieved == 0)).sum()) - failed_with_gold
    if n_empty > _MANY_EMPTY * with_gold:
        english = "{name} retrieved nothing for {n} of {of} queries with gold documents"
        title = said("alarm-empty", english, name=system.name, n=n_empty, of=with_gold)
        yield Alarm(system.name, title, (), door(status="empty", **alone), n_empty)
    if with_gold and judged.n_retrieved.any() and not judged.gold_rank.any():
        title = said("alarm-no-match", "No retrieved document of {name} matches a gold document", name=system.name)
        text = [said("alarm-no-match-remedy", "Check ids, texts and the matching method.")]
        yield Alarm(system.name, title, tuple(text), door(**alone), 0)


def _facts(report: Report) -> Iterator[Cell]:
    subject = subject_of(report)
    alone, k = run_alone(subject.name, len(report.systems)), subject.diagnosis.k
    causes = Counter(miss.cause for miss in subject.diagnosis.misses)
    if causes:
        # Of equal counts the one that is checked first.
        cause = max(CAUSES, key=lambda name: causes[name])
        numbers = {"name": subject.name, "why": CAUSES[cause], "cause": cause, "n": causes[cause], "of": causes.total()}
        english = "Most misses of {name}: {why} ({cause}), {n} of {of} missed gold documents"
        text = (
            said("fact-cause", english + ".", **numbers)
            if k is None
            else said("fact-cause-within", english + " within rank {k}.", k=k, **numbers)
        )
        yield Cell(causes[cause], text, door=door(cause=cause, **alone))
    for funnel in report.funnels:
        lost = [stage for stage in funnel.stages if stage.n_lost]
        if funnel.name == subject.name and lost:
            stage = max(lost, key=lambda one: one.n_lost)
            english = "Of {of} gold documents of {name}, {n} are lost in the stage {stage}."
            numbers = {"name": subject.name, "stage": stage.name, "n": stage.n_lost, "of": funnel.n_needs}
            yield Cell(stage.n_lost, said("fact-stage", english, **numbers), door=door("stages"))
    if report.comparison is not None:
        yield from _changes(report, report.comparison)


def _changes(report: Report, comparison: Comparison) -> Iterator[Cell]:
    """Yield how many gold documents the subject alone finds, or misses, at the rank of the verdict."""
    subject = subject_of(report)
    if subject.name == comparison.baseline or not main_rows(report):
        return
    numbers = {"name": subject.name, "baseline": comparison.baseline, "k": comparison.rank}
    within = "" if comparison.rank is None else " within rank {k}"
    at = "" if comparison.rank is None else "-within"
    for found, message, english in (
        (True, "fact-gained", "Gold documents that {name} finds%s and {baseline} misses: {n} (queries: {queries})."),
        (False, "fact-lost", "Gold documents that {name} misses%s and {baseline} finds: {n} (queries: {queries})."),
    ):
        n, queries = comparison.changed(subject.name, found=found)
        if n:
            pair = (subject.name, comparison.baseline) if found else (comparison.baseline, subject.name)
            where = door(found=pair[0], missed=pair[1])
            yield Cell(n, said(message + at, english % within, n=n, queries=len(queries), **numbers), door=where)


def _slices(report: Report) -> Iterator[Cell]:
    """Yield the slices whose own verdict decides: against the baseline, then against the mean of all queries."""
    ranked = [system.name for system in ranked_systems(report)]
    named = [] if not main_rows(report) or report.comparison is None else report.comparison.losing_slices()
    losing = [row for row in named if row.is_decided(Outcome.WORSE, _n_families(report))]
    for row in [row for row in losing if row.system in ranked][:_MOST_SLICES]:
        english = (
            "Worse: {field} = {value}, {key} of {name} {difference} (95 % interval {low} to {high}) over {n} queries."
        )
        numbers = {"difference": format_signed(row.difference), "low": format_signed(row.low), "n": row.n}
        text = said(
            "fact-slice-worse", english, name=row.system, high=format_signed(row.high), **numbers, **_named(row)
        )
        yield Cell(row.difference, text, "bad", changed(row, "worse", (row.field, row.value)))
    for row in low_slices(report)[:_MOST_SLICES]:
        side = "above" if row.lower_is_better else "below"
        english = (
            f"Surely {side} the mean of {{name}}: {{field}} = {{value}}, {{key}} {{mean}} over {{n}} queries; "
            "{all} over all."
        )
        numbers = {"mean": format_mean(row.mean), "all": format_mean(row.baseline_mean), "n": row.n}
        text = said(f"fact-slice-{side}", english, name=row.system, **numbers, **_named(row))
        alone = None if len(report.systems) == 1 else row.system
        yield Cell(row.mean, text, "bad", worst_first(row.key, alone, (row.field, row.value)))


def _named(row: ComparisonRow) -> dict[str, str]:
    return {"field": f"{row.field}", "value": _NONE if row.value is None else row.value, "key": row.key}


def low_slices(report: Report) -> list[ComparisonRow]:
    """Return for each system the lowest slice of those that are surely below its mean over all queries."""
    low: dict[str, ComparisonRow] = {}
    below = [row for row in _against_all(report) if row.is_decided(Outcome.WORSE)]
    for row in sorted(below, key=lambda row: row.gain or 0.0):
        low.setdefault(row.system, row)
    return [low[system.name] for system in report.systems if system.name in low]


def _against_all(report: Report) -> list[ComparisonRow]:
    """Return each slice of each system against the mean of all queries."""
    key = main_key(report)
    parts = [part for part in report.slices if len(part.chosen) < report.n_queries]
    if not key or not parts or any(system.result.intervals is None for system in report.systems):  # without scipy
        return []
    columns = {system.name: np.asarray(system.detail.values[key]) for system in ranked_systems(report)}
    return slices_against_all(columns, parts, key, _CONFIDENCE)


def decided_slices(report: Report) -> list[ComparisonRow]:
    """Return the slices that are decided in the main key: against the baseline, or of one system against its mean."""
    if len(report.systems) == 1:
        rows, n_families = _against_all(report), 1
    else:
        compared = () if report.comparison is None or not main_rows(report) else report.comparison.slices
        rows, n_families = [row for row in compared if row.key == main_key(report)], _n_families(report)
    return [row for one in (Outcome.WORSE, Outcome.BETTER) for row in rows if row.is_decided(one, n_families)]


def _n_families(report: Report) -> int:
    """Return how many families of tests speak on the first screen: that over all queries, and one for each field."""
    return 1 + len({row.field for row in report.comparison.slices}) if report.comparison is not None else 1


def _checks(report: Report) -> Iterator[Cell]:
    gate = report.gate
    if gate is None:
        return
    tones = {"pass": "good", "fail": "bad"}
    text = said("gate-status", "Gate of {name}: {status}", name=gate.run, status=str(gate.status).upper())
    yield Cell.of_text(text, tones.get(str(gate.status), "quiet"))
    for check in gate.sorted_checks():
        where = "" if check.where is None else f" ({check.where})"
        text_of = f"{str(check.status).upper()}: {check.requirement}{where}: {check.found}"
        yield Cell.of_text(text_of, tones.get(str(check.status), "quiet"))
