"""Rows as Hugging Face `datasets` gives them: mappings whose columns have any names.

Rows with the columns of SQuAD (`question`, `context`, `answers`) are read without settings: their context is the gold
document, with an id made from its text, since such rows have no ids of paragraphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from krag_eval._utils.checks import check_kind, one_of
from krag_eval._utils.errors import InvalidInputError, describe_type
from krag_eval._utils.files.rejects import Rejects
from krag_eval.datasets.beside import beside
from krag_eval.datasets.evalset import EvalSet, warn_of_numbers
from krag_eval.datasets.formats.layout import SQUAD_COLUMNS
from krag_eval.datasets.formats.nested import value_at
from krag_eval.datasets.formats.source import Source, read_at
from krag_eval.datasets.formats.writing import FIELDS, numbered
from krag_eval.datasets.frames import rows_of_frame
from krag_eval.datasets.question import Question

GOLD = ("gold", "gold_chunk_ids", "gold_doc_ids")
SETTABLE = ("id", "question", *GOLD, *FIELDS[1:])


def evalset_from_rows(rows: Any, *, columns: Mapping[str, str] | None = None, name: str | None = None) -> EvalSet:
    """Make an evaluation set from rows: those of a table, or mappings such as a Hugging Face `Dataset` yields.

    Rows with SQuAD's columns need no `columns`. Without an id column, rows are numbered from 0, with a warning. A gold
    column may hold one document or a list of them, where a text is a document; an id column may hold one id or a list.

    Args:
        rows: The rows: mappings, or a table of pandas, polars or pyarrow; or anything else that an `EvalSet` can be
            made of.
        columns: The column of each field of `Question`; by default a field's own name.
        name: The name of the set.

    Raises:
        InvalidInputError: A row cannot be read or repeats an id; the message names its number, from 0.

    >>> rows = [{"qid": "q1", "query": "When?", "pos": ["Within three days."]}]
    >>> evalset = evalset_from_rows(rows, columns={"id": "qid", "question": "query", "gold": "pos"})
    >>> evalset["q1"].question, evalset["q1"].gold[0].text
    ('When?', 'Within three days.')
    """
    frame = rows_of_frame(rows)
    is_list = isinstance(rows, Iterable) and not isinstance(rows, (str, bytes, Mapping))
    listed = frame if frame is not None else list(rows) if is_list else []
    if frame is None and not any(isinstance(row, Mapping) for row in listed):
        return EvalSet(listed if is_list else rows, name=name)
    id_column = (columns or {}).get("id", "id")
    placed = ((f"row {number}", row) for number, row in enumerate(listed))
    evalset = EvalSet([question for _, question in questions_in(placed, columns)], name=name)
    if all(row.get(id_column) is None for row in listed):
        warn_of_numbers(listed)
    return evalset


def evalset_to_rows(evalset: EvalSet) -> list[dict[str, Any]]:
    """Return the questions as mappings with the same keys, as `Dataset.from_list` needs to keep every column."""
    check_kind("evalset", evalset, EvalSet, "Make one with `as_evalset(rows)`, or read one with `read_evalset(path)`.")
    rows = [question.to_dict() for question in evalset]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def questions_of_rows(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield the rows of a file, with the columns of SQuAD or with those that were named.

    Raises:
        InvalidInputError: A row cannot be read, or a column is missing; the message begins with the place.
    """
    return questions_in(source.rows(), rejects=source.rejects, named=source.named)


def questions_in(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    columns: Mapping[str, str] | None = None,
    *,
    rejects: Rejects | None = None,
    named: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, Question]]:
    """Yield each row as a question, with its place.

    Args:
        rows: The rows with their places.
        columns: As for `evalset_from_rows`.
        rejects: Collects the rows that may be skipped.
        named: For messages, the columns of fields that had another name; `columns` by default.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    chosen = {one_of("columns", field, SETTABLE): column for field, column in (columns or {}).items()}
    numbers, taken = itertools.count(), Rejects("") if rejects is None else rejects

    def read(place: str, row: Mapping[str, Any]) -> Question:
        number = next(numbers)
        if not isinstance(row, Mapping):
            raise InvalidInputError(f"{place}: is {describe_type(row)}. Each row must be a mapping of its columns.")
        plain = {str(name): _plain(value) for name, value in row.items()}
        missing = next(
            (name for name, column in chosen.items() if column not in plain and value_at(plain, column) is None), None
        )
        if missing is not None and number == 0:
            raise InvalidInputError(f"{place}: ", *beside("no_column")(chosen, missing, plain))
        renamed = {name: value for name, value in plain.items() if name not in chosen.values()}
        renamed |= {field: value_at(plain, column) for field, column in chosen.items()}
        known = None if taken.is_counting_lost else number
        return read_at(place, lambda given: _question(given, known), renamed, named or chosen)

    return taken.each(rows, read)


def _question(given: Mapping[str, Any], number: int | None) -> Question:
    row = dict(given)
    if row.get("id") is None:
        row["id"] = numbered(number)
    has_gold = any(name in row for name in GOLD)
    if not has_gold and row.keys() >= SQUAD_COLUMNS:
        made: Question = beside("squad_question")(row)
        return made
    for name in GOLD:
        if isinstance(row.get(name), (str, int, Mapping)):
            row[name] = [row[name]]
    if has_gold and all(row.get(name) is None for name in GOLD):
        row["gold"] = []  # the column is there and empty, so nothing answers the question
    return Question.from_dict({name: value for name, value in row.items() if value is not None or name not in GOLD})


def _plain(value: Any) -> Any:
    """Return arrays as lists, and the missing values of pandas as None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and value != value else value
