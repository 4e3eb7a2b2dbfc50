"""TREC: qrels as evaluation sets and result files as runs, read as trec_eval reads them.

A line of qrels is `query 0 document grade`, a line of results `query Q0 document rank score tag`; any white space
separates columns, lines that begin with `#` are comments. As in trec_eval, the rank in a file means nothing: documents
are ranked by their score in single precision, and with equal scores by their id, both descending.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from krag_eval import Document, EvalSet, InvalidInputError, Question, Run, RunRow
from krag_eval.toolkit import (
    Kind,
    Source,
    limit,
    nfc,
    number_in,
    order_of,
    shown,
    to_allow,
    warn,
    write_atomically,
)
from krag_eval_formats.narrow import NarrowWriting

_Shape = tuple[int, int | None, str, str]
_QRELS: _Shape = (4, 4, "qrels", "query 0 document grade")
_RESULTS: _Shape = (6, None, "a result file", "query Q0 document rank score tag")
ITERATION = "qrels_iteration"
TAG = "tag"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its place, its query, and its other columns."""

    place: str
    query: str
    columns: list[str]


Judged = dict[tuple[str, str | None], tuple[Line, Document]]


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if its first line is one of qrels or of a result file, which have no header."""
    columns = source.first_line.split()
    if len(columns) == 4 and is_number(columns[3]):
        return ("evalset",)
    return ("run",) if len(columns) >= 6 and is_number(columns[4]) else ()


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield the queries of qrels, each once, in the order of their first lines.

    Raises:
        InvalidInputError: A line is not one of qrels, or judges a document again with another grade.
    """
    return _questions(_by_query(source, _QRELS).values(), source)


def questions_in_order(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield the same, line by line, for qrels in which the lines of a query are together."""
    return _questions(_neighbors(source, _QRELS), source)


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield the rankings of a result file, each query once, in the order of their first lines.

    Raises:
        InvalidInputError: A line is not one of a result file.
    """
    by_query = _by_query(source, _RESULTS)
    contradicted = [query for query, lines in by_query.items() if _ranks_contradict(lines)]
    if contradicted:
        warn(
            f"{source.path}: the ranks of {len(contradicted)} queries contradict their scores, for example "
            f"{contradicted[0]!r:.60}. As in trec_eval, the scores decide, and higher is better."
        )
    return _rankings(by_query.values(), source)


def rankings_in_order(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield the same, line by line, for a file in which the lines of a query are together."""
    return _rankings(_neighbors(source, _RESULTS), source)


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write qrels: the ids and grades of gold documents, and nothing else.

    Raises:
        InvalidInputError: An id has white space in it, or no question has a gold document.
    """
    lines = []
    for question, gold in writing.gold_of(evalset):
        writing.lose_fields(question)
        writing.lose_parts(gold, "text", "metadata", known=(writing.grade_key, ITERATION))
        writing.lost["questions without gold documents"] += not gold
        by_group: dict[str, list[Document]] = {}
        for document in gold:
            by_group.setdefault(str(document.metadata.get(ITERATION, "0")), []).append(document)
        for iteration, documents in by_group.items():
            for doc_id, document in writing.judged(documents).items():
                columns = (question.id, iteration, doc_id, grade_text(document, writing))
                lines.append(_joined(columns, writing.path))
    writing.refuse_empty(lines)
    write_atomically(writing.path, lines)


def write_rankings(run: Run, writing: NarrowWriting) -> None:
    """Write a result file, with scores that make trec_eval rank as the run does.

    Raises:
        InvalidInputError: An id has white space in it, or nothing was retrieved at all.
    """
    lines = []
    writing.lose_run(run, known=(TAG,))
    for row in run.rows.values():
        writing.lose_parts(row.ranking, "text", "metadata")
        writing.lost["rankings without documents"] += not row.retrieved
        ids = [writing.id_of(document) for document in row.retrieved]
        given = row.further.get(TAG)
        tag = "_".join(str(given or run.name).split()) or "run"
        writing.lost[f"`{TAG}` with white space (replaced)"] += given not in (None, tag)
        for rank, (doc_id, score) in enumerate(zip(ids, scores_to_write(row, ids, writing), strict=True), 1):
            lines.append(_joined((row.query_id, "Q0", doc_id, str(rank), score, tag), writing.path))
    writing.refuse_empty(lines)
    write_atomically(writing.path, lines)


def grade_text(document: Document, writing: NarrowWriting) -> str:
    """Return the grade to write, which is the one that `evaluate` reads."""
    grade = writing.grade_of(document)
    if grade != int(grade):
        writing.lost["grades that are not whole numbers (other programs truncate or refuse them)"] += 1
        return repr(grade)
    return str(int(grade))


def keep(judged: Judged, line: Line, iteration: str, document: Document) -> None:
    """Add a judgment to those of a query; the same judgment again is harmless.

    The second column names groups of assessors: each may judge a document, and the highest grade counts.

    Raises:
        InvalidInputError: The document has another grade already.
    """
    name = document.id or document.text
    first, known = judged.setdefault((iteration, name), (line, document))
    if known.grade != document.grade:
        raise InvalidInputError(
            f"{line.place}: the document {name!r:.60} of query {line.query!r:.60} has the grade "
            f"{document.grade:g} here and {known.grade:g} at {first.place}. Keep only one of the two lines."
        )


def scores_to_write(row: RunRow, ids: Sequence[str], writing: NarrowWriting) -> list[str]:
    """Return the scores if they give the order of the list, else scores that do."""
    given = [document.score for document in row.retrieved if document.score is not None]
    in_order = list(range(len(ids)))
    if len(given) == len(ids) and all(map(math.isfinite, given)) and order_of(given, ids) == in_order:
        return [repr(score) for score in given]
    writing.lost["rankings whose scores do not give their order (replaced)"] += bool(given)
    return [str(len(ids) - place) for place in in_order]


def is_number(text: bytes | str) -> bool:
    """Return whether a column is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_lines(source: Source, shape: _Shape) -> Iterator[Line]:
    """Yield each line that is neither a comment nor empty.

    Args:
        source: The file.
        shape: `_QRELS` or `_RESULTS`.

    Raises:
        InvalidInputError: The file cannot be read, or a line has other columns.
    """
    least, most, what, columns = shape
    for number, line in enumerate(source.lines(), 1):
        # As in trec_eval, ASCII white space separates: an id may hold a space of another script.
        parts = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).split()
        if not parts or parts[0].startswith(b"#"):
            continue
        place = f"{source.path}:{number}"
        try:
            if not least <= len(parts) <= (most or len(parts)):
                raise InvalidInputError(
                    f"{place}: has {len(parts)} columns, and a line of {what} is `{columns}`. "
                    "Is this another kind of file?"
                )
            query, *others = [nfc(part.decode()) for part in parts[:6]]
        except UnicodeDecodeError:
            source.rejects.take(place, InvalidInputError(f"{place}: is not UTF-8. Save the file as UTF-8."))
        except InvalidInputError as error:
            source.rejects.take(place, error)
        else:
            yield Line(place, query, others)


def _by_query(source: Source, shape: _Shape) -> dict[str, list[Line]]:
    by_query: dict[str, list[Line]] = {}
    most = _most_lines()
    for line in _read_lines(source, shape):
        lines = by_query.setdefault(line.query, [])
        lines.append(line)
        if len(lines) > most:
            raise _too_long(lines)
    return by_query


def _neighbors(source: Source, shape: _Shape) -> Iterator[list[Line]]:
    """Yield the lines of each query, which must be together."""
    lines: list[Line] = []
    most = _most_lines()
    for line in _read_lines(source, shape):
        if lines and lines[-1].query != line.query:
            yield lines
            lines = []
        lines.append(line)
        if len(lines) > most:
            raise _too_long(lines)
    if lines:
        yield lines


def _most_lines() -> int:
    """Return how many lines a query may have; a line has four values besides its query."""
    return limit("values") // 4


def _too_long(lines: Sequence[Line]) -> InvalidInputError:
    return InvalidInputError(
        f"{lines[-1].place}: the query {lines[-1].query!r:.60} has {len(lines):,} lines or more, with over "
        f"{shown('values')} values. ",
        *to_allow("values"),
    )


def _number_of(place: str) -> int:
    return int(place.rpartition(":")[2])


def _joined(columns: Sequence[str], path: str) -> str:
    """Return a line of these columns.

    Raises:
        InvalidInputError: A column would be read as something else.
    """
    for column in columns:
        if column.encode("utf-8", "replace").split() != [column.encode("utf-8", "surrogatepass")]:
            raise InvalidInputError(
                f"{path}: {column!r:.60} cannot be a column: it is empty, or has white space or half a character "
                "in it. Rename it, or choose another format."
            )
    if columns[0].startswith("#"):
        raise InvalidInputError(
            f"{path}: the id {columns[0]!r:.60} begins with `#`, which makes a comment of its line. Rename it."
        )
    return " ".join(columns) + "\n"


def _questions(by_query: Iterable[Sequence[Line]], source: Source) -> Iterator[tuple[str, Question]]:
    for lines in by_query:
        judged: Judged = {}
        kept = [place for place, _ in source.rejects.each(_placed(lines), functools.partial(_judge, judged))]
        if kept:
            source.rejects.extent = [_number_of(place) for place in kept]
            yield kept[0], Question(id=lines[0].query, gold=tuple(document for _, document in judged.values()))


def _placed(lines: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    return ((line.place, line) for line in lines)


def _judge(judged: Judged, place: str, line: Line) -> None:
    iteration, doc_id, grade = line.columns
    kept = {} if iteration in ("0", "Q0") else {ITERATION: iteration}
    keep(judged, line, iteration, Document(id=doc_id, grade=number_in(grade, place, "The grade"), metadata=kept))


def _rankings(by_query: Iterable[Sequence[Line]], source: Source) -> Iterator[tuple[str, RunRow]]:
    for lines in by_query:
        scored = list(source.rejects.each(_placed(lines), _score))
        if scored:
            source.rejects.extent = [_number_of(place) for place, _ in scored]
            scores, ids = [score for _, (score, _) in scored], [line.columns[1] for _, (_, line) in scored]
            retrieved = tuple(Document(id=ids[at], score=scores[at]) for at in order_of(scores, ids))
            yield scored[0][0], RunRow(query_id=lines[0].query, retrieved=retrieved, further={TAG: lines[0].columns[4]})


def _score(place: str, line: Line) -> tuple[float, Line]:
    return number_in(line.columns[3], place, "The score"), line


def _ranks_contradict(lines: Sequence[Line]) -> bool:
    """Return whether a document with a better rank has a lower score."""
    try:
        by_rank = sorted((int(line.columns[2]), float(line.columns[3])) for line in lines)
    except ValueError:
        return False  # ranks mean nothing, so they may also be no numbers
    if len({rank for rank, _ in by_rank}) < len(by_rank):
        return False
    ids = range(len(by_rank), 0, -1)  # of equal scores, the better rank comes first
    return order_of([score for _, score in by_rank], ids) != [*range(len(by_rank))]
