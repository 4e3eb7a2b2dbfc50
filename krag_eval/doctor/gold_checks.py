"""What is odd about gold documents themselves, and about questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from krag_eval.columns import IntArray, Side
from krag_eval.doctor.pool import Pool
from krag_eval.doctor.records import ContainedGold, LostGold, NearQuestions
from krag_eval.documents import Document, as_document
from krag_eval.evalset import EvalSet
from krag_eval.evalset.near_duplicates import group_near_duplicates
from krag_eval.judgments import identity_keys
from krag_eval.matching import Batch, Matches
from krag_eval.matching.containment import match_containment
from krag_eval.nearness import nearest_of
from krag_eval.repeats import merge_equal

# A text so little like the gold passage is no help to whoever looks for it.
_NEAREST = 0.3


def gold_positions(batch: Batch) -> IntArray:
    """Which gold documents count: not grade 0, and each once in its question."""
    first = merge_equal(batch.actual, [codes.actual for codes in identity_keys(batch)])
    counts: IntArray = np.flatnonzero((batch.actual.grades > 0) & (first == np.arange(len(first))))
    return counts


def find_contained(evalset: EvalSet, batch: Batch, positions: IntArray) -> tuple[ContainedGold, ...]:
    """Gold documents whose text stands in another gold document of the same question.

    Args:
        evalset: The questions.
        batch: The gold documents.
        positions: Which of them count.
    """
    gold: Sequence[Document] = batch.actual.documents
    settings = replace(batch.settings, match_method="containment", threshold={}, containment="gold_in_retrieved")
    itself = Batch(batch.actual, Side("predicted", _rows(batch.actual), settings.id_key, settings.grade_key), settings)
    found = match_containment(itself)
    codes = itself.normal_texts.actual
    is_same = codes[found.actual] == codes[found.predicted]
    # Of two equal texts each contains the other: one pair says so.
    keep = np.isin(found.actual, positions) & np.isin(found.predicted, positions)
    keep &= np.where(is_same, found.actual > found.predicted, found.actual != found.predicted)
    query = batch.actual.query_of(found.actual)
    order = np.lexsort((found.actual, found.predicted, ~is_same))
    return tuple(
        ContainedGold(
            query_id=evalset[int(query[pair])].id,
            outer=gold[int(found.predicted[pair])],
            inner=gold[int(found.actual[pair])],
            is_same=bool(is_same[pair]),
        )
        for pair in order[keep[order]].tolist()
    )


def find_lost(
    evalset: EvalSet, pool: Pool, batch: Batch, matches: Matches, positions: IntArray, corpus: Collection[str] | None
) -> tuple[LostGold, ...]:
    """Gold documents that no system retrieved at any rank, of questions that a system answered.

    Args:
        evalset: The questions.
        pool: What was retrieved.
        batch: The gold documents and the pooled ones.
        matches: Who matches whom.
        positions: Which gold documents count.
        corpus: The ids of the corpus, if it is known.
    """
    gold, id_key = batch.actual, batch.settings.id_key
    query = gold.query_of(positions)
    # A gold document that repeats another one matches what that one matches.
    lost = positions[~np.isin(positions, matches.actual) & pool.asked[query]]
    if not len(lost):
        return ()
    asked = np.unique(gold.query_of(lost)).tolist()
    rows = _rows(gold)
    part = Batch(
        Side("actual", [rows[number] for number in asked], id_key, batch.settings.grade_key),
        Side("predicted", [pool.rows[number] for number in asked], id_key, batch.settings.grade_key),
        batch.settings,
    )
    numbers = np.full(len(gold.documents), -1)
    numbers[lost] = np.arange(len(lost))
    in_part = np.concatenate([numbers[slice(*gold.offsets[number : number + 2].tolist())] for number in asked])
    nearest = nearest_of(part, in_part, len(lost), _NEAREST)
    made = []
    for number, position in enumerate(lost.tolist()):
        row, place = int(gold.query_of(np.array([position]))[0]), int(nearest.rank[number]) - 1
        document: Document = gold.documents[position]
        id_ = as_document(document, id_key=id_key, is_gold=True).id
        made.append(
            LostGold(
                query_id=evalset[row].id,
                gold=document,
                in_corpus=None if corpus is None or id_ is None else id_ in corpus,
                nearest=pool.rows[row][place] if place >= 0 else None,
                similarity=float(nearest.similarity[number]) if place >= 0 else None,
                ranks=pool.ranks_of(int(batch.predicted.offsets[row]) + place) if place >= 0 else {},
            )
        )
    # First those that stand there under another id or nearly so: these are mistakes of the set.
    return tuple(sorted(made, key=lambda one: (one.in_corpus is not False, -(one.similarity or 0.0))))


def find_near_questions(evalset: EvalSet, batch: Batch, positions: IntArray, near: float) -> tuple[NearQuestions, ...]:
    """Questions in nearly the same words, those with different gold first.

    Args:
        evalset: The questions.
        batch: The gold documents.
        positions: Which of them count.
        near: The similarity from which two questions are near.
    """
    keys = [codes.actual.tolist() for codes in identity_keys(batch)]
    gold: list[set[tuple[int, ...]]] = [set() for _ in evalset]
    for position, row in zip(positions.tolist(), batch.actual.query_of(positions).tolist(), strict=True):
        gold[row].add(tuple(codes[position] for codes in keys))
    groups = [
        NearQuestions(
            query_ids=tuple(evalset[place].id for place in places),
            questions=tuple(evalset[place].question or "" for place in places),
            same_gold=all(gold[place] == gold[places[0]] for place in places),
        )
        for places in group_near_duplicates(evalset.texts, near)
    ]
    return tuple(sorted(groups, key=lambda group: group.same_gold))


def _rows(side: Side) -> list[list[Document]]:
    bounds = side.offsets.tolist()
    return [side.documents[start:stop] for start, stop in pairwise(bounds)]
