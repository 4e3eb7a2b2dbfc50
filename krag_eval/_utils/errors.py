"""Every error that is raised on purpose.

    KragEvalError
    ├── InvalidInputError (ValueError)          a value that was passed cannot be used
    │   ├── UnknownArgumentError (TypeError)    an argument that does not exist
    │   └── UnknownMetricError (KeyError)       a metric or result key that does not exist
    ├── MissingDependencyError (ImportError)    an optional package is not installed
    └── RunStoppedError (RuntimeError)          a run was given up before every question was answered

    KragEvalWarning (UserWarning)               the result is valid, but look at this

A message says what is wrong with the value given, what is expected, and what to do.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from krag_eval._utils.formatting import escape_controls

T = TypeVar("T")


class _RedactedError(Exception):
    """An error whose message shows no credentials, whatever it quotes: addresses, arguments, other errors."""

    def __init__(self, *args: object, **further: Any) -> None:
        super().__init__(*(_fit(one) if isinstance(one, str) else one for one in args), **further)


_LONGEST_END = 4_000


def _fit(text: str) -> str:
    """Return a message without credentials; of one that quotes megabytes, the beginning and the end."""
    from krag_eval._utils.redaction import redact  # only an error or a warning needs it

    text = redact(text)
    left_out = len(text) - 2 * _LONGEST_END
    if left_out <= 0:
        return text
    return f"{text[:_LONGEST_END]} ... ({left_out:,} characters left out) ... {text[-_LONGEST_END:]}"


class KragEvalError(_RedactedError):
    """Base class of every error that krag_eval raises on purpose."""

    def __str__(self) -> str:
        # Not of the next base class: KeyError would return the repr of the message.
        return escape_controls(Exception.__str__(self))


class InvalidInputError(KragEvalError, ValueError):
    """A value that was passed cannot be used."""


class UnknownArgumentError(InvalidInputError, TypeError):
    """A function was called with an argument that it does not have."""


class UnknownMetricError(InvalidInputError, KeyError):
    """A metric, or a key of a result, that does not exist."""


class MissingDependencyError(KragEvalError, ImportError):
    """An optional package is not installed.

    Args:
        needed_by: What needs it, as the user wrote it.
        package: The name of the package that is missing.
        extra: The extra of krag-eval that brings it; None if none does.
    """

    def __init__(self, needed_by: str, package: str, extra: str | None) -> None:
        super().__init__(
            f"`{needed_by}` needs the package {package!r}, which is not installed. "
            f'Install it with: pip install "{package if extra is None else f"krag-eval[{extra}]"}"',
            name=package,
        )
        self.needed_by = needed_by
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingDependencyError], tuple[str, str, str | None]]:
        return type(self), (self.needed_by, self.package, self.extra)


class RunStoppedError(KragEvalError, RuntimeError):
    """A run was given up before every question was answered; the answers so far are in its journal."""


class RetrieverError(_RedactedError):
    """What a retriever raised, as a run recorded it: `Type: message`. It takes the place of a ranking."""


class KragEvalWarning(UserWarning):
    """The result is valid, but something about the input deserves a look."""


@contextlib.contextmanager
def needing(needed_by: str, package: str, extra: str | None, *, module: str | None = None) -> Iterator[None]:
    """Turn the failed import of an optional package into an error that says how to install it.

    Args:
        needed_by: What needs it, as the user wrote it.
        package: The name of the package.
        extra: The extra of krag-eval that brings it; None if none does.
        module: The name under which it is imported, if that differs.

    Raises:
        MissingDependencyError: It is not installed. An ImportError of another package passes unchanged.
    """
    try:
        yield
    except ImportError as error:
        if error.name != (module or package):
            raise
        raise MissingDependencyError(needed_by, package, extra) from error


@contextlib.contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Put a place in front of the message of what a block refuses.

    Raises:
        InvalidInputError: The block refuses something.
    """
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None


def warn(message: str) -> None:
    """Warn with `KragEvalWarning`, at the user's line that called into this package."""
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120 - pathlib costs a tenth of the import
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(escape_controls(_fit(message)), KragEvalWarning, stacklevel=level)


def with_name(name: str, call: Callable[[], T]) -> T:
    """Return what a call returns; its warnings begin with the name of the one of several systems that it is about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        result = call()
    for warning in caught:
        if issubclass(warning.category, KragEvalWarning):
            warn(f"{name}: {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return result


_LONGEST_NAME, _MOST_NAMES = 200, 10_000


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a sentence that suggests the closest known name, or an empty string.

    >>> did_you_mean("ndgc", ["ndcg", "recall"])
    " Did you mean 'ndcg'?"
    """
    import difflib  # only a mistake needs it

    # Names of people: comparing two of a megabyte would take hours, and all of a million names minutes.
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return ""
    by_lower = {k.lower(): k for k in itertools.islice(known, _MOST_NAMES) if len(k) <= _LONGEST_NAME}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def show(value: object, longest: int = 60) -> str:
    """Return the beginning of the `repr` of a value, for a message; its type if `repr` fails."""
    try:
        return repr(value)[:longest]
    except Exception:  # noqa: BLE001 - whatever a foreign `__repr__` raises; of a huge integer a ValueError
        return f"<{type(value).__name__}>"
