"""The tokens of many texts as integers, and the units that ROUGE counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.tokenizers import Tokenizer, tokenize_all


class _Vocabulary(dict[str, int]):
    """Each token's number; a new token gets the next one."""

    def __missing__(self, token: str) -> int:
        self[token] = len(self)
        return len(self) - 1


@dataclass(slots=True)
class TokenTable:
    """The tokens of unique texts as numbers; text `i` has `numbers[offsets[i]:offsets[i + 1]]`.

    Attributes:
        numbers: Token numbers of all texts, one after the other.
        offsets: Shape (n_texts + 1,).
        vocabulary_size: How many different tokens there are.
    """

    numbers: IntArray
    offsets: IntArray
    vocabulary_size: int

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Tokenizer) -> TokenTable:
        """Tokenize each text once."""
        vocabulary = _Vocabulary()
        rows = [np.fromiter(map(vocabulary.__getitem__, t), np.int64, len(t)) for t in tokenize_all(tokenizer, texts)]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.int64), *rows]), offsets, len(vocabulary))

    @property
    def lengths(self) -> IntArray:
        """Tokens of each text."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Units:
    """What one kind of ROUGE counts: tokens (rouge1, rougeL) or bigrams (rouge2), as numbers.

    Attributes:
        numbers: Unit numbers of all texts, one after the other.
        offsets: Shape (n_texts + 1,).
        in_order: Whether the order of the units counts, as it does for rougeL.
    """

    numbers: IntArray
    offsets: IntArray
    in_order: bool

    @classmethod
    def of(cls, tokens: TokenTable, kind: str) -> Units:
        """The units of `rouge1`, `rouge2` or `rougeL`."""
        if kind != "rouge2":
            return cls(tokens.numbers, tokens.offsets, in_order=kind == "rougeL")
        lengths = np.maximum(tokens.lengths - 1, 0)
        offsets = np.append(0, np.cumsum(lengths))
        first = np.arange(offsets[-1]) + np.repeat(tokens.offsets[:-1] - offsets[:-1], lengths)
        pairs = tokens.numbers[first] * tokens.vocabulary_size + tokens.numbers[first + 1]
        return cls(pairs, offsets, in_order=False)

    @property
    def lengths(self) -> IntArray:
        """Units of each text."""
        return np.diff(self.offsets)

    def of_text(self, text: int) -> IntArray:
        """The units of one text, in order."""
        return self.numbers[self.offsets[text] : self.offsets[text + 1]]
