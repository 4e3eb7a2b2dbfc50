"""An upper bound of the overlap of two texts from 1,024 bits each: nearly all pairs are settled by it.

Each unit of a text, numbered by its occurrence (the second "the" is another feature than the first), sets the bit
that its hash names. A bit that differs between two texts stands for at least one feature that they do not share, so

    overlap <= (|a| + |b| - popcount(bits_a XOR bits_b)) / 2

Units whose hashes collide only make the bound looser, never wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.matching.tokens import Units

Bits = np.ndarray[Any, np.dtype[np.uint64]]

_BITS = 1024
_WORDS = _BITS // 64
_HASH_BITS = 40
_BYTE_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_SUM_LANES = np.uint64(0x0001000100010001)


def _mix(values: Bits) -> Bits:
    """Spread the bits of 64-bit numbers (the finaliser of splitmix64, Steele, Lea & Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def bitmaps(units: Units, texts_at_once: int = 4096) -> Bits:
    """The bits of each text; shape (n_texts, 16)."""
    n_texts = len(units.offsets) - 1
    bits = np.zeros((n_texts, _WORDS), dtype=np.uint64)
    for start in range(0, n_texts, texts_at_once):
        stop = min(start + texts_at_once, n_texts)
        offsets = units.offsets[start : stop + 1]
        bits[start:stop] = _bitmaps(units.numbers[offsets[0] : offsets[-1]], offsets - offsets[0])
    return bits


def _bitmaps(numbers: IntArray, offsets: IntArray) -> Bits:
    n_texts = len(offsets) - 1
    text = np.repeat(np.arange(n_texts, dtype=np.uint64), np.diff(offsets))
    key = (text << np.uint64(_HASH_BITS)) | (_mix(numbers.astype(np.uint64)) >> np.uint64(64 - _HASH_BITS))
    key.sort()  # brings equal units of a text together and leaves the texts where they are
    place = np.arange(len(key), dtype=np.uint64)
    first = np.zeros(len(key), dtype=np.uint64)
    if len(key):
        is_new = key[1:] != key[:-1]
        first[1:] = np.where(is_new, place[1:], np.uint64(0))
        np.maximum.accumulate(first, out=first)
    occurrence = place - first
    unit = key & np.uint64((1 << _HASH_BITS) - 1)
    bit = _mix(unit + (occurrence << np.uint64(_HASH_BITS))) >> np.uint64(54)
    flags = np.zeros(n_texts * _BITS, dtype=np.uint8)
    flags[text * np.uint64(_BITS) + bit] = 1
    return np.packbits(flags).view(np.uint64).reshape(n_texts, _WORDS)


def differing_bits(bits: Bits, first: IntArray, second: IntArray) -> IntArray:
    """How many bits differ between the texts `first[i]` and `second[i]`, for each i."""
    counts = np.bitwise_count(bits[first] ^ bits[second]).view(np.uint64)  # eight counts of at most 64 in a word
    counts = counts[:, 0] + counts[:, 1]
    counts = (counts & _BYTE_PAIRS) + ((counts >> np.uint64(8)) & _BYTE_PAIRS)
    total: IntArray = ((counts * _SUM_LANES) >> np.uint64(48)).astype(np.int64)
    return total
