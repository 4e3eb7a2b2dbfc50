"""What a sweep over thresholds needs: every similarity from 0.3 on, against one threshold of 0.7."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.data import collection
from benchmarks.harness import Row, check_equal, in_turn, profiled
from benchmarks.rouge import KINDS, THRESHOLD, n_matches, ours
from krag_eval import EvaluationResult

LOWEST = 0.3


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the sweep."""
    n_queries, rounds = (20, 1) if smoke else (1000, 5)
    for n_retrieved in (10, 100):
        data = collection(n_queries, 3, n_retrieved)
        for kind in KINDS:
            all_of_them, one = in_turn(rounds, ours(data, kind, LOWEST), ours(data, kind))
            check_equal(f"matches from 0.7 on, {kind}", _n_from(all_of_them.result, THRESHOLD), n_matches(one.result))
            row = Row(
                work=f"every similarity from {LOWEST}, {n_queries:,} x 3 x {n_retrieved}, {kind}",
                peer=f"one threshold of {THRESHOLD}",
                ours=all_of_them.seconds,
                theirs=one.seconds,
                asked=3.0,
                at_most=True,
                limit=one.seconds,
                limited_by=f"one threshold of {THRESHOLD}",
                note=(
                    f"{n_matches(all_of_them.result):,} of {n_queries * 3 * n_retrieved:,} pairs reach {LOWEST}, "
                    f"{n_matches(one.result):,} reach {THRESHOLD}"
                ),
            )
            yield profiled(row, ours(data, kind, LOWEST))


def _n_from(result: EvaluationResult, threshold: float) -> int:
    assert result.detail is not None
    return int((result.detail.matches.similarity >= threshold).sum())
