"""Question sets and runs of any length: read side by side, and forgotten row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, RetrieverError
from krag_eval._utils.files.io import StrPath
from krag_eval.datasets.formats import native
from krag_eval.datasets.formats.registry import Reader, open_source
from krag_eval.datasets.formats.source import Source, check_documents
from krag_eval.datasets.question import DOC_KEY, LEVELS, alternatives_in
from krag_eval.datasets.run import known
from krag_eval.documents.document import Document, Need, as_document
from krag_eval.documents.needs import check_grades
from krag_eval.documents.readers import IdKey, read_grade

Documents = Sequence[object]
Gold = Documents | Mapping[str, float]
_CURE = (
    "In a stream both files must have the same questions in the same order; "
    "`read_evalset` and `read_run` take them in any order."
)


def stream_pairs(
    evalset: StrPath,
    run: StrPath,
    *,
    evalset_format: str | None = None,
    run_format: str | None = None,
    id_key: IdKey | None = None,
    grade_key: str = "relevance",
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    bare_ids: bool = False,
    query_ids: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the gold and the retrieved documents of each question, for `evaluate_stream`.

    Both files must have the same questions in the same order, which `read_evalset` and `read_run` do not ask for.
    Memory holds a few rows of JSONL, CSV or Parquet, and the lines of one query of TREC files, whose lines of one query
    must be together; formats that are one JSON value are held whole. Duplicate ids are not detected.

    Args:
        evalset: The file of the evaluation set.
        run: The file of the run; it may be the same one, for rows of ragas that hold both.
        evalset_format: A name of `FORMATS`; by default what the file shows.
        run_format: The same for the run.
        id_key: As for `read_evalset`.
        grade_key: As for `read_evalset`.
        level: `"chunk"`, or `"document"` for the gold at that level; then score with `id_key=doc_key`.
        doc_key: The metadata key of document ids.
        bare_ids: Give nothing but ids, read under `id_key` and `grade_key`, for `evaluate_stream(..., bare_ids=True)`:
            the same numbers as by id from documents, in half the time. Each document must have an id then.
        query_ids: Give also the id of each question, for `evaluate_stream(..., exclude_self=True)`.

    Raises:
        InvalidInputError: A file cannot be read, or its questions are not those of the other; the message begins with
            `path:line:`.
        MissingDependencyError: A format needs a package that is not installed.
    """
    source = open_source(evalset, evalset_format, "evalset", in_order=True)
    gold = _gold(*source, id_key, grade_key, one_of("level", level, LEVELS), doc_key)
    retrieved = _retrieved(*open_source(run, run_format, "run", in_order=True), id_key)
    for question, ranking in zip_longest(gold, retrieved):
        if question is None or ranking is None:
            place, query_id, _ = question or ranking
            other = run if ranking is None else evalset
            raise InvalidInputError(f"{place}: has the question {query_id!r:.60}, but {other} ends before it. {_CURE}")
        if question[1] != ranking[1]:
            raise InvalidInputError(
                f"{ranking[0]}: has the question {ranking[1]!r:.60} where {question[0]} has {question[1]!r:.60}. "
                f"{_CURE}"
            )
        (place, query_id, documents), (its_place, _, found) = question, ranking
        own = (query_id,) if query_ids else ()
        if not bare_ids:
            yield documents, found, *own
            continue
        gold_ids = _bare_gold(place, documents, id_key, grade_key)
        ids = found if isinstance(found, RetrieverError) else _bare(its_place, found, "retrieved", id_key)
        yield gold_ids, ids, *own


def _gold(
    source: Source, read: Reader, id_key: IdKey | None, grade_key: str, level: str, doc_key: IdKey
) -> Iterator[tuple[str, str, Sequence[Document | Need]]]:
    """Yield each question's place, id and gold documents."""
    for place, question in read(source):
        check_documents(place, "gold", question.gold, id_key=id_key, grade_key=grade_key, is_gold=True)
        yield place, question.id, question.gold_at(level, doc_key)


def _retrieved(
    source: Source, read: Reader, id_key: IdKey | None
) -> Iterator[tuple[str, str, Sequence[Document] | RetrieverError]]:
    """Yield each ranking's place, id, and documents or error."""
    is_recorded = read is native.rankings and bool(native.run_header(source))
    for place, ranking in read(source):
        ranking = known(ranking, id_key, place) if is_recorded else ranking
        check_documents(place, "retrieved", ranking.found, id_key=id_key)
        documents = ranking.ranking if ranking.error is None else RetrieverError(ranking.error)
        yield place, ranking.query_id, documents


def _bare(place: str, documents: Sequence[Document], name: str, id_key: IdKey | None) -> list[str]:
    ids = [document.id if id_key is None else as_document(document, id_key=id_key).id for document in documents]
    if None in ids:
        raise InvalidInputError(
            f"{place}: `{name}[{ids.index(None)}]` has no id, but `bare_ids` needs one. "
            "Give each document one, or leave `bare_ids` out."
        )
    return [str(one) for one in ids]


def _bare_need(place: str, entry: Document | Need, id_key: IdKey | None, grade_key: str) -> Need:
    """Return a need of bare ids, with its grade."""
    documents = alternatives_in([entry])
    grades = [read_grade(document, grade_key) for document in documents]
    check_grades(grades)
    return Need(any_of=_bare(place, documents, "gold", id_key), grade=grades[0])


def _bare_gold(place: str, gold: Sequence[Document | Need], id_key: IdKey | None, grade_key: str) -> Gold:
    documents = [one for one in gold if isinstance(one, Document)]
    if len(documents) < len(gold):
        return [_bare_need(place, entry, id_key, grade_key) for entry in gold]
    ids = _bare(place, documents, "gold", id_key)
    if all(document.grade is None and grade_key not in document.metadata for document in documents):
        return ids
    best: dict[str, float] = {}
    for one, document in zip(ids, documents, strict=True):
        best[one] = max(read_grade(document, grade_key), best.get(one, -math.inf))
    return best
