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

With `id_key`, the id is `metadata[id_key]` and nothing else (in a mapping also the value under that very key).
`"source.url"` is the value under `url` in the mapping under `source`, if there is no such key, and several keys are an
id of several parts. With `id_key=".id"`, the id that the document itself has wins over the one in its metadata.

A type that declares its fields has one reader for all of its objects. Two objects of any other type may have different
attributes, so each of them is looked at.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import operator
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from numbers import Integral
from types import FunctionType, MappingProxyType
from typing import Any
from unicodedata import normalize

from krag_eval._utils.checks import as_number
from krag_eval._utils.errors import InvalidInputError, describe_type, refuse
from krag_eval.documents.stores import FIELD_KEYS, metadata_in, text_in

OWN_ID = ".id"
"""The `id_key` of the id that a document itself has; a record keeps it in its metadata if its own is another one."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})
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
        ids: The same as `id`, of many documents, if these are all strings that are not empty, or all integers.
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

    def read_id(self, document: Any, id_key: IdKey | None = None) -> str | None:
        """Return the id of a document, under `id_key` alone if one is given."""
        if id_key is None:
            return as_id(self.id(document))
        if not isinstance(id_key, str):
            return joined_id([self.read_id(document, part) for part in id_key])
        found = id_at(self.metadata(document), id_key)
        if found is None and self.own_keys:
            found = id_at(document, id_key)
        if found is None and id_key == OWN_ID:
            own = None if self.own_id is None else as_id(self.own_id(document))
            return as_id(self.id(document)) if own is None else own
        return found

    def read_texts(self, documents: list[Any]) -> list[str | None]:
        """Return the text of each document, as `read_text` does."""
        texts: list[Any] = list(map(self.text, documents)) if self.texts is None else self.texts(documents)
        return texts if _are_all(str, texts) else list(map(as_text, texts))

    def read_ids(self, documents: list[Any], id_key: IdKey | None) -> list[str | None]:
        """Return the id of each document, as `read_id` does."""
        if id_key is None:
            if self.ids is not None and documents:
                found = self.ids(documents)
                if _are_all(str, found) and all(found):
                    return all_nfc(found)
                if _are_all(int, found):
                    return list(map(str, found))
            return as_ids(list(map(self.id, documents)))
        if not isinstance(id_key, str):
            return [joined_id(parts) for parts in zip(*(self.read_ids(documents, one) for one in id_key), strict=True)]
        found = as_ids(_values_at(id_key, self.read_metadata(documents)))
        if None in found:
            return [self.read_id(d, id_key) if one is None else one for one, d in zip(found, documents, strict=True)]
        return found

    def read_grades(self, documents: list[Any], grade_key: str) -> list[Any]:
        """Return the grade that each gold document has itself or in its metadata, unchecked; None where it has none."""
        grades: list[object] = [None] * len(documents)
        of_mappings = self.own_keys and not [d for d in documents if "grade" in d or grade_key in d]
        if self.own_grade is not None and not of_mappings:
            grades = [self.own_grade(document, grade_key) for document in documents]
        if None not in grades:
            return grades
        metadata = self.read_metadata(documents)
        return [m.get(grade_key) if grade is None else grade for grade, m in zip(grades, metadata, strict=True)]

    def read_metadata(self, documents: list[Any]) -> list[Mapping[str, Any]]:
        """Return the metadata of each document."""
        return list(map(self.metadata, documents)) if self.all_metadata is None else self.all_metadata(documents)

    def read_fields(self, documents: list[Any], doc_key: IdKey) -> list[Mapping[str, Any]]:
        """Return what each document says of its place: its metadata, and the fields outside of it.

        Args:
            documents: The documents.
            doc_key: The key of the id of the document that one was cut from.
        """
        metadata = self.read_metadata(documents)
        if self.own_keys:
            keys = {*names_in(doc_key), *chain.from_iterable(OFFSETS)}
            if all(metadata) and keys.isdisjoint(chain.from_iterable(documents)):
                return metadata
            rows = zip(metadata, documents, strict=True)
            return [d if not m else m if keys.isdisjoint(d) else {**m, **d} for m, d in rows]
        if self.framework != "LlamaIndex":
            return metadata
        nodes = [getattr(document, "node", document) for document in documents]
        own = [{key: getattr(node, name, None) for key, name in _OF_NODES.items()} for node in nodes]
        return [{**{k: v for k, v in o.items() if v is not None}, **m} for o, m in zip(own, metadata, strict=True)]

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
    return _reader_of_object(document)


def read_by_type(documents: list[Any], read_all: Callable[..., list[Any]], *arguments: object) -> list[Any]:
    """Return the values of documents, read in one sweep for each type.

    Args:
        documents: The documents.
        read_all: The method of `Reader` that reads a list of documents.
        arguments: What it takes besides.

    Raises:
        TypeError: The documents of a type are read in several ways.
    """
    types = list(map(type, documents))
    if types and types.count(types[0]) == len(types):
        return read_all(_reader_of_all(types[0], documents), documents, *arguments)
    values: dict[type, Iterator[Any]] = {}
    for type_ in set(types):
        same = [document for document, its_type in zip(documents, types, strict=True) if its_type is type_]
        values[type_] = iter(read_all(_reader_of_all(type_, same), same, *arguments))
    return [next(values[type_]) for type_ in types]


def _reader_of_all(type_: type, documents: list[Any]) -> Reader:
    """Return the one reader of all these documents of a type."""
    reader = reader_of_type(type_)
    if reader is None and _has_only_its_names(type_):
        reader = _reader_with(partial(_all_have, documents, getattr(type_, "__dataclass_fields__", {})))
    if reader is None:
        raise TypeError(f"documents of the type {type_.__name__} are read in several ways")
    return reader


def _all_have(documents: list[Any], fields: Mapping[str, Any], name: str) -> bool:
    if name in fields and fields[name].init:
        return True
    n_having = operator.countOf(map(hasattr, documents, repeat(name)), True)
    if 0 < n_having < len(documents):
        raise TypeError(f"only some of the documents have the attribute {name}")
    return n_having > 0


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
    telling = {name for names, _ in _KINDS for name in names if name not in ("id", "text", "metadata")}
    found = [vars(owner)[name] for name in telling for owner in owners if name in vars(owner)]
    return (
        type_.__dictoffset__ != 0
        and type_.__getattribute__ is object.__getattribute__
        and not any("__getattr__" in vars(owner) or "__class__" in vars(owner) for owner in owners)
        and all(isinstance(value, FunctionType) or not hasattr(value, "__get__") for value in found)  # no properties
        and not issubclass(type_, _NO_DOCUMENTS)
    )


def _reader_of_object(document: object) -> Reader | None:
    if isinstance(document, str):  # by its `__class__`: a proxy
        return _STRING
    if isinstance(document, Mapping):
        return MAPPING
    if isinstance(document, _NO_DOCUMENTS) or _is_uuid(document):
        return None
    return _reader_with(partial(_has, document))


def _reader_with(has: Callable[[str], bool]) -> Reader | None:
    """Return how documents with these attributes are read."""
    for names, reader in _KINDS:
        if all(map(has, names)):
            # Asking a model of pydantic for an attribute that it does not have is slow.
            return reader if has("score") else _without_score(reader)
    return None


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


def _values_at(key: str, mappings: list[Any]) -> list[Any]:
    """Return what each mapping has under a key, None without it."""
    if _are_all(dict, mappings):
        with contextlib.suppress(KeyError):
            return [mapping[key] for mapping in mappings]
    return [mapping.get(key) for mapping in mappings]


_TEXT_KEYS = {"page_content", "content", *FIELD_KEYS}


def _mapping_texts(documents: list[Any]) -> list[Any]:
    texts = _values_at("text", documents)
    if None not in texts or _TEXT_KEYS.isdisjoint(chain.from_iterable(documents)):
        return texts
    return list(map(_mapping_text, documents))


def _mapping_ids(documents: list[Any]) -> list[Any]:
    if type(documents[0]) is dict:
        with contextlib.suppress(KeyError):
            own = [document["id"] for document in documents if "page_content" not in document]
            if len(own) == len(documents):
                return own
        nested = [d for d in documents if not ("id" in d or "_id" in d or "uuid" in d)]
        if len(nested) == len(documents):
            return _values_at("id", _all_mapping_metadata(documents))
    return list(map(_mapping_id, documents))


_METADATA_KEYS = {"metadata", "meta", *FIELD_KEYS}


def _all_mapping_metadata(documents: list[Any]) -> list[Any]:
    if not [d for d in documents if "metadata" in d or "meta" in d or "text" not in d]:
        return [_EMPTY] * len(documents)
    if _METADATA_KEYS.isdisjoint(chain.from_iterable(documents)):
        return [_EMPTY] * len(documents)
    metadata = _values_at("metadata", documents)
    return metadata if _are_all(dict, metadata) and all(metadata) else list(map(_mapping_metadata, documents))


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
    metadata = _all_metadata(documents)
    if any(metadata):
        found = _values_at("id", metadata)
        if not _are_all(type(None), found):
            return found
    return _own_ids(documents)


def _all_metadata(documents: list[Any]) -> list[Any]:
    metadata = [document.metadata for document in documents]
    return metadata if _are_all(dict, metadata) else list(map(_as_mapping, metadata))


def _own_ids(documents: list[Any]) -> list[Any]:
    return [document.id for document in documents]


# What these of LlamaIndex return is a field, or what the node inside returns; both are read faster without them.
_STORED = {"BaseNode.node_id": "id_", "TextNode.get_content": "text"}
_OF_NODE_INSIDE = {"NodeWithScore.node_id", "NodeWithScore.get_content", "NodeWithScore.metadata"}


@functools.lru_cache(maxsize=1024)
def _stored_field(type_: Any, name: str) -> str | None:
    """Return the field that holds what a method or property of a node returns; None if there may be none.

    `"node"` is the field of a node that returns the same.
    """
    fields = _all_fields(type_) or ()
    if name in fields:
        return name
    found = getattr(type_, name)
    function: Any = found.fget if isinstance(found, property) else found
    if getattr(function, "__module__", None) != "llama_index.core.schema":
        return None
    field = "node" if function.__qualname__ in _OF_NODE_INSIDE else _STORED.get(function.__qualname__)
    return field if field in fields else None


def _read_nodes(name: str, read: Callable[[Any], Any], nodes: list[Any]) -> list[Any]:
    type_: Any = type(nodes[0]) if nodes else None
    field = _stored_field(type_, name) if nodes and _are_all(type_, nodes) else None
    if field == "node":
        return _read_nodes(name, read, [scored.node for scored in nodes])
    return list(map(read if field is None else operator.attrgetter(field), nodes))


def _read_scored_nodes(name: str, read: Callable[[Any], Any], documents: list[Any]) -> list[Any]:
    return _read_nodes(name, read, [document.node for document in documents])


def _node_metadata(nodes: list[Any]) -> list[Any]:
    return list(map(_as_mapping, _read_nodes("metadata", _metadata, nodes)))


# Where a document says that its text begins, and, with it, where it ends; else as many characters later as it has.
OFFSETS = (("start", "end"), ("start_index", "end_index"), ("start_char_idx", "end_char_idx"), ("split_idx_start", ""))


def says_place(fields: Mapping[str, Any]) -> bool:
    """Return whether the fields of a document say where in another document it is."""
    return any(fields.get(start) is not None for start, _ in OFFSETS)


# The names of metadata that say which document it is: `id`, `doc_id`, `chunkId`, `source`, `file_path`, `url`.
IDENTIFIES = re.compile(r"(?:^|[_.-])(?:id|uuid|doi|source|url|uri|path|file|file_?name)\Z|[a-z]I[dD]\Z")


def id_keys(metadata: Mapping[str, Any]) -> list[str]:
    """Return the keys under which a document may be known, by their names and by what is there."""
    return [key for key, value in metadata.items() if IDENTIFIES.search(str(key)) and as_id(value) is not None]


# What a node of LlamaIndex says of its place outside of its metadata, by the names of fields here.
_OF_NODES = {"doc_id": "ref_doc_id", "start_char_idx": "start_char_idx", "end_char_idx": "end_char_idx"}


def _scored_node_text(document: Any) -> object:
    return document.node.get_content()


def _scored_node_metadata(document: Any) -> Mapping[str, Any]:
    return _metadata(document.node)


def _contents(documents: list[Any]) -> list[Any]:
    return [document.content for document in documents]


def _haystack_metadata(document: Any) -> Mapping[str, Any]:
    return _as_mapping(document.meta)


def _in_fields(read: Callable[[Mapping[str, Any]], Any], name: str, document: Any) -> Any:
    return read(_as_mapping(getattr(document, name)))


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
    own_id=operator.methodcaller("get", "id"),
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
_NODE_TEXT = "get_content", operator.methodcaller("get_content")
_NODE_ID = "node_id", operator.attrgetter("node_id")
_LLAMA_INDEX_NODE = Reader(
    _NODE_TEXT[1],
    _NODE_ID[1],
    _metadata,
    _score,
    framework="LlamaIndex",
    texts=partial(_read_nodes, *_NODE_TEXT),
    ids=partial(_read_nodes, *_NODE_ID),
    all_metadata=_node_metadata,
)
_LLAMA_INDEX_SCORED = Reader(
    _scored_node_text,
    operator.attrgetter("node.node_id"),
    _scored_node_metadata,
    _score,
    framework="LlamaIndex",
    texts=partial(_read_scored_nodes, *_NODE_TEXT),
    ids=partial(_read_scored_nodes, *_NODE_ID),
)
_HAYSTACK = Reader(operator.attrgetter("content"), _id, _haystack_metadata, _score, texts=_contents, ids=_own_ids)
_PLAIN_OBJECT = Reader(_text, _id, _metadata, _score, own_grade=_grade, ids=_own_ids)
_QDRANT = Reader(partial(_in_fields, text_in, "payload"), _id, partial(_in_fields, metadata_in, "payload"), _score)
_WEAVIATE = Reader(
    partial(_in_fields, text_in, "properties"),
    operator.attrgetter("uuid"),
    partial(_in_fields, metadata_in, "properties"),
    _nothing,
)
_PINECONE = Reader(_metadata_text, _id, _metadata, _score)
# The first of these whose attributes a document has is how it is read.
_KINDS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("page_content",), LANGCHAIN),
    (("get_content", "node_id"), _LLAMA_INDEX_NODE),
    (("node",), _LLAMA_INDEX_SCORED),
    (("content", "meta"), _HAYSTACK),
    (("text",), _PLAIN_OBJECT),
    (("payload", "id"), _QDRANT),
    (("properties", "uuid"), _WEAVIATE),
    (("values", "metadata", "id"), _PINECONE),
    (("id",), _PLAIN_OBJECT),
)
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


def nfc(id_: str) -> str:
    """Return an id in the form NFC: two ids are the same if these forms are.

    >>> nfc("re\u0301sume\u0301.pdf")
    'résumé.pdf'
    """
    return id_ if id_.isascii() else normalize("NFC", id_)


def all_nfc(ids: list[Any]) -> list[Any]:
    """Return each id in the form NFC; the list itself if all are ASCII."""
    return ids if "".join(ids).isascii() else list(map(nfc, ids))


def as_id(value: object) -> str | None:
    """Return the value as an id, in the form NFC; None if it cannot be one.

    >>> as_id("d1"), as_id(7), as_id(""), as_id(True), as_id(1.0)
    ('d1', '7', None, None, None)
    """
    if type(value) is str and value.isascii():  # as nearly all are
        return value or None
    if isinstance(value, str):
        return nfc(str.__str__(value)) or None
    if value is None or isinstance(value, bool) or not (isinstance(value, Integral) or _is_uuid(value)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return None


IdKey = str | tuple[str, ...]
"""Under what ids are read: a key of the metadata, a path such as `"source.url"`, or several of these."""


def id_at(fields: Mapping[str, Any], key: IdKey) -> str | None:
    """Return the id under a key; a key that is there as it stands wins over a path.

    >>> id_at({"source": {"url": "a"}}, "source.url"), id_at({"source": "a.pdf", "page": 2}, ("source", "page"))
    ('a', '["a.pdf", "2"]')
    """
    if not isinstance(key, str):
        return joined_id([id_at(fields, part) for part in key])
    found: Any = fields.get(key)
    if found is None and "." in key:
        found = fields
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    return as_id(found)


def joined_id(parts: Sequence[str | None]) -> str | None:
    """Return an id of several parts: their JSON list; None if one is missing."""
    if None in parts:
        return None
    return parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False)


def listed_id(given: object) -> str | None:
    """Return the id whose parts stand in a list or tuple of at least two ids; None if it is anything else."""
    return joined_id([*map(as_id, given)]) if isinstance(given, (list, tuple)) and len(given) > 1 else None


def parts_of(id_: str) -> list[str]:
    """Return the parts of an id, the id itself if it has no several.

    >>> parts_of('["a.pdf", "2"]'), parts_of("a.pdf")
    (['a.pdf', '2'], ['a.pdf'])
    """
    if id_.startswith('["'):
        with contextlib.suppress(ValueError):
            parts = json.loads(id_)
            if joined_id(parts) == id_:
                return list(parts)
    return [id_]


def shown_id(id_: str) -> str:
    """Return an id as reports show it: its parts with commas between them."""
    return ", ".join(parts_of(id_))


def names_in(key: IdKey) -> set[str]:
    """Return the names of the metadata that a key may read."""
    keys = [key] if isinstance(key, str) else key
    return {*keys, *(one.partition(".")[0] for one in keys if not one.startswith("."))}


def fields_of(id_: str, key: IdKey) -> dict[str, str]:
    """Return the metadata of a document that has this id under a key; empty if the id has other parts."""
    keys, parts = ([key], [id_]) if isinstance(key, str) else (key, parts_of(id_))
    return dict(zip(keys, parts, strict=True)) if len(keys) == len(parts) else {}


def as_ids(values: list[Any]) -> list[str | None]:
    """Return each value as an id, as `as_id` does."""
    return all_nfc(values) if _are_all(str, values) and all(values) else list(map(as_id, values))


def _are_all(type_: type, values: list[Any]) -> bool:
    return operator.countOf(map(type, values), type_) == len(values)


def _is_uuid(value: object) -> bool:
    return "uuid" in sys.modules and isinstance(value, sys.modules["uuid"].UUID)  # whoever has one has imported it


def as_grade(value: object) -> float:
    """Return a grade, checked; None means 1. One below 0 is TREC's mark of a document that nobody judged.

    Raises:
        InvalidInputError: The grade is not a finite number.
    """
    if value is None:
        return 1.0
    grade = as_number(value)
    if grade is None or not math.isfinite(grade):
        refuse("grade", "a finite number", value, "Use 0 for documents judged not relevant.")
    return grade


def split_pair(document: object) -> tuple[object, object]:
    """Return the two parts of `(document, number)`; anything else with None for the number."""
    if type(document) is tuple and len(document) == 2 and (document[1] is None or as_number(document[1]) is not None):
        return document
    return document, None


_PLAIN_NUMBERS = {("builtins", "float"), ("builtins", "int"), ("numpy", "float32"), ("numpy", "float64")}


def split_pairs(documents: list[Any]) -> tuple[list[Any], list[Any] | None]:
    """Return the documents and numbers of pairs, as `split_pair` does; None for the numbers if there is no pair."""
    types = set(map(type, documents))
    if tuple not in types:
        return documents, None
    if types == {tuple} and set(map(len, documents)) == {2}:
        numbers = [number for _, number in documents]
        if {(one.__module__, one.__name__) for one in set(map(type, numbers))} <= _PLAIN_NUMBERS:
            with contextlib.suppress(OverflowError):  # an integer beyond the range of a double
                deque(map(float, numbers), maxlen=0)
                return [document for document, _ in documents], numbers
    pairs = list(map(split_pair, documents))
    return [document for document, _ in pairs], [number for _, number in pairs]


def read_grade(document: object, grade_key: str) -> float:
    """Return the grade of a gold document as `given_grade` finds it, 1 where there is none.

    Raises:
        InvalidInputError: The grade is not a finite number.
    """
    return as_grade(given_grade(document, grade_key))


def given_grade(document: object, grade_key: str | None) -> object:
    """Return what a gold document has as its grade: in the pair, else its own, else in its metadata; else None.

    Without a key, the metadata are not looked at.
    """
    inner, given = split_pair(document)
    reader = reader_of(inner)
    if given is None and reader is not None and reader.own_grade is not None:
        given = reader.own_grade(inner, grade_key or "grade")
    if given is None and reader is not None and grade_key is not None:
        given = reader.metadata(inner).get(grade_key)
    return given


def read_own_grade(document: object) -> float | None:
    """Return the grade that a gold document has outside its metadata; None if it has none.

    Raises:
        InvalidInputError: The grade is not a finite number.
    """
    given = given_grade(document, None)
    return None if given is None else as_grade(given)
