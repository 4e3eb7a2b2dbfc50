"""The result of scoring answers: means by metric, rows by answer, text, JSON and intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval import UnknownMetricError
from krag_eval.toolkit import (
    BoolArray,
    Cell,
    ComparedByFields,
    FloatArray,
    MeanState,
    Printed,
    check_intervals,
    data_frame,
    format_value,
    json_text,
    key_hint,
    mean_intervals,
    number_of,
    plain_fields,
    refuse,
)
from krag_eval_answers.references import AnswerSheet
from krag_eval_answers.refusals import is_empty

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer and its values.

    Attributes:
        index: Its place in the input, from 0.
        id: Its id, where ids were given.
        question: The question, where it is known.
        references: The references that are not empty.
        answer: The answer; empty where there is none.
        values: Metric to value, of the reference that is best for it; None where it is undefined.
        is_negative: Whether no answer is expected.
        is_refusal: Whether the answer says that there is none.
        is_missing: Whether no answer was given.
        error: What the system raised, if it did.
    """

    index: int
    id: str | None
    question: str | None
    references: tuple[str, ...]
    answer: str
    values: Mapping[str, float | None]
    is_negative: bool
    is_refusal: bool
    is_missing: bool
    error: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dict."""
        return plain_fields(self, *(name for name in self.__slots__ if name != "values")) | dict(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class AnswerResult(Printed, ComparedByFields):
    """The outcome of scoring answers: `result["token_f1"]` is the mean over the answers where it is defined.

    Attributes:
        signature: Every setting that can change a number, in one line.
        values: Metric to the values of all answers, NaN where undefined; shape (n_answers,).
        sheet: The answers beside their references.
        is_refusal: Which answers say that there is none.
        confidence: Of the intervals; None where none were asked for.
        intervals: The interval of every mean, None where that is undefined; None where none were asked for.
    """

    signature: str
    values: Mapping[str, FloatArray]
    sheet: AnswerSheet
    is_refusal: BoolArray
    confidence: float | None = None
    intervals: Mapping[str, Interval | None] | None = None

    @property
    def n_answers(self) -> int:
        """How many answers were scored."""
        return len(self.sheet)

    @property
    def n_negative(self) -> int:
        """How many questions expect no answer."""
        return int(self.sheet.is_negative.sum())

    @property
    def n_without_reference(self) -> int:
        """How many questions have an answer in the corpus, but no reference: text metrics are undefined for them."""
        pairs = zip(self.sheet.references, self.sheet.is_negative.tolist(), strict=True)
        return sum(not references and not negative for references, negative in pairs)

    @property
    def n_empty(self) -> int:
        """How many answers are empty, those that are missing or raised among them."""
        return sum(map(is_empty, self.sheet.answers))

    @property
    def n_missing(self) -> int:
        """How many answers are missing; they count as empty."""
        return int(self.sheet.is_missing.sum())

    @property
    def n_refusals(self) -> int:
        """How many answers say that there is none, empty ones among them."""
        return int(self.is_refusal.sum())

    @property
    def errors(self) -> Mapping[int, str]:
        """For answers in whose place an exception stood, what it said; they count as empty."""
        return self.sheet.errors

    def keys(self) -> list[str]:
        """Return the metrics."""
        return list(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, key: object) -> bool:
        return key in self.values

    def __getitem__(self, key: str) -> float | None:
        """Return the mean of a metric, None where it is undefined for every answer.

        Raises:
            UnknownMetricError: There is no such metric.
        """
        if key not in self.values:
            raise UnknownMetricError(f"The result has no value {key!r}.{key_hint(key, self.values)}")
        return self._state(key).mean

    def _state(self, key: str) -> MeanState:
        state = MeanState()
        state.add(self.values[key])
        return state

    def to_dict(self) -> dict[str, float | None]:
        """Return every metric with its mean, None where it is undefined."""
        return {key: self[key] for key in self.values}

    @property
    def undefined(self) -> dict[str, int]:
        """For each metric, how many answers its mean leaves out."""
        return {key: self._state(key).n_undefined for key in self.values}

    @property
    def per_answer(self) -> list[AnswerRow]:
        """One row per answer, in the order of the references."""
        sheet = self.sheet
        return [
            AnswerRow(
                index=row,
                id=None if sheet.ids is None else sheet.ids[row],
                question=sheet.questions[row],
                references=sheet.references[row],
                answer=sheet.answers[row],
                values={key: None if math.isnan(v := column.item(row)) else v for key, column in self.values.items()},
                is_negative=bool(sheet.is_negative[row]),
                is_refusal=bool(self.is_refusal[row]),
                is_missing=bool(sheet.is_missing[row]),
                error=sheet.errors.get(row),
            )
            for row in range(len(sheet))
        ]

    def subset(self, rows: Sequence[int]) -> AnswerResult:
        """Return the result of these rows alone, such as the questions of one type; nothing is scored anew.

        Raises:
            InvalidInputError: There is no such row, or one is given twice.
        """
        chosen = [operator.index(row) for row in rows]
        if len(set(chosen)) < len(chosen) or not all(0 <= row < self.n_answers for row in chosen):
            cure = "They are the `index` of the rows in `per_answer`."
            refuse("rows", f"different numbers from 0 to {self.n_answers - 1}", chosen, cure)
        values = {key: column[chosen] for key, column in self.values.items()}
        intervals = answer_intervals(values, self.confidence or False)
        is_refusal, sheet = self.is_refusal[chosen], self.sheet.at(chosen)
        return AnswerResult(self.signature, values, sheet, is_refusal, self.confidence, intervals)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all means, what they leave out, the counts and the signature, as JSON."""
        record = {
            "signature": self.signature,
            "metrics": self.to_dict(),
            "undefined": self.undefined,
            **plain_fields(self, *_COUNTS),
            "errors": {str(row): message for row, message in self.errors.items()},
            **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
        }
        return json_text(record, indent=indent)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per answer, one column per metric; NaN where a value is undefined. Needs pandas."""
        names = [name for name in AnswerRow.__slots__ if name != "values"] + list(self.values)
        frame = data_frame([row.to_dict() for row in self.per_answer], "result.to_pandas()", columns=names)
        return frame.set_index("index").astype(dict.fromkeys(self.values, "float64"))

    def __str__(self) -> str:
        title = f"AnswerResult of {number_of(self.n_answers, 'answer')}"
        heading = "" if self.confidence is None else f"  {100 * self.confidence:g} % interval"
        rows = table_of_means(self.to_dict(), self.undefined, self.intervals, heading)
        return "\n".join([title, *rows, *_remarks(self), f"  {self.signature}"])


_COUNTS = ("n_answers", "n_negative", "n_without_reference", "n_empty", "n_missing", "n_refusals")


def table_of_means(
    means: Mapping[str, float | None],
    undefined: Mapping[str, int],
    intervals: Mapping[str, Interval | None] | None,
    heading: str = "",
) -> Iterator[str]:
    """Yield the lines of a table of means, what they leave out, and their intervals under a heading."""
    width = max(map(len, means))
    yield f"  {'':<{width}} {'mean':>8} {'undefined':>9}{heading}"
    for key, mean in means.items():
        ends = Cell.of_interval(intervals[key]).text if intervals is not None else ""
        yield f"  {key:<{width}} {format_value(mean):>8} {undefined[key]:>9}{ends and '  ' + ends}"


def _remarks(result: AnswerResult) -> Iterator[str]:
    if result.n_negative:
        yield f"  {number_of(result.n_negative, 'question')} without an answer: only negative_rejection scores them"
    if result.n_without_reference:
        yield f"  {number_of(result.n_without_reference, 'question')} without a reference: only refusals are counted"
    if result.n_empty:
        missing = f", {result.n_missing} of them missing" if result.n_missing else ""
        yield f"  {number_of(result.n_empty, 'answer')} empty{missing}: 0 where there is a reference"
    if result.errors:
        yield f"  {number_of(len(result.errors), 'exception')} in place of an answer: counted as empty, not as refusals"


def answer_intervals(
    values: Mapping[str, FloatArray], confidence: bool | float = True
) -> dict[str, Interval | None] | None:
    """Compute the interval of the mean of each metric, as `krag_eval.intervals_of` does. Needs scipy (extra `stats`).

    The exact binomial interval where all values are 0 or 1, else the expanded percentile bootstrap over answers, with
    seed 0; answers without a value are left out.

    Args:
        values: Metric to values, NaN where undefined; shape (n_answers,).
        confidence: How often such intervals should contain the mean over all answers that might be given, between 0 and
            1; True is 0.95, and False computes none.

    Returns:
        The lower and the upper end by metric, None where no value is defined; None where none were asked for.

    Raises:
        InvalidInputError: `confidence` is neither a boolean nor a number between 0 and 1.
        MissingDependencyError: scipy is not installed.
    """
    level = check_intervals(confidence)
    return None if level is None else mean_intervals(values, level)
