"""The tokens of many texts: hashed in bulk, and exact where exactness is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.matching.runs import runs
from krag_eval.matching.spans import Spans, Words, ascii_words, hash_spans, number_spans, token_spans
from krag_eval.tokenizers import (
    CharacterTokenizer,
    RougeScoreTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)
from krag_eval.tokenizing import tokenize_all

_TEXTS_AT_ONCE = 256  # what is cut and hashed at once stays in the processor's cache
_CHARACTERS_AT_ONCE = 1 << 22
# Tokenizing again costs less than keeping the tokens; a user's own or Kiwi's tokens are made once and kept.
_CHEAP = (CharacterTokenizer, RougeScoreTokenizer, WhitespaceTokenizer, WordTokenizer)


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


class TokenTable:
    """The tokens of numbered texts.

    Args:
        texts: The texts; their places are their numbers.
        tokenizer: What makes their tokens.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer) -> None:
        self._texts = texts
        self._tokenizer = tokenizer
        self._knows_ascii = type(tokenizer) in (WordTokenizer, RougeScoreTokenizer)
        self._kept: dict[int, list[str]] | None = None if type(tokenizer) in _CHEAP else {}
        self._same_token: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def hashed(self) -> Iterator[HashedTokens]:
        """The hashed tokens of all texts, some thousand texts at a time."""
        for start, stop in self._chunks():
            ascii_texts, others = self._split(np.arange(start, stop))
            if len(ascii_texts):
                spans, offsets = ascii_words([self._texts[number] for number in ascii_texts.tolist()])
                yield HashedTokens(ascii_texts, hash_spans(spans), offsets)
            if len(others):
                vocabulary, places, offsets = _vocabulary(self._tokenize(others.tolist()))
                yield HashedTokens(others, hash_spans(token_spans(vocabulary))[places], offsets)

    def numbered(self, texts: IntArray) -> NumberedTokens:
        """The tokens of these texts, numbered by comparing them whole."""
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
        """The texts whose words can be cut as ASCII bytes, and the others."""
        if not self._knows_ascii:
            return texts[:0], texts
        is_ascii = np.fromiter((self._texts[number].isascii() for number in texts.tolist()), bool, len(texts))
        return texts[is_ascii], texts[~is_ascii]

    def _tokenize(self, texts: list[int]) -> list[list[str]]:
        """The tokens of these texts, from the tokenizer or from what was kept."""
        if self._kept is None:
            return list(tokenize_all(self._tokenizer, [self._texts[number] for number in texts]))
        new = [number for number in texts if number not in self._kept]
        rows = tokenize_all(self._tokenizer, [self._texts[number] for number in new])
        same = self._same_token
        self._kept.update((number, [same.setdefault(t, t) for t in row]) for number, row in zip(new, rows, strict=True))
        return [self._kept[number] for number in texts]

    def _chunks(self) -> Iterator[tuple[int, int]]:
        ends = np.cumsum(np.fromiter(map(len, self._texts), np.int64, len(self._texts)))
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _CHARACTERS_AT_ONCE, side="right"))
            stop = min(max(stop, start + 1), start + _TEXTS_AT_ONCE, len(ends))
            yield start, stop
            start = stop


class _Numbers(dict[str, int]):
    """Each token's number; a new token gets the next one."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number


def _vocabulary(rows: list[list[str]]) -> tuple[list[str], IntArray, IntArray]:
    """The different tokens of all rows, the place of each token in them, and where each row begins."""
    numbers = _Numbers()
    places = [np.fromiter(map(numbers.__getitem__, row), np.int64, len(row)) for row in rows]
    offsets = np.append(0, np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows))))
    return list(numbers), np.concatenate([np.empty(0, np.int64), *places]), offsets
