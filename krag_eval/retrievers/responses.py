"""Read what a retriever returned as the documents of a run, with metadata that JSON can represent."""

from __future__ import annotations

import inspect
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Set
from dataclasses import replace
from datetime import date, time
from itertools import islice
from typing import Any

from krag_eval._utils.errors import InvalidInputError, describe_type
from krag_eval._utils.redaction import Redactor
from krag_eval.documents.document import DOC_KEY, Document, as_input_error, read_leniently
from krag_eval.documents.readers import (
    IDENTIFIES,
    OWN_ID,
    IdKey,
    as_id,
    id_at,
    id_keys,
    names_in,
    reader_of,
    says_place,
    split_pair,
)
from krag_eval.documents.stores import hits_in

NOT_ENDED = "the search had not ended when its session ended"
# The keys of the documents in a mapping: of Haystack, and of LangChain's chains.
_DOCUMENT_KEYS = ("documents", "source_documents", "context")


def needs_a_loop(answer: object) -> bool:
    """Whether the result has to be awaited to get the documents."""
    return inspect.isawaitable(answer) or hasattr(answer, "__aiter__")


async def take_later(answer: Any, k: int) -> list[object]:
    """Return the first k documents of a result that may have to be awaited.

    Raises:
        InvalidInputError: The result is not a ranking.
    """
    if inspect.isawaitable(answer):
        answer = await answer
    if not hasattr(answer, "__aiter__"):
        return take(answer, k)
    documents: list[object] = []
    iterator: AsyncIterator[object] = aiter(answer)
    async for document in iterator:
        documents.append(document)
        if len(documents) == k:
            break
    if inspect.isasyncgen(iterator):
        await iterator.aclose()
    return documents


def take(answer: object, k: int) -> list[object]:
    """Return the first k documents of a result, whose order is the ranking.

    Raises:
        InvalidInputError: The result is not a ranking.
    """
    return list(islice(_documents_in(answer), k))


def _documents_in(answer: Any) -> Iterable[object]:
    if (hits := hits_in(answer)) is not None:
        return hits
    if isinstance(answer, Mapping):
        return _in_mapping(answer)
    if hasattr(answer, "source_nodes"):  # the response of a LlamaIndex query engine
        answer = answer.source_nodes
    if answer is None or isinstance(answer, (str, bytes, bytearray)) or not isinstance(answer, Iterable):
        raise InvalidInputError(
            f"the retriever returned {'None' if answer is None else describe_type(answer)}. "
            "It must return a list of documents, best first, [] if there are none."
        )
    if inspect.isgenerator(answer) and inspect.getgeneratorstate(answer) == inspect.GEN_CLOSED:
        raise InvalidInputError(
            "the retriever returned a generator that is exhausted. It must create a new one for each question, or "
            "return a list of documents, best first."
        )
    if isinstance(answer, Set) or hasattr(answer, "columns"):
        raise InvalidInputError(
            f"the retriever returned {describe_type(answer)}, which is not a ranking. "
            "It must return a list of documents, best first."
        )
    return answer


def _in_mapping(answer: Mapping[str, Any]) -> Iterable[object]:
    """Return the documents of a Haystack component, of a pipeline with one such output, or of a chain."""
    for place in _DOCUMENT_KEYS:
        if place in answer:
            return _documents_in(answer[place])
    inner = [value for value in answer.values() if isinstance(value, Mapping) and "documents" in value]
    if len(inner) == 1:
        return _documents_in(inner[0]["documents"])
    found = "several lists of documents" if inner else "no documents"
    keys = ", ".join(repr(key) for key in list(answer)[:5])
    raise InvalidInputError(
        f"the retriever returned {describe_type(answer)} with {found} (its keys: {keys}). "
        "It must return a list of documents, best first, or a mapping that has one under 'documents'."
    )


METADATA = ("none", "ids", "all")


class Copier:
    """Copies a framework's documents into records that nobody else can change, without credentials in their metadata.

    Args:
        metadata: Which metadata is kept, one of `METADATA`; `"ids"` keeps strings and integers whose name is, or ends
            in, `id`, `uuid`, `doi`, `source`, `url`, `uri`, `path`, `file` or `file_name`, such as `doc_id`, `chunkId`.
        id_key: The key of the metadata that holds the id of a document, if it is known; it is kept with `"ids"`.
    """

    def __init__(self, metadata: str = "all", id_key: IdKey | None = None) -> None:
        self._kept, self._id_key, self._redactor = metadata, id_key, Redactor()

    def __call__(self, documents: Iterable[object]) -> tuple[Document, ...]:
        """Return the copies.

        Raises:
            InvalidInputError: An item is not a document; the error names its place in the ranking.
        """
        copies, seen = list[Document](), _Seen()
        for place, document in enumerate(documents):
            try:
                copy = _copy(document, seen, self._id_key)
                copies.append(copy if self._kept == "all" else self._without(copy))
            except InvalidInputError as error:
                raise error.at(f"`retrieved[{place}]`") from None
        if not self._redactor.is_clean(seen.names, seen.texts):
            copies = [replace(copy, metadata=self._redactor.of(copy.metadata)) for copy in copies]
        return tuple(copies)

    def _without(self, document: Document) -> Document:
        named = names_in(self._id_key or OWN_ID)
        kept = {
            name: value
            for name, value in document.metadata.items()
            if self._kept == "ids" and (name in named or (type(value) in (str, int) and IDENTIFIES.search(name)))
        }
        if document.id is None and document.text is None and not kept:
            raise InvalidInputError(
                f"the document has neither an id nor a text, and metadata={self._kept!r} drops the rest. Give metadata="
                "'all'."
            )
        return replace(document, metadata=kept)


class _Seen:
    """The names and texts of the metadata that were copied; a call copies a document's metadata."""

    def __init__(self) -> None:
        self.names, self.texts = set[str](), set[str]()

    def __call__(self, metadata: object) -> Any:
        return as_json(metadata, 0, self)


def _copy(document: object, seen: _Seen, id_key: IdKey | None) -> Document:
    inner, _ = split_pair(document)
    read = read_leniently(document, copy=seen)
    reader = reader_of(inner)
    if reader is not None and reader.framework == "LlamaIndex":
        with as_input_error(document):
            _name_source(inner, read.metadata)
            seen(read.metadata)
    if OWN_ID in read.metadata:
        seen(read.metadata[OWN_ID])
    is_known = read.id is not None or read.text is not None or id_at(read.metadata, id_key or OWN_ID) is not None
    if not (is_known or id_keys(read.metadata) or says_place(read.metadata)):
        keys = f" with keys {', '.join(map(_text, islice(inner, 5)))}" if isinstance(inner, Mapping) and inner else ""
        raise InvalidInputError(f"expected documents or ids, got {type(inner).__name__}{keys}")
    id_ = as_id(read.metadata.get("id")) if read.id is None else read.id  # as it will be read from the file
    is_finite = read.score is None or math.isfinite(read.score)
    return read if is_finite and id_ is read.id else replace(read, id=id_, score=read.score if is_finite else None)


def _name_source(document: Any, metadata: Any) -> None:
    """Keep the document of a LlamaIndex node, which is an attribute, in the metadata, where scoring finds it."""
    source = as_id(getattr(getattr(document, "node", document), "ref_doc_id", None))
    if source is not None:
        metadata.setdefault(DOC_KEY, source)


_DEEPEST = 32
_LARGEST_INTEGER = 2**63


def as_json(value: object, depth: int = 0, seen: _Seen | None = None) -> Any:
    """Return a copy of the value that JSON can represent.

    Strings, numbers, booleans and None are kept, except that NaN and infinities become None. Mappings become dicts with
    strings as keys; lists, tuples, sets and arrays become lists (sets in the order of their strings); dates and times
    become their ISO form. Everything else becomes its `str`.

    >>> as_json({"page": 3, "tags": {"b", "a"}, "at": date(2026, 11, 21), "similarity": float("nan")})
    {'page': 3, 'tags': ['a', 'b'], 'at': '2026-11-21', 'similarity': None}
    """
    kind = type(value)
    if kind is str:
        if seen is not None:
            seen.texts.add(value)  # type: ignore[arg-type]
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or kind is bool:
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST_INTEGER:
        return int(value)
    if depth > _DEEPEST:
        return "..."
    if kind is dict or isinstance(value, Mapping):
        return _mapping_as_json(value, depth + 1, seen or _Seen())  # type: ignore[arg-type]
    if isinstance(value, Set):
        value = sorted(value, key=_text)
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1, seen) for item in value]
    if hasattr(value, "tolist") and hasattr(value, "dtype"):  # numbers and arrays of numpy and other libraries
        return as_json(value.tolist(), depth + 1, seen)
    text = value.isoformat() if isinstance(value, (date, time)) else _text(value)
    return as_json(str.__str__(text), depth, seen)


def _mapping_as_json(value: Mapping[Any, Any], depth: int, seen: _Seen) -> dict[str, Any]:
    copied, note = {}, seen.texts.add
    for key, item in value.items():
        if type(item) is str:  # most are, and a call for each would cost more than all the rest
            note(item)
        copied[key if type(key) is str else _text(key)] = item if type(item) is str else as_json(item, depth, seen)
    if not seen.names.issuperset(copied):
        seen.names.update(copied)
    return copied


def _text(value: object) -> str:
    if type(value) is str:
        return value
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object whose `str` fails does not cost the row
        return f"<{type(value).__name__}>"
