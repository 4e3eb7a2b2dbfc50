"""Is a question set fit to score with?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from krag_eval.checks import check_threshold, one_of
from krag_eval.documents import Document, as_document
from krag_eval.evalset.corpus_checks import check_corpus
from krag_eval.evalset.entries import read_entries
from krag_eval.evalset.findings import KINDS, Finding, ValidationReport
from krag_eval.evalset.near_duplicates import NEAR
from krag_eval.evalset.question import DOC_KEY
from krag_eval.evalset.question_checks import check_questions
from krag_eval.evalset.repeat_checks import check_ids, check_texts
from krag_eval.wrong_names import tell_names


@tell_names
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
