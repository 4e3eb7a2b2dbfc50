"""The metrics: one a file, each a pure function over `Judgments`, and the table that names them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from krag_eval.columns import FloatArray
from krag_eval.metrics.average_precision import average_precision
from krag_eval.metrics.f1 import f1
from krag_eval.metrics.hit_rate import hit_rate, hit_rate_all
from krag_eval.metrics.ndcg import ndcg
from krag_eval.metrics.precision import precision
from krag_eval.metrics.recall import recall
from krag_eval.metrics.reciprocal_rank import reciprocal_rank

__all__ = [
    "METRICS",
    "Metric",
    "average_precision",
    "f1",
    "hit_rate",
    "hit_rate_all",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
]


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called.

    Attributes:
        function: From `Judgments` and a cut-off to one value a query, NaN where it is undefined.
        settings: Keyword arguments of the function, each with the name of the setting that it takes.
        has_micro: Whether it also has a micro value, from summed counts.
    """

    function: Callable[..., FloatArray]
    settings: Mapping[str, str] = field(default_factory=dict)
    has_micro: bool = False

    def bind(self, settings: object) -> Callable[..., FloatArray]:
        """The function with its settings filled in."""
        return functools.partial(
            self.function, **{name: getattr(settings, setting) for name, setting in self.settings.items()}
        )


METRICS: dict[str, Metric] = {
    "hit_rate": Metric(hit_rate),
    "hit_rate_all": Metric(hit_rate_all),
    "mrr": Metric(reciprocal_rank),
    "recall": Metric(recall, has_micro=True),
    "precision": Metric(precision, {"denominator": "precision_denominator"}, has_micro=True),
    "f1": Metric(f1, {"denominator": "precision_denominator"}, has_micro=True),
    "map": Metric(average_precision),
    "ndcg": Metric(ndcg, {"gain": "gain"}),
}
