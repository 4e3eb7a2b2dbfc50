"""Who matches whom, for a whole batch of queries at once. This room knows nothing of ranks."""

from functools import partial
from operator import methodcaller

from krag_eval.matching.batch import Batch, Found, Matcher, Matches, merge
from krag_eval.matching.containment import match_containment
from krag_eval.matching.rouge import match_rouge, rouge_pairs
from krag_eval.matching.similarity import alike_pairs, match_embedding

__all__ = ["MATCHERS", "Batch", "Matcher", "Matches", "find_matches", "similar_pairs"]

MATCHERS: dict[str, Matcher] = {
    "id": methodcaller("equal_ids"),
    "text": methodcaller("equal_texts"),
    "containment": match_containment,
    "rouge1": partial(match_rouge, kind="rouge1"),
    "rouge2": partial(match_rouge, kind="rouge2"),
    "rougeL": partial(match_rouge, kind="rougeL"),
    "embedding": match_embedding,
}


def find_matches(batch: Batch) -> Matches:
    """The match relation of a batch under its settings; of several methods, the first that holds wins."""
    methods = batch.settings.methods
    return merge([MATCHERS[method](batch) for method in methods], methods, int(batch.actual.offsets[-1]))


def similar_pairs(batch: Batch, method: str, threshold: float, share: float = 1.0) -> Found:
    """Return the pairs whose similarity is at least `threshold`.

    Args:
        batch: The input.
        method: One of `THRESHOLD_METHODS`.
        threshold: The similarity, 0 to 1.
        share: What `similarity_threshold` is multiplied by, where ROUGE has that condition beside it.
    """
    return alike_pairs(batch, threshold) if method == "embedding" else rouge_pairs(batch, method, threshold, share)
