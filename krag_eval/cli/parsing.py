"""What was written after an option, as what the library takes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from krag_eval import InvalidInputError
from krag_eval.thresholds import USUAL_THRESHOLDS

_NAMES = re.compile(r"(?:\([^()]*\)|[^,])+")  # a comma between parentheses, as in f(a=1,b=2), ends no name


def parse_names(text: str | None) -> list[str] | None:
    """`recall,ndcg` as a list; None stays None."""
    return None if text is None else [name.strip() for name in _NAMES.findall(text) if name.strip()]


def parse_cut_offs(text: str) -> list[int | str | None]:
    """`1,5,10` as numbers; `all` is None, and a budget such as `2000tok` stays as it is."""
    try:
        parts = [part.strip() for part in text.split(",")]
        return [None if part == "all" else part if part.endswith("tok") else int(part) for part in parts]
    except ValueError:
        raise InvalidInputError(f"`--k` must be integers with commas, such as 1,5,10, got {text!r}.") from None


def parse_threshold(text: str | None) -> float | Mapping[str, float]:
    """`0.5` as a number, `rouge1=0.6,rougeL=0.5` as one a method; None is the default of each."""
    if text is None:
        return USUAL_THRESHOLDS
    try:
        if "=" not in text:
            return float(text)
        return {name.strip(): float(value) for name, _, value in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise InvalidInputError(
            f"`--threshold` must be a number from 0 to 1, or such as rouge1=0.6,rougeL=0.5, got {text!r}."
        ) from None
