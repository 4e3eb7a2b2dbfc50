"""How much of the right answer the retrieved chunks say, by the verdicts of a judge."""

from __future__ import annotations

from collections.abc import Sequence


def context_recall(attributed: Sequence[bool]) -> float | None:
    """The share of the statements of the reference that can be attributed to the retrieved chunks.

        context recall = attributed statements / statements

    Range: 0 to 1, higher is better; None where there are no statements.

    Source: the context recall of ragas (`LLMContextRecall`).

    Args:
        attributed: For each statement whether the chunks say it.

    >>> context_recall([True, True, False, True])
    0.75
    """
    return sum(attributed) / len(attributed) if attributed else None
