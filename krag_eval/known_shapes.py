"""How the documents of each type are read, found out once a type."""

from __future__ import annotations

from typing import Any, NamedTuple

from krag_eval.errors import InvalidInputError
from krag_eval.shapes import LANGCHAIN, Shape, describe_type, read_score, shape_of

_DECLARED = ("__pydantic_fields__", "__dataclass_fields__")


class Reading(NamedTuple):
    """How a document is read.

    Attributes:
        shape: Where it keeps id, text and metadata.
        has_score: Whether it has an attribute `score`.
        is_flat: Whether its text, its id and its metadata are plain fields, and there is no score.
    """

    shape: Shape
    has_score: bool
    is_flat: bool

    def score(self, document: Any, paired: object) -> float | None:
        """The score that a retriever gave: of the pair, else the document's own."""
        return read_score(document, paired) if self.has_score or paired is not None else None


class KnownShapes:
    """Remembers how documents are read, of each type that declares its fields.

    Asking a framework's object for what it does not have is slow. Two objects of a type that declares nothing may
    differ: each of these is looked at.
    """

    def __init__(self) -> None:
        self._known: dict[type, Reading] = {}

    def are_flat(self, document: object) -> bool:
        """Whether documents of this type keep all in the fields of LangChain's, and were seen before."""
        known = self._known.get(type(document))
        return known is not None and known.is_flat

    def reading_of(self, document: object) -> Reading:
        """How this document is read.

        Raises:
            InvalidInputError: It is no document at all.
        """
        return self._known.get(type(document)) or self._learn(document)

    def _learn(self, document: object) -> Reading:
        shape = shape_of(document)
        if shape is None:
            raise InvalidInputError(f"{describe_type(document)} is not a document: it has neither an id nor a text.")
        has_score = hasattr(document, "score")
        reading = Reading(shape, has_score, shape is LANGCHAIN and not has_score and hasattr(document, "metadata"))
        if any(hasattr(type(document), name) for name in _DECLARED):
            self._known[type(document)] = reading
        return reading
