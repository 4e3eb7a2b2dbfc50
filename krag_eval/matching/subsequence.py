"""The longest common subsequence of two long texts, in seconds where a table would take hours."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

UnitSequence = str | list[int]

# A pair of equal units costs Hunt and Szymanski's algorithm about as much as this many cells the bit-parallel one.
_CELLS_A_PAIR = 20_000
# How much of the shorter text may be missing from the subsequence, tried in turn.
_MISSING = (0.02, 0.08)


def long_subsequence(one: UnitSequence, other: UnitSequence, needed: int) -> int:
    """The length of the longest common subsequence, or 0 where it is below `needed`.

    Memory is proportional to the two texts. Where few units are equal, as in texts of rare words, each pair of equal
    units is visited (Hunt & Szymanski 1977, doi:10.1145/359581.359603); otherwise rapidfuzz's bit-parallel algorithm
    runs in a band (Hyyrö 2004), a narrow one first: most long texts that match are nearly the same.
    """
    from rapidfuzz.distance import LCSseq

    # Units that the other text lacks are no part of any common subsequence.
    common = set(one) & set(other)
    left, right = ([unit for unit in text if unit in common] for text in (one, other))
    counts, other_counts = Counter(left), Counter(right)
    if sum(count * other_counts[unit] for unit, count in counts.items()) * _CELLS_A_PAIR < len(left) * len(right):
        length = _by_pairs(left, right)
        return length if length >= needed else 0
    # Frequent units get the small numbers, which rapidfuzz looks up directly.
    rank = {unit: place for place, (unit, _) in enumerate((counts + other_counts).most_common())}
    first, second = [rank[unit] for unit in left], [rank[unit] for unit in right]
    most = min(len(first), len(second))
    for cut_off in (*(int(most * (1 - missing)) for missing in _MISSING), needed):
        if length := int(LCSseq.similarity(_text(first), _text(second), score_cutoff=max(cut_off, needed))):
            return length
    return 0


def _by_pairs(one: Sequence[object], other: Sequence[object]) -> int:
    places: dict[object, list[int]] = {}
    for place in range(len(other) - 1, -1, -1):  # of one unit the last place first, so that each is used once
        places.setdefault(other[place], []).append(place)
    ends: list[int] = []  # the smallest place in `other` where a common subsequence of each length can end
    for unit in one:
        for place in places.get(unit, ()):
            length = bisect_left(ends, place)
            ends[length : length + 1] = [place]
    return len(ends)


def _text(numbers: list[int]) -> str | list[int]:
    """Numbers as a string of code points that are no surrogates; a list where there are too many for that."""
    if max(numbers, default=0) >= 0x110000 - 0x800:
        return numbers
    return "".join([chr(number if number < 0xD800 else number + 0x800) for number in numbers])
