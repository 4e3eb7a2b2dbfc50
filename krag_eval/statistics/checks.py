"""Check the arguments of the statistics, and that scipy is installed."""

from __future__ import annotations

from numbers import Integral

from krag_eval._utils.checks import as_number, check_count
from krag_eval._utils.errors import InvalidInputError, needing, show

_FEWEST_ROUNDS = 100


def need_scipy(needed_by: str) -> None:
    """Say what is missing before anything is computed.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    with needing(needed_by, "scipy", "stats"):
        import scipy  # noqa: F401 - only whether it is there


def check_share(name: str, value: object) -> float:
    """Return a number between 0 and 1, without the two.

    Raises:
        InvalidInputError: It is not.
    """
    number = as_number(value)
    if number is None or not 0 < number < 1:
        raise InvalidInputError(f"`{name}` must be a number between 0 and 1, got {show(value)}. Give one such as 0.95.")
    return number


def check_intervals(value: object) -> float | None:
    """Return the confidence that an argument `intervals` asks for; None where it asks for no intervals.

    Raises:
        InvalidInputError: It is neither a boolean nor a number between 0 and 1.
        MissingDependencyError: scipy is not installed.
    """
    if value is False:
        return None
    confidence = 0.95 if value is True else check_share("intervals", value)
    need_scipy("intervals")
    return confidence


def check_rounds(name: str, value: object) -> int:
    """Return a number of rounds that a tail can be read from.

    Raises:
        InvalidInputError: It is no integer, or too few.
    """
    rounds = check_count(name, value)
    if rounds < _FEWEST_ROUNDS:
        raise InvalidInputError(
            f"`{name}` must be at least {_FEWEST_ROUNDS}, got {rounds}. Give 10000, which is the default."
        )
    return rounds


def check_seed(value: object) -> int:
    """Return a seed.

    Raises:
        InvalidInputError: It is no integer of at least 0.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise InvalidInputError(
            f"`seed` must be an integer of at least 0, got {show(value)}. The same seed gives the same numbers."
        )
    return int(value)
