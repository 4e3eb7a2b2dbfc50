"""How many units two texts share in any order, for many pairs of few texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from krag_eval.columns import BoolArray, IntArray

# A table with a place for each feature must not outgrow what it saves.
_MOST_FEATURES = 1 << 24


def shared_units(numbers: IntArray, offsets: IntArray, size: int, first: IntArray, second: IntArray) -> IntArray | None:
    """The size of the multiset intersection of the texts `first[i]` and `second[i]`, for each i.

    A feature is a unit and how often it stood before in its text, so that a multiset becomes a set. The features of
    one text are flagged in a table, and all texts that it is paired with are looked up there at once.

    Args:
        numbers: The units of all texts as numbers, sorted within each text.
        offsets: Where each text begins; shape (n_texts + 1,).
        size: Numbers lie below this.
        first: Text numbers.
        second: Text numbers, of the same shape.

    Returns:
        The sizes, or None where the table would be too large.
    """
    lengths = np.diff(offsets)
    text = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(numbers))
    is_new = np.ones(len(numbers), dtype=bool)
    is_new[1:] = (numbers[1:] != numbers[:-1]) | (text[1:] != text[:-1])
    occurrence = place - np.maximum.accumulate(np.where(is_new, place, 0))
    most = int(occurrence.max(initial=0)) + 1
    if size * most > _MOST_FEATURES:
        return None
    features = numbers * most + occurrence
    of_text = [features[start:stop] for start, stop in pairwise(offsets.tolist())]
    flags = np.zeros(size * most, dtype=np.int32)
    shared = np.zeros(len(first), dtype=np.int64)
    some: BoolArray = (lengths[first] > 0) & (lengths[second] > 0)
    pairs = np.flatnonzero(some)
    pairs = pairs[np.argsort(first[pairs], kind="stable")]
    groups = np.flatnonzero(np.append(True, np.diff(first[pairs]) != 0)[: len(pairs)]).tolist()
    for start, stop in pairwise([*groups, len(pairs)]):
        group = pairs[start:stop]
        flagged, others = of_text[int(first[group[0]])], second[group]
        flags[flagged] = 1
        ends = np.cumsum(lengths[others])
        looked_up = flags[np.concatenate([of_text[other] for other in others.tolist()])]
        shared[group] = np.add.reduceat(looked_up, ends - lengths[others])
        flags[flagged] = 0
    return shared
