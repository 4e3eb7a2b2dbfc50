"""Read the names of metrics as users write them: `recall`, `Recall@5`, `"nDCG@10 R@5"`, `ndcg_cut_10`.

A name stands for a metric, and with a cut-off for the metric at that cut-off alone. It says nothing about settings such
as the gain of nDCG or the denominator of precision.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from krag_eval._utils.errors import Argument, InvalidInputError, UnknownMetricError, refuse
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
            name must be one of them, or None, all ranks, must be.
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
        if cut_offs and not isinstance(k, DefaultCutOffs) and None not in base and not {*cut_offs} <= {*base}:
            raise InvalidInputError(
                f"The metric {text!r:.60} names its cut-off, and ",
                Argument("k", base[0] if len(base) == 1 else base),
                " does not contain it. Leave ",
                Argument("k"),
                f" out, or add {_written(cut_offs)} to it.",
            )
        given.setdefault(name, set()).update(cut_offs or base)
    if not given:
        _no_metrics(metrics)
    by_name = {name: check_cut_offs([*cut_offs]) for name, cut_offs in given.items()}
    return AskedMetrics(check_cut_offs([k for at in by_name.values() for k in at]), by_name)


def as_key(asked: str) -> str:
    """Return the key of a result that a name stands for; the text itself if it is not the name of a metric.

    >>> as_key("Recall@5"), as_key("ndcg_cut_10"), as_key("micro_P@5"), as_key("error_rate")
    ('recall@5', 'ndcg@10', 'micro_precision@5', 'error_rate')
    >>> as_key("AP(rel=2)@10"), as_key("recall-l2@5"), as_key("IPrec@0.1")
    ('map(rel=2)@10', 'recall(rel=2)@5', 'iprec(recall=0.1)')
    """
    mean, name, cut_off = _split(asked, ALL_METRICS)
    if not name or (mean == "micro" and not ALL_METRICS[name.partition("(")[0]].has_micro):
        return asked
    at = "" if cut_off in ("", "all") else f"@{cut_off}"
    return f"{'micro_' if mean == 'micro' else ''}{name}{at}"


def at_level(key: str, level: float | None) -> str:
    """Return the name or key of a metric with the level that a setting gives to all binary ones that name none.

    >>> at_level("map@5", 2), at_level("map(rel=3)", 2), at_level("ndcg", 2), at_level("map", None)
    ('map(rel=2)@5', 'map(rel=3)', 'ndcg', 'map')
    """
    name, at, k = key.partition("@")
    short, parameters = read_parameters(name)
    if level is None or "rel" in parameters or not (short in ALL_METRICS and ALL_METRICS[short].is_binary):
        return key
    return _with_parameters(short, {"rel": _digits(level), **parameters}) + at + k


def read_parameters(name: str) -> tuple[str, dict[str, str]]:
    """Return the name of a metric without its parameters, and these as they were written.

    >>> read_parameters("freshness(half_life=30, now=2026-01-31)")
    ('freshness', {'half_life': '30', 'now': '2026-01-31'})
    """
    short, _, rest = name.partition("(")
    parts = (part.partition("=") for part in rest.removesuffix(")").split(","))
    return short, {key.strip(): text.strip() for key, _, text in parts if key.strip() or text.strip()}


def _digits(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _with_parameters(short: str, parameters: Mapping[str, str]) -> str:
    return f"{short}({','.join(f'{key}={text}' for key, text in parameters.items())})" if parameters else short


def _split(asked: str, known: Collection[str]) -> tuple[str, str, str]:
    """Do what `split_name` does, and read the parameters that ir_measures and trec_eval write otherwise."""
    if asked in ALL_METRICS:
        return "", asked, ""
    mean, name, cut_off = split_name(asked, known)
    short, parameters = read_parameters(name)
    metric = ALL_METRICS.get(short)
    if metric is None:
        return mean, name, cut_off
    if "cutoff" in parameters and not cut_off:
        cut_off = parameters.pop("cutoff")
    elif metric.at is not None and cut_off and (metric.at == "recall" or "@" not in asked):  # set_F_0.5, not SetF@5
        parameters[metric.at], cut_off = cut_off, ""
    elif "rel" not in parameters:
        return mean, name, cut_off
    if short == "num_ret" and "rel" in parameters:
        short = "num_rel_ret"
    with contextlib.suppress(ValueError):  # one that is no number is refused where it is read
        parameters |= {key: _digits(float(parameters[key])) for key in parameters.keys() & {"rel", metric.at}}
    return mean, _with_parameters(short, parameters), cut_off


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
        _no_metrics(metrics)
    for one in given:
        if hasattr(one, "SUPPORTED_PARAMS"):  # a measure of ir_measures
            one = str(one)
        if not isinstance(one, str) and callable(one) and hasattr(one, "__name__"):
            yield one, (), one.__name__
        elif isinstance(one, str) and one not in ALL_METRICS and (texts := _ONE_NAME.findall(one)):
            for text in texts:
                yield _read(text, further)
        else:
            yield _read(one, further)


def _read(text: Any, further: Sequence[str]) -> tuple[str, tuple[GivenCutOff, ...], str]:
    known = {**ALL_METRICS, **dict.fromkeys(further)}
    mean, name, cut_off = _split(text, known) if isinstance(text, str) else ("", "", "")
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


def _no_metrics(metrics: object) -> NoReturn:
    refuse("metrics", "a list of names or functions", metrics, f"Known metrics: {', '.join(METRICS)}.")


def _written(cut_offs: Sequence[GivenCutOff]) -> str:
    return ",".join("all" if k is None else str(k) for k in cut_offs)


def is_lower_better(key: str) -> bool:
    """Return whether a lower value of this key is better."""
    metric = ALL_METRICS.get(re.split("[(@]", key)[0])
    return metric is not None and metric.lower_is_better


def is_share(key: str) -> bool | None:
    """Return whether every value of this key lies between 0 and 1; None for a metric of the user's own."""
    metric = ALL_METRICS.get(re.split("[(@]", key.removeprefix("macro_").removeprefix("micro_"))[0])
    return None if metric is None else metric.has_limits
