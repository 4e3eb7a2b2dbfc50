"""Plan how many questions an evaluation needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Sequence

from krag_eval._utils.arrays import FloatArray
from krag_eval._utils.checks import as_number, describe_type
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval.analysis.comparison import Comparison
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.metrics.names import as_key
from krag_eval.statistics.checks import check_share, need_scipy
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
    """Return how many questions it takes to find a difference of this size. Needs scipy (extra `stats`).

    So many questions give a paired test of two systems, or an interval of their difference, this power. For the
    questions that show that a system lost no more than an allowed drop, give the allowed drop as `effect`.

    Args:
        effect: The true difference of the means, above 0, such as 0.02.
        power: How often it is to be found, between 1 - `confidence` and 1.
        sd: The standard deviation of the differences of single questions. Give it or a pilot.
        pilot: A comparison of two systems, or two results of the same questions. With one result, the other system is
            taken to be as variable and independent of it, which asks for more questions than most pairs need.
        key: Which value of the pilot, such as `"ndcg@10"`; needed if it has several.
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
    effect, confidence, power = _positive("effect", effect), check_share("confidence", confidence), _power(power)
    if power <= 1 - confidence:
        raise InvalidInputError(
            f"`power` must be above 1 - confidence ({1 - confidence:.4g}), got {power:g}: "
            "chance alone finds a difference that often. Give one such as 0.8."
        )
    if (sd is None) == (pilot is None):
        raise InvalidInputError("Give either `sd` or `pilot`: one of them says how much questions differ.")
    deviation = _positive("sd", sd) if sd is not None else pilot_deviation(pilot_values(pilot, key), pilot)
    return sample_size(effect, deviation, confidence, power)


def _positive(name: str, value: object) -> float:
    number = as_number(value)
    if number is None or not 0 < number < math.inf:
        raise InvalidInputError(f"`{name}` must be a number above 0, got {show(value)}. Give one such as 0.02.")
    return number


def _power(value: object) -> float:
    return check_share("power", value)


def pilot_values(pilot: object, key: str | None) -> FloatArray:
    """Return the value of a pilot for each question, or the difference of two systems, where it is defined.

    Raises:
        InvalidInputError: It is no pilot, or has no such key.
    """
    if isinstance(pilot, Comparison):
        pilot = list(pilot.results.values())
    results = [pilot] if isinstance(pilot, EvaluationResult) else pilot
    if (
        not isinstance(results, Sequence)
        or len(results) not in (1, 2)
        or not all(isinstance(result, EvaluationResult) and result.detail is not None for result in results)
    ):
        raise InvalidInputError(
            f"`pilot` must be one or two results that kept their queries, or a comparison of two systems, "
            f"got {describe_type(pilot)}. Pass `pilot=(baseline, system)`."
        )
    kept = [result.detail.values for result in results if result.detail is not None]
    keys = [name for name in kept[0] if name in kept[-1]]
    name = keys[0] if key is None and len(keys) == 1 else key if key in keys else key and as_key(key)
    if name not in keys:
        raise InvalidInputError(f"`key` must be one of {', '.join(keys)}, got {show(key)}. Say which one decides.")
    if len(kept[0][name]) != len(kept[-1][name]):
        raise InvalidInputError("The results of the pilot are of different questions. Score both on the same ones.")
    values = kept[0][name] if len(kept) == 1 else paired(kept[1][name], kept[0][name])
    return values[~(values != values)]


def paired(values: FloatArray, baseline: FloatArray) -> FloatArray:
    """Return the differences; NaN where one side is undefined."""
    return values - baseline


def pilot_deviation(values: FloatArray, pilot: object) -> float:
    """Return the standard deviation of the differences that a pilot lets one expect."""
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not deviation:
        raise InvalidInputError(
            f"The pilot has {len(values)} questions with a value, all equal: they do not show how much questions "
            "differ. Take a larger pilot, or give `sd`."
        )
    return deviation * (math.sqrt(2) if isinstance(pilot, EvaluationResult) else 1)
