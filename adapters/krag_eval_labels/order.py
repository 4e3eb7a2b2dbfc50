"""The order of a labelling queue: whoever stops early has still labelled a sample with known probabilities.

Each document has a turn: a random number divided by its size, so that those that matter most tend to come first. The
documents that are labelled at some moment are those whose turn is before that of the next one, and given that turn,
each of them came before it with a known probability, on its own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from krag_eval.toolkit import FloatArray, IntArray, as_number


def uniform_of(keys: Sequence[object], seed: int) -> FloatArray:
    """Return a random number from 0 to 1 for each key: the same in any other draw with this seed.

    A second plan, with other systems or more documents, therefore draws much of what the first one drew.
    """
    digests = (hashlib.blake2b(repr((seed, key)).encode(errors="surrogatepass"), digest_size=8) for key in keys)
    return np.array([int.from_bytes(digest.digest()) / 2**64 for digest in digests])


def draw_by_turn(size: FloatArray, n: int, uniform: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw the n places whose turn comes first.

    Args:
        size: How much each place matters, shape (n_places,), at least 0; 0 is never drawn.
        n: How many; fewer if there are no more.
        uniform: A random number from 0 to 1 for each place.

    Returns:
        The places in their order; and of all places the probability, and the turn.

    Source: Duffield, Lund & Thorup (2007), Priority sampling, JACM 54(6), doi:10.1145/1314690.1314696: given the turn
    that comes next, the inverse of min(1, size * turn) weighs each place without bias, and no two covary.
    """
    turn = np.full(len(size), math.inf)
    turn[size > 0] = uniform[size > 0] / size[size > 0]
    order = np.argsort(turn, kind="stable")[: int((size > 0).sum())]
    return order[:n], probabilities_before(size, float(turn[order[n]]) if n < len(order) else math.inf), turn


def probabilities_before(size: FloatArray, turn: float) -> FloatArray:
    """Return the probability with which the turn of each size comes before this one."""
    if math.isinf(turn):
        return (size > 0).astype(np.float64)
    return np.minimum(1.0, size * turn)


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a queue in the order in which people should label them.

    Rows of `plan_labels` go by their turn. Others that were drawn go in a random order, which depends on what they are
    about alone. Rows that nobody drew, such as those of `audit_labels`, stay as they are: the most useful first.
    """
    if all(_turn(row) is not None for row in rows):
        return sorted(rows, key=lambda row: _turn(row) or 0.0)
    if not all(as_number(row.get("probability")) for row in rows):
        return list(rows)
    about = [(row.get("query_id"), repr(row.get("document"))) for row in rows]
    return [rows[place] for place in np.argsort(uniform_of(about, 0), kind="stable").tolist()]


def first_rows(rows: Sequence[Mapping[str, Any]], n: int) -> list[dict[str, Any]]:
    """Return the first n rows of a queue that is in order, with the probability of being drawn into these n.

    Rows that nobody drew keep what they have.
    """
    if n >= len(rows):
        return [dict(row) for row in rows]
    if (turn := _turn(rows[n])) is not None:
        sizes = np.array([row["evidence"]["size"] for row in rows[:n]], dtype=np.float64)
        probabilities = probabilities_before(sizes, turn).tolist()
        return [{**row, "probability": p} for row, p in zip(rows[:n], probabilities, strict=True)]
    if not as_number(rows[n].get("probability")):
        return [dict(row) for row in rows[:n]]
    return [{**row, "probability": row["probability"] * n / len(rows)} for row in rows[:n]]


def first_labelled(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the rows of a plan before the first without a label, with their probabilities; None if all have one.

    None, too, for rows that are of no plan: their order says nothing.
    """
    if all(row.get("label") is not None for row in rows) or any(_turn(row) is None for row in rows):
        return None
    ordered = in_order(rows)
    return first_rows(ordered, next(n for n, row in enumerate(ordered) if row.get("label") is None))


def _turn(row: Mapping[str, Any]) -> float | None:
    evidence = row.get("evidence")
    if not isinstance(evidence, Mapping) or not as_number(evidence.get("size")):
        return None
    return as_number(evidence.get("turn"))
