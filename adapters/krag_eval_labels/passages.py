"""Find passages again in a corpus that was chunked anew: by equal text, containment and ROUGE."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from krag_eval import Document, Span, normalize
from krag_eval.toolkit import Batch, FloatArray, IdKey, IntArray, Settings, Side, find_matches, id_at, size_of
from krag_eval_labels.shared_text import SHINGLE, common_letters, find_sharing, least_common

FOUND = 0.8
"""The share of its words from which on a passage counts as found."""

MOST_ALTERNATIVES = 20
# A text that shares fewer neighbouring words with a passage is another one, however many single words it shares.
_OF_NEIGHBOURS = 0.5

_Query = tuple[IntArray, IntArray]  # passages, and the chunks in which each of them is searched
# An end of a passage is searched among the ends of the chunks; shorter ones occur in any text.
_SHORTEST_END, _LONGEST_END, _KEY = 8, 200, 4

Parts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be found in a corpus.

    Attributes:
        text: The text.
        id: The id of the chunk that it was, or None.
        doc_id: The id of its document, or None.
        span: Its place in its document, if it is known.
    """

    text: str
    id: str | None = None
    doc_id: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Where in a corpus a passage was found.

    Attributes:
        chunks: The places of the chunks, in the order of the passage; the nearest ones if it is lost.
        method: `"text"`, `"containment"` or `"rougeL"`; None if it is lost.
        similarity: The share of its words that these chunks have in the same order (recall of ROUGE-L).
        alternatives: Other chunks that hold it whole, at most 20 of them.
    """

    chunks: tuple[int, ...] = ()
    method: str | None = None
    similarity: float = 0.0
    alternatives: tuple[int, ...] = ()


class Chunks:
    """The chunks of a corpus; a place is a number in `documents`.

    Args:
        documents: The chunks; those without an id or a text are skipped.
        doc_key: The key of the metadata under which a chunk has the id of its document.

    Attributes:
        documents: The chunks that have an id and a text.
        texts: Their texts.
        forms: Their normalised texts.
        doc_ids: The ids of their documents, or None.
        docs: The numbers of their documents, or -1.
    """

    def __init__(self, documents: Sequence[Document], doc_key: IdKey) -> None:
        self.documents = [document for document in documents if document.id is not None and document.text]
        self.texts = [document.text or "" for document in self.documents]
        self.forms = list(map(normalize, self.texts))
        self.doc_ids = [id_at(document.metadata, doc_key) for document in self.documents]
        self._numbers = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(self.doc_ids))}
        self.docs = self.doc_numbers(self.doc_ids)
        self._places = {document.id: place for place, document in enumerate(self.documents)}
        self._with_form: dict[str, list[int]] = defaultdict(list)
        for place, form in enumerate(self.forms):
            self._with_form[form].append(place)

    def doc_numbers(self, doc_ids: Sequence[str | None]) -> IntArray:
        """Return the numbers of documents, -1 for those without a chunk in the corpus."""
        return np.array([-1 if doc_id is None else self._numbers.get(doc_id, -1) for doc_id in doc_ids], np.int64)

    @property
    def has_documents(self) -> bool:
        """Whether any chunk names its document."""
        return bool(self._numbers.keys() - {None})

    def has_document(self, doc_id: str) -> bool:
        """Return whether a chunk belongs to this document, or is this document."""
        return doc_id in self._numbers or doc_id in self._places

    def place_of(self, chunk_id: str | None) -> int:
        """Return the place of the chunk with this id, -1 if there is none."""
        return -1 if chunk_id is None else self._places.get(chunk_id, -1)

    def ids_at(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return the ids of the chunks at these places."""
        return tuple(self.documents[place].id or "" for place in places)

    def with_form(self, form: str) -> IntArray:
        """Return the places of the chunks with this normalized text."""
        return np.array(self._with_form.get(form, []), dtype=np.int64)


def find_links(
    passages: Sequence[Passage], chunks: Chunks, *, threshold: float, tokenizer: object = "words"
) -> list[Link]:
    """Return where each passage is in a corpus; its own document is searched first, then all others.

    A chunk with the same text is best, then one that contains it, then the chunks that hold it together, then the one
    chunk with most of its words in their order. Of equally good ones that with the same id is taken, then the first.

    Args:
        passages: The passages.
        chunks: The corpus.
        threshold: The share of its words from which on a passage counts as found.
        tokenizer: What the words are, as in `evaluate`.

    Raises:
        InvalidInputError: The threshold is out of range, or the tokenizer is not one.
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
        self._forms = list(map(normalize, self._texts))
        self._recall = partial(Settings, rouge_measure="recall", tokenizer=tokenizer)
        self._threshold = self._recall(match_method="rougeL", threshold=threshold).thresholds["rougeL"]

    def look(self, wanted: IntArray, groups: IntArray, chunk_groups: IntArray) -> None:
        """Look for those that are not found yet, each among the chunks of its group."""
        wanted = wanted[[self._is_lost(passage) for passage in wanted.tolist()]]
        is_long = np.array([size_of(self._forms[passage]) >= SHINGLE for passage in wanted.tolist()], dtype=np.bool_)
        long, forms = wanted[is_long], [self._forms[passage] for passage in wanted[is_long].tolist()]
        sharing = find_sharing(forms, self._chunks.forms, groups[long], chunk_groups)
        for n, form in enumerate(forms):  # what occurs nearly everywhere is not among the sharing ones
            equal = self._chunks.with_form(form)
            sharing[n] = np.union1d(sharing[n], equal[chunk_groups[equal] == groups[long[n]]])
        whole: list[_Query] = list(zip(long[:, None], sharing, strict=True))
        self._find_whole(whole + _by_group(wanted[~is_long], groups, chunk_groups))
        parts = {p: self._parts(p, c) for p, c in zip(long.tolist(), sharing, strict=True) if self._is_lost(p)}
        self._find_together((passage, some) for passage, some in parts.items() if some)
        lost = [passage for passage in wanted.tolist() if self._is_lost(passage)]
        if lost:
            ends = _Ends(self._chunks.forms, chunk_groups.tolist())
            self._find_together(
                (passage, some)
                for passage in lost
                for some in ends.complete(self._forms[passage], int(groups[passage]), parts.get(passage, ()))
            )
        wanted = wanted[[self._is_lost(passage) for passage in wanted.tolist()]]
        self._find_similar(_by_group(wanted, groups, chunk_groups))

    def _is_lost(self, passage: int) -> bool:
        return self.links[passage].method is None

    def _find_whole(self, queries: Sequence[_Query]) -> None:
        """Find one chunk with the same text, or one that contains it."""
        settings = Settings(match_method=["text", "containment"], containment="gold_in_retrieved")
        for passage, chunks, _, method in self._matches(queries, settings):
            others = tuple(chunks[1 : MOST_ALTERNATIVES + 1].tolist())
            self.links[passage] = Link((int(chunks[0]),), settings.methods[method[0]], 1.0, others)

    def _parts(self, passage: int, chunks: IntArray) -> Parts:
        forms = {chunk: self._chunks.forms[chunk] for chunk in chunks.tolist()}
        return _cover(self._forms[passage], forms, first=int(self._own[passage]))

    def _find_together(self, proposed: Iterable[tuple[int, Parts]]) -> None:
        """Find the chunks that hold it together; of several proposals the first that holds enough is taken."""
        pairs = [(passage, parts) for passage, parts in proposed]
        texts = [text for _, parts in pairs for text in _joined(self._chunks.texts[chunk] for chunk in parts)]
        gold = [self._texts[passage] for passage, _ in pairs]
        ends = np.arange(len(pairs) + 1)
        settings = self._recall(match_method="rougeL", threshold=0.0)
        matches = find_matches(_batch(gold, ends, texts, 2 * ends, settings))
        best = np.zeros(len(pairs))
        np.maximum.at(best, matches.actual, matches.similarity)
        for (passage, parts), similarity in zip(pairs, best.tolist(), strict=True):
            if self._is_lost(passage):
                self._keep(passage, parts, similarity)

    def _find_similar(self, queries: Sequence[_Query]) -> None:
        """Find the chunk with most of its words in order, among those with enough neighboring words of it."""
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
        self, queries: Sequence[_Query], settings: Settings
    ) -> Iterator[tuple[int, IntArray, FloatArray, IntArray]]:
        """Yield each passage that matches, with its chunks, best first, and their similarities and methods."""
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


def _by_group(passages: IntArray, groups: IntArray, chunk_groups: IntArray) -> list[_Query]:
    """Return the passages and the chunks of each group."""
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


def _cover(form: str, chunks: Mapping[int, str], *, first: int) -> Parts:
    """Return the chunks that hold a passage together: again and again the one that holds most of what is missing.

    Args:
        form: The passage, normalised.
        chunks: The normalised texts of chunks that share with it.
        first: Of chunks that add as much, this one is taken, else the one with the smallest number.

    Returns:
        The chunks, in the order of the passage.
    """
    common = {chunk: np.flatnonzero(common_letters(form, text)) for chunk, text in chunks.items()}
    missing = np.ones(size_of(form), dtype=np.bool_)
    # What a chunk adds only shrinks, so the first one whose number still holds is the best.
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


class _Ends:
    """The first and the last characters of chunks.

    Args:
        forms: The normalised texts of the chunks.
        groups: The group of each; an end is searched in one group.
    """

    def __init__(self, forms: Sequence[str], groups: Sequence[int]) -> None:
        self._forms = forms
        self._first: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._last: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, (form, group) in enumerate(zip(forms, groups, strict=True)):
            self._first[group, form[:_KEY]].append(place)
            self._last[group, form[-_KEY:]].append(place)

    def complete(self, form: str, group: int, parts: Parts) -> Iterator[Parts]:
        """Yield the parts of a passage plus the chunk that ends as it begins, that begins as it ends, and both."""
        before, after = self._before(form, group), self._after(form, group)
        for more in ((before, ()), ((), after), (before, after)):
            whole = tuple(dict.fromkeys((*more[0], *parts, *more[1])))
            if whole and whole != parts:
                yield whole

    def _after(self, form: str, group: int) -> Parts:
        """Return the chunk whose beginning is the longest end of the passage."""
        for start in range(max(1, len(form) - _LONGEST_END), len(form) - _KEY + 1):
            end = form[start:]
            for place in self._first.get((group, end[:_KEY]), ()):
                if self._forms[place].startswith(end) and size_of(end) >= _SHORTEST_END:
                    return (place,)
        return ()

    def _before(self, form: str, group: int) -> Parts:
        """Return the chunk whose end is the longest beginning of the passage."""
        for stop in range(min(len(form) - 1, _LONGEST_END), _KEY - 1, -1):
            beginning = form[:stop]
            for place in self._last.get((group, beginning[-_KEY:]), ()):
                if self._forms[place].endswith(beginning) and size_of(beginning) >= _SHORTEST_END:
                    return (place,)
        return ()


def _joined(texts: Iterable[str]) -> tuple[str, str]:
    """Return chunks as one text in two ways: cut between words, and cut in the middle of a word."""
    some = list(texts)
    return "\n".join(some), "".join(some)
