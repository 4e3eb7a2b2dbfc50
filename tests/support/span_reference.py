"""The metrics of spans by sets of characters, and random cases for them."""

from __future__ import annotations

import random
from typing import Any

from krag_eval import Need, Span

Place = tuple[str, int, int]
SPAN_METRICS = ("span_recall", "span_precision", "span_iou", "span_f1")


def characters(place: Place) -> set[tuple[str, int]]:
    """Return the characters of a place."""
    document, start, end = place
    return {(document, position) for position in range(start, end)}


def reference(needs: list[list[Place]], chunks: list[Place | str], k: int | None) -> dict[str, float | None]:
    """Return the four metrics as the contract words them; a chunk given as a text has no place."""
    if not needs:
        return dict.fromkeys(SPAN_METRICS)
    shown = chunks[:k]
    retrieved = set().union(*(characters(chunk) for chunk in shown if not isinstance(chunk, str)))
    n_unplaced = sum(map(len, {chunk for chunk in shown if isinstance(chunk, str)}))
    found = total = 0.0
    best, anything = set(), set()
    for alternatives in needs:
        sets = [characters(one) for one in alternatives]
        shares = [len(one & retrieved) / len(one) for one in sets]
        found += len(sets[0]) * max(shares)
        total += len(sets[0])
        best |= sets[shares.index(max(shares))]
        anything |= set().union(*sets)
    recall = found / total
    n_retrieved = len(retrieved) + n_unplaced
    precision = len(retrieved & anything) / n_retrieved if n_retrieved else 0.0
    iou = len(retrieved & best) / (len(retrieved | best) + n_unplaced)
    f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    return dict(zip(SPAN_METRICS, (recall, precision, iou, f1), strict=True))


def random_case(rng: random.Random) -> tuple[list[list[Place]], list[Place | str]]:
    """Return needs that are all different, and chunks with and without a place."""

    def place() -> Place:
        start = rng.randrange(12)
        return rng.choice("abc"), start, start + rng.randint(1, 8)

    drawn = [[place() for _ in range(rng.choice((1, 1, 2, 3)))] for _ in range(rng.randint(0, 4))]
    needs = list({frozenset(one): list(dict.fromkeys(one)) for one in drawn}.values())
    chunks = [rng.choice(("?", "?!", "none")) if rng.random() < 0.15 else place() for _ in range(rng.randint(0, 7))]
    return needs, chunks


def as_gold(needs: list[list[Place]]) -> list[Any]:
    """Return needs as a gold list."""
    return [Span(*one[0]) if len(one) == 1 else Need(any_of=[Span(*place) for place in one]) for one in needs]


def as_chunks(chunks: list[Place | str]) -> list[dict[str, Any]]:
    """Return chunks as documents."""
    return [
        {"text": chunk}
        if isinstance(chunk, str)
        else {"text": "x" * (chunk[2] - chunk[1]), "metadata": {"doc_id": chunk[0], "start_index": chunk[1]}}
        for chunk in chunks
    ]
