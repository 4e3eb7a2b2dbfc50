"""An upper bound of the overlap of two texts from 1,024 bits each: nearly all pairs are settled by it.

Units fall into slots by their hash, and what a text sets bits for is (slot, n) for the first, second, ... unit in a
slot: the second "the" is another feature than the first. A bit that differs between two texts stands for at least one
feature that they do not share, so

    overlap <= (|a| + |b| - popcount(bits_a XOR bits_b)) / 2

Units that share a slot, and features that share a bit, only make the bound looser, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from krag_eval.columns import BoolArray, IntArray
from krag_eval.matching.spans import Words, mix
from krag_eval.matching.tokens import HashedTokens, TokenTable

_BITS = 1024
_WORDS = _BITS // 64
_SLOT_BITS = 10
# Further units of a slot set bits that are spread over all of them; beyond this many they are left out.
_SPREAD, _DISTANCE, _MOST_IN_SLOT = 5, 389, 64
_BYTE_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_SUM_LANES = np.uint64(0x0001000100010001)

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

    def most_shared(self, first: IntArray, second: IntArray) -> IntArray:
        """An upper bound of the units that the texts `first[i]` and `second[i]` share, for each i."""
        differing = np.bitwise_count(self.bits[first] ^ self.bits[second]).view(np.uint64)
        counts = differing[:, 0] + differing[:, 1]  # in each byte of a word a count of at most 128
        counts = (counts & _BYTE_PAIRS) + ((counts >> np.uint64(8)) & _BYTE_PAIRS)
        n_differing = ((counts * _SUM_LANES) >> np.uint64(48)).astype(np.int64)
        one, other = self.lengths[first], self.lengths[second]
        bound: IntArray = np.minimum((one + other - n_differing) >> 1, np.minimum(one, other))
        return bound


def sketch(tokens: TokenTable, units: Iterable[str]) -> dict[str, Sketches]:
    """The sketches of all texts for each of these units (`token`, `bigram`), from one pass over the texts."""
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
    """Each two neighbouring tokens of a text as one unit."""
    lengths = np.maximum(np.diff(tokens.offsets) - 1, 0)
    offsets = np.append(0, np.cumsum(lengths))
    first = np.arange(offsets[-1]) + np.repeat(tokens.offsets[:-1] - offsets[:-1], lengths)
    pairs = mix(tokens.hashes[first] * np.uint64(0x9E3779B97F4A7C15) ^ tokens.hashes[first + 1])
    return HashedTokens(tokens.texts, pairs, offsets)


def _bits(units: HashedTokens, texts_at_once: int = 512) -> Words:
    """The bits of each text, from how many of its units fall into each of 1,024 slots.

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
            slot = (place * _SPREAD + nth * _DISTANCE) & (_BITS - 1)
            flags[(place & ~(_BITS - 1)) | slot] = True
        bits[start : start + n_texts] = np.packbits(flags).view(np.uint64).reshape(n_texts, _WORDS)
    return bits
