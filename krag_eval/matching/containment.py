"""Matching by containment: one normalised text is part of the other."""

from __future__ import annotations

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval.matching.batch import Batch, Found
from krag_eval.matching.prefilters import Shingles

# With fewer pairs for each different text it is quicker to look than to prepare.
_PAIRS_A_TEXT = 4


def match_containment(batch: Batch) -> Found:
    """Pairs of which one text contains the other, in the direction that the settings allow."""
    direction = batch.settings.containment
    forms = batch.normal_forms
    codes = batch.texts
    length = np.array([*map(len, forms), 0], dtype=np.int64)
    n_pairs = int((batch.actual.sizes * batch.predicted.sizes).sum())
    shingles = Shingles(forms) if n_pairs > _PAIRS_A_TEXT * len(forms) else None
    actual: list[IntArray] = []
    predicted: list[IntArray] = []
    for pairs in batch.pair_blocks():
        gold, retrieved = codes.actual[pairs.actual], codes.predicted[pairs.predicted]
        possible = (length[gold] > 0) & (length[retrieved] > 0)
        if direction == "gold_in_retrieved":
            possible &= length[gold] <= length[retrieved]
        elif direction == "retrieved_in_gold":
            possible &= length[gold] >= length[retrieved]
        candidates = np.flatnonzero(possible)
        gold, retrieved = gold[candidates], retrieved[candidates]
        swap = length[gold] > length[retrieved]
        short, long = np.where(swap, retrieved, gold), np.where(swap, gold, retrieved)
        if shingles is not None:
            likely = np.flatnonzero(shingles.may_contain(long, short))
            candidates, short, long = candidates[likely], short[likely], long[likely]
        texts = zip(short.tolist(), long.tolist(), strict=True)
        holds = np.fromiter((forms[s] in forms[t] for s, t in texts), bool, len(short))
        hits = candidates[holds]
        actual.append(pairs.actual[hits])
        predicted.append(pairs.predicted[hits])
    return Found.of(actual, predicted)
