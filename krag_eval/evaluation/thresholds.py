"""Choose thresholds: metrics over thresholds, calibration on labelled pairs, thresholds on the retriever's scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.checks import as_number, check_number, one_of
from krag_eval._utils.errors import InvalidInputError, RetrieverError, refuse
from krag_eval._utils.formatting import format_value
from krag_eval._utils.objects import ComparedByFields, Printed
from krag_eval._utils.plugins import Pictured
from krag_eval._utils.serialization import data_frame, plain_fields
from krag_eval._utils.suggestions import check_names
from krag_eval.documents.columns import Side
from krag_eval.documents.document import read_leniently
from krag_eval.evaluation.pipeline import (
    Judged,
    MetricFunction,
    choose_metrics,
    columns_of,
    judge_batch,
    match_and_judge,
    measure,
    read_batch,
    score,
    signature_of,
    with_needs,
)
from krag_eval.matching import MATCHERS, similar_pairs
from krag_eval.matching.batch import merge
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.matching.settings import (
    THRESHOLD_METHODS,
    USUAL_THRESHOLDS,
    FurtherSettings,
    MatchingCriteria,
    ScoringSettings,
    make_settings,
)
from krag_eval.metrics.judgments import judge
from krag_eval.statistics.bootstrap import binomial_interval
from krag_eval.statistics.checks import check_confidence, need_scipy

if TYPE_CHECKING:
    import pandas as pd


DEFAULT_THRESHOLDS = tuple(n / 20 for n in range(4, 20))  # 0.2 to 0.95
# A result is fragile where it moves by more than this within this distance of the threshold in use.
_FRAGILE_MOVE, _AROUND = 0.05, 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Printed, Pictured, ComparedByFields):
    """Every metric at every threshold.

    No threshold is best because it scores highest: a lower one matches more. `calibrate` chooses one from labels.

    Attributes:
        thresholds: The thresholds, ascending.
        values: For each key, such as `recall@5` or `micro_recall@5`, its value at each threshold.
        in_use: The threshold that is in use; the values around it decide what is fragile.
        fragile: The keys that move by more than 0.05 within 0.05 of the threshold in use, with how far they move.
        signature: The settings, with the threshold in use.
    """

    thresholds: tuple[float, ...]
    values: Mapping[str, tuple[float | None, ...]]
    in_use: float
    fragile: Mapping[str, float]
    signature: str

    @property
    def around(self) -> float:
        """How far from the threshold in use values decide what is fragile."""
        return _AROUND

    def at(self, threshold: float) -> dict[str, float | None]:
        """Return all values at one of the thresholds.

        Raises:
            InvalidInputError: It was not swept.
        """
        if threshold not in self.thresholds:
            raise InvalidInputError(
                f"{threshold!r:.40} was not swept. The thresholds are: {', '.join(map(str, self.thresholds))}."
            )
        place = self.thresholds.index(threshold)
        return {key: column[place] for key, column in self.values.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return plain_fields(self, "signature", "thresholds", "values", "in_use", "fragile")

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per threshold, one column per key; NaN where a value is undefined. Needs pandas."""
        columns = {"threshold": self.thresholds, **self.values}
        return data_frame(columns, "sweep.to_pandas()", dtype="float64").set_index("threshold")

    def __str__(self) -> str:
        keys = [key for key in self.values if not key.startswith("micro_")]
        width = max(map(len, keys))
        lines = [f"Sweep of {len(self.thresholds)} thresholds, {self.in_use} in use"]
        for first in range(0, len(self.thresholds), 8):
            part = range(first, min(first + 8, len(self.thresholds)))
            lines.append(" ".join([" " * (width + 2), *(f"{self.thresholds[i]:>6.4g}" for i in part)]))
            for key in keys:
                cells = (f"{format_value(self.values[key][i], 3):>6}" for i in part)
                lines.append(" ".join([f"  {key:<{width}}", *cells]))
        for key, move in self.fragile.items():
            lines.append(f"  fragile: {key} moves by {move:.3f} within {_AROUND} of the threshold in use")
        return "\n".join([*lines, f"  {self.signature}"])


def sweep(
    actual: object,
    predicted: object,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    k: int | str | Sequence[int | str | None] | None = 10,
    *,
    in_use: float | None = None,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    **settings: Unpack[ScoringSettings],
) -> Sweep:
    """Score the same rankings at many thresholds from one matching pass.

    Args:
        actual: The gold documents of each query: a list of lists.
        predicted: The retrieved documents of each query, best first.
        thresholds: Thresholds from 0 to 1, in any order; the one in use and those 0.05 around it are added.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        in_use: The threshold whose neighbourhood decides what is fragile; by default that of the first method which
            has one: 0.5 for ROUGE, 0.7 for embeddings.
        metrics: Names of `METRICS`, or functions; all by default.
        **settings: The scoring settings that `evaluate` takes, without `threshold`; `match_method` is `"rougeL"` by
            default and must have a ROUGE method or `"embedding"` in it. Of several, all share the threshold.

    Returns:
        The sweep: `values["recall@5"]` has one mean per threshold, in the order of `thresholds`, and `fragile` names
        the values that change by more than 0.05 within 0.05 of `in_use`, with the change.

    Raises:
        InvalidInputError: No method has a threshold, or something given cannot be used.

    >>> swept = sweep([["a b c d"]], [["a b c x"]], [0.7, 0.8], k=1, in_use=0.75, metrics="recall")
    >>> swept.thresholds, swept.values["recall@1"], swept.fragile["recall@1"]
    ((0.7, 0.75, 0.8), (1.0, 1.0, 0.0), 1.0)
    """
    if "threshold" in settings:
        raise InvalidInputError(
            "`sweep` sets the threshold itself. Pass `thresholds`, and your own threshold as `in_use`."
        )
    given: Any = {"match_method": "rougeL", **settings}
    swept = [method for method in make_settings(**given).methods if method in THRESHOLD_METHODS]
    if not swept:
        raise InvalidInputError(
            f"match_method={given['match_method']!r:.60} has no threshold to sweep. "
            f"Use one of {', '.join(THRESHOLD_METHODS)}, alone or in a list."
        )
    in_use = check_number("in_use", USUAL_THRESHOLDS[swept[0]] if in_use is None else in_use, least=0, most=1)
    chosen = _check_thresholds(thresholds, in_use)
    lowest = make_settings(threshold=chosen[0], **given)
    cut_offs, table = choose_metrics(metrics, lowest, k)
    columns = columns_of(table, cut_offs)
    if lowest.unjudged == "remove":
        raise InvalidInputError("A sweep scores whole rankings: unjudged documents cannot be removed.")
    batch = read_batch(actual, predicted, lowest)
    found = {method: MATCHERS[method](batch) for method in lowest.methods}
    swept_values: dict[str, list[float | None]] = {}
    for threshold in chosen:
        kept = [f.only(f.similarity >= threshold) if method in THRESHOLD_METHODS else f for method, f in found.items()]
        matches = merge(kept, lowest.methods, int(batch.actual.offsets[-1]))
        judged = Judged(batch, matches, judge(batch, matches), DocumentCounts.empty())
        if threshold == chosen[0]:
            DocumentCounts.of(batch, matches).check(lowest)
        for key, value in score(judged, columns, cut_offs)[1].by_key().items():
            swept_values.setdefault(key, []).append(value)
    values = {key: tuple(column) for key, column in swept_values.items()}
    signature = signature_of(make_settings(threshold=in_use, **given), cut_offs, MatchingCriteria.PARTIAL)
    signature = with_needs(signature, has_needs=batch.actual.needs is not None)
    return Sweep(chosen, values, float(in_use), _fragile(chosen, values, in_use, columns), signature)


def _check_thresholds(thresholds: object, in_use: float) -> tuple[float, ...]:
    if isinstance(thresholds, (str, bytes)) or not isinstance(thresholds, Sequence) or not thresholds:
        refuse("thresholds", "a list of numbers from 0 to 1", thresholds)
    around = [in_use, max(0.0, round(in_use - _AROUND, 12)), min(1.0, round(in_use + _AROUND, 12))]
    return tuple(sorted({*(check_number("thresholds", t, least=0, most=1) for t in thresholds), *around}))


def _fragile(
    thresholds: Sequence[float], values: Mapping[str, tuple[float | None, ...]], in_use: float, keys: Iterable[str]
) -> dict[str, float]:
    """Return how far each mean moves near the threshold in use, where that is too far."""
    near = [i for i, t in enumerate(thresholds) if abs(t - in_use) <= _AROUND + 1e-9]
    here = thresholds.index(in_use)
    moves: dict[str, float] = {}
    for key in keys:
        column = values[key]
        own = column[here]
        if own is None:
            continue
        move = max(math.fabs(value - own) for i in near if (value := column[i]) is not None)
        if move > _FRAGILE_MOVE + 1e-9:  # a mean that moves by just as much may be off in the last bit
            moves[key] = move
    return moves


@dataclass(frozen=True, slots=True)
class Calibration(Pictured):
    """What a threshold does to labelled pairs.

    Attributes:
        threshold: The lowest threshold that is shown to reach the target; None where none is.
        precision: The share of the pairs at or above it that are labelled as matches; where no threshold is shown to
            reach the target, of the one that comes nearest to it.
        lower: The precision is at least this: the lower end of its one-sided exact interval.
        interval: The two-sided exact binomial (Clopper-Pearson) interval of that share.
        recall: The share of the pairs labelled as matches that are at or above it.
        n_matched: How many pairs are at or above it.
        n_pairs: How many pairs were given.
        n_least: The fewest pairs at or above a threshold that can show the target, if all of them match.
        target: The precision that was asked for.
        confidence: How surely the threshold reaches it; also of the interval.
        method: The method whose threshold it is.
        curve: For each threshold that pairs reach, ascending: the threshold, the precision, and its lower bound.
    """

    threshold: float | None
    precision: float | None
    lower: float
    interval: tuple[float, float] | None
    recall: float | None
    n_matched: int
    n_pairs: int
    n_least: int
    target: float
    confidence: float
    method: str
    curve: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        found = (
            f"{self.n_matched} of {self.n_pairs} pairs, precision {self.precision or 0:.3f}, "
            f"at least {self.lower:.3f} with {100 * self.confidence:g} % confidence"
        )
        if self.threshold is not None:
            return f"{self.method} >= {self.threshold:.4f}: {found}, recall {self.recall or 0:.3f}"
        few = "Too few pairs: it" if self.n_pairs < self.n_least else "It"
        return (
            f"{self.method}: no threshold is shown to reach a precision of {self.target}; the nearest has {found}. "
            f"{few} takes {self.n_least} pairs at or above a threshold that all match, and more if one does not"
        )


def calibrate(
    labelled_pairs: Iterable[tuple[object, object, object]],
    precision: float = 0.95,
    *,
    method: str = "rougeL",
    confidence: float = 0.95,
    tokenizer: Any = "words",
    **settings: Unpack[FurtherSettings],
) -> Calibration:
    """Pick the lowest threshold that is shown to reach a precision. Needs scipy (extra `stats`).

    Going down from the similarity that just enough pairs reach, each threshold is tested until the lower confidence
    bound of its precision falls below the target. Because the order is fixed and the first failure ends it, the
    precision of the chosen threshold, over all pairs such as these, reaches the target with the given confidence.

    Args:
        labelled_pairs: Triples (gold document, retrieved document, whether they match), drawn as pairs will come.
        precision: The share of matching pairs that have to be right, between 0 and 1.
        method: `"rouge1"` to `"rouge9"`, `"rougeL"`, `"rougeLsum"`, or `"embedding"` with a model as `embeddings`.
        confidence: How surely the threshold reaches the precision, between 0 and 1.
        tokenizer: As for `evaluate`.
        **settings: The further scoring settings of `evaluate`, such as `rouge_measure`.

    Raises:
        InvalidInputError: There is no pair, none labelled as a match, or one is no such triple.
        MissingDependencyError: scipy is not installed.

    Source: Angelopoulos et al. (2022), Learn then Test, arXiv:2110.01052, fixed sequence testing; Clopper & Pearson
    (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404, for the bound and the interval.

    >>> pairs = [("a b c d", "a b c x", True)] * 30 + [("a b c d", "a x y z", False)] * 5
    >>> calibrate(pairs, precision=0.9).threshold
    0.75
    """
    check_names(settings, FurtherSettings.__annotations__)
    need_scipy("calibrate")
    from scipy.special import betaincinv

    one_of("method", method, THRESHOLD_METHODS)
    cure = "No number of pairs shows that all match. Give a share such as 0.95."
    target = check_number("precision", precision, cure, above=0, below=1)
    confidence = check_confidence(confidence)
    gold, retrieved, labels = _columns(labelled_pairs)
    scoring = make_settings(match_method=method, threshold=0.0, tokenizer=tokenizer, **settings)
    batch = read_batch(gold, retrieved, scoring)
    found = similar_pairs(batch, method, 0.0)
    similarity = np.zeros(len(labels))
    similarity[found.actual] = found.similarity
    thresholds, matched, right = _curve(similarity, labels)
    lower = np.where(right > 0, betaincinv(np.maximum(right, 1), matched - right + 1, 1 - confidence), 0.0)
    n_least = math.ceil(math.log(1 - confidence) / math.log(target))
    # From the highest threshold down; the first that fails ends it.
    tested = np.flatnonzero(matched >= n_least)[::-1]
    passed = int(np.cumprod(lower[tested] >= target).sum())
    place = int(tested[passed - 1]) if passed else int(np.argmax(lower))
    return Calibration(
        threshold=float(thresholds[place]) if passed else None,
        precision=float(right[place] / matched[place]),
        lower=float(lower[place]),
        interval=binomial_interval(int(right[place]), int(matched[place]), confidence),
        recall=float(right[place] / labels.sum()),
        n_matched=int(matched[place]),
        n_pairs=len(labels),
        n_least=n_least,
        target=target,
        confidence=confidence,
        method=method,
        curve=tuple(zip(thresholds.tolist(), (right / matched).tolist(), lower.tolist(), strict=True)),
    )


def _columns(pairs: object) -> tuple[list[list[object]], list[list[object]], BoolArray]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        refuse("labelled_pairs", "a list of triples", pairs)
    gold: list[list[object]] = []
    retrieved: list[list[object]] = []
    labels: list[bool] = []
    for number, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 3 or not isinstance(pair[2], (bool, np.bool_)):
            refuse(f"labelled_pairs[{number}]", "(gold, retrieved, True or False)", pair)
        gold.append([pair[0]])
        retrieved.append([pair[1]])
        labels.append(bool(pair[2]))
    if not any(labels):
        raise InvalidInputError(
            f"`labelled_pairs` has {len(labels)} pairs, none of them labelled True. Label some pairs that match."
        )
    return gold, retrieved, np.array(labels, dtype=bool)


def _curve(similarity: FloatArray, labels: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each distinct similarity above 0, how many pairs reach it, and how many of these are matches."""
    thresholds = np.unique(similarity[similarity > 0])
    if not len(thresholds):
        raise InvalidInputError(
            "No pair has a token in common (or, by embeddings, a cosine above 0). "
            "Calibrate on pairs that are similar to some degree."
        )
    order = np.argsort(similarity, kind="stable")
    first = np.searchsorted(similarity[order], thresholds)
    right_above = np.append(np.cumsum(labels[order][::-1])[::-1], 0)
    return thresholds, (len(labels) - first).astype(np.float64), right_above[first].astype(np.float64)


_N_POINTS = 11


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
class NoAnswerCurve(Printed):
    """The points of all thresholds, ascending.

    Choose the threshold on some questions, and report the values of others there.

    Attributes:
        k: The cut-off; None for all ranks.
        points: One per threshold.
        n_without_answer: How many questions have no gold document.
    """

    k: int | None
    points: tuple[NoAnswerPoint, ...]
    n_without_answer: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return plain_fields(self, *self.__slots__)

    def __str__(self) -> str:
        at = "" if self.k is None else f"@{self.k}"
        head = f"{'score >=':>10} {'empty, no answer':>17} {'recall' + at:>10} {'empty, answer':>14}"
        rows = [
            f"{point.threshold:>10.4g} {format_value(point.empty_share):>17} {format_value(point.recall):>10} "
            f"{format_value(point.answered_empty_share):>14}"
            for point in self.points
        ]
        chosen = "A threshold that is chosen from these values looks better here than on other questions."
        return "\n".join([f"{self.n_without_answer} questions without an answer", head, *rows, chosen])


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
            `"score"`. An exception in the place of a list counts as nothing retrieved, but not as an empty answer.
        thresholds: Scores; by default eleven that part the scores given into equal shares.
        k: The cut-off of recall and of what comes back.
        **settings: The scoring settings that `evaluate` takes.

    Raises:
        InvalidInputError: A document has no score, or something given cannot be used.

    >>> curve = no_answer_curve([["a"], []], [[("a", 0.9)], [("b", 0.4)]], [0.3, 0.5, 0.95])
    >>> [(point.empty_share, point.recall) for point in curve.points]
    [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]
    """
    check_names(settings, ScoringSettings.__annotations__)
    side = Side("predicted", predicted, settings.get("id_key"), settings.get("grade_key", "relevance"))
    offsets = side.offsets.tolist()
    scores = [_score(document, side, position) for position, document in enumerate(side.documents)]
    rows = [list(zip(side.documents[a:b], scores[a:b], strict=True)) for a, b in itertools.pairwise(offsets)]
    failed = {query: RetrieverError(said) for query, said in side.errors.items()}
    checked = make_settings(**settings)
    cut_offs, table = choose_metrics("recall", checked, k)
    points: list[NoAnswerPoint] = []
    n_without = 0
    for threshold in _check(thresholds, scores):
        kept = [
            failed.get(query, [document for document, score in row[:k] if score >= threshold])
            for query, row in enumerate(rows)
        ]
        # That little is left above a higher score is no reason to warn.
        judge_kept = judge_batch if points else match_and_judge
        result = measure(judge_kept(actual, kept, checked), cut_offs, table)
        answered = [row.n_retrieved == 0 and row.error is None for row in result.per_query if row.n_gold]
        n_without = result.no_answer.n_queries
        points.append(
            NoAnswerPoint(
                threshold=threshold,
                empty_share=result.no_answer.empty_share,
                mean_retrieved=result.no_answer.mean_retrieved,
                recall=next(iter(result.to_dict().values())),
                answered_empty_share=sum(answered) / len(answered) if answered else None,
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
        return sorted({float(q) for q in np.quantile(scores, np.linspace(0, 1, _N_POINTS))}) if scores else [0.0]
    if isinstance(thresholds, (str, bytes)) or not isinstance(thresholds, Sequence) or not thresholds:
        refuse("thresholds", "a list of scores", thresholds)
    numbers = [as_number(threshold) for threshold in thresholds]
    if any(number is None or not math.isfinite(number) for number in numbers):
        refuse("thresholds", "a list of finite numbers", thresholds)
    return sorted({number for number in numbers if number is not None})
