"""Gold comes before what was retrieved, and the evaluation set before everything else: `gold_first` keeps this order.

Arguments are told apart by their types, or by the type of their first value. Two plain tables by query look alike, and
so do two paths: they are taken in the order in which they are given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval.datasets.by_query import holds_grades, holds_scores
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.question import GOLD, Question
from krag_eval.datasets.run import Run
from krag_eval.documents.columns import is_frame
from krag_eval.documents.document import DOCUMENT_KEYS

F = TypeVar("F", bound=Callable[..., Any])

# What retrievers, responses and results have, and gold has not.
_OF_RETRIEVED = ("invoke", "ainvoke", "retrieve", "aretrieve", "run", "run_async", "source_nodes", "per_query")
_OF_GOLD = {"question", *GOLD}
_OF_DOCUMENT = {*DOCUMENT_KEYS, "any_of"}
_LONGEST_VALUE = 30


def gold_first(old: str = "") -> Callable[[F], F]:
    """Return a decorator for a function whose first argument is an evaluation set or other gold.

    Args:
        old: The names of the first arguments in the order of the last release, which works with a warning until the
            next one. If there was no other order, leave it empty: a wrong order is then refused.
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        new = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        first = old.split(", ") if old else [new[1], new[0]]
        other = [*first, *(name for name in new if name not in first)]
        positional = [name for name in new if name in first]

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            is_other = bool(args) and (
                new[0] in given
                or len(args) > len(new)
                or (len(args) > 1 and new[0] != first[0] and _are_swapped(args[0], args[1]))
            )
            if not is_other or len(args) > len(other) or not given.keys().isdisjoint(other[: len(args)]):
                return function(*args, **given)
            named = dict(zip(other, args, strict=False)) | given
            right = _written(function, positional, named)
            if not old:
                raise InvalidInputError(
                    f"The order of the arguments is wrong: `{new[0]}` comes before `{new[1]}`. Write `{right}`."
                )
            warn(f"`{_written(function, first, named)}` is now `{right}`.", category=DeprecationWarning)
            return function(**named)

        if inspect.iscoroutinefunction(function) and hasattr(inspect, "markcoroutinefunction"):  # Python 3.12
            inspect.markcoroutinefunction(call)
        return cast("F", call)

    return decorate


def is_retrieved(value: Any) -> bool:
    """Return whether a value is a run, a result, a response or a retriever, or holds several of them.

    >>> is_retrieved({"bm25": {"q1": {"d7": 0.5}}}), is_retrieved({"q1": {"d7": 1}})
    (True, False)
    """
    if _is_retrieved(value):
        return True
    one = _first_of(value)
    return _is_retrieved(one) or _is_retrieved(_first_of(one)) or _holds_rankings(value, one)


def is_gold(value: Any) -> bool:
    """Return whether a value is an evaluation set, its rows, a question, or what ranx and ir_measures call qrels.

    >>> is_gold([{"id": "q1", "gold": ["d7"]}]), is_gold([{"id": "d7", "text": "Open at nine."}])
    (True, False)
    """
    if isinstance(value, (EvalSet, Question)) or holds_grades(value):
        return True
    row = value[0] if isinstance(value, (list, tuple)) and value else None
    return isinstance(row, Question) or (isinstance(row, Mapping) and not _OF_GOLD.isdisjoint(row))


def _are_swapped(first: Any, second: Any) -> bool:
    if isinstance(first, EvalSet) or is_retrieved(second) or is_gold(first):
        return False
    return is_retrieved(first) or is_gold(second)


def _first_of(value: Any) -> Any:
    """Return the first value of a mapping or list; None if it is neither, or empty."""
    if isinstance(value, Mapping):
        return next(iter(value.values()), None)
    return value[0] if isinstance(value, (list, tuple)) and value else None


def _is_retrieved(value: Any) -> bool:
    if isinstance(value, (Run, BaseException)) or callable(value) or holds_scores(value):
        return True
    if value is None or isinstance(value, (str, Mapping, list, tuple)) or is_frame(value):
        return False
    return any(hasattr(value, name) for name in _OF_RETRIEVED)


def _holds_rankings(value: Any, one: Any) -> bool:
    """Return whether it is `{system: {query: ranking}}`, which is one level deeper than `{query: gold}`."""
    is_by_name = isinstance(value, Mapping) and isinstance(one, Mapping)
    return is_by_name and isinstance(_first_of(one), (Mapping, list, tuple)) and not one.keys() <= _OF_DOCUMENT


def _written(function: Callable[..., Any], first: Sequence[str], named: Mapping[str, Any]) -> str:
    """Return a call as code, with the first arguments by position."""
    rest = [f"{name}={_value(name, value)}" for name, value in named.items() if name not in first]
    return f"{function.__name__}({', '.join([*(name for name in first if name in named), *rest])})"


def _value(name: str, value: object) -> str:
    values = value if isinstance(value, (list, tuple)) else [value]
    is_plain = all(one is None or isinstance(one, (str, int, float)) for one in values)
    return shown if is_plain and len(shown := repr(value)) <= _LONGEST_VALUE else name
