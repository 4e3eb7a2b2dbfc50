"""Find texts in nearly the same words, in any language, among many thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from krag_eval._utils.arrays import IntArray, np
from krag_eval._utils.checks import check_number
from krag_eval.documents.columns import Side, join_groups
from krag_eval.matching import find_matches
from krag_eval.matching.batch import Batch, Codes, Pairs
from krag_eval.matching.settings import Settings

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
    threshold = check_number("threshold", settings.thresholds["rougeL"], above=0)
    if len(texts) < 2:
        return []
    none = Side.of_columns("predicted", None, [], np.zeros(2, dtype=np.int64))
    whole = Batch(Side.of_columns("actual", None, list(texts), np.array([0, len(texts)])), none, settings)
    lengths = whole.sketches[1].lengths[whole.texts.actual]
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    ordered = lengths[order]
    groups = _Groups(len(texts))
    for first in range(0, len(order), _ROWS_AT_ONCE):
        rows = order[first : first + _ROWS_AT_ONCE]
        # Two texts reach at most 2 * shorter / (shorter + longer).
        longest = ordered[first + len(rows) - 1] * (2 - threshold) / threshold
        others = order[first : np.searchsorted(ordered, longest + 1e-6, side="right")]
        queries = list(groups.to_compare(rows, others))
        matches = find_matches(_part_of(whole, queries))
        first_texts, second_texts = (np.concatenate(column) for column in zip(*queries, strict=True))
        groups.join(first_texts[matches.actual], second_texts[matches.predicted])
    return groups.of_several()


def near_pairs(texts: list[str | None], offsets: IntArray, settings: Settings) -> dict[int, set[int]]:
    """Return for each text the earlier ones of its query that are near to it, as positions; only texts that have any.

    Args:
        texts: The texts of all queries, one query after the other; None is near to nothing.
        offsets: Where the texts of each query begin, and the end.
        settings: The scoring settings, for the tokenizer.
    """
    by_words = replace(settings, match_method="rougeL", threshold=NEAR, rouge_measure="fmeasure")
    sides = [Side.of_columns(name, None, texts, offsets) for name in ("actual", "predicted")]
    matches = find_matches(_WithEarlier(sides[0], sides[1], by_words))
    near: dict[int, set[int]] = {}
    for earlier, later in zip(matches.actual.tolist(), matches.predicted.tolist(), strict=True):
        near.setdefault(later, set()).add(earlier)
    return near


class _WithEarlier(Batch):
    """A batch with the same texts on both sides, in which each text is compared with the earlier ones of its query."""

    def pair_blocks(self, block: int = 1 << 13) -> Iterator[Pairs]:
        """Yield every pair of texts of a query once, the earlier one as gold."""
        for pairs in super().pair_blocks(block):
            is_earlier = pairs.actual < pairs.predicted
            yield Pairs(pairs.actual[is_earlier], pairs.predicted[is_earlier])


def _part_of(whole: Batch, queries: list[tuple[IntArray, IntArray]]) -> Batch:
    """Return a batch of some texts of a batch against others of it; what is known of each text is kept."""
    rows, others = zip(*queries, strict=True)
    actual = Side.of_columns("actual", None, None, np.append(0, np.cumsum(list(map(len, rows)))))
    predicted = Side.of_columns("predicted", None, None, np.append(0, np.cumsum(list(map(len, others)))))
    part, codes = Batch(actual, predicted, whole.settings), whole.texts.actual
    texts = Codes(codes[np.concatenate(rows)], codes[np.concatenate(others)], whole.texts.size)
    # In place of the cached properties of the same names.
    part.__dict__ |= {"_numbered_texts": (texts, whole.unique_texts)}
    part.__dict__ |= {"tokens": whole.tokens, "sketches": whole.sketches}
    return part


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
        pairs = zip((links // size).tolist(), (links % size).tolist(), strict=True)
        self._group = join_groups(self._group, pairs)

    def of_several(self) -> list[tuple[int, ...]]:
        """Return the members of each group of two and more."""
        order = np.argsort(self._group, kind="stable")
        starts = np.flatnonzero(np.diff(self._group[order])) + 1
        return [tuple(members.tolist()) for members in np.split(order, starts) if len(members) > 1]
