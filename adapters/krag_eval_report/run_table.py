"""One table with one row per run: for the terminal, Markdown, LaTeX, CSV and pandas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval import EvaluationResult, InvalidInputError, UnknownMetricError, intervals_of
from krag_eval.toolkit import (
    Cell,
    Column,
    ComparedByFields,
    Presented,
    Table,
    aligned,
    as_key,
    csv_lines,
    data_frame,
    describe_type,
    format_value,
    is_lower_better,
    number_of,
    one_line,
    refuse,
    warn,
)
from krag_eval_report.latex_tables import latex_table
from krag_eval_report.markdown_tables import markdown_table
from krag_eval_report.sections.summary import ordered_keys

if TYPE_CHECKING:
    import pandas as pd

MARK = "*"
_MOST_KEYS = 8

Interval = tuple[float, float] | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Leaderboard(Presented, ComparedByFields):
    """One row per run, one column per value; the best value of each column is marked. Print it, or export it.

    Nothing is marked if the runs were scored by different settings, and where all runs have the same value.

    Attributes:
        keys: The values, such as `recall@10`.
        results: The scores by name, in the order of the rows.
        intervals: The intervals of each run by key; empty if none were asked for.
        best: For each key the names of the runs with the best value.
        differs: Why the runs cannot be ranked, in words; None if they can.
    """

    keys: tuple[str, ...]
    results: Mapping[str, EvaluationResult]
    intervals: Mapping[str, Mapping[str, Interval]]
    best: Mapping[str, frozenset[str]]
    differs: str | None

    @property
    def cut_off(self) -> str | None:
        """The cut-off that all values have in common, such as `"10"`; None if they differ."""
        cut_offs = {key.partition("@")[2] for key in self.keys}
        return cut_offs.pop() if len(cut_offs) == 1 else None

    @property
    def title(self) -> str:
        """What the table shows, in words."""
        n_queries = next(iter(self.results.values())).n_queries
        at = f", values at {self.cut_off}" if self.cut_off else ""
        return f"{number_of(len(self.results), 'run')}, {number_of(n_queries, 'query')}{at}"

    @property
    def note(self) -> str | None:
        """What a reader must know about the table; None if nothing."""
        said = [f"{self.differs} No value is marked."] if self.differs is not None else []
        if not said and any(self.best.values()):
            said.append(f"{MARK} the best value of its column; others may be as good")
        for name, result in self.results.items():
            if result.detail is not None and result.detail.leaks is not None and (leaks := result.leaks()):
                said.append(f"{name}: {leaks.title}")
        return "; ".join(said) or None

    def table(self, mark: str = "", *, is_short: bool = False) -> Table:
        """Return the cells of the table.

        Args:
            mark: What precedes the best value of a column.
            is_short: Leave the cut-off out of the headings if all have the same one; the title names it.
        """
        columns = [Column("run", "run", is_number=False)]
        for key in self.keys:
            title = key.partition("@")[0] if is_short and self.cut_off else key
            columns.append(Column(key, title, group=key))
            if self.intervals:
                columns.append(Column(f"interval:{key}", "interval", group=key))
        rows = tuple(tuple(self._cells(name, mark)) for name in self.results)
        return Table("leaderboard", None, tuple(columns), rows)

    @property
    def printed(self) -> Table:
        """The table as a terminal shows it."""
        return self.table(MARK, is_short=True)

    def _cells(self, name: str, mark: str) -> Iterator[Cell]:
        yield Cell.of_text(name)
        for key in self.keys:
            cell = Cell.of_value(self.results[name][key]) if key in self.results[name] else Cell.empty()
            yield Cell(cell.value, mark + cell.text, "best") if name in self.best[key] else cell
            if self.intervals:
                yield Cell.of_interval(self.intervals[name].get(key))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per run: its name, its values, and with intervals also such as `recall@10 low`."""
        rows = []
        for name, result in self.results.items():
            row: dict[str, Any] = {"run": name}
            for key in self.keys:
                row[key] = _value(result, key)
                if self.intervals:
                    row[f"{key} low"], row[f"{key} high"] = self.intervals[name].get(key) or (None, None)
            rows.append(row)
        return rows

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per run, one column per value; NaN where a value is undefined. Needs pandas."""
        return data_frame(self.to_dicts(), "leaderboard.to_pandas()").set_index("run").astype("float64")

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        rows = self.to_dicts()
        return rows, list(rows[0])[1:]

    def to_csv(self) -> str:
        """Return CSV with full precision; undefined values are empty, and no cell is a formula of a spreadsheet."""
        rows = self.to_dicts()
        return "".join(csv_lines([list(rows[0]), *(list(row.values()) for row in rows)], mark=False))

    def to_markdown(self) -> str:
        """Return a table of GitHub's Markdown, the best values in bold."""
        return "".join(markdown_table(self.table())).removesuffix("\n")

    def to_latex(self) -> str:
        """Return a LaTeX `tabular`, the best values in bold. It needs the LaTeX package booktabs."""
        return latex_table(self.table())

    def __str__(self) -> str:
        table = self.printed
        texts = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
        lines = [self.title, *aligned([[one_line(text) for text in row] for row in texts])]
        signatures = dict.fromkeys(result.signature for result in self.results.values())
        return "\n".join([*lines, *([self.note] if self.note else []), *signatures])


def leaderboard(
    results: Mapping[str, EvaluationResult],
    keys: Sequence[str] | None = None,
    *,
    sort_by: str | None = None,
    intervals: bool = False,
) -> Leaderboard:
    """Return one table with a row per run, for reading, Markdown, LaTeX, CSV or pandas.

    Args:
        results: What `evaluate` or `evaluate_run` returned, by name; also `evaluate_retrievers(...).results`.
        keys: The columns, such as `["recall@10", "ndcg@10"]`. By default all means if these are at most eight, else
            each metric at its largest cut-off.
        sort_by: The value by which the rows are sorted, the best first; by default the order given.
        intervals: Show the interval of each value: the one that the result has, else that of 95 %. Needs scipy (extra
            `stats`).

    Raises:
        InvalidInputError: There are no results, or they cannot be used.
        UnknownMetricError: No result has such a value.
        MissingDependencyError: Intervals need scipy.

    >>> from krag_eval import evaluate_ids
    >>> gold = [["a"], ["b"]]
    >>> runs = {"bm25": [["a"], ["x"]], "dense": [["a"], ["b"]]}
    >>> results = {name: evaluate_ids(gold, run, k=1, metrics=["recall"]) for name, run in runs.items()}
    >>> print(leaderboard(results).to_markdown())
    | run | recall@1 |
    |---|---:|
    | bm25 | 0.5000 |
    | dense | **1.0000** |
    """
    given = _check(results)
    chosen = _usual_keys(given) if keys is None else _check_keys(keys, given)
    if sort_by is not None:
        (sort_by,) = _check_keys([sort_by], given)
        given = dict(sorted(given.items(), key=lambda item: _rank(sort_by, item[1])))
    differs = _difference(given)
    if differs is not None:
        warn(differs)
    of_run = {name: result.intervals or intervals_of(result) for name, result in given.items()} if intervals else {}
    best = {key: frozenset[str]() if differs else _best(key, given) for key in chosen}
    return Leaderboard(keys=tuple(chosen), results=given, intervals=of_run, best=best, differs=differs)


def _check(results: object) -> dict[str, EvaluationResult]:
    how = "Give results by name: leaderboard({'bm25': result})."
    if not isinstance(results, Mapping):
        raise InvalidInputError(f"`results` is {describe_type(results)}. {how}")
    if not results:
        raise InvalidInputError(f"`results` is empty. {how}")
    for name, result in results.items():
        if not isinstance(result, EvaluationResult):
            raise InvalidInputError(f"`results` has {describe_type(result)} for {name!r:.60}. {how}")
    return {str(name): result for name, result in results.items()}


def _check_keys(keys: object, results: Mapping[str, EvaluationResult]) -> list[str]:
    if isinstance(keys, str) or not isinstance(keys, Sequence) or not keys:
        refuse("keys", "a list of values such as ['recall@10']", keys)
    known = ordered_keys(results)
    for key in keys:
        if not any(key in result for result in results.values()):
            from krag_eval.toolkit import key_hint

            raise UnknownMetricError(f"No result has a value {key!r:.60}.{key_hint(key, known)}")
    return list(dict.fromkeys(map(as_key, keys)))


def _usual_keys(results: Mapping[str, EvaluationResult]) -> list[str]:
    means = [key for key in ordered_keys(results) if any(key in result.tally.means for result in results.values())]
    if len(means) <= _MOST_KEYS:
        return means
    at_largest = {key.partition("@")[0]: key for key in means if not key.startswith("hit_rate_all")}  # the last stays
    return list(at_largest.values())


def _rank(key: str, result: EvaluationResult) -> tuple[bool, float]:
    """Return what sorts the best first; undefined values come last."""
    value = _value(result, key)
    return value is None, (value or 0.0) * (1 if is_lower_better(key) else -1)


def _value(result: EvaluationResult, key: str) -> float | None:
    if key not in result:
        return None
    return result[key]


def _best(key: str, results: Mapping[str, EvaluationResult]) -> frozenset[str]:
    """Return the runs with the best value as it is printed; none if all have the same."""
    values = {name: _value(result, key) for name, result in results.items()}
    shown = {name: float(format_value(value)) for name, value in values.items() if value is not None}
    ordered = sorted(set(shown.values()), reverse=not is_lower_better(key))
    return frozenset(name for name, value in shown.items() if len(ordered) > 1 and value == ordered[0])


def _difference(results: Mapping[str, EvaluationResult]) -> str | None:
    """Return why the values of the runs cannot be compared, in words; None if they can."""
    rules: dict[tuple[str, ...], str] = {}
    for name, result in results.items():
        rules.setdefault(tuple(part for part in result.signature.split("|") if not part.startswith("k:")), name)
    if len(rules) > 1:
        (one, first), (other, second) = list(rules.items())[:2]
        apart = ", ".join(part for part in (*one, *other) if (part in one) != (part in other))
        return f"{first!r:.60} and {second!r:.60} were scored by different settings ({apart:.200})."
    sizes: dict[int, str] = {}
    for name, result in results.items():
        sizes.setdefault(result.n_queries, name)
    if len(sizes) > 1:
        counts = " and ".join(f"{name!r:.60} has {number_of(size, 'query')}" for size, name in list(sizes.items())[:2])
        return f"The runs were scored on different queries: {counts}."
    return None
