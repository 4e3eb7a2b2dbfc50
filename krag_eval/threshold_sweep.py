"""Every metric over the threshold from which two texts match: the similarities are computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval.aggregate import Tally
from krag_eval.checks import GivenCutOff, check_cut_offs, check_threshold
from krag_eval.errors import InvalidInputError, needing
from krag_eval.judgments import judge
from krag_eval.matching import MATCHERS
from krag_eval.matching.found import Found
from krag_eval.matching.matches import merge
from krag_eval.measurement import MetricFunction, MetricTable, choose_metrics, keys_of, signature_of, values_of
from krag_eval.numerals import format_value
from krag_eval.pipeline import Judged, read_batch
from krag_eval.results import EvaluationResult
from krag_eval.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.supply import Supply
from krag_eval.thresholds import THRESHOLD_METHODS, USUAL_THRESHOLDS
from krag_eval.token_budgets import ranks_within
from krag_eval.wrong_names import TellsAttributes, tell_names

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_THRESHOLDS = tuple(n / 20 for n in range(4, 20))  # 0.2 to 0.95
# A result is fragile where it moves by more than this within this distance of the threshold in use.
FRAGILE_MOVE, FRAGILE_DISTANCE = 0.05, 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(TellsAttributes):
    """Every metric at every threshold.

    Attributes:
        thresholds: The thresholds, ascending.
        values: For each key, such as `recall@5` or `micro_recall@5`, its value at each threshold.
        in_use: The threshold that is in use; the values around it decide what is fragile.
        fragile: The keys that move by more than 0.05 within 0.05 of the threshold in use, with how far they move.
        signature: The settings, with the threshold in use.
    """

    _value_of = "sweep.values[{}]"

    thresholds: tuple[float, ...]
    values: Mapping[str, tuple[float | None, ...]]
    in_use: float
    fragile: Mapping[str, float]
    signature: str

    def at(self, threshold: float) -> dict[str, float | None]:
        """All values at one of the thresholds.

        Raises:
            InvalidInputError: It is none of them.
        """
        if threshold not in self.thresholds:
            raise InvalidInputError(
                f"{threshold!r:.40} was not swept. The thresholds are: {', '.join(map(str, self.thresholds))}."
            )
        place = self.thresholds.index(threshold)
        return {key: column[place] for key, column in self.values.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "signature": self.signature,
            "thresholds": list(self.thresholds),
            "values": {key: list(column) for key, column in self.values.items()},
            "in_use": self.in_use,
            "fragile": dict(self.fragile),
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row a threshold, one column a key; NaN where a value is undefined. Needs pandas."""
        with needing("sweep.to_pandas()", "pandas", "pandas"):
            import pandas as pd
        index = pd.Index(self.thresholds, name="threshold")
        return pd.DataFrame({key: list(column) for key, column in self.values.items()}, index=index, dtype="float64")

    def __repr__(self) -> str:
        keys = [key for key in self.values if not key.startswith("micro_")]
        width = max(map(len, keys))
        lines = [f"Sweep of {len(self.thresholds)} thresholds, {self.in_use} in use"]
        for first in range(0, len(self.thresholds), 8):
            part = range(first, min(first + 8, len(self.thresholds)))
            lines.append(" ".join([" " * (width + 2), *(f"{_short(self.thresholds[i]):>6}" for i in part)]))
            for key in keys:
                cells = (f"{format_value(self.values[key][i], 3):>6}" for i in part)
                lines.append(" ".join([f"  {key:<{width}}", *cells]))
        for key, move in self.fragile.items():
            lines.append(f"  fragile: {key} moves by {move:.3f} within {FRAGILE_DISTANCE} of the threshold in use")
        return "\n".join([*lines, f"  {self.signature}"])


@tell_names
def sweep(
    actual: object,
    predicted: object,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    k: int | str | Sequence[int | str | None] | None = 10,
    *,
    in_use: float | None = None,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    **settings: Unpack[ScoringSettings],
) -> Sweep:
    """Score the same rankings at many thresholds from one matching pass.

    Args:
        actual: The gold documents of each query: a list of lists.
        predicted: The retrieved documents of each query, best first.
        thresholds: Thresholds from 0 to 1, in any order; the one in use and those 0.05 around it are added.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        in_use: The threshold whose neighbourhood decides what is fragile; by default that of the first method which
            has one: 0.5 for ROUGE, 0.7 for embeddings.
        metrics: Names of `METRICS`, or functions; all by default.
        **settings: The scoring settings that `evaluate` takes, without `threshold`; `match_method` is `"rougeL"` by
            default and must have a ROUGE method or `"embedding"` in it. Of several, all share the threshold.

    Raises:
        InvalidInputError: No method has a threshold, or something given cannot be used.

    >>> swept = sweep([["a b c d"]], [["a b c x"]], [0.7, 0.8], k=1, in_use=0.75, metrics="recall")
    >>> swept.thresholds, swept.values["recall@1"], swept.fragile["recall@1"]
    ((0.7, 0.75, 0.8), (1.0, 1.0, 0.0), 1.0)
    """
    cut_offs = check_cut_offs(k)
    if "threshold" in settings:
        raise InvalidInputError("`sweep` sets the threshold itself. Give `thresholds`, and `in_use` for your own.")
    given: Any = {"match_method": "rougeL", **settings}
    swept = [method for method in make_settings(**given).methods if method in THRESHOLD_METHODS]
    if not swept:
        raise InvalidInputError(
            f"match_method={given['match_method']!r:.60} has no threshold to sweep. "
            f"Use one of {', '.join(THRESHOLD_METHODS)}, alone or in a list."
        )
    in_use = check_threshold(USUAL_THRESHOLDS[swept[0]] if in_use is None else in_use, "in_use")
    chosen = _check_thresholds(thresholds, in_use)
    lowest = make_settings(threshold=chosen[0], **given)
    table = choose_metrics(metrics, lowest)
    batch = read_batch(actual, predicted, lowest)
    found = {method: MATCHERS[method](batch) for method in lowest.methods}
    columns: dict[str, list[float | None]] = {}
    for threshold in chosen:
        kept = [_at_least(f, threshold) if method in THRESHOLD_METHODS else f for method, f in found.items()]
        matches = merge(kept, lowest.methods, int(batch.actual.offsets[-1]))
        judged = Judged(batch, matches, judge(batch, matches), Supply.empty())
        if threshold == chosen[0]:
            Supply.of(batch, matches).check(lowest)
        for key, value in _means(judged, cut_offs, table).items():
            columns.setdefault(key, []).append(value)
    values = {key: tuple(column) for key, column in columns.items()}
    signature = signature_of(make_settings(threshold=in_use, **given), cut_offs, MatchingCriteria.PARTIAL)
    return Sweep(chosen, values, float(in_use), _fragile(chosen, values, in_use, keys_of(table, cut_offs)), signature)


def _check_thresholds(thresholds: object, in_use: float) -> tuple[float, ...]:
    if isinstance(thresholds, (str, bytes)) or not isinstance(thresholds, Sequence) or not thresholds:
        raise InvalidInputError(f"`thresholds` must be a list of numbers from 0 to 1, got {thresholds!r:.60}.")
    around = [in_use, max(0.0, round(in_use - FRAGILE_DISTANCE, 12)), min(1.0, round(in_use + FRAGILE_DISTANCE, 12))]
    return tuple(sorted({*(check_threshold(t, "thresholds") for t in thresholds), *around}))


def _at_least(found: Found, threshold: float) -> Found:
    keep = found.similarity >= threshold
    return Found(found.actual[keep], found.predicted[keep], found.similarity[keep])


def _means(judged: Judged, cut_offs: Sequence[GivenCutOff], table: MetricTable) -> dict[str, float | None]:
    ranks = ranks_within(cut_offs, judged.batch)
    values = values_of(judged, ranks, table)
    tally = Tally.of(values, cut_offs)
    tally.add(judged.judgments, values, ranks, judged.batch.settings.precision_denominator)
    return EvaluationResult("", tally, {}, {}, None).to_dict()


def _fragile(
    thresholds: Sequence[float], values: Mapping[str, tuple[float | None, ...]], in_use: float, keys: Sequence[str]
) -> dict[str, float]:
    """How far each mean moves near the threshold in use, where that is too far."""
    near = [i for i, t in enumerate(thresholds) if abs(t - in_use) <= FRAGILE_DISTANCE + 1e-9]
    here = thresholds.index(in_use)
    moves: dict[str, float] = {}
    for key in keys:
        column = values[key]
        own = column[here]
        if own is None:
            continue
        move = max(math.fabs(value - own) for i in near if (value := column[i]) is not None)
        if move > FRAGILE_MOVE + 1e-9:  # a mean that moves by just as much may be off in the last bit
            moves[key] = move
    return moves


def _short(threshold: float) -> str:
    return f"{threshold:.4g}"
