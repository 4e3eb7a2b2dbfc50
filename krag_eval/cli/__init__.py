"""The command line: arguments to one call of the library, and its result to the terminal."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from krag_eval._utils.errors import InvalidInputError, KragEvalError, KragEvalWarning, MissingDependencyError

__all__ = ["main"]


def main() -> None:
    """Run `krag-eval`. Exit code 0: done; 2: a mistake in the input, told in one line on stderr."""
    try:
        try:
            from krag_eval.cli.app import app
        except ImportError as error:
            if error.name not in ("typer", "rich"):
                raise
            raise MissingDependencyError("krag-eval", error.name, "cli") from error
        with warnings.catch_warnings():
            warnings.simplefilter("always", KragEvalWarning)
            warnings.showwarning = _show_warning
            _printing(app)
    except KragEvalError as error:
        print(f"{type(error).__name__}: {in_options(str(error))}", file=sys.stderr)
        sys.exit(2)


def _printing(app: Callable[[], object]) -> None:
    """Run it; where its output can go nowhere, because the disk is full for example, say so."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNPRINTABLE:
            raise
        with contextlib.suppress(OSError, ValueError):  # Python itself would try once more at its end, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise InvalidInputError(
            f"The output cannot be written ({os.strerror(error.errno)}). Make room, or send it elsewhere."
        ) from error


_UNPRINTABLE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_show_any_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of krag_eval in one line, without the line of code that Python would add."""
    if issubclass(category, KragEvalWarning):
        print(in_options(str(message)), file=sys.stderr)
    else:
        _show_any_warning(message, category, filename, lineno, file, line)


# What the library calls a thing, and what it is called on the command line.
_WORDS = {
    "Leave it out to score every rank.": "Write `all` to score every rank.",
    (
        'Match by text instead, for example with match_method="text". If the strings are ids, write {"id": ...} for '
        "each, or call `evaluate_ids`."
    ): ("Match by text instead, for example with --match text."),
    'Match by id instead, with match_method="id",': "Match by id instead, with --match id,",
    "document of `actual`": "gold document of the evaluation set",
    "document of `predicted`": "document of the run",
    "which match_method=": "which --match ",
    "missing='empty'": "--missing empty",
    "with force=True": "with --force",
    "with `allow_repeated_ids=True`": "with --allow-repeated-ids",
    "Give a model as `llm`, or questions as `evalset`.": "Name a model with --llm, or give questions with --evalset.",
    "Give `corpus`, or an `evalset`.": "Give them with --corpus, or questions with --evalset.",
    "or give a `format` of": "or give a `--format` of",
}


def in_options(message: str) -> str:
    """A message of the library in the words of the command line."""
    for words, option in _WORDS.items():
        message = message.replace(words, option)
    return message
