"""The commands of `krag-eval`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.errors import KragEvalError
from krag_eval._utils.plugins import COMMANDS as BESIDE
from krag_eval._utils.plugins import load, offered
from krag_eval._utils.version import __version__
from krag_eval.cli.help import Command, Group

# Each is the function of its name in the module of its name. Others come from packages beside the core.
COMMANDS = (
    *("evaluate", "run", "inspect", "convert", "compare", "plan", "report", "gate", "validate", "reanchor"),
    *("verify", "diagnose", "funnel", "fuse", "langfuse-resend"),
)
# The first sentence of each command, so that the list of commands imports none of them.
_LINES = Path(__file__).with_name("summaries.txt").read_text(encoding="utf-8").splitlines()
SUMMARIES = dict(line.split(": ", 1) for line in _LINES)


def app_of(commands: Sequence[str] | None = None, *, is_list: bool = False) -> typer.Typer:
    """Return the program with all of its commands, or with some: those that are left out are not imported.

    Args:
        commands: The names of the commands; all by default.
        is_list: Only list them: of our own none is imported, and none can be called.
    """
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
    for name in known("") if commands is None else commands:
        try:
            app.command(name, cls=Command)(_listed(name) if is_list and name in SUMMARIES else _function(name))
        except KragEvalError as error:  # others can be loaded; whatever is given to this one, the reason is told
            any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
            app.command(name, cls=Command, context_settings=any_arguments)(_raising(error))
    return app


def asked_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the program with the command that is called or completed, or with a list of them all."""
    if "_KRAG_EVAL_COMPLETE" in os.environ:  # a shell asks for completion, and gives the line so far
        line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
        arguments = line.split()[1:]
    commands = known(next((one for one in arguments if not one.startswith("-")), ""))
    return app_of(commands, is_list=len(commands) > 1)


def known(name: str) -> Sequence[str]:
    """Return the commands to import for a first argument: that command alone, or all if there is no such one."""
    if name in COMMANDS:
        return [name]
    beside = offered(BESIDE)  # the packages beside the core are looked for only now: it takes a moment
    return [name] if name in beside else [*COMMANDS[:-1], *beside, COMMANDS[-1]]


def _function(name: str) -> Callable[..., None]:
    """Return the function of a command, as Typer takes it.

    Raises:
        KragEvalError: It comes from a package beside the core, and cannot be loaded.
    """
    attribute = name.replace("-", "_")
    function: Callable[..., None]
    if name in COMMANDS:
        function = getattr(importlib.import_module(f"krag_eval.cli.{attribute}"), attribute)
    else:
        function = load(BESIDE, name)
    from krag_eval.cli.options import expand_option_groups  # with all that options may be

    return expand_option_groups(function)


def _listed(name: str) -> Callable[[], None]:
    def command() -> None: ...

    command.__doc__ = SUMMARIES[name]
    return command


def _raising(error: KragEvalError) -> Callable[[], None]:
    def command() -> None:
        raise error

    command.__doc__ = f"(cannot be loaded) {error}"
    return command


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
