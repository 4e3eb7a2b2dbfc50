"""What the applications share: notes of a shop, questions with gold, and a search that needs no model."""

from __future__ import annotations

import zlib

from krag_eval import EvalSet

NOTES = {
    "hours": "The help desk is open on weekdays from nine to six.",
    "sundays": "The help desk is closed on Sundays and holidays.",
    "refunds": "A refund takes three working days after we have approved it.",
    "islands": "Parcels to the islands take two more days.",
    "gifts": "Gift wrapping can be chosen when you order.",
}
QUESTIONS = EvalSet(
    [
        {"id": "q1", "question": "When can I reach you?", "gold_chunk_ids": ["hours", "sundays"]},
        {"id": "q2", "question": "When do I get my money back?", "gold_chunk_ids": ["refunds"]},
        {"id": "q3", "question": "How long does delivery to Jeju take?", "gold_chunk_ids": ["islands"]},
    ]
)
# What the scripted models search for: no application gets the question itself.
IN_OTHER_WORDS = {
    "When can I reach you?": "help desk open",
    "When do I get my money back?": "refund days",
    "How long does delivery to Jeju take?": "gift wrapping of parcels",
}


def vector(text: str) -> list[float]:
    """Count pairs of letters in 256 buckets: the same on every machine, and it finds something."""
    counts = [0.0] * 256
    for place in range(len(text) - 1):
        counts[zlib.crc32(text[place : place + 2].lower().encode()) % 256] += 1.0
    return counts
