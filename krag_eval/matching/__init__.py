"""Who matches whom, for a whole batch of queries at once. This room knows nothing of ranks."""

from functools import partial

from krag_eval.matching.batch import Batch, Matcher, Matches, merge
from krag_eval.matching.exact import match_containment, match_ids, match_texts
from krag_eval.matching.similarity import match_embedding, match_rouge

__all__ = ["MATCHERS", "Batch", "Matcher", "Matches", "find_matches"]

MATCHERS: dict[str, Matcher] = {
    "id": match_ids,
    "text": match_texts,
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
