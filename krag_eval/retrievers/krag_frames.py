"""Read the question sets of krag's notebooks: frames whose cells hold lists, often written as text."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Mapping
from typing import Any

from krag_eval._utils.errors import InvalidInputError, errors_at, refuse
from krag_eval.datasets import EvalSet, Question
from krag_eval.documents.document import DOC_KEY, Document
from krag_eval.retrievers.responses import as_json

_CONTEXT, _SOURCE = "context", "source"
_ANSWERS = ("answer", "ground_truth")


def is_krag_frame(given: object) -> bool:
    """Whether this is a frame with krag's columns."""
    return hasattr(given, "to_dict") and _CONTEXT in getattr(given, "columns", ())


def read_krag_frame(frame: Any) -> EvalSet:
    """Return the questions of a frame with krag's columns.

    Raises:
        InvalidInputError: A cell cannot be read; the message names its row and column.
    """
    if "question" not in frame.columns:
        raise InvalidInputError("The frame has no column 'question'. It needs one with the texts of the questions.")
    questions = []
    for number, row in enumerate(frame.to_dict("records")):
        with errors_at(f"row {number}"):
            questions.append(_question(number, row))
    return EvalSet(questions)


def _question(number: int, row: Mapping[str, Any]) -> Question:
    lists = {column: _list_in(row[column], column) for column in (_CONTEXT, _SOURCE, DOC_KEY) if column in row}
    texts = lists.pop(_CONTEXT)
    for column, values in lists.items():
        if len(values) != len(texts):
            raise InvalidInputError(
                f"`{column}` has {len(values)} values and `{_CONTEXT}` has {len(texts)}. Each passage needs one."
            )
    gold = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            refuse(_CONTEXT, "a list of texts", text)
        further = {column: as_json(values[place]) for column, values in lists.items()}
        gold.append(Document(text=text, metadata={key: value for key, value in further.items() if value is not None}))
    known = {"question", "id", _CONTEXT, *lists, *_ANSWERS}
    given = row.get("id")
    answer = next((row[column] for column in _ANSWERS if isinstance(row.get(column), str)), None)
    metadata = {str(column): as_json(value) for column, value in row.items() if column not in known}
    return Question(
        id=number if given is None else given,  # type: ignore[arg-type]  # it is checked, and made a string
        question=row["question"],
        gold=tuple(gold),
        answer=answer,
        metadata=metadata,
    )


def _list_in(cell: object, column: str) -> list[object]:
    """Return the list in a cell, or in its text, as in a CSV file. Only literals are evaluated."""
    if hasattr(cell, "tolist") and not isinstance(cell, str):
        cell = cell.tolist()
    if cell is None or (isinstance(cell, float) and cell != cell):
        return []
    if isinstance(cell, (list, tuple)):
        return list(cell)
    if not isinstance(cell, str) or not cell.strip().startswith(("[", "(")):
        return [cell]
    try:
        value = _literal(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        value = None
    if isinstance(value, (list, tuple)):
        return list(value)
    raise InvalidInputError(f"`{column}` is not a list: {cell!r:.80}. Write it as a list in JSON or Python.")


def _literal(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
        if any(kinds[i : i + 2] == [tokenize.STRING] * 2 for i in range(len(kinds))):
            # The text of a numpy array has no commas: Python would join its strings.
            raise ValueError("strings without a comma between them") from None
        return ast.literal_eval(text)
