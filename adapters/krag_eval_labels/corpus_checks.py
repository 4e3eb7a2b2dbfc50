"""Check that a corpus has the gold of a question set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from krag_eval import Document, normalize
from krag_eval.toolkit import IdKey, alternatives_in, id_at, read_leniently, show, size_of
from krag_eval_labels.findings import Entry, Finding, find
from krag_eval_labels.passages import FOUND, Chunks, Link, Passage, find_links
from krag_eval_labels.shared_text import common_letters, least_common

# From so many gold ids on, of which the corpus has none, it is probably another corpus.
_MANY = 3
_SPACES_AND_ZEROS = re.compile(r"\s|(?<!\d)0+(?=\d)")


@dataclass(slots=True)
class _Gold:
    """The questions that have a gold id, and the texts that they give it."""

    entries: list[Entry] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    is_chunk_id: bool = False


def check_corpus(
    entries: Sequence[Entry], corpus: Sequence[Document], *, doc_key: IdKey, id_key: IdKey | None, tokenizer: object
) -> Iterator[Finding]:
    """Yield findings about gold ids and gold texts that the corpus lacks, or has under another id.

    Args:
        entries: The questions.
        corpus: The documents, or the chunks of documents.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        id_key: The key of the metadata under which gold documents and chunks have their ids.
        tokenizer: What the words are, as in `evaluate`.
    """
    by_id, by_doc, by_text = _gather(entries, doc_key, id_key)
    check = _Check([_with_id(document, id_key) for document in corpus], doc_key)
    check.look([by_id, by_text], tokenizer)
    yield from check.other_corpus(by_id or by_doc)
    for chunk_id, gold in by_id.items():
        yield from check.chunk(chunk_id, gold)
    for text, gold in by_text.items():
        yield from check.text(text, gold)
    yield from check.documents(by_doc)
    if by_doc and check.docs:
        for entry in entries:
            yield from check.levels(entry, id_key)


def _gather(
    entries: Sequence[Entry], doc_key: IdKey, id_key: IdKey | None
) -> tuple[dict[str, _Gold], dict[str, _Gold], dict[str, _Gold]]:
    """Return the gold of all questions by chunk id, by document id, and, for gold without an id, by text."""
    by_id, by_doc, by_text = (defaultdict[str, _Gold](_Gold) for _ in range(3))
    for entry in entries:
        question = entry.question
        own_doc = question.gold_doc_ids[0] if len(question.gold_doc_ids) == 1 else None
        for document in alternatives_in(question.gold):
            chunk_id, doc_id = _with_id(document, id_key).id, id_at(document.metadata, doc_key)
            form = normalize(document.text or "")
            if doc_id is not None:
                by_doc[doc_id].entries.append(entry)
            if chunk_id is not None or form:
                gold = by_text[form] if chunk_id is None else by_id[chunk_id]
                gold.entries.append(entry)
                gold.passages += [Passage(document.text or "", chunk_id, doc_id or own_doc)] if form else []
        for chunk_id in question.gold_chunk_ids:
            by_id[chunk_id].entries.append(entry)
            by_id[chunk_id].is_chunk_id = True
        for doc_id in question.gold_doc_ids:
            by_doc[doc_id].entries.append(entry)
    return by_id, by_doc, by_text


class _Check:
    """A corpus, and where it has the texts of the gold.

    Attributes:
        docs: The ids of documents that its chunks name.
    """

    def __init__(self, corpus: Sequence[Document], doc_key: IdKey) -> None:
        self._doc_of = {d.id: id_at(d.metadata, doc_key) for d in corpus if d.id is not None}
        self.docs = {doc_id for doc_id in self._doc_of.values() if doc_id is not None}
        self._doc_key = doc_key
        self._chunks = Chunks(corpus, doc_key)
        self._loosely = {_loosely(known): known for known in (*self.docs, *self._doc_of)}
        self._links: dict[Passage, Link] = {}

    def look(self, golds: Sequence[Mapping[str, _Gold]], tokenizer: object) -> None:
        """Find the gold texts that their ids do not locate."""
        passages = chain.from_iterable(gold.passages for by_name in golds for gold in by_name.values())
        different = list(dict.fromkeys(one for one in passages if not self._stands_under(one.id, one)))
        links = find_links(different, self._chunks, threshold=FOUND, tokenizer=tokenizer)
        self._links = dict(zip(different, links, strict=True))

    def other_corpus(self, golds: Mapping[str, _Gold]) -> Iterator[Finding]:
        """Yield a finding if the corpus has none of the gold ids."""
        if len(golds) < _MANY or any(self._has(gold_id) for gold_id in golds):
            return
        looks = "has no ids" if not self._doc_of else f"has ids such as {next(iter(self._doc_of))!r}"
        message = (
            f"None of the {len(golds):,} gold ids is in the corpus: gold ids look like {next(iter(golds))!r}, the "
            f"corpus {looks}. Is it the right corpus, and are the ids under the right key?"
        )
        yield Finding(kind="other_corpus", message=message)

    def chunk(self, chunk_id: str, gold: _Gold) -> Iterator[Finding]:
        """Yield a finding if the corpus has no such chunk, or another text under its id."""
        links = [self._links[passage] for passage in gold.passages if passage in self._links]
        found = next((link for link in links if link.method is not None), None)
        found_in = () if found is None else self._chunks.ids_at(found.chunks)
        where = "" if found is None else f" Its text {self._where(found)}."
        if chunk_id in self._doc_of:
            if links:
                place = self._chunks.place_of(chunk_id)
                text = self._chunks.texts[place] if place >= 0 else None
                message = f"The chunk {chunk_id!r} is now another text, {show(text, 90)}.{where}"
                yield find("changed_text", message, *gold.entries, gold_id=chunk_id, found_in=found_in)
        elif chunk_id in self.docs and not gold.is_chunk_id:
            if links and found is None:
                message = f"The document {chunk_id!r} does not have the text {show(gold.passages[0].text, 90)}."
                yield find("missing_text", message, *gold.entries, gold_id=chunk_id)
        elif found is not None:
            message = f"The corpus has no chunk {chunk_id!r}.{where}"
            yield find("dead_id", message, *gold.entries, gold_id=chunk_id, found_in=found_in)
        else:
            also = " Its text is nowhere in it." if gold.passages else ""
            message = f"The corpus has no chunk {chunk_id!r}.{also}{self._hint(chunk_id)}"
            yield find("dangling_id", message, *gold.entries, gold_id=chunk_id)

    def text(self, text: str, gold: _Gold) -> Iterator[Finding]:
        """Yield a finding if the corpus does not have a text that is gold without an id."""
        links = [self._links[passage] for passage in gold.passages]
        if all(link.method is None for link in links):
            best = max(links, key=lambda link: link.similarity)
            nearest = self._chunks.ids_at(best.chunks)
            near = f" {nearest[0]!r} is nearest, with {best.similarity:.0%} of its words." if nearest else ""
            yield find("missing_text", f"The corpus does not have the text {show(text, 90)}.{near}", *gold.entries)

    def documents(self, golds: Mapping[str, _Gold]) -> Iterator[Finding]:
        """Yield a finding for each gold document that the corpus does not have."""
        if golds and not self.docs and not any(doc_id in self._doc_of for doc_id in golds):
            message = (
                f"Nothing in the corpus has {self._doc_key!r} in its metadata, so {len(golds):,} ids of gold "
                "documents were not checked. The key can be named."
            )
            yield Finding(kind="unchecked", message=message)
            return
        for doc_id, gold in golds.items():
            if not self._has(doc_id):
                message = f"The corpus has no document {doc_id!r}.{self._hint(doc_id)}"
                yield find("dangling_id", message, *gold.entries, gold_id=doc_id)

    def levels(self, entry: Entry, id_key: IdKey | None) -> Iterator[Finding]:
        """Yield a finding if a gold chunk of a question belongs to a document that is not one of its gold documents."""
        question = entry.question
        ids = [_with_id(document, id_key).id for document in alternatives_in(question.gold_chunks())]
        docs = {chunk_id: self._doc_of.get(chunk_id) for chunk_id in ids if chunk_id is not None}
        foreign = {chunk_id: doc for chunk_id, doc in docs.items() if doc not in (None, *question.gold_doc_ids)}
        if question.gold_doc_ids and foreign:
            chunk_id, doc_id = next(iter(foreign.items()))
            more = f", and {len(foreign) - 1} more like it," if len(foreign) > 1 else ""
            what = f"the gold chunk {chunk_id!r}{more} of {doc_id!r}, which is not a gold document"
            yield find("contradicting_levels", f"{question.id!r} has {what}.", entry, gold_id=chunk_id)

    def _has(self, gold_id: str) -> bool:
        return gold_id in self._doc_of or gold_id in self.docs

    def _stands_under(self, chunk_id: str | None, passage: Passage) -> bool:
        """Return whether the chunk with this id has the text of a passage, or a part of it."""
        place = self._chunks.place_of(chunk_id)
        if place < 0:
            return chunk_id in self._doc_of  # a corpus of ids alone says nothing about texts
        form, other = normalize(passage.text), self._chunks.forms[place]
        if form in other or other in form:
            return True
        return bool(common_letters(form, other).sum() >= least_common(size_of(form), size_of(other)))

    def _where(self, link: Link) -> str:
        names = " and ".join(repr(chunk_id) for chunk_id in self._chunks.ids_at(link.chunks))
        if len(link.chunks) > 1:
            return f"is split over {names}"
        share = f" ({link.similarity:.0%} of its words)" if link.method == "rougeL" else ""
        return f"is that of {names}" if link.method == "text" else f"is in {names}{share}"

    def _hint(self, gold_id: str) -> str:
        if gold_id in self.docs:
            return " It is the id of a document."
        alike = self._loosely.get(_loosely(gold_id))
        return "" if alike is None else f" It has {alike!r}, which is written differently."


def _with_id(document: Document, id_key: IdKey | None) -> Document:
    return document if id_key is None else replace(document, id=read_leniently(document, id_key=id_key).id)


def _loosely(given: str) -> str:
    """Return an id without spaces, leading zeros and capitals."""
    return _SPACES_AND_ZEROS.sub("", normalize(given))
