"""What the first screen of a page claims, and whether the results say so.

Every text with a digit on the first screen is a claim: a number that names its source (`data-claim`), a message whose
arguments are looked up here, or a name of the report. Verdicts are claims, too. What has no source is a fault.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import numpy as np

from krag_eval._utils.formatting import clip, format_mean, format_value, one_line
from krag_eval.analysis.comparison import ComparisonRow, Outcome
from krag_eval.metrics.names import is_lower_better
from krag_eval_report import Report
from krag_eval_report.html.texts import printable
from krag_eval_report.languages import languages
from krag_eval_report.records import ReportedSystem
from krag_eval_report.sections.overview import main_key

DIGIT = re.compile(r"\d")
SVG = "{http://www.w3.org/2000/svg}"
# Texts of the results themselves, and the numbers beside the ticks of an axis.
TICKS = ("axis", "plane")
# Headings with a digit that claims nothing.
HEADINGS = ("interval-title", "scores-about", "differences-about", "foot-band", "board-p50", "board-p95")


class Systems(dict[str, ReportedSystem]):
    """Systems by their names, and by these as a page shows them."""

    def __missing__(self, name: str) -> ReportedSystem:
        return next(system for known, system in self.items() if shown(known) == shown(name))


class Source:
    """The results of a report, asked anew: nothing here is read from what the page was made of."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.systems = Systems({system.name: system for system in report.systems})
        self.names = set(self._names())
        self.shown = set(map(shown, self.names))

    def _names(self) -> Iterator[str]:
        for system in self.report.systems:
            yield from (system.name, *self.systems)
            yield from system.result
            yield from {key.partition("@")[0] for key in system.result}
            yield from system.detail.query_ids or ()
            yield from (text or "" for text in system.detail.queries or ())
            if system.run is not None:
                yield from map(str, {**system.run.recorded, **system.run.parameters})
            yield from system.result.errors.values()
        for part in self.report.slices:
            yield from (str(part.field), str(part.value))
        yield from self.report.notes
        for check in () if self.report.gate is None else self.report.gate.sorted_checks():
            where = "" if check.where is None else f" ({check.where})"
            yield f"{str(check.status).upper()}: {check.requirement}{where}: {check.found}"
        if self.report.systems[0].detail.query_ids is None:
            yield from (str(place + 1) for place in range(self.report.n_queries))

    def column(self, name: str, key: str) -> np.ndarray:
        return np.asarray(self.systems[printed(name)].detail.values[key], dtype=float)

    def mean(self, name: str, key: str) -> float:
        return float(np.nanmean(self.column(name, key)))

    def row(self, name: str, key: str) -> ComparisonRow:
        assert self.report.comparison is not None
        rows = self.report.comparison.rows
        return next(row for row in rows if (printed(row.system), row.key) == (printed(name), key))

    def chosen(self, field: str, value: str) -> np.ndarray:
        return next(
            p.chosen
            for p in self.report.slices
            if tuple(map(printable, (str(p.field), p.value or ""))) == (field, value)
        )

    def seconds(self, name: str, share: float) -> str:
        run = self.systems[name].run
        times = (
            []
            if run is None
            else [row.seconds for row in run.rows.values() if row.seconds is not None and row.error is None]
        )
        if not times or not np.isfinite(times).all():
            return "-"
        value = 1000 * float(np.quantile(times, share))
        return f"{value:.{2 if value < 1 else 1 if value < 100 else 0}f}"

    def misses(self, name: str, cause: str | None = None) -> int:
        causes = Counter(self.systems[name].diagnosis.causes)
        if cause is not None:
            return causes[cause]
        return sum(n for one, n in causes.items() if one not in ("found", "not_cited"))

    def changed(self, name: str, *, found: bool) -> tuple[int, int]:
        """Gold documents that one run finds and the baseline misses at the rank of the verdict, or the other way."""
        baseline, system = self.report.systems[0], self.systems[name]
        k = rank_of(self.report)
        now, before = (within(one, k) for one in (system, baseline))
        changed = now & ~before if found else before & ~now
        return int(changed.sum()), len(set(np.asarray(system.diagnosis.gold_queries)[changed].tolist()))


def rank_of(report: Report) -> int | None:
    """The rank of the verdict: the largest of the keys that are compared, or scored."""
    keys = [] if report.comparison is None else [key.partition("@")[2] for key in report.comparison.keys]
    if keys and all(map(str.isdecimal, keys)):
        return max(map(int, keys))
    cut_offs = [key.removeprefix("@") for key in report.systems[0].result.tally.counts]
    return None if "" in cut_offs else max((int(k) for k in cut_offs if k.isdecimal()), default=None)


def within(system: ReportedSystem, k: int | None) -> np.ndarray:
    rank = np.asarray(system.detail.gold_rank)
    return (rank > 0) & ((rank <= k) if k is not None else True)


def printed(name: str) -> str:
    return str(printable(name))


def three(value: float) -> str:
    return format_value(value, 3) if abs(value) < 100 else f"{value:.4g}"


def signed(value: float) -> str:
    text = format_mean(value, "+")
    return "±" + text[1:] if float(text) == 0 else text.replace("-", "−")


def slice_mean(source: Source, name: str, key: str, field: str, value: str) -> str:
    column = source.column(name, key)[source.chosen(field, value)]
    return three(float(np.nanmean(column))) if not np.isnan(column).all() else "-"


def spent(source: Source, name: str, what: str) -> str:
    run = source.systems[name].run
    assert run is not None
    found = {**run.recorded, **run.parameters}.get(what)
    if found is None and what == "tokens":
        tokens = [
            search.tokens for row in run.rows.values() for search in row.searches or () if search.tokens is not None
        ]
        found = sum(tokens) / len(run.rows) if tokens else None
    return "-" if found is None else f"{found:,.4g}" if found < 1000 else f"{found:,.0f}"


def interval(source: Source, name: str, key: str, side: int) -> str:
    ends = (source.systems[name].result.intervals or {})[key]
    assert ends is not None
    return three(ends[side])


NUMBERS: dict[str, Callable[..., str]] = {
    "value": lambda s, name, key: three(s.mean(name, key)) if not np.isnan(s.column(name, key)).all() else "-",
    "value_low": lambda s, name, key: interval(s, name, key, 0),
    "value_high": lambda s, name, key: interval(s, name, key, 1),
    "before": lambda s, name, key: three(s.mean(s.report.systems[0].name, key)),
    "after": lambda s, name, key: three(s.mean(name, key)),
    "difference": lambda s, name, key: signed(
        float(np.nanmean(s.column(name, key) - s.column(s.report.systems[0].name, key)))
    ),
    "low": lambda s, name, key: signed(s.row(name, key).low or 0.0),
    "high": lambda s, name, key: signed(s.row(name, key).high or 0.0),
    "p50": lambda s, name: s.seconds(name, 0.5),
    "p95": lambda s, name: s.seconds(name, 0.95),
    "spent": spent,
    "n_defined": lambda s, name, key: f"{int((~np.isnan(s.column(name, key))).sum()):,}",
    "failed": lambda s, name: f"{len(s.systems[name].result.errors):,}",
    "won": lambda s, name, key: f"{won(s, name, key, 1)}",
    "tied": lambda s, name, key: f"{won(s, name, key, 0)}",
    "lost": lambda s, name, key: f"{won(s, name, key, -1)}",
    "n_compared": lambda s, name, key: f"{s.row(name, key).n:,}",
    "gained": lambda s, name: f"{s.changed(name, found=True)[0]}",
    "gained_queries": lambda s, name: f"{s.changed(name, found=True)[1]}",
    "dropped": lambda s, name: f"{s.changed(name, found=False)[0]}",
    "dropped_queries": lambda s, name: f"{s.changed(name, found=False)[1]}",
    "missed": lambda s, name: f"{s.misses(name):,}",
    "cause": lambda s, name, cause: f"{s.misses(name, cause):,}",
    "n_gold": lambda s: f"{len(s.report.systems[0].diagnosis.causes):,}",
    "fate": lambda s, name, fate: f"{next(one for one in s.report.funnels if one.name == name).fates.count(fate):,}",
    "slice": slice_mean,
    "slice_n": lambda s, key, field, value: (
        f"{max(int((~np.isnan(s.column(name, key)[s.chosen(field, value)])).sum()) for name in s.systems):,}"
    ),
    "missed_queries": lambda s, name: f"{missing_queries(s, name):,}",
    "ceiling-recall": lambda s: three(s.report.systems[0].diagnosis.ceilings.recall or 0.0),
    "ceiling-without-repeats": lambda s: three(s.report.systems[0].diagnosis.ceilings.without_repeats or 0.0),
    "ceiling-best-order": lambda s: three(s.report.systems[0].diagnosis.ceilings.with_perfect_reranking or 0.0),
}


def won(source: Source, name: str, key: str, sign: int) -> int:
    gains = source.column(name, key) - source.column(source.report.systems[0].name, key)
    gains = -gains if source.row(name, key).lower_is_better else gains
    return int((np.sign(gains[~np.isnan(gains)]) == sign).sum())


def missing_queries(source: Source, name: str) -> int:
    system = source.systems[name]
    causes = zip(np.asarray(system.diagnosis.gold_queries).tolist(), system.diagnosis.causes, strict=True)
    return len({query for query, cause in causes if cause not in ("found", "not_cited")})


def named(source: Source, short: str) -> str:
    """The run whose name a sentence may have cut."""
    begin = short.removesuffix("…").removesuffix("...")
    return next(name for name, one in source.systems.items() if one_line(one.name).startswith(one_line(begin)))


def outcomes(source: Source, name: str) -> dict[str, Outcome]:
    assert source.report.comparison is not None
    return {row.key: row.outcome for row in source.report.comparison.rows if printed(row.system) == name}


def decided_as(source: Source, a: dict[str, Any], *expected: Outcome) -> bool:
    """Whether the two runs are compared, and exactly these of better and worse are decided in any metric."""
    assert source.report.comparison is not None
    found = set(outcomes(source, named(source, a["a"])).values()) & {Outcome.BETTER, Outcome.WORSE}
    return printed(source.report.comparison.baseline) == named(source, a["b"]) and found == set(expected)


def is_best(source: Source, a: dict[str, Any], best: Callable[..., float]) -> bool:
    name, key = named(source, a["a"]), a["key"]
    values = [
        source.mean(one, key)
        for one in source.systems
        if not source.systems[one].detail.leaks or not source.systems[one].result.leaks().n_leaking
    ]
    return three(source.mean(name, key)) == a["value"] and bool(abs(source.mean(name, key) - best(values)) < 1e-12)


def keys_are(source: Source, a: dict[str, Any], outcome: Outcome) -> bool:
    return any(
        all(outcomes(source, name).get(key) is outcome for key in a["keys"].split(", ")) for name in source.systems
    )


def of_difference(source: Source, a: dict[str, Any]) -> bool:
    assert source.report.comparison is not None
    for row in source.report.comparison.rows:
        if row.key == a["key"] and three(source.mean(row.system, row.key)) == a["after"]:
            counts = [won(source, row.system, row.key, sign) for sign in (1, 0, -1)]
            low = "low" not in a or [signed(row.low or 0.0), signed(row.high or 0.0)] == [a["low"], a["high"]]
            if counts == [a["won"], a["tied"], a["lost"]] and sum(counts) == a["n"] and low:
                return bool(three(source.mean(row.baseline, row.key)) == a["before"])
    return False


def of_failures(source: Source, a: dict[str, Any]) -> bool:
    for name, system in source.systems.items():
        if a["key"] in system.detail.values and system.result.errors:
            column = source.column(name, a["key"]).copy()
            whole = three(float(np.nanmean(column)))
            column[list(system.result.errors)] = np.nan
            if [whole, three(float(np.nanmean(column))), int((~np.isnan(column)).sum())] == [
                a["value"],
                a["other"],
                a["n"],
            ]:
                return True
    return False


def failed(source: Source, a: dict[str, Any]) -> bool:
    system = source.systems[printed(a["name"])]
    gold = sum(bool(system.detail.judged.n_gold[place]) for place in system.result.errors)
    return [len(system.result.errors), system.result.n_queries, gold] == [a["n"], a["of"], a["gold"]]


def value_of(source: Source, a: dict[str, Any]) -> bool:
    name, key = printed(a["name"]), a["key"]
    is_interval = "low" not in a or [interval(source, name, key, side) for side in (0, 1)] == [a["low"], a["high"]]
    return (
        is_interval
        and three(source.mean(name, key)) == a["value"]
        and int((~np.isnan(source.column(name, key))).sum()) == a["n"]
    )


def of_slice(source: Source, a: dict[str, Any], row: ComparisonRow | None = None) -> bool:
    assert source.report.comparison is not None
    value = None if a["value"] == "(none)" else a["value"]
    row = next(
        r
        for r in source.report.comparison.slices
        if (r.system, r.key, r.field, r.value) == (a["name"], a["key"], a["field"], value)
    )
    return row.outcome is Outcome.WORSE and [
        signed(row.difference or 0),
        signed(row.low or 0),
        signed(row.high or 0),
        row.n,
    ] == [
        a["difference"],
        a["low"],
        a["high"],
        a["n"],
    ]


def low_slice(source: Source, a: dict[str, Any]) -> bool:
    value = "" if a["value"] == "(none)" else a["value"]
    column = source.column(printed(a["name"]), a["key"])[source.chosen(printed(a["field"]), printed(value))]
    return [
        three(float(np.nanmean(column))),
        three(source.mean(printed(a["name"]), a["key"])),
        int((~np.isnan(column)).sum()),
    ] == [
        a["mean"],
        a["all"],
        a["n"],
    ]


def questions_in_index(source: Source, a: dict[str, Any]) -> bool:
    def count(system: ReportedSystem) -> int:
        side = system.detail.batch.predicted
        starts, queries = side.offsets.tolist(), system.detail.queries or []
        firsts = [side.texts[start] if end > start else None for start, end in pairwise(starts)]
        pairs = zip(queries, firsts, system.detail.judged.n_gold.tolist(), strict=True)
        return sum(
            bool(q and t and n) and " ".join(str(q).split()).casefold() == " ".join(str(t).split()).casefold()
            for q, t, n in pairs
        )

    return any(count(system) == a["n"] for system in source.systems.values())


def listed(source: Source, names: str) -> list[str]:
    """The runs that a sentence lists, each perhaps cut."""
    found, rest = [], names
    while rest:
        known = {clip(one_line(one.name), 48): name for name, one in source.systems.items()}
        text = max((one for one in known if rest == one or rest.startswith(f"{one}, ")), key=len)
        found.append(known[text])
        rest = rest[len(text) :].removeprefix(", ")
    return found


def as_listed(source: Source, a: dict[str, Any], kind: str) -> bool:
    """Whether the best run, or the baseline, stands to the listed runs as a sentence says."""
    names = listed(source, a["names"])
    if len(names) + a.get("more", 0) >= len(source.systems) + (kind != "close"):
        return False
    if kind.startswith("many-"):
        return all(str(outcomes(source, name)[a["key"]]) == kind.removeprefix("many-") for name in names)
    key = main_key(source.report)
    sign = -1 if is_lower_better(key) else 1
    best = max(
        (name for name in source.systems if not np.isnan(source.column(name, key)).all()),
        key=lambda name: sign * source.mean(name, key),
    )
    gains = {name: sign * (source.column(best, key) - source.column(name, key)) for name in names}
    if kind == "close":
        return True
    return all(np.nanmean(of) > 0 and (of > 0).sum() > (of < 0).sum() for of in gains.values())


MESSAGES: dict[str, Callable[[Source, dict[str, Any]], bool]] = {
    "size-of-report": lambda s, a: (a["n"], a["runs"]) == (s.report.n_queries, len(s.systems)),
    "board-failed": lambda s, a: a["n"] in {len(one.result.errors) for one in s.systems.values()},
    "board-of": lambda s, a: a["n"] == len(s.systems) and a["key"] in s.names,
    "warnings": lambda s, a: a["n"] == len(s.report.notes),
    "more-alarms": lambda s, a: a["n"] > 0,
    "slices-more": lambda s, a: 0 < a["n"] < len(s.report.slices),
    "within-rank": lambda s, a: a["k"] == rank_of(s.report),
    "missed-ranked_below_k": lambda s, a: a["k"] == rank_of(s.report),
    "fate-below-k": lambda s, a: a["k"] in {funnel.k for funnel in s.report.funnels},
    "fate-lost-in": lambda s, a: any(
        stage.name == a["stage"] for funnel in s.report.funnels for stage in funnel.stages
    ),
    "won-lost-about": lambda s, a: a["key"] in s.names,
    "reasons-of": lambda s, a: any(name.startswith(a["name"].rstrip("….")) for name in s.systems),
    "rank-found": lambda s, a: any(a["rank"] in np.asarray(one.detail.gold_rank) for one in s.systems.values()),
    "rank-low": lambda s, a: any(a["rank"] in np.asarray(one.detail.gold_rank) for one in s.systems.values()),
    "verdict-finds": lambda s, a: (
        [a["gold"] - a["n"], a["gold"]]
        == [s.misses(named(s, a["a"])), len(s.systems[named(s, a["a"])].diagnosis.causes)]
    ),
    "verdict-finds-within": lambda s, a: (
        [a["gold"] - a["n"], a["gold"], a["k"]]
        == [s.misses(named(s, a["a"])), len(s.systems[named(s, a["a"])].diagnosis.causes), rank_of(s.report)]
    ),
    "verdict-better": lambda s, a: decided_as(s, a, Outcome.BETTER),
    "verdict-worse": lambda s, a: decided_as(s, a, Outcome.WORSE),
    "verdict-better-in": lambda s, a: (
        decided_as(s, a, Outcome.BETTER) and outcomes(s, named(s, a["a"]))[a["key"]] is Outcome.BETTER
    ),
    "verdict-worse-in": lambda s, a: (
        decided_as(s, a, Outcome.WORSE) and outcomes(s, named(s, a["a"]))[a["key"]] is Outcome.WORSE
    ),
    "verdict-both": lambda s, a: decided_as(s, a, Outcome.BETTER, Outcome.WORSE),
    "verdict-open": lambda s, a: decided_as(s, a),
    "verdict-same": lambda s, a: Outcome.SAME in outcomes(s, named(s, a["a"])).values(),
    "verdict-equal": lambda s, a: all(
        not won(s, named(s, a["a"]), key, 1) and not won(s, named(s, a["a"]), key, -1)
        for key in outcomes(s, named(s, a["a"]))
    ),
    "verdict-none-ranked": lambda s, a: True,
    "verdict-highest": lambda s, a: is_best(s, a, max),
    "verdict-lowest": lambda s, a: is_best(s, a, min),
    "verdict-highest-tied": lambda s, a: (
        is_best(s, a, max) and sum(three(s.mean(one, a["key"])) == a["value"] for one in s.systems) >= a["others"] + 1
    ),
    "verdict-lowest-tied": lambda s, a: (
        is_best(s, a, min) and sum(three(s.mean(one, a["key"])) == a["value"] for one in s.systems) >= a["others"] + 1
    ),
    "support-value": value_of,
    "support-value-interval": value_of,
    "support-missing": lambda s, a: (
        any(missing_queries(s, name) == a["missing"] for name in s.systems)
        and a["n"] == int((np.asarray(s.report.systems[0].detail.judged.n_gold) > 0).sum())
    ),
    "support-from-to": of_difference,
    "support-from-to-interval": of_difference,
    "support-latency": lambda s, a: {s.seconds(name, 0.5) for name in s.systems} >= {a["ours"], a["theirs"]},
    **{
        f"support-{also}{outcome}": partial(keys_are, outcome=outcome)
        for also in ("", "also-")
        for outcome in (Outcome.BETTER, Outcome.WORSE)
    },
    **{
        f"support-{kind}{more}": partial(as_listed, kind=kind)
        for kind in ("better-than", "close", "many-better", "many-worse")
        for more in ("", "-more")
    },
    "alarm-left-out": lambda s, a: len(s.systems) > 1,
    "alarm-forbidden": lambda s, a: s.systems[printed(a["name"])].result.leaks().n_leaking > 0,
    "alarm-forbidden-evidence": lambda s, a: any(
        (leaks.n_leaking, leaks.n_defined) == (a["n"], a["of"])
        for leaks in (one.result.leaks() for one in s.systems.values())
    ),
    "alarm-questions": lambda s, a: printed(a["name"]) in s.systems,
    "alarm-questions-evidence": questions_in_index,
    "alarm-failed": failed,
    "alarm-failed-means": of_failures,
    "alarm-failed-error": lambda s, a: any(len(one.result.errors) == a["of"] >= a["n"] for one in s.systems.values()),
    "alarm-empty": lambda s, a: (
        a["n"]
        == int(
            (
                (np.asarray(s.systems[printed(a["name"])].detail.judged.n_gold) > 0)
                & (np.asarray(s.systems[printed(a["name"])].detail.judged.n_retrieved) == 0)
            ).sum()
        )
        - sum(
            bool(s.systems[printed(a["name"])].detail.judged.n_gold[place])
            for place in s.systems[printed(a["name"])].result.errors
        )
    ),
    "alarm-no-match": lambda s, a: not np.asarray(s.systems[printed(a["name"])].detail.gold_rank).any(),
    "fact-slice-worse": of_slice,
    "fact-slice-below": low_slice,
    "fact-slice-above": low_slice,
    "gate-status": lambda s, a: s.report.gate is not None and str(s.report.gate.status).upper() == a["status"],
}


def faults(report: Report, page: str) -> list[str]:
    """What the first screen claims and the results do not say."""
    begin, end = page.index('<section id="overview"'), page.index('<section id="queries"')
    overview = html5lib.parseFragment(page[begin:end], namespaceHTMLElements=False)
    source = Source(report)
    found = [fault for element in overview for fault in _faults(element, source, ())]
    return found + _bands(overview)


def _faults(element: Element, source: Source, above: tuple[Element, ...]) -> Iterator[str]:
    chain = (*above, element)
    claim, message = element.get("data-claim"), element.get("data-l10n")
    if claim is not None:
        of, text = list(map(printed, json.loads(element.get("data-of", "[]")))), "".join(element.itertext())
        if claim not in NUMBERS:
            yield f"{text!r}: nothing checks the number {claim!r}"
        elif (expected := NUMBERS[claim](source, *of)) != text:
            yield f"{claim} of {of} is {expected}, not {text}"
        return
    if message is not None:
        yield from _message(element, message, source)
        return
    texts = [element.text or "", *(child.tail or "" for child in element)]
    for text in texts:
        is_tick = any(set((one.get("class") or "").split()) & set(TICKS) for one in chain)
        if (
            DIGIT.search(text)
            and not is_tick
            and text.strip() not in source.names
            and not _begins(text.strip(), source)
        ):
            yield f"{text.strip()!r} has no source"
    for child in element:
        yield from _faults(child, source, chain)


def _begins(text: str, source: Source) -> bool:
    """Whether a text is the isolated, or shortened, text of a user."""
    bare = shown(text)
    return any(bare and (name == bare or (len(bare) >= 250 and name.startswith(bare[:250]))) for name in source.shown)


def shown(text: str) -> str:
    """A text as a page shows it."""
    return " ".join(str(printable(text)).replace("\u2068", "").replace("\u2069", "").split())


def _message(element: Element, message: str, source: Source) -> Iterator[str]:
    arguments = json.loads(element.get("data-l10n-args", "{}"))
    text = "".join(element.itertext())
    expected = languages()["en"].message(message, **{n: v for n, v in arguments.items() if not isinstance(v, list)})
    is_plain = not any(isinstance(value, list) for value in arguments.values())
    if is_plain and shown(str(expected)) != shown(text):
        yield f"{message}: says {text!r}, its arguments {str(expected)!r}"
    if message in MESSAGES:
        if not MESSAGES[message](source, arguments):
            yield f"{message}: the results do not say {text!r}"
    elif (arguments or DIGIT.search(text)) and message not in HEADINGS:
        yield f"nothing checks {message!r}: {text!r}"


def _bands(overview: Element) -> list[str]:
    """Bands that do not lie where the numbers of their row put them on the axis of their table."""
    found = []
    for table in overview.iter("table"):
        axis = next((one for one in table.iter(f"{SVG}svg") if one.get("class") == "axis"), None)
        if axis is None:
            continue
        ticks = [("".join(one.itertext()), float(one.get("x", "").rstrip("%"))) for one in axis.iter(f"{SVG}text")]
        (low, begin), (high, end) = ((float(text.replace("−", "-")), at) for text, at in (ticks[0], ticks[-1]))
        for row in table.iter("tr"):
            dots = list(row.iter(f"{SVG}circle"))
            claims = {
                one.get("data-claim"): "".join(one.itertext())
                for one in reversed(list(row.iter()))
                if one.get("data-claim")
            }
            value = claims.get("value") if "value_low" in claims or table.get("id") else claims.get("difference")
            if not dots or value is None or value == "-":
                continue
            at = low + (float(dots[0].get("cx", "").rstrip("%")) - begin) / (end - begin) * (high - low)
            number = float(value.replace("−", "-").replace("±", ""))
            if abs(at - number) > 0.01 * (high - low) and low <= number <= high:
                found.append(f"a dot stands at {at:.3f}, and its number is {number}")
    return found
