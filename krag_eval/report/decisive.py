"""Which of all values decide."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval.comparison import DECISIVE_METRICS
from krag_eval.results import EvaluationResult


def decisive_keys(results: Sequence[EvaluationResult]) -> list[str]:
    """Recall, MRR and nDCG at the largest cut-off, or whatever else all results have there."""
    keys = [key for key in results[0].tally.means if all(key in result for result in results)]
    decisive = [key for key in keys if key.partition("@")[0] in DECISIVE_METRICS] or keys
    last = decisive[-1].partition("@")[2] if decisive else ""
    return [key for key in decisive if key.partition("@")[2] == last]
