"""Is a question set fit to score with?

Whether a corpus has the gold of a question set.

What can be wrong with the questions of a set, each looked at for itself and by its type.

Questions that stand twice in a set: by id, by text, in nearly the same words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from krag_eval._utils.checks import check_threshold, one_of
from krag_eval._utils.errors import InvalidInputError
from krag_eval.datasets.findings import KINDS, Entry, Finding, ValidationReport, find, read_entries, shorten
from krag_eval.datasets.passages import FOUND, Chunks, Link, Passage, common_letters, find_links, least_common, size_of
from krag_eval.datasets.question import DOC_KEY, Question
from krag_eval.documents.document import Document, as_document, read_leniently
from krag_eval.documents.readers import as_id, read_grade
from krag_eval.documents.text import normalize
from krag_eval.documents.tokenizers import WordTokenizer
from krag_eval.matching.near_duplicates import NEAR, group_near_duplicates


def validate(
    evalset: object,
    corpus: Iterable[object] | None = None,
    *,
    doc_key: str = DOC_KEY,
    near_duplicate_threshold: float = NEAR,
    tokenizer: object = "words",
    ignore: Iterable[str] = (),
    id_key: str | None = None,
    grade_key: str = "relevance",
    format: str | None = None,  # noqa: A002 - the word that `read_evalset` uses
) -> ValidationReport:
    """Look for everything that can be wrong with a question set; the kinds are the keys of `KINDS`.

    Args:
        evalset: The path of a file, of which every row is looked at, whatever is wrong with the others; or a question
            set, or what `as_evalset` reads.
        corpus: The documents or chunks that the gold should be in; anything that `evaluate` takes as a document.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        near_duplicate_threshold: The F-measure of ROUGE-L from which on two questions are in nearly the same words.
        tokenizer: What the words are, as in `evaluate`.
        ignore: Kinds of findings to leave out.
        id_key: The key of the metadata under which gold documents have their ids.
        grade_key: The key of the metadata under which gold documents have their grades.
        format: The format of the file; by default the one that it shows.

    Raises:
        InvalidInputError: The file cannot be opened, or a setting cannot be used.
        MissingDependencyError: The format needs a package that is not installed.

    >>> rows = [{"id": 1, "question": "When?", "gold": []}, {"id": 2, "question": "When?", "gold": ["Now."]}]
    >>> for finding in validate(rows).findings:
    ...     print(finding.severity, finding.kind, finding.question_ids)
    error conflicting_gold ('1', '2')
    warning empty_gold ('1',)
    """
    ignored = {one_of("ignore", kind, tuple(KINDS)) for kind in ignore}
    threshold = check_threshold(near_duplicate_threshold, "near_duplicate_threshold")
    entries, findings = read_entries(evalset, format_name=format)
    if not entries and not findings:
        findings.append(Finding(kind="unreadable", message="The set holds no question."))
    texts = check_texts(
        entries,
        threshold=None if {"near_duplicate", "similar_question"} <= ignored else threshold,
        tokenizer=tokenizer,
        id_key=id_key,
    )
    checks = [check_ids(entries), check_questions(entries, id_key=id_key, grade_key=grade_key), texts]
    documents = None if corpus is None else [d if isinstance(d, Document) else as_document(d) for d in corpus]
    if documents is not None:
        checks.append(check_corpus(entries, documents, doc_key=doc_key, id_key=id_key, tokenizer=tokenizer))
    found = [finding for finding in chain(findings, *checks) if finding.kind not in ignored]
    return ValidationReport.of(found, len(entries), None if documents is None else len(documents))


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
    entries: Sequence[Entry], corpus: Sequence[Document], *, doc_key: str, id_key: str | None, tokenizer: object
) -> Iterator[Finding]:
    """Gold ids and gold texts that the corpus does not have, or has under another id.

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
    entries: Sequence[Entry], doc_key: str, id_key: str | None
) -> tuple[dict[str, _Gold], dict[str, _Gold], dict[str, _Gold]]:
    """The gold of all questions: by the id of the chunk, by the id of the document, and by text where it has no id."""
    by_id, by_doc, by_text = (defaultdict[str, _Gold](_Gold) for _ in range(3))
    for entry in entries:
        question = entry.question
        own_doc = question.gold_doc_ids[0] if len(question.gold_doc_ids) == 1 else None
        for document in question.gold:
            chunk_id, doc_id = _with_id(document, id_key).id, as_id(document.metadata.get(doc_key))
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

    def __init__(self, corpus: Sequence[Document], doc_key: str) -> None:
        self._doc_of = {d.id: as_id(d.metadata.get(doc_key)) for d in corpus if d.id is not None}
        self.docs = {doc_id for doc_id in self._doc_of.values() if doc_id is not None}
        self._doc_key = doc_key
        self._chunks = Chunks(corpus, doc_key)
        self._loosely = {_loosely(known): known for known in (*self.docs, *self._doc_of)}
        self._links: dict[Passage, Link] = {}

    def look(self, golds: Sequence[Mapping[str, _Gold]], tokenizer: object) -> None:
        """Find the texts of which the ids do not say where they stand."""
        passages = [
            passage
            for by_name in golds
            for gold in by_name.values()
            for passage in gold.passages
            if not self._stands_under(passage.id, passage)
        ]
        different = list(dict.fromkeys(passages))
        links = find_links(different, self._chunks, threshold=FOUND, tokenizer=tokenizer)
        self._links = dict(zip(different, links, strict=True))

    def other_corpus(self, golds: Mapping[str, _Gold]) -> Iterator[Finding]:
        """That it has not one of the gold ids."""
        if len(golds) < _MANY or any(self._has(gold_id) for gold_id in golds):
            return
        looks = "has no ids" if not self._doc_of else f"has ids such as {next(iter(self._doc_of))!r}"
        message = (
            f"Not one of the {len(golds):,} gold ids is in the corpus: gold ids look like {next(iter(golds))!r}, the "
            f"corpus {looks}. Is it the right corpus, and are the ids under the right key?"
        )
        yield Finding(kind="other_corpus", message=message)

    def chunk(self, chunk_id: str, gold: _Gold) -> Iterator[Finding]:
        """That the corpus has no such chunk, or another text under its id."""
        links = [self._links[passage] for passage in gold.passages if passage in self._links]
        found = next((link for link in links if link.method is not None), None)
        found_in = () if found is None else self._ids(found)
        where = "" if found is None else f" Its text {self._where(found)}."
        if chunk_id in self._doc_of:
            if links:
                place = self._chunks.place_of(chunk_id)
                text = self._chunks.texts[place] if place >= 0 else None
                message = f"The chunk {chunk_id!r} is now another text, {shorten(text)}.{where}"
                yield find("changed_text", message, *gold.entries, gold_id=chunk_id, found_in=found_in)
        elif chunk_id in self.docs and not gold.is_chunk_id:
            if links and found is None:
                message = f"The document {chunk_id!r} does not have the text {shorten(gold.passages[0].text)}."
                yield find("missing_text", message, *gold.entries, gold_id=chunk_id)
        elif found is not None:
            message = f"The corpus has no chunk {chunk_id!r}.{where}"
            yield find("dead_id", message, *gold.entries, gold_id=chunk_id, found_in=found_in)
        else:
            also = " Its text is nowhere in it." if gold.passages else ""
            message = f"The corpus has no chunk {chunk_id!r}.{also}{self._hint(chunk_id)}"
            yield find("dangling_id", message, *gold.entries, gold_id=chunk_id)

    def text(self, text: str, gold: _Gold) -> Iterator[Finding]:
        """That the corpus has a text nowhere that is gold without an id."""
        links = [self._links[passage] for passage in gold.passages]
        if all(link.method is None for link in links):
            best = max(links, key=lambda link: link.similarity)
            near = (
                f" {self._ids(best)[0]!r} comes nearest, with {best.similarity:.0%} of its words."
                if best.chunks
                else ""
            )
            yield find("missing_text", f"The corpus does not have the text {shorten(text)}.{near}", *gold.entries)

    def documents(self, golds: Mapping[str, _Gold]) -> Iterator[Finding]:
        """That the corpus has no such documents."""
        if golds and not self.docs and not any(doc_id in self._doc_of for doc_id in golds):
            message = (
                f"Nothing in the corpus has {self._doc_key!r} in its metadata, so that {len(golds):,} ids of gold "
                "documents were not checked. The key can be named."
            )
            yield Finding(kind="unchecked", message=message)
            return
        for doc_id, gold in golds.items():
            if not self._has(doc_id):
                message = f"The corpus has no document {doc_id!r}.{self._hint(doc_id)}"
                yield find("dangling_id", message, *gold.entries, gold_id=doc_id)

    def levels(self, entry: Entry, id_key: str | None) -> Iterator[Finding]:
        """That a gold chunk of a question is of a document that is none of its gold documents."""
        question = entry.question
        ids = [_with_id(document, id_key).id for document in question.gold_chunks()]
        docs = {chunk_id: self._doc_of.get(chunk_id) for chunk_id in ids if chunk_id is not None}
        foreign = {chunk_id: doc for chunk_id, doc in docs.items() if doc not in (None, *question.gold_doc_ids)}
        if question.gold_doc_ids and foreign:
            chunk_id, doc_id = next(iter(foreign.items()))
            more = f", and {len(foreign) - 1} more like it," if len(foreign) > 1 else ""
            message = f"{question.id!r} has the gold chunk {chunk_id!r}{more} of {doc_id!r}, which is no gold document."
            yield find("contradicting_levels", message, entry, gold_id=chunk_id)

    def _has(self, gold_id: str) -> bool:
        return gold_id in self._doc_of or gold_id in self.docs

    def _stands_under(self, chunk_id: str | None, passage: Passage) -> bool:
        """Whether the chunk of this id has the text of a passage, or a part of it."""
        place = self._chunks.place_of(chunk_id)
        if place < 0:
            return chunk_id in self._doc_of  # a corpus of ids alone says nothing about texts
        form, other = normalize(passage.text), self._chunks.forms[place]
        if form in other or other in form:
            return True
        return bool(common_letters(form, other).sum() >= least_common(size_of(form), size_of(other)))

    def _where(self, link: Link) -> str:
        names = " and ".join(repr(chunk_id) for chunk_id in self._ids(link))
        if len(link.chunks) > 1:
            return f"is spread over {names}"
        share = f" ({link.similarity:.0%} of its words)" if link.method == "rougeL" else ""
        return f"is that of {names}" if link.method == "text" else f"is in {names}{share}"

    def _ids(self, link: Link) -> tuple[str, ...]:
        return tuple(self._chunks.documents[place].id or "" for place in link.chunks)

    def _hint(self, gold_id: str) -> str:
        if gold_id in self.docs:
            return " It is the id of a document."
        alike = self._loosely.get(_loosely(gold_id))
        return "" if alike is None else f" It has {alike!r}, which is written differently."


def _with_id(document: Document, id_key: str | None) -> Document:
    return document if id_key is None else replace(document, id=read_leniently(document, id_key=id_key).id)


def _loosely(given: str) -> str:
    """An id without spaces, leading zeros and capitals."""
    return _SPACES_AND_ZEROS.sub("", normalize(given))


# What people call a question that has no answer, in letters and digits alone.
_NEGATIVE = {"negative", "noanswer", "unanswerable", "unanswered", "impossible", "outofscope", "outofdomain"}


def check_questions(entries: Sequence[Entry], *, id_key: str | None, grade_key: str) -> Iterator[Finding]:
    """Missing texts, missing gold, gold that stands twice, types that contradict the gold.

    Args:
        entries: The questions.
        id_key: The key of the metadata under which gold documents have their ids.
        grade_key: The key of the metadata under which gold documents have their grades.
    """
    without_text = [entry for entry in entries if not normalize(entry.question.question or "")]
    # Formats like TREC's qrels have no place for a text; rows of our own and of lists have.
    if without_text and len(without_text) == len(entries) and all(e.row is None and e.place for e in entries):
        message = "Not one question has a text. Runs can be scored, but duplicates were not looked for."
        yield find("unchecked", message)
    else:
        for entry in without_text:
            yield find("missing_question", f"{entry.question.id!r} has no text to ask a retriever with.", entry)
    for entry in entries:
        yield from _check_documents(entry, id_key, grade_key)
        yield from _check_repeats(entry, id_key)
        yield from _check_mark(entry)
    negative = [e for e in entries if e.question.is_negative and _mark(e.question)]
    if negative:
        message = f"Scored by how little comes back: {len(negative):,} of {len(entries):,} questions."
        yield find("negative", message, *negative)
    by_document = [e for e in entries if e.question.gold_doc_ids and not e.question.gold_chunks()]
    if by_document:
        message = f"Undefined at chunk level: {len(by_document):,} of {len(entries):,} questions."
        yield find("document_level", message, *by_document)
    yield from _check_types(entries)


def _mark(question: Question) -> str | None:
    """By what it is marked as having no answer: its type, or as SQuAD does it."""
    if "".join(filter(str.isalnum, normalize(question.type or ""))) in _NEGATIVE:
        return f"`type` is {question.type!r}"
    is_marked = any(fields.get("is_impossible") is True for fields in (question.metadata, question.further))
    return "`is_impossible` is true" if is_marked else None


def _check_mark(entry: Entry) -> Iterator[Finding]:
    question, mark = entry.question, _mark(entry.question)
    if question.is_negative and mark is None:
        type_ = "" if question.type is None else f", and its type is {question.type!r}"
        gold = "gold of grade 0 alone, which is not relevant" if question.gold else "no gold"
        message = f'{question.id!r} has {gold}{type_}. If it has no answer, say so with "type": "negative".'
        yield find("empty_gold", message, entry)
    if mark is not None and not question.is_negative:
        yield find("contradicting_type", f"{question.id!r} has gold, while {mark}. One of the two is wrong.", entry)


def _check_documents(entry: Entry, id_key: str | None, grade_key: str) -> Iterator[Finding]:
    """Each gold document has an id or a text, and one of them is relevant."""
    question, grades = entry.question, []
    for number, document in enumerate(question.gold):
        if read_leniently(document, id_key=id_key).id is None and not normalize(document.text or ""):
            message = f"`gold[{number}]` of {question.id!r} has neither an id nor a text. Give it one of them."
            yield find("unidentified_gold", message, entry)
        try:
            grades.append(read_grade(document, grade_key))
        except InvalidInputError as error:
            yield find("unreadable", f"`gold[{number}]` of {question.id!r}: {error}", entry)
    by_id = question.gold_chunk_ids or question.gold_doc_ids
    if grades and grades == [0] * len(question.gold) and not by_id and not question.is_negative:
        message = f"{question.id!r} has gold whose {grade_key!r} is 0 alone, which is not relevant."
        yield find("empty_gold", message, entry)


def _check_repeats(entry: Entry, id_key: str | None) -> Iterator[Finding]:
    """No gold document stands twice. Passages of one chunk, and chunks of one passage, may share an id or a text."""
    seen: dict[str | None, set[str]] = {}
    repeated: list[str] = []
    for document in entry.question.gold:
        own_id, form = read_leniently(document, id_key=id_key).id, normalize(document.text or "")
        forms = seen.setdefault(own_id, set())
        if form in forms or (own_id is not None and forms and "" in (form, *forms)):
            repeated.append(f"{own_id!r}" if own_id is not None else f"{shorten(document.text)}")
        forms.add(form)
    for name in ("gold_chunk_ids", "gold_doc_ids"):
        given = (entry.row or {}).get(name)
        ids = [as_id(value) for value in given] if isinstance(given, list) else []
        repeated += [f"{value!r}" for value, count in Counter(ids).items() if count > 1]
    if repeated:
        message = (
            f"{', '.join(dict.fromkeys(repeated))} stands twice in the gold of {entry.question.id!r}, and counts once."
        )
        yield find("repeated_gold", message, entry)


def _check_types(entries: Sequence[Entry]) -> Iterator[Finding]:
    """A type that is spelled in two ways is two types in every table."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.question.type is not None:
            spellings[normalize(entry.question.type)][entry.question.type] += 1
    for form, counts in spellings.items():
        if len(counts) > 1:
            found = ", ".join(f"{type_!r} ({count:,})" for type_, count in counts.most_common())
            rare = [e for e in entries if e.question.type in counts and e.question.type != counts.most_common(1)[0][0]]
            yield find("type_spellings", f"The type {form!r} is spelled in several ways: {found}.", *rare)


_MOST_SHOWN = 4


def check_ids(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Ids that several questions have."""
    by_id: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_id[entry.question.id].append(entry)
    for question_id, same in by_id.items():
        if len(same) > 1:
            n_different = len({normalize(entry.question.question or "") for entry in same})
            how = "the same question" if n_different == 1 else f"{n_different} different questions"
            message = f"{question_id!r} is the id of {len(same)} rows with {how}. Ids must be unique."
            yield find("duplicate_id", message, *same)


def check_texts(
    entries: Sequence[Entry], *, threshold: float | None, tokenizer: object, id_key: str | None
) -> Iterator[Finding]:
    """Questions with the same text, and questions in nearly the same words.

    Args:
        entries: The questions.
        threshold: The F-measure of ROUGE-L from which on two questions are near; None not to look for these.
        tokenizer: What the words are, as in `evaluate`.
        id_key: The key of the metadata under which gold documents have their ids.
    """
    by_text: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        by_text[normalize(entry.question.question or "")].setdefault(entry.question.id, entry)
    by_text.pop("", None)
    for same in by_text.values():
        if len(same) > 1:
            yield _same_text(list(same.values()), id_key)
    if threshold is None:
        return
    firsts = [next(iter(same.values())) for same in by_text.values()]
    texts = [entry.question.question or "" for entry in firsts]
    for places in group_near_duplicates(texts, threshold, tokenizer=tokenizer):
        yield from _near([firsts[place] for place in places], id_key)


def _same_text(same: list[Entry], id_key: str | None) -> Finding:
    text = shorten(same[0].question.question)
    if len({_gold_of(entry.question, id_key) for entry in same}) > 1:
        message = f"{text} has different gold in {_named(same)}. Only one of them can be right, or both together."
        return find("conflicting_gold", message, *same)
    answers = {_answer_of(entry.question): entry.question.answer for entry in same if entry.question.answer}
    differing = f" and {len(answers)} different answers" if len(answers) > 1 else ""
    return find("duplicate_question", f"{text} stands in {_named(same)} with the same gold{differing}.", *same)


def _near(group: list[Entry], id_key: str | None) -> Iterator[Finding]:
    """Near each other in words: one question asked in two ways, unless the answers are known to differ."""
    answers = [_answer_of(entry.question) for entry in group]
    by_answer: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry, answer in zip(group, answers, strict=True):
        by_answer[answer if all(answers) else ()].append(entry)
    for alike in by_answer.values():
        if len(alike) > 1:
            gold = "the same gold" if len({_gold_of(e.question, id_key) for e in alike}) == 1 else "different gold"
            same = f"the same answer ({shorten(alike[0].question.answer, 30)}) and " if all(answers) else ""
            yield find("near_duplicate", f"{_texts(alike)}: nearly the same words, {same}{gold}.", *alike)
    if len(by_answer) > 1:
        yield find("similar_question", f"{_texts(group)}: nearly the same words, different answers.", *group)


def _gold_of(question: Question, id_key: str | None) -> frozenset[tuple[str, str | None]]:
    """What its gold is: chunks by id or else by text; documents where no chunk is known."""
    ids = {("id", chunk_id) for chunk_id in question.gold_chunk_ids}
    for document in question.gold:
        own_id = read_leniently(document, id_key=id_key).id
        ids.add(("text", normalize(document.text or "")) if own_id is None else ("id", own_id))
    return frozenset(ids or {("document", doc_id) for doc_id in question.gold_doc_ids})


def _answer_of(question: Question) -> tuple[str, ...]:
    """The words of the expected answer, none where it is not known."""
    return tuple(WordTokenizer().tokenize(question.answer or ""))


def _named(entries: Iterable[Entry]) -> str:
    return _enumerate([f"{entry.question.id!r}" for entry in entries])


def _texts(entries: Iterable[Entry]) -> str:
    return _enumerate([shorten(entry.question.question) for entry in entries])


def _enumerate(names: list[str]) -> str:
    if len(names) > _MOST_SHOWN:
        names = [*names[: _MOST_SHOWN - 1], f"{len(names) - _MOST_SHOWN + 1:,} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"
