"""Check that a question set is fit to score with: its rows, its gold, duplicates, and a corpus that has the gold."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from krag_eval import TOKENIZERS, Document, InvalidInputError, Question, as_document, as_evalset, normalize
from krag_eval.toolkit import (
    DOC_KEY,
    NEAR,
    ExaminedFile,
    IdKey,
    alternatives_in,
    as_id,
    check_number,
    group_near_duplicates,
    load,
    number_of,
    one_of,
    read_grade,
    read_leniently,
    show,
)
from krag_eval_labels.findings import KINDS, Entry, Finding, ValidationReport, find

# What people call a question that has no answer, in letters and digits alone.
_NEGATIVE = {"negative", "noanswer", "unanswerable", "unanswered", "impossible", "outofscope", "outofdomain"}
_MOST_SHOWN = 4
_SENTENCE = re.compile(r"[^.!?。！？\n]{1,300}[.!?。！？]?")


def validate(
    evalset: object,
    corpus: Iterable[object] | None = None,
    *,
    doc_key: IdKey = DOC_KEY,
    near_duplicate_threshold: float = NEAR,
    tokenizer: object = "words",
    ignore: Iterable[str] = (),
    id_key: IdKey | None = None,
    grade_key: str = "relevance",
    format: str | None = None,  # noqa: A002 - the word that `read_evalset` uses
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    rows: str | None = None,
    separator: str | None = None,
) -> ValidationReport:
    """Look for everything that can be wrong with a question set; the keys of `KINDS` are what it looks for.

    Args:
        evalset: The path of a file, of which every row is checked even if others are unreadable; or a question
            set, or what `as_evalset` reads.
        corpus: The documents or chunks that the gold should be in; anything that `evaluate` takes as a document.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        near_duplicate_threshold: The F-measure of ROUGE-L from which on two questions are in nearly the same words.
        tokenizer: What the words are, as in `evaluate`.
        ignore: Kinds of findings to leave out.
        id_key: The key of the metadata under which gold documents have their ids.
        grade_key: The key of the metadata under which gold documents have their grades.
        format: The format of the file; by default the one that it shows.
        columns: As for `read_evalset`, as are the next four.
        encoding: The encoding of a text that is not UTF-8.
        sheet: The sheet of a workbook.
        rows: The key under which the rows are.
        separator: What separates the ids in a cell or a string.

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
    keys = () if id_key is None or isinstance(id_key, str) else tuple(id_key)
    threshold = check_number("near_duplicate_threshold", near_duplicate_threshold, least=0, most=1)
    if isinstance(evalset, (str, os.PathLike)):
        table: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "rows": rows}
        found = list(_of_file(evalset, format, separator=separator, id_key=keys, **table))
    else:
        found = list(_of_rows(evalset))
    entries = [one for one in found if isinstance(one, Entry)]
    findings = [one for one in found if isinstance(one, Finding)]
    if not entries and not findings:
        findings.append(Finding(kind="unreadable", message="The set holds no question."))
    texts = _check_texts(
        entries,
        threshold=None if {"near_duplicate", "similar_question"} <= ignored else threshold,
        tokenizer=tokenizer,
        id_key=id_key,
    )
    checks = [_check_ids(entries), _check_questions(entries, id_key=id_key, grade_key=grade_key), texts]
    documents = None if corpus is None else [d if isinstance(d, Document) else as_document(d) for d in corpus]
    if documents is not None:
        from krag_eval_labels.corpus_checks import check_corpus  # imports NumPy

        checks.append(check_corpus(entries, documents, doc_key=doc_key, id_key=id_key, tokenizer=tokenizer))
    kept = [finding for finding in chain(findings, *checks) if finding.kind not in ignored]
    return ValidationReport.of(kept, len(entries), None if documents is None else len(documents))


def _of_rows(evalset: object) -> Iterator[Entry | Finding]:
    if not isinstance(evalset, (list, tuple)):
        yield from map(Entry, as_evalset(evalset))
        return
    for number, row in enumerate(evalset):
        try:
            yield from (Entry(question, None, row) for question in as_evalset([row]))
        except InvalidInputError as error:
            yield Finding.of_parts("unreadable", error.without("question 0"), f"question {number}")


def _of_file(path: str | os.PathLike[str], format_name: str | None, **table: Any) -> Iterator[Entry | Finding]:
    file = ExaminedFile(path, format_name, **table)
    if file.doubt is not None:
        yield Finding(kind="unchecked", message=f"The file {file.doubt}", places=(str(path),))
    entries: list[Entry] = []
    for place, row, found in file:
        if isinstance(found, Question):
            entries.append(Entry(found, place, row))
            yield entries[-1]
        elif place is None:
            yield Finding.of_parts("unreadable", (*found.args, " Nothing after it was read."))
        else:
            yield Finding.of_parts("unreadable", found.without(place), place)
    yield from _what_gold_is(entries, file.named)


def _what_gold_is(entries: Sequence[Entry], named: Mapping[str, str]) -> Iterator[Finding]:
    """Say what is read as gold from fields with other names, with an example; warn if these are answers."""
    fields = {field: column for field, column in named.items() if field.startswith("gold")}
    golds = [one for entry in entries for one in entry.question.gold_chunks() + entry.question.gold_documents()]
    if not fields or not golds:
        return
    first = alternatives_in(golds)[0]
    texts = [document.text for document in alternatives_in(golds) if document.text is not None]
    example = f"the id {first.id!r:.80}" if first.text is None else show(first.text, 90)
    columns = " and ".join(f"`{column}`" for column in dict.fromkeys(fields.values()))
    is_answer = any(
        "answer" in kinds and "document" not in kinds
        for kinds in map(load("krag_eval.formats", "meanings"), fields.values())
    )
    are_sentences = len(texts) == len(golds) == len(entries) and all(_SENTENCE.fullmatch(text) for text in texts)
    said = f"The gold is in {columns}: {number_of(len(golds), 'document')}, such as {example}."
    if is_answer and texts:
        yield find("answers_as_gold", f"{said} The name says that these are answers, and an answer is no document.")
    else:
        doubt = " Each is one sentence: if these are answers, they are no gold documents." if are_sentences else ""
        yield find("gold", said + doubt)


def _check_questions(entries: Sequence[Entry], *, id_key: IdKey | None, grade_key: str) -> Iterator[Finding]:
    """Yield findings about missing texts, missing gold, duplicate gold and types that contradict the gold.

    Args:
        entries: The questions.
        id_key: The key of the metadata under which gold documents have their ids.
        grade_key: The key of the metadata under which gold documents have their grades.
    """
    without_text = [entry for entry in entries if not normalize(entry.question.question or "")]
    # Formats like TREC's qrels have no place for a text; rows of our own and of lists have.
    if without_text and len(without_text) == len(entries) and all(e.row is None and e.place for e in entries):
        message = "No question has a text. Runs can be scored, but duplicates were not searched for."
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
        message = f"Scored by how little is retrieved: {len(negative):,} of {len(entries):,} questions."
        yield find("negative", message, *negative)
    graded = [one.grade for e in entries for one in alternatives_in(e.question.gold) if one.grade is not None]
    below = sum(grade < 0 for grade in graded)
    if below * 2 > len(graded):
        message = f"{below:,} of {len(graded):,} grades are below 0, which means that nobody judged these documents."
        yield find("negative_grades", f"{message} If they are scores of a retriever, this is a run.")
    by_document = [e for e in entries if e.question.gold_doc_ids and not e.question.gold_chunks()]
    if by_document:
        message = f"Undefined at chunk level: {len(by_document):,} of {len(entries):,} questions."
        yield find("document_level", message, *by_document)
    yield from _check_types(entries)


def _mark(question: Question) -> str | None:
    """Return what marks a question as having no answer: its type, or the flag that SQuAD uses; None if nothing does."""
    if "".join(filter(str.isalnum, normalize(question.type or ""))) in _NEGATIVE:
        return f"`type` is {question.type!r}"
    is_marked = any(fields.get("is_impossible") is True for fields in (question.metadata, question.further))
    return "`is_impossible` is true" if is_marked else None


def _check_mark(entry: Entry) -> Iterator[Finding]:
    question, mark = entry.question, _mark(entry.question)
    if question.is_negative and mark is None and not question.must_not and not question.allowed:
        type_ = "" if question.type is None else f", and its type is {question.type!r}"
        gold = "only gold of grade 0 or less, which is not relevant" if question.gold else "no gold"
        message = f'{question.id!r} has {gold}{type_}. If it has no answer, say so with "type": "negative".'
        yield find("empty_gold", message, entry)
    if mark is not None and not question.is_negative:
        yield find("contradicting_type", f"{question.id!r} has gold, while {mark}. One of the two is wrong.", entry)


def _check_documents(entry: Entry, id_key: IdKey | None, grade_key: str) -> Iterator[Finding]:
    """Check that each gold document has an id or a text, and that one of them is relevant."""
    question, grades = entry.question, []
    for number, document in enumerate(alternatives_in(question.gold)):
        if read_leniently(document, id_key=id_key).id is None and not normalize(document.text or ""):
            message = f"`gold[{number}]` of {question.id!r} has neither an id nor a text. Give it one of them."
            yield find("unidentified_gold", message, entry)
        try:
            grades.append(read_grade(document, grade_key))
        except InvalidInputError as error:
            yield find("unreadable", f"`gold[{number}]` of {question.id!r}: {error}", entry)
    by_id = question.gold_chunk_ids or question.gold_doc_ids
    if grades and max(grades) <= 0 and not by_id and not question.is_negative:
        message = f"{question.id!r} has gold whose {grade_key!r} is never above 0, which is not relevant."
        yield find("empty_gold", message, entry)


def _check_repeats(entry: Entry, id_key: IdKey | None) -> Iterator[Finding]:
    """Check that no gold document appears twice. Passages of a chunk, and chunks of a passage, may share id or text."""
    seen: dict[str | None, set[str]] = {}
    repeated: list[str] = []
    # One document may be an alternative of two needs.
    for document in [one for one in entry.question.gold if isinstance(one, Document)]:
        own_id, form = read_leniently(document, id_key=id_key).id, normalize(document.text or "")
        forms = seen.setdefault(own_id, set())
        if form in forms or (own_id is not None and forms and "" in (form, *forms)):
            repeated.append(f"{own_id!r}" if own_id is not None else f"{show(document.text, 90)}")
        forms.add(form)
    for name in ("gold_chunk_ids", "gold_doc_ids"):
        given = (entry.row or {}).get(name)
        ids = [as_id(value) for value in given] if isinstance(given, list) else []
        repeated += [f"{value!r}" for value, count in Counter(ids).items() if count > 1]
    if repeated:
        named = ", ".join(dict.fromkeys(repeated))
        yield find(
            "repeated_gold", f"{named} appears twice in the gold of {entry.question.id!r}, and counts once.", entry
        )


def _check_types(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Report a type that is spelled in two ways, because every table would show two types."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.question.type is not None:
            spellings[normalize(entry.question.type)][entry.question.type] += 1
    for form, counts in spellings.items():
        if len(counts) > 1:
            found = ", ".join(f"{type_!r} ({count:,})" for type_, count in counts.most_common())
            rare = [e for e in entries if e.question.type in counts and e.question.type != counts.most_common(1)[0][0]]
            yield find("type_spellings", f"The type {form!r} is spelled in several ways: {found}.", *rare)


def _check_ids(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Yield a finding for each id that several questions have."""
    by_id: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_id[entry.question.id].append(entry)
    for question_id, same in by_id.items():
        if len(same) > 1:
            n_different = len({normalize(entry.question.question or "") for entry in same})
            how = "the same question" if n_different == 1 else f"{n_different} different questions"
            message = f"{question_id!r} is the id of {len(same)} rows with {how}. Ids must be unique."
            yield find("duplicate_id", message, *same)


def _check_texts(
    entries: Sequence[Entry], *, threshold: float | None, tokenizer: object, id_key: IdKey | None
) -> Iterator[Finding]:
    """Yield findings about questions with the same text, and about questions in nearly the same words.

    Args:
        entries: The questions.
        threshold: The F-measure of ROUGE-L from which on two questions are near; None to skip this check.
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


def _same_text(same: list[Entry], id_key: IdKey | None) -> Finding:
    text = show(same[0].question.question, 90)
    if len({_gold_of(entry.question, id_key) for entry in same}) > 1:
        message = f"{text} has different gold in {_named(same)}. Only one of them can be right, or both together."
        return find("conflicting_gold", message, *same)
    answers = {_answer_of(entry.question): entry.question.answer for entry in same if entry.question.answer}
    differing = f" and {len(answers)} different answers" if len(answers) > 1 else ""
    return find("duplicate_question", f"{text} appears in {_named(same)} with the same gold{differing}.", *same)


def _near(group: list[Entry], id_key: IdKey | None) -> Iterator[Finding]:
    """Report questions in nearly the same words: one question asked in two ways, unless their answers differ."""
    answers = [_answer_of(entry.question) for entry in group]
    by_answer: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry, answer in zip(group, answers, strict=True):
        by_answer[answer if all(answers) else ()].append(entry)
    for alike in by_answer.values():
        if len(alike) > 1:
            gold = "the same gold" if len({_gold_of(e.question, id_key) for e in alike}) == 1 else "different gold"
            same = f"the same answer ({show(alike[0].question.answer, 30)}) and " if all(answers) else ""
            yield find("near_duplicate", f"{_texts(alike)}: nearly the same words, {same}{gold}.", *alike)
    if len(by_answer) > 1:
        yield find("similar_question", f"{_texts(group)}: nearly the same words, different answers.", *group)


def _gold_of(question: Question, id_key: IdKey | None) -> frozenset[tuple[str, str | None]]:
    """Return the gold as chunks by id or else by text; as documents if no chunk is known."""
    ids = {("id", chunk_id) for chunk_id in question.gold_chunk_ids}
    for document in alternatives_in(question.gold):
        own_id = read_leniently(document, id_key=id_key).id
        ids.add(("text", normalize(document.text or "")) if own_id is None else ("id", own_id))
    return frozenset(ids or {("document", doc_id) for doc_id in question.gold_doc_ids})


def _answer_of(question: Question) -> tuple[str, ...]:
    """Return the words of the expected answer, none if it is not known."""
    return tuple(TOKENIZERS["words"].tokenize(question.answer or ""))


def _named(entries: Iterable[Entry]) -> str:
    return _enumerate([f"{entry.question.id!r}" for entry in entries])


def _texts(entries: Iterable[Entry]) -> str:
    return _enumerate([show(entry.question.question, 90) for entry in entries])


def _enumerate(names: list[str]) -> str:
    if len(names) > _MOST_SHOWN:
        names = [*names[: _MOST_SHOWN - 1], f"{len(names) - _MOST_SHOWN + 1:,} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"
