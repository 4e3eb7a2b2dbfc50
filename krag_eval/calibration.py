"""The threshold from which the matcher is right often enough, from pairs that people have labelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from krag_eval.checks import check_threshold, one_of
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.errors import InvalidInputError
from krag_eval.matching.similar import similar_pairs
from krag_eval.pipeline import read_batch
from krag_eval.settings import FurtherSettings, make_settings
from krag_eval.shapes import describe_type
from krag_eval.statistics import binomial_interval, need_scipy
from krag_eval.thresholds import THRESHOLD_METHODS
from krag_eval.wrong_names import tell_names


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a threshold does to labelled pairs.

    Attributes:
        threshold: The lowest threshold whose precision reaches the target; None where none does.
        precision: The share of the pairs at or above it that are labelled as matches; of all thresholds the best
            where none reaches the target.
        interval: The exact binomial (Clopper-Pearson) interval of that share.
        recall: The share of the pairs labelled as matches that are at or above it.
        n_matched: How many pairs are at or above it.
        n_pairs: How many pairs were given.
        target: The precision that was asked for.
        confidence: The confidence of the interval.
        method: The method whose threshold it is.
    """

    threshold: float | None
    precision: float | None
    interval: tuple[float, float] | None
    recall: float | None
    n_matched: int
    n_pairs: int
    target: float
    confidence: float
    method: str

    def __str__(self) -> str:
        low, high = self.interval or (0.0, 1.0)
        found = (
            f"{self.n_matched} of {self.n_pairs} pairs, precision {self.precision or 0:.3f} ({low:.3f} to {high:.3f})"
        )
        if self.threshold is None:
            return f"{self.method}: no threshold reaches a precision of {self.target}; the best has {found}"
        return f"{self.method} >= {self.threshold:.4f}: {found}, recall {self.recall or 0:.3f}"


@tell_names
def calibrate(
    labelled_pairs: Iterable[tuple[object, object, object]],
    precision: float = 0.95,
    *,
    method: str = "rougeL",
    confidence: float = 0.95,
    tokenizer: Any = "words",
    **settings: Unpack[FurtherSettings],
) -> Calibration:
    """Pick the lowest threshold whose matcher precision reaches the target. Needs scipy (extra `stats`).

    Args:
        labelled_pairs: Triples (gold document, retrieved document, whether they match).
        precision: The share of matching pairs that have to be right, above 0 and at most 1.
        method: `"rouge1"`, `"rouge2"`, `"rougeL"`, or `"embedding"` with a model as `embeddings`.
        confidence: The confidence of the interval, between 0 and 1.
        tokenizer: As for `evaluate`.
        **settings: The further scoring settings of `evaluate`, such as `rouge_measure`.

    Raises:
        InvalidInputError: There is no pair, none labelled as a match, or one is no such triple.
        MissingDependencyError: scipy is not installed.

    Source of the interval: Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404.

    >>> pairs = [("a b c d", "a b c d", True), ("a b c d", "a b c x", True), ("a b c d", "a x y z", False)]
    >>> calibrate(pairs, precision=1.0).threshold
    0.75
    """
    need_scipy("calibrate")
    one_of("method", method, THRESHOLD_METHODS)
    target = check_threshold(precision, "precision")
    if not target:
        raise InvalidInputError("`precision` must be above 0 and at most 1, got 0. Give a share such as 0.95.")
    if not 0 < check_threshold(confidence, "confidence") < 1:
        raise InvalidInputError(
            f"`confidence` must lie between 0 and 1, got {confidence!r}. Give a share such as 0.95."
        )
    gold, retrieved, labels = _columns(labelled_pairs)
    given: Any = settings
    batch = read_batch(gold, retrieved, make_settings(match_method=method, threshold=0.0, tokenizer=tokenizer, **given))
    found = similar_pairs(batch, method, 0.0)
    similarity = np.zeros(len(labels))
    similarity[found.actual] = found.similarity
    thresholds, matched, right = _curve(similarity, labels)
    shares = right / matched
    reached = np.flatnonzero(shares >= target)
    # Ascending: the first is the lowest. Where none reaches the target, the best share, and of equals the most pairs.
    place = int(reached[0]) if len(reached) else int(np.argmax(shares))
    return Calibration(
        threshold=float(thresholds[place]) if len(reached) else None,
        precision=float(shares[place]),
        interval=binomial_interval(int(right[place]), int(matched[place]), confidence),
        recall=float(right[place] / labels.sum()),
        n_matched=int(matched[place]),
        n_pairs=len(labels),
        target=target,
        confidence=confidence,
        method=method,
    )


def _columns(pairs: object) -> tuple[list[list[object]], list[list[object]], BoolArray]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise InvalidInputError(f"`labelled_pairs` is {describe_type(pairs)}. It must be a list of triples.")
    gold: list[list[object]] = []
    retrieved: list[list[object]] = []
    labels: list[bool] = []
    for number, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 3 or not isinstance(pair[2], (bool, np.bool_)):
            raise InvalidInputError(
                f"`labelled_pairs[{number}]` is {pair!r:.80}. It must be (gold, retrieved, True or False)."
            )
        gold.append([pair[0]])
        retrieved.append([pair[1]])
        labels.append(bool(pair[2]))
    if not any(labels):
        raise InvalidInputError(
            f"`labelled_pairs` has {len(labels)} pairs, none of them labelled True. Label some pairs that match."
        )
    return gold, retrieved, np.array(labels, dtype=bool)


def _curve(similarity: FloatArray, labels: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each different similarity above 0, ascending: how many pairs reach it, and how many of these are matches."""
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
