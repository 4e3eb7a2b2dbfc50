"""What a comparison or a gate comes to, as Markdown for a comment on a pull request."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from krag_eval.analysis import Comparison, ComparisonRow, GateReport, Outcome
from krag_eval.toolkit import format_mean, number_of, one_line, shorten
from krag_eval_report.sections.comparison import cells_of

_WIDTH = 80


def summary_of(thing: Comparison | GateReport) -> str:
    """Return what `to_markdown` of a comparison or a gate returns; the entry point of both."""
    return _gate(thing) if isinstance(thing, GateReport) else "\n".join([*_comparison(thing), ""])


def _gate(gate: GateReport) -> str:
    against = f", compared with {as_code(gate.baseline)}" if gate.baseline else ""
    first = next((leak for check in gate.checks if check.status == "fail" for leak in check.leaks), None)
    lines = [
        f"### Retrieval gate: {str(gate.status).upper()}" + (f", leaked: {as_code(first)}" if first else ""),
        "",
        f"{as_code(gate.run)} on {gate.n_queries} questions{against}.",
        "",
        "| | requirement | slice | found |",
        "|---|---|---|---|",
    ]
    marks = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "❔ inconclusive"}
    for check in gate.sorted_checks():
        where = "all" if check.where is None else as_code(check.where)
        found = "<br>".join([check.found, *map(as_code, check.leaks)])
        lines.append(f"| {marks[check.status]} | {as_code(check.requirement)} | {where} | {found} |")
    signature = as_code(gate.signature).replace("\\|", "|")  # no cell of a table
    return "\n".join([*lines, "", f"<sub>{signature}</sub>", ""])


_MOST_ROWS, _MOST_SLICES, _MOST_QUESTIONS = 40, 5, 10
_NONE = "(none)"
_MARKS = {Outcome.WORSE: "❌ ", Outcome.BETTER: "✅ ", Outcome.SAME: "", Outcome.UNRESOLVED: "❔ "}


def as_code(text: str) -> str:
    """Return text as code for a cell of a Markdown table: on one line, without what would end the cell or the code."""
    return "`" + one_line(text).replace("|", "\\|").replace("`", "'") + "`"


def _code(text: str) -> str:
    return as_code(shorten(one_line(text), _WIDTH))


def headline(comparison: Comparison) -> str:
    """Return what the comparison comes to, in one sentence: what is worse, what is better, or what cannot be said."""
    rows = comparison.pairs or comparison.rows
    parts = []
    for outcome in (Outcome.WORSE, Outcome.BETTER):
        named = [row for row in rows if row.is_decided(outcome)]
        by_pair: dict[tuple[str, str], list[str]] = {}
        for row in named[:_MOST_QUESTIONS]:
            by_pair.setdefault((row.system, row.baseline), []).append(row.key)
        parts += [
            f"{_code(system)} is {outcome} than {_code(baseline)} in {', '.join(keys)}"
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


def _comparison(comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a summary of a comparison."""
    rows = comparison.pairs or comparison.rows
    yield f"### Retrieval: {headline(comparison)}"
    intervals = f"{100 * comparison.confidence:.6g} % intervals.{comparison.unseen_clusters}"
    yield from ("", f"{number_of(comparison.n_queries, 'question')}, {intervals}", "")
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
        titles = [_code(f"{row.field} = {_NONE if row.value is None else row.value}") for row in slices]
        counts = [f"{number_of(row.n, 'question')}: {row.key}" for row in slices]
        labels = [", ".join(pair) for pair in zip(titles, counts, strict=True)]
        title = "**Slices that are surely worse**, each at one metric"
        yield from ("", title, "", *_markdown_rows(slices, labels))
    for system in () if comparison.pairs else comparison.systems[:3]:
        yield from _markdown_questions(comparison, system)
    signature = _code(comparison.signature).replace("\\|", "|")  # no cell of a table
    yield from ("", f"<sub>{signature}</sub>")


def _markdown_rows(rows: Sequence[ComparisonRow], labels: Sequence[str]) -> Iterator[str]:
    yield "| | before | after | difference | interval | p adj | won/lost | |"
    yield "|---|---|---|---|---|---|---|---|"
    for label, row in zip(labels, rows, strict=False):
        cells = [cell.text for cell in cells_of(row)[1:6]]
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
    named = "" if len(comparison.systems) == 1 else f" of {html.escape(shorten(one_line(system), _WIDTH))}"
    yield from ("", f"<details><summary>{number_of(len(changes), 'question')}{named} changed in {key}</summary>", "")
    yield from ("| question | before | after |", "|---|---|---|")
    for _, place, before, after in shown:
        query = comparison.results[system].query_result(place)
        names = [name for name in (query.id, query.query) if name is not None] or [f"query {place}"]
        yield f"| {' '.join(map(_code, names))} | {format_mean(before)} | {format_mean(after)} |"
    if len(changes) > len(shown):
        yield f"| and {len(changes) - len(shown)} more | | |"
    yield from ("", "</details>")
