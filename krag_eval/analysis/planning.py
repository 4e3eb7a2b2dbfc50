"""Plan how many questions an evaluation needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import InvalidInputError, describe_type, refuse
from krag_eval.analysis.comparison import Comparison
from krag_eval.datasets.evalset import EvalSet
from krag_eval.evaluation.intervals import Clusters, labels_of
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.metrics.names import as_key
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.checks import check_confidence, need_scipy
from krag_eval.statistics.significance import sample_size

Pilot = Comparison | EvaluationResult | Sequence[EvaluationResult]


def questions_needed(
    effect: float,
    power: float = 0.8,
    *,
    sd: float | None = None,
    pilot: Pilot | None = None,
    key: str | None = None,
    confidence: float = 0.95,
    cluster: Clusters = None,
    evalset: EvalSet | None = None,
) -> int:
    """Return how many questions let a gate that allows such a drop pass a system that lost nothing. Needs scipy.

    They are planned for the procedure of the gate: see `check_gate`. As many find a true difference of this size.

    Args:
        effect: The drop of the mean that the gate allows, or the true difference to find; above 0, such as 0.02.
        power: How often so many questions suffice, between 1 - `confidence` and 1.
        sd: The standard deviation of the differences of single questions, or a pilot. Up to 1, it is taken for that of
            hits and misses; larger ones are planned for a paired t-test.
        pilot: A comparison of two systems, or two results of the same questions, baseline first. With one result, the
            other system is taken to vary as much and independently of it; most pairs need fewer questions. Values
            that may differ by more than 1 are taken to differ by no more than the pilot shows: no gate decides on them.
        key: Which value of the pilot, such as `"ndcg@10"`. A pilot with one value needs none.
        confidence: Of the gate.
        cluster: What makes the questions of the pilot depend on each other, as `intervals_of` takes it: the plan is
            then for clusters of the same sizes.
        evalset: The questions, if `cluster` is one of their fields.

    Raises:
        InvalidInputError: An argument cannot be used, or the pilot does not show how much questions differ.
        MissingDependencyError: scipy is not installed.

    Source: see `BoundedMean.needed`; for the t-test, Cohen (1988), Statistical Power Analysis for the Behavioral
    Sciences, 2.4.

    >>> questions_needed(0.02, sd=0.3)
    1879
    """
    need_scipy("questions_needed")
    effect, confidence = (
        check_number("effect", effect, "Give one such as 0.02.", above=0),
        check_confidence(confidence),
    )
    if check_number("power", power, "Give a share such as 0.8.", above=0, below=1) <= 1 - confidence:
        cure = "Chance alone finds a difference that often. Give one such as 0.8."
        refuse("power", "above 1 - confidence", power, cure)
    if (sd is None) == (pilot is None):
        raise InvalidInputError("Give either `sd` or `pilot`: it says how much the questions differ.")
    if sd is not None:
        deviation = check_number("sd", sd, above=0)
        if deviation > 1 or effect >= 1:
            return sample_size(effect, deviation, confidence, power)
        differ = deviation**2 / 2
        sums, times = np.array([-1.0, 0.0, 1.0]), np.array([differ, 1 - 2 * differ, differ])
        return _needed(BoundedMean(sums, np.ones(3), times, -1.0, 1.0, 1), effect, confidence, power)
    results = pilot_results(pilot)
    found = PilotValues.of(results, key)
    labels = labels_of(results[0], cluster, evalset)
    defined = ~np.isnan(found.values)
    values, labels = found.values[defined], None if labels is None else labels[defined]
    if found.sd is None:
        raise InvalidInputError(
            f"{found.key} has {len(values)} values in the pilot, all of them equal: this does not show how much "
            "questions differ. Take a larger pilot."
        )
    if len(results) == 1:
        values = (values - values.mean()) * math.sqrt(2)
    return _needed(without_a_difference(values, labels), effect, confidence, power)


def without_a_difference(values: FloatArray, labels: IntArray | None) -> BoundedMean:
    """Return a sample that varies as these differences do, and whose mean is 0: each of them with either sign."""
    reach = max(1.0, float(np.abs(values).max()))
    both = None if labels is None else np.concatenate([labels, labels + labels.max() + 1])
    return BoundedMean.of(np.concatenate([values, -values]), least=-reach, most=reach, labels=both)


def _needed(sample: BoundedMean, effect: float, confidence: float, power: float) -> int:
    needed = sample.needed(-effect, (1 - confidence) / 2, power)
    if needed is None:
        refuse("effect", f"above 0 and below {sample.most:g}, the largest difference there can be", effect)
    return math.ceil(needed)


def pilot_results(pilot: object) -> list[EvaluationResult]:
    """Return the one or two results of a pilot.

    Raises:
        InvalidInputError: It is no pilot.
    """
    results = list(pilot.results.values()) if isinstance(pilot, Comparison) else pilot
    results = [results] if isinstance(results, EvaluationResult) else results
    if not isinstance(results, Sequence) or not all(isinstance(result, EvaluationResult) for result in results):
        raise InvalidInputError(f"`pilot` is {describe_type(pilot)}. Pass a comparison, or one or two results.")
    n_kept = sum(result.detail is not None for result in results)
    if n_kept != len(results) or n_kept not in (1, 2):
        raise InvalidInputError(
            f"`pilot` has {len(results)} results, of which {n_kept} kept their queries. Pass one or two that did."
        )
    return list(results)


class PilotValues(NamedTuple):
    """What a pilot shows in one key.

    Attributes:
        key: The key.
        values: The differences of two systems, or the values of one; NaN where undefined.
        n: How many are defined.
        sd: The standard deviation of differences to expect; None where all values are equal.
    """

    key: str
    values: FloatArray
    n: int
    sd: float | None

    @classmethod
    def of(cls, results: Sequence[EvaluationResult], key: str | None) -> PilotValues:
        """Return the differences of two results, or the values of one.

        Raises:
            InvalidInputError: They have no such key, or are of different questions.
        """
        first, last = (result.detail.values if result.detail else {} for result in (results[0], results[-1]))
        keys = [name for name in first if name in last]
        name = (keys[0] if len(keys) == 1 else "") if key is None else key if key in keys else as_key(key)
        if name not in keys:
            refuse("key", f"one of {', '.join(keys)}", key, "Name the one that decides.")
        if len(first[name]) != len(last[name]):
            raise InvalidInputError("The two results are of different questions. Score both systems on the same ones.")
        values = first[name] if len(results) == 1 else last[name] - first[name]
        defined = values[~np.isnan(values)]
        deviation = float(defined.std(ddof=1)) if len(defined) > 1 else 0.0
        return cls(name, values, len(defined), deviation * (math.sqrt(2) if len(results) == 1 else 1) or None)
