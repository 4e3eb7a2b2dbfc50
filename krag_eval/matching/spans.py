"""Tokens as bytes: cut, hashed and numbered for whole buffers at once.

A hash depends on the token's bytes alone, so that it is the same in every text, batch and process. Nothing is decided
by it: tokens whose hashes collide make the upper bound of `sketches` looser, and numbers are given by comparing bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from krag_eval.columns import BoolArray, IntArray

Words = np.ndarray[Any, np.dtype[np.uint64]]

# ASCII letters to lower case, digits as they are, everything else to a space.
_ASCII_WORDS = bytes(ord(chr(i).lower()) if i < 128 and chr(i).isalnum() else 0x20 for i in range(256))
_SPACE = 0x20
_HASHED_BYTES = 64
_TABLE_BITS = 16
# The first 0, 1, ... 8 bytes of a little-endian word.
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)


def mix(values: Words) -> Words:
    """Spread the bits of 64-bit numbers (the finaliser of splitmix64, Steele, Lea & Flood 2014)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


class Spans(NamedTuple):
    """Tokens as places in a buffer of bytes, which goes on for eight bytes after the last of them.

    Attributes:
        buffer: The bytes.
        starts: Where each token begins.
        lengths: How many bytes it has.
    """

    buffer: bytes
    starts: IntArray
    lengths: IntArray

    def words(self, tokens: IntArray | slice, done: int = 0) -> Words:
        """Bytes `done` to `done + 8` of these tokens as one number, zero beyond their ends."""
        # All eight-byte words of the buffer, at every byte.
        everywhere = np.ndarray(len(self.buffer) - 7, dtype="<u8", buffer=self.buffer, strides=(1,))
        left = self.lengths[tokens] - done
        words: Words = everywhere[self.starts[tokens] + done] & _MASKS[np.minimum(left, 8)]
        return words


def ascii_words(texts: Sequence[str]) -> tuple[Spans, IntArray]:
    """The words of ASCII texts: runs of letters and digits, in lower case.

    Returns:
        The words of all texts, one text after the other, and where each text begins (shape n_texts + 1).
    """
    buffer = b" %b         " % "\n".join(texts).encode("ascii").translate(_ASCII_WORDS)
    is_word = np.frombuffer(buffer, dtype=np.uint8) != _SPACE
    edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    text_starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1, out=text_starts[1:])
    return Spans(buffer, starts, ends - starts), np.searchsorted(starts, text_starts + 1)


def token_spans(tokens: Sequence[str]) -> Spans:
    """Tokens of any kind, in UTF-8."""
    encoded = [token.encode("utf-8", "surrogatepass") for token in tokens]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return Spans(b"".join([*encoded, b"        "]), np.cumsum(lengths) - lengths, lengths)


def hash_spans(spans: Spans, first_words: Words | None = None) -> Words:
    """Hash each token; of a long one the first bytes and the length, so that five million letters cost no more.

    Args:
        spans: The tokens.
        first_words: The first eight bytes of each, if they are known already.
    """
    hashes = mix(spans.words(slice(None)) if first_words is None else first_words)
    for done in range(8, _HASHED_BYTES, 8):
        longer = np.flatnonzero(spans.lengths > done)
        if not len(longer):
            return hashes
        hashes[longer] = mix(hashes[longer] * np.uint64(0x9E3779B97F4A7C15) ^ spans.words(longer, done))
    long = np.flatnonzero(spans.lengths > _HASHED_BYTES)
    hashes[long] = mix(hashes[long] ^ spans.lengths[long].astype(np.uint64))
    return hashes


def number_spans(spans: Spans) -> tuple[IntArray, int]:
    """Number the tokens: two have the same number if and only if their bytes are the same.

    Each token is compared, byte by byte, with the one that stands in its place of a hash table; those that differ
    from it go on to the next round with other bits of the hash.

    Returns:
        The numbers, and how many there are.
    """
    words = spans.words(slice(None))
    hashes = hash_spans(spans, words)
    representative = np.arange(len(hashes))
    left = representative.copy()
    table = np.empty(1 << _TABLE_BITS, dtype=np.int64)
    for shift in range(64 - _TABLE_BITS, 0, -_TABLE_BITS):
        slot = ((hashes[left] >> np.uint64(shift)) & np.uint64((1 << _TABLE_BITS) - 1)).astype(np.int64)
        table[slot] = left
        other = table[slot]
        same = (words[left] == words[other]) & (spans.lengths[left] == spans.lengths[other])
        same = _same_to_the_end(spans, left, other, same)
        representative[left[same]] = other[same]
        left = left[~same]
        if not len(left):
            break
    seen: dict[bytes, int] = {}
    for token in left.tolist():
        start = int(spans.starts[token])
        representative[token] = seen.setdefault(spans.buffer[start : start + int(spans.lengths[token])], token)
    is_first = np.zeros(len(hashes), dtype=bool)
    is_first[representative] = True
    return (np.cumsum(is_first) - 1)[representative], int(is_first.sum())


def _same_to_the_end(spans: Spans, some: IntArray, others: IntArray, same: BoolArray) -> BoolArray:
    """Which of the pairs that are the same in length and in the first eight bytes are so in all."""
    done = 8
    longer = np.flatnonzero(same & (spans.lengths[some] > done))
    while len(longer):
        if done >= _HASHED_BYTES:  # a few very long tokens: compare them whole
            for pair in longer.tolist():
                size, one, other = int(spans.lengths[some[pair]]), *(int(spans.starts[t[pair]]) for t in (some, others))
                same[pair] = spans.buffer[one : one + size] == spans.buffer[other : other + size]
            break
        equal = spans.words(some[longer], done) == spans.words(others[longer], done)
        same[longer] = equal
        done += 8
        longer = longer[equal & (spans.lengths[some[longer]] > done)]
    return same
