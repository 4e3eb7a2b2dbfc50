"""`krag-eval label`: label a queue in the terminal, or take its labels to another program and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import check_number, number_of
from krag_eval_cli.files import RunFileOptions, check_free, read_runs
from krag_eval_cli.output import console, notes, stopping
from krag_eval_labels.commands.terminal import label_in_terminal, read_keys
from krag_eval_labels.labelling.current import Basis, current_number
from krag_eval_labels.labelling.exchange import export_queue, import_labels
from krag_eval_labels.labelling.platforms import LABEL_STUDIO_CONFIG
from krag_eval_labels.labelling.queue import LabelQueue
from krag_eval_labels.start.number import Standing


def label(
    at: Path,
    runs: list[Path] | None = None,
    *,
    who: str | None = None,
    again: bool = False,
    export: Path | None = None,
    suggest: bool = False,
    import_from: Path | None = None,
    force: bool = False,
    known: Path | None = None,
    files: RunFileOptions,
    **passed: Annotated[Any, Basis, "judge metric k width id_key"],
) -> None:
    """Label the documents of a queue by single keys: 0, 1, 2, U undo, N skip, Q quit.

    Every label is written to a file beside the queue before the next document is shown, and the same command resumes.

    Parameters:
        at (QUEUE): A queue (JSONL), or a folder with queue.jsonl.
        runs (RUN...): Retrieval results that the labels are about: their current value is shown after every 20 labels.
        who: Your name, if several people label the same queue.
        again: Ask again for documents on which people disagree.
        export: Write the queue for another program, by the name of the file: labels.csv, labels.xlsx, argilla.json,
            label-studio.json or langfuse.json.
        suggest: Show the model's labels in the exported file. People then tend to agree with them.
        import_from (--import): Take over the labels of a file that was exported and filled in, or of an export of these
            programs.
        judge: A model's labels of all documents of the runs, JSONL, as in estimate.
        known: An evaluation set whose grades count too, if the queue was drawn without the documents that it grades.
        metric (NAME): precision or dcg.
        k (--k -k): How many ranks count.
        width: Say when the interval for these questions is at most this wide.
    """
    opened = LabelQueue(at, who, again=again)
    if export is not None or import_from is not None:
        _exchange(opened, export, import_from, who, suggest=suggest, force=force)
        return
    width, id_key = passed["width"], passed["id_key"]
    if width is not None:
        check_number("width", width, "Give one such as 0.1.", above=0)
    if runs is None and any(one is not None for one in (passed["judge"], known, width)):
        raise InvalidInputError("`--judge`, `--known` and `--width` belong to runs. Name the runs after the queue.")
    basis = None
    if runs:
        questions = None if known is None else files.evalset(known, id_key=id_key)
        basis = Basis(runs=read_runs(runs, questions, files, id_key=id_key), known=questions, **passed)

    def number() -> Standing | None:
        return current_number(opened, basis)

    with stopping(lambda: f"Stopped. Every label is in {opened.file}."):
        label_in_terminal(opened, number, read_keys())
    console().print()
    notes().print(f"Labels: {opened.file}, and those that stand in {opened.path}.", soft_wrap=True)


def _exchange(
    queue: LabelQueue, out: Path | None, source: Path | None, who: str | None, *, suggest: bool, force: bool
) -> None:
    if source is not None:
        console().print(str(import_labels(queue, source, who)), soft_wrap=True)
        for line in queue.agreements():
            console().print(line, soft_wrap=True)
    if out is not None:
        check_free(out, force, [queue.path, *queue.files()])
        n = export_queue(queue, out, suggest=suggest)
        notes().print(f"{out}: {number_of(n, 'document')} to label.", soft_wrap=True)
        if "studio" in out.name.lower():
            console().print(LABEL_STUDIO_CONFIG, soft_wrap=True)
