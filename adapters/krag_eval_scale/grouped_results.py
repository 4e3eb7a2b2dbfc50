"""The results of groups of queries, by the values of their columns: as a mapping, a table, records and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krag_eval import EvaluationResult
from krag_eval.toolkit import Printed, data_frame, format_value, json_text, number_of, one_line

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = 30


class GroupedResults(Printed, Mapping[Any, EvaluationResult]):
    """The result of each group of queries, in the order of their values; null comes last.

    `groups["gpt"]` is the result of one group, which is computed when it is asked for; so are its intervals. The keys
    are values if `by` was one name, and tuples of values if it was a list of names, as in pandas.

    Args:
        by: The group columns.
        labels: The values of each group.
        make: Makes the result of a group from its place in `labels`, if asked for with what intervals need.
        is_single: Whether keys are values, not tuples.

    Attributes:
        by: The group columns.
    """

    def __init__(
        self,
        by: Sequence[str],
        labels: Sequence[tuple[Any, ...]],
        make: Callable[[int, bool], EvaluationResult],
        *,
        is_single: bool,
    ) -> None:
        self.by = tuple(by)
        self._make, self._is_single = make, is_single
        order = sorted(range(len(labels)), key=lambda number: [(one is None, one) for one in labels[number]])
        self._places = {labels[number][0] if is_single else labels[number]: number for number in order}
        self._made: dict[Any, EvaluationResult] = {}

    def __getitem__(self, key: Any) -> EvaluationResult:
        """Return the result of a group.

        Raises:
            KeyError: There is no such group.
        """
        if key not in self._made:
            self._made[key] = self._make(self._places[key], True)
        return self._made[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def to_dict(self) -> dict[Any, dict[str, float | None]]:
        """Return the values of each group by key, None where undefined."""
        return {key: result.to_dict() for key, result in self._each()}

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat dict per group: its group columns, `n_queries`, and every value.

        If intervals were asked for, the ends of each are `KEY_low` and `KEY_high`.
        """
        return [self._record(key, result) for key, result in self._each()]

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the records as JSON; dates are written as in ISO 8601."""
        return json_text(self.to_records(), indent=indent, default=str)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per group, with the group columns as its index. Needs pandas."""
        frame = data_frame(self.to_records(), "groups.to_pandas()")
        return frame.set_index(self.by[0] if self._is_single else list(self.by))

    def rows(self, most: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the cells of a table: every mean at its largest cut-off.

        Args:
            most: The largest number of groups; all by default.
        """
        shown = [self._record(key, result) for key, result in self._each(most)]
        names: dict[str, str] = {}  # of the keys of a metric, the last has the largest cut-off
        for key in shown[0] if shown else ():
            if key not in (*self.by, "n_queries") and not key.startswith("micro_") and not key.endswith(_ENDS):
                names[key.partition("@")[0]] = key
        cells = []
        for record in shown:
            labels, values = (one_line(str(record[name])) for name in self.by), map(record.get, names.values())
            cells.append([*labels, f"{record['n_queries']:,}", *map(format_value, values)])
        return [*self.by, "queries", *names.values()], cells

    def __str__(self) -> str:
        headings, cells = self.rows(_SHOWN)
        widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
        rows = [map(str.rjust, row, widths) for row in (headings, *cells)]
        lines = [f"{number_of(len(self), 'group')} by {', '.join(self.by)}", *map("  ".join, rows)]
        lines += [f"... and {len(self) - _SHOWN:,} more: .to_pandas() has all"] * (len(self) > _SHOWN)
        return "\n".join(lines)

    def _each(self, most: int | None = None) -> Iterator[tuple[Any, EvaluationResult]]:
        """Yield each group and its result, without keeping it: there may be very many."""
        for key in list(self._places)[:most]:
            yield key, self._made[key] if key in self._made else self._make(self._places[key], False)

    def _record(self, key: Any, result: EvaluationResult) -> dict[str, Any]:
        labels = (key,) if self._is_single else key
        record = {**dict(zip(self.by, labels, strict=True)), "n_queries": result.n_queries, **result.to_dict()}
        for name, ends in (result.intervals or {}).items():
            record |= dict(zip((f"{name}_low", f"{name}_high"), ends or (None, None), strict=True))
        return record


_ENDS = ("_low", "_high")
