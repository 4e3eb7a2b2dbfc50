"""Read an id, a text, a grade and a score from any framework's document, without importing a framework.

| document | id | text |
|---|---|---|
| LangChain `Document` | `metadata["id"]`, else `id` (vector stores put random UUIDs there) | `page_content` |
| LlamaIndex `NodeWithScore`, `TextNode`, `Document` | `node_id` | `get_content()` |
| Haystack `Document` | `id` | `content` |
| mapping | `"id"`, else `"id"` in its metadata | `"text"`, `"page_content"` or `"content"` |
| mapping with `"page_content"` | `"id"` in its metadata, else `"id"` | the same |
| `str` | none | itself |
| any other object | `id` | `text` |
| `(document, score)`, in gold `(document, grade)` | of the document | of the document |

With `id_key`, the id is `metadata[id_key]` and nothing else (in a mapping also the value under that very key).

How the documents of each type are read, found out once a type.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple

from krag_eval._utils.checks import as_number, describe_type
from krag_eval._utils.errors import InvalidInputError, show

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Shape:
    """How documents of one type are read.

    Attributes:
        text: The raw text, whatever its type.
        id: The raw id without `id_key`.
        metadata: The metadata, or an empty mapping.
        own_keys: Whether the document is itself a mapping in which `id_key` and the grade may stand.
    """

    text: Callable[[Any], object]
    id: Callable[[Any], object]
    metadata: Callable[[Any], Mapping[str, Any]]
    own_keys: bool = False


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if type(value) is dict or isinstance(value, Mapping) else _EMPTY


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda document: getattr(document, name, None)


def _langchain_id(document: Any) -> object:
    own = _as_mapping(document.metadata).get("id") if hasattr(document, "metadata") else None
    return own if as_id(own) is not None else getattr(document, "id", None)


def _mapping_metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return _as_mapping(document.get("metadata") or document.get("meta"))


def _mapping_id(document: Mapping[str, Any]) -> object:
    places = (document.get("id"), _mapping_metadata(document).get("id"))
    own, other = reversed(places) if "page_content" in document else places
    return own if as_id(own) is not None else other


def _mapping_text(document: Mapping[str, Any]) -> object:
    for key in ("text", "page_content", "content"):
        if document.get(key) is not None:
            return document[key]
    return None


STRING = Shape(text=str, id=lambda _: None, metadata=lambda _: _EMPTY)
MAPPING = Shape(text=_mapping_text, id=_mapping_id, metadata=_mapping_metadata, own_keys=True)
LANGCHAIN = Shape(
    text=operator.attrgetter("page_content"),
    id=_langchain_id,
    metadata=lambda d: _as_mapping(getattr(d, "metadata", None)),
)
LLAMA_INDEX_NODE = Shape(
    text=operator.methodcaller("get_content"),
    id=operator.attrgetter("node_id"),
    metadata=lambda d: _as_mapping(getattr(d, "metadata", None)),
)
LLAMA_INDEX_SCORED = Shape(
    text=lambda d: d.node.get_content(),
    id=lambda d: d.node.node_id,
    metadata=lambda d: _as_mapping(getattr(d.node, "metadata", None)),
)
HAYSTACK = Shape(text=_attribute("content"), id=_attribute("id"), metadata=lambda d: _as_mapping(d.meta))
PLAIN_OBJECT = Shape(
    text=_attribute("text"), id=_attribute("id"), metadata=lambda d: _as_mapping(getattr(d, "metadata", None))
)


def shape_of(document: object) -> Shape | None:
    """How documents of this type are read; None where it is no document at all."""
    if isinstance(document, str):
        return STRING
    if isinstance(document, Mapping):
        return MAPPING
    if document is None or isinstance(document, (bytes, bytearray, list, tuple, set, frozenset, int, float, type)):
        return None
    has = frozenset(name for name in _TELLING if _has(document, name))
    if "page_content" in has:
        return LANGCHAIN
    if "get_content" in has and "node_id" in has:
        return LLAMA_INDEX_NODE
    if "node" in has:
        return LLAMA_INDEX_SCORED
    if "content" in has and "meta" in has:
        return HAYSTACK
    return PLAIN_OBJECT if has & {"id", "text"} else None


_TELLING = ("page_content", "get_content", "node_id", "node", "content", "meta", "id", "text")


def _has(document: object, name: str) -> bool:
    try:
        getattr(document, name)
    except AttributeError:
        return False
    except Exception:  # noqa: BLE001 - it exists and fails: reading it later says which document it was
        return True
    return True


def as_id(value: object) -> str | None:
    """The value as an id; None where it is none.

    >>> as_id("d1"), as_id(7), as_id(""), as_id(True), as_id(1.0)
    ('d1', '7', None, None, None)
    """
    if isinstance(value, str):
        return str.__str__(value) or None  # a subclass may say anything about itself
    if isinstance(value, bool) or not (isinstance(value, Integral) or _is_uuid(value)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return None


def _is_uuid(value: object) -> bool:
    return "uuid" in sys.modules and isinstance(value, sys.modules["uuid"].UUID)  # whoever has one has imported it


def read_id(document: Any, shape: Shape, id_key: str | None) -> str | None:
    """The id of a document, under `id_key` alone where one is given."""
    if id_key is None:
        return as_id(shape.id(document))
    found = as_id(shape.metadata(document).get(id_key))
    return as_id(document.get(id_key)) if found is None and shape.own_keys else found


def read_text(document: Any, shape: Shape) -> str | None:
    """The text of a document, or None."""
    text = shape.text(document)
    return str.__str__(text) if isinstance(text, str) else None


def as_grade(value: object) -> float:
    """A grade that was checked; None means 1.

    Raises:
        InvalidInputError: The grade is no finite number of at least 0.
    """
    if value is None:
        return 1.0
    grade = as_number(value)
    if grade is not None and math.isfinite(grade) and grade >= 0:
        return grade
    raise InvalidInputError(
        f"a grade must be a finite number of at least 0, got {show(value)}. Use 0 for documents judged not relevant."
    )


def split_pair(document: object) -> tuple[object, object]:
    """`(document, number)` as its two parts; anything else with None for the number."""
    if type(document) is tuple and len(document) == 2 and (document[1] is None or as_number(document[1]) is not None):
        return document
    return document, None


def read_grade(document: object, grade_key: str) -> float:
    """The grade of a gold document: of the pair, else under `"grade"` in a mapping, else in the metadata.

    Raises:
        InvalidInputError: The grade is no finite number of at least 0.
    """
    given = _own_grade(document, grade_key)
    if given is None:
        document, _ = split_pair(document)
        shape = shape_of(document)
        given = shape.metadata(document).get(grade_key) if shape is not None and shape is not STRING else None
    return as_grade(given)


def read_own_grade(document: object) -> float | None:
    """The grade that a gold document has itself, not in its metadata; None where it has none.

    Raises:
        InvalidInputError: The grade is no finite number of at least 0.
    """
    given = _own_grade(document, "grade")
    return None if given is None else as_grade(given)


def _own_grade(document: object, grade_key: str) -> object:
    document, given = split_pair(document)
    if given is not None:
        return given
    shape = shape_of(document)
    if shape is MAPPING and isinstance(document, Mapping):
        return next((g for g in (document.get("grade"), document.get(grade_key)) if g is not None), None)
    return getattr(document, "grade", None) if shape is PLAIN_OBJECT else None


def read_score(document: object, paired: object) -> float | None:
    """The score that a retriever gave: of the pair, else under `"score"`."""
    score = paired
    if score is None:
        score = document.get("score") if isinstance(document, Mapping) else getattr(document, "score", None)
    return as_number(score)


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
