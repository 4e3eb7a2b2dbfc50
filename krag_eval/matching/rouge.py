"""Match texts by ROUGE-1 to ROUGE-9, ROUGE-L and ROUGE-Lsum.

Decisions and similarities equal those of `rouge_score` 0.1.2 for the same tokens, to the last bit (Lin 2004,
https://aclanthology.org/W04-1013). Each unique text is tokenized once. An upper bound of the overlap settles nearly all
pairs, and only in the pairs that are left it is counted exactly.
"""

from __future__ import annotations

import math

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.limits import shown, to_allow
from krag_eval.matching.batch import Batch, Found
from krag_eval.matching.lines import line_hits
from krag_eval.matching.overlap import BY_LINE, UNIT_OF, TooLongError, n_different, overlap

# The bound is compared with a little slack: it must hold whatever the last bit of a quotient does.
_SLACK = 1e-9
# Pairs are verified when so many wait: few, to stay in the processor's cache, unless their texts come up again.
_CANDIDATES_AT_ONCE, _MOST_CANDIDATES = 1 << 11, 1 << 20


def score(shared: IntArray, n_gold: IntArray, n_retrieved: IntArray, measure: str) -> FloatArray:
    """Compute ROUGE from the overlap and the two lengths, in rouge_score's own order of operations.

    Args:
        shared: Units that the two texts share.
        n_gold: Units of the gold text (the target).
        n_retrieved: Units of the retrieved text (the prediction).
        measure: `"precision"`, `"recall"` or `"fmeasure"`.

    Returns:
        Scores from 0 to 1, higher is more similar.
    """
    precision = shared / np.maximum(n_retrieved, 1)
    recall = shared / np.maximum(n_gold, 1)
    if measure == "precision":
        return precision
    if measure == "recall":
        return recall
    total = precision + recall
    product: FloatArray = 2 * precision * recall
    return np.divide(product, total, out=np.zeros_like(total), where=total > 0)


def pairs_above(batch: Batch, kind: str, threshold: float) -> Found:
    """Return the pairs whose ROUGE is at least `threshold`; a text without tokens has no similarity to anything."""
    sketches = batch.sketches[UNIT_OF[kind]]
    lengths, measure = sketches.lengths, batch.settings.rouge_measure
    found: list[Found] = []
    waiting: list[tuple[IntArray, ...]] = []
    n_waiting, enough = 0, _CANDIDATES_AT_ONCE
    for pairs in batch.pair_blocks():
        gold, retrieved = batch.texts.actual[pairs.actual], batch.texts.predicted[pairs.predicted]
        worded = sketches.has_tokens[gold] & sketches.has_tokens[retrieved]
        possible = np.flatnonzero(worded & _possible(lengths[gold], lengths[retrieved], threshold, measure))
        gold, retrieved = gold[possible], retrieved[possible]
        likely = score(sketches.most_shared(gold, retrieved), lengths[gold], lengths[retrieved], measure)
        keep = likely >= threshold - _SLACK
        waiting.append((pairs.actual[possible[keep]], pairs.predicted[possible[keep]], gold[keep], retrieved[keep]))
        n_waiting += int(keep.sum())
        if n_waiting < enough:
            continue
        if n_waiting < _MOST_CANDIDATES and _texts_recur(waiting):
            enough = 2 * n_waiting
        else:
            found.append(_verify(batch, kind, waiting, threshold))
            waiting, n_waiting, enough = [], 0, _CANDIDATES_AT_ONCE
    if n_waiting:
        found.append(_verify(batch, kind, waiting, threshold))
    return Found.joined(found)


def _texts_recur(waiting: list[tuple[IntArray, ...]]) -> bool:
    """Return whether the waiting pairs are of few texts, which are better numbered once for all of them."""
    gold, retrieved = (np.concatenate([pairs[side] for pairs in waiting]) for side in (2, 3))
    return n_different(gold) + n_different(retrieved) < len(gold)


def _possible(n_gold: IntArray, n_retrieved: IntArray, threshold: float, measure: str) -> BoolArray:
    """Return whether the lengths of a pair alone allow the threshold."""
    best = score(np.minimum(n_gold, n_retrieved), n_gold, n_retrieved, measure)
    return best >= threshold - _SLACK


def _verify(batch: Batch, kind: str, waiting: list[tuple[IntArray, ...]], threshold: float) -> Found:
    """Count exactly, and keep the pairs that reach the threshold."""
    lengths, measure = batch.sketches[UNIT_OF[kind]].lengths, batch.settings.rouge_measure
    actual, predicted, gold, retrieved = (np.concatenate(column) for column in zip(*waiting, strict=True))
    n_gold, n_retrieved = lengths[gold], lengths[retrieved]
    shared = n_gold.copy()  # a text shares everything with itself
    differ = np.flatnonzero(gold != retrieved)
    by_measure = {"precision": n_retrieved, "recall": n_gold, "fmeasure": (n_gold + n_retrieved) / 2}
    needed = np.floor(threshold * by_measure[measure][differ] * (1 - _SLACK)).astype(np.int64)
    try:
        if UNIT_OF[kind] == BY_LINE:
            one, other = ([batch.unique_texts[text] for text in side[differ].tolist()] for side in (gold, retrieved))
            shared[differ] = line_hits(one, other, batch.settings.load_tokenizer(), batch.kept_lines)[0]
        else:
            shared[differ] = overlap(batch.tokens, kind, gold[differ], retrieved[differ], lengths, needed)
    except TooLongError as error:
        pair = differ[error.pair]
        sides = batch.actual.place(int(actual[pair])), batch.predicted.place(int(predicted[pair]))
        raise InvalidInputError(
            f"{' and '.join(sides)}: texts of {error.lengths[0]:,} and {error.lengths[1]:,} tokens are too long for "
            f"{kind}, which compares at most {shown('token_pairs')} pairs of tokens. Cut them into passages, or match "
            "by another method. ",
            *to_allow("token_pairs", math.prod(error.lengths)),
        ) from None
    similarity = score(shared, n_gold, n_retrieved, measure)
    return Found(actual, predicted, similarity).only(similarity >= threshold)
