"""Match texts by embeddings: by their cosine under the model of the settings.

Each unique text is embedded once. A similarity is the cosine, rounded to six decimals and 0 where it is negative;
equal normalized texts have 1. It follows from the two vectors of a pair without rounding on the way (see `cosines`), so
it does not depend on the other pairs. Six decimals are more than the last bits of a model are worth, which may change
with the texts that it was given together.
"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval._utils.errors import Argument, InvalidInputError
from krag_eval.documents.columns import MISSING
from krag_eval.documents.embeddings import EmbeddedTexts
from krag_eval.matching.batch import Batch, Found

_DECIMALS = 6
_NO_SIMILARITY = -1.0


def alike_pairs(batch: Batch, threshold: float) -> Found:
    """Return the pairs whose cosine is at least `threshold`; a text without a vector is similar to nothing."""
    embedded = _model_of(batch)
    rows = _rows(batch, embedded, np.arange(len(batch.unique_texts)))
    found: list[Found] = []
    for pairs in batch.pair_blocks():
        similarity = _similarity(batch, embedded, rows, pairs.actual, pairs.predicted)
        found.append(Found(*pairs, similarity).only(similarity >= threshold))
    return Found.joined(found)


def only_alike(batch: Batch, found: Found, threshold: float) -> Found:
    """Return the pairs of another method whose cosine is at least `threshold`, with their own similarity.

    Only the texts of these pairs are embedded.
    """
    embedded = _model_of(batch)
    texts = np.unique(np.concatenate([batch.texts.actual[found.actual], batch.texts.predicted[found.predicted]]))
    rows = _rows(batch, embedded, texts)
    return found.only(_similarity(batch, embedded, rows, found.actual, found.predicted) >= threshold)


def _model_of(batch: Batch) -> EmbeddedTexts:
    embedded = batch.settings.embedded
    if embedded is None:
        raise InvalidInputError(
            "No embedding model was given. Give ", Argument("embeddings"), ", or match by another method."
        )
    return embedded


def _rows(batch: Batch, embedded: EmbeddedTexts, texts: IntArray) -> IntArray:
    """Return the row of each unique text among the vectors; `MISSING` if it was not asked for or is empty."""
    asked = [number for number in texts.tolist() if batch.normal_forms[number]]
    rows = np.full(len(batch.unique_texts) + 1, MISSING)  # a missing text has the code -1: the last place
    rows[asked] = embedded.rows_of([batch.unique_texts[number] for number in asked])
    return rows


def _similarity(
    batch: Batch, embedded: EmbeddedTexts, rows: IntArray, actual: IntArray, predicted: IntArray
) -> FloatArray:
    """Return the similarity of each pair, from 0 to 1; below 0 where one of the two has no vector."""
    left, right = rows[batch.texts.actual[actual]], rows[batch.texts.predicted[predicted]]
    known = np.flatnonzero((left != MISSING) & (right != MISSING))
    cosine = np.clip(np.round(embedded.cosines(left[known], right[known]), _DECIMALS), 0, 1)
    forms = batch.normal_texts
    cosine[forms.actual[actual[known]] == forms.predicted[predicted[known]]] = 1
    similarity = np.full(len(actual), _NO_SIMILARITY)
    similarity[known] = cosine
    return similarity
