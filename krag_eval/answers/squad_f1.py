"""The F1 of the tokens of two answers, as SQuAD counts them."""

from __future__ import annotations

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def squad_f1(pairs: AnswerPairs) -> FloatArray:
    """The harmonic mean of the shares of tokens that reference and answer have in common: the F1 of SQuAD v1.1.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F1        = 2 precision recall / (precision + recall)

    A token counts as often as both have it. Tokens are those of `squad_tokens`.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better.

    Edge cases:
        * No token in common: 0, also where both have none (SQuAD v2 gives 1 for two empty answers).

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264; the evaluation script of SQuAD v1.1, word for word.

    >>> squad_f1(AnswerPairs(["the last three days"], ["three days"])).tolist()
    [0.8]
    """
    return pairs.squad.f_measure("rouge1")
