"""Plan how many questions an evaluation needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from krag_eval._utils.arrays import FloatArray
from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import InvalidInputError, describe_type, refuse
from krag_eval.analysis.comparison import Comparison
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.metrics.names import as_key
from krag_eval.statistics.checks import check_confidence, need_scipy
from krag_eval.statistics.decisions import sample_size

Pilot = Comparison | EvaluationResult | Sequence[EvaluationResult]


def questions_needed(
    effect: float,
    power: float = 0.8,
    *,
    sd: float | None = None,
    pilot: Pilot | None = None,
    key: str | None = None,
    confidence: float = 0.95,
) -> int:
    """Return how many questions it takes to find a difference of two systems. Needs scipy (extra `stats`).

    A paired test of so many questions finds a difference of this size with this power. For a gate, give the drop that
    it allows as the effect: so many questions let a system pass that lost nothing.

    Args:
        effect: The true difference of the means, above 0, such as 0.02.
        power: How often it is to be found, between 1 - `confidence` and 1.
        sd: The standard deviation of the differences of single questions. Give it or a pilot.
        pilot: A comparison of two systems, or two results of the same questions, baseline first. With one result, the
            other system is taken to vary as much and independently of it; most pairs need fewer questions.
        key: Which value of the pilot, such as `"ndcg@10"`. A pilot with one value needs none.
        confidence: 1 minus the level of the two-sided test.

    Raises:
        InvalidInputError: An argument cannot be used, or the pilot does not show how much questions differ.
        MissingDependencyError: scipy is not installed.

    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2.4; for retrieval, Webber, Moffat &
    Zobel (2008), CIKM, doi:10.1145/1458082.1458158.

    >>> questions_needed(0.02, sd=0.3)
    1768
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
        return sample_size(effect, check_number("sd", sd, above=0), confidence, power)
    name, values = pilot_differences(pilot, key)
    deviation = pilot_deviation(values, isinstance(pilot, EvaluationResult))
    if deviation is None:
        raise InvalidInputError(
            f"{name} has {len(values)} values in the pilot, all of them equal: this does not show how much questions "
            "differ. Take a larger pilot."
        )
    return sample_size(effect, deviation, confidence, power)


def pilot_differences(pilot: object, key: str | None) -> tuple[str, FloatArray]:
    """Return a key, and the differences of two systems in it, or the values of one; where they are defined.

    Raises:
        InvalidInputError: It is no pilot, or has no such key.
    """
    results = list(pilot.results.values()) if isinstance(pilot, Comparison) else pilot
    results = [results] if isinstance(results, EvaluationResult) else results
    if not isinstance(results, Sequence) or not all(isinstance(result, EvaluationResult) for result in results):
        raise InvalidInputError(f"`pilot` is {describe_type(pilot)}. Pass a comparison, or one or two results.")
    kept = [result.detail.values for result in results if result.detail is not None]
    if len(kept) != len(results) or len(kept) not in (1, 2):
        raise InvalidInputError(
            f"`pilot` has {len(results)} results, of which {len(kept)} kept their queries. Pass one or two that did."
        )
    keys = [name for name in kept[0] if name in kept[-1]]
    name = (keys[0] if len(keys) == 1 else "") if key is None else key if key in keys else as_key(key)
    if name not in keys:
        refuse("key", f"one of {', '.join(keys)}", key, "Name the one that decides.")
    if len(kept[0][name]) != len(kept[-1][name]):
        raise InvalidInputError("The two results are of different questions. Score both systems on the same ones.")
    values = kept[0][name] if len(kept) == 1 else kept[1][name] - kept[0][name]
    return name, values[~np.isnan(values)]


def pilot_deviation(values: FloatArray, is_single: bool) -> float | None:
    """Return the standard deviation of differences to expect; None where all values are equal."""
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return deviation * (math.sqrt(2) if is_single else 1) or None
