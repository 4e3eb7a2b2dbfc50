"""Matching by equality: the same id, or the same text after normalising."""

from __future__ import annotations

import warnings

import numpy as np

from krag_eval.columns import IntArray, Side
from krag_eval.errors import KragEvalWarning
from krag_eval.matching.batch import Batch, Codes
from krag_eval.matching.matches import Found


def match_ids(batch: Batch) -> Found:
    """Pairs with the same id. Warns once where not one id of the whole input matches."""
    found = join(batch, batch.ids)
    if not len(found.actual) and (batch.ids.actual >= 0).any() and (batch.ids.predicted >= 0).any():
        warnings.warn(
            f"Not one id matches. Gold ids look like {_examples(batch.actual)}, retrieved ids like "
            f"{_examples(batch.predicted)}. If the ids that should match stand in the metadata, name their key with "
            "`id_key`; if the two sides do not share ids, match by 'text', 'containment' or 'rougeL'.",
            KragEvalWarning,
            stacklevel=2,
        )
    return found


def match_texts(batch: Batch) -> Found:
    """Pairs with the same normalised text."""
    return join(batch, batch.normal_texts)


def join(batch: Batch, codes: Codes) -> Found:
    """Pairs of one query with equal codes; a missing value equals nothing."""
    is_gold = np.zeros(codes.size + 1, dtype=bool)
    is_gold[codes.actual] = True
    is_gold[-1] = False
    # Most retrieved documents are nobody's gold: drop them before anything is sorted.
    predicted = np.flatnonzero(is_gold[codes.predicted])
    actual = np.flatnonzero(codes.actual >= 0)
    gold_key = batch.actual.query_of(actual) * codes.size + codes.actual[actual]
    key = batch.predicted.query_of(predicted) * codes.size + codes.predicted[predicted]
    order = np.argsort(gold_key, kind="stable")
    gold_key = gold_key[order]
    start = np.searchsorted(gold_key, key, side="left")
    count = np.searchsorted(gold_key, key, side="right") - start
    return Found(
        actual[order[_runs(start, count)]], np.repeat(predicted, count), np.ones(int(count.sum()), dtype=np.float64)
    )


def _runs(start: IntArray, count: IntArray) -> IntArray:
    """`start[0], start[0] + 1, ...` (count[0] numbers), then those of the next start."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum())) - np.repeat(before - start, count)


def _examples(side: Side, most: int = 3) -> str:
    ids = dict.fromkeys(i for i in side.ids if i is not None)
    return ", ".join(f"{i!r:.40}" for i in list(ids)[:most])
