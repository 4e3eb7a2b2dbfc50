"""Question sets and runs from files and into files, by the ending of the name or a format named."""

from __future__ import annotations

import os

from krag_eval.errors import InvalidInputError
from krag_eval.evalset.evalset import EvalSet
from krag_eval.evalset.formats import jsonl
from krag_eval.evalset.run import Run


def read_evalset(path: str | os.PathLike[str], *, id_key: str | None = None, grade_key: str = "relevance") -> EvalSet:
    """Read a set of questions.

    Args:
        path: The file.
        id_key: The key of the metadata under which ids will be read; gold documents need nothing else then.
        grade_key: The key of the metadata under which grades will be read.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:` where a line is at fault.
    """
    evalset = jsonl.read_evalset(path, id_key=id_key, grade_key=grade_key)
    if not evalset:
        raise InvalidInputError(f"{path}: holds no question. Each line must be one question as a JSON object.")
    return evalset


def write_evalset(evalset: EvalSet, path: str | os.PathLike[str]) -> None:
    """Write a set of questions, whole or not at all."""
    jsonl.write_evalset(evalset, path)


def read_run(
    path: str | os.PathLike[str], evalset: EvalSet | None = None, *, name: str | None = None, id_key: str | None = None
) -> Run:
    """Read what a retriever returned.

    Args:
        path: The file, which may be the journal of `run_retriever`.
        evalset: The set that it must be a run of.
        name: What the run is called; the name of the file without its ending by default.
        id_key: The key of the metadata under which ids will be read.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:` where a line is at fault.
    """
    return jsonl.read_run(path, evalset, name=name, id_key=id_key)


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    jsonl.write_run(run, path)
