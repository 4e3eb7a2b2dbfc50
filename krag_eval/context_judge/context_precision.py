"""How high the useful chunks stand, by the verdicts of a judge."""

from __future__ import annotations

from collections.abc import Sequence


def context_precision(useful: Sequence[bool]) -> float:
    """The mean precision at the ranks of the useful chunks.

        precision@r       = useful chunks among the first r / r
        context precision = sum over useful ranks r of precision@r / number of useful chunks retrieved

    Range: 0 to 1, higher is better.

    Edge cases:
        * No chunk is useful, or none was retrieved: 0.
        * Useful chunks that were not retrieved are not known and cost nothing; that is what `context_recall` is for.

    Source: the context precision of ragas (`LLMContextPrecisionWithReference`), which divides by the number of useful
    chunks + 1e-10 and therefore never reaches 1; here the quotient is exact.

    Args:
        useful: For each rank, best first, whether its chunk was judged useful.

    >>> context_precision([True, False, True])
    0.8333333333333333
    """
    hits, total = 0, 0.0
    for rank, is_useful in enumerate(useful, 1):
        if is_useful:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0
