"""Run a command, and report what goes wrong in one line, with an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import TextIO

from krag_eval import InvalidInputError, KragEvalError, KragEvalWarning, MissingDependencyError, __version__
from krag_eval.toolkit import escape_controls
from krag_eval_cli.signals import INTERRUPTED, exit_codes, forget_output, is_interruption
from krag_eval_cli.typed import as_typed


@exit_codes()
def main() -> None:
    """Run `krag-eval`.

    Exit with 0 on success, with 2 for invalid input, reported in one line on stderr, and with 70 after an error of
    krag_eval itself, whose traceback is printed. Exit code 1 is only what a command documents: a gate that fails.
    """
    if sys.stdout is None:  # closed by whoever called this: nobody wants the output
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # like stderr: not every console can show every letter
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", KragEvalWarning)
            warnings.showwarning = _show_warning
            code = _run(sys.argv[1:])
    except BrokenPipeError:
        raise
    except KragEvalError as error:
        _say(f"{type(error).__name__}: {as_typed(error.args)}", is_line=True)
        code = 2
    except Exception as error:  # noqa: BLE001 - Python would exit with 1, by which a gate says that it fails
        if is_interruption(error):
            _say("Stopped.")
            sys.exit(INTERRUPTED)
        import traceback

        from krag_eval import Redactor

        report = "This error was not expected. Please report it with the lines above."
        _say(Redactor()(traceback.format_exc()) + report)
        code = 70
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run the command; report output that cannot be written, for example because the disk is full."""
    try:
        try:
            return _call(arguments)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        forget_output()
        raise InvalidInputError(
            f"The output cannot be written ({os.strerror(error.errno)}). Free some space, or redirect the output."
        ) from error


_UNWRITABLE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def _call(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # without the time that importing the commands takes
        print(f"krag-eval {__version__}")
        return 0
    try:
        from krag_eval_cli.app import Program

        return Program().call(arguments)
    except (ImportError, InvalidInputError) as error:  # the second one from a package beside that cannot be loaded
        missing = error if isinstance(error, ImportError) else error.__cause__
        if not isinstance(missing, ImportError) or missing.name not in ("click", "rich"):
            raise
        raise MissingDependencyError("krag-eval", missing.name, "cli") from missing


def _say(text: str, *, is_line: bool = False) -> None:
    """Print to stderr what may contain foreign text, which cannot pretend to be a line of its own."""
    print(escape_controls(text.replace("\n", "\\n") if is_line else text), file=sys.stderr)


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
    if isinstance(message, KragEvalWarning):
        _say(as_typed(message.args), is_line=True)
    else:
        _show_any_warning(message, category, filename, lineno, file, line)
