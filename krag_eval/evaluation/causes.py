"""Decide why each gold document was missed: one cause, from the lists alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval._utils.said import said
from krag_eval.documents.columns import runs
from krag_eval.documents.readers import IdKey, reader_of, split_pair
from krag_eval.documents.text import forms_of, normalize
from krag_eval.documents.tokenizers import TOKENIZERS, tokenize_all
from krag_eval.evaluation.detail import Detail, Scored, detail_of
from krag_eval.matching.nearest import NEAR, Nearest, nearest_of

if TYPE_CHECKING:
    from krag_eval.metrics.sessions import SessionJudgments

FOUND = "found"
# In the order in which they are looked for: the first that holds is the cause.
_WORDS = {
    "retriever_error": "the retriever raised",
    "nothing_retrieved": "nothing was retrieved",
    "crowded_out": "without repeats and near duplicates above it, it would be within the cut-off",
    "ranked_below_k": "it was retrieved, but below the cut-off",
    "other_id": "the same text was retrieved under another id",
    "in_longer_text": "a retrieved text contains it",
    "cut": "a chunk border cuts it: a retrieved text holds only its beginning or its end",
    "piece": "a piece of it was retrieved, without its beginning and its end",
    "near_miss": "a retrieved text is similar, but does not match it",
    "wrong_chunk": "another chunk of the same document was retrieved",
    "never_retrieved": "nothing like it was retrieved",
    "not_cited": "it was found, and the answer cites nothing that satisfies it",
    "never_searched_for": "no search of the session asked for it",
    "searched_in_vain": "a search of the session asked for it, and nothing like it was retrieved",
}
CAUSES: dict[str, str] = {cause: said(f"cause-{cause}", words) for cause, words in _WORDS.items()}
# These are decided by the texts alone: a retrieved text holds all of the gold text, or a part of it.
HELD = ("other_id", "in_longer_text", "cut", "piece")
# A part has at least 20 characters, or a quarter of the gold text if that is less; but never fewer than 8.
_LEAST_PART, _LEAST_OF_ALL = 20, 8


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of each gold document, and why; one entry for each, as the `gold_` columns of `Judgments` have.

    Attributes:
        cause: `"found"` or a key of `CAUSES`.
        nearest: The retrieved text that shows the cause of one that was missed.
        shown: The position of the gold document; of a need, of the alternative that was found or shows the cause.
        k: The cut-off.
    """

    cause: list[str]
    nearest: Nearest
    shown: IntArray
    k: int | None


def decide(
    result: Scored, k: int | None, doc_key: IdKey, near: float = NEAR, queries: Sequence[int] | None = None
) -> Fates:
    """Decide what became of each gold document of a result.

    Args:
        result: The result.
        k: The cut-off.
        doc_key: The metadata key of document ids.
        near: The share of the threshold from which a similarity is near.
        queries: Those that are asked for: if they are few, the causes of all others mean nothing.
    """
    detail = detail_of(result, "misses cannot be diagnosed")
    judged, batch = detail.judged, detail.documents
    failed = np.zeros(len(judged), dtype=bool)
    failed[list(result.errors)] = True
    rank, query = detail.gold_rank, judged.gold_query
    is_found = (rank > 0) & (rank <= k) if k is not None else rank > 0
    is_asked = np.ones(len(rank), dtype=bool)
    if queries is not None and 2 * len(queries) < len(judged):
        is_asked, nearest = np.isin(query, queries), detail.nearest_in(queries)
    elif near == NEAR:
        nearest = detail.nearest
    else:
        nearest = nearest_of(batch, judged.missed_gold, len(rank), near)
    shown = detail.gold.first.copy()
    if batch.actual.needs is not None:
        shown = np.where(nearest.rank > 0, nearest.gold, shown)
    wanted = is_asked & (rank == 0)
    hold = _held_by_places if batch.settings.uses_spans else _held_by_texts
    nearest = replace(nearest, rank=nearest.rank.copy(), similarity=nearest.similarity.copy())
    held = hold(detail, shown, wanted, nearest)
    within = k if detail.sessions is None else None  # a session shows the first k ranks of each search
    without = ranks_without_repeats(detail, is_asked & ~is_found & (rank > 0) & (within is not None))
    by_cause: dict[str, BoolArray] = {
        FOUND: is_found,
        "retriever_error": failed[query],
        "nothing_retrieved": judged.n_retrieved[query] == 0,
        "crowded_out": (without > 0) & (without <= (within or 0)),
        "ranked_below_k": rank > 0,
        **{name: held == number for number, name in enumerate(HELD)},
        "near_miss": nearest.rank > 0,
        "wrong_chunk": same_document(detail, shown, wanted & (nearest.rank == 0), doc_key, within) > 0,
        "never_retrieved": np.ones(len(rank), dtype=bool),
    }
    names = list(by_cause)
    causes = [names[c] for c in np.select(list(by_cause.values()), list(range(len(by_cause)))).tolist()]
    if detail.sessions is not None:
        _refine_by_searches(causes, detail, detail.sessions)
    if batch.actual.needs is not None:
        shown = np.where([cause == FOUND for cause in causes], detail.gold.matched.gold, shown)
    return Fates(causes, nearest, shown, k)


def same_document(detail: Detail, shown: IntArray, wanted: BoolArray, doc_key: IdKey, k: int | None) -> IntArray:
    """Return the first rank of another chunk of the source of each wanted gold document, among the first `k` ranks.

    0 where there is none.
    """
    batch, query = detail.documents, detail.judged.gold_query.tolist()
    golds, first, stop = batch.actual.documents, detail.gold.first.tolist(), detail.gold.stop.tolist()
    same = np.zeros(len(query), dtype=np.int64)
    retrieved: dict[int, dict[str | None, int]] = {}
    for number in np.flatnonzero(wanted).tolist():
        doc_ids = {place: _document_id(golds[place], doc_key) for place in range(first[number], stop[number])}
        if not any(doc_ids.values()):
            continue
        q = query[number]
        if q not in retrieved:
            start, end = batch.predicted.offsets[q : q + 2].tolist()
            end = end if k is None else min(end, start + k)
            read = [_document_id(document, doc_key) for document in batch.predicted.documents[start:end]]
            retrieved[q] = dict(zip(reversed(read), range(len(read), 0, -1), strict=True))
        ranks = {
            place: retrieved[q][doc_id]
            for place, doc_id in doc_ids.items()
            if doc_id is not None and doc_id in retrieved[q]
        }
        if ranks:
            same[number], shown[number] = min(ranks.values()), next(iter(ranks))
    return same


def _document_id(document: object, doc_key: IdKey) -> str | None:
    inner, _ = split_pair(document)
    reader = reader_of(inner)
    return None if reader is None else reader.read_id(inner, doc_key)


def _held_by_texts(detail: Detail, shown: IntArray, wanted: BoolArray, nearest: Nearest) -> IntArray:
    """Return how a retrieved text holds each wanted gold text, as a place in `HELD`, -1 where none does.

    The rank of that text, and the share of the gold text that it holds, are written into `nearest`; which alternative
    it holds, into `shown`.
    """
    batch, first, query = detail.documents, detail.gold.first, detail.judged.gold_query
    held = np.full(len(query), -1)
    if not any(batch.actual.texts):
        return held
    sought = np.flatnonzero(wanted)
    bounds = zip(first[sought].tolist(), detail.gold.stop[sought].tolist(), strict=True)
    golds = [batch.actual.texts[start:end] for start, end in bounds]
    rows = [batch.predicted.texts[slice(*batch.predicted.offsets[q : q + 2])] for q in query[sought].tolist()]
    read = list({text for row in (*golds, *rows) for text in row if text is not None})
    forms: dict[str | None, str] = dict(zip(read, forms_of(read, batch.settings.normalize), strict=True))
    forms[None] = ""
    for number, of_gold, row in zip(sought.tolist(), golds, rows, strict=True):
        near, near_holds, best, which = int(nearest.rank[number]), 0, (0.0, 0, 0), 0
        for position, gold in enumerate(map(forms.__getitem__, of_gold), int(first[number])):
            shared = [(*_shared(gold, forms[text]), -rank) for rank, text in enumerate(row, 1)] if gold else []
            most, how, at = max(shared, default=(0, 0, 0))
            if most and (most / len(gold), how, at) > best:
                best, which = (most / len(gold), how, at), position
            near_holds |= shared[near - 1][0] if near and shared else 0
        is_nearer = near and not near_holds and nearest.similarity[number] > best[0]
        if best[0] and not is_nearer:
            nearest.similarity[number], held[number], nearest.rank[number] = best[0], -best[1], -best[2]
            shown[number] = which
    return held


def _held_by_places(detail: Detail, shown: IntArray, wanted: BoolArray, nearest: Nearest) -> IntArray:
    """Return how a chunk holds each wanted gold span, as `_held_by_texts` does of texts; the one with most decides."""
    batch, table, query = detail.documents, detail.gold, detail.judged.gold_query
    held = np.full(len(query), -1)
    for number in np.flatnonzero(wanted).tolist():
        ranks = slice(*batch.predicted.offsets[query[number] : query[number] + 2].tolist())
        document, start, end = (column[ranks] for column in batch.places.predicted)
        most = 0.0
        for position in range(int(table.first[number]), int(table.stop[number])):
            gold, begins, ends = (column.item(position) for column in batch.places.actual)
            common = np.where(document == gold, np.minimum(end, ends) - np.maximum(start, begins), 0)
            if not len(common) or gold < 0 or common.max() <= most * (ends - begins):
                continue
            at = int(common.argmax())
            most = common.item(at) / (ends - begins)
            how = "in_longer_text" if most == 1 else "cut" if start[at] <= begins or end[at] >= ends else "piece"
            held[number], nearest.rank[number], nearest.similarity[number] = HELD.index(how), at + 1, most
            shown[number] = position
    return held


def _shared(gold: str, text: str) -> tuple[int, int]:
    """Return how many characters of the gold text a retrieved text holds, and how: minus the place in `HELD`.

    >>> _shared("one two three", "zero one two th"), _shared("one two three", "one two three four")
    ((10, -2), (13, -1))
    """
    least = max(_LEAST_OF_ALL, min(_LEAST_PART, len(gold) // 4))
    if gold[:least] not in text and text[:least] not in gold:  # as nearly always
        return 0, 0
    if gold in text:
        return len(gold), -1 if len(text) > len(gold) else 0
    if text in gold:
        how = -2 if gold.startswith(text) or gold.endswith(text) else -3
        return (len(text), how) if len(text) >= least else (0, 0)
    return max(_overlap(text, gold, least), _overlap(gold, text, least)), -2


def _overlap(first: str, second: str, least: int) -> int:
    """Return the length of the longest end of one text that is the beginning of another; 0 if it is below `least`.

    In linear time: with the prefix function of Knuth, Morris and Pratt, once the first place that could be it is not.
    """
    start = first.find(second[:least])
    if start < 0 or not second:
        return 0
    end = first[start:]
    if second.startswith(end):
        return len(end) if len(end) >= least else 0
    second = second[: len(end)]
    borders = [0]
    for letter in second[1:]:
        borders.append(_extended(borders, second, borders[-1], letter))
    length = 0
    for letter in end:
        length = _extended(borders, second, borders[-1] if length == len(second) else length, letter)
    return length if length >= least else 0


def _extended(borders: list[int], text: str, length: int, letter: str) -> int:
    """Return how much of the beginning of a text ends with a letter, after `length` characters of it."""
    while length and text[length] != letter:
        length = borders[length - 1]
    return length + (text[length] == letter)


def ranks_without_repeats(detail: Detail, wanted: BoolArray) -> IntArray:
    """Return the ranks that wanted gold documents would have without repeats and near duplicates above them.

    0 where one is not wanted, or repeats or resembles what is above it itself.
    """
    batch, query, rank = detail.documents, detail.judged.gold_query, detail.gold_rank
    without = np.zeros(len(rank), dtype=np.int64)
    chosen = np.flatnonzero(wanted)
    if not len(chosen):
        return without
    depth = np.zeros(len(batch), dtype=np.int64)
    np.maximum.at(depth, query[chosen], rank[chosen])
    every = runs(batch.predicted.offsets[:-1], depth)  # the ranks down to the lowest that matters
    offsets = np.append(0, np.cumsum(depth))
    from krag_eval.matching.near_duplicates import near_pairs  # only misses need it

    near = near_pairs([batch.predicted.texts[place] for place in every.tolist()], offsets, batch.settings)
    # A rank counts if it neither repeats nor resembles one that counted above it.
    counted: set[int] = set()
    for place, position in enumerate(every.tolist()):
        if position not in detail.repeats and counted.isdisjoint(near.get(place, ())):
            counted.add(place)
    is_counted = np.isin(np.arange(len(every)), list(counted))
    n_above = np.append(0, np.cumsum(is_counted))
    first = offsets[query[chosen]]
    at = first + rank[chosen] - 1
    without[chosen] = np.where(is_counted[at], n_above[at] - n_above[first] + 1, 0)
    return without


# What was searched for asks for a text that holds more than this share of its words.
_ASKED = 0.5


def _refine_by_searches(causes: list[str], detail: Detail, sessions: SessionJudgments) -> None:
    """Tell apart, in sessions, what was found and not cited, never searched for, and searched for in vain.

    A search asks for a gold document if more than half of its words begin like a word of the document's text, or of an
    alternative's.

    Args:
        causes: The cause of each gold document; those that are changed are written here.
        detail: The gold documents.
        sessions: The sessions.
    """
    query, table, texts = sessions.gold_session, detail.gold, detail.documents.actual.texts
    for number, cause in enumerate(causes):
        session = int(query[number])
        if cause == FOUND and sessions.cited is not None and sessions.has_cited[session] and not sessions.cited[number]:
            causes[number] = "not_cited"
        asked = [one for one in sessions.queries[slice(*sessions.offsets[session : session + 2].tolist())] if one]
        sought = [text for text in texts[int(table.first[number]) : int(table.stop[number])] if text]
        if cause == "never_retrieved" and asked and sought:
            most = max(_share_asked(one, text) for one in asked for text in sought)
            causes[number] = "searched_in_vain" if most > _ASKED else "never_searched_for"


def _share_asked(query: str, text: str) -> float:
    """Return the share of the words of a query that begin like a word of a text.

    >>> _share_asked("refund deadlines", "Refunds: the deadline is 14 days."), _share_asked("배송 기간", "배송은 이틀")
    (1.0, 0.5)
    """
    words, known = map(set, tokenize_all(TOKENIZERS["words"], [normalize(query), normalize(text)]))
    starts = {word[:length] for word in known for length in range(1, len(word) + 1)}
    like = [word for word in words if word[: max(min(len(word), 2), round(0.75 * len(word)))] in starts]
    return len(like) / max(len(words), 1)
