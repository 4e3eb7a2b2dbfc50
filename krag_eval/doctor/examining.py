"""`examine`: from a set of questions and some runs to what is wrong with the set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from krag_eval.checks import check_count, check_threshold
from krag_eval.columns import Side
from krag_eval.doctor.candidates import make_candidates
from krag_eval.doctor.evidence import weigh
from krag_eval.doctor.gold_checks import find_contained, find_lost, find_near_questions, gold_positions
from krag_eval.doctor.identity import choose_methods
from krag_eval.doctor.pool import fill_texts, pool_documents, read_sides
from krag_eval.doctor.report import DoctorReport
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import DOC_KEY, Run, as_evalset
from krag_eval.evalset.levels import settings_at
from krag_eval.evalset.near_duplicates import NEAR as NEAR_QUESTIONS
from krag_eval.matching import Batch, find_matches
from krag_eval.settings import ScoringSettings, make_settings
from krag_eval.shapes import describe_type
from krag_eval.supply import Supply
from krag_eval.wrong_names import tell_names

NEAR = 0.6


@tell_names
def examine(
    evalset: object,
    runs: Run | Sequence[Run] | Mapping[str, Run],
    *,
    k: int = 10,
    min_systems: int | None = None,
    near: float = NEAR,
    near_questions: float = NEAR_QUESTIONS,
    corpus: Iterable[object] | None = None,
    level: str = "chunk",
    doc_key: str = DOC_KEY,
    **settings: Unpack[ScoringSettings],
) -> DoctorReport:
    """Find what is probably wrong with the gold documents of a set, from what several systems retrieved.

    Documents that are perhaps gold and not listed; gold documents of a question that contain each other; gold
    documents that no system ever found; questions in nearly the same words. Nothing is changed: fill in the labelling
    queue (`write_queue`) and read it back with `apply_labels`. Documents of grade 0 were judged before and are not
    asked about again.

    Args:
        evalset: An `EvalSet`, a list of questions, or a pandas frame.
        runs: One run or several, of systems that are as different as possible; a mapping gives them names.
        k: The rank down to which agreement of systems, and an answer that stands in a document, count.
        min_systems: How many systems have to agree: by default all of up to three, and three of more.
        near: The ROUGE-L (F-measure) from which a document is nearly a gold text, above 0 and at most 1.
        near_questions: The same for two questions.
        corpus: The documents that were searched: they give texts to gold and retrieved documents that are ids alone,
            and tell which gold ids do not exist.
        level: `"chunk"`, or `"document"` to look at the documents that chunks come from.
        doc_key: The metadata key of document ids.
        **settings: The scoring settings that `evaluate` takes. `match_method` says by what documents are told apart: by
            default ids where both sides have them, else texts, with a warning.

    Raises:
        InvalidInputError: Something given cannot be used, or a run is of another set.

    >>> from krag_eval import EvalSet, Run, RunRow
    >>> gold = {"id": "a", "text": "Refunds take three working days."}
    >>> copy = {"id": "b", "text": "Refunds take  three working days."}
    >>> evalset = EvalSet([{"id": 1, "question": "How long do refunds take?", "gold": [gold]}])
    >>> run = Run.of("bm25", [RunRow.from_dict({"query_id": 1, "retrieved": [copy, gold]})])
    >>> print(examine(evalset, run).candidates[0])
    1: b 'Refunds take three working days.': the same text as a gold document, under another id (bm25 1)
    """
    questions, systems = as_evalset(evalset), _name(runs)
    if not len(questions):
        raise InvalidInputError("The evaluation set has no question. Give at least one.")
    k, least = check_count("k", k), _check_min_systems(min_systems, len(systems))
    for name, value in (("near", near), ("near_questions", near_questions)):
        if not check_threshold(value, name):
            raise InvalidInputError(f"`{name}` must be above 0 and at most 1, got {value!r}. Give one such as 0.6.")
    checked = make_settings(**settings_at(level, doc_key, settings))
    keys = checked.id_key, checked.grade_key
    gold_rows = questions.gold(level, doc_key)
    sides = read_sides(questions, systems, *keys)
    if "match_method" not in settings and level == "chunk":
        checked = replace(checked, match_method=choose_methods(Side("actual", gold_rows, *keys), sides, checked))
    pool = pool_documents(questions, systems, sides, checked)
    known = fill_texts(gold_rows, pool.rows, corpus if level == "chunk" else None, checked)
    batch = Batch(Side("actual", gold_rows, *keys), Side("predicted", pool.rows, *keys), checked)
    matches = find_matches(batch)
    Supply.of(batch, matches).check(checked)
    positions = gold_positions(batch)
    negative = np.ones(len(questions), dtype=bool)
    negative[batch.actual.query_of(positions)] = False
    unjudged = np.array(
        [not row and not q.is_negative for row, q in zip(gold_rows, questions, strict=True)], dtype=bool
    )
    judged = np.zeros(len(pool.ranks), dtype=bool)
    judged[matches.predicted] = True
    evidence = weigh(questions, pool, batch, judged, negative, k=k, min_systems=least, near=near)
    return DoctorReport(
        systems=pool.systems,
        methods=checked.methods,
        level=level,
        doc_key=doc_key,
        k=k,
        min_systems=least,
        n_questions=len(questions),
        n_negative=int((negative & ~unjudged).sum()),
        n_unjudged=int(unjudged.sum()),
        candidates=make_candidates(questions, pool, batch, evidence, judged, negative, unjudged),
        contained_gold=find_contained(questions, batch, positions),
        lost_gold=find_lost(questions, pool, batch, matches, positions, known),
        near_questions=find_near_questions(questions, batch, positions, near_questions),
    )


def _name(runs: object) -> dict[str, Run]:
    given = runs if isinstance(runs, Mapping) else None
    if given is None:
        listed = [runs] if isinstance(runs, Run) else runs
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise InvalidInputError(
                f"`runs` must be runs, got {describe_type(runs)}. Read a file with `read_run(path)`."
            )
        names = [run.name for run in listed if isinstance(run, Run)]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInputError(f'Two runs are called {twice!r:.60}. Give them names with {{"name": run, ...}}.')
        given = {run.name if isinstance(run, Run) else f"runs[{place}]": run for place, run in enumerate(listed)}
    for name, run in given.items():
        if not isinstance(run, Run):
            raise InvalidInputError(f"{name!r:.60} is {describe_type(run)}, not a run. Read one with `read_run(path)`.")
    if not given:
        raise InvalidInputError("`runs` is empty. Give at least one run; several are better.")
    return {str(name): run for name, run in given.items()}


def _check_min_systems(given: int | None, n_systems: int) -> int:
    if given is None:
        return max(2, min(n_systems, 3))
    least = check_count("min_systems", given)
    if least > n_systems:
        raise InvalidInputError(
            f"`min_systems` is {least}, and there are {n_systems} runs. Give a number up to that, or more runs."
        )
    return least
