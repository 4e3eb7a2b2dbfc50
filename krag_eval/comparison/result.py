"""The outcome of a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval.comparison.records import ComparisonRow, Transition
from krag_eval.comparison.table import describe
from krag_eval.errors import UnknownMetricError, did_you_mean, needing
from krag_eval.wrong_names import TellsAttributes, tell_names

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from krag_eval.diagnosis import Diagnosis
    from krag_eval.evalset import EvalSet
    from krag_eval.results import EvaluationResult

# Not part of the outcome, but what a report shows beside it.
_KEPT = ("results", "diagnoses", "evalset")


@tell_names
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(TellsAttributes):
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
        rows: One a system and key, over all queries.
        slices: One a field, value, system and key.
        transitions: Gold documents by what they were and what they are, for each system.
        errors: For each system, the baseline among them, how many retrievals raised; they count as nothing retrieved.
        results: The scores of each system by name, the baseline first.
        diagnoses: The causes of the misses of each system by name.
        evalset: The questions, where they were given.
    """

    _value_of = "comparison[system, {}]"

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
    slices: tuple[ComparisonRow, ...]
    transitions: tuple[Transition, ...]
    errors: Mapping[str, int]
    results: Mapping[str, EvaluationResult]
    diagnoses: Mapping[str, Diagnosis]
    evalset: EvalSet | None

    def __getitem__(self, system_and_key: tuple[str, str] | str) -> ComparisonRow:
        """The row of a system and a key such as `recall@5`, over all queries; of two systems the key is enough.

        Raises:
            UnknownMetricError: There is no such row.
        """
        for row in self.rows:
            if system_and_key in ((row.system, row.key), row.key if len(self.systems) == 1 else None):
                return row
        known = {f"{row.system}, {row.key}" for row in self.rows}
        asked = ", ".join(map(str, system_and_key)) if isinstance(system_and_key, tuple) else system_and_key
        raise UnknownMetricError(
            f"The comparison has no row {system_and_key!r:.120}.{did_you_mean(asked, known)} Ask for a system and a "
            f"key; systems: {', '.join(self.systems)}; keys: {', '.join(self.keys)}."
        )

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

    def _rank(self, row: ComparisonRow) -> tuple[bool, float]:
        at_most = row.gain_at_most or 0.0
        lost = at_most if at_most < 0 else row.gain or 0.0
        return at_most >= 0, lost / (abs(self[row.system, row.key].baseline_mean or 0.0) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name not in _KEPT},
            "systems": list(self.systems),
            "keys": list(self.keys),
            "rows": [row.to_dict() for row in self.rows],
            "slices": [row.to_dict() for row in self.slices],
            "worst_slices": {system: row.to_dict() for system, row in self.worst_slices.items()},
            "transitions": [transition.to_dict() for transition in self.transitions],
            "errors": dict(self.errors),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """Everything, as JSON."""
        import json

        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)
        # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def to_pandas(self) -> pd.DataFrame:
        """One row for each of `rows`, then for each of `slices`. Needs pandas."""
        with needing("comparison.to_pandas()", "pandas", "pandas"):
            import pandas as pd
        return pd.DataFrame([row.to_dict() for row in (*self.rows, *self.slices)])

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        title: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write a report: this comparison, tables, pictures, causes, and both rankings of every query.

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
        """The comparison as tables, for notebooks."""
        from krag_eval.report import comparison_html

        return comparison_html(self)
