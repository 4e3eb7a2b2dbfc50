"""`verify`: the same run by krag_eval and by ir_measures."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from krag_eval.checks import check_ranks
from krag_eval.columns import FloatArray
from krag_eval.errors import InvalidInputError, needing
from krag_eval.evalset import DOC_KEY, Run, as_evalset
from krag_eval.judgments import CutOff, Judgments
from krag_eval.metrics import ndcg
from krag_eval.run_evaluation import evaluate_run
from krag_eval.verification.records import Verification, VerifiedMeasure
from krag_eval.verification.telling import MEASURES, Told
from krag_eval.wrong_names import tell_names


@tell_names
def verify(
    evalset: object,
    run: Run,
    k: int | Sequence[int] = (1, 3, 5, 10),
    *,
    level: str = "chunk",
    doc_key: str = DOC_KEY,
    id_key: str | None = None,
    grade_key: str = "relevance",
) -> Verification:
    """Score a run by id with krag_eval and with ir_measures (trec_eval), and compare query by query.

    What is defined differently is made the same: precision is divided by k; a repeated document keeps its rank and
    earns nothing, which ir_measures is told by another name for each repeat; ranks are told by falling scores, since
    trec_eval sorts by score and then by name. Questions without gold documents are undefined here, and are left out
    there too. nDCG with exponential gain is nDCG over the gains 2^grade - 1 there.

    Args:
        evalset: An `EvalSet`, a list of questions, or a pandas frame.
        run: The rankings.
        k: One cut-off or several, each at least 1.
        level: `"chunk"` or `"document"`, as in `evaluate_run`.
        doc_key: The metadata key of document ids.
        id_key: Read ids from the metadata under this key alone.
        grade_key: Read grades from the metadata under this key.

    Raises:
        InvalidInputError: Something given cannot be used, or no question has gold documents.
        MissingDependencyError: ir_measures or pytrec_eval is not installed.
    """
    ir_measures = _load()
    questions = as_evalset(evalset)
    cut_offs = check_ranks(k, "this comparison")
    settings: Any = {} if id_key is None else {"id_key": id_key}
    ours = evaluate_run(
        questions,
        run,
        cut_offs,
        level=level,
        doc_key=doc_key,
        metrics=[*MEASURES, "ndcg", "r_precision", ndcg_linear],
        grade_key=grade_key,
        precision_denominator="k",
        **settings,
    )
    told = Told(questions, run, level, doc_key, id_key or (doc_key if level == "document" else None), grade_key)
    if not told.qrels:
        raise InvalidInputError("No question has a gold document, so there is nothing to compare. Give another set.")
    measures = {
        f"{name}@{cut_off}": measure @ cut_off
        for name, measure in told.measures(ir_measures).items()
        for cut_off in cut_offs
    } | {"r_precision": ir_measures.Rprec}
    # ir_measures may mix nDCG up with nDCG over other gains where it is asked for both at once.
    with_gains = {measure for key, measure in measures.items() if key.startswith("ndcg@")}
    theirs = {
        (metric.measure, metric.query_id): float(metric.value)
        for asked in (with_gains, {*measures.values()} - with_gains)
        if asked
        for metric in ir_measures.iter_calc([*asked], told.qrels, told.scores)
    }
    detail: Any = ours.detail  # `evaluate_run` keeps it
    return Verification(
        run=run.name,
        rows=tuple(_compare(key, measure, detail.values[key], theirs, told) for key, measure in measures.items()),
        n_queries=len(told.qrels),
        notes=tuple(told.notes(ours)),
        versions={name: version(name) for name in ("ir-measures", "pytrec-eval-terrier")},
        signature=ours.signature,
    )


def ndcg_linear(judged: Judgments, k: CutOff) -> FloatArray:
    """Give nDCG with the grade as gain."""
    return ndcg(judged, k, gain="linear")


def _compare(
    key: str, measure: Any, values: FloatArray, theirs: Mapping[tuple[Any, str], float], told: Told
) -> VerifiedMeasure:
    """One measure, query by query."""
    own: FloatArray = values[told.places]
    other: FloatArray = np.array([theirs[measure, name] for name in told.qrels])
    differences = np.nan_to_num(np.abs(own - other), nan=np.inf)
    worst = int(differences.argmax())
    return VerifiedMeasure(
        key=key,
        measure=str(measure),
        ours=math.fsum(own.tolist()) / len(own),
        theirs=math.fsum(other.tolist()) / len(other),
        difference=float(differences[worst]),
        query_id=told.query_ids[worst] if differences[worst] else None,
    )


def _load() -> Any:
    for module, package in (("ir_measures", "ir-measures"), ("pytrec_eval", "pytrec-eval-terrier")):
        with needing("verify", package, "verify", module=module):
            importlib.import_module(module)
    return importlib.import_module("ir_measures")
