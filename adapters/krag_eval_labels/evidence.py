"""Pool what all systems retrieved, and weigh the evidence that a document is gold."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from krag_eval import Document, EvalSet, Run, as_document
from krag_eval.toolkit import (
    Batch,
    BoolArray,
    FloatArray,
    Found,
    IntArray,
    Settings,
    Side,
    match_containment,
    pairs_above,
)
from krag_eval_labels.report import REASONS

# A contained text shorter than this, in characters of its normal form, may be contained by accident.
_SHORTEST = 16
# What a reason weighs by itself, from 0 to 1. A copy of a gold text is nearly always gold. An answer may stand in a
# text by accident. What several systems agree on is nearly always a good second best, the more so without an answer.
_SAME, _CONTAINS, _PART = 1.0, 0.95, 0.5
_ANSWERS, _AGREED, _AGREED_ON_NEGATIVE = 0.6, 0.1, 0.05
# A text like the gold one, but without the answer that stands there, was changed where it matters.
_WITHOUT_ANSWER = 0.5
# Enough to tell an answer that stands everywhere ("two") from one that hardly does.
_SAMPLE = 300
# Where one of these ends an answer, another one must not go on: in Korean an ending may, in Chinese the next word does.
_WHOLE_WORDS = r"[A-Za-z\u00c0-\u052f]"  # Latin, Greek, Cyrillic
Rows = list[list[Document]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The documents that were retrieved for each question, in the order of the questions.

    Attributes:
        systems: The names of the systems.
        rows: The documents of each question, those that were retrieved highest first.
        ranks: The rank of each document in each system, 0 where it has none; shape (n_documents, n_systems).
        asked: Whether any system answered without an error; shape (n_questions,).
    """

    systems: tuple[str, ...]
    rows: Rows
    ranks: IntArray
    asked: BoolArray

    def ranks_of(self, position: int) -> dict[str, int]:
        """Return the rank of a document in each system that has it, by its position in all rows end to end."""
        return {name: rank for name, rank in zip(self.systems, self.ranks[position].tolist(), strict=True) if rank}


def pool_documents(evalset: EvalSet, runs: Mapping[str, Run], sides: Mapping[str, Side], settings: Settings) -> Pool:
    """Merge the rankings of all systems.

    Where ids are matched, two documents are the same if their ids are, or if one has no id and its text is that of the
    other; elsewhere if their normalised texts are.
    """
    columns = list(sides.values())
    documents: list[Document] = [document for side in columns for document in side.documents]
    sizes = [len(side.documents) for side in columns]
    query = np.concatenate([side.query_of(np.arange(size)) for side, size in zip(columns, sizes, strict=True)])
    starts = np.concatenate([side.offsets[:-1] for side in columns]).reshape(len(columns), len(evalset))
    system = np.repeat(np.arange(len(columns)), sizes)
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = np.arange(len(documents)) - before - starts[system, query] + 1
    ids = [id_ for side in columns for id_ in side.ids] if settings.uses_ids else [None] * len(documents)
    texts = [text for side in columns for text in side.texts]
    key = _number(ids, texts, settings)
    pair = query * (int(key.max(initial=0)) + 1) + key
    has_text = np.array([text is not None for text in texts], dtype=bool)
    # Of each document the copy with a text, and of these the highest.
    order = np.lexsort((rank, ~has_text, pair))
    is_first = np.append(True, np.diff(pair[order]) != 0)[: len(order)]
    chosen = order[is_first]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_first) - 1
    ranks = np.zeros((len(chosen), len(columns)), dtype=np.int64)
    lowest_first = np.argsort(-rank, kind="stable")  # of several assignments to one place the last one stays
    ranks[number[lowest_first], system[lowest_first]] = rank[lowest_first]
    best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    arranged = np.lexsort((best, query[chosen]))
    rows: Rows = [[] for _ in range(len(evalset))]
    for position, its_query in zip(chosen[arranged].tolist(), query[chosen[arranged]].tolist(), strict=True):
        rows[its_query].append(documents[position])
    answered = {id_ for run in runs.values() for id_, row in run.rows.items() if row.error is None}
    asked = np.array([id_ in answered for id_ in evalset.ids], dtype=bool)
    return Pool(tuple(sides), rows, ranks[arranged], asked)


def _number(ids: Sequence[str | None], texts: Sequence[str | None], settings: Settings) -> IntArray:
    """Return a number for each document, the same for the same document."""
    form = functools.cache(lambda text: "" if text is None else normal_form(text, settings))
    id_of: dict[str, str] = {}
    if None in ids and any(ids):
        for id_, text in zip(ids, texts, strict=True):
            if id_ is not None and text is not None:
                id_of.setdefault(form(text), id_)
    numbers: dict[tuple[str, str], int] = {}
    made = np.empty(len(ids), dtype=np.int64)
    for place, (id_, text) in enumerate(zip(ids, texts, strict=True)):
        same_id = id_ if id_ is not None else id_of.get(form(text))
        key = ("", form(text)) if same_id is None else ("id", same_id)
        made[place] = numbers.setdefault(key, len(numbers))
    return made


def fill_texts(gold: Rows, pooled: Rows, corpus: Iterable[object] | None, settings: Settings) -> frozenset[str] | None:
    """Give documents without a text, in place, the text that another one with their id has.

    Args:
        gold: The gold documents of each question.
        pooled: The retrieved documents of each question.
        corpus: Documents that may have the texts.
        settings: Where ids are read.

    Returns:
        The ids of the corpus; None without one.
    """
    texts: dict[str, str] = {}
    ids: set[str] = set()
    for given in () if corpus is None else corpus:
        document = as_document(given, id_key=settings.id_key)
        if document.id is not None:
            ids.add(document.id)
            if document.text is not None:
                texts.setdefault(document.id, document.text)
    everything = [*gold, *pooled]
    if any(document.text is None for row in everything for document in row):
        for row in everything:
            for document in row:
                id_ = _id(document, settings)
                if id_ is not None and document.text is not None:
                    texts.setdefault(id_, document.text)
        for row in everything:
            for place, document in enumerate(row):
                if document.text is None and (text := texts.get(_id(document, settings) or "")) is not None:
                    row[place] = replace(document, text=text)
    return None if corpus is None else frozenset(ids)


def _id(document: Document, settings: Settings) -> str | None:
    return document.id if settings.id_key is None else as_document(document, id_key=settings.id_key).id


@dataclass(frozen=True, slots=True)
class Evidence:
    """One entry per pooled document.

    Attributes:
        reasons: For each key of `REASONS`, which documents it holds for.
        strength: The largest weight of a reason that holds.
        n_systems: How many systems have it within k.
        mean_rr: The mean reciprocal rank within k over all systems.
        similarity: ROUGE-L with the nearest gold text; NaN below `near`.
        near_gold: The position of the gold document that the document is like; -1 where there is none.
        answer_rarity: For each text that holds the answer of its question, how rare that is; NaN for the others.
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
    """Weigh the evidence that each pooled document is gold.

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
    by_text = replace(
        batch.settings, match_method="rougeL", threshold=near, rouge_measure="fmeasure", containment="either"
    )
    texts = Batch(batch.actual, batch.predicted, by_text)
    alike = _compare_with_gold(texts, near)
    query = texts.predicted.query_of(np.arange(n_documents))
    answers = [normal_form(question.answer or "", batch.settings) for question in evalset]
    looked_at = (inside.any(axis=1) | (alike.near_gold >= 0)) & ~judged
    forms = [texts.normal_forms[code] if code >= 0 else "" for code in texts.texts.predicted.tolist()]
    rarity = _answer_rarity(answers, forms, texts.predicted.offsets, looked_at, judged)
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
    """Return the pairs at these places, or those whose gold document is one of these."""
    if which.dtype == np.bool_:
        which = np.flatnonzero(which[found.actual])
    return found.only(which)


def normal_form(text: str, settings: Settings) -> str:
    """Return the text as the settings normalize it."""
    return text if settings.normalize is None else settings.normalize(text)


def _answer_rarity(
    answers: Sequence[str], texts: Sequence[str], offsets: IntArray, looked_at: BoolArray, judged: BoolArray
) -> FloatArray:
    """Return, for each text that holds the answer of its question, how rare that is.

        rarity = 1 - ln(n + 1) / ln(N + 1),    of N other texts (a sample) n hold the answer

    An answer that begins or ends with a digit, or with a letter of the Latin, Greek or Cyrillic script, must not go on
    there in the text: `10` does not stand in `1910`. That gold documents hold it is no wonder: they are not counted.

    Args:
        answers: The answer of each question in normal form, empty where there is none.
        texts: The texts of all questions in normal form, empty where there is none.
        offsets: Where those of each question begin; shape (n_questions + 1,).
        looked_at: Which texts to look at.
        judged: Which texts are those of gold documents, or were judged and found not relevant.

    Returns:
        One entry per text, from 0 (in every text) to 1 (in no other); NaN where it was not looked at or does not hold
        the answer.
    """
    rarity = np.full(len(texts), math.nan)
    sample = _sample(texts) if any(answers) else []
    for answer, (start, stop) in zip(answers, pairwise(offsets.tolist()), strict=True):
        if not answer:
            continue
        places = np.flatnonzero(looked_at[start:stop]) + start
        hits = [place for place in places.tolist() if answer in texts[place]]
        if not hits:
            continue
        pattern = re.compile(_edge(answer[0], "(?<!{})") + re.escape(answer) + _edge(answer[-1], "(?!{})"))
        hits = [place for place in hits if pattern.search(texts[place])]
        own = {texts[place] for place in [*hits, *(np.flatnonzero(judged[start:stop]) + start).tolist()]}
        others = [text for text in sample if text not in own]
        n_holding = sum(1 for text in others if answer in text and pattern.search(text))
        rarity[hits] = 1 - math.log(n_holding + 1) / math.log(len(others) + 1) if others else 1.0
    return rarity


def _sample(texts: Sequence[str]) -> list[str]:
    different = [text for text in dict.fromkeys(texts) if text]
    return different[:: max(1, math.ceil(len(different) / _SAMPLE))]


def _edge(character: str, pattern: str) -> str:
    """Return what must not be next to this first or last character of an answer."""
    if character.isdigit():
        return pattern.format(r"\d")
    return pattern.format(_WHOLE_WORDS) if re.match(_WHOLE_WORDS, character) else ""
