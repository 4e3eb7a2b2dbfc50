"""The F1 of the tokens of two answers, in any script."""

from __future__ import annotations

import numpy as np

from krag_eval.answers.exact_match import exact_match
from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def token_f1(pairs: AnswerPairs) -> FloatArray:
    """The harmonic mean of the shares of tokens that reference and answer have in common.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F1        = 2 precision recall / (precision + recall)

    A token counts as often as both have it. Texts are normalised and cut as for `exact_match`: under `"words"` each
    Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar character is a token, so that these are not all or nothing.
    Korean words keep their particles under `"words"`; `"kiwi"` (morphemes) and `"characters"` tell them apart.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better.

    Edge cases:
        * No token in common: 0.
        * Neither has a token (only signs): 1 if the normalised texts are the same, else 0, as in `exact_match`.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264, for the formula; characters as tokens as in Cui et al.
    (2019), doi:10.18653/v1/D19-1600. Where we depart from SQuAD is said at `exact_match`.

    >>> token_f1(AnswerPairs(["北京市"], ["北京"])).tolist()
    [0.8]
    """
    return np.where(pairs.tokens.has_tokens(), pairs.tokens.f_measure("rouge1"), exact_match(pairs))
