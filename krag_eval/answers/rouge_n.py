"""ROUGE-1 and ROUGE-2 of an answer."""

from __future__ import annotations

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def rouge1(pairs: AnswerPairs) -> FloatArray:
    """ROUGE-1: the F-measure of the tokens that reference and answer share.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F         = 2 precision recall / (precision + recall)

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has no tokens.

    Source: Lin (2004), https://aclanthology.org/W04-1013. Equal to rouge_score 0.1.2 to the last bit for the same
    tokens, those of its own tokenizer under `tokenizer="rouge_score"`.

    >>> rouge1(AnswerPairs(["within three days"], ["three days"])).tolist()
    [0.8]
    """
    return pairs.rouge.f_measure("rouge1")


def rouge2(pairs: AnswerPairs) -> FloatArray:
    """ROUGE-2: the same of each two neighbouring tokens.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has fewer than two tokens.

    Source: as `rouge1`.

    >>> rouge2(AnswerPairs(["in three days"], ["three days"])).tolist() == [2 / 3]
    True
    """
    return pairs.rouge.f_measure("rouge2")
