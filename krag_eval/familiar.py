"""The keys and the hit rate that users of the package krag know."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval.aggregate import key_of
from krag_eval.checks import check_cut_offs, one_of
from krag_eval.errors import InvalidInputError
from krag_eval.results import EvaluationResult
from krag_eval.settings import AveragingMethod, MatchingCriteria

FAMILIAR_METRICS = ("hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg")


class Familiar:
    """The keys and the hit rate that users of the package krag know.

    Attributes:
        averaging: Which means recall, precision and F1 have.
        criteria: What the hit rate means.
    """

    def __init__(self, averaging_method: str, matching_criteria: str) -> None:
        self.averaging = AveragingMethod(one_of("averaging_method", averaging_method, list(AveragingMethod)))
        self.criteria = MatchingCriteria(one_of("matching_criteria", matching_criteria, list(MatchingCriteria)))

    def metrics(self, names: Sequence[str]) -> list[str]:
        """The names in `METRICS` for these names."""
        return [self._own_name(name) for name in names]

    def values(self, result: EvaluationResult, k: int | None, names: Sequence[str]) -> dict[str, float | None]:
        """The values under the familiar keys, without the cut-off."""
        values: dict[str, float | None] = {}
        for name in names:
            key = key_of(self._own_name(name), k)
            if f"micro_{key}" not in result:
                values[name] = result[key]
                continue
            if self.averaging != AveragingMethod.MACRO:
                values[f"micro_{name}"] = result[f"micro_{key}"]
            if self.averaging != AveragingMethod.MICRO:
                values[f"macro_{name}"] = result[key]
        return values

    def _own_name(self, name: str) -> str:
        return "hit_rate_all" if name == "hit_rate" and self.criteria == MatchingCriteria.ALL else name


def check_one_cut_off(k: object) -> None:
    """A dict without cut-offs in its keys can hold one only.

    Raises:
        InvalidInputError: `k` is no single cut-off.
    """
    if len(check_cut_offs(k)) != 1 or isinstance(k, (list, tuple, range)):
        raise InvalidInputError(f"`k` must be one integer here, got {k!r:.60}. For several use `evaluate(..., k={k})`.")
