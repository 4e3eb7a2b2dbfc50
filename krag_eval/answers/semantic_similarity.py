"""How near an answer comes to a reference in meaning, by an embedding model."""

from __future__ import annotations

import numpy as np

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.columns import FloatArray
from krag_eval.embeddings import cosines, embed
from krag_eval.errors import InvalidInputError
from krag_eval.matching.batch import number


def semantic_similarity(pairs: AnswerPairs) -> FloatArray:
    """The cosine of the normalised embeddings of reference and answer.

        similarity = sum over dimensions of reference * answer, both of length 1

    Each different text is embedded once, references and answers together. What a value means depends on the model:
    unrelated texts have 0.1 under one and 0.7 under another. Compare systems under one model, not values across models.

    Shape: (n_pairs,), float64. Range: -1 to 1, higher is better.

    Edge cases:
        * A text of white space, or one for which the model gives zeros: 0.

    Source: the cosine of sentence embeddings as in Reimers & Gurevych (2019), doi:10.18653/v1/D19-1410.

    Raises:
        InvalidInputError: The settings name no embedding model, or it fails.
    """
    settings = pairs.settings
    if settings.embeddings is None:
        raise InvalidInputError(
            "`semantic_similarity` needs an embedding model, and none was given. Pass embeddings=..., such as a "
            "LangChain `Embeddings`, a LlamaIndex embedding model or a function from a list of texts to vectors."
        )
    codes, texts = number(pairs.references, pairs.answers)
    if not texts:
        return np.empty(0)
    return cosines(embed(texts, settings.embeddings, prefix=settings.embedding_prefix), codes.actual, codes.predicted)
