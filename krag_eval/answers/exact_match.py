"""Whether two answers are the same, in any script."""

from __future__ import annotations

from operator import eq

import numpy as np

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray


def exact_match(pairs: AnswerPairs) -> FloatArray:
    """Whether reference and answer have the same tokens in the same order after normalising.

        EM = 1 if the tokens of both are the same, else 0

    Texts are normalised (NFKC, casefold, zero-width characters dropped) and cut by the tokenizer of the settings.
    Under `"words"` neither punctuation of any script nor spaces between characters of scripts without spaces count;
    under `"characters"` no spaces at all, which suits Korean, where the spacing varies.

    Shape: (n_pairs,), float64. Values: 0 and 1, higher is better.

    Edge cases:
        * Neither has a token (only signs): 1 if the normalised texts are the same.
        * One has none: 0.

    Where we depart from SQuAD: no articles are dropped, for no language is assumed, and punctuation parts words
    instead of joining them, so that 2.5 is not 25. `squad_exact_match` is SQuAD's.

    >>> exact_match(AnswerPairs(["３일 이내。", "北京", "2.5"], ["3일 이내", "北 京！", "25"])).tolist()
    [1.0, 1.0, 0.0]
    """
    alike = np.fromiter(map(eq, pairs.normal_references, pairs.normal_answers), bool, len(pairs))
    return np.where(pairs.tokens.has_tokens(), pairs.tokens.same(), alike).astype(np.float64)
