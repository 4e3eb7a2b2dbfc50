"""The arguments and options that several commands have in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EvalSetFile = Annotated[
    Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents, as for evaluate.")
]
CutOffs = Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")]
MetricNames = Annotated[str | None, typer.Option(help="Names with commas; all by default.")]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The run to compare with: its file, or that without the ending.")
]
SliceFields = Annotated[
    str | None,
    typer.Option(metavar="FIELD,...", help="Slice by these fields or metadata keys; type by default, if any."),
]
MissingRows = Annotated[str, typer.Option(help="refuse runs that lack rows which others have, or take these as empty.")]
MaxBadRows = Annotated[
    int, typer.Option(help="Leave out up to so many bad lines of a file, and keep them in FILE.rejected.jsonl.")
]
