"""`krag-eval start`: from a log without gold to a number, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval.toolkit import load
from krag_eval_cli.files import FileOptions
from krag_eval_cli.loading import load_object
from krag_eval_cli.output import console, put_json
from krag_eval_labels.start import number_from_labels, start_from_log


def start(
    log: Path,
    *,
    out: Path = Path("eval"),
    retriever: str | None = None,
    corpus: Path | None = None,
    judge: str | None = None,
    mask: bool = False,
    json_out: Path | None = None,
    files: FileOptions,
    **passed: Annotated[Any, start_from_log, "k questions labels width outside max_calls seed"],
) -> None:
    """Choose what to label from a log without gold; given the folder that this made, print the number.

    Parameters:
        log (LOG): What was asked and retrieved, in any format that inspect reads, or exported traces; or the folder.
        out (FOLDER): The folder to make or to go on with.
        retriever: A second system: a run, or module:object. By default BM25 adds to the pool; none leaves it out.
        corpus: The searched documents; by default all chunks of the log.
        k (--k -k): How many ranks count; 5 by default.
        questions: Questions to choose; 200 by default.
        labels: Documents to label; 100 by default. More of them put further questions into the queue.
        width: Wanted width of the interval of precision; 0.2 by default.
        outside: Documents outside of the pool to label per question; 1 by default.
        judge: A model's labels, JSONL, or the model: module:object, gguf:FILE or http://HOST/v1#MODEL.
        max_calls: Prompts that the model gets at most.
        mask: Replace credentials and e-mail addresses.
        seed: Of the draws.
    """
    changes = (retriever, passed["labels"], passed["width"], judge)
    if log.is_dir() and all(one is None for one in changes):
        result = number_from_labels(log)
        if not put_json(json_out, result.to_dict):
            console().print(str(result), soft_wrap=True, markup=False, highlight=False)
        return
    reading: dict[str, Any] = {} if log.is_dir() else files.chosen(log)
    is_object = retriever is not None and ":" in retriever and not Path(retriever).exists()
    model: Any = judge
    if judge is not None and not Path(judge).is_file():
        model = load("krag_eval.models", "by-name")(judge, "--judge")
    started = start_from_log(
        log,
        out,
        retriever=load_object(str(retriever), "--retriever", "a retriever") if is_object else retriever,
        corpus=corpus,
        judge=model,
        mask=mask or None,
        **passed,
        **reading,
    )
    if not put_json(json_out, started.to_dict):
        console().print(str(started), soft_wrap=True, markup=False, highlight=False)
