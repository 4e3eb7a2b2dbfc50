"""The result of a comparison, and every way in which it shows itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval._utils.plugins import Presented, load
from krag_eval._utils.serialization import data_frame
from krag_eval.analysis.comparison.rows import Compared, ComparisonRow, Outcome, Transition
from krag_eval.analysis.comparison.text import describe, describe_transitions, describe_worst, how_tested, of_clusters

__all__ = ["Comparison", "ComparisonRow", "Outcome", "Transition"]  # results that were pickled before name them so

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from krag_eval._utils.said import Said


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Presented, Compared):
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

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each of `rows`, then for each of `slices`. Needs pandas."""
        return data_frame(self._rows()[0], "comparison.to_pandas()")

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        rows = [row.to_dict() for row in (*(self.pairs or self.rows), *self.slices)]
        return rows, [field.name for field in dataclasses.fields(ComparisonRow) if field.type == "float | None"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; `tested` says in words how."""
        return super().to_dict() | {"tested": self.tested}

    @property
    def tested(self) -> str:
        """How the intervals and p-values were computed, in words."""
        return how_tested(self)

    @property
    def unseen_clusters(self) -> str:
        """What intervals over clusters cannot know, in a sentence that begins with a space; else nothing."""
        return of_clusters(self)

    def describe_worst(self, system: str) -> Said:
        """Return in words where a system lost most, of the slices that are decided to have lost."""
        return describe_worst(self.worst_slices.get(system))

    def describe_transitions(self, system: str) -> Iterator[Said]:
        """Yield how many gold documents are found or missed now but were not before, and why."""
        return describe_transitions(self, system)

    def to_latex(self) -> str:
        """Return a LaTeX `tabular`: one row per system, one column per key, the best in bold. Needs booktabs.

        A superscript `*` marks a value that is better or worse than that of the baseline, the first row, by the
        verdict of its row. If all pairs were compared, systems that share a superscript letter cannot be told apart.
        The first line, a comment, says how it was tested.
        """
        latex: str = load("krag_eval.reports", "latex")(self)
        return latex

    def to_markdown(self) -> str:
        """Return a Markdown summary for a comment on a pull request: the verdict, the table, slices and questions.

        Of many rows and questions it has the first and says how many more there are, and of the slices the five worst,
        so that it fits into a comment of GitHub, which may have 65,536 characters.
        """
        text: str = load("krag_eval.reports", "summary")(self)
        return text

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        title: str | None = None,
        force: bool = False,
        language: str | None = None,
    ) -> Path:
        """Write a report: this comparison, tables, plots, causes, and both rankings of every query.

        Args:
            path: The file to write; an HTML file needs no other file, no server and no network.
            format: `"html"`, `"md"`, `"json"` or `"csv"`; by default what the path ends with.
            title: The title; by default it names the systems.
            force: Replace a file that is there.
            language: `"en"`, `"ko"`, `"ru"` or `"zh"`; by default a page is in the language of the reader's browser.

        Returns:
            The path.

        Raises:
            InvalidInputError: The file is there, or cannot be written.
            MissingDependencyError: A package of the extra `report` is not installed.
        """
        by = list(dict.fromkeys(row.field for row in self.slices if row.field is not None))
        write: Callable[..., Path] = load("krag_eval.reports", "file")
        options = {"title": title, "format": format, "force": force, "language": language}
        return write(path, self.evalset, self.results, by=by, comparison=self, **options)

    def __str__(self) -> str:
        return describe(self)
