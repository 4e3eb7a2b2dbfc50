"""The command line: each command turns its options into one call of the library and prints the result."""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from krag_eval._utils.errors import InvalidInputError, KragEvalError, KragEvalWarning, MissingDependencyError

__all__ = ["main"]


def main() -> None:
    """Run `krag-eval`. Exit with 0 on success and with 2 for invalid input, reported in one line on stderr."""
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
            _run(app)
    except KragEvalError as error:
        print(f"{type(error).__name__}: {in_options(str(error))}", file=sys.stderr)
        sys.exit(2)


def _run(app: Callable[[], object]) -> None:
    """Run the command; report output that cannot be written, for example because the disk is full."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        with contextlib.suppress(OSError, ValueError):  # Python would try to write again when it exits, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise InvalidInputError(
            f"The output cannot be written ({os.strerror(error.errno)}). Free some space, or redirect the output."
        ) from error


_UNWRITABLE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_show_any_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of krag_eval in one line, without the source line that Python would add."""
    if issubclass(category, KragEvalWarning):
        print(in_options(str(message)), file=sys.stderr)
    else:
        _show_any_warning(message, category, filename, lineno, file, line)


# What messages of the library call a thing, and what it is called on the command line.
_OPTIONS = {
    "allow_repeated_ids": "--allow-repeated-ids",
    "columns": "--columns",
    "corpus": "--corpus",
    "encoding": "--encoding",
    "evalset": "--evalset",
    "force": "--force",
    "format": "--format",
    "llm": "--llm",
    "match_method": "--match",
    "missing": "--missing",
}
_SIDES = {"actual": "gold", "predicted": "retrieved"}
_ARGUMENT = re.compile(rf"`?\b({'|'.join(_OPTIONS)})=(?:True|['\"]([\w+]+)['\"])`?")  # force=True, missing='empty'
_NAME = re.compile(rf"`({'|'.join(_OPTIONS)})`")
_SIDE = re.compile(rf"(documents?) of `({'|'.join(_SIDES)})`")
_COLUMNS = re.compile(r"columns=(\{(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\"}])*\})")
_TABLE = re.compile(r"\b(encoding|format|sheet)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_TABLE_OPTIONS = {"encoding": "--encoding", "format": "--from", "sheet": "--sheet"}
_CALL = re.compile(r", or call `\w+`")  # which the command line cannot do


def in_options(message: str) -> str:
    """Return a message of the library with options in place of Python arguments.

    >>> in_options("Choose another name, or overwrite it with force=True.")
    'Choose another name, or overwrite it with --force.'
    >>> in_options("No document of `actual` has a text, which match_method='rouge1+text' reads.")
    'No gold document has a text, which --match rouge1,text reads.'
    >>> in_options("Say so: columns={'gold': '정답 문서'}, encoding='cp949'.")
    "Say so: --columns 'gold=정답 문서', --encoding cp949."
    """
    message = _COLUMNS.sub(lambda found: _columns(ast.literal_eval(found[1])), message)
    message = _TABLE.sub(lambda found: f"{_TABLE_OPTIONS[found[1]]} {shlex.quote(ast.literal_eval(found[2]))}", message)
    message = _ARGUMENT.sub(lambda found: _option(found[1], found[2]), _CALL.sub("", message))
    message = _SIDE.sub(lambda found: f"{_SIDES[found[2]]} {found[1]}", message)
    return _NAME.sub(lambda found: f"`{_OPTIONS[found[1]]}`", message)


def _columns(columns: dict[str, str]) -> str:
    """Return the option that names these columns."""
    pairs = ",".join(f"{field}={column}" for field, column in columns.items())
    is_plain = not any(re.search("[,={]", column) for column in columns.values())
    return f"--columns {shlex.quote(pairs if is_plain else json.dumps(columns, ensure_ascii=False))}"


def _option(argument: str, value: str | None) -> str:
    return _OPTIONS[argument] + (f" {value.replace('+', ',')}" if value else "")
