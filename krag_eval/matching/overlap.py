"""Count how many units two texts share, for rougeL in the same order: first an upper bound, then exactly.

The upper bound comes from 1,024 bits for each text. Units fall into slots by their hash, and what a text sets bits for
is (slot, n) for the first, second, ... unit in a slot: the second "the" is another feature than the first. A bit that
differs between two texts stands for at least one feature that they do not share, so

    overlap <= (|a| + |b| - popcount(bits_a XOR bits_b)) / 2

Units that share a slot, and features that share a bit, only make the bound looser, never wrong. It settles nearly all
pairs.

The exact count is a longest common subsequence for all three kinds of ROUGE: for rouge1 and rouge2 the units are sorted
first, and the longest common subsequence of two sorted lists is their multiset intersection. rapidfuzz is imported
where it is used: matching by id or text does not need it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval.documents.columns import runs
from krag_eval.matching.tokens import HashedTokens, NumberedTokens, TokenTable, Words, mix

_BITS = 1024
_WORDS = _BITS // 64
_SLOT_BITS = 10
# Further units of a slot set bits that are spread over all of them; beyond this many they are left out.
_SLOT_FACTOR, _DISTANCE, _MOST_IN_SLOT = 5, 389, 64
_BYTE_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_SUM_LANES = np.uint64(0x0001000100010001)
# Python strings hold code points below 0x110000, and rapidfuzz compares them much faster than lists.
_SURROGATES_START, _SURROGATES = 0xD800, 0x800
_MOST_UNITS = 0x110000 - _SURROGATES
# From this product of lengths on, counting is faster than a subsequence, and a subsequence deserves a cut-off.
_LONG = 4_000_000
# With as many pairs for each text of one side, looking its partners up together is quicker than one pair at a time.
_PAIRS_A_TEXT = 4
# A table with a place for each feature must not outgrow what it saves.
_MOST_FEATURES = 1 << 24
# A pair of equal units costs Hunt and Szymanski's algorithm about as much as this many cells the bit-parallel one.
_CELLS_A_PAIR = 20_000
# How much of the shorter text may be missing from the subsequence, tried in turn.
_MISSING = (0.02, 0.08)
_Sequence = str | list[int]

# What each kind of ROUGE counts.
UNIT_OF = {"rouge1": "token", "rouge2": "bigram", "rougeL": "token"}


@dataclass(frozen=True, slots=True)
class Sketches:
    """How many units each text has, and their bits.

    Attributes:
        lengths: Units of each text; shape (n_texts + 1,), the last for a missing text.
        has_tokens: Whether a text has a token at all; a single one makes no bigram.
        bits: Shape (n_texts + 1, 16).
    """

    lengths: IntArray
    has_tokens: BoolArray
    bits: Words

    @property
    def columns(self) -> tuple[IntArray, BoolArray, Words]:
        """The attributes, for those who choose or join texts."""
        return self.lengths, self.has_tokens, self.bits

    def most_shared(self, first: IntArray, second: IntArray) -> IntArray:
        """Return an upper bound of the number of units that the texts `first[i]` and `second[i]` share, for each i."""
        differing = np.bitwise_count(self.bits[first] ^ self.bits[second]).view(np.uint64)
        counts = differing[:, 0] + differing[:, 1]  # in each byte of a word a count of at most 128
        counts = (counts & _BYTE_PAIRS) + ((counts >> np.uint64(8)) & _BYTE_PAIRS)
        n_differing = ((counts * _SUM_LANES) >> np.uint64(48)).astype(np.int64)
        one, other = self.lengths[first], self.lengths[second]
        bound: IntArray = np.minimum((one + other - n_differing) >> 1, np.minimum(one, other))
        return bound


def sketch(tokens: TokenTable, units: Iterable[str]) -> dict[str, Sketches]:
    """Return the sketches of all texts for each of these units (`token`, `bigram`), from one pass over the texts."""
    size = len(tokens) + 1
    sketches = {
        unit: Sketches(np.zeros(size, np.int64), np.zeros(size, np.bool_), np.zeros((size, _WORDS), np.uint64))
        for unit in units
    }
    for hashed in tokens.hashed():
        for unit, sketch_ in sketches.items():
            of_unit = hashed if unit == "token" else _bigrams(hashed)
            sketch_.lengths[of_unit.texts] = np.diff(of_unit.offsets)
            sketch_.has_tokens[of_unit.texts] = np.diff(hashed.offsets) > 0
            sketch_.bits[of_unit.texts] = _bits(of_unit)
    return sketches


def _bigrams(tokens: HashedTokens) -> HashedTokens:
    """Return each two neighboring tokens of a text as one unit."""
    lengths = np.maximum(np.diff(tokens.offsets) - 1, 0)
    offsets = np.append(0, np.cumsum(lengths))
    first = np.arange(offsets[-1]) + np.repeat(tokens.offsets[:-1] - offsets[:-1], lengths)
    pairs = mix(tokens.hashes[first] * np.uint64(0x9E3779B97F4A7C15) ^ tokens.hashes[first + 1])
    return HashedTokens(tokens.texts, pairs, offsets)


def _bits(units: HashedTokens, texts_at_once: int = 512) -> Words:
    """Return the bits of each text, from how many of its units fall into each of 1,024 slots.

    A slot with n units sets n bits: its own, and one for each further unit at a fixed distance.
    """
    bits = np.empty((len(units.texts), _WORDS), dtype=np.uint64)
    slots = (units.hashes >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
    for start in range(0, len(bits), texts_at_once):
        offsets = units.offsets[start : start + texts_at_once + 1]
        n_texts = len(offsets) - 1
        text = np.repeat(np.arange(n_texts) << _SLOT_BITS, np.diff(offsets))
        counts = np.bincount(text + slots[offsets[0] : offsets[-1]], minlength=n_texts << _SLOT_BITS)
        flags = counts > 0
        place = np.flatnonzero(counts > 1)
        for nth in range(1, _MOST_IN_SLOT):
            place = place[counts[place] > nth]
            if not len(place):
                break
            slot = (place * _SLOT_FACTOR + nth * _DISTANCE) & (_BITS - 1)
            flags[(place & ~(_BITS - 1)) | slot] = True
        bits[start : start + n_texts] = np.packbits(flags).view(np.uint64).reshape(n_texts, _WORDS)
    return bits


class TooLongError(Exception):
    """Two texts have more pairs of tokens than ROUGE-L compares.

    Args:
        pair: Which pair of texts.
        lengths: Their numbers of tokens.
    """

    def __init__(self, pair: int, lengths: tuple[int, int]) -> None:
        super().__init__(pair, lengths)
        self.pair, self.lengths = pair, lengths


def overlap(
    tokens: TokenTable, kind: str, first: IntArray, second: IntArray, lengths: IntArray, needed: IntArray
) -> IntArray:
    """Count how many units the texts `first[i]` and `second[i]` share, for each i.

    Args:
        tokens: The tokens of all texts.
        kind: `rouge1`, `rouge2` or `rougeL`.
        first: Text numbers.
        second: Text numbers, of the same shape.
        lengths: Units of each text.
        needed: Overlaps below this number may be returned as 0; it saves time on long texts.

    Raises:
        TooLongError: Two texts have more pairs of tokens than the limit `token_pairs`.
    """
    texts, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    left, right = places[: len(first)], places[len(first) :]
    units = _units(tokens.numbered(texts), kind)
    shared = np.zeros(len(first), dtype=np.int64)
    undecided = np.arange(len(first))
    if len(first) >= _PAIRS_A_TEXT * len(np.unique(left)):
        counted = _shared_units(*_in_any_order(units), left, right)
        if counted is not None and kind != "rougeL":
            return counted
        if counted is not None:  # what two texts share in order is no more than what they share
            undecided = np.flatnonzero(counted >= needed)
    if kind != "rougeL":
        units = _in_any_order(units)
    from rapidfuzz.distance import LCSseq  # only now: where counting was enough, it is not needed
    from rapidfuzz.process import cpdist

    from krag_eval._utils.limits import limit

    sequences = _sequences(units)
    is_long = lengths[first[undecided]] * lengths[second[undecided]] > _LONG
    short = undecided[~is_long]
    one_side, other_side = ([sequences[text] for text in side[short].tolist()] for side in (left, right))
    shared[short] = cpdist(one_side, other_side, scorer=LCSseq.similarity, dtype=np.int64)
    for pair in undecided[is_long].tolist():
        one, other, cut_off = sequences[int(left[pair])], sequences[int(right[pair])], int(needed[pair])
        most = (Counter(one) & Counter(other)).total()
        if kind == "rougeL" and most >= cut_off:
            if len(one) * len(other) > limit("token_pairs"):
                raise TooLongError(pair, (len(one), len(other)))
            most = _long_subsequence(one, other, cut_off)
        shared[pair] = most
    return shared


def _units(tokens: NumberedTokens, kind: str) -> NumberedTokens:
    """Return the tokens, or for rouge2 each two neighboring ones, in the order of the text."""
    numbers, offsets, size = tokens
    if kind != "rouge2":
        return NumberedTokens(numbers, offsets, size)
    lengths = np.maximum(np.diff(offsets) - 1, 0)
    place = runs(offsets[:-1], lengths)
    used, bigrams = np.unique(numbers[place] * size + numbers[place + 1], return_inverse=True)
    return NumberedTokens(bigrams, np.append(0, np.cumsum(lengths)), len(used))


def _in_any_order(units: NumberedTokens) -> NumberedTokens:
    """Return the units, sorted within each text."""
    numbers, offsets, size = units
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    keys = text * size + numbers
    fits = len(offsets) * size < 1 << 31  # half the width sorts in half the time
    ordered = np.sort(keys.astype(np.int32) if fits else keys).astype(np.int64)
    return NumberedTokens(ordered - text * size, offsets, size)


def _sequences(units: NumberedTokens) -> list[_Sequence]:
    """Return each text as a string of one character per unit, or as a list of numbers if there are too many units."""
    numbers, offsets, size = units
    bounds = offsets.tolist()
    if size > _MOST_UNITS:
        return [numbers[start:stop].tolist() for start, stop in pairwise(bounds)]
    points = (numbers + _SURROGATES * (numbers >= _SURROGATES_START)).astype("<u4")
    everything = points.tobytes().decode("utf-32-le")
    return [everything[start:stop] for start, stop in pairwise(bounds)]


def _shared_units(
    numbers: IntArray, offsets: IntArray, size: int, first: IntArray, second: IntArray
) -> IntArray | None:
    """Return the size of the multiset intersection of the texts `first[i]` and `second[i]`, for each i.

    A feature is a unit and how often it occurred before in its text, so that a multiset becomes a set. The features of
    one text are flagged in a table, and all texts that it is paired with are looked up there at once.

    Args:
        numbers: The units of all texts as numbers, sorted within each text.
        offsets: Where each text begins; shape (n_texts + 1,).
        size: Numbers lie below this.
        first: Text numbers.
        second: Text numbers, of the same shape.

    Returns:
        The sizes, or None if the table would be too large.
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


def _long_subsequence(one: _Sequence, other: _Sequence, needed: int) -> int:
    """Return the length of the longest common subsequence, or 0 if it is below `needed`.

    Memory is proportional to the two texts. If few units are equal, as in texts of rare words, each pair of equal
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
    numbers = np.array([rank[unit] for unit in (*left, *right)], dtype=np.int64)
    first, second = _sequences(NumberedTokens(numbers, np.array([0, len(left), len(numbers)]), len(rank)))
    most = min(len(first), len(second))
    for cut_off in (*(int(most * (1 - missing)) for missing in _MISSING), needed):
        if length := int(LCSseq.similarity(first, second, score_cutoff=max(cut_off, needed))):
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
