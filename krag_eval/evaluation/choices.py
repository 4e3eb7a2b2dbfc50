"""What arguments can be that are one of a few words, for those who list them: a command line completes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from krag_eval._utils.limits import DEFAULT_LIMITS
from krag_eval.datasets.formats.registry import formats, written_formats
from krag_eval.datasets.question import LEVELS
from krag_eval.datasets.run import FLATTENED
from krag_eval.documents.id_maps import ID_MAPS
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval.matching.settings import CHOICES, MATCH_METHODS
from krag_eval.metrics import ALL_METRICS, METRICS

CHOICES_OF: Mapping[str, Iterable[str] | Callable[[], Iterable[str]]] = {
    **CHOICES,
    "flatten": FLATTENED,
    "id_map": ID_MAPS,
    "level": LEVELS,
    "limits": DEFAULT_LIMITS,
    "match_method": MATCH_METHODS,
    "metrics": ALL_METRICS,
    "read_format": formats,
    "repeated": ("error", "first", "last"),
    "tokenizer": TOKENIZERS,
    "usual_metrics": METRICS,
    "written_format": written_formats,
}
"""By argument; of formats, a function that finds them."""
