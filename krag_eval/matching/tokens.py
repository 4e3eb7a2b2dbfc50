"""Cut, hash and number the tokens of many texts, for whole buffers of bytes at once.

A hash depends on the bytes of the token alone, so it is the same in every text, batch and process. Nothing is decided
by it: tokens whose hashes collide only loosen the upper bound of the overlap, and numbers follow from comparing bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krag_eval._utils.arrays import BoolArray, IntArray, np
from krag_eval._utils.objects import cached_property
from krag_eval.documents.columns import runs
from krag_eval.documents.text import utf8
from krag_eval.documents.tokenizers import (
    CharacterTokenizer,
    RougeScoreTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
    tokenize_all,
)

if TYPE_CHECKING:
    Words = np.ndarray[Any, np.dtype[np.uint64]]
else:
    Words = Any

_TEXTS_AT_ONCE = 256  # what is cut and hashed at once stays in the processor's cache
_CHARACTERS_AT_ONCE = 1 << 22
# Tokenizing again costs less than keeping the tokens; a user's own or Kiwi's tokens are made once and kept.
CHEAP_TOKENIZERS = (CharacterTokenizer, RougeScoreTokenizer, WhitespaceTokenizer, WordTokenizer)
# ASCII letters to lower case, digits as they are, everything else to a space.
_ASCII_WORDS = bytes(ord(chr(i).lower()) if i < 128 and chr(i).isalnum() else 0x20 for i in range(256))
_SPACE = 0x20
_HASHED_BYTES = 64
_TABLE_BITS = 16


class HashedTokens(NamedTuple):
    """The hashed tokens of some texts.

    Attributes:
        texts: The numbers of the texts.
        hashes: The hashes of their tokens, one text after the other.
        offsets: Where each text begins; shape (n_texts + 1,).
    """

    texts: IntArray
    hashes: Words
    offsets: IntArray


class NumberedTokens(NamedTuple):
    """The tokens of some texts as numbers that are equal where the tokens are.

    Attributes:
        numbers: One text after the other.
        offsets: Where each text begins; shape (n_texts + 1,).
        size: How many different tokens there are.
    """

    numbers: IntArray
    offsets: IntArray
    size: int


class Vocabulary(dict[str, int]):
    """Each different token with its number: a new one gets the next number when it is looked up."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number

    def numbers(self, tokens: Sequence[str]) -> IntArray:
        """Return the number of each token."""
        return np.fromiter(map(self.__getitem__, tokens), np.int32, len(tokens))


class KeptTokens:
    """The tokens of texts by a slow tokenizer, as numbers: each text is cut once.

    Attributes:
        vocabulary: The different tokens.
        rows: The numbers of the tokens of each text.
        n_tokens: How many all texts have.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.rows: dict[str, IntArray] = {}
        self.n_tokens = 0

    def of(self, texts: Sequence[str], tokenizer: Tokenizer) -> tuple[IntArray, IntArray]:
        """Return the numbers of the tokens of these texts, and where each text begins; new texts are cut first."""
        new = [text for text in texts if text not in self.rows]
        # All in one call: between several, Kiwi's threads would have nothing to do.
        for text, tokens in zip(new, tokenize_all(tokenizer, new), strict=True):
            self.rows[text] = self.vocabulary.numbers(tokens)
            self.n_tokens += len(tokens)
        return _joined([self.rows[text] for text in texts])


class TokenTable:
    """The tokens of numbered texts.

    Args:
        texts: The texts; their places are their numbers.
        tokenizer: What makes their tokens.
        kept: The tokens of texts, if they were made before by a slow tokenizer; others are added to it.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer, kept: KeptTokens | None = None) -> None:
        self._texts = texts
        self._tokenizer = tokenizer
        self._knows_ascii = type(tokenizer) in (WordTokenizer, RougeScoreTokenizer)
        self._kept = None if type(tokenizer) in CHEAP_TOKENIZERS else kept or KeptTokens()

    def __len__(self) -> int:
        return len(self._texts)

    def hashed(self) -> Iterator[HashedTokens]:
        """Yield the hashed tokens of all texts, some thousand texts at a time."""
        if self._kept is not None:
            numbers, offsets = self._kept.of(self._texts, self._tokenizer)
            hashes = hash_spans(token_spans(list(self._kept.vocabulary)))
            for start, stop in self._chunks():
                some = numbers[offsets[start] : offsets[stop]]
                yield HashedTokens(np.arange(start, stop), hashes[some], offsets[start : stop + 1] - offsets[start])
            return
        for start, stop in self._chunks():
            ascii_texts, others = self._split(np.arange(start, stop))
            if len(ascii_texts):
                spans, offsets = ascii_words([self._texts[number] for number in ascii_texts.tolist()])
                yield HashedTokens(ascii_texts, hash_spans(spans), offsets)
            if len(others):
                vocabulary, places, offsets = _vocabulary(self._tokenize(others.tolist()))
                yield HashedTokens(others, hash_spans(token_spans(vocabulary))[places], offsets)

    def numbered(self, texts: IntArray) -> NumberedTokens:
        """Return the tokens of these texts, numbered by comparing them whole."""
        if self._kept is not None:
            all_numbers, offsets = self._kept.of([self._texts[text] for text in texts.tolist()], self._tokenizer)
            is_used = np.zeros(len(self._kept.vocabulary), dtype=bool)
            is_used[all_numbers] = True
            return NumberedTokens((np.cumsum(is_used) - 1)[all_numbers], offsets, int(is_used.sum()))
        ascii_texts, others = self._split(texts)
        spans, ascii_offsets = ascii_words([self._texts[number] for number in ascii_texts.tolist()])
        vocabulary, places, other_offsets = _vocabulary(self._tokenize(others.tolist()))
        more = token_spans(vocabulary)
        both = Spans(
            spans.buffer + more.buffer,
            np.concatenate([spans.starts, more.starts + len(spans.buffer)]),
            np.concatenate([spans.lengths, more.lengths]),
        )
        numbers, size = number_spans(both)
        n_ascii = len(spans.starts)
        flat = np.concatenate([numbers[:n_ascii], numbers[n_ascii:][places]])
        if not len(others) or not len(ascii_texts):
            return NumberedTokens(flat, other_offsets if len(others) else ascii_offsets, size)
        # Back into the order asked for.
        starts = np.concatenate([ascii_offsets[:-1], other_offsets[:-1] + n_ascii])
        lengths = np.concatenate([np.diff(ascii_offsets), np.diff(other_offsets)])
        order = np.argsort(np.concatenate([ascii_texts, others]))
        order = order[np.argsort(np.argsort(texts))]
        return NumberedTokens(flat[runs(starts[order], lengths[order])], np.append(0, np.cumsum(lengths[order])), size)

    def _split(self, texts: IntArray) -> tuple[IntArray, IntArray]:
        """Return the texts whose words can be cut as ASCII bytes, and the others."""
        if not self._knows_ascii:
            return texts[:0], texts
        is_ascii = np.fromiter((self._texts[number].isascii() for number in texts.tolist()), bool, len(texts))
        return texts[is_ascii], texts[~is_ascii]

    def _tokenize(self, texts: list[int]) -> list[list[str]]:
        return list(tokenize_all(self._tokenizer, [self._texts[number] for number in texts]))

    def _chunks(self) -> Iterator[tuple[int, int]]:
        ends = np.cumsum(np.fromiter(map(len, self._texts), np.int64, len(self._texts)))
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _CHARACTERS_AT_ONCE, side="right"))
            stop = min(max(stop, start + 1), start + _TEXTS_AT_ONCE, len(ends))
            yield start, stop
            start = stop


class NumberedTexts(TokenTable):
    """A token table that numbers the tokens of all its texts once, and hands out those asked for."""

    @cached_property
    def everything(self) -> NumberedTokens:
        """The tokens of all texts."""
        return super().numbered(np.arange(len(self)))

    def numbered(self, texts: IntArray) -> NumberedTokens:
        """Return the tokens of these texts; equal ones have the same number in every call."""
        numbers, offsets, size = self.everything
        lengths = np.diff(offsets)[texts]
        return NumberedTokens(numbers[runs(offsets[texts], lengths)], np.append(0, np.cumsum(lengths)), size)


class ByLine:
    """A tokenizer that gets each line of a text by itself."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of the lines, one line after the other."""
        return [token for line in text.split("\n") if line for token in self._tokenizer.tokenize(line)]


def _vocabulary(rows: list[list[str]]) -> tuple[list[str], IntArray, IntArray]:
    """Return the different tokens of all rows, the place of each token in them, and where each row begins."""
    vocabulary = Vocabulary()
    places, offsets = _joined([vocabulary.numbers(row) for row in rows])
    return list(vocabulary), places, offsets


def _joined(rows: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the numbers of all rows, and where each row begins."""
    offsets = np.append(0, np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows))))
    return np.concatenate([np.empty(0, np.int64), *rows]), offsets


def mix(values: Words) -> Words:
    """Spread the bits of 64-bit numbers (the finalizer of splitmix64, Steele, Lea & Flood 2014)."""
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
        """Return bytes `done` to `done + 8` of these tokens as one number each, with zeros beyond their ends."""
        # All eight-byte words of the buffer, at every byte.
        everywhere = np.ndarray(len(self.buffer) - 7, dtype="<u8", buffer=self.buffer, strides=(1,))
        left = self.lengths[tokens] - done
        words: Words = everywhere[self.starts[tokens] + done] & _masks()[np.minimum(left, 8)]
        return words

    def fingerprints(self) -> Words:
        """Return 64 bits for each, from all its bytes: the same in every process and version."""
        hashes = mix(self.lengths.astype(np.uint64))
        left, done = np.arange(len(self.lengths)), 0
        while len(left):
            hashes[left] = mix(hashes[left] * np.uint64(0x9E3779B97F4A7C15) ^ self.words(left, done))
            done += 8
            left = left[self.lengths[left] > done]
        return hashes


@functools.cache
def _masks() -> Words:
    """Return the first 0, 1, ... 8 bytes of a little-endian word."""
    return np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)


def ascii_words(texts: Sequence[str]) -> tuple[Spans, IntArray]:
    """Return the words of ASCII texts: runs of letters and digits, in lower case.

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
    """Return tokens of any kind as spans in UTF-8."""
    encoded = list(map(utf8, tokens))
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

    Each token is compared, byte by byte, with the one in its place of a hash table; those that differ
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
    """Return which of the pairs that are equal in length and in the first eight bytes are equal in all bytes."""
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
