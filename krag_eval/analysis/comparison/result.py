"""The result of a comparison: rows with verdicts, what became of gold documents, and both as text."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from krag_eval._utils.errors import UnknownMetricError, did_you_mean
from krag_eval._utils.formatting import (
    UNDEFINED,
    aligned,
    as_code,
    display_width,
    format_difference,
    format_mean,
    format_p,
    number_of,
    one_line,
    shorten,
)
from krag_eval._utils.objects import ComparedByFields
from krag_eval._utils.serialization import Tabular, data_frame, json_text, plain_fields
from krag_eval.metrics.names import as_key
from krag_eval.statistics.significance import letters

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from krag_eval.analysis.diagnosis import Diagnosis
    from krag_eval.datasets import EvalSet
    from krag_eval.evaluation.results import EvaluationResult


class Outcome(StrEnum):
    """What a row comes to; `ComparisonRow.verdict` says it in words."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One metric of one system against the baseline, over all queries or those of a slice.

    Attributes:
        system: The system.
        baseline: The system that it is compared with.
        key: The metric and its cut-off, such as `recall@5`.
        field: What the slice is made by; None over all queries.
        value: The value that the queries of the slice have there; None where they have none.
        n: Queries compared.
        n_clusters: Clusters of these queries; None where each query stands alone.
        n_left_out: Queries left out because the value of one of the two is undefined.
        baseline_mean: The mean of the baseline over these n; None where n is 0, as every number below.
        mean: The mean of the system over these n.
        difference: The mean difference, system minus baseline.
        low: The lower end of its interval.
        high: The upper end.
        p: The randomisation test's p-value, two-sided.
        p_holm: The same adjusted for all tests made together: those over all queries, or in all slices by one field.
            By Holm's method, or, if all pairs are compared, by the randomised Tukey HSD test.
        n_tests: How many tests these are. Metrics whose differences are multiples of each other, such as hit rate and
            recall where every query has one gold document, are one test.
        is_exact: Whether the p-value is exact, not from random draws.
        wins: Queries on which the system is better.
        ties: Queries on which both are equal.
        losses: Queries on which the system is worse.
        lower_is_better: Whether less of the metric is better, as of redundancy.
        resolvable: The smallest true difference that one test on n such queries finds four times in five; None where
            all differences are equal and say nothing about that, and where n is too small for any to be significant.
        effect_size: The mean difference in standard deviations of the differences: Hedges' g of paired values. None
            where no two differences differ.
        run_deviation: The standard deviation of the mean between runs of one system; None if each was run once.
        confidence: The confidence of the interval; 1 minus it is the level of the test.
        margin: The smallest difference that matters.
    """

    system: str
    baseline: str = ""
    key: str
    field: str | None = None
    value: str | None = None
    n: int
    n_clusters: int | None = None
    n_left_out: int
    baseline_mean: float | None = None
    mean: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    n_tests: int = 0
    is_exact: bool = True
    wins: int = 0
    ties: int = 0
    losses: int = 0
    lower_is_better: bool = False
    resolvable: float | None = None
    effect_size: float | None = None
    run_deviation: float | None = None
    confidence: float
    margin: float

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is at most 1 - confidence."""
        # 1 - 0.9 is a little less than 0.1: without room for the last bit, 0.1 itself would be left out.
        return self.p_holm is not None and self.p_holm <= 1 - self.confidence + 1e-12

    @property
    def is_within_margin(self) -> bool:
        """Whether the whole interval lies within the margin: whatever the difference is, it does not matter."""
        if self.low is None or self.high is None:
            return False
        return -self.margin <= self.low and self.high <= self.margin

    @property
    def excludes_0(self) -> bool:
        """Whether the whole interval lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def gain(self) -> float | None:
        """The difference, with its sign turned where less is better: below 0 the system is worse."""
        return self.difference if self.difference is None or not self.lower_is_better else -self.difference

    @property
    def gain_at_most(self) -> float | None:
        """The best end of the interval for the system, as a gain: below 0 it has surely lost."""
        return self.high if self.low is None or not self.lower_is_better else -self.low

    @property
    def outcome(self) -> Outcome:
        """Better or worse where test and interval say so, the same within the margin where the interval does.

        Anything else is unresolved, also a significant difference whose interval includes 0. A difference may be both
        significant and within the margin: it is then called better or worse, and `is_within_margin` says that it does
        not matter.
        """
        if self.is_significant and self.excludes_0 and self.gain:
            return Outcome.BETTER if self.gain > 0 else Outcome.WORSE
        return Outcome.SAME if self.is_within_margin else Outcome.UNRESOLVED

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `no difference larger than d` or `cannot be resolved with n queries`."""
        if self.outcome is Outcome.SAME:
            return f"no difference larger than {self.margin:g}"
        if self.outcome is Outcome.UNRESOLVED:
            clusters = "" if self.n_clusters is None else f" in {number_of(self.n_clusters, 'cluster')}"
            return f"cannot be resolved with {number_of(self.n, 'query')}{clusters}"
        return str(self.outcome)

    @property
    def reason(self) -> str | None:
        """Why the row is unresolved although its interval excludes 0, or its p-value alone would do; else None."""
        if self.outcome is not Outcome.UNRESOLVED or self.p is None:
            return None
        is_significant_alone = self.p <= 1 - self.confidence
        if not self.excludes_0 and not is_significant_alone:
            return None
        p = f"p is {format_p(self.p)}"
        if self.is_significant:
            return f"{p}, but its interval includes 0"
        if is_significant_alone:
            p += f" alone and {format_p(self.p_holm)} after correction for {self.n_tests} tests"
        return f"its interval excludes 0, but {p}" if self.excludes_0 else p

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dict, with outcome, verdict and reason."""
        row = dataclasses.asdict(self)
        return row | {"outcome": str(self.outcome), "verdict": self.verdict, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Transition:
    """Gold documents that went from one state to another, between the baseline and a system.

    Attributes:
        system: The system.
        before: What they were at the baseline: `"found"` or a cause as in `diagnose`.
        after: What they are at the system.
        count: How many.
        query_ids: The ids of their queries, each once, or their numbers from 0 where there are no ids; empty where
            nothing changed.
    """

    system: str
    before: str
    after: str
    count: int
    query_ids: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the transition as one flat dict."""
        return {**dataclasses.asdict(self), "query_ids": list(self.query_ids)}


# Not part of the outcome, but what a report shows beside it.
_KEPT = ("results", "diagnoses", "evalset")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Tabular, ComparedByFields):
    """Systems against a baseline: `comparison["hybrid", "recall@5"]` is a row, its `verdict` the answer in words.

    Attributes:
        signature: The rule by which all were scored.
        baseline: The name of the baseline.
        systems: The names of the others.
        keys: The metrics and cut-offs compared.
        n_queries: Queries, those without a value among them.
        n_bootstrap: Resamples behind each interval.
        n_randomisation: Random choices of signs behind each p-value that is not exact.
        confidence: Of the intervals; 1 minus it is the level of the tests.
        margin: The smallest difference that matters.
        seed: Of both random streams.
        rows: One per system and key, over all queries.
        pairs: One per pair of systems and key, if all pairs were compared; `rows` are those with the first system.
        n_clusters: Clusters of queries; None where each query stands alone.
        slices: One per field, value, system and key.
        transitions: Gold documents by what they were and what they are, for each system.
        errors: For each system, the baseline among them, how many retrievals raised; they count as nothing retrieved.
        results: The scores of each system by name, the baseline first.
        diagnoses: The causes of the misses of each system by name.
        evalset: The questions, where they were given.
    """

    signature: str
    baseline: str
    systems: tuple[str, ...]
    keys: tuple[str, ...]
    n_queries: int
    n_bootstrap: int
    n_randomisation: int
    confidence: float
    margin: float
    seed: int
    rows: tuple[ComparisonRow, ...]
    pairs: tuple[ComparisonRow, ...] = ()
    n_clusters: int | None = None
    slices: tuple[ComparisonRow, ...]
    transitions: tuple[Transition, ...]
    errors: Mapping[str, int]
    results: Mapping[str, EvaluationResult]
    diagnoses: Mapping[str, Diagnosis]
    evalset: EvalSet | None

    def __getitem__(self, system_and_key: tuple[str, str] | str) -> ComparisonRow:
        """Return the row of a system and a key such as `recall@5`, over all queries; of two systems, the key is enough.

        Raises:
            UnknownMetricError: There is no such row.
        """
        if isinstance(system_and_key, tuple):
            system_and_key = system_and_key[0], as_key(system_and_key[1])
        else:
            system_and_key = as_key(system_and_key)
        for row in self.rows:
            if system_and_key in ((row.system, row.key), row.key if len(self.systems) == 1 else None):
                return row
        system, key = system_and_key if isinstance(system_and_key, tuple) else ("", system_and_key)
        hint = did_you_mean(system, self.systems) if key in self.keys else did_you_mean(key, self.keys)
        raise UnknownMetricError(
            f"The comparison has no row {system_and_key!r:.120}.{hint} Ask for a system and a "
            f"key; systems: {', '.join(self.systems)}; keys: {', '.join(self.keys)}."
        )

    @property
    def letters(self) -> dict[str, dict[str, str]]:
        """For each key the letters of each system, the best first, if all pairs were compared.

        Two systems share a letter if, and only if, neither is better by the verdict of their row.
        """
        shown = {}
        for key in self.keys if self.pairs else ():
            rows = [row for row in self.pairs if row.key == key]
            means = {one: mean for row in rows for one, mean in self.means_of(row)}
            order = sorted(means, key=means.__getitem__, reverse=not rows[0].lower_is_better)
            differ = {frozenset((r.baseline, r.system)) for r in rows if r.outcome in (Outcome.BETTER, Outcome.WORSE)}
            shown[key] = letters(order, differ)
        return shown

    @staticmethod
    def means_of(row: ComparisonRow) -> tuple[tuple[str, float], tuple[str, float]]:
        """Return both systems of a row with their means."""
        return (row.baseline, row.baseline_mean or 0.0), (row.system, row.mean or 0.0)

    @property
    def worst_slices(self) -> dict[str, ComparisonRow]:
        """For each system the slice and metric where it surely lost most, or else seems to have gained least.

        Surely lost: the row of `slices` whose `gain_at_most`, the best end of its interval, is lowest and below 0, so
        that a large drop of a few queries, which may be chance, does not hide a drop of many. Where no slice surely
        lost, the row with the lowest gain. Both in units of the baseline's mean of the metric over all queries.
        Systems have none where there are no slices.
        """
        worst: dict[str, ComparisonRow] = {}
        for row in self.slices:
            if row.n and (row.system not in worst or self._rank(row) < self._rank(worst[row.system])):
                worst[row.system] = row
        return worst

    @property
    def worst_slice(self) -> ComparisonRow | None:
        """The worst of `worst_slices` over all systems; None where there are no slices."""
        return min(self.worst_slices.values(), key=self._rank, default=None)

    def losing_slices(self) -> list[ComparisonRow]:
        """Return each slice that seems to have lost, at the metric where it lost most, the worst first."""
        worst: dict[tuple[str, str | None, str | None], ComparisonRow] = {}
        for row in sorted((row for row in self.slices if row.n and (row.gain or 0.0) < 0), key=self._rank):
            worst.setdefault((row.system, row.field, row.value), row)
        return list(worst.values())

    def _rank(self, row: ComparisonRow) -> tuple[bool, float]:
        at_most = row.gain_at_most or 0.0
        lost = at_most if at_most < 0 else row.gain or 0.0
        return at_most >= 0, lost / (abs(self[row.system, row.key].baseline_mean or 0.0) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in _KEPT]
        return plain_fields(self, *names, "letters", "worst_slices")

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return everything as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each of `rows`, then for each of `slices`. Needs pandas."""
        return data_frame(self._rows()[0], "comparison.to_pandas()")

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        rows = [row.to_dict() for row in (*(self.pairs or self.rows), *self.slices)]
        return rows, [field.name for field in dataclasses.fields(ComparisonRow) if field.type == "float | None"]

    def to_latex(self) -> str:
        """Return a LaTeX `tabular`: one row per system, one column per key, the best in bold. Needs booktabs.

        A superscript `*` marks a value that is better or worse than that of the baseline, the first row, by the
        verdict of its row. If all pairs were compared, systems that share a superscript letter cannot be told apart.
        The first line, a comment, says how it was tested.
        """
        from krag_eval.report import comparison_latex

        return comparison_latex(self)

    def to_markdown(self) -> str:
        """Return a Markdown summary for a comment on a pull request: the verdict, the table, slices and questions.

        Of many rows and questions it has the first and says how many more there are, and of the slices the five worst,
        so that it fits into a comment of GitHub, which may have 65,536 characters.
        """
        return "\n".join([*_markdown(self), ""])

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        title: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write a report: this comparison, tables, plots, causes, and both rankings of every query.

        Args:
            path: The file to write; an HTML file needs no other file, no server and no network.
            format: `"html"`, `"md"`, `"json"` or `"csv"`; by default what the path ends with.
            title: The title; by default it names the systems.
            force: Replace a file that is there.

        Returns:
            The path.

        Raises:
            InvalidInputError: The file is there, or cannot be written.
            MissingDependencyError: A package of the extra `report` is not installed.
        """
        from krag_eval.report import build_report, check_target, write_report

        check_target(path, format, force)  # before the work
        by = list(dict.fromkeys(row.field for row in self.slices if row.field is not None))
        report = build_report(self.results, self.evalset, title=title, by=by, comparison=self)
        return write_report(report, path, format=format, force=force)

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """Return the comparison as HTML tables, for notebooks."""
        from krag_eval.report import comparison_html

        return comparison_html(self)


WIDTH = 80
_FOUND = "found"
_GAP = "  "
_NUMBERS = ("base", "here", "diff", "interval", "p", "+/=/-")


def describe(comparison: Comparison) -> str:
    """Return tables, verdicts, the worst slice and what became of the misses, system by system or key by key."""
    lines = []
    for key, of_key in comparison.letters.items():
        lines += [*_pairs(comparison, key, of_key), ""]
    for system in () if comparison.pairs else comparison.systems:
        lines += [*_system(comparison, system), ""]
    lines += _wrap(how_tested(comparison))
    return "\n".join([*lines, comparison.signature])


def how_tested(comparison: Comparison) -> str:
    """Return how the intervals and p-values were computed, in words."""
    first, clusters = comparison.rows[0], comparison.n_clusters
    sampled = f"{comparison.n_bootstrap} resamples" if clusters is None else f"random signs of {clusters} clusters"
    is_repeated = any(row.run_deviation is not None for row in comparison.rows)
    is_tukey = bool(comparison.pairs) and len(comparison.systems) > 1 and not is_repeated
    adjusted = "by Tukey's HSD over all pairs" if is_tukey else "by Holm"
    runs = " Both allow for the variance between the runs of a system." if is_repeated else ""
    return (
        f"{100 * comparison.confidence:.6g} % intervals from {sampled}. p: two-sided "
        f"randomisation test ({comparison.n_randomisation} rounds unless exact), adjusted {adjusted} (number of "
        f"tests: {first.n_tests}; in slices: all by the field), significant up to "
        f"{1 - comparison.confidence:.4g}.{runs} +/=/-: queries won, tied and lost. Seed {comparison.seed}."
    )


def _pairs(comparison: Comparison, key: str, of_key: Mapping[str, str]) -> Iterator[str]:
    """Yield the systems of one key with their letters, the best first, and the table of their pairs."""
    rows = [row for row in comparison.pairs if row.key == key]
    means = {name: mean for row in rows for name, mean in comparison.means_of(row)}
    yield shorten(f"{key}: {number_of(comparison.n_queries, 'query')}, all pairs", WIDTH)
    lines = [(shorten(one_line(name), WIDTH // 2), format_mean(means[name])) for name in of_key]
    every = sorted(set("".join(of_key.values())))
    for line, text in zip(aligned(lines), of_key.values(), strict=True):
        columns = "".join(letter if letter in text else " " for letter in every)
        yield f"{_GAP}{line}{_GAP}{columns}".rstrip()
    names = [f"{one_line(row.system)} - {one_line(row.baseline)}" for row in rows]
    yield from _table(names, rows)
    sizes = [UNDEFINED if row.effect_size is None else f"{row.effect_size:+.2f}" for row in rows]
    yield from _wrap(f"effect sizes (Hedges' g): {', '.join(map(' '.join, zip(names, sizes, strict=True)))}", _GAP)
    yield f"{_GAP}Systems that share a letter cannot be told apart."


def _system(comparison: Comparison, system: str) -> Iterator[str]:
    rows = [row for row in comparison.rows if row.system == system]
    names = f"{one_line(system)} against {one_line(comparison.baseline)}"
    yield shorten(f"{names}: {number_of(comparison.n_queries, 'query')}", WIDTH)
    yield from _table([row.key for row in rows], rows)
    yield from _verdicts(rows)
    for row in rows:
        if row.run_deviation is not None:
            yield f"{_GAP}{row.key}: standard deviation between runs {row.run_deviation:.4f}"
    left_out = max((row.n_left_out for row in rows), default=0)
    if left_out:
        yield f"{_GAP}{number_of(left_out, 'query')} without a value (such as those without gold documents): left out."
    for name in dict.fromkeys([comparison.baseline, system]):
        if comparison.errors.get(name):
            yield from _wrap(f"{one_line(name)}: {comparison.errors[name]} failed, counted as nothing retrieved.", _GAP)
    yield from _slices(comparison, system)
    for sentence in describe_transitions(comparison, system):
        yield from _wrap(sentence, _GAP)


def _table(labels: Sequence[str], rows: Sequence[ComparisonRow]) -> Iterator[str]:
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_NUMBERS, *cells, strict=True)]
    room = WIDTH - sum(widths) - len(_GAP) * (len(widths) + 1)
    lines = [(shorten(label, room), *texts) for label, texts in zip(("", *labels), (_NUMBERS, *cells), strict=True)]
    yield from (_GAP + line for line in aligned(lines))


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    return (
        format_mean(row.baseline_mean),
        format_mean(row.mean),
        format_difference(row.difference),
        UNDEFINED if row.low is None else _interval(row),
        format_p(row.p_holm),
        f"{row.wins}/{row.ties}/{row.losses}",
    )


def _interval(row: ComparisonRow) -> str:
    return f"{format_difference(row.low)} to {format_difference(row.high)}"


def _verdicts(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for outcome in Outcome:
        for row in rows:
            if row.outcome is outcome:
                said.setdefault(row.verdict, []).append(row.key + remark(row))
    for verdict, keys in said.items():
        yield from _wrap(f"{verdict}: {', '.join(keys)}", _GAP)


def remark(row: ComparisonRow) -> str:
    """Return what to add to the verdict, in parentheses; an empty string if nothing."""
    if row.reason is not None:
        return f" ({row.reason})"
    if row.outcome is Outcome.UNRESOLVED and row.resolvable is not None:
        return f" ({row.resolvable:.2g} could be)"
    if row.outcome in (Outcome.BETTER, Outcome.WORSE) and row.is_within_margin:
        return f" (by less than {row.margin:g})"
    return ""


def _slices(comparison: Comparison, system: str) -> Iterator[str]:
    """Yield the worst slice, and the other slices for its metric."""
    worst = comparison.worst_slices.get(system)
    if worst is None:
        return
    yield from _wrap(describe_worst(worst), _GAP)
    for field in dict.fromkeys(row.field for row in comparison.slices):
        rows = [r for r in comparison.slices if (r.system, r.key, r.field) == (system, worst.key, field)]
        yield from _wrap(f"{worst.key} by {field}:", _GAP)
        yield from _table([_label(row) for row in rows], rows)


def describe_worst(worst: ComparisonRow) -> str:
    """Return the worst slice of a system, in words."""
    surely = "" if (worst.gain_at_most or 0) < 0 else ", not surely a loss"
    return (
        f"worst slice: {_label(worst, with_field=True)} ({number_of(worst.n, 'query')}): {worst.key} "
        f"{format_difference(worst.difference)} ({_interval(worst)}){surely}"
    )


def _label(row: ComparisonRow, *, with_field: bool = False) -> str:
    value = "(none)" if row.value is None else one_line(row.value)
    return f"{row.field} = {value}" if with_field else value


def describe_transitions(comparison: Comparison, system: str) -> Iterator[str]:
    """Yield how many gold documents are found or missed now but were not before, and why."""
    changes = [t for t in comparison.transitions if t.system == system]
    for title, parts in (
        ("found now, missed before", [t for t in changes if t.after == _FOUND != t.before]),
        ("missed now, found before", [t for t in changes if t.before == _FOUND != t.after]),
    ):
        why = ", ".join(f"{t.count} {t.before if t.after == _FOUND else t.after}" for t in parts)
        yield f"gold documents {title}: {sum(t.count for t in parts)}{f' ({why})' if why else ''}"


_MOST_ROWS, _MOST_SLICES, _MOST_QUESTIONS = 40, 5, 10
_MARKS = {Outcome.WORSE: "❌ ", Outcome.BETTER: "✅ ", Outcome.SAME: "", Outcome.UNRESOLVED: "❔ "}


def _code(text: str) -> str:
    return as_code(shorten(one_line(text), WIDTH))


def headline(comparison: Comparison, name: Callable[[str], str] = _code) -> str:
    """Return what the comparison comes to, in one sentence: what is worse, what is better, or what cannot be said.

    Args:
        comparison: The comparison.
        name: How the name of a system is written; as code of Markdown by default.
    """
    rows = comparison.pairs or comparison.rows
    parts = []
    for outcome in (Outcome.WORSE, Outcome.BETTER):
        named = [row for row in rows if row.outcome is outcome]
        by_pair: dict[tuple[str, str], list[str]] = {}
        for row in named[:_MOST_QUESTIONS]:
            by_pair.setdefault((row.system, row.baseline), []).append(row.key)
        parts += [
            f"{name(system)} is {outcome} than {name(baseline)} in {', '.join(keys)}"
            for (system, baseline), keys in by_pair.items()
        ]
        if len(named) > _MOST_QUESTIONS:
            parts.append(f"{len(named) - _MOST_QUESTIONS} more are {outcome}")
    if parts:
        return "; ".join(parts)
    if all(row.n and not row.wins and not row.losses for row in rows):
        return f"no query differs in {', '.join(dict.fromkeys(row.key for row in rows))}"
    if all(row.outcome is Outcome.SAME for row in rows):
        return f"no difference larger than {comparison.margin:g}"
    return f"cannot be resolved with {number_of(comparison.n_queries, 'question')}"


def _markdown(comparison: Comparison) -> Iterator[str]:
    rows = comparison.pairs or comparison.rows
    yield f"### Retrieval: {headline(comparison)}"
    yield from (
        "",
        f"{number_of(comparison.n_queries, 'question')}, {100 * comparison.confidence:.6g} % intervals.",
        "",
    )
    pairs = {(row.baseline, row.system) for row in rows}
    names = {pair: "" if len(pairs) == 1 else f"{_code(pair[1])} against {_code(pair[0])}: " for pair in pairs}
    yield from _markdown_rows(rows[:_MOST_ROWS], [names[row.baseline, row.system] + row.key for row in rows])
    if len(rows) > _MOST_ROWS:
        yield from ("", f"{len(rows) - _MOST_ROWS} more rows are not shown.")
    for name, n in comparison.errors.items():
        if n:
            yield from ("", f"⚠️ {_code(name)}: {number_of(n, 'retrieval')} failed, counted as nothing retrieved.")
    slices = comparison.losing_slices()[:_MOST_SLICES]
    if slices:
        labels = [f"{_code(_label(row, with_field=True))}, {number_of(row.n, 'question')}: {row.key}" for row in slices]
        yield from ("", "**Worst slices**, each at the metric where it lost most", "", *_markdown_rows(slices, labels))
    for system in () if comparison.pairs else comparison.systems[:3]:
        yield from _markdown_questions(comparison, system)
    yield from ("", f"<sub>{_code(comparison.signature)}</sub>")


def _markdown_rows(rows: Sequence[ComparisonRow], labels: Sequence[str]) -> Iterator[str]:
    yield "| | before | after | difference | interval | p | won/lost | |"
    yield "|---|---|---|---|---|---|---|---|"
    for label, row in zip(labels, rows, strict=False):
        *cells, _ = _cells(row)
        yield f"| {' | '.join([label, *cells])} | {row.wins}/{row.losses} | {_MARKS[row.outcome]}{row.verdict} |"


def _markdown_questions(comparison: Comparison, system: str) -> Iterator[str]:
    """Yield the questions whose value of the first key changed most, losses first."""
    key = comparison.keys[0]
    less = -1 if comparison[system, key].lower_is_better else 1
    details = [comparison.results[name].detail for name in (comparison.baseline, system)]
    columns = [detail.values[key].tolist() for detail in details if detail is not None]
    changes = [
        (less * (after - before), place, before, after)
        for place, (before, after) in enumerate(zip(*columns, strict=True))
        if abs(after - before) > 0  # not where one is undefined, which is NaN
    ]
    if not changes:
        return
    changes.sort(key=lambda change: (-abs(change[0]), change[0], change[1]))
    shown = sorted(changes[:_MOST_QUESTIONS])
    # Markdown is not read within a summary, HTML is.
    named = "" if len(comparison.systems) == 1 else f" of {html.escape(shorten(one_line(system), WIDTH))}"
    yield from ("", f"<details><summary>{number_of(len(changes), 'question')}{named} changed in {key}</summary>", "")
    yield from ("| question | before | after |", "|---|---|---|")
    for _, place, before, after in shown:
        query = comparison.results[system].query_result(place)
        names = [name for name in (query.id, query.query) if name is not None] or [f"query {place}"]
        yield f"| {' '.join(map(_code, names))} | {format_mean(before)} | {format_mean(after)} |"
    if len(changes) > len(shown):
        yield f"| and {len(changes) - len(shown)} more | | |"
    yield from ("", "</details>")


def _wrap(text: str, indent: str = "") -> list[str]:
    """Return lines of at most `WIDTH` columns; wide characters count twice."""
    narrow = "".join(c + "\u2060" * (display_width(c) - 1) for c in text)
    lines = textwrap.wrap(narrow, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [line.replace("\u2060", "") for line in lines]
