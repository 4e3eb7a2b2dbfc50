"""Do the intervals of samples that are too large to be resampled hold what they promise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.simulated_queries import DEPTH, Population, scored
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.metrics.aggregation import Distributions
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution

SHOWN = ("recall@10", "mrr@10", "ndcg@10", "micro_recall@10", "micro_precision@10", "micro_f1@10")


def nearly_all_found(base: Population, missed: float) -> Population:
    """The same queries, but with every gold document on top in all but a share of them."""
    rng = np.random.default_rng(20261130)
    is_missed = rng.random(len(base.gold)) < missed
    found = [[*gold, *(f"x{place}" for place in range(len(gold), DEPTH))] for gold in base.gold]
    rankings = [kept if is_kept else top for kept, top, is_kept in zip(base.rankings[0], found, is_missed, strict=True)]
    return Population(f"all found for all but {missed:.1%} of the queries", base.gold, (rankings, rankings))


def large_table(populations: Sequence[Population], n: int, samples: int) -> Iterator[str]:
    """Coverage of the intervals of samples that are too large to be resampled, with the misses on either side."""
    yield "| value | of | samples | holds the truth | lies above it | lies below it |"
    yield "| --- | --- | --: | --: | --: | --: |"
    for one in populations:
        result = scored(one.gold, one.rankings[0])
        truth, below, above = result.to_dict(), Counter[str](), Counter[str]()
        assert result.detail is not None
        judged, rng = result.detail.judged, np.random.default_rng(n)
        rows = np.stack(
            [
                judged.covered_within(DEPTH),
                judged.n_gold,
                judged.relevant_within(DEPTH),
                judged.retrieved_within(DEPTH),
            ],
            axis=1,
        )
        for _ in range(samples):
            chosen = rng.integers(0, len(rows), n)
            counts = CountDistribution()
            counts.add(rows[chosen])
            values = {key: ValueDistribution.of(column[chosen]) for key, column in result.detail.values.items()}
            intervals = intervals_of(replace(result, spread=Distributions(values, {f"@{DEPTH}": counts})))
            for key in SHOWN:
                low, high = intervals[key] or (0.0, 0.0)
                below[key] += (truth[key] or 0) < low
                above[key] += (truth[key] or 0) > high
        for key in SHOWN:
            shares = [1 - (below[key] + above[key]) / samples, below[key] / samples, above[key] / samples]
            yield f"| {key} | {one.name} | {samples:,} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |"
