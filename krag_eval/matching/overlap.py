"""The exact overlap of two texts: how many units they share, for rougeL in the same order.

All three kinds are one question, the longest common subsequence. For rouge1 and rouge2 the units are sorted first,
and the longest common subsequence of two sorted lists is their multiset intersection. rapidfuzz is imported where it is
used: who matches ids or texts never pays for it.
"""

from __future__ import annotations

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.matching.tokens import Units

# Python strings hold code points below 0x110000, and rapidfuzz compares them much faster than lists of numbers.
_MOST_CODE_POINTS = 0x110000
_SURROGATES_START, _SURROGATES = 0xD800, 0x800
# From this product of lengths on, counting is faster than a subsequence, and a subsequence deserves a cut-off.
_LONG = 4_000_000


def overlap(units: Units, first: IntArray, second: IntArray, needed: IntArray) -> IntArray:
    """How many units the texts `first[i]` and `second[i]` share, for each i.

    Args:
        units: The units of all texts.
        first: Text numbers.
        second: Text numbers, of the same shape.
        needed: Overlaps below this number may be returned as 0; it saves time on long texts.
    """
    lengths = units.lengths
    shared = np.zeros(len(first), dtype=np.int64)
    is_long = lengths[first] * lengths[second] > _LONG
    short = np.flatnonzero(~is_long)
    if len(short):
        from rapidfuzz.distance import LCSseq
        from rapidfuzz.process import cpdist

        texts, place = np.unique(np.concatenate([first[short], second[short]]), return_inverse=True)
        sequences = _sequences(units, texts)
        left, right = place[: len(short)].tolist(), place[len(short) :].tolist()
        shared[short] = cpdist(
            [sequences[i] for i in left], [sequences[i] for i in right], scorer=LCSseq.similarity, dtype=np.int64
        )
    for pair in np.flatnonzero(is_long).tolist():
        shared[pair] = _long_overlap(units, int(first[pair]), int(second[pair]), int(needed[pair]))
    return shared


def _sequences(units: Units, texts: IntArray) -> list[str] | list[list[int]]:
    """The units of each text, as strings in which a character is a unit, or as lists where there are too many."""
    rows = [units.of_text(text) for text in texts.tolist()]
    ends = np.cumsum([len(row) for row in rows])
    used, numbers = np.unique(np.concatenate(rows), return_inverse=True)
    fits = len(used) < _MOST_CODE_POINTS - _SURROGATES
    if fits:
        numbers = numbers + _SURROGATES * (numbers >= _SURROGATES_START)
    parts = np.split(numbers.astype(np.uint32), ends[:-1])
    if not units.in_order:
        parts = [np.sort(part) for part in parts]
    if fits:
        return [part.tobytes().decode("utf-32-le") for part in parts]
    return [part.tolist() for part in parts]


def _long_overlap(units: Units, first: int, second: int, needed: int) -> int:
    one, other = units.of_text(first), units.of_text(second)
    values, counts = np.unique(one, return_counts=True)
    other_values, other_counts = np.unique(other, return_counts=True)
    common, here, there = np.intersect1d(values, other_values, assume_unique=True, return_indices=True)
    shared = int(np.minimum(counts[here], other_counts[there]).sum())
    if not units.in_order or shared < needed:
        return shared if shared >= needed else 0
    from rapidfuzz.distance import LCSseq

    # Units that the other text lacks are no part of any common subsequence.
    one, other = one[np.isin(one, common)], other[np.isin(other, common)]
    both = np.searchsorted(common, np.concatenate([one, other])).astype(np.int64)
    if len(common) < _MOST_CODE_POINTS - _SURROGATES:
        both = both + _SURROGATES * (both >= _SURROGATES_START)
        text = both.astype(np.uint32).tobytes().decode("utf-32-le")
        return int(LCSseq.similarity(text[: len(one)], text[len(one) :], score_cutoff=needed))
    numbers = both.tolist()
    return int(LCSseq.similarity(numbers[: len(one)], numbers[len(one) :], score_cutoff=needed))
