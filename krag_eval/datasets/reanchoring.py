"""Link the gold passages of a question set to the chunks of a corpus that was chunked anew."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from krag_eval._utils.errors import InvalidInputError, show
from krag_eval.datasets.evalset import EvalSet, as_evalset
from krag_eval.datasets.passages import FOUND, Chunks, Link, Passage, find_links
from krag_eval.datasets.question import DOC_KEY, Question, alternatives_in, check_new
from krag_eval.documents.document import Document, Need, as_document
from krag_eval.documents.readers import as_id, read_grade
from krag_eval.documents.text import normalize

# A chunk so many times as long as a passage is more than that passage with some edits.
_LARGER = 1.25
Status = Literal["valid", "moved", "merged", "split", "lost", "unanchorable"]
_SHOWN = 200
STATUSES: tuple[Status, ...] = get_args(Status)


def reanchor(
    evalset: object,
    corpus: Iterable[object],
    *,
    old_corpus: Iterable[object] = (),
    threshold: float = FOUND,
    doc_key: str = DOC_KEY,
    tokenizer: object = "words",
    with_texts: bool = False,
) -> ReanchorReport:
    """Link the gold passages of a question set to the chunks of another corpus.

    A passage is the text of a gold document, or the text that its id has in `old_corpus`. It is searched for by equal
    text, by containment and by the recall of ROUGE-L, in its own document first. The new set has the ids of the chunks
    that hold it now; its text, its grade and everything else stay, so the set can be linked again and again. If
    several chunks hold a passage together, all of them become gold; for an alternative of a need, each of them becomes
    an alternative. A passage that is not found stays as it was.

    Args:
        evalset: The question set, or what `as_evalset` reads.
        corpus: The chunks of the new corpus, each with an id and a text; anything that `evaluate` takes as a document.
        old_corpus: The chunks that the set was made for, if its gold documents have ids but no texts.
        threshold: The share of its words from which on a passage counts as found.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        tokenizer: What the words are, as in `evaluate`.
        with_texts: Write the text of each passage into the new set, so that it needs no old corpus the next time.

    Raises:
        InvalidInputError: A corpus or the set cannot be read, or a setting cannot be used.

    >>> old = [{"id": 1, "question": "When?", "gold": [{"id": "c7", "text": "We ship on weekdays."}]}]
    >>> report = reanchor(old, [{"id": "n3", "text": "Orders: we ship on weekdays. Returns are free."}])
    >>> report.counts["merged"], report.evalset["1"].gold[0].id
    (1, 'n3')
    """
    questions = as_evalset(evalset)
    chunks = Chunks(_read("corpus", corpus), doc_key)
    if not chunks.documents:
        raise InvalidInputError("`corpus` has no document with an id and a text. Gold is linked to such documents.")
    before = {document.id: document for document in _read("old_corpus", old_corpus) if document.id is not None}
    search = _Search(chunks, before, doc_key)
    passages = [
        [search.passage(question, gold) for gold in alternatives_in(question.gold_chunks())] for question in questions
    ]
    different = list(dict.fromkeys(passage for row in passages for passage in row if passage is not None))
    links = find_links(different, chunks, threshold=threshold, tokenizer=tokenizer)
    search.links = dict(zip(different, links, strict=True))
    rewritten, anchors, documents = [], [], []
    for question, row in zip(questions, passages, strict=True):
        new = [
            search.anchor(question, gold, passage)
            for gold, passage in zip(alternatives_in(question.gold_chunks()), row, strict=True)
        ]
        moved = list(search.moved_documents(question, row))
        rewritten.append(search.rewrite(question, new, moved, with_texts=with_texts))
        anchors += new
        documents += moved
    return ReanchorReport(
        evalset=EvalSet(rewritten, name=questions.name), anchors=tuple(anchors), documents=tuple(documents)
    )


class _Search:
    """What is known of the gold passages before and after.

    Attributes:
        links: Where each passage was found.
    """

    def __init__(self, chunks: Chunks, before: Mapping[str, Document], doc_key: str) -> None:
        self.links: dict[Passage, Link] = {}
        self._chunks = chunks
        self._before = before
        self._doc_key = doc_key

    def passage(self, question: Question, gold: Document) -> Passage | None:
        """Return the text of a gold document with its document; None if no text is known."""
        before = self._before.get(gold.id or "")
        text = next((d.text for d in (gold, before) if d is not None and d.text and normalize(d.text)), None)
        if text is None:
            return None
        named = [as_id(d.metadata.get(self._doc_key)) for d in (gold, before) if d is not None]
        if self._chunks.doc_numbers([gold.id])[0] >= 0:
            named.append(gold.id)  # it names its document where others name a chunk
        if len(question.gold_doc_ids) == 1:
            named.append(question.gold_doc_ids[0])
        return Passage(text, gold.id, next(filter(None, named), None))

    def anchor(self, question: Question, gold: Document, passage: Passage | None) -> Anchor:
        """Return what became of a gold document."""
        old_ids = () if gold.id is None else (gold.id,)
        if passage is None:
            return Anchor(question_id=question.id, status="unanchorable", old_id=gold.id, new_ids=old_ids)
        link = self.links[passage]
        status = self._status(passage, link)
        ids = self._ids(link.chunks)
        return Anchor(
            question_id=question.id,
            status=status,
            old_id=gold.id,
            new_ids=old_ids if status == "lost" else ids,
            method=link.method,
            similarity=link.similarity,
            alternatives=self._ids(link.alternatives),
            nearest=ids if status == "lost" else (),
            text=passage.text,
        )

    def _status(self, passage: Passage, link: Link) -> Status:
        if link.method is None:
            return "lost"
        if len(link.chunks) > 1:
            return "split"
        form = self._chunks.forms[link.chunks[0]]
        before = self._before.get(passage.id or "")
        # The passage was a whole chunk, which has grown; otherwise the same chunk holds it as before.
        was_whole = before is not None and normalize(before.text or "") == normalize(passage.text)
        has_grown = was_whole and link.method == "containment"
        if self._chunks.documents[link.chunks[0]].id == passage.id and not has_grown:
            return "valid"
        if link.method == "text":
            return "moved"
        is_larger = link.method == "containment" or len(form) > _LARGER * len(normalize(passage.text))
        return "merged" if is_larger else "moved"

    def _ids(self, places: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._chunks.documents[place].id or "" for place in places)

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
        self, question: Question, anchors: Sequence[Anchor], moved: Sequence[MovedDocument], *, with_texts: bool
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
                if number < len(question.gold) or (with_texts and anchor.text is not None):
                    text = document.text if document.text is not None or not with_texts else anchor.text
                    new += self._gold(replace(document, text=text), anchor)
            gold += [replace(entry, any_of=[*_without_repeats(new)])] if isinstance(entry, Need) else new
        doc_ids = {document.old_id: document.new_ids or (document.old_id,) for document in moved}
        return replace(
            question,
            gold=tuple(_without_repeats(gold)),
            gold_chunk_ids=tuple(new for old in question.gold_chunk_ids for new in chunk_ids[old]),
            gold_doc_ids=tuple(new for old in question.gold_doc_ids for new in doc_ids.get(old, (old,))),
        )

    def _gold(self, document: Document, anchor: Anchor) -> Iterator[Document]:
        """Yield a gold document once for each chunk that holds it now."""
        if anchor.status in ("lost", "unanchorable"):
            yield document
            return
        for new_id in anchor.new_ids:
            doc_id = self._chunks.doc_ids[self._chunks.place_of(new_id)]
            is_named = doc_id is not None and self._doc_key in document.metadata
            metadata = {**document.metadata, self._doc_key: doc_id} if is_named else document.metadata
            yield replace(document, id=new_id, metadata=metadata)


def _without_repeats(gold: Iterable[Any]) -> Iterator[Any]:
    """Yield each document once, with the highest of its grades, and each need."""
    best: dict[Any, Any] = {}
    for number, document in enumerate(gold):
        if isinstance(document, Need):
            best[number] = document
            continue
        key = document.id, document.text
        if key not in best or read_grade(document, "relevance") > read_grade(best[key], "relevance"):
            best[key] = document
    return iter(best.values())


def _read(name: str, corpus: Iterable[object]) -> list[Document]:
    if isinstance(corpus, (str, os.PathLike)):
        raise InvalidInputError(
            f"`{name}` must be a list of documents, got {show(corpus)}. Read a file with `read_corpus(path)`."
        )
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
        method: `"text"`, `"containment"` or `"rougeL"`; None if it was not found.
        similarity: The share of its words that these chunks have in the same order, 0 to 1; of a lost one what the
            nearest chunks have.
        alternatives: Other chunks that hold all of it, at most 20.
        nearest: Of a lost one, the chunks that come nearest.
        text: The passage, or None.
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
    """

    evalset: EvalSet
    anchors: tuple[Anchor, ...]
    documents: tuple[MovedDocument, ...]

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
        """Whether every gold passage and every gold document was found."""
        return not self.lost and all(document.new_ids for document in self.documents)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON, without the question set."""
        return {
            "ok": self.ok,
            "n_questions": len(self.evalset),
            "counts": self.counts,
            "passages": [_shown(asdict(anchor)) for anchor in self.anchors],
            "documents": [asdict(document) for document in self.documents],
        }


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    text = row["text"]
    return row if text is None or len(text) <= _SHOWN else row | {"text": text[: _SHOWN - 1] + "…"}
