"""The vectors of texts under one model: each is asked for once, and kept while there is room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krag_eval.columns import MISSING, BoolArray, FloatArray, IntArray
from krag_eval.embeddings import check_embeddings, cosines, embed
from krag_eval.errors import InvalidInputError

# Numbers that are kept from one batch of queries for the next: 256 MB. One batch may need more.
_KEPT = 1 << 25


class EmbeddedTexts:
    """What a model said of texts, for one thread at a time.

    Args:
        embeddings: The model, as `krag_eval.embeddings.check_embeddings` reads it.
        prefix: What is put before each text.

    Raises:
        InvalidInputError: `embeddings` is no model.
    """

    def __init__(self, embeddings: object, prefix: str = "") -> None:
        check_embeddings(embeddings)
        self._embeddings = embeddings
        self._prefix = prefix
        self._rows: dict[str, int] = {}
        self._vectors: FloatArray = np.zeros((0, 0))
        self._n_used = 0

    def rows_of(self, texts: Sequence[str]) -> IntArray:
        """The row of each text, `MISSING` where its vector is zero; texts that are not known are embedded together.

        Rows that were given out before may no longer hold.

        Raises:
            InvalidInputError: The model raised, or returned something that cannot be used.
        """
        unknown = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if unknown and (self._n_used + len(unknown)) * self._vectors.shape[1] > _KEPT:
            self._rows.clear()
            self._n_used = 0
            unknown = list(dict.fromkeys(texts))
        if unknown:
            self._take_in(unknown, embed(unknown, self._embeddings, prefix=self._prefix))
        return np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))

    def have_no_direction(self, texts: Sequence[str]) -> BoolArray:
        """Whether the model was asked for a text and returned a vector of zeros."""
        zero = (self._rows.get(text) == MISSING and not text.isspace() for text in texts)
        return np.fromiter(zero, bool, len(texts))

    def cosines(self, left: IntArray, right: IntArray) -> FloatArray:
        """The cosine of pairs of rows; see `krag_eval.embeddings.cosines`."""
        return cosines(self._vectors, left, right)

    def _take_in(self, texts: list[str], vectors: FloatArray) -> None:
        has_direction = vectors.any(axis=1)
        rows = np.where(has_direction, np.cumsum(has_direction) - 1 + self._n_used, MISSING)
        vectors = vectors[has_direction]
        needed = self._n_used + len(vectors)
        if self._n_used and len(vectors) and vectors.shape[1] != self._vectors.shape[1]:
            raise InvalidInputError(
                f"The embedding model returned vectors of dimension {vectors.shape[1]}, and of "
                f"{self._vectors.shape[1]} before. All vectors of a model must have the same dimension."
            )
        if not self._n_used:
            self._vectors = vectors
        else:
            if needed > len(self._vectors):
                more = np.zeros((max(needed, 2 * self._n_used) - self._n_used, self._vectors.shape[1]))
                self._vectors = np.concatenate([self._vectors[: self._n_used], more])
            self._vectors[self._n_used : needed] = vectors
        self._n_used = needed
        self._rows.update(zip(texts, rows.tolist(), strict=True))


def embedded_texts(embeddings: object, prefix: object, needed_by: str) -> EmbeddedTexts:
    """What keeps the vectors of a model that has to be there.

    Raises:
        InvalidInputError: There is no model, or it cannot be read, or the prefix is no string.
    """
    if embeddings is None:
        raise InvalidInputError(
            f"{needed_by} needs an embedding model, and `embeddings` was not given. Give a LangChain `Embeddings`, a "
            "LlamaIndex embedding model, an object with `encode(texts)`, or a function from a list of texts to vectors."
        )
    if not isinstance(prefix, str):
        raise InvalidInputError(f"`embedding_prefix` must be a string such as 'passage: ', got {prefix!r:.60}.")
    return EmbeddedTexts(embeddings, prefix)
