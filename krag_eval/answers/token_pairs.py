"""Pairs of texts as tokens: how many they share, in any order or in the same one, and whether they are the same."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from krag_eval.columns import BoolArray, FloatArray, IntArray
from krag_eval.matching.batch import number
from krag_eval.matching.overlap import overlap
from krag_eval.matching.rouge import score
from krag_eval.matching.runs import runs
from krag_eval.matching.tokens import NumberedTokens, TokenTable
from krag_eval.tokenizers import Tokenizer


class NumberedTexts(TokenTable):
    """A token table that numbers the tokens of all its texts once, and hands out those asked for."""

    @functools.cached_property
    def everything(self) -> NumberedTokens:
        """The tokens of all texts."""
        return super().numbered(np.arange(len(self)))

    def numbered(self, texts: IntArray) -> NumberedTokens:
        """The tokens of these texts; equal ones have the same number in every call."""
        numbers, offsets, size = self.everything
        lengths = np.diff(offsets)[texts]
        return NumberedTokens(numbers[runs(offsets[texts], lengths)], np.append(0, np.cumsum(lengths)), size)


class TokenPairs:
    """Pairs of a reference and an answer under one tokenizer.

    Args:
        references: The references.
        answers: The answers, one for each reference.
        tokenizer: What makes their tokens; each different text is cut once.
    """

    def __init__(self, references: Sequence[str], answers: Sequence[str], tokenizer: Tokenizer) -> None:
        codes, texts = number(references, answers)
        self._reference, self._answer = codes.actual, codes.predicted
        self._table = NumberedTexts(texts, tokenizer)

    @functools.cached_property
    def _lengths(self) -> IntArray:
        return np.diff(self._table.everything.offsets)

    def shared(self, kind: str) -> IntArray:
        """How many units each pair shares: tokens (`rouge1`), neighbouring two (`rouge2`), in order (`rougeL`)."""
        nothing_needed = np.zeros(len(self._reference), dtype=np.int64)
        return overlap(self._table, kind, self._reference, self._answer, self._lengths, nothing_needed)

    def f_measure(self, kind: str) -> FloatArray:
        """The harmonic mean of the shares that each pair shares, in rouge_score's order of operations.

        Shape: (n_pairs,), from 0 to 1; 0 where one of the two has no units.
        """
        lengths = np.maximum(self._lengths - (kind == "rouge2"), 0)
        return score(self.shared(kind), lengths[self._reference], lengths[self._answer], "fmeasure")

    def has_tokens(self) -> BoolArray:
        """Whether the reference or the answer of each pair has any token; shape (n_pairs,)."""
        some: BoolArray = (self._lengths[self._reference] > 0) | (self._lengths[self._answer] > 0)
        return some

    def same(self) -> BoolArray:
        """Whether reference and answer have the same tokens in the same order; shape (n_pairs,)."""
        numbers, offsets, _ = self._table.everything
        same: BoolArray = self._reference == self._answer
        undecided = ~same & (self._lengths[self._reference] == self._lengths[self._answer])
        for pair in np.flatnonzero(undecided).tolist():
            one, other = (int(offsets[text[pair]]) for text in (self._reference, self._answer))
            length = int(self._lengths[self._reference[pair]])
            same[pair] = np.array_equal(numbers[one : one + length], numbers[other : other + length])
        return same
