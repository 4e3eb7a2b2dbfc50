"""Link the gold passages of a question set to the chunks of a corpus that was chunked anew."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal, get_args

from krag_eval import Document, EvalSet, InvalidInputError, Need, Question, Span, as_document, as_evalset, normalize
from krag_eval.toolkit import (
    DOC_KEY,
    OFFSETS,
    SUPERSEDED_BY,
    Argument,
    CorpusTexts,
    IdKey,
    Side,
    alternatives_in,
    check_new,
    clip,
    fields_of,
    id_at,
    one_of,
    read_grade,
    read_places,
    read_side,
    refuse,
    says_place,
)
from krag_eval_labels.passages import FOUND, MOST_ALTERNATIVES, Chunks, Link, Passage, find_links

# A chunk so many times as long as a passage is more than that passage with some edits.
_LARGER = 1.25
Status = Literal["valid", "moved", "merged", "split", "lost", "unanchorable"]
_SHOWN = 200
TARGETS = ("chunks", "spans")
_PLACE = frozenset({DOC_KEY, *chain.from_iterable(OFFSETS)})
STATUSES: tuple[Status, ...] = get_args(Status)


def reanchor(
    evalset: object,
    corpus: Iterable[object],
    *,
    old_corpus: Iterable[object] = (),
    threshold: float = FOUND,
    doc_key: IdKey = DOC_KEY,
    tokenizer: object = "words",
    with_texts: bool = False,
    to: str = "chunks",
) -> ReanchorReport:
    """Link the gold passages of a question set to the chunks of another corpus, or to spans of its documents.

    A passage is the text of a gold document, or the text that its id has in `old_corpus`. It is searched for by equal
    text, by containment and by the recall of ROUGE-L, in its own document first. The new set has the ids of the chunks
    that hold it now; its text, its grade and everything else stay, so the set can be linked again and again. If
    several chunks hold a passage together, all of them become gold; for an alternative of a need, each of them becomes
    an alternative. A passage that is not found stays as it was.

    A gold span goes to the chunks that hold it by their own offsets: those of LangChain, LlamaIndex and Haystack, or
    `start` and `end`. It is looked for by its text where the chunks of its document have none. With `to="spans"` each
    passage is looked for in whole documents, as it is and then with white space and NFKC alike, and becomes the span
    where it is: a set that knows no chunking.

    Documents of `must_not` are linked in the same way, but only to chunks that hold their whole text, and to all of
    these: a current version that is merely alike must not become forbidden. One that the corpus no longer has cannot
    leak.

    Args:
        evalset: The question set, or what `as_evalset` reads.
        corpus: The chunks of the new corpus, each with an id and a text; anything that `evaluate` takes as a document.
        old_corpus: The chunks that the set was made for, if its gold documents have ids but no texts.
        threshold: The share of its words from which on a passage counts as found.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        tokenizer: What the words are, as in `evaluate`.
        with_texts: Write the text of each passage into the new set, so that it needs no old corpus the next time.
        to: What the new gold is: `"chunks"`, or `"spans"` of the whole documents that are then given as `corpus`.

    Raises:
        InvalidInputError: A corpus or the set cannot be read, or a setting cannot be used.

    >>> old = [{"id": 1, "question": "When?", "gold": [{"id": "c7", "text": "We ship on weekdays."}]}]
    >>> report = reanchor(old, [{"id": "n3", "text": "Orders: we ship on weekdays. Returns are free."}])
    >>> report.counts["merged"], report.evalset["1"].gold[0].id
    (1, 'n3')
    """
    questions = as_evalset(evalset)
    is_to_spans = one_of("to", to, TARGETS) == "spans"
    chunks = Chunks(_read("corpus", corpus), doc_key)
    if not chunks.documents:
        raise InvalidInputError(
            Argument("corpus"), " has no document with an id and a text. Gold is linked to such documents."
        )
    gold = Side("actual", [question.gold_chunks() for question in questions], None, "relevance")
    read_side(gold, doc_key, None)  # refuses a wrong span with its query
    before = {document.id: document for document in _read("old_corpus", old_corpus) if document.id is not None}
    search = _Search(chunks, before, doc_key)
    passages = [
        [search.passage(question, gold) for gold in alternatives_in(question.gold_chunks())] for question in questions
    ]
    banned = [
        [(one, search.passage(replace(question, gold_doc_ids=()), one)) for one in question.forbidden()]
        for question in questions
    ]
    every = chain(chain.from_iterable(passages), (passage for row in banned for _, passage in row))
    different = list(dict.fromkeys(passage for passage in every if passage is not None))
    if is_to_spans:
        search.find_spans(different)
    else:
        search.link_spans(different, threshold)
        unlinked = [passage for passage in different if passage not in search.links]
        links = find_links(unlinked, chunks, threshold=threshold, tokenizer=tokenizer)
        search.links |= dict(zip(unlinked, links, strict=True))
    rewritten, anchors, documents, forbidden = [], [], [], []
    for question, row, listed in zip(questions, passages, banned, strict=True):
        new = [
            search.anchor(question, gold, passage)
            for gold, passage in zip(alternatives_in(question.gold_chunks()), row, strict=True)
        ]
        moved = list(search.moved_documents(question, row))
        bans = [search.forbid(question, document, passage, new) for document, passage in listed]
        forbidden += bans
        rewritten.append(search.rewrite(question, new, bans, moved, with_texts=with_texts))
        anchors += new
        documents += moved
    return ReanchorReport(
        evalset=EvalSet(rewritten, name=questions.name),
        anchors=tuple(anchors),
        documents=tuple(documents),
        forbidden=tuple(forbidden),
    )


class _Search:
    """What is known of the gold passages before and after.

    Attributes:
        links: Where each passage was found.
        spans: The span of each passage in whole documents, None for one that is not there; None where chunks are meant.
    """

    def __init__(self, chunks: Chunks, before: Mapping[str, Document], doc_key: IdKey) -> None:
        self.links: dict[Passage, Link] = {}
        self.spans: dict[Passage, Span | None] | None = None
        self._chunks = chunks
        self._before = before
        self._doc_key = doc_key

    def passage(self, question: Question, gold: Document) -> Passage | None:
        """Return the text of a gold document with its document; None if no text is known."""
        before = self._before.get(gold.id or "")
        text = next((d.text for d in (gold, before) if d is not None and d.text and normalize(d.text)), None)
        span = _span_of(gold, self._doc_key)
        if text is None:
            return None if span is None else Passage("", gold.id, span.doc_id, span)
        named = [id_at(d.metadata, self._doc_key) for d in (gold, before) if d is not None]
        if self._chunks.doc_numbers([gold.id])[0] >= 0:
            named.append(gold.id)  # it names its document where others name a chunk
        if len(question.gold_doc_ids) == 1:
            named.append(question.gold_doc_ids[0])
        return Passage(text, gold.id, next(filter(None, named), None), span)

    def find_spans(self, passages: Iterable[Passage]) -> None:
        """Look for passages in whole documents; one that is a span and is still where it says stays there."""
        corpus = CorpusTexts({document.id or "": document.text or "" for document in self._chunks.documents})
        self.spans = {}
        wanted: list[Passage] = []
        for passage in passages:
            span = passage.span
            there = None if span is None else corpus.texts.get(span.doc_id, "")[span.start : span.end]
            if span is not None and there and len(there) == span.end - span.start and passage.text in ("", there):
                self.spans[passage] = replace(span, text=there)
            else:
                wanted.append(passage)
        found = corpus.find([(passage.doc_id, passage.text) for passage in wanted if passage.text])
        for passage in wanted:
            place = found.get((passage.doc_id, passage.text))
            self.spans[passage] = place and Span(*place, corpus.texts[place[0]][place[1] : place[2]])

    def link_spans(self, passages: Sequence[Passage], threshold: float) -> None:
        """Link passages that are spans to the chunks of their document, if these say where they are."""
        places: dict[str, list[tuple[int, int, int]]] = {}
        if any(passage.span is not None for passage in passages):
            for chunk, place in enumerate(read_places(self._chunks.documents, self._doc_key)):
                if place is not None:
                    places.setdefault(place[0], []).append((place[1], place[2], chunk))
        for passage in passages:
            if passage.span is not None and passage.span.doc_id in places:
                self.links[passage] = _link_of(passage.span, places[passage.span.doc_id], threshold)

    def anchor(self, question: Question, gold: Document, passage: Passage | None) -> Anchor:
        """Return what became of a gold document."""
        old_ids = () if gold.id is None else (gold.id,)
        unknown = Anchor(question_id=question.id, status="unanchorable", old_id=gold.id, new_ids=old_ids)
        if passage is None:
            return unknown
        if self.spans is not None:
            return _span_anchor(unknown, passage, self.spans[passage])
        if passage not in self.links or (not passage.text and passage.span is None):
            return unknown
        link = self.links[passage]
        ids, others = self._chunks.ids_at(link.chunks), self._chunks.ids_at(link.alternatives)
        known = replace(unknown, method=link.method, similarity=link.similarity, alternatives=others, text=passage.text)
        status = self._status(passage, link)
        return (
            replace(known, status="lost", nearest=ids)
            if status == "lost"
            else replace(known, status=status, new_ids=ids)
        )

    def forbid(self, question: Question, document: Document, passage: Passage | None, gold: Sequence[Anchor]) -> Anchor:
        """Return what became of a forbidden document: what is only alike is another one; every copy is forbidden."""
        anchor = self.anchor(question, document, passage)
        if anchor.status == "unanchorable" and self._chunks.has_document(document.id or ""):
            return replace(anchor, status="valid")
        if anchor.status in ("lost", "unanchorable") or anchor.span is not None:
            return anchor
        if anchor.method == "rougeL" and (anchor.similarity or 0) < 1:
            return replace(anchor, status="lost", new_ids=anchor.new_ids[:0], nearest=anchor.new_ids)
        ids = (*anchor.new_ids, *anchor.alternatives)
        wanted = {one for other in gold if other.status not in ("lost", "unanchorable") for one in other.new_ids}
        free = tuple(one for one in ids if one not in wanted)
        both = tuple(one for one in ids if one in wanted)
        return replace(anchor, new_ids=free, alternatives=(), also_gold=both)

    def _status(self, passage: Passage, link: Link) -> Status:
        if link.method is None:
            return "lost"
        if len(link.chunks) > 1:
            return "split"
        before, form = self._before.get(passage.id or ""), normalize(passage.text)
        # The passage was a whole chunk, which has grown; otherwise the same chunk holds it as before.
        was_whole = before is not None and normalize(before.text or "") == form
        has_grown = was_whole and link.method == "containment"
        if self._chunks.documents[link.chunks[0]].id == passage.id and not has_grown:
            return "valid"
        if link.method == "span" and passage.span is not None:
            length, own = len(self._chunks.texts[link.chunks[0]]), passage.span.end - passage.span.start
        else:
            length, own = len(self._chunks.forms[link.chunks[0]]), len(form)
        is_larger = link.method == "containment" or (link.method != "text" and length > _LARGER * own)
        return "merged" if is_larger else "moved"

    def moved_documents(self, question: Question, passages: Sequence[Passage | None]) -> Iterator[MovedDocument]:
        """Yield the gold documents that the corpus does not have, with the documents that have their passages."""
        for doc_id in question.gold_doc_ids:
            if not self._chunks.has_documents or self._chunks.has_document(doc_id):
                continue
            links = [self.links[passage] for passage in passages if passage is not None and passage.doc_id == doc_id]
            found = [self._chunks.doc_ids[place] for link in links if link.method is not None for place in link.chunks]
            new_ids = tuple(dict.fromkeys(filter(None, found)))
            yield MovedDocument(question_id=question.id, old_id=doc_id, new_ids=new_ids)

    def rewrite(
        self,
        question: Question,
        anchors: Sequence[Anchor],
        bans: Sequence[Anchor],
        moved: Sequence[MovedDocument],
        *,
        with_texts: bool,
    ) -> Question:
        """Return the question with the new ids."""
        chunk_ids: dict[str | None, list[str]] = {}
        gold: list[Document | Need] = []
        anchor_of = iter(anchors)
        for number, entry in enumerate(question.gold_chunks()):
            new: list[Document] = []
            for document in alternatives_in([entry]):
                anchor = next(anchor_of)
                chunk_ids.setdefault(document.id, []).extend(anchor.new_ids)
                is_written = with_texts and anchor.text is not None
                if number < len(question.gold) or is_written or anchor.span is not None:
                    text = document.text if document.text is not None or not with_texts else anchor.text
                    new += self._gold(replace(document, text=text), anchor)
            gold += [replace(entry, any_of=[*_without_repeats(new)])] if isinstance(entry, Need) else new
        doc_ids = {document.old_id: document.new_ids or (document.old_id,) for document in moved}
        return replace(
            question,
            must_not=tuple(_without_repeats(self._must_not(question, bans, chunk_ids, with_texts=with_texts))),
            gold=tuple(_without_repeats(gold)),
            gold_chunk_ids=tuple(new for old in question.gold_chunk_ids for new in chunk_ids[old]),
            gold_doc_ids=tuple(new for old in question.gold_doc_ids for new in doc_ids.get(old, (old,))),
        )

    def _must_not(
        self,
        question: Question,
        bans: Sequence[Anchor],
        new_ids: Mapping[str | None, Sequence[str]],
        *,
        with_texts: bool,
    ) -> Iterator[Document | Need]:
        """Yield the forbidden documents with the new ids; an id that now names another chunk is left out."""
        ban_of = iter(bans)
        for entry in question.must_not:
            new: list[Document] = []
            for document in alternatives_in([entry]):
                ban, newer = next(ban_of), document.metadata.get(SUPERSEDED_BY)
                now = next(iter(new_ids.get(newer, ())), newer)
                metadata = document.metadata if now == newer else {**document.metadata, SUPERSEDED_BY: now}
                text = ban.text if with_texts and document.text is None else document.text
                known = replace(document, text=text, metadata=metadata)
                if ban.status not in ("lost", "unanchorable"):
                    new += self._gold(known, ban)
                elif document.id is None or not self._chunks.has_document(document.id):
                    new.append(known)
            if not isinstance(entry, Need):
                yield from new
            elif new:
                yield replace(entry, any_of=[*_without_repeats(new)])

    def _gold(self, document: Document, anchor: Anchor) -> Iterator[Document]:
        """Yield a gold document once for each chunk that holds it now."""
        if anchor.status in ("lost", "unanchorable"):
            yield document
            return
        if anchor.span is not None:
            kept = {name: value for name, value in document.metadata.items() if name not in _PLACE}
            yield replace(document, id=None, text=anchor.span.text, metadata=kept | anchor.span.metadata)
            return
        for new_id in anchor.new_ids:
            doc_id = self._chunks.doc_ids[self._chunks.place_of(new_id)]
            is_named = id_at(document.metadata, self._doc_key) is not None
            own = fields_of(doc_id, self._doc_key) if doc_id is not None and is_named else {}
            metadata = {**document.metadata, **own}
            yield replace(document, id=new_id, metadata=metadata)


def _span_anchor(unknown: Anchor, passage: Passage, span: Span | None) -> Anchor:
    """Return what became of a passage that was looked for in whole documents."""
    if span is None:
        return replace(unknown, status="lost", text=passage.text) if passage.text else unknown
    is_same = passage.span is not None and replace(span, text=None, grade=None) == replace(passage.span, text=None)
    found = replace(unknown, status="valid" if is_same else "moved", new_ids=(), method="span", similarity=1.0)
    return replace(found, text=span.text, span=span)


def _without_repeats(gold: Iterable[Any]) -> Iterator[Any]:
    """Yield each document once, with the highest of its grades, and each need."""
    best: dict[Any, Any] = {}
    for number, document in enumerate(gold):
        if isinstance(document, Need):
            best[number] = document
            continue
        key = document.id, document.text, _span_of(document, DOC_KEY)
        if key not in best or read_grade(document, "relevance") > read_grade(best[key], "relevance"):
            best[key] = document
    return iter(best.values())


def _span_of(gold: Document, doc_key: IdKey) -> Span | None:
    """Return the span that a gold document says it is; None if it says none."""
    place = read_places([gold], doc_key)[0] if says_place(gold.metadata) else None
    return None if place is None or place[1] == place[2] else Span(*place)


def _link_of(span: Span, places: Sequence[tuple[int, int, int]], threshold: float) -> Link:
    """Return the chunks of its document that hold a span: one that holds all of it, else as few as hold most.

    Args:
        span: The span.
        places: Start, end and number of each chunk.
        threshold: The share of its characters from which it counts as found.
    """
    near = sorted((start, end, chunk) for start, end, chunk in places if start < span.end and end > span.start)
    whole = [chunk for start, end, chunk in near if start <= span.start and end >= span.end]
    if whole:
        return Link((whole[0],), "span", 1.0, tuple(whole[1 : MOST_ALTERNATIVES + 1]))
    chunks, at, held = [], span.start, 0
    while near and at < span.end:
        reaching = [one for one in near if one[0] <= at] or near[:1]
        start, end, chunk = max(reaching, key=lambda one: one[1])
        chunks.append(chunk)
        held += min(end, span.end) - max(start, at)
        at = end
        near = [one for one in near if one[1] > at]
    share = held / (span.end - span.start)
    return Link(tuple(chunks), "span" if chunks and share >= threshold else None, share)


def _read(name: str, corpus: Iterable[object]) -> list[Document]:
    if isinstance(corpus, (str, os.PathLike)):
        refuse(name, "a list of documents", corpus, "Read a file with `read_corpus(path)`.")
    documents: list[Document] = []
    seen: set[str] = set()
    for number, given in enumerate(corpus):
        document = given if isinstance(given, Document) else as_document(given)
        check_new(document.id, seen, f"`{name}[{number}]`: the id")
        seen.add(document.id or "")
        documents.append(document)
    return documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What became of one gold passage of a question.

    Attributes:
        question_id: The question.
        status: `"valid"`: its chunk still holds it; `"moved"`: another chunk is the same text, or nearly;
            `"merged"`: a larger chunk holds it; `"split"`: several chunks hold it together; `"lost"`: nothing in the
            corpus is similar enough; `"unanchorable"`: its text is not known.
        old_id: The id of its chunk, or None.
        new_ids: The ids of the chunks that hold it now; the old one if it is lost or cannot be anchored.
        method: `"text"`, `"containment"`, `"rougeL"`, or `"span"` by its place; None if it was not found.
        similarity: The share of its words that these chunks have in the same order, 0 to 1; of a lost one what the
            nearest chunks have.
        alternatives: Other chunks that hold all of it, at most 20.
        nearest: Of a lost one, the chunks that come nearest.
        text: The passage, or None.
        span: Where it is in whole documents, if spans were asked for.
        also_gold: Of a forbidden passage, the chunks that hold it and are gold of the same question: not forbidden.
    """

    question_id: str
    status: Status
    old_id: str | None
    new_ids: tuple[str, ...]
    method: str | None = None
    similarity: float | None = None
    alternatives: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    text: str | None = None
    span: Span | None = None
    also_gold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedDocument:
    """A gold document of a question that the corpus does not have under its id.

    Attributes:
        question_id: The question.
        old_id: The id of the document.
        new_ids: The documents in which its passages were found; empty if there are none.
    """

    question_id: str
    old_id: str
    new_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReanchorReport:
    """A question set linked to another corpus, and what became of each gold passage.

    Attributes:
        evalset: The question set with the new ids. Passages that were not found are in it as they were.
        anchors: One for each gold passage of each question, in order.
        documents: Gold documents whose ids the corpus does not have.
        forbidden: One for each document of `must_not`.
    """

    evalset: EvalSet
    anchors: tuple[Anchor, ...]
    documents: tuple[MovedDocument, ...]
    forbidden: tuple[Anchor, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many gold passages have each status."""
        counted = Counter(anchor.status for anchor in self.anchors)
        return {status: counted[status] for status in STATUSES}

    @property
    def lost(self) -> list[Anchor]:
        """The gold passages that are not in the corpus, or have no known text."""
        return [anchor for anchor in self.anchors if anchor.status in ("lost", "unanchorable")]

    @property
    def ok(self) -> bool:
        """Whether every gold passage and every gold document was found, and each forbidden one is known and no gold."""
        unclear = any(anchor.status == "unanchorable" or anchor.also_gold for anchor in self.forbidden)
        return not self.lost and not unclear and all(document.new_ids for document in self.documents)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON, without the question set."""
        whole: dict[str, Any] = {"ok": self.ok, "n_questions": len(self.evalset), "counts": self.counts}
        whole |= {"passages": [_row(anchor, ["also_gold"]) for anchor in self.anchors]}
        whole |= {"documents": [asdict(document) for document in self.documents]}
        return whole | ({"forbidden": [_row(anchor) for anchor in self.forbidden]} if self.forbidden else {})


def _row(anchor: Anchor, without: Collection[str] = ()) -> dict[str, Any]:
    row = asdict(anchor) | {"text": anchor.text and clip(anchor.text, _SHOWN)}
    return {name: value for name, value in row.items() if name not in without}
