"""The commands of `krag-eval`."""

from __future__ import annotations

from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.bench import bench
from krag_eval.cli.compare import compare
from krag_eval.cli.convert import convert
from krag_eval.cli.demo import demo
from krag_eval.cli.diagnose import diagnose
from krag_eval.cli.doctor import doctor
from krag_eval.cli.evaluate import evaluate
from krag_eval.cli.fuse import fuse
from krag_eval.cli.gate import gate
from krag_eval.cli.generate import generate
from krag_eval.cli.help import Command, Group
from krag_eval.cli.langfuse_resend import langfuse_resend
from krag_eval.cli.options import expand_option_groups
from krag_eval.cli.reanchor import reanchor
from krag_eval.cli.report import report
from krag_eval.cli.run import run
from krag_eval.cli.score_logs import score_logs
from krag_eval.cli.validate import validate
from krag_eval.cli.verify import verify

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


_COMMANDS = (evaluate, run, convert, compare, report, gate, validate, reanchor, doctor, verify, generate, bench)
for command in (*_COMMANDS, diagnose, fuse, score_logs, langfuse_resend, demo):
    app.command(cls=Command)(expand_option_groups(command))
