"""ROUGE-L of an answer."""

from __future__ import annotations

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def rouge_l(pairs: AnswerPairs) -> FloatArray:
    """ROUGE-L: the F-measure of the longest common subsequence of tokens.

        precision = length of the subsequence / tokens of the answer
        recall    = length of the subsequence / tokens of the reference
        F         = 2 precision recall / (precision + recall)

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has no tokens.

    Source: Lin (2004), https://aclanthology.org/W04-1013, section 3.1. Equal to rouge_score 0.1.2 to the last bit for
    the same tokens.

    >>> rouge_l(AnswerPairs(["three working days"], ["days three working"])).tolist() == [2 / 3]
    True
    """
    return pairs.rouge.f_measure("rougeL")
