"""Who matches whom, for a whole batch of queries at once. This room knows nothing of ranks."""

from __future__ import annotations

from functools import partial
from operator import methodcaller

from krag_eval.matching.batch import Batch, Found, Matcher, Matches, match_spans, merge
from krag_eval.matching.containment import match_containment
from krag_eval.matching.embedding import alike_pairs, only_alike
from krag_eval.matching.rouge import pairs_above
from krag_eval.matching.settings import THRESHOLD_METHODS

__all__ = ["MATCHERS", "Batch", "Matcher", "Matches", "find_matches", "similar_pairs"]


def find_matches(batch: Batch) -> Matches:
    """Return the match relation of a batch under its settings; of several methods, the first that holds wins."""
    methods = batch.settings.methods
    return merge([MATCHERS[method](batch) for method in methods], methods, int(batch.actual.offsets[-1]))


def similar_pairs(batch: Batch, method: str, threshold: float | None = None, share: float = 1.0) -> Found:
    """Return the pairs whose similarity is at least a threshold.

    Args:
        batch: The input.
        method: One of `THRESHOLD_METHODS`.
        threshold: The similarity, from 0 to 1; by default that of the settings.
        share: What `similarity_threshold` is multiplied by if ROUGE has that condition beside it. Two texts that ROUGE
            tells apart are not embedded.
    """
    if threshold is None:
        threshold = batch.settings.thresholds[method]
    if method == "embedding":
        return alike_pairs(batch, threshold)
    if method == "span":
        return match_spans(batch, threshold)
    found = pairs_above(batch, method, threshold)
    besides = batch.settings.similarity_threshold
    return found if besides is None else only_alike(batch, found, share * besides)


MATCHERS: dict[str, Matcher] = {
    "id": methodcaller("equal_ids"),
    "text": methodcaller("equal_texts"),
    "containment": match_containment,
    **{method: partial(similar_pairs, method=method) for method in THRESHOLD_METHODS},
}
