"""All pairs that a method with a threshold finds similar, from any threshold on."""

from __future__ import annotations

from krag_eval.matching.batch import Batch
from krag_eval.matching.embedding import alike_pairs, only_alike
from krag_eval.matching.found import Found
from krag_eval.matching.rouge import pairs_above


def match_rouge(batch: Batch, kind: str) -> Found:
    """Pairs whose ROUGE is at least its threshold, and whose cosine is at least `similarity_threshold` if there is one.

    Two texts that ROUGE tells apart are not embedded.
    """
    return similar_pairs(batch, kind, batch.settings.thresholds[kind])


def similar_pairs(batch: Batch, method: str, threshold: float, share: float = 1.0) -> Found:
    """Pairs whose similarity is at least `threshold`.

    Args:
        batch: The input.
        method: One of `THRESHOLD_METHODS`.
        threshold: The similarity, 0 to 1.
        share: What `similarity_threshold` is multiplied by, where ROUGE has that condition beside it.
    """
    if method == "embedding":
        return alike_pairs(batch, threshold)
    found = pairs_above(batch, method, threshold)
    besides = batch.settings.similarity_threshold
    return found if besides is None else only_alike(batch, found, share * besides)
