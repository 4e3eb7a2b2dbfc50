"""The commands of `krag-eval`; only the one that is called is imported."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from krag_eval import KragEvalError, __version__
from krag_eval.toolkit import did_you_mean, escape_controls, load, offered
from krag_eval_cli.completion import COMPLETION, completion_options
from krag_eval_cli.help import Command, Group, printing_option

BESIDE: Final = "krag_eval.commands"  # the group of entry points
# Each is the function of its name in the module of its name. Others come from packages beside the core.
COMMANDS = (
    *("evaluate", "run", "inspect", "convert", "compare", "plan", "gate"),
    *("diagnose", "funnel", "fuse"),
)
# The first sentence of each command, so that the list of commands imports none of them.
_LINES = Path(__file__).with_name("summaries.txt").read_text(encoding="utf-8").splitlines()
SUMMARIES = dict(line.split(": ", 1) for line in _LINES)


class Program(Group):
    """`krag-eval`: its commands are listed by their first sentences, and each is imported when it is called."""

    def __init__(self) -> None:
        version = printing_option("--version", lambda _: f"krag-eval {__version__}", "Print the version.")
        super().__init__(
            name="krag-eval",
            help="Measure whether the retriever finds the right documents, and how well it ranks them.",
            no_args_is_help=True,
            params=[version, *completion_options()],
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )

    def call(self, arguments: list[str]) -> int:
        """Run the command that is asked for, or complete one in a shell; return the exit code."""
        if asked := os.environ.get(COMPLETION):
            from click.shell_completion import shell_complete  # only a shell needs it

            return shell_complete(self, {}, "krag-eval", COMPLETION, asked)
        try:  # click's own `main` would give Ctrl+C and closed pipes other exit codes
            with self.make_context("krag-eval", arguments) as ctx:
                self.invoke(ctx)
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except click.ClickException as error:
            if isinstance(error, click.NoSuchOption):  # of several that are similar, click names them all
                meant = did_you_mean(error.option_name, error.possibilities or ())
                error = click.UsageError(f"No such option {error.option_name!r}.{meant}", error.ctx)
            error.message = escape_controls(error.message)  # type: ignore[misc]
            error.show()
            return error.exit_code
        return 0

    def list_commands(self, _: Any) -> list[str]:
        """Return the names, ours first."""
        return [*COMMANDS, *offered(BESIDE)]

    def get_command(self, _: Any, cmd_name: str) -> click.Command | None:
        """Return a command, imported; None if there is no such one."""
        if not _is_known(cmd_name):
            return None
        try:
            return made(cmd_name, _function(cmd_name))
        except KragEvalError as error:  # others can be loaded; whatever is given to this one, the reason is told
            return _raising(cmd_name, error)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that is called; of one that is none, name the one that is meant."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and not _is_known(name):
            ctx.fail(f"No such command {name!r}.{did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def summary_of(self, ctx: click.Context, name: str) -> str:
        """Return the first sentence about a command."""
        known = SUMMARIES.get(name)
        command = None if known else self.get_command(ctx, name)
        return known or ("" if command is None else command.get_short_help_str(1000))


def _is_known(name: str) -> bool:
    return name in COMMANDS or name in offered(BESIDE)


def made(name: str, function: Callable[..., None]) -> click.Command:
    """Return the command of a function."""
    from krag_eval_cli.declaring import command_of  # with all that options may be

    return command_of(name, function)


def _function(name: str) -> Callable[..., None]:
    """Return the function of a command.

    Raises:
        KragEvalError: It comes from a package beside the core, and cannot be loaded.
    """
    attribute = name.replace("-", "_")
    if name in COMMANDS:
        return getattr(importlib.import_module(f"krag_eval_cli.commands.{attribute}"), attribute)  # type: ignore[no-any-return]
    return load(BESIDE, name)  # type: ignore[no-any-return]


def _raising(name: str, error: KragEvalError) -> click.Command:
    def command() -> None:
        raise error

    any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
    about = f"(cannot be loaded) {error}"
    return Command(name, callback=command, help=about, context_settings=any_arguments)
