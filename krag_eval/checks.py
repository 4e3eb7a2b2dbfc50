"""Checks of single arguments that several rooms share; each says what was given and what would be right."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from krag_eval.errors import InvalidInputError, did_you_mean, show
from krag_eval.shapes import as_number, describe_type


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """The value, if it is one of the known names.

    Raises:
        InvalidInputError: It is not; the nearest name is suggested.
    """
    if isinstance(value, str) and value in known:
        return str(value)
    names = [str(k) for k in known]
    choices = ", ".join(repr(k) for k in names)
    raise InvalidInputError(f"`{name}` must be one of {choices}, got {show(value)}.{did_you_mean(value, names)}")


def check_threshold(value: object, name: str = "threshold") -> float:
    """The threshold as a float in [0, 1].

    Raises:
        InvalidInputError: It is no number, NaN, or outside [0, 1].
    """
    number = as_number(value)
    if number is not None and 0 <= number <= 1:
        return number
    raise InvalidInputError(
        f"`{name}` must be a number from 0 to 1, got {show(value)}. It is the similarity from which two texts match."
    )


_MOST_BITS = 1024  # a larger one has no name in a table
_BUDGET = re.compile(r"([1-9][0-9]*) ?tok")


@dataclass(frozen=True, slots=True, order=True)
class TokenBudget:
    """The first ranks whose texts fit into so many tokens together.

    Attributes:
        tokens: The budget, at least 1.
    """

    tokens: int

    def __str__(self) -> str:
        return f"{self.tokens}tok"


GivenCutOff = int | TokenBudget | None


def check_cut_offs(k: object) -> tuple[GivenCutOff, ...]:
    """One cut-off or several as a sorted tuple without repeats: ranks, token budgets, None (all ranks).

    Raises:
        InvalidInputError: A cut-off is not None, no integer of at least 1 and no budget such as `"2000tok"`, or there
            is none.
    """
    given: Sequence[object] = tuple(k) if isinstance(k, (list, tuple, range)) else (k,)
    cut_offs = {_check_one(one) for one in given}
    if not cut_offs:
        raise InvalidInputError("`k` is empty. Give at least one cut-off, for example k=(1, 5, 10).")
    ranks = sorted(one for one in cut_offs if isinstance(one, int))
    budgets = sorted(one for one in cut_offs if isinstance(one, TokenBudget))
    return (*ranks, *budgets, *([None] if None in cut_offs else []))


def _check_one(one: object) -> GivenCutOff:
    if one is None or isinstance(one, TokenBudget):
        return one
    if isinstance(one, str) and (budget := _BUDGET.fullmatch(one)):
        return TokenBudget(int(budget[1]))
    if isinstance(one, bool) or not isinstance(one, Integral) or one < 1:
        hint = (
            ' A budget of tokens is written "2000tok"; metrics are given as `metrics`.' if isinstance(one, str) else ""
        )
        raise InvalidInputError(
            f"`k` must be an integer of at least 1, got {show(one)}. Leave it out to score every rank.{hint}"
        )
    rank = int(one)
    if rank.bit_length() > _MOST_BITS:
        raise InvalidInputError(
            f"`k` has {rank.bit_length()} bits, and no ranking is that long. Leave it out to score every rank."
        )
    return rank


def check_ranks(k: object, needed_by: str) -> list[int]:
    """One cut-off or several, all of them ranks.

    Raises:
        InvalidInputError: One is no integer of at least 1; all ranks and budgets of tokens are refused, too.
    """
    given: Sequence[object] = tuple(k) if isinstance(k, (list, tuple, range)) else (k,)
    for one in given or (k,):
        if isinstance(one, bool) or not isinstance(one, Integral) or one < 1:
            raise InvalidInputError(
                f"`k` must be ranks of at least 1 for {needed_by}, got {'all' if one is None else show(one)}. "
                "Give some such as 1, 5 and 10."
            )
    return [one for one in check_cut_offs(k) if isinstance(one, int)]


def check_count(name: str, value: object, *, least: int = 1) -> int:
    """The value as a number of things, at least one or as many as `least` says.

    Raises:
        InvalidInputError: It is no integer, or below that.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidInputError(f"`{name}` must be an integer of at least {least}, got {show(value)}.")
    return int(value)


def check_kind(name: str, value: object, kind: type, cure: str) -> None:
    """See that the value is such an object.

    Raises:
        InvalidInputError: It is something else; `cure` says where such an object comes from.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidInputError(f"`{name}` must be {article} {kind.__name__}, got {describe_type(value)}. {cure}")


def check_path(value: object) -> None:
    """See that the value can be the path of a file.

    Raises:
        InvalidInputError: It is neither a string nor a path.
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidInputError(f"The path must be a string or a Path, got {describe_type(value)}. Name a file.")
