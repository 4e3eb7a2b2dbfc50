"""`krag-eval fuse`: fuse runs of the same questions by reciprocal rank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError, write_run
from krag_eval import fuse as fuse_runs
from krag_eval.toolkit import Format, number_of, refuse
from krag_eval_cli.files import RunFileOptions, check_free, read_runs
from krag_eval_cli.output import notes


def fuse(
    runs: list[Path],
    *,
    out: Path,
    k: float = 60,
    weights: str | None = None,
    force: bool = False,
    max_bad_rows: int = 0,
    files: RunFileOptions,
    **passed: Annotated[Any, fuse_runs, "depth name id_key id_map"],
) -> None:
    """Fuse runs by reciprocal rank, for example of a keyword and a dense retriever; score the result like any run.

    Parameters:
        runs (RUN RUN...): Retrieval results of the same questions.
        out (--out --output -o): The fused run to write; `-` prints it as JSONL.
        k (--k -k): A rank adds 1 / (k + rank) to the score of its document.
        weights (W,W,...): One weight above 0 per run; 1 by default.
        depth: Read only so many ranks of each ranking.
        name (NAME): The name of the fused run; by default those of the runs.
    """
    target_format = Format.name_to_write(out, None)
    check_free(out, force)
    if len(runs) < 2:
        raise InvalidInputError("Only one run is given. Name at least two, such as bm25.jsonl dense.jsonl.")
    read = read_runs(runs, None, files, id_key=passed["id_key"], max_bad_rows=max_bad_rows)
    fused = fuse_runs(read, k, weights=_parse_weights(weights), **passed)
    write_run(fused, out, format=target_format, id_key=passed["id_key"])
    notes().print(f"{out}: {number_of(len(fused), 'question')}, fused from {', '.join(read)}.")


def _parse_weights(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        refuse("weights", "numbers separated by commas, such as 1,0.5", text)
