"""Intervals, tests and corrections on columns of numbers, the same to the last bit for the same seed."""

from krag_eval.statistics.binomial import binomial_interval, unseen_share
from krag_eval.statistics.bootstrap import SPARSE, bounds_of, few_differ, mean_intervals, percentile_interval, widen
from krag_eval.statistics.checking import check_rounds, check_seed, check_share, need_scipy
from krag_eval.statistics.count_spread import CountSpread
from krag_eval.statistics.holm import holm
from krag_eval.statistics.power import resolvable_difference
from krag_eval.statistics.randomisation import EXACT_UP_TO, randomisation_test
from krag_eval.statistics.spread_intervals import Pooled, Sample, sample_intervals
from krag_eval.statistics.streams import resampled_sums, signed_sums
from krag_eval.statistics.units import Units
from krag_eval.statistics.value_spread import MOST_DRAWN, ValueSpread

__all__ = [
    "EXACT_UP_TO",
    "MOST_DRAWN",
    "SPARSE",
    "CountSpread",
    "Pooled",
    "Sample",
    "Units",
    "ValueSpread",
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
