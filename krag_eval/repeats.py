"""Documents that stand twice in one query."""

from __future__ import annotations

import numpy as np

from krag_eval.columns import MISSING, IntArray, Side


def merge_equal(side: Side, keys: list[IntArray]) -> IntArray:
    """For each document the first document of its query that is the same, itself if there is none earlier.

    Args:
        side: The documents.
        keys: Integer columns; two documents of a query with an equal number in any of them are the same, and so are
            documents linked by a chain of such. A missing number equals nothing.
    """
    group = np.arange(int(side.offsets[-1]))
    for _ in range(len(keys)):  # with two keys, chains can link groups that the first round left apart
        before = group.copy()
        for key in keys:
            for position, first in _first_equal(side, np.flatnonzero(key >= 0), key):
                _link(group, position, first)
        if (group == before).all():
            break
    return _roots(group)


def earlier_equal(side: Side, wanted: IntArray, keys: list[IntArray]) -> dict[int, int]:
    """Which of the wanted documents repeat an earlier document of their query, and which.

    Only documents that share a key with a wanted one are looked at.
    """
    repeats: dict[int, int] = {}
    for key in keys:
        is_wanted = np.zeros(int(key.max(initial=MISSING)) + 2, dtype=bool)
        is_wanted[key[wanted]] = True
        is_wanted[MISSING] = False
        for position, first in _first_equal(side, np.flatnonzero(is_wanted[key]), key):
            repeats[position] = min(first, repeats.get(position, first))
    return repeats


def _first_equal(side: Side, positions: IntArray, key: IntArray) -> list[tuple[int, int]]:
    """Each position whose key stood earlier in its query, with the first such position."""
    combined = side.query_of(positions) * (int(key.max(initial=0)) + 1) + key[positions]
    order = np.argsort(combined, kind="stable")
    ordered = combined[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    if is_first.all():
        return []
    start = np.maximum.accumulate(np.where(is_first, np.arange(len(ordered)), 0))
    again = ~is_first
    later, earlier = positions[order[again]], positions[order[start[again]]]
    return list(zip(later.tolist(), earlier.tolist(), strict=True))


def _link(group: IntArray, one: int, other: int) -> None:
    """Put two documents into one group, named by its first document."""
    while group[one] != one:
        one = int(group[one])
    while group[other] != other:
        other = int(group[other])
    group[max(one, other)] = min(one, other)


def _roots(group: IntArray) -> IntArray:
    """Follow every link to its end."""
    while (group != group[group]).any():
        group = group[group]
    return group
