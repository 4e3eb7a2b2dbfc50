"""What comes out of judging contexts: means, rows with verdicts and reasons, and how the judge fared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval.context_judge.records import ContextRow
from krag_eval.errors import UnknownMetricError, did_you_mean, needing
from krag_eval.language_model import ModelCounters
from krag_eval.wrong_names import TellsAttributes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContextResult(TellsAttributes):
    """The outcome of judging contexts: `result["context_recall"]` is the mean over the questions where it is defined.

    Attributes:
        signature: Every setting that can change a number, the judge among them, in one line.
        means: Metric to mean, None where it is undefined for every question.
        undefined: For each metric, how many questions its mean leaves out.
        rows: One a question, in the order of the references.
        counters: What happened to the prompts.
        intervals: The interval of every mean, None where that is undefined; None where none were asked for.
    """

    _value_of = "result[{}]"

    signature: str
    means: Mapping[str, float | None]
    undefined: Mapping[str, int]
    rows: Sequence[ContextRow]
    counters: ModelCounters
    intervals: Mapping[str, tuple[float, float] | None] | None = None

    @property
    def n_failed(self) -> int:
        """How many questions the judge failed on; what it would have decided is undefined, never 0."""
        return sum(bool(row.failures) for row in self.rows)

    @property
    def n_without_reference(self) -> int:
        """How many questions have no reference."""
        return sum(not row.references for row in self.rows)

    @property
    def errors(self) -> dict[int, str]:
        """For questions whose retriever raised, what it said; they count as nothing retrieved."""
        return {row.index: row.error for row in self.rows if row.error is not None}

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __getitem__(self, key: str) -> float | None:
        """The mean of a metric, None where it is undefined.

        Raises:
            UnknownMetricError: There is no such metric.
        """
        if key not in self.means:
            raise UnknownMetricError(
                f"The result has no value {key!r}.{did_you_mean(key, self.means)} It has: {', '.join(self.means)}."
            )
        return self.means[key]

    def keys(self) -> list[str]:
        """The metrics."""
        return list(self.means)

    def to_dict(self) -> dict[str, float | None]:
        """Every metric with its mean, None where it is undefined."""
        return dict(self.means)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Everything, with the verdicts and their reasons, as JSON."""
        whole: dict[str, Any] = {
            "signature": self.signature,
            "metrics": dict(self.means),
            "undefined": dict(self.undefined),
            "n_failed": self.n_failed,
            "n_without_reference": self.n_without_reference,
            "judge": self.counters.to_dict(),
            **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
            "rows": [row.to_dict() for row in self.rows],
        }
        # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
        return json.dumps(whole, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")

    def to_pandas(self) -> pd.DataFrame:
        """One row a question; NaN where a value is undefined. Needs pandas."""
        with needing("result.to_pandas()", "pandas", "pandas"):
            import pandas as pd
        frame = pd.DataFrame([row.to_dict() for row in self.rows])
        return frame if frame.empty else frame.set_index("index").astype(dict.fromkeys(self.means, "float64"))

    def __repr__(self) -> str:
        width = max(map(len, self.means))
        lines = [f"ContextResult of {len(self.rows)} questions", f"  {'':<{width}} {'mean':>8} {'undefined':>9}"]
        for key, mean in self.means.items():
            interval = self.intervals[key] if self.intervals is not None else None
            told = "" if interval is None else f"  {interval[0]:.4f} to {interval[1]:.4f}"
            shown = "-" if mean is None else f"{mean:.4f}"
            lines.append(f"  {key:<{width}} {shown:>8} {self.undefined[key]:>9}{told}")
        if self.n_without_reference:
            lines.append(f"  {self.n_without_reference} questions have no reference: left out")
        if self.n_failed:
            lines.append(f"  the judge failed on {self.n_failed} questions: left out where its verdict is missing")
        if self.errors:
            lines.append(f"  {len(self.errors)} retrievals raised: counted as nothing retrieved")
        return "\n".join([*lines, f"  judge: {self.counters}", f"  {self.signature}"])
