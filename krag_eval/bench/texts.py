"""The texts of what a retriever returned by its ids alone, for whoever answers and judges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from krag_eval.documents import Document, as_document
from krag_eval.errors import InvalidInputError, warn
from krag_eval.evalset import Run

_CURE = "Have the retriever return texts, give the corpus that has their ids, or leave answers out (`skip_e2e`)."


def with_texts(run: Run, corpus: object, *, is_read_by_model: bool) -> Run:
    """The run with the texts of the corpus in the place of those that are missing.

    Args:
        run: What was retrieved.
        corpus: The chunks, or None.
        is_read_by_model: Whether a language model is to answer or judge from them.

    Raises:
        InvalidInputError: A model would have nothing to read.

    Warns:
        KragEvalWarning: Some documents still have no text.
    """
    if not any(map(_lacks_text, _documents(run))):
        return run
    chunks = map(as_document, corpus) if isinstance(corpus, Iterable) else ()
    texts = {chunk.id: chunk.text for chunk in chunks if chunk.id is not None}
    rows = {
        key: replace(row, retrieved=tuple(_filled(document, texts) for document in row.retrieved))
        for key, row in run.rows.items()
    }
    filled = replace(run, rows=rows)
    lacks = list(map(_lacks_text, _documents(filled)))
    if is_read_by_model and all(lacks):
        raise InvalidInputError(f"Not one retrieved document has a text for the model to read. {_CURE}")
    if any(lacks):
        warn(f"{sum(lacks):,} of {len(lacks):,} retrieved documents have no text to answer from. {_CURE}")
    return filled


def _documents(run: Run) -> Iterable[Document]:
    return (document for row in run.rows.values() for document in row.retrieved)


def _lacks_text(document: Document) -> bool:
    return not document.text


def _filled(document: Document, texts: dict[str, str | None]) -> Document:
    return replace(document, text=texts.get(document.id or "")) if _lacks_text(document) else document
