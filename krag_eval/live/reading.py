"""Reads what a retriever returned, quickly enough for the application's own thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krag_eval.documents import Document, read_leniently
from krag_eval.errors import InvalidInputError
from krag_eval.known_shapes import KnownShapes
from krag_eval.shapes import describe_type, read_id, read_text, split_pair


class RankingReader:
    """Copies documents into records that nobody changes later."""

    def __init__(self) -> None:
        self._shapes = KnownShapes()

    def read(self, documents: object) -> list[Document]:
        """The documents in their order.

        Raises:
            InvalidInputError: It is no list of documents, or can be looked through but once: then it is the
                application's.
        """
        if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, not a list of documents")
        ranking: Iterator[object] = iter(documents)
        if ranking is documents:
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, which reading would use up")
        return [self._read(document) for document in ranking]

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
