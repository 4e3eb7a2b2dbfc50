"""The command line: arguments to one call of the library, and its result to the terminal."""

from __future__ import annotations

import sys

from krag_eval.errors import KragEvalError, MissingDependencyError

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
        app()
    except KragEvalError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
