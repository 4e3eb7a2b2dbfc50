"""Why a gold document was missed: one cause each, decided from the lists alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krag_eval.columns import BoolArray, FloatArray, IntArray
from krag_eval.id_rows import with_documents
from krag_eval.judgments import Judgments, identity_keys
from krag_eval.matching import Batch
from krag_eval.nearness import nearest_of
from krag_eval.query_results import Detail
from krag_eval.repeats import earlier_equal
from krag_eval.shapes import as_id, shape_of, split_pair

FOUND = "found"
# In the order in which they are looked for: the first that holds is the cause.
CAUSES = {
    "retriever_error": "the retriever raised",
    "nothing_retrieved": "nothing was retrieved",
    "ranked_below_k": "it was retrieved, but below the cut-off",
    "near_miss": "a retrieved text is similar, but under the threshold",
    "wrong_chunk": "another chunk of the same document was retrieved",
    "crowded_out": "repeats of documents took up ranks",
    "never_retrieved": "nothing like it was retrieved",
}


@dataclass(frozen=True, slots=True)
class Decided:
    """The causes of a batch, one entry a gold document in the order of the `gold_` columns of `Judgments`.

    Attributes:
        cause: `"found"` or a key of `CAUSES`.
        rank: The best rank that matches it; 0 where none does.
        near_rank: The rank of the most similar retrieved text; 0 where none is near.
        similarity: Its similarity; NaN where none is near.
        position: The position of the gold document in the column of all that were given.
    """

    cause: list[str]
    rank: IntArray
    near_rank: IntArray
    similarity: FloatArray
    position: IntArray


def decide(detail: Detail, failed: BoolArray, k: int | None, doc_key: str, near: float) -> Decided:
    """The cause of each gold document of a result.

    Args:
        detail: What the result kept.
        failed: Which queries' retriever raised; shape (n_queries,).
        k: The cut-off.
        doc_key: The metadata key of document ids.
        near: The share of the threshold from which a similarity is near.
    """
    judged, batch = detail.judged, with_documents(detail.batch)
    rank, query = judged.gold_rank, judged.gold_query
    is_found = (rank > 0) & (rank <= k) if k is not None else rank > 0
    position = _positions(judged)
    nearest = nearest_of(batch, np.where(_is_matched(judged), -1, judged.gold_number), len(rank), near)
    by_cause: dict[str, BoolArray] = {
        FOUND: is_found,
        "retriever_error": failed[query],
        "nothing_retrieved": judged.n_retrieved[query] == 0,
        "ranked_below_k": rank > 0,
        "near_miss": nearest.rank > 0,
        "wrong_chunk": _same_document(batch, position, query, ~is_found & (rank == 0), doc_key, k),
        "crowded_out": (repeats_within(batch, k) > 0)[query] & _is_full(judged, k)[query],
        "never_retrieved": np.ones(len(rank), dtype=bool),
    }
    cause = np.select(list(by_cause.values()), list(range(len(by_cause))))
    names = list(by_cause)
    return Decided([names[c] for c in cause.tolist()], rank, nearest.rank, nearest.similarity, position)


def repeated_positions(batch: Batch) -> IntArray:
    """The positions of retrieved documents that repeat an earlier one of their query, sorted."""
    every = np.arange(int(batch.predicted.offsets[-1]))
    return np.array(
        sorted(earlier_equal(batch.predicted, every, [key.predicted for key in identity_keys(batch)])), dtype=np.int64
    )


def repeats_within(batch: Batch, k: int | None) -> IntArray:
    """How many of the first `k` ranks of each query repeat an earlier one; shape (n_queries,)."""
    positions = repeated_positions(batch)
    query = batch.predicted.query_of(positions)
    rank = positions - batch.predicted.offsets[query] + 1
    return np.bincount(query[rank <= k] if k is not None else query, minlength=len(batch))


def _is_matched(judged: Judgments) -> BoolArray:
    """Which gold documents as they were given are matched at some rank; those of grade 0 are not."""
    number = judged.gold_number
    matched: BoolArray = np.append(judged.gold_rank > 0, False)[
        number
    ]  # a grade of 0 has the number -1, the last place
    return matched


def _is_full(judged: Judgments, k: int | None) -> BoolArray:
    """Where every rank is taken: with room left, repeats keep nothing out."""
    return judged.n_retrieved >= k if k is not None else np.zeros(len(judged), dtype=bool)


def _positions(judged: Judgments) -> IntArray:
    """For each gold document the first position at which it was given."""
    numbers = judged.gold_number
    given = np.flatnonzero(numbers >= 0)
    first = np.zeros(len(judged.gold_query), dtype=np.int64)
    first[numbers[given][::-1]] = given[::-1]
    return first


def _same_document(
    batch: Batch, position: IntArray, query: IntArray, wanted: BoolArray, doc_key: str, k: int | None
) -> BoolArray:
    """Which of the wanted gold documents have another chunk of their source among the first `k` ranks."""
    same = np.zeros(len(position), dtype=bool)
    retrieved: dict[int, set[str | None]] = {}
    for number in np.flatnonzero(wanted).tolist():
        doc_id = _document_id(batch.actual.documents[int(position[number])], doc_key)
        if doc_id is None:
            continue
        q = int(query[number])
        if q not in retrieved:
            start, stop = batch.predicted.offsets[q : q + 2].tolist()
            stop = stop if k is None else min(stop, start + k)
            retrieved[q] = {_document_id(document, doc_key) for document in batch.predicted.documents[start:stop]}
        same[number] = doc_id in retrieved[q]
    return same


def _document_id(document: object, doc_key: str) -> str | None:
    inner, _ = split_pair(document)
    shape = shape_of(inner)
    if shape is None:
        return None
    found = as_id(shape.metadata(inner).get(doc_key))
    own: object = inner.get(doc_key) if shape.own_keys and isinstance(inner, dict) else None
    return as_id(own) if found is None else found
