"""Gold and rankings by query, as pytrec_eval, ranx and ir_measures hold them, in the order of trec_eval.

| given | is read as |
|---|---|
| `{query: {document: grade or score}}` | judged documents, or a ranking by descending score |
| `{query: [documents]}` | the documents in their order |
| `Qrels` and `Run` of ranx | what their `to_dict()` returns |
| rows of ir_measures, with `query_id`, `doc_id` and `relevance` or `score`, or a frame of them | the first of these |

As in trec_eval, scores count in single precision, and documents with equal scores are ordered by their id, descending.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from krag_eval._utils.arrays import np
from krag_eval._utils.checks import as_number
from krag_eval._utils.errors import InvalidInputError, describe_type, show, warn
from krag_eval._utils.formatting import number_of
from krag_eval.datasets.frames import rows_of_frame
from krag_eval.documents.columns import is_frame, rows_hint
from krag_eval.documents.document import DOCUMENT_KEYS, Document
from krag_eval.documents.readers import as_id, listed_id
from krag_eval.documents.stores import is_answer


def order_of(scores: Sequence[float], ids: Sequence[str] | Sequence[int]) -> list[int]:
    """Return the positions in the order of trec_eval."""
    with np.errstate(over="ignore"):  # what is out of range ties with infinity there too
        single = np.asarray(scores, dtype=np.float64).astype(np.float32).tolist()
    return sorted(range(len(ids)), key=lambda place: (single[place], ids[place]), reverse=True)


def number_in(text: str, place: str, what: str) -> float:
    """Return the number in a column.

    Raises:
        InvalidInputError: It is not a number, or not finite.
    """
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(f"{place}: {what} is {text!r:.60}. It must be a finite number.")
    return value


def by_query(given: Any) -> dict[str, object] | None:
    """Return what is given by the id of its query; None if it is no table by query.

    Raises:
        InvalidInputError: A query has no id, or a row no document.
    """
    if _is_of_ranx(given, "qrels") or _is_of_ranx(given, "run"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return None if is_answer(given) else {_query_id(query): value for query, value in given.items()}
    return None if (rows := _records(given)) is None else _grouped(rows)


def holds_scores(given: object) -> bool:
    """Return whether it is a `Run` of ranx, or has rows with the scores of documents, as ir_measures has them."""
    return _is_of_ranx(given, "run") or _has_column(given, "score")


def holds_grades(given: object) -> bool:
    """Return whether it is `Qrels` of ranx, or has rows with the grades of documents, as ir_measures has them."""
    return _is_of_ranx(given, "qrels") or _has_column(given, "relevance")


def _is_of_ranx(given: object, name: str) -> bool:
    return hasattr(given, "to_dict") and hasattr(given, name) and not is_frame(given)


def _has_column(given: Any, name: str) -> bool:
    if is_frame(given):
        return "doc_id" in given.columns and name in given.columns
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    return hasattr(first, "doc_id") and hasattr(first, name)


def is_table(value: object) -> bool:
    """Return whether it is `{document: number}`, and not a document itself."""
    return (
        isinstance(value, Mapping)
        and not (value and value.keys() <= DOCUMENT_KEYS)
        and all(as_number(number) is not None for number in value.values())
    )


def judged_documents(value: object, place: str) -> object:
    """Return the documents of `{document: grade}`, anything else as it is.

    Raises:
        InvalidInputError: A grade cannot be used, or a document has no id.
    """
    if not is_table(value):
        return value
    grades = {doc_id: number_in(repr(grade), place, "The grade") for doc_id, grade in _numbers(value, place).items()}
    return [Document(id=doc_id, grade=grade) for doc_id, grade in grades.items()]


def ranked_documents(value: object, place: str) -> object:
    """Return the documents of `{document: score}`, best first, anything else as it is.

    Raises:
        InvalidInputError: A score cannot be used, or a document has no id.
    """
    if not is_table(value):
        return value
    scores = {doc_id: number_in(repr(score), place, "A score") for doc_id, score in _numbers(value, place).items()}
    ids, numbers = list(scores), list(scores.values())
    return [Document(id=ids[rank], score=numbers[rank]) for rank in order_of(numbers, ids)]


class Aligned(NamedTuple):
    """Both sides of queries, in the same order.

    Attributes:
        queries: The ids of the queries.
        gold: The gold documents of each.
        rankings: The retrieved documents of each.
        has_tables: Whether a side has documents by their ids, with numbers.
    """

    queries: list[str]
    gold: list[object]
    rankings: list[object]
    has_tables: bool


def align(actual: object, predicted: object) -> Aligned | None:
    """Return the queries of `actual` with their gold and their rankings; None if neither side is by query.

    Raises:
        InvalidInputError: Only one side is by query, `predicted` has none of the queries of `actual`, or the sides are
            swapped.
    """
    check_order(actual, predicted)
    gold, rankings = by_query(actual), by_query(predicted)
    if gold is None or rankings is None:
        if gold is None and rankings is None:
            return None
        keyed, listed = ("predicted", "actual") if gold is None else ("actual", "predicted")
        raise InvalidInputError(
            f"`{keyed}` is given by query and `{listed}` is not. Give both as lists in the same order, or both by "
            f"query, such as {{'q1': {{'d7': 1}}}}.{rows_hint(predicted if rankings is None else actual)}"
        )
    check_queries(gold, rankings, "predicted", "actual")
    return Aligned(
        list(gold),
        [judged_documents(value, f"`actual[{query!r:.60}]`") for query, value in gold.items()],
        [ranked_documents(rankings.get(query, []), f"`predicted[{query!r:.60}]`") for query in gold],
        any(map(is_table, (*gold.values(), *rankings.values()))),
    )


def check_order(gold: object, rankings: object) -> None:
    """See that gold comes before what was retrieved; warn where scores and grades look swapped.

    Raises:
        InvalidInputError: The types say that the sides are swapped.
    """
    if holds_scores(gold) or holds_grades(rankings):
        raise InvalidInputError("The order of the arguments is wrong: gold comes first. Write `evaluate(qrels, run)`.")
    grades, scores = map(_first_numbers, (gold, rankings))
    if scores and any(one % 1 for one in grades) and all(one in range(_MOST_GRADE + 1) for one in scores):
        broken = next(one for one in grades if one % 1)
        warn(
            f"The gold has numbers such as {broken:g}, like scores, and the run has only whole numbers up to "
            f"{_MOST_GRADE}, like grades. If the sides are swapped, write evaluate(qrels, run): gold comes first."
        )


_MOST_GRADE = 5


def _first_numbers(given: object) -> list[float]:
    """Return the numbers in the first tables of a mapping by query; empty if it is anything else."""
    tables = islice(given.values(), 100) if isinstance(given, Mapping) else ()
    numbers = [float(number) for table in tables if is_table(table) for number in table.values()]
    return [number for number in numbers if math.isfinite(number)]


def check_queries(gold: Collection[str], rankings: Collection[str], run: str, qrels: str) -> None:
    """See that rankings belong to these queries; say which have none, and how many rankings are of other queries.

    Raises:
        InvalidInputError: All rankings are for other queries.
    """
    known, missing = {*gold}, [query for query in gold if query not in rankings]
    extra = [query for query in rankings if query not in known]
    if extra:
        found = f"`{run}` has {number_of(len(extra), 'query')} that `{qrels}` does not have, such as {extra[0]!r:.60}"
        if len(extra) == len(rankings):
            raise InvalidInputError(
                f"{found}, and none that it has; those of `{qrels}` look like {next(iter(gold), '')!r:.60}. Give both "
                "sides the same ids."
            )
        warn(f"{found}: left out, as trec_eval does.")
    if missing:
        warn(
            f"{number_of(len(missing), 'query')} of `{qrels}` without a ranking in `{run}`, scored as nothing "
            f"retrieved: {', '.join(map(repr, missing[:3]))}{', ...' if len(missing) > 3 else ''}."
        )


def _query_id(query: object) -> str:
    if (query_id := as_id(query)) is None:
        raise InvalidInputError(f"The query {show(query)} has no id: it must be a string or an integer.")
    return query_id


def _numbers(value: Any, place: str) -> dict[str, object]:
    numbers = {listed_id(doc_id) or as_id(doc_id): float(number) for doc_id, number in value.items()}
    if None in numbers:
        raise InvalidInputError(f"{place}: a document has no id: it must be a string or an integer.")
    return {str(doc_id): number for doc_id, number in numbers.items()}


# What ir_measures and PyTerrier call the columns of a row: the query, the document, and the grade or score.
_RECORDS = (("query_id", "doc_id", ("relevance", "score")), ("qid", "docno", ("label", "score")))


def _records(given: object) -> list[tuple[object, object, object]] | None:
    """Return rows of (query, document, number); None if these are no such rows."""
    frame = rows_of_frame(given)
    rows = frame if frame is not None else given if isinstance(given, (list, tuple)) else None
    if not rows:
        return None
    get = dict.get if frame is not None else getattr
    for query, document, numbers in _RECORDS:
        has = [name in rows[0] if frame is not None else hasattr(rows[0], name) for name in (query, document)]
        number = next((n for n in numbers if (n in rows[0] if frame is not None else hasattr(rows[0], n))), None)
        if all(has) and number is not None:
            return [(get(row, query), get(row, document), get(row, number)) for row in rows]
    return None


def _grouped(rows: Iterable[tuple[object, object, object]]) -> dict[str, object]:
    tables: dict[str, dict[str, object]] = {}
    for number, (query, document, value) in enumerate(rows):
        table, doc_id = tables.setdefault(_query_id(query), {}), as_id(document)
        if doc_id is None or as_number(value) is None:
            raise InvalidInputError(
                f"row {number}: the document {show(document)} with {show(value)} must be an id with a number, got "
                f"{describe_type(document)} and {describe_type(value)}."
            )
        if table.setdefault(doc_id, value) != value:
            raise InvalidInputError(f"row {number}: the document {doc_id!r:.60} appears twice for {query!r:.60}.")
    return dict(tables)
