"""The exact overlap of two texts: how many units they share, for rougeL in the same order.

All three kinds are one question, the longest common subsequence. For rouge1 and rouge2 the units are sorted first,
and the longest common subsequence of two sorted lists is their multiset intersection. rapidfuzz is imported where it is
used: who matches ids or texts never pays for it.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.matching.multisets import shared_units
from krag_eval.matching.runs import runs
from krag_eval.matching.subsequence import UnitSequence, long_subsequence
from krag_eval.matching.tokens import NumberedTokens, TokenTable

# Python strings hold code points below 0x110000, and rapidfuzz compares them much faster than lists.
_SURROGATES_START, _SURROGATES = 0xD800, 0x800
_MOST_UNITS = 0x110000 - _SURROGATES
# From this product of lengths on, counting is faster than a subsequence, and a subsequence deserves a cut-off.
_LONG = 4_000_000
# With as many pairs for each text of one side, looking its partners up together is quicker than one pair at a time.
_PAIRS_A_TEXT = 4


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
    texts, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    left, right = places[: len(first)], places[len(first) :]
    units = _units(tokens.numbered(texts), kind)
    shared = np.zeros(len(first), dtype=np.int64)
    undecided = np.arange(len(first))
    if len(first) >= _PAIRS_A_TEXT * len(np.unique(left)):
        counted = shared_units(*_in_any_order(units), left, right)
        if counted is not None and kind != "rougeL":
            return counted
        if counted is not None:  # what two texts share in order is no more than what they share
            undecided = np.flatnonzero(counted >= needed)
    if kind != "rougeL":
        units = _in_any_order(units)
    sequences = _sequences(units)
    is_long = lengths[first[undecided]] * lengths[second[undecided]] > _LONG
    short = undecided[~is_long]
    shared[short] = _subsequences(sequences, left[short], right[short])
    for pair in undecided[is_long].tolist():
        one, other, cut_off = sequences[int(left[pair])], sequences[int(right[pair])], int(needed[pair])
        most = (Counter(one) & Counter(other)).total()
        if kind == "rougeL" and most >= cut_off:
            most = long_subsequence(one, other, cut_off)
        shared[pair] = most
    return shared


def _subsequences(sequences: list[UnitSequence], left: IntArray, right: IntArray) -> IntArray:
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    lengths: IntArray = cpdist(
        [sequences[text] for text in left.tolist()],
        [sequences[text] for text in right.tolist()],
        scorer=LCSseq.similarity,
        dtype=np.int64,
    )
    return lengths


class _Units(NamedTuple):
    """The units of some texts as numbers below `size`; text i has `numbers[offsets[i]:offsets[i + 1]]`."""

    numbers: IntArray
    offsets: IntArray
    size: int


def _units(tokens: NumberedTokens, kind: str) -> _Units:
    """The tokens, or for rouge2 each two neighbouring ones, in the order of the text."""
    numbers, offsets, size = tokens
    if kind != "rouge2":
        return _Units(numbers, offsets, size)
    lengths = np.maximum(np.diff(offsets) - 1, 0)
    place = runs(offsets[:-1], lengths)
    used, bigrams = np.unique(numbers[place] * size + numbers[place + 1], return_inverse=True)
    return _Units(bigrams, np.append(0, np.cumsum(lengths)), len(used))


def _in_any_order(units: _Units) -> _Units:
    """The units, sorted within each text."""
    numbers, offsets, size = units
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    keys = text * size + numbers
    fits = len(offsets) * size < 1 << 31  # half the width sorts in half the time
    ordered = np.sort(keys.astype(np.int32) if fits else keys).astype(np.int64)
    return _Units(ordered - text * size, offsets, size)


def _sequences(units: _Units) -> list[UnitSequence]:
    """The units of each text as a string in which a character is a unit; as lists of numbers if there are too many."""
    numbers, offsets, size = units
    bounds = offsets.tolist()
    if size > _MOST_UNITS:
        return [numbers[start:stop].tolist() for start, stop in pairwise(bounds)]
    points = (numbers + _SURROGATES * (numbers >= _SURROGATES_START)).astype("<u4")
    everything = points.tobytes().decode("utf-32-le")
    return [everything[start:stop] for start, stop in pairwise(bounds)]
