"""Questions without an answer over a threshold on the retriever's scores: what silence would cost, and gain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from krag_eval.columns import Side
from krag_eval.documents import read_leniently
from krag_eval.errors import InvalidInputError
from krag_eval.evaluation import evaluate
from krag_eval.numerals import format_value
from krag_eval.settings import ScoringSettings
from krag_eval.shapes import as_number
from krag_eval.wrong_names import tell_names

DEFAULT_POINTS = 11


@dataclass(frozen=True, slots=True)
class NoAnswerPoint:
    """What a threshold on the score would do: documents below it are not returned.

    Attributes:
        threshold: The lowest score that is returned.
        empty_share: The share of questions without an answer for which nothing comes back; None where there are none.
        mean_retrieved: How many documents come back for them on average.
        recall: Mean recall of the questions with an answer; None where there are none.
        answered_empty_share: The share of questions with an answer for which nothing comes back.
    """

    threshold: float
    empty_share: float | None
    mean_retrieved: float | None
    recall: float | None
    answered_empty_share: float | None


@dataclass(frozen=True, slots=True, repr=False)
class NoAnswerCurve:
    """The points of all thresholds, ascending.

    Attributes:
        k: The cut-off; None for all ranks.
        points: One a threshold.
        n_without_answer: How many questions have no gold document.
    """

    k: int | None
    points: tuple[NoAnswerPoint, ...]
    n_without_answer: int

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        names = NoAnswerPoint.__slots__
        points = [{name: getattr(point, name) for name in names} for point in self.points]
        return {"k": self.k, "n_without_answer": self.n_without_answer, "points": points}

    def __repr__(self) -> str:
        at = "" if self.k is None else f"@{self.k}"
        head = f"{'score >=':>10} {'empty, no answer':>17} {'recall' + at:>10} {'empty, answer':>14}"
        rows = [
            f"{point.threshold:>10.4g} {format_value(point.empty_share):>17} {format_value(point.recall):>10} "
            f"{format_value(point.answered_empty_share):>14}"
            for point in self.points
        ]
        return "\n".join([f"{self.n_without_answer} questions without an answer", head, *rows])


@tell_names
def no_answer_curve(
    actual: object,
    predicted: Sequence[object],
    thresholds: Sequence[float] | None = None,
    k: int | None = 10,
    **settings: Unpack[ScoringSettings],
) -> NoAnswerCurve:
    """Score rankings as if documents below a score had not been returned, for each of several thresholds.

    Args:
        actual: The gold documents of each query; `[]` where there is no answer.
        predicted: The retrieved documents of each query, best first, each with a score: `(document, score)`, or under
            `"score"`. An exception in the place of a list counts as nothing retrieved.
        thresholds: Scores; by default eleven that part the scores given into equal shares.
        k: The cut-off of recall and of what comes back.
        **settings: The scoring settings that `evaluate` takes.

    Raises:
        InvalidInputError: A document has no score, or something given cannot be used.

    >>> curve = no_answer_curve([["a"], []], [[("a", 0.9)], [("b", 0.4)]], [0.3, 0.5, 0.95])
    >>> [(point.empty_share, point.recall) for point in curve.points]
    [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]
    """
    side = Side("predicted", predicted, settings.get("id_key"), settings.get("grade_key", "relevance"))
    offsets = side.offsets.tolist()
    scores = [_score(document, side, position) for position, document in enumerate(side.documents)]
    rows = [list(zip(side.documents[a:b], scores[a:b], strict=True)) for a, b in itertools.pairwise(offsets)]
    points = []
    n_without = 0
    for threshold in _check(thresholds, scores):
        kept = [[document for document, score in row[:k] if score >= threshold] for row in rows]
        result = evaluate(actual, kept, k, metrics="recall", **settings)
        answered = [row.n_retrieved for row in result.per_query if row.n_gold]
        n_without = result.no_answer.n_queries
        points.append(
            NoAnswerPoint(
                threshold=threshold,
                empty_share=result.no_answer.empty_share,
                mean_retrieved=result.no_answer.mean_retrieved,
                recall=next(iter(result.to_dict().values())),
                answered_empty_share=answered.count(0) / len(answered) if answered else None,
            )
        )
    return NoAnswerCurve(k, tuple(points), n_without)


def _score(document: object, side: Side, position: int) -> float:
    score = read_leniently(document).score
    if score is None or not math.isfinite(score):
        query = int(np.searchsorted(side.offsets, position, side="right")) - 1
        rank = position - int(side.offsets[query]) + 1
        raise InvalidInputError(
            f"`predicted[{query}][{rank - 1}]` (query {query}, rank {rank}) has no score. "
            "Give each document a finite one, as (document, score) or under 'score'."
        )
    return score


def _check(thresholds: object, scores: Sequence[float]) -> list[float]:
    if thresholds is None:
        return sorted({float(q) for q in np.quantile(scores, np.linspace(0, 1, DEFAULT_POINTS))}) if scores else [0.0]
    if isinstance(thresholds, (str, bytes)) or not isinstance(thresholds, Sequence) or not thresholds:
        raise InvalidInputError(f"`thresholds` must be a list of scores, got {thresholds!r:.60}.")
    numbers = [as_number(threshold) for threshold in thresholds]
    if any(number is None or not math.isfinite(number) for number in numbers):
        raise InvalidInputError(f"`thresholds` must hold finite numbers, got {thresholds!r:.60}.")
    return sorted({number for number in numbers if number is not None})
