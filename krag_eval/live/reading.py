"""Reads what a retriever returned, quickly enough for the application's own thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krag_eval.documents import Document, read_leniently
from krag_eval.errors import InvalidInputError
from krag_eval.shapes import Shape, describe_type, read_id, read_score, read_text, shape_of, split_pair

_DECLARED = ("__pydantic_fields__", "__dataclass_fields__")


class RankingReader:
    """Copies documents into records that nobody changes later.

    How a document is read is decided once for each type that declares its fields: asking a framework's object for what
    it does not have is slow.
    """

    def __init__(self) -> None:
        self._known: dict[type, tuple[Shape, bool]] = {}

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
        known = self._known.get(type(inner))
        if known is None:
            read = read_leniently(document)
            if any(hasattr(type(inner), name) for name in _DECLARED) and (shape := shape_of(inner)) is not None:
                self._known[type(inner)] = shape, hasattr(inner, "score")
            return read
        shape, has_score = known
        return Document(
            id=read_id(inner, shape, None),
            text=read_text(inner, shape),
            score=read_score(inner, number) if has_score or number is not None else None,
            metadata=dict(shape.metadata(inner)),
        )
