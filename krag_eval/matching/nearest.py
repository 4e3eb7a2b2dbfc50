"""Find the retrieved text nearest to each gold document that was missed, below the threshold of a match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval.documents.columns import Side
from krag_eval.matching import similar_pairs
from krag_eval.matching.batch import Batch, Found
from krag_eval.matching.id_batch import with_documents
from krag_eval.matching.rouge import pairs_above
from krag_eval.matching.settings import THRESHOLD_METHODS, Settings

NEAR = 0.6


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest retrieved text of each gold document.

    Attributes:
        rank: Its rank, 0 if no text is near.
        similarity: Its similarity, NaN if no text is near.
        method: The place of the method that measured it among those of the settings; the last where none does.
        gold: The position in the batch of the gold text that it is near to: of a need, the nearest alternative.
    """

    rank: IntArray
    similarity: FloatArray
    method: IntArray
    gold: IntArray


def some_queries(batch: Batch, indices: Iterable[int]) -> Batch:
    """Return these queries of a batch as a batch of their own."""
    full, wanted = with_documents(batch), list(indices)
    sides = [
        Side(
            side.name,
            [side.documents[slice(*side.offsets[index : index + 2].tolist())] for index in wanted],
            **batch.settings.reading,
        )
        for side in (full.actual, full.predicted)
    ]
    return Batch(sides[0], sides[1], batch.settings)


def nearest_of(batch: Batch, gold_number: IntArray, n_gold: int, near: float = NEAR) -> Nearest:
    """Return the nearest retrieved text of each gold document, at any rank.

    Similarity is that of the settings' own methods: ROUGE, or the cosine of embeddings. Methods that know only yes and
    no are measured by ROUGE-1 against a threshold of 1: its F-measure for equal texts and ids, the share of the
    contained text for containment.

    Args:
        batch: The input.
        gold_number: For each gold document as it was given, its number; -1 if it is none.
        n_gold: How many gold documents there are.
        near: The share of the threshold from which a similarity is near.
    """
    rank, similarity = np.zeros(n_gold, dtype=np.int64), np.full(n_gold, np.nan)
    method, gold = np.zeros(n_gold, dtype=np.int64), np.zeros(n_gold, dtype=np.int64)
    found, found_by = _near_pairs(batch, gold_number >= 0, near)
    number = gold_number[found.actual]
    _, ranks = batch.predicted.places_of(found.predicted)
    counts = np.flatnonzero(number >= 0)
    # The most similar first, of equals the highest rank; of several assignments to one place the last one stays.
    best = counts[np.lexsort((ranks[counts], -found.similarity[counts]))][::-1]
    rank[number[best]] = ranks[best]
    similarity[number[best]] = found.similarity[best]
    method[number[best]] = found_by[best]
    gold[number[best]] = found.actual[best]
    return Nearest(rank, similarity, method, gold)


def _near_pairs(batch: Batch, wanted: BoolArray, near: float) -> tuple[Found, IntArray]:
    """Return at least the pairs with a wanted gold document that are near, and the place of the method of each."""
    settings = batch.settings
    places = [place for place, method in enumerate(settings.methods) if method in THRESHOLD_METHODS]
    measured = [settings.methods[place] for place in places]
    found = [similar_pairs(batch, method, near * settings.thresholds[method], near) for method in measured]
    if not measured and any(batch.actual.texts) and any(batch.predicted.texts):
        queries = np.isin(np.arange(len(batch)), batch.actual.query_of(np.flatnonzero(wanted)))
        retrieved = _only(batch.predicted, np.repeat(queries, batch.predicted.sizes))
        by_words = Batch(_only(batch.actual, wanted), retrieved, _by_words(settings))
        found.append(pairs_above(by_words, "rouge1", near))
        places = [len(settings.methods) - 1]
    found_by = np.repeat(np.array(places[: len(found)], dtype=np.int64), [len(f.actual) for f in found])
    return Found.joined(found), found_by


def _only(side: Side, is_kept: BoolArray) -> Side:
    """Return a side with some of its texts alone."""
    texts = [text if keep else None for text, keep in zip(side.texts, is_kept.tolist(), strict=True)]
    return Side.of_columns(side.name, None, texts, side.offsets, side.first_query)


def _by_words(settings: Settings) -> Settings:
    measure = "fmeasure"
    if "containment" in settings.methods:
        measure = "precision" if settings.containment == "retrieved_in_gold" else "recall"
    return replace(settings, match_method="rouge1", threshold=1.0, rouge_measure=measure)
