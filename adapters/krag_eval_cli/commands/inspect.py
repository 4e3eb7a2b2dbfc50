"""`krag-eval inspect`: say what a file is, and how it is read."""

from __future__ import annotations

from pathlib import Path

from krag_eval.toolkit import load
from krag_eval_cli.files import FileOptions
from krag_eval_cli.output import console, notes, put_json


def inspect(
    file: Path,
    *,
    other: Path | None = None,
    save: bool = False,
    json_out: Path | None = None,
    files: FileOptions,
) -> None:
    """Say what a file holds, which of its fields are the question and the gold, and how to read it.

    Parameters:
        file (FILE): Any file of questions, gold documents, retrieved documents or answers.
        other: The run or the corpus that belongs to it: its ids show which field holds the gold.
        save: Write the reading into FILE.reading.json, from which every command takes it. With --columns, --rows and
            --separator, write these.
    """
    found = load("krag_eval.formats", "inspect")(file, other, **files.chosen(file))
    if not put_json(json_out, found.to_dict):
        console().print(str(found), soft_wrap=True, markup=False, highlight=False)
    if save:
        notes().print(f"{found.save()}: saved", soft_wrap=True)
