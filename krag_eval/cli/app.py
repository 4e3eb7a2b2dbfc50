"""The commands of `krag-eval`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.help import Command, Group
from krag_eval.cli.options import expand_option_groups

# Each is the function of its name in the module of its name.
COMMANDS = (
    *("evaluate", "run", "convert", "compare", "plan", "report", "gate", "validate", "reanchor", "doctor", "estimate"),
    *("verify", "generate", "bench", "diagnose", "funnel", "chunkers", "fuse", "score-logs", "langfuse-resend", "view"),
    "demo",
)


def app_of(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the program with some of its commands: those that are left out are not imported."""
    app = typer.Typer(
        name="krag-eval",
        cls=Group,
        help="Measure whether the retriever finds the right documents, and how well it ranks them.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(krag_eval)
    for command in commands:
        name = command.replace("-", "_")
        function = getattr(importlib.import_module(f"krag_eval.cli.{name}"), name)
        app.command(cls=Command)(expand_option_groups(function))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"krag-eval {__version__}")
        raise typer.Exit


def krag_eval(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure whether the retriever finds the right documents, and how well it ranks them."""
