"""The command line: each command turns its options into one call of the library and prints the result."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn, TextIO

from krag_eval._utils.errors import InvalidInputError, KragEvalError, KragEvalWarning, MissingDependencyError
from krag_eval._utils.version import __version__
from krag_eval.cli.wording import as_typed

__all__ = ["main"]


def main() -> None:
    """Run `krag-eval`. Exit with 0 on success and with 2 for invalid input, reported in one line on stderr."""
    sys.excepthook = _show_uncaught
    try:
        if sys.argv[1:] == ["--version"]:  # without the time that importing the commands takes
            _run(_show_version)
        try:
            from krag_eval.cli.app import app
        except ImportError as error:
            if error.name not in ("typer", "rich"):
                raise
            raise MissingDependencyError("krag-eval", error.name, "cli") from error
        with warnings.catch_warnings():
            warnings.simplefilter("always", KragEvalWarning)
            warnings.showwarning = _show_warning
            _run(lambda: app(prog_name="krag-eval"))  # also as `python -m krag_eval`
    except KragEvalError as error:
        print(f"{type(error).__name__}: {as_typed(str(error))}", file=sys.stderr)
        sys.exit(2)


def _show_version() -> NoReturn:
    """Print the version, and exit."""
    print(f"krag-eval {__version__}")
    sys.exit(0)


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


def _show_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of any other error without credentials."""
    import traceback

    from krag_eval._utils.redaction import redact

    print(redact("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)


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
        print(as_typed(str(message)), file=sys.stderr)
    else:
        _show_any_warning(message, category, filename, lineno, file, line)
