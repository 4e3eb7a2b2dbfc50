"""An interval on every mean of scored answers."""

from __future__ import annotations

from collections.abc import Mapping

from krag_eval.columns import FloatArray
from krag_eval.statistics import Sample, ValueSpread, check_share, need_scipy, sample_intervals

Interval = tuple[float, float]
_RESAMPLES = 10_000


def answer_intervals(values: Mapping[str, FloatArray], confidence: float = 0.95) -> dict[str, Interval | None]:
    """The interval of the mean of each metric, made as `krag_eval.intervals_of` makes it. Needs scipy (extra `stats`).

    The exact binomial interval where all values are 0 or 1, else the expanded percentile bootstrap over answers, with
    seed 0; answers without a value take no part.

    Args:
        values: Metric to values, NaN where undefined; shape (n_answers,).
        confidence: How often such intervals are to hold the mean over all answers that might be given.

    Returns:
        The lower and the upper end by metric; None where no value is defined.

    Raises:
        InvalidInputError: `confidence` is no number between 0 and 1.
        MissingDependencyError: scipy is not installed.
    """
    need_scipy("intervals")
    confidence = check_share("intervals", confidence)
    samples = {key: Sample(ValueSpread.of(column)) for key, column in values.items()}
    return sample_intervals(samples, confidence, _RESAMPLES, 0)
