"""The formulas of chunking_evaluation, which is not on PyPI.

Those of `_scores_from_dataset_and_retrievals` in its `evaluation_framework/base_evaluation.py`: numerators are unions
of ranges, denominators are sums of lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Place = tuple[str, int, int]
Range = tuple[int, int]


def chunking_evaluation(references: Sequence[Place], chunks: Sequence[Place]) -> dict[str, float]:
    """Recall, precision and IoU of one question, whose references lie in one document."""
    [document] = {name for name, _, _ in references}
    hits: list[Range] = []
    unused: list[Range] = [(start, end) for _, start, end in references]
    for name, start, end in chunks:
        for _, first, last in references:
            low, high = max(start, first), min(end, last)
            if name == document and low < high:
                unused = _without(unused, (low, high))
                hits.append((low, high))
    found = _size(_union(hits))
    retrieved = _size((start, end) for _, start, end in chunks)
    return {
        "recall": found / _size((start, end) for _, start, end in references),
        "precision": found / retrieved if retrieved else 0.0,
        "iou": found / (retrieved + _size(unused)) if retrieved + _size(unused) else 0.0,
    }


def _size(ranges: Iterable[Range]) -> int:
    return sum(end - start for start, end in ranges)


def _union(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _without(ranges: Iterable[Range], taken: Range) -> list[Range]:
    left = []
    for start, end in ranges:
        left += [(start, min(end, taken[0])), (max(start, taken[1]), end)]
    return [(start, end) for start, end in left if start < end]
