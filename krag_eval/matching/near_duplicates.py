"""Texts in nearly the same words, in any language, among many thousands."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.columns import Side
from krag_eval.matching import find_matches
from krag_eval.matching.batch import Batch, Codes
from krag_eval.matching.overlap import Sketches
from krag_eval.matching.settings import Settings
from krag_eval.matching.tokens import TokenTable

NEAR = 0.85
_ROWS_AT_ONCE = 128
# The members of a group so large are not compared with each other again: templates make groups of thousands.
_LARGE = 64


def group_near_duplicates(
    texts: Sequence[str], threshold: float = NEAR, *, tokenizer: object = "words"
) -> list[tuple[int, ...]]:
    """Group texts in nearly the same words: each text is near to another one of its group.

    Two texts are near to each other if the F-measure of their ROUGE-L is at least `threshold`.

    Args:
        texts: The texts.
        threshold: The similarity, above 0 and at most 1.
        tokenizer: What the words are, as in `evaluate`.

    Returns:
        The places of the texts of each group, in order; groups of two and more, by their first text.

    Raises:
        InvalidInputError: The threshold is out of range, or the tokenizer is none.

    >>> group_near_duplicates(["When does it open?", "Who is it?", "When does it open today?"])
    [(0, 2)]
    """
    settings = Settings(match_method="rougeL", threshold=threshold, tokenizer=tokenizer)
    threshold = settings.thresholds["rougeL"]
    if threshold == 0:
        raise InvalidInputError("`threshold` is 0, at which any two texts are near. Give a number above 0, up to 1.")
    none = Side.of_columns("predicted", None, [], np.zeros(2, dtype=np.int64))
    whole = Batch(Side.of_columns("actual", None, list(texts), np.array([0, len(texts)])), none, settings)
    lengths = whole.sketches["token"].lengths[whole.texts.actual]
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    ordered = lengths[order]
    groups = _Groups(len(texts))
    for first in range(0, len(order), _ROWS_AT_ONCE):
        rows = order[first : first + _ROWS_AT_ONCE]
        # Two texts reach at most 2 * shorter / (shorter + longer).
        longest = ordered[first + len(rows) - 1] * (2 - threshold) / threshold
        others = order[first : np.searchsorted(ordered, longest + 1e-6, side="right")]
        part = _Part(whole, list(groups.to_compare(rows, others)))
        matches = find_matches(part)
        groups.join(part.rows[matches.actual], part.others[matches.predicted])
    return groups.of_several()


class _Part(Batch):
    """Some texts of a batch against others of it; what is known of each text is known already."""

    def __init__(self, whole: Batch, queries: list[tuple[IntArray, IntArray]]) -> None:
        rows, others = ([query[side] for query in queries] for side in (0, 1))
        super().__init__(
            Side.of_columns("actual", None, None, _offsets(rows)),
            Side.of_columns("predicted", None, None, _offsets(others)),
            whole.settings,
        )
        self.rows, self.others = np.concatenate(rows), np.concatenate(others)
        self._whole = whole

    @functools.cached_property
    def texts(self) -> Codes:
        codes = self._whole.texts
        return Codes(codes.actual[self.rows], codes.actual[self.others], codes.size)

    @functools.cached_property
    def tokens(self) -> TokenTable:
        return self._whole.tokens

    @functools.cached_property
    def sketches(self) -> dict[str, Sketches]:
        return self._whole.sketches


def _offsets(rows: list[IntArray]) -> IntArray:
    return np.append(0, np.cumsum([len(row) for row in rows]))


class _Groups:
    """Which texts belong together, as far as it is known."""

    def __init__(self, size: int) -> None:
        self._group = np.arange(size)  # of each text, named by its first member

    def to_compare(self, rows: IntArray, others: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which rows still have to be compared with which other texts, as queries of a batch."""
        of_rows, of_others = self._group[rows], self._group[others]
        sizes = np.bincount(self._group, minlength=len(self._group))
        is_small = sizes[of_rows] < _LARGE
        yield rows[is_small], others
        for group in np.unique(of_rows[~is_small]).tolist():
            yield rows[of_rows == group], others[of_others != group]

    def join(self, first: IntArray, second: IntArray) -> None:
        """Note that each `first[i]` belongs to `second[i]`."""
        size = len(self._group)
        links = np.unique(self._group[first] * size + self._group[second])
        above: dict[int, int] = {}

        def top(group: int) -> int:
            while (parent := above.get(group, group)) != group:
                above[group] = group = above.get(parent, parent)
            return group

        for one, other in zip((links // size).tolist(), (links % size).tolist(), strict=True):
            low, high = sorted((top(one), top(other)))
            if low != high:
                above[high] = low
        renamed = np.arange(size)
        renamed[list(above)] = [top(group) for group in above]
        self._group = renamed[self._group]

    def of_several(self) -> list[tuple[int, ...]]:
        """Return the members of each group of two and more."""
        order = np.argsort(self._group, kind="stable")
        starts = np.flatnonzero(np.diff(self._group[order])) + 1
        return [tuple(members.tolist()) for members in np.split(order, starts) if len(members) > 1]
