"""Rows with the columns of SQuAD (`question`, `context`, `answers`), as Hugging Face `datasets` gives them.

Their context is the gold document, with an id made from its text, since such rows have no ids of paragraphs.
"""

from __future__ import annotations

from typing import Any

from krag_eval import Document, InvalidInputError, Question
from krag_eval.toolkit import DOC_KEY, Kind, Source, parse_json, refuse
from krag_eval_formats.field_roles import meanings
from krag_eval_formats.narrow import made_id
from krag_eval_formats.squad import question_of

_COLUMNS = frozenset({"question", "context"})
_OF_OTHERS = frozenset({"gold", "gold_chunk_ids", "gold_doc_ids", "query_id", "retrieved"})


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if its columns are those of SQuAD and none is one of ours."""
    is_other = source.names & _OF_OTHERS or any(
        name not in _COLUMNS and "gold" in meanings(name) and meanings(name) & {"document", "id"}
        for name in source.names
    )
    if is_other or not source.names >= _COLUMNS:
        return ()
    return ("evalset",) if all(isinstance(row.get("context"), (str, type(None))) for row in source.sample) else ()


def squad_question(row: dict[str, Any]) -> Question:
    """Return a row with the columns of SQuAD as a question about its context.

    Raises:
        InvalidInputError: There is no context, or the answers cannot be read.
    """
    context, title = row.pop("context"), row.pop("title", None)
    if not isinstance(context, str) or not context:
        refuse("context", "the text of the paragraph", context)
    metadata = {DOC_KEY: title} if isinstance(title, str) and title else {}
    answers = row.get("answers")
    if isinstance(answers, str) and answers.lstrip()[:1] in ("[", "{"):  # a cell of CSV
        try:
            row["answers"] = parse_json(answers)
        except ValueError:
            raise InvalidInputError(f"`answers` is not JSON: {answers!r:.60}. Write it as JSON.") from None
    return question_of(row, Document(id=made_id(context), text=context, metadata=metadata))
