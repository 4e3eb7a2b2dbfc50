"""`krag-eval estimate`: estimate a metric from a model's labels and a sample of people's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval.toolkit import number_of, warn
from krag_eval_cli.files import RunFileOptions, read_runs
from krag_eval_cli.output import console, put_json
from krag_eval_labels.estimation import estimate as estimate_metric
from krag_eval_labels.estimation import read_labels, reader_of_labelled


def estimate(
    evalset: Path,
    runs: list[Path],
    *,
    judge: Path,
    labels: Path,
    known: bool = False,
    json_out: Path | None = None,
    files: RunFileOptions,
    **passed: Annotated[
        Any, estimate_metric, "metric k gain precision_denominator probability confidence id_key id_map seed"
    ],
) -> None:
    """Estimate a metric of runs from a model's labels of all documents and human labels of a sample.

    Parameters:
        runs (RUN...): Retrieval results; the first is the baseline.
        judge: The model's labels, JSONL.
        labels: The human labels, with the probability of each: a queue that `doctor --judge` wrote, filled in.
        known: Count the grades of the set as human labels, each with probability 1. They must be older than the sample.
        metric (NAME): precision or dcg.
        k (--k -k): How many ranks count.
        gain: exponential (2^grade - 1) or linear.
        precision_denominator: retrieved, or k as in trec_eval.
        probability: The probability of labels that have none of their own.
        confidence: The confidence of the intervals, such as 0.9.
        seed: For the intervals of the agreement.
    """
    questions = files.evalset(evalset, id_key=passed.get("id_key"))
    result = estimate_metric(
        read_runs(runs, questions, files, id_key=passed.get("id_key")),
        judge=judge,
        people=labels,
        evalset=questions if known else None,
        **passed,
    )
    given = ("evalset", questions), ("judge", judge), ("people", labels)
    read = reader_of_labelled(passed.get("id_key"), passed.get("id_map"))
    graded, judged, labelled = (read_labels(name, rows, read).keys() for name, rows in given)
    if (n := len((graded & judged) - labelled)) and not known:
        warn(
            f"The set has grades for {number_of(n, 'document')} that the judge labelled and people did not. The doctor "
            "never draws such documents: if it drew the labels, the values are biased without `--known`."
        )
    if not put_json(json_out, result.to_dict):
        console().print(str(result), soft_wrap=True)
