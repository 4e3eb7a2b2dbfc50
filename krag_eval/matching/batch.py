"""A batch of queries as integers: each text and id is numbered once, whatever the number of its copies."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from krag_eval.columns import MISSING, IntArray, Side
from krag_eval.errors import InvalidInputError
from krag_eval.matching.found import Found
from krag_eval.matching.runs import runs
from krag_eval.matching.sketches import UNIT_OF, Sketches, sketch
from krag_eval.matching.tokens import TokenTable
from krag_eval.settings import Settings
from krag_eval.text import normalize, normalize_all


class Codes(NamedTuple):
    """Two columns of values as integers; equal values have equal integers, a missing one has `MISSING`.

    Attributes:
        actual: One for each gold document.
        predicted: One for each retrieved document.
        size: How many different values there are.
    """

    actual: IntArray
    predicted: IntArray
    size: int


class Pairs(NamedTuple):
    """Candidate pairs of one block: positions in the columns of the two sides."""

    actual: IntArray
    predicted: IntArray


class Batch:
    """Both sides of some queries, with the integer columns that the matchers work on.

    Attributes:
        actual: The gold side.
        predicted: The retrieved side.
        settings: The scoring settings.
        unique_texts: Every different text once.
        matches_first_only: Whether of equal retrieved ids only the first is ever matched.
        has_gold_repeats: Whether a query may have the same gold document twice.
    """

    matches_first_only = False
    has_gold_repeats = True

    def __init__(self, actual: Side, predicted: Side, settings: Settings) -> None:
        self.actual = actual
        self.predicted = predicted
        self.settings = settings

    def __len__(self) -> int:
        return len(self.actual)

    @functools.cached_property
    def _numbered_texts(self) -> tuple[Codes, list[str]]:
        return number(self.actual.texts, self.predicted.texts)

    @property
    def texts(self) -> Codes:
        """Raw texts as integers: positions in `unique_texts`."""
        return self._numbered_texts[0]

    @property
    def unique_texts(self) -> list[str]:
        """Every different raw text once."""
        return self._numbered_texts[1]

    @functools.cached_property
    def normal_forms(self) -> list[str]:
        """The normalised form of each unique text."""
        normalizer = self.settings.normalize
        if normalizer is None:
            return self.unique_texts
        if normalizer is normalize:
            return normalize_all(self.unique_texts)
        forms = list(map(normalizer, self.unique_texts))
        if not set(map(type, forms)) <= {str}:
            odd: object = next(form for form in forms if type(form) is not str)
            raise InvalidInputError(f"`normalize` returned a {type(odd).__name__}. It must return a string.")
        return forms

    @functools.cached_property
    def normal_texts(self) -> Codes:
        """Texts as integers that are equal where the normalised texts are; `MISSING` for an empty one."""
        of_unique, _ = number(self.normal_forms, [])
        forms = of_unique.actual
        forms[[position for position, form in enumerate(self.normal_forms) if not form]] = MISSING
        forms = np.append(forms, MISSING)  # a missing text has the code -1: the last place
        return Codes(forms[self.texts.actual], forms[self.texts.predicted], of_unique.size)

    @functools.cached_property
    def tokens(self) -> TokenTable:
        """The tokens of each unique text."""
        return TokenTable(self.unique_texts, self.settings.load_tokenizer())

    @functools.cached_property
    def sketches(self) -> dict[str, Sketches]:
        """The sketches of each unique text, for the units that the methods count."""
        return sketch(self.tokens, {UNIT_OF[method] for method in self.settings.methods if method in UNIT_OF})

    @functools.cached_property
    def ids(self) -> Codes:
        """Ids as integers."""
        return number(self.actual.ids, self.predicted.ids)[0]

    def equal_ids(self) -> Found:
        """Pairs with the same id."""
        return _join(self, self.ids)

    def equal_texts(self) -> Found:
        """Pairs with the same normalised text."""
        return _join(self, self.normal_texts)

    def pair_blocks(self, block: int = 1 << 13) -> Iterator[Pairs]:
        """Every gold document of a query with every retrieved one, about `block` pairs at a time."""
        query = np.repeat(np.arange(len(self)), self.actual.sizes)
        start, count = self.predicted.offsets[query], self.predicted.sizes[query]
        ends = np.cumsum(count)
        first = 0
        while first < len(count):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + block, side="right")))
            gold = np.repeat(np.arange(first, last), count[first:last])
            retrieved = runs(start[first:last], count[first:last])
            for part in range(0, len(gold), 2 * block):  # only a query with very many documents has several parts
                yield Pairs(gold[part : part + 2 * block], retrieved[part : part + 2 * block])
            first = last


def number(actual: Sequence[str | None], predicted: Sequence[str | None]) -> tuple[Codes, list[str]]:
    """Two columns of strings as integers, and the strings in the order of their integers; None is `MISSING`."""
    unique = [value for value in dict.fromkeys(chain(actual, predicted)) if value is not None]
    codes: dict[str | None, int] = dict(zip(unique, range(len(unique)), strict=True))
    codes[None] = MISSING
    gold, retrieved = (
        np.fromiter(map(codes.__getitem__, c), dtype=np.int64, count=len(c)) for c in (actual, predicted)
    )
    return Codes(gold, retrieved, len(unique)), unique


def _join(batch: Batch, codes: Codes) -> Found:
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
        actual[order[runs(start, count)]], np.repeat(predicted, count), np.ones(int(count.sum()), dtype=np.float64)
    )
