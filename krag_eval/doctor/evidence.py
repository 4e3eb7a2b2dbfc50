"""What speaks for a retrieved document being gold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from krag_eval.columns import BoolArray, FloatArray, IntArray
from krag_eval.doctor.answers import answer_rarity
from krag_eval.doctor.pool import Pool
from krag_eval.doctor.records import REASONS
from krag_eval.evalset import EvalSet
from krag_eval.matching import Batch
from krag_eval.matching.containment import match_containment
from krag_eval.matching.found import Found
from krag_eval.matching.rouge import pairs_above
from krag_eval.settings import Settings

# A contained text shorter than this, in characters of its normal form, may be contained by accident.
_SHORTEST = 16
# What a reason weighs by itself, from 0 to 1. A copy of a gold text is nearly always gold. An answer may stand in a
# text by accident. What several systems agree on is nearly always a good second best, the more so without an answer.
_SAME, _CONTAINS, _PART = 1.0, 0.95, 0.5
_ANSWERS, _AGREED, _AGREED_ON_NEGATIVE = 0.6, 0.1, 0.05
# A text like the gold one, but without the answer that stands there, was changed where it matters.
_WITHOUT_ANSWER = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """One entry a pooled document.

    Attributes:
        reasons: For each key of `REASONS`, which documents it holds for.
        strength: The largest weight of a reason that holds.
        n_systems: How many systems have it within k.
        mean_rr: The mean reciprocal rank within k over all systems.
        similarity: ROUGE-L with the nearest gold text; NaN below `near`.
        near_gold: The position of the gold document that the document is like; -1 where there is none.
        answer_rarity: What `answer_rarity` gives.
    """

    reasons: dict[str, BoolArray]
    strength: FloatArray
    n_systems: IntArray
    mean_rr: FloatArray
    similarity: FloatArray
    near_gold: IntArray
    answer_rarity: FloatArray


def weigh(
    evalset: EvalSet,
    pool: Pool,
    batch: Batch,
    judged: BoolArray,
    negative: BoolArray,
    *,
    k: int,
    min_systems: int,
    near: float,
) -> Evidence:
    """What speaks for each pooled document.

    Args:
        evalset: The questions.
        pool: What was retrieved.
        batch: The gold documents and the pooled ones.
        judged: Which pooled documents are gold, or were judged and found not relevant.
        negative: Which questions have no gold document.
        k: The rank down to which agreement counts.
        min_systems: How many systems have to agree.
        near: The ROUGE-L from which a text is nearly a gold text.
    """
    n_documents, n_systems = pool.ranks.shape
    inside = (pool.ranks > 0) & (pool.ranks <= k)
    mean_rr = np.where(inside, 1 / np.maximum(pool.ranks, 1), 0.0).sum(axis=1) / n_systems
    agreeing: IntArray = inside.sum(axis=1)
    texts = Batch(batch.actual, batch.predicted, _text_settings(batch.settings, near))
    alike = _compare_with_gold(texts, near)
    query = texts.predicted.query_of(np.arange(n_documents))
    answers = [_normal_form(question.answer or "", batch.settings) for question in evalset]
    looked_at = (inside.any(axis=1) | (alike.near_gold >= 0)) & ~judged
    forms = [texts.normal_forms[code] if code >= 0 else "" for code in texts.texts.predicted.tolist()]
    rarity = answer_rarity(answers, forms, texts.predicted.offsets, looked_at, judged)
    holds_answer = ~np.isnan(rarity)
    likeness = np.ones(n_documents)
    for position in np.flatnonzero((alike.near_gold >= 0) & ~holds_answer).tolist():
        code = int(texts.texts.actual[alike.near_gold[position]])
        answer = answers[int(query[position])]
        if answer and answer in texts.normal_forms[code]:
            likeness[position] = _WITHOUT_ANSWER
    reasons = alike.reasons | {"holds_answer": holds_answer, "several_systems": agreeing >= min_systems}
    weights = {
        "same_text": np.full(n_documents, _SAME),
        "contains_gold": np.full(n_documents, _CONTAINS),
        "near_duplicate": np.nan_to_num(alike.similarity) * likeness,
        "part_of_gold": _PART * likeness,
        "holds_answer": _ANSWERS * mean_rr * np.nan_to_num(rarity),
        "several_systems": mean_rr * np.where(negative[query], _AGREED_ON_NEGATIVE, _AGREED),
    }
    return Evidence(
        reasons={name: reasons[name] for name in REASONS},
        strength=np.max([np.where(reasons[name], weights[name], 0.0) for name in REASONS], axis=0, initial=0.0),
        n_systems=agreeing,
        mean_rr=mean_rr,
        similarity=alike.similarity,
        near_gold=alike.near_gold,
        answer_rarity=rarity,
    )


@dataclass(frozen=True, slots=True)
class _Alike:
    """How like a gold document each pooled document is: fields of `Evidence`, and the reasons that follow from them."""

    reasons: dict[str, BoolArray]
    similarity: FloatArray
    near_gold: IntArray


def _compare_with_gold(texts: Batch, near: float) -> _Alike:
    n_documents = int(texts.predicted.offsets[-1])
    is_gold = texts.actual.grades > 0
    near_pairs = _only(pairs_above(texts, "rougeL", near), is_gold)
    near_pairs = _only(near_pairs, np.argsort(near_pairs.similarity, kind="stable"))
    contained = _only(match_containment(texts), is_gold)
    form_length = np.array([*map(len, texts.normal_forms), 0], dtype=np.int64)
    gold_length = form_length[texts.texts.actual[contained.actual]]
    length = form_length[texts.texts.predicted[contained.predicted]]
    long_enough = np.minimum(gold_length, length) >= _SHORTEST
    reasons, near_gold = {}, np.full(n_documents, -1)
    # Of several assignments to one place the last one stays: the strongest reason, and in it the most similar gold.
    for name, found in (
        ("part_of_gold", _only(contained, np.flatnonzero(long_enough & (gold_length > length)))),
        ("near_duplicate", near_pairs),
        ("contains_gold", _only(contained, np.flatnonzero(long_enough & (gold_length < length)))),
        ("same_text", _only(texts.equal_texts(), is_gold)),
    ):
        reasons[name] = np.zeros(n_documents, dtype=bool)
        reasons[name][found.predicted] = True
        near_gold[found.predicted] = found.actual
    similarity = np.full(n_documents, np.nan)
    similarity[near_pairs.predicted] = near_pairs.similarity
    return _Alike(reasons, similarity, near_gold)


def _only(found: Found, which: BoolArray | IntArray) -> Found:
    """The pairs at these places, or those whose gold document is one of these."""
    if which.dtype == np.bool_:
        which = np.flatnonzero(which[found.actual])
    return Found(found.actual[which], found.predicted[which], found.similarity[which])


def _text_settings(settings: Settings, near: float) -> Settings:
    return replace(settings, match_method="rougeL", threshold=near, rouge_measure="fmeasure", containment="either")


def _normal_form(text: str, settings: Settings) -> str:
    return text if settings.normalize is None else settings.normalize(text)
