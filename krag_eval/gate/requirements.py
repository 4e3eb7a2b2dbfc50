"""A requirement in words, such as `recall@5 >= 0.8`, and whether a result meets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from krag_eval.errors import InvalidInputError
from krag_eval.intervals import intervals_of
from krag_eval.numerals import format_value
from krag_eval.results import EvaluationResult


class Status(StrEnum):
    """What a check comes to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement with what was found.

    Attributes:
        requirement: As it was written.
        where: The slice it is about, such as `type=literal`; None for all queries.
        status: What it comes to.
        found: What was found, in words.
    """

    requirement: str
    where: str | None
    status: Status
    found: str

    def to_dict(self) -> dict[str, str | None]:
        """The check as one flat dict."""
        return {"requirement": self.requirement, "where": self.where, "status": str(self.status), "found": self.found}


# A key or an end of its interval, a sign, a number.
_REQUIREMENT = re.compile(
    r"(?:(lower|upper)\((.+)\)|([^<>]*[^<>\s]))\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on a number.

    Attributes:
        text: As it was written.
        key: The number: a key of a result, or one of the figures of a run, such as `error_rate`.
        end: `"lower"` or `"upper"` where it is about that end of the interval, else None.
        sign: `">="`, `"<="`, `">"` or `"<"`.
        bound: What it is compared with.
    """

    text: str
    key: str
    end: str | None
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: object) -> Requirement:
        """Read `recall@5 >= 0.8`, or `lower(recall@5) >= 0.8` for the lower end of the interval.

        Raises:
            InvalidInputError: It is no such requirement.
        """
        found = _REQUIREMENT.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise InvalidInputError(
                f"{text!r:.80} is no requirement. Write a key, a sign and a number, such as 'recall@5 >= 0.8', "
                "or 'lower(recall@5) >= 0.8' for the lower end of its interval."
            )
        end, inner, plain, sign, number = found.groups()
        try:
            bound = float(number)
        except ValueError:
            raise InvalidInputError(f"In {text!r:.80}, {number!r} is no number. Write one such as 0.8.") from None
        return cls(str(text).strip(), (inner or plain).strip(), end, sign, bound)

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side of the bound."""
        return {
            ">=": value >= self.bound,
            "<=": value <= self.bound,
            ">": value > self.bound,
            "<": value < self.bound,
        }[self.sign]


def check_result(
    result: EvaluationResult,
    requirement: Requirement,
    *,
    where: str | None = None,
    confidence: float = 0.95,
    figures: Mapping[str, float | None] | None = None,
) -> Check:
    """Check one requirement.

    A bound on an end of the interval is missed for certain only where the whole interval lies on the wrong side;
    where the bound lies within it, the queries do not suffice to tell.

    Args:
        result: What was evaluated.
        requirement: What it has to meet.
        where: The slice that the result is of, for the record.
        confidence: Of the interval.
        figures: Numbers beside the metrics, by name.

    Raises:
        UnknownMetricError: The result has no such key.
        MissingDependencyError: An interval is asked for, and scipy is not installed.
    """
    key = requirement.key
    value = figures[key] if figures is not None and key in figures else result[key]
    if value is None:
        return Check(requirement.text, where, Status.INCONCLUSIVE, f"{key} is undefined: no query has a value")
    if requirement.end is None:
        status = Status.PASS if requirement.holds(value) else Status.FAIL
        return Check(requirement.text, where, status, f"{key} = {format_value(value)}")
    if figures is not None and key in figures:
        raise InvalidInputError(f"{key!r} has no interval. Write {key} {requirement.sign} {requirement.bound:g}.")
    interval = intervals_of(result, confidence)[key.removeprefix("macro_")]
    low, high = interval or (value, value)
    found = f"{key} = {format_value(value)}, interval {format_value(low)} to {format_value(high)}"
    own, other = (low, high) if requirement.end == "lower" else (high, low)
    if requirement.holds(own):
        return Check(requirement.text, where, Status.PASS, found)
    return Check(requirement.text, where, Status.INCONCLUSIVE if requirement.holds(other) else Status.FAIL, found)
