"""Read the names of metrics as users write them: `recall`, `Recall@5`, `"nDCG@10 R@5"`, `ndcg_cut_10`.

A name stands for a metric, and with a cut-off for the metric at that cut-off alone. It says nothing about settings such
as the gain of nDCG or the denominator of precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval._utils.errors import InvalidInputError, UnknownMetricError, show
from krag_eval._utils.suggestions import metric_hint, split_name
from krag_eval.metrics import ALL_METRICS, METRICS
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs


class DefaultCutOffs(tuple[Any, ...]):
    """Cut-offs that nobody asked for: the cut-offs in the names of metrics replace them."""

    __slots__ = ()


DEFAULT_CUT_OFFS = DefaultCutOffs((1, 3, 5, 10))
"""The default of `k`: scored where no cut-off was asked for, neither by `k` nor in the name of a metric."""

LIVE_CUT_OFFS = DefaultCutOffs((5, 10))
"""The default of `k` for live scores, each of which is sent somewhere."""

AnyMetric = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class AskedMetrics:
    """Which metrics are asked for, and at which cut-offs.

    Attributes:
        cut_offs: All cut-offs, sorted.
        by_name: For each metric, by its name here or the function itself, the cut-offs at which it is asked for.
    """

    cut_offs: tuple[GivenCutOff, ...]
    by_name: Mapping[AnyMetric, tuple[GivenCutOff, ...]]

    def without(self, name: str) -> AskedMetrics:
        """Return the same without one metric."""
        return AskedMetrics(self.cut_offs, {key: at for key, at in self.by_name.items() if key != name})


def read_metrics(metrics: object, k: object, further: Sequence[str] = ()) -> AskedMetrics:
    """Read the names of metrics, and the cut-offs in them.

    Args:
        metrics: Names, functions or a list of these; a string may hold several names, separated by commas or spaces.
            None stands for all of `METRICS`. What was read before stays as it is.
        k: The cut-offs of the metrics that name none. If they were given, and are not the default, each cut-off in a
            name must be one of them.
        further: Names that are metrics here, beside those of `ALL_METRICS`.

    Raises:
        UnknownMetricError: A name is unknown.
        InvalidInputError: There is none, one is neither a name nor a function, or a name contradicts `k`.
    """
    if isinstance(metrics, AskedMetrics):
        return metrics
    base = check_cut_offs(k)
    given: dict[AnyMetric, set[GivenCutOff]] = {}
    for name, cut_offs, text in _listed(metrics, further):
        if cut_offs and not isinstance(k, DefaultCutOffs) and not {*cut_offs} <= {*base}:
            raise InvalidInputError(
                f"The metric {text!r:.60} names its cut-off, and k={_written(base)} does not contain it. "
                f"Leave `k` out, or add {_written(cut_offs)} to it."
            )
        given.setdefault(name, set()).update(cut_offs or base)
    if not given:
        raise _no_metrics(metrics)
    by_name = {name: check_cut_offs([*cut_offs]) for name, cut_offs in given.items()}
    return AskedMetrics(check_cut_offs([k for at in by_name.values() for k in at]), by_name)


def as_key(asked: str) -> str:
    """Return the key of a result that a name stands for; the text itself if it is not the name of a metric.

    >>> as_key("Recall@5"), as_key("ndcg_cut_10"), as_key("micro_P@5"), as_key("error_rate")
    ('recall@5', 'ndcg@10', 'micro_precision@5', 'error_rate')
    """
    mean, name, cut_off = split_name(asked, ALL_METRICS)
    if not name or (mean == "micro" and not ALL_METRICS[name.partition("(")[0]].has_micro):
        return asked
    at = "" if cut_off in ("", "all") else f"@{cut_off}"
    return f"{'micro_' if mean == 'micro' else ''}{name}{at}"


# Between two names: commas, semicolons and white space outside of parentheses.
_ONE_NAME = re.compile(r"(?:\([^()]*\)|[^\s,;])+")


_MOST_DIGITS = 300


def _listed(metrics: object, further: Sequence[str]) -> Iterable[tuple[AnyMetric, tuple[GivenCutOff, ...], str]]:
    """Yield each metric with the cut-offs that it names, and as it was written."""
    if metrics is None:
        metrics = tuple(METRICS)
    given = (metrics,) if isinstance(metrics, str) or callable(metrics) else metrics
    if isinstance(given, (set, frozenset)):
        given = sorted(given, key=str)
    if not isinstance(given, Sequence):
        raise _no_metrics(metrics)
    for one in given:
        if not isinstance(one, str) and callable(one) and hasattr(one, "__name__"):
            yield one, (), one.__name__
        elif isinstance(one, str) and one not in ALL_METRICS and (texts := _ONE_NAME.findall(one)):
            for text in texts:
                yield _read(text, further)
        else:
            yield _read(one, further)


def _read(text: Any, further: Sequence[str]) -> tuple[str, tuple[GivenCutOff, ...], str]:
    known = {**ALL_METRICS, **dict.fromkeys(further)}
    mean, name, cut_off = split_name(text, known) if isinstance(text, str) else ("", "", "")
    metric = known.get(name.partition("(")[0])
    if not name or mean == "micro":  # it comes along with the mean, and a single query has none
        raise UnknownMetricError(
            f"Unknown metric {text!r}.{metric_hint(text, tuple(known))} Known metrics: {', '.join(ALL_METRICS)}."
        )
    if cut_off and metric is not None and not metric.has_cut_off:
        raise InvalidInputError(f"The metric {name!r} has no cut-off, got {text!r:.60}. Write {name!r} alone.")
    if len(cut_off) > _MOST_DIGITS:
        raise InvalidInputError(f"The cut-off of {text!r:.60} has {len(cut_off)} digits, and no ranking is that long.")
    if not cut_off:
        return name, (), text
    return name, check_cut_offs(int(cut_off) if cut_off.isdecimal() else None if cut_off == "all" else cut_off), text


def _no_metrics(metrics: object) -> InvalidInputError:
    return InvalidInputError(
        f"`metrics` must be a list of names or functions, got {show(metrics)}. Known metrics: {', '.join(METRICS)}."
    )


def _written(cut_offs: Sequence[GivenCutOff]) -> str:
    return ",".join("all" if k is None else str(k) for k in cut_offs)
