"""Whether two answers are the same to SQuAD."""

from __future__ import annotations

import numpy as np

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def squad_exact_match(pairs: AnswerPairs) -> FloatArray:
    """Whether reference and answer are the same after SQuAD's normalising: the "EM" of SQuAD v1.1.

        EM = 1 if the tokens of both (see `squad_tokens`) are the same, else 0

    Shape: (n_pairs,), float64. Values: 0 and 1, higher is better.

    Edge cases:
        * Both are nothing but articles and punctuation: 1, as in SQuAD.
        * Text without spaces (Chinese, Japanese, Thai) is one token, and punctuation beyond ASCII counts: use
          `exact_match` there.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264; the evaluation script of SQuAD v1.1, word for word.

    >>> squad_exact_match(AnswerPairs(["Three days", "three days"], ["the three days.", "days"])).tolist()
    [1.0, 0.0]
    """
    return pairs.squad.same().astype(np.float64)
