"""Intervals, tests and corrections on columns of numbers, the same to the last bit for the same seed."""

from krag_eval.statistics.bootstrap import (
    SPARSE,
    binomial_interval,
    bounds_of,
    few_differ,
    mean_intervals,
    percentile_interval,
    unseen_share,
    widen,
)
from krag_eval.statistics.checks import check_rounds, check_seed, check_share, need_scipy
from krag_eval.statistics.distributions import MOST_DRAWN, CountDistribution, ValueDistribution
from krag_eval.statistics.intervals import Pooled, Sample, sample_intervals
from krag_eval.statistics.resampling import Units, resampled_sums, signed_sums
from krag_eval.statistics.significance import EXACT_UP_TO, holm, randomisation_test, resolvable_difference

__all__ = [
    "EXACT_UP_TO",
    "MOST_DRAWN",
    "SPARSE",
    "CountDistribution",
    "Pooled",
    "Sample",
    "Units",
    "ValueDistribution",
    "binomial_interval",
    "bounds_of",
    "check_rounds",
    "check_seed",
    "check_share",
    "few_differ",
    "holm",
    "mean_intervals",
    "need_scipy",
    "percentile_interval",
    "randomisation_test",
    "resampled_sums",
    "resolvable_difference",
    "sample_intervals",
    "signed_sums",
    "unseen_share",
    "widen",
]
