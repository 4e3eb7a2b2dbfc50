"""Every error that is raised on purpose.

    KragEvalError
    ├── InvalidInputError (ValueError)          a value that was passed cannot be used
    │   ├── UnknownArgumentError (TypeError)    an argument that does not exist
    │   └── UnknownMetricError (KeyError)       a metric or result key that does not exist
    ├── MissingDependencyError (ImportError)    an optional package is not installed
    └── RunStoppedError (RuntimeError)          a run was given up before every question was answered

    KragEvalWarning (UserWarning)               the result is valid, but look at this

A message says what is wrong with the value given, what is expected, and what to do. It is made of parts: texts, which
nobody changes any more, and arguments, which each front end words: Python `k=0`, the command line `--k 0`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from numbers import Number
from typing import Any, NoReturn, Self, TypeVar

from krag_eval._utils.formatting import clip, escape_controls

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument in a message. As a string it is worded as in Python.

    >>> f"{Argument('k')}, {Argument('level', 'document')}"
    "`k`, level='document'"

    Attributes:
        name: Its name.
        value: Its value, if the message says one.
        call: How Python gives it that value, if not as a keyword.
    """

    name: str
    value: object = ...
    call: str | None = None

    def __str__(self) -> str:
        return self.call or (f"`{self.name}`" if self.value is ... else f"{self.name}={self.value!r}")


Part = str | Argument
Parts = tuple[Part, ...]


def worded(parts: Iterable[object]) -> str:
    """Return a message as Python words it."""
    return escape_controls("".join(map(str, parts)))


class _RedactedError(Exception):
    """An error whose message shows no credentials, whatever it quotes: addresses, arguments, other errors."""

    def __init__(self, *args: object, **further: Any) -> None:
        super().__init__(*map(_fitting, args), **further)


_LONGEST_END = 4_000


def _fit(text: str) -> str:
    """Return a message without credentials; of one that quotes megabytes, the beginning and the end."""
    from krag_eval._utils.redaction import redact  # only an error or a warning needs it

    text = redact(text)
    left_out = len(text) - 2 * _LONGEST_END
    if left_out <= 0:
        return text
    return f"{text[:_LONGEST_END]} ... ({left_out:,} characters left out) ... {text[-_LONGEST_END:]}"


def _fitting(part: object) -> object:
    """Return a part of a message without credentials."""
    if isinstance(part, Argument):
        value = _fit(part.value) if isinstance(part.value, str) else part.value
        return replace(part, name=_fit(part.name), value=value)
    return _fit(part) if isinstance(part, str) else part


class KragEvalError(_RedactedError):
    """Base class of every error that krag_eval raises on purpose."""

    def __str__(self) -> str:
        return worded(self.args)


class InvalidInputError(KragEvalError, ValueError):
    """A value that was passed cannot be used.

    Attributes:
        argument: The name of the argument that the message is about, if it is about one.
        expected: What this must be, if the message says that it "must be EXPECTED, got GOT".
        got: What was given, as the message shows it: errors keep no object alive, and travel between processes.
    """

    expected: str | None = None
    got: str | None = None

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.argument = self.args[0].name if parts and isinstance(self.args[0], Argument) else None

    def at(self, place: Part, columns: Mapping[str, str] | None = None) -> Self:
        """Put a place in front of the message, and return the error.

        Behind a place, the message is about a field and no argument: `columns` has the names of fields in the file.
        """
        first, *others = self.args or ("",)
        if isinstance(first, Argument):
            field, *index = first.name.partition("[")
            first = f"`{(columns or {}).get(field, field)}{''.join(index)}`"
        self.args = (*((place, ": ") if isinstance(place, Argument) else (_fit(f"{place}: "),)), first, *others)
        return self

    def without(self, place: str) -> Parts:
        """Return the message without the place in front of it."""
        first, *others = self.args
        return (str(first).removeprefix(f"{place}: ") if isinstance(first, str) else first, *others)


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

    def __init__(self, needed_by: Part, package: str, extra: str | None) -> None:
        super().__init__(
            "`",
            needed_by,
            f"` needs the package {package!r}, which is not installed. "
            f'Install it with: pip install "{package if extra is None else f"krag-eval[{extra}]"}"',
            name=package,
        )
        self.needed_by = str(needed_by)
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingDependencyError], tuple[Part, str, str | None]]:
        return type(self), (self.args[1], self.package, self.extra)


class RunStoppedError(KragEvalError, RuntimeError):
    """A run was given up before every question was answered; the answers so far are in its journal."""


class RetrieverError(_RedactedError):
    """What a retriever raised, as a run recorded it: `Type: message`. It takes the place of a ranking."""


class KragEvalWarning(UserWarning):
    """The result is valid, but something about the input deserves a look."""

    def __str__(self) -> str:
        return worded(self.args)


@contextlib.contextmanager
def needing(needed_by: Part, package: str, extra: str | None, *, module: str | tuple[str, ...] = "") -> Iterator[None]:
    """Turn the failed import of an optional package into an error that says how to install it.

    Args:
        needed_by: What needs it, as the user wrote it.
        package: The name of the package.
        extra: The extra of krag-eval that brings it; None if none does.
        module: The name under which it is imported, if that differs, or several of which any may be missing.

    Raises:
        MissingDependencyError: It is not installed. An ImportError of another package passes unchanged.
    """
    try:
        yield
    except ImportError as error:
        if error.name not in ((module or package,) if isinstance(module, str) else module):
            raise
        raise MissingDependencyError(needed_by, package, extra) from error


def need_installed(needed_by: Part, package: str, extra: str | None) -> None:
    """Say that an optional package is missing, before there is work that would be lost; it is not imported yet.

    Raises:
        MissingDependencyError: It is not installed.
    """
    with needing(needed_by, package, extra), contextlib.suppress(ValueError):  # of a module object made by hand
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextlib.contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Put a place in front of the message of what a block refuses.

    Raises:
        InvalidInputError: The block refuses something.
    """
    try:
        yield
    except InvalidInputError as error:
        raise error.at(place) from None


def refuse(argument: str, must: str, got: object, *cure: Part, at: str | None = None) -> NoReturn:
    """Refuse the value of an argument: "`argument` must be MUST, got GOT." and what to do; `at` is a place.

    Raises:
        InvalidInputError: Always.
    """
    cure = tuple(filter(None, cure))
    gap = "" if not cure or str(cure[0]).startswith(" ") else " "
    shown = _fit(show(got))
    error = InvalidInputError(Argument(argument), f" must be {must}, got {shown}.{gap}", *cure)
    error.expected, error.got = must, shown
    raise (error if at is None else error.at(at)) from None


def refuse_raised(
    error: BaseException, before: str, after: str, *, at: str | None = None, holder: object = None
) -> NoReturn:
    """Refuse what made a foreign program raise: its error is described between two texts, without credentials.

    `at` is a place, and `holder` an object that may hold credentials itself, such as a model.

    Raises:
        InvalidInputError: Always. What it raised is the cause, unless the traceback would show a credential.
    """
    from krag_eval._utils.redaction import Redactor, as_cause, describe_error, redact  # only an error needs it

    clean = redact if holder is None else Redactor(holder)
    refused = InvalidInputError(f"{before}{describe_error(error, clean)}{after}")
    raise (refused if at is None else refused.at(at)) from as_cause(error, clean)


_OURS = ("krag_eval.", "krag_eval_")


def warn(*parts: Part, category: type[Warning] = KragEvalWarning) -> None:
    """Warn at the user's line that called into this package or one beside it."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, level = frame.f_back, level + 1
    fitting = list(map(_fitting, parts))
    said = category(*fitting) if issubclass(category, KragEvalWarning) else category(worded(fitting))
    warnings.warn(said, stacklevel=level)


def with_name(name: str, call: Callable[[], T]) -> T:
    """Return what a call returns; its warnings begin with the name of the one of several systems that it is about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        result = call()
    for warning in caught:
        if isinstance(warning.message, KragEvalWarning):
            warn(f"{name}: ", *warning.message.args)
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
    """Return the beginning of the `repr` of a value, for a message; of an object of some class, the class."""
    if isinstance(value, _SHOWN):
        with contextlib.suppress(Exception):  # whatever a foreign `__repr__` raises; of a huge integer a ValueError
            if isinstance(value, str):
                return escape_controls(repr(clip(value, longest)))
            return repr(value)[:longest]
    return describe_type(value)


_SHOWN = (type(None), Number, str, bytes, list, tuple, set, frozenset, Mapping, date)


def describe_type(value: object) -> str:
    """Return the type of a value for a message: `a dict`, `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
