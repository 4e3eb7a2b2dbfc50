"""A comparison as text: tables, verdicts, where it lost and what became of the misses."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from krag_eval._utils.formatting import aligned, display_width, format_mean, number_of, one_line, shorten
from krag_eval._utils.said import Said, said
from krag_eval.analysis.comparison.rows import Compared, ComparisonRow, Outcome
from krag_eval.evaluation.causes import FOUND
from krag_eval.statistics.bootstrap import unseen_share

WIDTH = 80
_GAP = "  "
_NUMBERS = {
    "baseline": "base",
    "mean": "here",
    "difference": "diff",
    "interval": "interval",
    "p_holm": "p adj",
    "won_tied_lost": "+/=/-",
}
"""The columns of a table: texts of a row, and their headings."""


def describe(comparison: Compared) -> str:
    """Return tables, verdicts, where it lost and what became of the misses, system by system or key by key."""
    lines = []
    for key, of_key in comparison.letters.items():
        lines += [*_pairs(comparison, key, of_key), ""]
    for system in () if comparison.pairs else comparison.systems:
        lines += [*_system(comparison, system), ""]
    lines += _wrap(how_tested(comparison))
    return "\n".join([*lines, comparison.signature])


def how_tested(comparison: Compared) -> str:
    """Return how the intervals and p-values were computed, in words."""
    first, clusters = comparison.rows[0], comparison.n_clusters
    sampled = said("of-resamples", "{n} resamples", n=comparison.n_bootstrap)
    if clusters is not None:
        sampled = said("of-random-signs", "random signs of {n} clusters", n=clusters)
    is_repeated = any(row.run_deviation is not None for row in comparison.rows)
    is_tukey = bool(comparison.pairs) and len(comparison.systems) > 1 and not is_repeated
    adjusted = said("by-holm", "by Holm")
    if is_tukey:
        adjusted = said("by-tukey", "by Tukey's HSD over all pairs")
    runs = said("between-runs", " Both allow for the variance between the runs of a system.") if is_repeated else ""
    return said(
        "how-tested",
        "{confidence} % intervals from {sampled}.{clusters} p: two-sided "
        "randomisation test ({rounds} rounds unless exact), adjusted {adjusted} (number of "
        "tests: {tests}; in slices: all by the field), significant up to "
        "{level}.{runs} +/=/-: queries won, tied and lost. Seed {seed}.",
        confidence=f"{100 * comparison.confidence:.6g}",
        sampled=sampled,
        clusters=of_clusters(comparison),
        rounds=comparison.n_randomisation,
        adjusted=adjusted,
        tests=first.n_tests,
        level=f"{1 - comparison.confidence:.4g}",
        runs=runs,
        seed=str(comparison.seed),
    )


def of_clusters(comparison: Compared) -> str:
    """Return what intervals over clusters cannot know, in a sentence that begins with a space; else nothing."""
    if comparison.n_clusters is None:
        return ""
    share = 100 * unseen_share(comparison.n_clusters, comparison.confidence)
    words = " Up to {share} % of all clusters may be of a kind that these {n} do not show."
    return said("unseen-clusters", words, share=f"{share:.2g}", n=comparison.n_clusters)


def _pairs(comparison: Compared, key: str, of_key: Mapping[str, str]) -> Iterator[str]:
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
    sizes = [row.texts["effect_size"] for row in rows]
    yield from _wrap(f"effect sizes (Hedges' g): {', '.join(map(' '.join, zip(names, sizes, strict=True)))}", _GAP)
    yield f"{_GAP}Systems that share a letter cannot be told apart."


def _system(comparison: Compared, system: str) -> Iterator[str]:
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
    cells = [_NUMBERS.values(), *([texts[name] for name in _NUMBERS] for texts in (row.texts for row in rows))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = WIDTH - sum(widths) - len(_GAP) * (len(widths) + 1)
    lines = [(shorten(label, room), *texts) for label, texts in zip(("", *labels), cells, strict=True)]
    yield from (_GAP + line for line in aligned(lines))


def _verdicts(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    by_verdict: dict[str, list[str]] = {}
    for outcome in Outcome:
        for row in rows:
            if row.outcome is outcome:
                by_verdict.setdefault(row.verdict, []).append(row.key + (f" ({what})" if (what := row.remark) else ""))
    for verdict, keys in by_verdict.items():
        yield from _wrap(f"{verdict}: {', '.join(keys)}", _GAP)


def _slices(comparison: Compared, system: str) -> Iterator[str]:
    """Yield the slice that is decided to have lost, or that none is, and all slices for its metric."""
    if not comparison.slices:
        return
    worst = comparison.worst_slices.get(system)
    yield from _wrap(describe_worst(worst), _GAP)
    key = comparison.keys[0] if worst is None else worst.key
    for field in dict.fromkeys(row.field for row in comparison.slices):
        rows = [r for r in comparison.slices if (r.system, r.key, r.field) == (system, key, field)]
        yield from _wrap(f"{key} by {field}:", _GAP)
        yield from _table([_label(row) for row in rows], rows)


def describe_worst(worst: ComparisonRow | None) -> Said:
    """Return in words where a system lost most, of the slices that are decided to have lost."""
    if worst is None:
        return said("slices-none-worse", "no slice is surely worse")
    return said(
        "slice-worse",
        "surely worse: {field} = {value} ({queries}): {key} {difference} ({low} to {high})",
        field=worst.field,
        value=_label(worst),
        queries=number_of(worst.n, "query"),
        key=worst.key,
        difference=format_mean(worst.difference, "+"),
        low=format_mean(worst.low, "+"),
        high=format_mean(worst.high, "+"),
    )


def _label(row: ComparisonRow) -> str:
    return said("no-value", "(none)") if row.value is None else one_line(row.value)


def describe_transitions(comparison: Compared, system: str) -> Iterator[Said]:
    """Yield how many gold documents are found or missed now but were not before, and why."""
    changes = [t for t in comparison.transitions if t.system == system]
    within = "" if comparison.rank is None else said("transitions-within", " within rank {k}", k=comparison.rank)
    for name, title, parts in (
        ("transitions-found", "found now, missed before", [t for t in changes if t.after == FOUND != t.before]),
        ("transitions-missed", "missed now, found before", [t for t in changes if t.before == FOUND != t.after]),
    ):
        causes = ", ".join(f"{t.count} {t.before if t.after == FOUND else t.after}" for t in parts)
        why = said("transitions-why", " ({causes})", causes=causes) if causes else ""
        words = f"gold documents {title}{{within}}: {{n}}{{why}}"
        yield said(name, words, within=within, n=sum(t.count for t in parts), why=why)


def _wrap(text: str, indent: str = "") -> list[str]:
    """Return lines of at most `WIDTH` columns; wide characters count twice."""
    narrow = "".join(c + "\u2060" * (display_width(c) - 1) for c in text)
    lines = textwrap.wrap(narrow, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [line.replace("\u2060", "") for line in lines]
