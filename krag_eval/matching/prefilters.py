"""An upper bound of the overlap of two texts from 1,024 bits each: nearly all pairs are settled by it.

Units fall into slots by their hash, and what a text sets bits for is (slot, n) for the first, second, ... unit in a
slot: the second "the" is another feature than the first. A bit that differs between two texts stands for at least one
feature that they do not share, so

    overlap <= (|a| + |b| - popcount(bits_a XOR bits_b)) / 2

Units that share a slot, and features that share a bit, only make the bound looser, never wrong.

A quick no to "is this text part of that one?": a text that contains another contains all its shingles.

A shingle is eight neighbouring bytes. One in eight is chosen by its hash, so the same ones in every text, and each
text has a table of the bits that its chosen shingles set. A few of the shorter text's are looked up in the longer
one's table; where a bit is missing, the one cannot contain the other (Broder 1997 compares shingle sets likewise).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval.matching.tokens import HashedTokens, TokenTable, Words, mix

_BITS = 1024
_WORDS = _BITS // 64
_SLOT_BITS = 10
# Further units of a slot set bits that are spread over all of them; beyond this many they are left out.
_SLOT_FACTOR, _DISTANCE, _MOST_IN_SLOT = 5, 389, 64
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
            slot = (place * _SLOT_FACTOR + nth * _DISTANCE) & (_BITS - 1)
            flags[(place & ~(_BITS - 1)) | slot] = True
        bits[start : start + n_texts] = np.packbits(flags).view(np.uint64).reshape(n_texts, _WORDS)
    return bits


_SIZE = 8
_CHOSEN_BITS = 3
_LOOKED_UP = 4
# Bits of a text's table for each chosen shingle, and at least.
_BITS_A_SHINGLE, _FEWEST_BITS = 8, 512
_BYTES_AT_ONCE = 1 << 18
_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


class Shingles:
    """The shingles of numbered texts.

    Args:
        texts: The texts; their places are their numbers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._looked_up = np.zeros((len(texts), _LOOKED_UP), dtype=np.uint64)
        self._has_any = np.zeros(len(texts), dtype=bool)
        self._mask = np.zeros(len(texts), dtype=np.uint64)
        self._offset = np.zeros(len(texts), dtype=np.uint64)
        tables: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []
        n_bits = 0
        for start, stop, encoded in _chunks(texts):
            text, hashes = _chosen(encoded)
            counts = np.bincount(text, minlength=stop - start)
            first = np.cumsum(counts) - counts
            some = np.flatnonzero(counts)
            self._has_any[start + some] = True
            for nth in range(_LOOKED_UP):
                self._looked_up[start + some, nth] = hashes[first[some] + counts[some] * nth // _LOOKED_UP]
            bits = 1 << np.ceil(np.log2(np.maximum(counts * _BITS_A_SHINGLE, _FEWEST_BITS))).astype(np.int64)
            offset = np.cumsum(bits) - bits
            table = np.zeros(int(bits.sum()), dtype=np.uint8)
            table[offset[text] + (hashes.astype(np.int64) & (bits[text] - 1))] = 1
            tables.append(np.packbits(table))
            self._mask[start:stop] = bits - 1
            self._offset[start:stop] = n_bits + offset
            n_bits += len(table)
        self._table = np.concatenate([np.zeros(0, dtype=np.uint8), *tables])

    def may_contain(self, long: IntArray, short: IntArray) -> BoolArray:
        """Whether the texts `long[i]` may contain the texts `short[i]`, for each i; a no is certain."""
        possible = np.ones(len(long), dtype=bool)
        left = np.flatnonzero(self._has_any[short])
        for nth in range(_LOOKED_UP):
            container = long[left]
            bit = self._offset[container] + (self._looked_up[short[left], nth] & self._mask[container])
            byte = self._table[(bit >> np.uint64(3)).astype(np.int64)]
            present = (byte >> (np.uint8(7) - (bit & np.uint64(7)).astype(np.uint8))) & 1
            possible[left[present == 0]] = False
            left = left[present != 0]
        return possible


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, int, list[bytes]]]:
    """The texts in UTF-8, some megabytes at a time."""
    encoded: list[bytes] = []
    start = size = 0
    for number, text in enumerate(texts, 1):
        encoded.append(text.encode("utf-8", "surrogatepass"))
        size += len(encoded[-1])
        if size >= _BYTES_AT_ONCE or number == len(texts):
            yield start, number, encoded
            encoded, start, size = [], number, 0


def _chosen(encoded: list[bytes]) -> tuple[IntArray, Words]:
    """The chosen shingles of some texts: the text of each, and its hash."""
    buffer = b"".join([*encoded, b"\0" * _SIZE])
    everywhere = np.ndarray(len(buffer) - _SIZE + 1, dtype="<u8", buffer=buffer, strides=(1,))
    hashes = everywhere * _GOLDEN_RATIO
    place = np.flatnonzero(hashes < np.uint64(1 << (64 - _CHOSEN_BITS)))
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    text = np.searchsorted(ends, place, side="right")
    inside = np.flatnonzero((text < len(ends)) & (place + _SIZE <= ends[np.minimum(text, len(ends) - 1)]))
    return text[inside], mix(hashes[place[inside]])
