"""Matching by equality: the same id, or the same text after normalising."""

from __future__ import annotations

from krag_eval.matching.batch import Batch
from krag_eval.matching.found import Found


def match_ids(batch: Batch) -> Found:
    """Pairs with the same id."""
    return batch.equal_ids()


def match_texts(batch: Batch) -> Found:
    """Pairs with the same normalised text."""
    return batch.equal_texts()
