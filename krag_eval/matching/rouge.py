"""Matching by ROUGE-1, ROUGE-2 and ROUGE-L.

Decisions and similarities equal those of `rouge_score` 0.1.2 for the same tokens, to the last bit (Lin 2004,
https://aclanthology.org/W04-1013). Each unique text is tokenized once; `bitmaps` settles nearly all pairs by an
upper bound, and `overlap` counts exactly in the pairs that are left.
"""

from __future__ import annotations

import numpy as np

from krag_eval.columns import FloatArray, IntArray
from krag_eval.matching.batch import Batch
from krag_eval.matching.bitmaps import bitmaps, differing_bits
from krag_eval.matching.matches import Found
from krag_eval.matching.overlap import overlap
from krag_eval.matching.tokens import Units

# The bound is compared with a little slack: it must hold whatever the last bit of a quotient does.
_SLACK = 1e-9
_BLOCK = 4096
_CANDIDATES_AT_ONCE = 1 << 20


def score(shared: IntArray, n_gold: IntArray, n_retrieved: IntArray, measure: str) -> FloatArray:
    """ROUGE from the overlap and the two lengths, in rouge_score's own order of operations.

    Args:
        shared: Units that the two texts share.
        n_gold: Units of the gold text (the target), at least 1.
        n_retrieved: Units of the retrieved text (the prediction), at least 1.
        measure: `"precision"`, `"recall"` or `"fmeasure"`.

    Returns:
        Scores from 0 to 1, higher is more similar.
    """
    precision = shared / n_retrieved
    recall = shared / n_gold
    if measure == "precision":
        return precision
    if measure == "recall":
        return recall
    total = precision + recall
    product: FloatArray = 2 * precision * recall
    return np.divide(product, total, out=np.zeros_like(total), where=total > 0)


def match_rouge(batch: Batch, kind: str) -> Found:
    """Pairs whose ROUGE is at least the threshold of the settings."""
    return pairs_above(batch, kind, batch.settings.thresholds[kind])


def pairs_above(batch: Batch, kind: str, threshold: float) -> Found:
    """Pairs whose ROUGE is at least `threshold`; a text without units has no similarity to anything."""
    units = Units.of(batch.tokens, kind)
    measure = batch.settings.rouge_measure
    lengths = np.append(units.lengths, 0)  # a missing text has the number -1: the last place
    bits = bitmaps(units)
    found: list[Found] = []
    waiting: list[tuple[IntArray, ...]] = []
    n_waiting = 0
    for pairs in batch.pair_blocks(_BLOCK):
        gold, retrieved = batch.texts.actual[pairs.actual], batch.texts.predicted[pairs.predicted]
        possible = _possible(lengths[gold], lengths[retrieved], threshold, measure)
        gold, retrieved = gold[possible], retrieved[possible]
        n_gold, n_retrieved = lengths[gold], lengths[retrieved]
        bound = (n_gold + n_retrieved - differing_bits(bits, gold, retrieved)) >> 1
        likely = score(np.minimum(bound, np.minimum(n_gold, n_retrieved)), n_gold, n_retrieved, measure)
        keep = likely >= threshold - _SLACK
        waiting.append((pairs.actual[possible[keep]], pairs.predicted[possible[keep]], gold[keep], retrieved[keep]))
        n_waiting += int(keep.sum())
        if n_waiting >= _CANDIDATES_AT_ONCE:
            found.append(_verify(units, waiting, threshold, measure))
            waiting, n_waiting = [], 0
    if n_waiting:
        found.append(_verify(units, waiting, threshold, measure))
    return Found.of([f.actual for f in found], [f.predicted for f in found], [f.similarity for f in found])


def _possible(n_gold: IntArray, n_retrieved: IntArray, threshold: float, measure: str) -> IntArray:
    """Places of the pairs whose lengths alone allow the threshold."""
    both = np.flatnonzero((n_gold > 0) & (n_retrieved > 0))
    n_gold, n_retrieved = n_gold[both], n_retrieved[both]
    best = score(np.minimum(n_gold, n_retrieved), n_gold, n_retrieved, measure)
    return both[best >= threshold - _SLACK]


def _verify(units: Units, waiting: list[tuple[IntArray, ...]], threshold: float, measure: str) -> Found:
    """Count exactly, and keep the pairs that reach the threshold."""
    actual, predicted, gold, retrieved = (np.concatenate(column) for column in zip(*waiting, strict=True))
    n_gold, n_retrieved = units.lengths[gold], units.lengths[retrieved]
    shared = n_gold.copy()  # a text shares everything with itself
    differ = np.flatnonzero(gold != retrieved)
    by_measure = {"precision": n_retrieved, "recall": n_gold, "fmeasure": (n_gold + n_retrieved) / 2}
    needed = np.floor(threshold * by_measure[measure][differ] * (1 - _SLACK)).astype(np.int64)
    shared[differ] = overlap(units, gold[differ], retrieved[differ], needed)
    similarity = score(shared, n_gold, n_retrieved, measure)
    keep = similarity >= threshold
    return Found(actual[keep], predicted[keep], similarity[keep])
