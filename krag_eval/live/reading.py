"""Reads what a retriever returned: what may change later on the application's own thread, the rest on the scorer's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from krag_eval.documents import Document, read_leniently
from krag_eval.errors import InvalidInputError
from krag_eval.known_shapes import KnownShapes
from krag_eval.shapes import LANGCHAIN, describe_type, read_id, read_text, split_pair

MOST_DOCUMENTS = 100_000


class TakenDocument(NamedTuple):
    """What a document of LangChain holds, under the names that it has there.

    Attributes:
        page_content: Its text.
        id: Its id.
        metadata: A copy of its metadata.
    """

    page_content: Any
    id: Any
    metadata: dict[str, Any]


class RankingReader:
    """Copies documents into records that nobody changes later.

    Who asked waits for `take`, so that it does no more than it must: where documents are flat, it copies their fields.
    """

    def __init__(self) -> None:
        self._shapes = KnownShapes()

    def take(self, documents: object) -> list[TakenDocument | Document]:
        """The documents in their order, as they are now.

        Raises:
            InvalidInputError: It is no list of documents, has no end, or can be looked through but once: then it is the
                application's.
        """
        if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, not a list of documents")
        ranking: Iterator[Any] = iter(documents)
        if ranking is documents:
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, which reading would use up")
        is_flat = self._shapes.are_flat
        taken = [
            TakenDocument(document.page_content, getattr(document, "id", None), metadata.copy())
            if is_flat(document) and type(metadata := document.metadata) is dict
            else self._read(document)
            for document in islice(ranking, MOST_DOCUMENTS + 1)
        ]
        if len(taken) > MOST_DOCUMENTS:
            raise InvalidInputError(f"the retriever returned more than {MOST_DOCUMENTS:,} documents, if it ever ends")
        return taken

    def read(self, taken: Sequence[TakenDocument | Document]) -> list[Document]:
        """The records of documents that were taken."""
        return [
            document
            if type(document) is Document
            else Document(
                id=read_id(document, LANGCHAIN, None),
                text=read_text(document, LANGCHAIN),
                metadata=document.metadata,
            )
            for document in taken
        ]

    def _read(self, document: object) -> Document:
        inner, number = split_pair(document)
        if isinstance(inner, (str, Mapping)):
            return read_leniently(document)
        reading = self._shapes.reading_of(inner)
        return Document(
            id=read_id(inner, reading.shape, None),
            text=read_text(inner, reading.shape),
            score=reading.score(inner, number),
            metadata=dict(reading.shape.metadata(inner)),
        )
