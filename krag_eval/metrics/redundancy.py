"""Redundancy: how much of the context is spent on what was already there."""

from __future__ import annotations

import itertools

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval.matching import Batch
from krag_eval.metrics.judgments import CutOff, Judgments, repeated_positions

SHINGLE = 4


def redundancy(judged: Judgments, k: CutOff = None, *, batch: Batch, overlap: float = 0.8) -> FloatArray:
    """Return the share of the first `k` ranks that bring little which the ranks above them did not bring.

        redundancy@k = redundant ranks within k / min(k, number retrieved)

    A rank is redundant if it repeats an earlier one (the same id under `"id"`, the same normalised text otherwise), or
    if at least `overlap` of its runs of four tokens occur in texts above it.

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where nothing was retrieved; gold documents play
    no part.

    Args:
        judged: How many documents were retrieved.
        k: The cut-off.
        batch: The documents.
        overlap: The share of runs from which a text counts as contained in those above it, above 0 and at most 1.

    Edge cases:
        * A text of fewer than four tokens is one run; a text without tokens is redundant only as a repeat.
        * The first rank is never redundant.

    Source: containment of shingles, Broder (1997), SEQUENCES, doi:10.1109/SEQUEN.1997.666900, here in the union of
    the earlier texts.
    """
    redundant = _is_contained(batch, overlap)
    redundant[repeated_positions(batch)] = True
    return judged.share_of_ranks(*batch.predicted.places_of(np.flatnonzero(redundant)), k)


def _is_contained(batch: Batch, overlap: float) -> BoolArray:
    """Return which retrieved texts are mostly contained in those above them."""
    codes, offsets = batch.texts.predicted, batch.predicted.offsets.tolist()
    contained = np.zeros(len(codes), dtype=bool)
    wanted, place = np.unique(codes[codes >= 0], return_inverse=True)
    shingles = _shingles(batch, wanted)
    of_document: list[IntArray | None] = [None] * len(codes)
    for position, text in zip(np.flatnonzero(codes >= 0).tolist(), place.tolist(), strict=True):
        of_document[position] = shingles[text]
    for start, stop in itertools.pairwise(offsets):
        seen: set[int] = set()
        for position in range(start, stop):
            own = of_document[position]
            if own is None or not len(own):
                continue
            listed = own.tolist()
            contained[position] = sum(shingle in seen for shingle in listed) >= overlap * len(listed)
            seen.update(listed)
    return contained


def _shingles(batch: Batch, texts: IntArray) -> list[IntArray]:
    """Return the runs of four tokens of each of these texts, as numbers that are equal where the runs are."""
    tokens = batch.tokens.numbered(texts)
    rows = [tokens.numbers[start:stop] + 1 for start, stop in itertools.pairwise(tokens.offsets)]
    # 0 fills up texts that are shorter than a run; no token has it.
    filled = [np.append(row, [0] * (SHINGLE - len(row))) if 0 < len(row) < SHINGLE else row for row in rows]
    sizes = np.array([max(len(row) - SHINGLE + 1, 0) for row in filled], dtype=np.int64)
    windows = [np.lib.stride_tricks.sliding_window_view(row, SHINGLE) for row in filled if len(row)]
    if not windows:
        return [np.empty(0, dtype=np.int64) for _ in rows]
    _, numbers = np.unique(np.concatenate(windows), axis=0, return_inverse=True)
    return np.split(numbers.reshape(-1), np.cumsum(sizes)[:-1])
