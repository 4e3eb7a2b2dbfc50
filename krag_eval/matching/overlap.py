"""The exact overlap of two texts: how many units they share, for rougeL in the same order.

All three kinds are one question, the longest common subsequence. For rouge1 and rouge2 the units are sorted first,
and the longest common subsequence of two sorted lists is their multiset intersection. rapidfuzz is imported where it is
used: who matches ids or texts never pays for it.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.matching.runs import runs
from krag_eval.matching.subsequence import UnitSequence, long_subsequence
from krag_eval.matching.tokens import NumberedTokens, TokenTable

# Python strings hold code points below 0x110000, and rapidfuzz compares them much faster than lists.
_SURROGATES_START, _SURROGATES = 0xD800, 0x800
_MOST_UNITS = 0x110000 - _SURROGATES
# From this product of lengths on, counting is faster than a subsequence, and a subsequence deserves a cut-off.
_LONG = 4_000_000


def overlap(
    tokens: TokenTable, kind: str, first: IntArray, second: IntArray, lengths: IntArray, needed: IntArray
) -> IntArray:
    """How many units the texts `first[i]` and `second[i]` share, for each i.

    Args:
        tokens: The tokens of all texts.
        kind: `rouge1`, `rouge2` or `rougeL`.
        first: Text numbers.
        second: Text numbers, of the same shape.
        lengths: Units of each text.
        needed: Overlaps below this number may be returned as 0; it saves time on long texts.
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    shared = np.zeros(len(first), dtype=np.int64)
    texts, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    sequences = _sequences(tokens.numbered(texts), kind)
    left, right = places[: len(first)], places[len(first) :]
    is_long = lengths[first] * lengths[second] > _LONG
    short = np.flatnonzero(~is_long)
    shared[short] = cpdist(
        [sequences[i] for i in left[short].tolist()],
        [sequences[i] for i in right[short].tolist()],
        scorer=LCSseq.similarity,
        dtype=np.int64,
    )
    for pair in np.flatnonzero(is_long).tolist():
        one, other, cut_off = sequences[int(left[pair])], sequences[int(right[pair])], int(needed[pair])
        most = (Counter(one) & Counter(other)).total()
        if kind == "rougeL" and most >= cut_off:
            most = long_subsequence(one, other, cut_off)
        shared[pair] = most
    return shared


def _sequences(tokens: NumberedTokens, kind: str) -> list[UnitSequence]:
    """The units of each text as a string in which a character is a unit; as lists of numbers if there are too many."""
    numbers, offsets, size = tokens.numbers, tokens.offsets, tokens.size
    if kind == "rouge2":
        lengths = np.maximum(np.diff(offsets) - 1, 0)
        start, offsets = offsets[:-1], np.append(0, np.cumsum(lengths))
        place = runs(start, lengths)
        used, numbers = np.unique(numbers[place] * size + numbers[place + 1], return_inverse=True)
        size = len(used)
    if kind != "rougeL":
        text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        keys = text * size + numbers
        fits = len(offsets) * size < 1 << 31  # half the width sorts in half the time
        numbers = np.sort(keys.astype(np.int32) if fits else keys).astype(np.int64) - text * size
    bounds = offsets.tolist()
    if size > _MOST_UNITS:
        return [numbers[start:stop].tolist() for start, stop in pairwise(bounds)]
    points = (numbers + _SURROGATES * (numbers >= _SURROGATES_START)).astype("<u4")
    everything = points.tobytes().decode("utf-32-le")
    return [everything[start:stop] for start, stop in pairwise(bounds)]
