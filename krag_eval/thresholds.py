"""From which similarity two texts match, under each of the methods that measure one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krag_eval.checks import check_threshold, one_of

ROUGE_METHODS = ("rouge1", "rouge2", "rougeL")
THRESHOLD_METHODS = (*ROUGE_METHODS, "embedding")
DEFAULT_THRESHOLD = 0.5
"""Of ROUGE."""
DEFAULT_SIMILARITY_THRESHOLD = 0.7
"""Of cosines: under many models unrelated texts have 0.3 to 0.6."""
USUAL_THRESHOLDS: Mapping[str, float] = {
    **dict.fromkeys(ROUGE_METHODS, DEFAULT_THRESHOLD),
    "embedding": DEFAULT_SIMILARITY_THRESHOLD,
}
"""The threshold of each method where none is given; it may be passed whatever the methods in use are."""


def check_thresholds(given: object, methods: Sequence[str]) -> dict[str, float]:
    """The threshold of each method that is in use; the default of those that a mapping does not name.

    Args:
        given: One for all, or a mapping from methods to theirs.
        methods: The methods in use.

    Raises:
        InvalidInputError: One is no number from 0 to 1, or of a method that is not in use.
    """
    per_method = given if isinstance(given, Mapping) else dict.fromkeys(methods, given)
    if given != USUAL_THRESHOLDS:
        for name in per_method:
            one_of("threshold", name, methods)
    used = [method for method in methods if method in THRESHOLD_METHODS or method in per_method]
    return {method: check_threshold(per_method.get(method, USUAL_THRESHOLDS.get(method))) for method in used}
