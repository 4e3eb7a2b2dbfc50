"""Check the arguments of the statistics, and that scipy is installed."""

from __future__ import annotations

from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import needing


def need_scipy(needed_by: str) -> None:
    """Say what is missing before anything is computed.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    with needing(needed_by, "scipy", "stats"):
        import scipy  # noqa: F401 - only whether it is there


def check_confidence(value: object, name: str = "confidence") -> float:
    """Return a confidence as a number between 0 and 1.

    Raises:
        InvalidInputError: It is something else.
    """
    return check_number(name, value, "Give one such as 0.95.", above=0, below=1)


def check_intervals(value: object) -> float | None:
    """Return the confidence that an argument `intervals` asks for; None where it asks for no intervals.

    Raises:
        InvalidInputError: It is neither a boolean nor a number between 0 and 1.
        MissingDependencyError: scipy is not installed.
    """
    if value is False:
        return None
    confidence = 0.95 if value is True else check_confidence(value, "intervals")
    need_scipy("intervals")
    return confidence
