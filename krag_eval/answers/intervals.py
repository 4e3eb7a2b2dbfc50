"""An interval on every mean of scored answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from krag_eval.columns import FloatArray
from krag_eval.statistics import binomial_interval, bounds_of, check_share, mean_intervals, need_scipy

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
    intervals: dict[str, Interval | None] = dict.fromkeys(values)
    together: dict[bytes, list[str]] = {}
    for key, column in values.items():
        is_defined = ~np.isnan(column)
        defined = column[is_defined]
        if len(defined) and np.isin(defined, (0, 1)).all():
            intervals[key] = binomial_interval(int(defined.sum()), len(defined), confidence)
        elif len(defined):  # what is defined for the same answers shares the resamples
            together.setdefault(is_defined.tobytes(), []).append(key)
    for keys in together.values():
        table = np.stack([values[key][~np.isnan(values[key])] for key in keys], axis=1)
        least, most = zip(*(bounds_of(column) for column in table.T), strict=True)
        low, high = mean_intervals(table, (np.array(least), np.array(most)), confidence, _RESAMPLES, 0)
        intervals |= {key: (low.item(place), high.item(place)) for place, key in enumerate(keys)}
    return intervals
