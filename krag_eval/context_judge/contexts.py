"""What was retrieved for each question, as the texts that a judge reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from krag_eval.answers.references import References
from krag_eval.documents import as_document
from krag_eval.errors import InvalidInputError, RetrieverError
from krag_eval.evalset import Run
from krag_eval.redaction import describe_error
from krag_eval.shapes import describe_type


@dataclass(frozen=True, slots=True)
class Context:
    """One question with its references and what was retrieved for it.

    Attributes:
        index: Its place in the input, from 0.
        id: Its id, where ids were given.
        question: Its text; None only where nothing is to be judged.
        references: The references that are not empty.
        texts: The retrieved texts, best first; empty where a document has none.
        error: What the retriever raised, if it did.
    """

    index: int
    id: str | None
    question: str | None
    references: tuple[str, ...]
    texts: tuple[str, ...]
    error: str | None

    @property
    def asked(self) -> str:
        """The text of the question."""
        return self.question or ""


def read_contexts(rows: References, retrieved: object, questions: object, k: int | None) -> list[Context]:
    """The contexts, in the order of the references.

    Raises:
        InvalidInputError: What was retrieved cannot be read, or a question that is to be judged has no text.
    """
    if isinstance(retrieved, Run):
        retrieved = {
            query_id: RetrieverError(row.error) if row.error is not None else row.retrieved
            for query_id, row in retrieved.rows.items()
        }
    asked = rows.question_texts(questions)
    contexts = []
    for row, given in enumerate(rows.column("retrieved", retrieved, ())):
        error = _told(given) if isinstance(given, BaseException) else None
        texts = () if error is not None else tuple(_texts(given, rows.place(row), k))
        if texts and rows.texts[row] and not (asked[row] or "").strip():
            raise InvalidInputError(
                f"The question {rows.place(row)} has no text, and the judge has to know it. Pass questions=..., by id "
                "or in order, or an EvalSet that has them."
            )
        contexts.append(Context(row, rows.ids[row] if rows.ids else None, asked[row], rows.texts[row], texts, error))
    if any(context.texts for context in contexts) and not any(any(context.texts) for context in contexts):
        raise InvalidInputError(
            "No document in `retrieved` has a text, and a judge reads nothing else. Documents need their texts here, "
            "not only ids. `read_corpus` gives the text of each id."
        )
    return contexts


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, RetrieverError) else describe_error(error)


def _texts(given: object, place: str, k: int | None) -> Iterable[str]:
    if isinstance(given, (str, bytes, Mapping, set, frozenset)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"What was retrieved for the question {place} is {describe_type(given)}. It must be a list of documents, "
            "best first. Write [] where there is none."
        )
    for rank, document in enumerate(list(given)[:k], 1):
        try:
            text = as_document(document).text
        except InvalidInputError as error:
            raise InvalidInputError(f"Rank {rank} for the question {place}: {error}") from None
        yield "" if text is None or not text.strip() else text
