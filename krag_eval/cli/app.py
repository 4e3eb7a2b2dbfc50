"""The commands of `krag-eval` and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.bench import bench
from krag_eval.cli.compare import compare
from krag_eval.cli.convert import convert
from krag_eval.cli.demo import demo
from krag_eval.cli.doctor import doctor
from krag_eval.cli.evaluate import evaluate
from krag_eval.cli.gate import gate
from krag_eval.cli.generate import generate
from krag_eval.cli.langfuse_resend import langfuse_resend
from krag_eval.cli.reanchor import reanchor
from krag_eval.cli.report import report
from krag_eval.cli.run import run
from krag_eval.cli.score_logs import score_logs
from krag_eval.cli.validate import validate
from krag_eval.cli.verify import verify

app = typer.Typer(
    name="krag-eval",
    help="Did the retriever find the right documents, and how well were they ranked?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    """Did the retriever find the right documents, and how well were they ranked?"""


app.command()(evaluate)
app.command()(run)
app.command()(convert)
app.command()(compare)
app.command()(report)
app.command()(gate)
app.command()(validate)
app.command()(reanchor)
app.command()(doctor)
app.command()(verify)
app.command()(generate)
app.command()(bench)
app.command(name="score-logs")(score_logs)
app.command()(langfuse_resend)
app.command()(demo)
