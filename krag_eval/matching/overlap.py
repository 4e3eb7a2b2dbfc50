"""Count how many units two texts share, for rougeL in the same order: first an upper bound, then exactly.

The upper bound comes from 1,024 bits for each text. Units fall into slots by their hash, and what a text sets bits for
is (slot, n) for the first, second, ... unit in a slot: the second "the" is another feature than the first. What two
texts share sets bits in both, and leaves at most as many units without a bit of their own as each whole text does, so

    overlap <= popcount(bits_a AND bits_b) + min(|a| - popcount(bits_a), |b| - popcount(bits_b))

Units that share a slot, and features that share a bit, only make the bound looser, never wrong. It settles nearly all
pairs.

The exact count is a longest common subsequence for all three kinds of ROUGE: for rouge1 and rouge2 the units are sorted
first, and the longest common subsequence of two sorted lists is their multiset intersection. rapidfuzz is imported
where it is used: matching by id or text does not need it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from krag_eval._utils.arrays import BoolArray, IntArray, np
from krag_eval.documents.columns import runs
from krag_eval.matching.tokens import HashedTokens, NumberedTokens, TokenTable, Words, mix

_BITS = 1024
_WORDS = _BITS // 64
_SLOT_BITS = 10
# Bits of a text where single features are compared, not slots.
_FEATURE_BITS = 12
# What is compared or counted at once stays in the processor's cache.
_TEXTS_AT_ONCE, _PAIRS_AT_ONCE = 512, 1024
# Further units of a slot set bits that are spread over all of them; beyond this many they are left out.
_SLOT_FACTOR, _DISTANCE, _MOST_IN_SLOT = 5, 389, 64
_BYTE_PAIRS = 0x00FF00FF00FF00FF
_SUM_LANES = 0x0001000100010001
# Python strings hold code points below 0x110000, and rapidfuzz compares them much faster than lists.
_SURROGATES_START, _SURROGATES = 0xD800, 0x800
_MOST_UNITS = 0x110000 - _SURROGATES
# From this product of lengths on, counting is faster than a subsequence, and a subsequence deserves a cut-off.
_LONG = 4_000_000
# With as many pairs for each text of one side, looking its partners up together is quicker than one pair at a time.
_PAIRS_A_TEXT = 4
# A table with a place for each feature must not outgrow what it saves.
_MOST_FEATURES = 1 << 24
# Into how many classes the units of two long texts are divided for an upper bound, few after many.
_CLASSES = (64, 16)
# If no more than this share of the shorter text is missing, a narrow band is tried first, that much wider than needed.
_FEW_MISSING, _WIDER = 0.2, 1.25
_Sequence = str | list[int]

BY_LINE = 0
# Of how many neighboring tokens each unit consists that a kind of ROUGE counts; `BY_LINE`: of one, cut line by line.
UNIT_OF = {**{f"rouge{n}": n for n in range(1, 10)}, "rougeL": 1, "rougeLsum": BY_LINE}


@dataclass(frozen=True, slots=True)
class Sketches:
    """How many units each text has, and their bits.

    Attributes:
        lengths: Units of each text; shape (n_texts + 1,), the last for a missing text.
        has_tokens: Whether a text has a token at all; too few make no unit of several.
        bits: Shape (n_texts + 1, n_words).
        without_bit: How many units of each text set no bit of their own.
    """

    lengths: IntArray
    has_tokens: BoolArray
    bits: Words
    without_bit: IntArray

    @property
    def columns(self) -> tuple[IntArray, BoolArray, Words, IntArray]:
        """The attributes, for those who choose or join texts."""
        return self.lengths, self.has_tokens, self.bits, self.without_bit

    def most_shared(self, first: IntArray, second: IntArray) -> IntArray:
        """Return an upper bound of the number of units that the texts `first[i]` and `second[i]` share, for each i."""
        common = self.bits.take(first, axis=0)  # half of the time of `self.bits[first]`
        common &= self.bits.take(second, axis=0)
        counts = np.bitwise_count(common).view(np.uint64)  # at most 64 in each byte
        counts = (counts & _BYTE_PAIRS) + ((counts >> np.uint64(8)) & _BYTE_PAIRS)
        n_common = (functools.reduce(np.add, counts.T) * _SUM_LANES) >> np.uint64(48)
        bound: IntArray = n_common.astype(np.int64) + np.minimum(self.without_bit[first], self.without_bit[second])
        return bound


def sketch(tokens: TokenTable, units: Iterable[int]) -> dict[int, Sketches]:
    """Return the sketches of all texts for units of so many tokens each, from one pass over the texts."""
    size = len(tokens) + 1
    sketches = {
        unit: Sketches(
            np.zeros(size, np.int64),
            np.zeros(size, np.bool_),
            np.zeros((size, _WORDS), np.uint64),
            np.zeros(size, np.int64),
        )
        for unit in units
    }
    for hashed in tokens.hashed() if sketches else ():
        for unit, sketch_ in sketches.items():
            of_unit = _neighbors(hashed, unit)
            sketch_.lengths[of_unit.texts] = np.diff(of_unit.offsets)
            sketch_.has_tokens[of_unit.texts] = np.diff(hashed.offsets) > 0
            sketch_.bits[of_unit.texts] = bits = _bits(of_unit)
            sketch_.without_bit[of_unit.texts] = np.diff(of_unit.offsets) - np.bitwise_count(bits).sum(
                axis=1, dtype=int
            )
    return sketches


def _neighbors(tokens: HashedTokens, n: int) -> HashedTokens:
    """Return each `n` neighboring tokens of a text as one unit."""
    if n == 1:
        return tokens
    first, offsets = _first_of(tokens.offsets, n)
    hashes = tokens.hashes[first]
    for further in range(1, n):
        hashes = mix(hashes * np.uint64(0x9E3779B97F4A7C15) ^ tokens.hashes[first + further])
    return HashedTokens(tokens.texts, hashes, offsets)


def _first_of(offsets: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the place of the first of each `n` neighboring tokens of a text, and where each text begins in these."""
    lengths = np.maximum(np.diff(offsets) - (n - 1), 0)
    return runs(offsets[:-1], lengths), np.append(0, np.cumsum(lengths))


def _bits(units: HashedTokens) -> Words:
    """Return the bits of each text, from how many of its units fall into each of 1,024 slots.

    A slot with n units sets n bits: its own, and one for each further unit at a fixed distance.
    """
    bits = np.empty((len(units.texts), _WORDS), dtype=np.uint64)
    slots = (units.hashes >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
    for start in range(0, len(bits), _TEXTS_AT_ONCE):
        offsets = units.offsets[start : start + _TEXTS_AT_ONCE + 1]
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
        kind: A key of `UNIT_OF`, but for `rougeLsum`.
        first: Text numbers.
        second: Text numbers, of the same shape.
        lengths: Units of each text.
        needed: Overlaps below this number may be returned as 0; it saves time on long texts.

    Raises:
        TooLongError: Two texts have more pairs of tokens than the limit `token_pairs`.
    """
    used = np.zeros(len(lengths), dtype=bool)  # sorting all numbers would take a tenth of a sweep
    used[first] = used[second] = True
    places = np.cumsum(used) - 1
    left, right = places[first], places[second]
    units = _units(tokens.numbered(np.flatnonzero(used)), UNIT_OF[kind])
    shared = np.zeros(len(first), dtype=np.int64)
    undecided = np.arange(len(first))
    if len(first) >= _PAIRS_A_TEXT * n_different(left) and (features := _features(units)) is not None:
        undecided = _possible(features, left, right, needed)
        counted = _shared_units(features, left[undecided], right[undecided])
        if kind != "rougeL":
            shared[undecided] = counted
            return shared
        # What two texts share in order is no more than what they share.
        undecided = undecided[counted >= needed[undecided]]
    if kind != "rougeL":
        units = _in_any_order(units)
    from rapidfuzz.distance import LCSseq  # only now: where counting was enough, it is not needed
    from rapidfuzz.process import cpdist

    from krag_eval._utils.limits import limit

    sequences = _sequences(_by_frequency(units))
    is_long = lengths[first[undecided]] * lengths[second[undecided]] > _LONG
    short = undecided[~is_long]
    one_side, other_side = ([sequences[text] for text in side[short].tolist()] for side in (left, right))
    shared[short] = cpdist(one_side, other_side, scorer=LCSseq.similarity, dtype=np.int64)
    for pair in undecided[is_long].tolist():
        one, other = (
            units.numbers[units.offsets[text] : units.offsets[text + 1]] for text in (left[pair], right[pair])
        )
        common = _common(one, other)
        if kind != "rougeL" or common[3] < needed[pair]:
            shared[pair] = common[3]
        elif len(one) * len(other) > limit("token_pairs"):
            raise TooLongError(pair, (len(one), len(other)))
        else:
            shared[pair] = _long_subsequence(*common, int(needed[pair]))
    return shared


def n_different(numbers: IntArray) -> int:
    """Return how many of these numbers are different."""
    return int(np.count_nonzero(np.bincount(numbers)))


def _units(tokens: NumberedTokens, n: int) -> NumberedTokens:
    """Return each `n` neighboring tokens as one unit, in the order of the text."""
    numbers, offsets, size = tokens
    first, starts = _first_of(offsets, n)
    units = numbers[first]
    n_units = size
    for further in range(1, n):
        used, units = np.unique(units * size + numbers[first + further], return_inverse=True)
        n_units = len(used)
    return NumberedTokens(units, starts, n_units)


def _in_any_order(units: NumberedTokens) -> NumberedTokens:
    """Return the units, sorted within each text."""
    numbers, offsets, size = units
    # Half the width sorts in half the time.
    width: Any = np.int32 if len(offsets) * size < 1 << 31 else np.int64
    before = np.repeat(np.arange(len(offsets) - 1, dtype=width) * size, np.diff(offsets))
    ordered = np.sort(before + numbers.astype(width)) - before
    return NumberedTokens(ordered.astype(np.int64), offsets, size)


def _by_frequency(units: NumberedTokens) -> NumberedTokens:
    """Return the units numbered by how often they occur, the most frequent first: rapidfuzz finds 256 of them fast."""
    rank = np.empty(units.size, dtype=np.int64)
    rank[np.argsort(-np.bincount(units.numbers, minlength=units.size))] = np.arange(units.size)
    return units._replace(numbers=rank[units.numbers])


def _sequences(units: NumberedTokens) -> list[_Sequence]:
    """Return each text as a string of one character per unit, or as a list of numbers if there are too many units."""
    numbers, offsets, size = units
    bounds = offsets.tolist()
    if size > _MOST_UNITS:
        return [numbers[start:stop].tolist() for start, stop in pairwise(bounds)]
    points = (numbers + _SURROGATES * (numbers >= _SURROGATES_START)).astype("<u4")
    everything = points.tobytes().decode("utf-32-le")
    return [everything[start:stop] for start, stop in pairwise(bounds)]


def _features(units: NumberedTokens) -> NumberedTokens | None:
    """Return each unit together with how often it occurred before in its text: a multiset becomes a set.

    Returns:
        The features as numbers, or None if a table with a place for each would be too large.
    """
    numbers, offsets, size = _in_any_order(units)
    place = np.arange(len(numbers))
    is_new = np.ones(len(numbers), dtype=bool)
    is_new[1:] = numbers[1:] != numbers[:-1]
    is_new[offsets[:-1][np.diff(offsets) > 0]] = True
    occurrence = place - np.maximum.accumulate(np.where(is_new, place, 0))
    most = int(occurrence.max(initial=0)) + 1
    return None if size * most > _MOST_FEATURES else NumberedTokens(numbers * most + occurrence, offsets, size * most)


def _possible(features: NumberedTokens, first: IntArray, second: IntArray, needed: IntArray) -> IntArray:
    """Return for which i the texts `first[i]` and `second[i]` may share `needed[i]` features: a bit for each feature.

    These are more bits than in the sketches, and a feature does not share its bit with its neighbors' next ones.
    """
    numbers, offsets, _ = features
    lengths, n_texts = np.diff(offsets), len(offsets) - 1
    places = (mix(numbers.astype(np.uint64)) >> np.uint64(64 - _FEATURE_BITS)).astype(np.int64)
    bits = np.empty((n_texts, (1 << _FEATURE_BITS) // 64), dtype=np.uint64)
    for start in range(0, n_texts, _TEXTS_AT_ONCE):
        inside = offsets[start : start + _TEXTS_AT_ONCE + 1]
        text = np.repeat(np.arange(len(inside) - 1) << _FEATURE_BITS, np.diff(inside))
        flags = np.zeros((len(inside) - 1) << _FEATURE_BITS, dtype=bool)
        flags[text + places[inside[0] : inside[-1]]] = True
        bits[start : start + _TEXTS_AT_ONCE] = np.packbits(flags).view(np.uint64).reshape(len(inside) - 1, -1)
    sketches = Sketches(lengths, lengths > 0, bits, lengths - np.bitwise_count(bits).sum(axis=1, dtype=int))
    parts = [slice(start, start + _PAIRS_AT_ONCE) for start in range(0, len(first), _PAIRS_AT_ONCE)]
    most = [sketches.most_shared(first[part], second[part]) for part in parts]
    return np.flatnonzero(np.concatenate([np.empty(0, np.int64), *most]) >= needed)


def _shared_units(units: NumberedTokens, first: IntArray, second: IntArray) -> IntArray:
    """Return how many features the texts `first[i]` and `second[i]` share, for each i.

    The features of one text are flagged in a table, and all texts that it is paired with are looked up there at once.

    Args:
        units: The features of all texts.
        first: Text numbers.
        second: Text numbers, of the same shape.
    """
    features, offsets, size = units
    lengths = np.diff(offsets)
    of_text = [features[start:stop] for start, stop in pairwise(offsets.tolist())]
    flags = np.zeros(size, dtype=np.int32)
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
        looked_up = flags.take(np.concatenate([of_text[other] for other in others.tolist()]))
        shared[group] = np.add.reduceat(looked_up, ends - lengths[others])
        flags[flagged] = 0
    return shared


def _common(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray, int, int]:
    """Return two texts without the units that only one of them has: these are part of no common subsequence.

    Returns:
        Both as numbers, the most frequent units 0, 1, ..., which rapidfuzz looks up directly; how many different units
        there are; the size of the multiset intersection.
    """
    used, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    sides = places[: len(one)], places[len(one) :]
    counts = [np.bincount(side, minlength=len(used)) for side in sides]
    shared = np.minimum(*counts)
    rank = np.argsort(np.argsort(-sum(counts) * (shared > 0), kind="stable"))
    first, second = (rank[side[shared[side] > 0]] for side in sides)
    return first, second, int((shared > 0).sum()), int(shared.sum())


def _long_subsequence(one: IntArray, other: IntArray, size: int, bound: int, needed: int) -> int:
    """Return the length of the longest common subsequence, or 0 if it is below `needed`.

    Memory is proportional to the two texts. rapidfuzz's bit-parallel algorithm runs in a band (Hyyrö 2004), whose width
    follows from an upper bound: most long texts that match are nearly the same, and the bound settles most others.
    """
    from rapidfuzz.distance import LCSseq

    shorter = min(len(one), len(other))
    for n_classes in _CLASSES:
        bound = min(bound, _sum_of_classes(one, other, size, n_classes))
        if bound < needed:
            return 0
        if shorter - bound <= _FEW_MISSING * shorter:
            break
    first, second = _sequences(NumberedTokens(np.concatenate([one, other]), np.cumsum([0, len(one), len(other)]), size))
    narrow = shorter - int((shorter - bound) * _WIDER) if shorter - bound <= _FEW_MISSING * shorter else needed
    for cut_off in dict.fromkeys((max(narrow, needed), needed)):
        if length := int(LCSseq.similarity(first, second, score_cutoff=cut_off)):
            return length
    return 0


def _sum_of_classes(one: IntArray, other: IntArray, size: int, n_classes: int) -> int:
    """Return an upper bound of the longest common subsequence of two texts.

    The units are divided into classes. What a common subsequence has of one class is a common subsequence of what the
    two texts have of it, so the longest ones of all classes together are at least as long. Each class has only a part
    of both texts: all classes together take the time of the whole divided by their number.
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    sides = []
    for units in (one, other):
        of_class = (units % n_classes).astype(np.uint8)
        numbers = (units // n_classes)[np.argsort(of_class, kind="stable")]
        offsets = np.append(0, np.cumsum(np.bincount(of_class, minlength=n_classes)))
        sides.append(_sequences(NumberedTokens(numbers, offsets, size)))
    return int(cpdist(*sides, scorer=LCSseq.similarity, dtype=np.int64).sum())
