"""Pairs of texts under one tokenizer: how similar they are by ROUGE, and which have the same tokens."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval._utils.arrays import BoolArray, FloatArray, np
from krag_eval.documents.tokenizers import Tokenizer
from krag_eval.matching.batch import number
from krag_eval.matching.lines import line_hits
from krag_eval.matching.overlap import BY_LINE, UNIT_OF, overlap
from krag_eval.matching.rouge import score
from krag_eval.matching.tokens import NumberedTexts


class TokenPairs:
    """Pairs of a reference and an answer; each different text is cut into tokens once.

    Args:
        references: The references.
        answers: The answers, one for each reference.
        tokenizer: What makes the tokens.

    >>> from krag_eval.documents.tokenizers import TOKENIZERS
    >>> TokenPairs(["in three days"], ["three days"], TOKENIZERS["words"]).f_measure("rouge1").tolist()
    [0.8]
    """

    def __init__(self, references: Sequence[str], answers: Sequence[str], tokenizer: Tokenizer) -> None:
        codes, texts = number(references, answers)
        self._reference, self._answer = codes.actual, codes.predicted
        self._texts, self._tokenizer = texts, tokenizer
        self._table = NumberedTexts(texts, tokenizer)
        self._f_measures: dict[str, FloatArray] = {}

    def f_measure(self, kind: str) -> FloatArray:
        """Return ROUGE's F-measure of each pair, in rouge_score's order of operations; `kind` is a key of `UNIT_OF`.

        Shape: (n_pairs,), from 0 to 1; 0 where one of the two has no units.
        """
        if kind not in self._f_measures:
            self._f_measures[kind] = self._f_measure(kind)
        return self._f_measures[kind]

    def _f_measure(self, kind: str) -> FloatArray:
        if UNIT_OF[kind] == BY_LINE:
            one, other = ([self._texts[text] for text in side.tolist()] for side in (self._reference, self._answer))
            return score(*line_hits(one, other, self._tokenizer), "fmeasure")
        n_tokens = np.diff(self._table.everything.offsets)
        needed = np.zeros(len(self._reference), dtype=np.int64)
        shared = overlap(self._table, kind, self._reference, self._answer, n_tokens, needed)
        n_units = np.maximum(n_tokens - (UNIT_OF[kind] - 1), 0)
        return score(shared, n_units[self._reference], n_units[self._answer], "fmeasure")

    def same(self) -> BoolArray:
        """Return whether the two texts of each pair have the same tokens in the same order; shape (n_pairs,)."""
        numbers, offsets, _ = self._table.everything
        lengths = np.diff(offsets)
        same: BoolArray = self._reference == self._answer
        for pair in np.flatnonzero(~same & (lengths[self._reference] == lengths[self._answer])).tolist():
            one, other = (
                numbers[offsets[text] : offsets[text + 1]] for text in (self._reference[pair], self._answer[pair])
            )
            same[pair] = np.array_equal(one, other)
        return same
