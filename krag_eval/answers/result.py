"""What comes out of scoring answers: means by metric, rows by answer, refusals, and the signature."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval.aggregate import MeanState
from krag_eval.answers import result_text
from krag_eval.answers.intervals import Interval, answer_intervals
from krag_eval.answers.refusals import is_empty
from krag_eval.answers.sheet import AnswerSheet
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.errors import InvalidInputError, UnknownMetricError, needing
from krag_eval.metric_names import key_hint
from krag_eval.wrong_names import TellsAttributes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class AnswerRow(TellsAttributes):
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
        is_missing: Whether no answer was handed over.
        error: What the system raised, if it did.
    """

    _value_of = "row.values[{}]"

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
        """The row as one flat dict."""
        row: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__ if name != "values"}
        row["references"] = list(self.references)
        return row | dict(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class AnswerResult(TellsAttributes):
    """The outcome of scoring answers: `result["token_f1"]` is the mean over the answers where it is defined.

    Attributes:
        signature: Every setting that can change a number, in one line.
        values: Metric to the values of all answers, NaN where undefined; shape (n_answers,).
        sheet: The answers beside their references.
        is_refusal: Which answers say that there is none.
        confidence: Of the intervals; None where none were asked for.
        intervals: The interval of every mean, None where that is undefined; None where none were asked for.
    """

    _value_of = "result[{}]"

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
        """How many answers were not handed over; they count as empty."""
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
        """The metrics."""
        return list(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, key: object) -> bool:
        return key in self.values

    def __getitem__(self, key: str) -> float | None:
        """The mean of a metric, None where it is undefined for every answer.

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
        """Every metric with its mean, None where it is undefined."""
        return {key: self[key] for key in self.values}

    @property
    def undefined(self) -> dict[str, int]:
        """For each metric, how many answers its mean leaves out."""
        return {key: self._state(key).n_undefined for key in self.values}

    @property
    def per_answer(self) -> list[AnswerRow]:
        """One row an answer, in the order of the references."""
        sheet = self.sheet
        return [
            AnswerRow(
                index=row,
                id=None if sheet.ids is None else sheet.ids[row],
                question=sheet.questions[row],
                references=sheet.references[row],
                answer=sheet.answers[row],
                values={key: _or_none(column.item(row)) for key, column in self.values.items()},
                is_negative=bool(sheet.is_negative[row]),
                is_refusal=bool(self.is_refusal[row]),
                is_missing=bool(sheet.is_missing[row]),
                error=sheet.errors.get(row),
            )
            for row in range(len(sheet))
        ]

    def subset(self, rows: Sequence[int]) -> AnswerResult:
        """The result of these rows alone, such as the questions of one type; nothing is scored anew.

        Raises:
            InvalidInputError: There is no such row, or one stands twice.
        """
        chosen = [operator.index(row) for row in rows]
        if len(set(chosen)) < len(chosen) or not all(0 <= row < self.n_answers for row in chosen):
            raise InvalidInputError(
                f"`rows` must be different numbers from 0 to {self.n_answers - 1}, got {chosen!r:.60}. "
                "They are the `index` of the rows in `per_answer`."
            )
        values = {key: column[chosen] for key, column in self.values.items()}
        intervals = None if self.confidence is None else answer_intervals(values, self.confidence)
        is_refusal, sheet = self.is_refusal[chosen], self.sheet.at(chosen)
        return AnswerResult(self.signature, values, sheet, is_refusal, self.confidence, intervals)

    def to_json(self, *, indent: int | None = 2) -> str:
        """All means, what they leave out, the counts and the signature, as JSON."""
        return result_text.as_json(self, indent)

    def to_pandas(self) -> pd.DataFrame:
        """One row an answer, one column a metric; NaN where a value is undefined. Needs pandas."""
        with needing("result.to_pandas()", "pandas", "pandas"):
            import pandas as pd
        names = [name for name in AnswerRow.__slots__ if name != "values"] + list(self.values)
        frame = pd.DataFrame([row.to_dict() for row in self.per_answer], columns=names).set_index("index")
        return frame.astype(dict.fromkeys(self.values, "float64"))

    def __repr__(self) -> str:
        return result_text.as_table(self)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
