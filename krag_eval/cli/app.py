"""The commands of `krag-eval`."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.help import Command, Group
from krag_eval.cli.options import expand_option_groups

app = typer.Typer(
    name="krag-eval",
    cls=Group,
    help="Measure whether the retriever finds the right documents, and how well it ranks them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"krag-eval {__version__}")
        raise typer.Exit


@app.callback()
def krag_eval(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure whether the retriever finds the right documents, and how well it ranks them."""


# Each is the function of its name in the module of its name.
_COMMANDS = (
    "evaluate run convert compare plan report gate validate reanchor doctor estimate verify generate bench diagnose "
    "funnel chunkers fuse score_logs langfuse_resend view demo"
)
for name in _COMMANDS.split():
    command = getattr(importlib.import_module(f"krag_eval.cli.{name}"), name)
    app.command(cls=Command)(expand_option_groups(command))
