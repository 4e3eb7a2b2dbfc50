"""A batch of queries as integers, and what matches in it.

Each text and id is numbered once, whatever the number of its copies. A matching method is a function from a batch to
the pairs that it finds; the pairs of several methods are merged into one sparse relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, product
from typing import Any, NamedTuple

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.limits import limit, shown, to_allow
from krag_eval._utils.objects import ComparedByFields, cached_property
from krag_eval.documents.columns import MISSING, Side, runs
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.text import forms_of
from krag_eval.matching.overlap import BY_LINE, UNIT_OF, Sketches, sketch
from krag_eval.matching.settings import Settings
from krag_eval.matching.tokens import CHEAP_TOKENIZERS, ByLine, KeptTokens, TokenTable


class Codes(NamedTuple):
    """Two columns of values as integers: equal for equal values, `MISSING` for a missing one.

    Attributes:
        actual: One integer for each gold document.
        predicted: One integer for each retrieved document.
        size: The number of different values.
    """

    actual: IntArray
    predicted: IntArray
    size: int


class Pairs(NamedTuple):
    """Candidate pairs of one block: positions in the columns of the two sides."""

    actual: IntArray
    predicted: IntArray


class Found(NamedTuple):
    """What one method found; one entry per matching pair, in any order.

    Attributes:
        actual: Positions of gold documents.
        predicted: Positions of retrieved documents.
        similarity: From 0 to 1; always 1 for methods that only know yes and no.
    """

    actual: IntArray
    predicted: IntArray
    similarity: FloatArray

    @classmethod
    def joined(cls, blocks: Iterable[Found]) -> Found:
        """Join the blocks of a method."""
        nothing = cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
        return cls(*map(np.concatenate, zip(nothing, *blocks, strict=True)))

    def only(self, kept: IntArray | BoolArray) -> Found:
        """Return some of the pairs: those at these places, or for which this holds."""
        return Found(self.actual[kept], self.predicted[kept], self.similarity[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Matches(ComparedByFields):
    """The match relation of a batch; one entry per matching pair, sorted by retrieved, then gold position.

    Attributes:
        actual: Positions of gold documents in their column.
        predicted: Positions of retrieved documents in theirs.
        similarity: From 0 to 1.
        method: The place in `methods` of the first method that holds.
        methods: The names of the methods.
        n_found: How many pairs each method found by itself, including those that an earlier one found.
    """

    actual: IntArray
    predicted: IntArray
    similarity: FloatArray
    method: IntArray
    methods: tuple[str, ...]
    n_found: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.actual)


class Places(NamedTuple):
    """Where the documents of one side lie; one entry per document.

    Attributes:
        document: The number of the source document, `MISSING` where a place is not known.
        start: The first character.
        end: The position after the last one.
    """

    document: IntArray
    start: IntArray
    end: IntArray


def order_of(*columns: IntArray) -> IntArray:
    """Return the order by the first column, then the second and so on, of numbers from -1 on."""
    sizes = [int(column.max(initial=0)) + 2 for column in columns]
    if math.prod(sizes) >= 1 << 62:
        return np.lexsort(columns[::-1])
    key = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key = key * size + (column + 1)
    return np.argsort(key, kind="stable")


class BatchPlaces:
    """The places of both sides.

    Attributes:
        actual: The places of gold documents.
        predicted: The places of retrieved documents.
        n_documents: How many source documents they name.
        kept: What metrics have made of them so far.
    """

    def __init__(self, actual: Places, predicted: Places, n_documents: int) -> None:
        self.actual, self.predicted, self.n_documents = actual, predicted, n_documents
        self.kept: dict[Any, Any] = {}

    def codes(self, predicted: IntArray | slice = slice(None)) -> Codes:
        """Return equal integers for equal places, `MISSING` for none.

        Args:
            predicted: Which retrieved documents get one; all by default.
        """
        some = Places(*(column[predicted] for column in self.predicted))
        columns = [np.concatenate(pair) for pair in zip(self.actual, some, strict=True)]
        order = order_of(*columns)
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
        codes = np.empty(len(order), dtype=np.int64)
        codes[order] = np.cumsum(is_new) - 1
        codes[columns[0] == MISSING] = MISSING
        n_actual = len(self.actual.document)
        of_predicted = np.full(len(self.predicted.document), MISSING)
        of_predicted[predicted] = codes[n_actual:]
        return Codes(codes[:n_actual], of_predicted, len(order))


class Batch:
    """Both sides of some queries, with the integer columns that the matchers work on.

    Attributes:
        actual: The gold side.
        predicted: The retrieved side.
        settings: The scoring settings.
        unique_texts: Every different text once.
        matches_first_only: Whether of equal retrieved ids only the first is ever matched.
        kept_tokens: The tokens of texts, if they were made before by a slow tokenizer; others are added to it.
    """

    matches_first_only = False
    kept_tokens: KeptTokens | None = None

    def __init__(self, actual: Side, predicted: Side, settings: Settings) -> None:
        self.actual = actual
        self.predicted = predicted
        self.settings = settings

    def __len__(self) -> int:
        return len(self.actual)

    def keep_retrieved(self, positions: IntArray) -> Batch:
        """Return the batch with the retrieved documents at these positions, which are sorted, alone."""
        return type(self)(self.actual, self.predicted.keep(positions), self.settings)

    def __eq__(self, other: object) -> bool:
        """Return whether the methods read the same from both: the documents themselves may not be comparable."""
        if type(other) is not type(self):
            return NotImplemented
        return self.settings.describe() == other.settings.describe() and self._read() == other._read()

    __hash__ = None  # type: ignore[assignment] # its columns can change

    def _read(self) -> list[object]:
        names = compress(("ids", "texts"), (self.settings.uses_ids, self.settings.uses_texts))
        columns = [getattr(side, name) for name in names for side in (self.actual, self.predicted)]
        if self.settings.uses_spans:
            columns += [column.tolist() for side in (self.places.actual, self.places.predicted) for column in side]
        columns.append(None if self.actual.needs is None else self.actual.needs.tolist())
        return [*columns, *(side.offsets.tolist() for side in (self.actual, self.predicted))]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again, and the embedding model: it may hold a key and a connection."""
        kept = {k: v for k, v in vars(self).items() if not isinstance(getattr(type(self), k, None), cached_property)}
        return {**kept, "settings": self.settings.without_model()}

    @cached_property
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

    @cached_property
    def normal_forms(self) -> list[str]:
        """The normalized form of each unique text."""
        return forms_of(self.unique_texts, self.settings.normalize)

    @cached_property
    def normal_texts(self) -> Codes:
        """Texts as integers that are equal if the normalized texts are; `MISSING` for an empty one."""
        of_unique, _ = number(self.normal_forms, [])
        forms = of_unique.actual
        forms[[position for position, form in enumerate(self.normal_forms) if not form]] = MISSING
        forms = np.append(forms, MISSING)  # a missing text has the code -1: the last place
        return Codes(forms[self.texts.actual], forms[self.texts.predicted], of_unique.size)

    @cached_property
    def tokens(self) -> TokenTable:
        """The tokens of each unique text.

        Raises:
            InvalidInputError: A text is longer than the limit `text`, or `tokenized` for a tokenizer from elsewhere.
        """
        tokenizer = self.settings.load_tokenizer()
        name = "text" if type(tokenizer) in CHEAP_TOKENIZERS else "tokenized"
        lengths = np.fromiter(map(len, self.unique_texts), np.int64, len(self.unique_texts))
        if len(lengths) and lengths.max() > limit(name):
            raise self._too_long(int(np.argmax(lengths)), int(lengths.max()), name)
        return TokenTable(self.unique_texts, tokenizer, self.kept_tokens)

    def _too_long(self, text: int, length: int, name: str) -> InvalidInputError:
        sides = (self.actual, self.texts.actual), (self.predicted, self.texts.predicted)
        side, place = next((side, int(np.argmax(codes == text))) for side, codes in sides if (codes == text).any())
        return InvalidInputError(
            f"{side.place(place)}: its text of {length:,} characters is too long for the tokenizer, which gets at most "
            f"{shown(name)}. ",
            *to_allow(name, length),
        )

    @cached_property
    def sketches(self) -> dict[int, Sketches]:
        """The sketches of each unique text, for the units that the methods count."""
        units = {UNIT_OF[method] for method in self.settings.methods if method in UNIT_OF}
        sketches = sketch(self.tokens, units - {BY_LINE})
        if BY_LINE in units:  # most tokenizers give the same for the whole text
            tokenizer, tokens = self.settings.load_tokenizer(), self.tokens
            if type(tokenizer) not in CHEAP_TOKENIZERS:
                tokens = TokenTable(self.unique_texts, ByLine(tokenizer))
            sketches[BY_LINE] = sketch(tokens, [1])[1]
        return sketches

    @cached_property
    def kept_lines(self) -> KeptTokens:
        """The tokens of lines, where a slow tokenizer makes them."""
        return KeptTokens()

    @cached_property
    def ids(self) -> Codes:
        """Ids as integers."""
        return number(self.actual.ids, self.predicted.ids)[0]

    @cached_property
    def places(self) -> BatchPlaces:
        """Where the documents of both sides lie, for match_method="span".

        Raises:
            InvalidInputError: A gold span is none, offsets lie outside the text or belong to another one, or a
                document is not in the corpus.
        """
        from krag_eval.matching.spans import read_side  # most sets have no spans

        key, corpus = self.settings.id_key or DOC_KEY, self.settings.corpus_texts
        sides = [read_side(side, key, corpus) for side in (self.actual, self.predicted)]
        numbers, _ = number(*(names for names, _, _ in sides))
        actual, predicted = (
            Places(np.where(start >= 0, code, MISSING), start, end)
            for code, (_, start, end) in zip(numbers[:2], sides, strict=True)
        )
        return BatchPlaces(actual, predicted, numbers.size)

    @cached_property
    def gold_ids(self) -> Codes:
        """Ids as integers, where ids alone are matched; a retrieved id that is not gold for its query is `MISSING`."""
        numbers, different = number(self.actual.ids, [])
        found = self.equal_ids()
        codes = np.full(int(self.predicted.offsets[-1]), MISSING)
        codes[found.predicted] = numbers.actual[found.actual]
        return Codes(numbers.actual, codes, len(different))

    @property
    def has_gold_repeats(self) -> bool:
        """Whether a query may have the same gold document twice."""
        return self.settings.methods != ("id",) or self._equal_ids[1]

    def equal_ids(self) -> Found:
        """Return the pairs with the same id."""
        return join(self, self.ids) if self.settings.uses_texts else self._equal_ids[0]

    @cached_property
    def _equal_ids(self) -> tuple[Found, bool]:
        """The pairs with the same id, and whether a query may have a gold id twice."""
        gold: list[int] = []
        retrieved: list[int] = []
        has_repeats, all_places = False, not self.matches_first_only
        gold_repeats_count = all_places or self.actual.needs is not None  # one may be an alternative of two needs
        wanted = list(self.actual.id_rows())
        rows = zip(wanted, self.predicted.id_rows(), strict=True)  # while they are in the processor's cache
        starts = zip(self.actual.offsets.tolist(), self.predicted.offsets.tolist(), strict=True)
        for query, ((ids, row), (gold_start, start)) in enumerate(zip(rows, starts, strict=False)):
            different = {"", *ids}  # so an empty one among bare ids is found without another look
            repeats = len(different) <= len(ids)
            has_repeats = has_repeats or repeats
            for id_ in different.intersection(row):
                if not id_:
                    self.predicted.check_missing_id(query, row.index(id_), id_)
                    continue
                place = row.index(id_)
                retrieved.append(start + place)
                gold.append(gold_start + ids.index(id_))
                if (repeats and gold_repeats_count) or (all_places and id_ in row[place + 1 :]):
                    again = list(product(_places(ids, id_), _places(row, id_) if all_places else [place]))[1:]
                    gold += [gold_start + place for place, _ in again]
                    retrieved += [start + place for _, place in again]
        pairs = np.array([gold, retrieved], dtype=np.int64)
        return Found(pairs[0], pairs[1], np.ones(len(gold))), has_repeats

    def equal_texts(self) -> Found:
        """Return the pairs with the same normalized text."""
        return join(self, self.normal_texts)

    def pair_blocks(self, block: int = 1 << 13) -> Iterator[Pairs]:
        """Yield every gold document of a query with every retrieved one, about `block` pairs at a time."""
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
    """Return two columns of strings as integers, and the strings in the order of their integers; None is `MISSING`."""
    unique = [value for value in dict.fromkeys(chain(actual, predicted)) if value is not None]
    codes: dict[str | None, int] = dict(zip(unique, range(len(unique)), strict=True))
    codes[None] = MISSING
    gold, retrieved = (
        np.fromiter(map(codes.__getitem__, c), dtype=np.int64, count=len(c)) for c in (actual, predicted)
    )
    return Codes(gold, retrieved, len(unique)), unique


def join(batch: Batch, codes: Codes) -> Found:
    """Return the pairs of one query with equal codes; a missing value equals nothing."""
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
    return Found(actual[order[runs(start, count)]], np.repeat(predicted, count), np.ones(int(count.sum())))


def _places(values: Sequence[str | None], wanted: str) -> list[int]:
    return [place for place, value in enumerate(values) if value == wanted]


Matcher = Callable[[Batch], Found]


def merge(found: list[Found], methods: tuple[str, ...], n_actual: int) -> Matches:
    """Merge what several methods found; a pair that several found belongs to the first of them."""
    actual, predicted, similarity = Found.joined(found)
    method = np.repeat(np.arange(len(found)), [len(f.actual) for f in found])
    pair = predicted * max(n_actual, 1) + actual
    order = np.lexsort((method, pair))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.diff(pair[order]) != 0
    order = order[first]
    n_found = tuple(len(f.actual) for f in found)
    return Matches(actual[order], predicted[order], similarity[order], method[order], methods, n_found)


def match_spans(batch: Batch, threshold: float) -> Found:
    """Return the pairs whose overlap is at least a share of what `span_measure` names; at least one character."""
    settings, places = batch.settings, batch.places
    pairs = join(batch, Codes(places.actual.document, places.predicted.document, places.n_documents))
    gold_start, gold_end = (column[pairs.actual] for column in places.actual[1:])
    start, end = (column[pairs.predicted] for column in places.predicted[1:])
    overlap = np.minimum(gold_end, end) - np.maximum(gold_start, start)
    some = np.flatnonzero(overlap > 0)
    common, span, chunk = overlap[some], (gold_end - gold_start)[some], (end - start)[some]
    out_of = {"recall": span, "precision": chunk, "iou": span + chunk - common}[settings.span_measure]
    share = common / out_of
    enough = share >= threshold
    return Found(pairs.actual[some[enough]], pairs.predicted[some[enough]], share[enough])
