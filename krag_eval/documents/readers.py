"""How the documents of every framework are read, without importing a framework.

| document | id | text |
|---|---|---|
| LangChain `Document` | `metadata["id"]`, else `id` (vector stores put random UUIDs there) | `page_content` |
| LlamaIndex `NodeWithScore`, `TextNode`, `Document` | `node_id` | `get_content()` |
| Haystack `Document` | `id` | `content` |
| mapping | `"id"`, else `"id"` in its metadata | `"text"`, `"page_content"` or `"content"` |
| mapping with `"page_content"` | `"id"` in its metadata, else `"id"` | the same |
| hit of a vector store: see `krag_eval.documents.stores` | its id | one of its fields |
| `str` | none | itself |
| `(str, score)` | itself, if it looks like an id | itself |
| integer or UUID with a score that is a float | itself | none |
| any other object | `id` | `text` |
| `(document, score)`, in gold `(document, grade)` | of the document | of the document |

With `id_key`, the id is `metadata[id_key]` and nothing else (in a mapping also the value under that very key). With
`id_key=".id"`, the id that the document itself has wins over the one in its metadata.

A type that declares its fields has one reader for all of its objects. Two objects of any other type may have different
attributes, so each of them is looked at.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from krag_eval._utils.checks import as_number, describe_type
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval.documents.stores import FIELD_KEYS, metadata_in, text_in

OWN_ID = ".id"
"""The `id_key` of the id that a document itself has; a record keeps it in its metadata if its own is another one."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})
# Which of these a document has decides how it is read.
_TELLING = (
    "page_content",
    "get_content",
    "node_id",
    "node",
    "content",
    "meta",
    "payload",
    "properties",
    "uuid",
    "values",
)
_NO_DOCUMENTS = (bytes, bytearray, list, tuple, set, frozenset, int, float, type, type(None))


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How documents of one kind are read.

    The functions among the attributes take a document and return what it holds there, unchecked; those whose names are
    in the plural take a list of documents that have this reader, and are there where a loop of our own is slower.
    Results keep readers, so all of them must be picklable: no lambdas.

    Attributes:
        text: Its text.
        id: Its id without `id_key`.
        own_id: The id that it has outside its metadata, where `id` prefers another one; else None.
        metadata: Its metadata, or an empty mapping.
        score: The score that it has itself.
        own_grade: The grade that it has outside its metadata, given `grade_key` too; None where it can have none.
        own_keys: Whether it is itself a mapping in which `id_key` and the grade may stand.
        framework: Whose documents these are, if that matters.
        is_flat: Whether all there is are the plain fields of LangChain's documents: text, id and metadata, no score.
        texts: The same as `text`, of many documents.
        ids: The same as `id`, of many documents.
        all_metadata: The same as `metadata`, of many documents.
    """

    text: Callable[[Any], object]
    id: Callable[[Any], object]
    metadata: Callable[[Any], Mapping[str, Any]]
    score: Callable[[Any], object]
    own_id: Callable[[Any], object] | None = None
    own_grade: Callable[[Any, str], object] | None = None
    own_keys: bool = False
    framework: str = ""
    is_flat: bool = False
    texts: Callable[[list[Any]], list[Any]] | None = None
    ids: Callable[[list[Any]], list[Any]] | None = None
    all_metadata: Callable[[list[Any]], list[Any]] | None = None

    def read_text(self, document: Any) -> str | None:
        """Return the text of a document, or None."""
        return as_text(self.text(document))

    def read_id(self, document: Any, id_key: str | None = None) -> str | None:
        """Return the id of a document, under `id_key` alone if one is given."""
        if id_key is None:
            return as_id(self.id(document))
        found = as_id(self.metadata(document).get(id_key))
        if found is None and self.own_keys:
            found = as_id(document.get(id_key))
        if found is None and id_key == OWN_ID:
            own = None if self.own_id is None else as_id(self.own_id(document))
            return as_id(self.id(document)) if own is None else own
        return found

    def read_texts(self, documents: list[Any]) -> list[str | None]:
        """Return the text of each document, as `read_text` does."""
        texts: list[Any] = list(map(self.text, documents)) if self.texts is None else self.texts(documents)
        return texts if set(map(type, texts)) <= {str} else list(map(as_text, texts))

    def read_ids(self, documents: list[Any], id_key: str | None) -> list[str | None]:
        """Return the id of each document, as `read_id` does."""
        if id_key is None:
            return as_ids(list(map(self.id, documents)) if self.ids is None else self.ids(documents))
        found = as_ids([metadata.get(id_key) for metadata in self._read_metadata(documents)])
        if None in found:
            return [self.read_id(d, id_key) if one is None else one for one, d in zip(found, documents, strict=True)]
        return found

    def read_grades(self, documents: list[Any], grade_key: str) -> list[Any]:
        """Return the grade that each gold document has itself or in its metadata, unchecked; None where it has none."""
        grades: list[object] = [None] * len(documents)
        if self.own_grade is not None:
            grades = [self.own_grade(document, grade_key) for document in documents]
        if None not in grades:
            return grades
        metadata = self._read_metadata(documents)
        return [m.get(grade_key) if grade is None else grade for grade, m in zip(grades, metadata, strict=True)]

    def _read_metadata(self, documents: list[Any]) -> list[Mapping[str, Any]]:
        return list(map(self.metadata, documents)) if self.all_metadata is None else self.all_metadata(documents)

    def other_id(self, document: Any, id_: str | None) -> str | None:
        """Return the id that a document itself has if it is not `id_`, under which it is read; else None."""
        own = None if self.own_id is None else as_id(self.own_id(document))
        return None if own == id_ else own

    def read_score(self, document: Any, paired: object = None) -> float | None:
        """Return the score that a retriever gave: that of the pair, else the document's own."""
        return as_number(self.score(document) if paired is None else paired)


def reader_of(document: object) -> Reader | None:
    """Return how a document is read; None if it is not a document at all."""
    type_: Any = type(document)
    reader = reader_of_type(type_)
    if reader is not None:
        return reader
    if _has_only_its_names(type_):
        return _reader_of_names(type_, tuple(document.__dict__))
    return _reader_of_object(document)


def readers_by_type(documents: Collection[object]) -> dict[type, Reader] | None:
    """Return the one reader of all documents of each type; None if those of a type have several."""
    found: dict[type, Reader] = {}
    for type_ in set(map(type, documents)):
        reader = reader_of_type(type_)
        if reader is None and _has_only_its_names(type_):
            names = {tuple(vars(document)) for document in documents if type(document) is type_}
            reader = _reader_of_names(type_, *names) if len(names) == 1 else None
        if reader is None:
            return None
        found[type_] = reader
    return found


def require_reader(document: object) -> Reader:
    """Return how a document is read.

    Raises:
        InvalidInputError: It is not a document at all.
    """
    reader = reader_of(document)
    if reader is None:
        raise InvalidInputError(f"{describe_type(document)} is not a document: it has neither an id nor a text.")
    return reader


@functools.lru_cache(maxsize=1024)
def reader_of_type(type_: type) -> Reader | None:
    """Return how all documents of a type are read; None if each of them must be looked at."""
    if issubclass(type_, str):
        return _STRING
    if issubclass(type_, Mapping):
        return MAPPING
    fields = _all_fields(type_)
    return None if fields is None else _reader_with(lambda name: name in fields or _has(type_, name))


def _all_fields(type_: type) -> Mapping[str, object] | None:
    """Return the fields of a type whose objects can have no others; None for any other type."""
    if not getattr(getattr(type_, "__getattr__", None), "__module__", "pydantic.").startswith("pydantic."):
        return None  # its objects answer for attributes that nobody declared
    of_model: Mapping[str, object] | None = getattr(type_, "__pydantic_fields__", None)
    if of_model is not None:
        return None if getattr(type_, "model_config", {}).get("extra") == "allow" else of_model
    return getattr(type_, "__dataclass_fields__", None) if type_.__dictoffset__ == 0 else None


@functools.lru_cache(maxsize=1024)
def _has_only_its_names(type_: Any) -> bool:
    """Return whether the names in the `__dict__` of an object and of its type are all the attributes that it has."""
    owners = type_.__mro__[:-1]
    found = [vars(owner)[name] for name in _TELLING for owner in owners if name in vars(owner)]
    return (
        type_.__dictoffset__ != 0
        and type_.__getattribute__ is object.__getattribute__
        and not any("__getattr__" in vars(owner) or "__class__" in vars(owner) for owner in owners)
        and all(isinstance(value, FunctionType) or not hasattr(value, "__get__") for value in found)  # no properties
        and not issubclass(type_, _NO_DOCUMENTS)
    )


@functools.lru_cache(maxsize=1024)
def _reader_of_names(type_: type, names: tuple[str, ...]) -> Reader | None:
    return _reader_with(lambda name: name in names or _has(type_, name))


def _reader_of_object(document: object) -> Reader | None:
    if isinstance(document, str):  # by its `__class__`: a proxy
        return _STRING
    if isinstance(document, Mapping):
        return MAPPING
    if isinstance(document, _NO_DOCUMENTS) or _is_uuid(document):
        return None
    return _reader_with(functools.partial(_has, document))


def _reader_with(has: Callable[[str], bool]) -> Reader | None:
    """Return how documents with these attributes are read."""
    if has("page_content"):
        reader = LANGCHAIN
    elif has("get_content") and has("node_id"):
        reader = _LLAMA_INDEX_NODE
    elif has("node"):
        reader = _LLAMA_INDEX_SCORED
    elif has("content") and has("meta"):
        reader = _HAYSTACK
    elif has("text"):
        reader = _PLAIN_OBJECT
    elif has("payload") and has("id"):
        reader = _QDRANT
    elif has("properties") and has("uuid"):
        reader = _WEAVIATE
    elif has("values") and has("metadata") and has("id"):
        reader = _PINECONE
    elif has("id"):
        reader = _PLAIN_OBJECT
    else:
        return None
    # Asking a model of pydantic for an attribute that it does not have is slow.
    return reader if has("score") else _without_score(reader)


@functools.cache
def _without_score(reader: Reader) -> Reader:
    return replace(reader, score=_nothing, is_flat=reader is LANGCHAIN)


def _has(document: object, name: str) -> bool:
    try:
        return hasattr(document, name)
    except Exception:  # noqa: BLE001 - it exists and fails: reading it later says which document it was
        return True


def _nothing(_: object) -> None:
    return None


def _no_metadata(_: object) -> Mapping[str, Any]:
    return _EMPTY


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if type(value) is dict or isinstance(value, Mapping) else _EMPTY


def _id(document: object) -> object:
    return getattr(document, "id", None)


def _text(document: object) -> object:
    return getattr(document, "text", None)


def _metadata(document: object) -> Mapping[str, Any]:
    return _as_mapping(getattr(document, "metadata", None))


def _score(document: object) -> object:
    return getattr(document, "score", None)


def _grade(document: object, _: str) -> object:
    return getattr(document, "grade", None)


def _mapping_text(document: Mapping[str, Any]) -> object:
    for key in ("text", "page_content", "content"):
        if document.get(key) is not None:
            return document[key]
    where = fields_key(document)
    return None if where is None else text_in(document[where])


def _mapping_id(document: Mapping[str, Any]) -> object:
    if "page_content" in document:
        own = _mapping_metadata(document).get("id")
        return own if as_id(own) is not None else document.get("id")
    own = document.get("id")
    if (type(own) is str and own) or as_id(own) is not None:  # the call is not needed for the most common ids
        return own
    hit = next((document[key] for key in ("_id", "uuid") if as_id(document.get(key)) is not None), None)
    return _mapping_metadata(document).get("id") if hit is None else hit


def _mapping_texts(documents: list[Any]) -> list[Any]:
    texts = [document.get("text") for document in documents]
    return texts if None not in texts else list(map(_mapping_text, documents))


def _mapping_ids(documents: list[Any]) -> list[Any]:
    own = [document.get("id") for document in documents]
    types = set(map(type, own))
    if types <= {str, int} and all(own) and not [d for d in documents if "page_content" in d]:
        return own
    if types == {type(None)} and not [d for d in documents if "_id" in d or "uuid" in d]:
        return [metadata.get("id") for metadata in _all_mapping_metadata(documents)]
    return list(map(_mapping_id, documents))


def _all_mapping_metadata(documents: list[Any]) -> list[Any]:
    metadata = [document.get("metadata") for document in documents]
    is_plain = set(map(type, metadata)) == {dict} and all(metadata)
    return metadata if is_plain else list(map(_mapping_metadata, documents))


def _mapping_own_id(document: Mapping[str, Any]) -> object:
    return document.get("id")


def _mapping_metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    found = document.get("metadata") or document.get("meta")
    if found is None and len(document) > 1 and "text" not in document and (key := fields_key(document)) is not None:
        return metadata_in(document[key])
    return _as_mapping(found)


def fields_key(document: Mapping[str, Any]) -> str | None:
    """Return the key under which the hit of a store has the fields of the document; None if it is no such hit."""
    return next((key for key in FIELD_KEYS if isinstance(document.get(key), Mapping)), None)


def _mapping_score(document: Mapping[str, Any]) -> object:
    score = document.get("score")
    return document.get("_score") if score is None else score


def _mapping_grade(document: Mapping[str, Any], grade_key: str) -> object:
    grade = document.get("grade")
    return document.get(grade_key) if grade is None else grade


def _langchain_id(document: Any) -> object:
    own = _as_mapping(getattr(document, "metadata", None)).get("id")
    return own if as_id(own) is not None else getattr(document, "id", None)


def _langchain_ids(documents: list[Any]) -> list[Any]:
    found = [metadata.get("id") for metadata in _all_metadata(documents)]
    types = set(map(type, found))
    if types == {type(None)}:
        return list(map(operator.attrgetter("id"), documents))
    return found if types == {str} and all(found) else list(map(_langchain_id, documents))


def _all_metadata(documents: list[Any]) -> list[Any]:
    metadata = list(map(operator.attrgetter("metadata"), documents))
    return metadata if set(map(type, metadata)) == {dict} else list(map(_as_mapping, metadata))


def _own_ids(documents: list[Any]) -> list[Any]:
    return list(map(operator.attrgetter("id"), documents))


def _scored_node_text(document: Any) -> object:
    return document.node.get_content()


def _scored_node_metadata(document: Any) -> Mapping[str, Any]:
    return _metadata(document.node)


def _haystack_text(document: Any) -> object:
    return getattr(document, "content", None)


def _haystack_metadata(document: Any) -> Mapping[str, Any]:
    return _as_mapping(document.meta)


def _payload_text(document: Any) -> object:
    return text_in(_as_mapping(document.payload))


def _payload(document: Any) -> Mapping[str, Any]:
    return metadata_in(_as_mapping(document.payload))


def _properties_text(document: Any) -> object:
    return text_in(_as_mapping(document.properties))


def _properties(document: Any) -> Mapping[str, Any]:
    return metadata_in(_as_mapping(document.properties))


def _metadata_text(document: Any) -> object:
    return text_in(_metadata(document))


def _itself(document: object) -> object:
    return document


_STRING = Reader(text=str, id=_nothing, metadata=_no_metadata, score=_score)
MAPPING = Reader(
    _mapping_text,
    _mapping_id,
    _mapping_metadata,
    _mapping_score,
    own_id=_mapping_own_id,
    own_grade=_mapping_grade,
    own_keys=True,
    texts=_mapping_texts,
    ids=_mapping_ids,
    all_metadata=_all_mapping_metadata,
)
LANGCHAIN = Reader(
    operator.attrgetter("page_content"),
    _langchain_id,
    _metadata,
    _score,
    own_id=_id,
    ids=_langchain_ids,
    all_metadata=_all_metadata,
)
_LLAMA_INDEX_NODE = Reader(
    operator.methodcaller("get_content"), operator.attrgetter("node_id"), _metadata, _score, framework="LlamaIndex"
)
_LLAMA_INDEX_SCORED = Reader(
    _scored_node_text, operator.attrgetter("node.node_id"), _scored_node_metadata, _score, framework="LlamaIndex"
)
_HAYSTACK = Reader(_haystack_text, _id, _haystack_metadata, _score, ids=_own_ids)
_PLAIN_OBJECT = Reader(_text, _id, _metadata, _score, own_grade=_grade, ids=_own_ids)
_QDRANT = Reader(_payload_text, _id, _payload, _score)
_WEAVIATE = Reader(_properties_text, operator.attrgetter("uuid"), _properties, _nothing)
_PINECONE = Reader(_metadata_text, _id, _metadata, _score)
_BARE_ID = Reader(_nothing, _itself, _no_metadata, _nothing)


def reader_of_pair(given: object) -> Reader | None:
    """Return how the first part of `(id, score)` is read, if it is no document but can only be an id; else None."""
    if type(given) is not tuple or len(given) != 2 or isinstance(given[0], str) or as_id(given[0]) is None:
        return None
    return None if isinstance(given[1], Integral) or as_number(given[1]) is None else _BARE_ID


# What is a sentence, or in several words, is no id.
_ID = re.compile(r"\S{1,100}(?<![.!?…。！？।؟])")


def id_of_pair(given: object) -> str | None:
    """Return the string of `(string, number)` if it may be an id; whether it is one, the method of matching decides.

    >>> id_of_pair(("faq-3", 0.8)), id_of_pair(("Returns take 14 days.", 0.8)), id_of_pair("faq-3")
    ('faq-3', None, None)
    """
    inner, number = split_pair(given)
    return looks_like_id(inner) if number is not None and isinstance(inner, str) else None


def looks_like_id(text: str) -> str | None:
    """Return the text if it may be an id: one word that ends like no sentence."""
    return as_id(text) if _ID.fullmatch(text) else None


def as_text(value: object) -> str | None:
    """Return the value if it is a text; None if not."""
    return str.__str__(value) if isinstance(value, str) else None  # a subclass may say anything about itself


def as_id(value: object) -> str | None:
    """Return the value as an id; None if it cannot be one.

    >>> as_id("d1"), as_id(7), as_id(""), as_id(True), as_id(1.0)
    ('d1', '7', None, None, None)
    """
    if isinstance(value, str):
        return str.__str__(value) or None
    if isinstance(value, bool) or not (isinstance(value, Integral) or _is_uuid(value)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return None


def as_ids(values: list[Any]) -> list[str | None]:
    """Return each value as an id, as `as_id` does."""
    return values if set(map(type, values)) <= {str} and all(values) else list(map(as_id, values))


def _is_uuid(value: object) -> bool:
    return "uuid" in sys.modules and isinstance(value, sys.modules["uuid"].UUID)  # whoever has one has imported it


# The key of the metadata where a grade below 0 is kept; it means "not judged" or "spam" and counts as not relevant.
NEGATIVE_GRADE = "qrels_grade"


def as_grade(value: object) -> float:
    """Return a grade, checked; None means 1.

    Raises:
        InvalidInputError: The grade is not a finite number of at least 0.
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
    """Return the two parts of `(document, number)`; anything else with None for the number."""
    if type(document) is tuple and len(document) == 2 and (document[1] is None or as_number(document[1]) is not None):
        return document
    return document, None


_PLAIN_NUMBERS = {float, int, np.float32, np.float64}


def split_pairs(documents: list[Any]) -> tuple[list[Any], list[Any] | None]:
    """Return the documents and numbers of pairs, as `split_pair` does; None for the numbers if there is no pair."""
    types = set(map(type, documents))
    if tuple not in types:
        return documents, None
    if types == {tuple} and set(map(len, documents)) == {2}:
        numbers = [number for _, number in documents]
        if set(map(type, numbers)) <= _PLAIN_NUMBERS:
            with contextlib.suppress(OverflowError):  # an integer beyond the range of a double
                deque(map(float, numbers), maxlen=0)
                return [document for document, _ in documents], numbers
    pairs = list(map(split_pair, documents))
    return [document for document, _ in pairs], [number for _, number in pairs]


def read_grade(document: object, grade_key: str) -> float:
    """Return the grade of a gold document: that of the pair, else its own, else the one in its metadata.

    Raises:
        InvalidInputError: The grade is not a finite number of at least 0.
    """
    inner, given = split_pair(document)
    reader = reader_of(inner)
    if given is None and reader is not None:
        given = None if reader.own_grade is None else reader.own_grade(inner, grade_key)
        if given is None:
            given = reader.metadata(inner).get(grade_key)
    return as_grade(given)


def read_own_grade(document: object) -> float | None:
    """Return the grade that a gold document has outside its metadata; None if it has none.

    Raises:
        InvalidInputError: The grade is not a finite number of at least 0.
    """
    inner, given = split_pair(document)
    reader = reader_of(inner)
    if given is None and reader is not None and reader.own_grade is not None:
        given = reader.own_grade(inner, "grade")
    return None if given is None else as_grade(given)
