"""Documents that are perhaps gold, in the order in which they are worth a look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krag_eval.columns import BoolArray
from krag_eval.doctor.evidence import Evidence
from krag_eval.doctor.pool import Pool
from krag_eval.doctor.records import Candidate
from krag_eval.documents import Document
from krag_eval.evalset import EvalSet
from krag_eval.matching import Batch


def make_candidates(
    evalset: EvalSet,
    pool: Pool,
    batch: Batch,
    evidence: Evidence,
    judged: BoolArray,
    negative: BoolArray,
    left_out: BoolArray,
) -> tuple[Candidate, ...]:
    """The documents that something speaks for and that are not judged yet, the most useful first.

    Args:
        evalset: The questions.
        pool: What was retrieved.
        batch: The gold documents and the pooled ones.
        evidence: What speaks for each pooled document.
        judged: Which of them are gold, or were judged and found not relevant.
        negative: Which questions have no gold document.
        left_out: Questions whose gold is not known at this level.
    """
    query = batch.predicted.query_of(np.arange(len(pool.ranks)))
    speaks = np.any(list(evidence.reasons.values()), axis=0)
    positions = np.flatnonzero(speaks & ~judged & ~left_out[query])
    order = np.lexsort((positions, -evidence.mean_rr[positions], -evidence.strength[positions]))
    documents: Sequence[Document] = batch.predicted.documents
    gold: Sequence[Document] = batch.actual.documents
    made = []
    for position in positions[order].tolist():
        question, near_gold = evalset[int(query[position])], int(evidence.near_gold[position])
        made.append(
            Candidate(
                query_id=question.id,
                question=question.question,
                answer=question.answer,
                is_negative=bool(negative[query[position]]),
                document=documents[position],
                reasons=tuple(name for name, holds in evidence.reasons.items() if holds[position]),
                strength=float(evidence.strength[position]),
                ranks=pool.ranks_of(position),
                n_systems=int(evidence.n_systems[position]),
                mean_reciprocal_rank=float(evidence.mean_rr[position]),
                similarity=_or_none(evidence.similarity[position]),
                near_gold=gold[near_gold] if near_gold >= 0 else None,
                answer_rarity=_or_none(evidence.answer_rarity[position]),
            )
        )
    return tuple(made)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
