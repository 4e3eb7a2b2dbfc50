"""Finding passages again in a corpus that was cut anew: by equal text, containment and ROUGE.

Which chunks hold a passage together.

Which passages share text with which chunks, and how much of it: quick for any number of both.

A shingle is a stretch of 24 letters, or as many characters as say about the same: 8 Chinese ones, 12 Korean ones. Two
texts with such a stretch in common have a shingle in common, so that looking shingles up finds all pairs of these
without comparing every passage with every chunk.

A corpus by id, by text and by document.
"""

from __future__ import annotations

import functools
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval.documents.columns import Side, runs
from krag_eval.documents.document import Document
from krag_eval.documents.readers import as_id
from krag_eval.documents.text import normalize_all
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.settings import Settings
from krag_eval.matching.tokens import Words, mix

FOUND = 0.8
"""From which share of its words on a passage counts as found."""

_MOST_ALTERNATIVES = 20
# A text that shares fewer neighbouring words with a passage is another one, however many single words it shares.
_OF_NEIGHBOURS = 0.5

Query = tuple[IntArray, IntArray]  # passages, and the chunks in which each of them is looked for


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be found in a corpus.

    Attributes:
        text: The text.
        id: The id of the chunk that it was, or None.
        doc_id: The id of its document, or None.
    """

    text: str
    id: str | None = None
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Where a passage stands.

    Attributes:
        chunks: The places of the chunks, in the order of the passage; where it is lost, of what comes nearest.
        method: `"text"`, `"containment"` or `"rougeL"`; None where it is lost.
        similarity: The share of its words that these chunks have in the same order (recall of ROUGE-L).
        alternatives: Other chunks that hold it whole, at most 20 of them.
    """

    chunks: tuple[int, ...] = ()
    method: str | None = None
    similarity: float = 0.0
    alternatives: tuple[int, ...] = ()


def find_links(
    passages: Sequence[Passage], chunks: Chunks, *, threshold: float, tokenizer: object = "words"
) -> list[Link]:
    """Where each passage stands in a corpus; it is looked for in its own document first, then anywhere.

    A chunk with the same text is best, then one that contains it, then the chunks that hold it together, then the one
    chunk with most of its words in their order. Of equally good ones that with the same id is taken, then the first.

    Args:
        passages: The passages.
        chunks: The corpus.
        threshold: From which share of its words on a passage is found.
        tokenizer: What the words are, as in `evaluate`.

    Raises:
        InvalidInputError: The threshold is out of range, or the tokenizer is none.
    """
    search = _Search(passages, chunks, threshold, tokenizer)
    docs = chunks.doc_numbers([passage.doc_id for passage in passages])
    search.look(np.flatnonzero(docs >= 0), docs, chunks.docs)
    search.look(np.arange(len(passages)), np.zeros_like(docs), np.zeros_like(chunks.docs))
    return search.links


class _Search:
    """The passages, and what was found of them so far."""

    def __init__(self, passages: Sequence[Passage], chunks: Chunks, threshold: float, tokenizer: object) -> None:
        self.links = [Link()] * len(passages)
        self._chunks = chunks
        self._own = np.array([chunks.place_of(passage.id) for passage in passages], dtype=np.int64)
        self._texts = [passage.text for passage in passages]
        self._forms = normalize_all(self._texts)
        self._recall = partial(Settings, rouge_measure="recall", tokenizer=tokenizer)
        self._threshold = self._recall(match_method="rougeL", threshold=threshold).thresholds["rougeL"]

    def look(self, wanted: IntArray, groups: IntArray, chunk_groups: IntArray) -> None:
        """Look for those that are not found yet, each among the chunks of its group."""
        wanted = wanted[[self._is_lost(passage) for passage in wanted.tolist()]]
        is_long = np.array([size_of(self._forms[passage]) >= SHINGLE for passage in wanted.tolist()], dtype=np.bool_)
        long, forms = wanted[is_long], [self._forms[passage] for passage in wanted[is_long].tolist()]
        sharing = find_sharing(forms, self._chunks.forms, groups[long], chunk_groups)
        for n, form in enumerate(forms):  # what stands nearly everywhere is not among the sharing ones
            equal = self._chunks.with_form(form)
            sharing[n] = np.union1d(sharing[n], equal[chunk_groups[equal] == groups[long[n]]])
        whole: list[Query] = list(zip(long[:, None], sharing, strict=True))
        self._find_whole(whole + _by_group(wanted[~is_long], groups, chunk_groups))
        parts = {p: self._parts(p, c) for p, c in zip(long.tolist(), sharing, strict=True) if self._is_lost(p)}
        self._find_together((passage, some) for passage, some in parts.items() if some)
        lost = [passage for passage in wanted.tolist() if self._is_lost(passage)]
        if lost:
            ends = Ends(self._chunks.forms, chunk_groups.tolist())
            self._find_together(
                (passage, some)
                for passage in lost
                for some in ends.complete(self._forms[passage], int(groups[passage]), parts.get(passage, ()))
            )
        wanted = wanted[[self._is_lost(passage) for passage in wanted.tolist()]]
        self._find_similar(_by_group(wanted, groups, chunk_groups))

    def _is_lost(self, passage: int) -> bool:
        return self.links[passage].method is None

    def _find_whole(self, queries: Sequence[Query]) -> None:
        """One chunk with the same text, or one that contains it."""
        settings = Settings(match_method=["text", "containment"], containment="gold_in_retrieved")
        for passage, chunks, _, method in self._matches(queries, settings):
            others = tuple(chunks[1 : _MOST_ALTERNATIVES + 1].tolist())
            self.links[passage] = Link((int(chunks[0]),), settings.methods[method[0]], 1.0, others)

    def _parts(self, passage: int, chunks: IntArray) -> Parts:
        forms = {chunk: self._chunks.forms[chunk] for chunk in chunks.tolist()}
        return cover(self._forms[passage], forms, first=int(self._own[passage]))

    def _find_together(self, proposed: Iterable[tuple[int, Parts]]) -> None:
        """The chunks that hold it together; of several proposals for a passage the first that holds enough of it."""
        pairs = [(passage, parts) for passage, parts in proposed]
        texts = [text for _, parts in pairs for text in joined(self._chunks.texts[chunk] for chunk in parts)]
        gold = [self._texts[passage] for passage, _ in pairs]
        ends = np.arange(len(pairs) + 1)
        settings = self._recall(match_method="rougeL", threshold=0.0)
        matches = find_matches(_batch(gold, ends, texts, 2 * ends, settings))
        best = np.zeros(len(pairs))
        np.maximum.at(best, matches.actual, matches.similarity)
        for (passage, parts), similarity in zip(pairs, best.tolist(), strict=True):
            if self._is_lost(passage):
                self._keep(passage, parts, similarity)

    def _find_similar(self, queries: Sequence[Query]) -> None:
        """The one chunk with most of its words in their order, among those with enough neighbouring words of it."""
        near = self._recall(match_method="rouge2", threshold=_OF_NEIGHBOURS * self._threshold)
        again = [(np.array([passage]), chunks) for passage, chunks, *_ in self._matches(queries, near)]
        for passage, chunks, similarity, _ in self._matches(again, self._recall(match_method="rougeL", threshold=0.0)):
            self._keep(passage, (int(chunks[0]),), float(similarity[0]))

    def _keep(self, passage: int, chunks: tuple[int, ...], similarity: float) -> None:
        if similarity >= self._threshold:
            self.links[passage] = Link(chunks, "rougeL", similarity)
        elif similarity > self.links[passage].similarity:
            self.links[passage] = Link(chunks, None, similarity)

    def _matches(
        self, queries: Sequence[Query], settings: Settings
    ) -> Iterator[tuple[int, IntArray, FloatArray, IntArray]]:
        """Each passage that matches, with its chunks, the best one first, and their similarities and methods."""
        if not queries:
            return
        gold, retrieved = zip(*queries, strict=True)
        passages, chunks = np.concatenate(gold), np.concatenate(retrieved)
        texts = [self._texts[passage] for passage in passages.tolist()]
        others = [self._chunks.texts[chunk] for chunk in chunks.tolist()]
        matches = find_matches(_batch(texts, _offsets(gold), others, _offsets(retrieved), settings))
        passage, chunk = passages[matches.actual], chunks[matches.predicted]
        is_other = chunk != self._own[passage]
        order = np.lexsort((chunk, is_other, -matches.similarity, matches.method, passage))
        for some in np.split(order, np.flatnonzero(np.diff(passage[order])) + 1):
            if len(some):
                yield int(passage[some[0]]), chunk[some], matches.similarity[some], matches.method[some]


def _by_group(passages: IntArray, groups: IntArray, chunk_groups: IntArray) -> list[Query]:
    """For each group, its passages and its chunks."""
    passages = passages[np.argsort(groups[passages], kind="stable")]
    names, starts = np.unique(groups[passages], return_index=True)
    order = np.argsort(chunk_groups, kind="stable")
    first, last = (np.searchsorted(chunk_groups[order], names, side=side) for side in ("left", "right"))
    chunks = [order[start:stop] for start, stop in zip(first.tolist(), last.tolist(), strict=True)]
    return list(zip(np.split(passages, starts[1:]), chunks, strict=True)) if len(passages) else []


def _batch(gold: list[str], gold_offsets: IntArray, texts: list[str], offsets: IntArray, settings: Settings) -> Batch:
    actual = Side.of_columns("actual", None, list[str | None](gold), gold_offsets)
    return Batch(actual, Side.of_columns("predicted", None, list[str | None](texts), offsets), settings)


def _offsets(rows: Sequence[IntArray]) -> IntArray:
    return np.append(0, np.cumsum([len(row) for row in rows]))


# An end of a passage is looked for among the ends of the chunks; shorter ones stand in any text.
_SHORTEST_END, _LONGEST_END, _KEY = 8, 200, 4

Parts = tuple[int, ...]


def cover(form: str, chunks: Mapping[int, str], *, first: int) -> Parts:
    """Again and again the chunk that holds most of what is missing of a passage, while it adds enough.

    Args:
        form: The passage, normalised.
        chunks: The normalised texts of chunks that share with it.
        first: Of chunks that add as much, this one is taken, else the one with the smallest number.

    Returns:
        The chunks, in the order of the passage.
    """
    common = {chunk: np.flatnonzero(common_letters(form, text)) for chunk, text in chunks.items()}
    missing = np.ones(size_of(form), dtype=np.bool_)
    # What a chunk adds only shrinks, so that one whose number still holds when it comes up is the best.
    waiting = [(-len(places), chunk != first, chunk) for chunk, places in common.items()]
    heapq.heapify(waiting)
    parts = []
    while waiting:
        number, is_other, chunk = heapq.heappop(waiting)
        adds = int(missing[common[chunk]].sum())
        if adds < least_common(len(missing), size_of(chunks[chunk])):
            continue
        if adds < -number:
            heapq.heappush(waiting, (-adds, is_other, chunk))
            continue
        parts.append(chunk)
        missing[common[chunk]] = False
    return tuple(sorted(parts, key=lambda chunk: int(common[chunk][0])))


class Ends:
    """The first and the last characters of chunks.

    Args:
        forms: The normalised texts of the chunks.
        groups: The group of each; an end is looked for in one group.
    """

    def __init__(self, forms: Sequence[str], groups: Sequence[int]) -> None:
        self._forms = forms
        self._first: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._last: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, (form, group) in enumerate(zip(forms, groups, strict=True)):
            self._first[group, form[:_KEY]].append(place)
            self._last[group, form[-_KEY:]].append(place)

    def complete(self, form: str, group: int, parts: Parts) -> Iterator[Parts]:
        """The parts of a passage with the chunk that ends as it begins, that begins as it ends, and with both."""
        before, after = self._before(form, group), self._after(form, group)
        for more in ((before, ()), ((), after), (before, after)):
            whole = tuple(dict.fromkeys((*more[0], *parts, *more[1])))
            if whole and whole != parts:
                yield whole

    def _after(self, form: str, group: int) -> Parts:
        """The chunk whose beginning is the longest end of the passage."""
        for start in range(max(1, len(form) - _LONGEST_END), len(form) - _KEY + 1):
            end = form[start:]
            for place in self._first.get((group, end[:_KEY]), ()):
                if self._forms[place].startswith(end) and size_of(end) >= _SHORTEST_END:
                    return (place,)
        return ()

    def _before(self, form: str, group: int) -> Parts:
        """The chunk whose end is the longest beginning of the passage."""
        for stop in range(min(len(form) - 1, _LONGEST_END), _KEY - 1, -1):
            beginning = form[:stop]
            for place in self._last.get((group, beginning[-_KEY:]), ()):
                if self._forms[place].endswith(beginning) and size_of(beginning) >= _SHORTEST_END:
                    return (place,)
        return ()


def joined(texts: Iterable[str]) -> tuple[str, str]:
    """Chunks as one text: cut between words, or cut in the middle of one."""
    some = list(texts)
    return "\n".join(some), "".join(some)


SHINGLE = 24
# Characters that say as much as several letters; everything else counts as one.
_DENSE = [
    (0x2E80, 0x2FDF, 3),  # radicals
    (0x3040, 0x30FF, 2),  # Hiragana and Katakana
    (0x3400, 0x4DBF, 3),  # Chinese characters
    (0x4E00, 0x9FFF, 3),
    (0xAC00, 0xD7A3, 2),  # Hangul syllables
    (0xF900, 0xFAFF, 3),
    (0x20000, 0x3FFFF, 3),
]
# A chunk holds a part of a passage if they have this share of the shorter one in common, and a shingle at least.
_LEAST_SHARE = 0.1
_CHARACTERS_AT_ONCE = 1 << 18
# A shingle that would pair more passages and chunks than this stands in headers or footers, and tells nothing.
_MOST_PAIRS = 1 << 14
# Within one chunk a shingle may stand so many times, and edits may move it so far.
_MOST_REPEATS, _EDITS = 8, 64


def size_of(text: str) -> int:
    """How long a text is, in letters: a Chinese character counts as three, a Korean one as two."""
    return len(text) if text.isascii() else len(_letters(text))


def least_common(passage: IntArray | int, chunk: IntArray | int) -> IntArray:
    """From how many common letters on a chunk of a size holds a part of a passage of a size."""
    shorter = np.minimum(passage, chunk)
    needed: IntArray = np.minimum(shorter, np.maximum(SHINGLE, shorter * _LEAST_SHARE)).astype(np.int64)
    return needed


def find_sharing(
    passages: Sequence[str], chunks: Sequence[str], passage_groups: IntArray, chunk_groups: IntArray
) -> list[IntArray]:
    """For each passage, the chunks that are likely to have `least_common` letters in common with it.

    Args:
        passages: Normalised texts; for one that is shorter than a shingle nothing is found.
        chunks: Normalised texts.
        passage_groups: A number for each passage; it is looked for only in chunks with the same number.
        chunk_groups: A number for each chunk.

    Returns:
        The places of the chunks, ascending. One is missing only if less than half of the shingles that it would take
        are common, because edits break them up, or if they stand nearly everywhere.
    """
    if not passages:
        return []
    hashes, owners, sizes = _shingles(passages, passage_groups)
    order = np.argsort(hashes)
    hashes, owners = hashes[order], owners[order]
    found = [np.empty((2, 0), dtype=np.int64)]
    for start, stop in _blocks(chunks):
        looked_up, places, chunk_sizes = _shingles(chunks[start:stop], chunk_groups[start:stop])
        different, which, repeats = np.unique(looked_up, return_inverse=True, return_counts=True)
        first = np.searchsorted(hashes, different, side="left")
        count = np.searchsorted(hashes, different, side="right") - first
        count[count * repeats > _MOST_PAIRS] = 0
        passage, chunk = owners[runs(first[which], count[which])], np.repeat(places, count[which])
        pairs, n_common = np.unique(passage * (stop - start) + chunk, return_counts=True)
        passage, chunk = pairs // (stop - start), pairs % (stop - start)
        # A stretch has a shingle's length less shingles than letters.
        enough = 2 * n_common >= least_common(sizes[passage], chunk_sizes[chunk]) - SHINGLE
        found.append(np.stack([passage[enough], start + chunk[enough]]))
    passage, chunk = np.concatenate(found, axis=1)
    order = np.argsort(passage, kind="stable")
    return np.split(chunk[order], np.searchsorted(passage[order], np.arange(1, len(passages))))


def common_letters(passage: str, chunk: str) -> BoolArray:
    """Which letters of a passage stand in a chunk, in stretches of a shingle or more, at about the same distance.

    Where one text was cut in two ways, what a passage and a chunk have in common is one stretch, give or take small
    edits. Phrases that both have elsewhere are not counted.

    Returns:
        Shape (size_of(passage),).
    """
    hashes, size = _hashes_of_one(passage)
    order, ordered = _sorted_hashes_of_one(chunk)
    first = np.searchsorted(ordered, hashes, side="left")
    count = np.searchsorted(ordered, hashes, side="right") - first
    count[count > _MOST_REPEATS] = 0
    place = np.repeat(np.arange(len(hashes)), count)
    distance = order[runs(first, count)] - place
    if len(distance):
        distances, n_places = np.unique(distance, return_counts=True)
        place = place[np.abs(distance - distances[np.argmax(n_places)]) <= _EDITS]
    edges = np.zeros(size + 1, dtype=np.int64)
    place = np.unique(place)
    edges[place] += 1
    edges[place + SHINGLE] -= 1
    common: BoolArray = np.cumsum(edges[:-1]) > 0
    return common


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Bounds of parts of the texts, each with some hundred thousand characters."""
    start = size = 0
    for stop, text in enumerate(texts, 1):
        size += len(text)
        if size >= _CHARACTERS_AT_ONCE or stop == len(texts):
            yield start, stop
            start, size = stop, 0


def _shingles(texts: Sequence[str], groups: IntArray) -> tuple[Words, IntArray, IntArray]:
    """The hash of each shingle, mixed with the group of its text; the place of its text; the sizes of the texts."""
    sizes = np.fromiter(map(size_of, texts), np.int64, len(texts))
    counts = np.maximum(sizes - SHINGLE + 1, 0)
    hashes = _hashes(_letters("".join(texts)))[runs(np.cumsum(sizes) - sizes, counts)]
    owners = np.repeat(np.arange(len(texts)), counts)
    return mix(hashes ^ mix(groups.astype(np.uint64))[owners]), owners, sizes


def _letters(text: str) -> Words:
    """The code points of a text, those of dense scripts several times: first, second and third letter differ."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64) * np.uint64(4)
    if text.isascii():
        return points
    weights = np.ones(len(points), dtype=np.int64)
    for first, last, weight in _DENSE:
        weights[(points >= np.uint64(4 * first)) & (points <= np.uint64(4 * last))] = weight
    letters: Words = np.repeat(points, weights) + runs(np.zeros_like(weights), weights).astype(np.uint64)
    return letters


def _hashes(letters: Words) -> Words:
    """A hash of the shingle that begins at each letter."""
    n_shingles = max(len(letters) - SHINGLE + 1, 0)
    hashes, size = letters, 1
    while 2 * size <= SHINGLE:  # of two neighbouring stretches, a hash of both
        hashes, size = mix(hashes[:-size]) + hashes[size:], 2 * size
    last = SHINGLE - size
    return mix(hashes[:n_shingles]) + hashes[last : last + n_shingles]


# A passage is compared with one chunk after the other, a chunk with passages that stand near each other.
@functools.lru_cache(maxsize=16)
def _hashes_of_one(text: str) -> tuple[Words, int]:
    letters = _letters(text)
    return _hashes(letters), len(letters)


@functools.lru_cache(maxsize=1024)
def _sorted_hashes_of_one(text: str) -> tuple[IntArray, Words]:
    hashes, _ = _hashes_of_one(text)
    order = np.argsort(hashes)
    return order, hashes[order]


class Chunks:
    """The chunks of a corpus; a place is a number in `documents`.

    Args:
        documents: The chunks; one without an id or without a text is passed over.
        doc_key: The key of the metadata under which a chunk has the id of its document.

    Attributes:
        documents: The chunks that have an id and a text.
        texts: Their texts.
        forms: Their normalised texts.
        doc_ids: The ids of their documents, None where there is none.
        docs: The numbers of their documents, -1 where there is none.
    """

    def __init__(self, documents: Sequence[Document], doc_key: str) -> None:
        self.documents = [document for document in documents if document.id is not None and document.text]
        self.texts = [document.text or "" for document in self.documents]
        self.forms = normalize_all(self.texts)
        self.doc_ids = [as_id(document.metadata.get(doc_key)) for document in self.documents]
        self._numbers = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(self.doc_ids))}
        self.docs = self.doc_numbers(self.doc_ids)
        self._places = {document.id: place for place, document in enumerate(self.documents)}
        self._with_form: dict[str, list[int]] = defaultdict(list)
        for place, form in enumerate(self.forms):
            self._with_form[form].append(place)

    def doc_numbers(self, doc_ids: Sequence[str | None]) -> IntArray:
        """The numbers of documents, -1 where the corpus has no chunk of one."""
        return np.array([-1 if doc_id is None else self._numbers.get(doc_id, -1) for doc_id in doc_ids], np.int64)

    @property
    def has_documents(self) -> bool:
        """Whether any chunk names its document."""
        return bool(self._numbers.keys() - {None})

    def has_document(self, doc_id: str) -> bool:
        """Whether a chunk is of this document, or is this document."""
        return doc_id in self._numbers or doc_id in self._places

    def place_of(self, chunk_id: str | None) -> int:
        """The place of the chunk with this id, -1 where there is none."""
        return -1 if chunk_id is None else self._places.get(chunk_id, -1)

    def with_form(self, form: str) -> IntArray:
        """The places of the chunks with this normalised text."""
        return np.array(self._with_form.get(form, []), dtype=np.int64)
