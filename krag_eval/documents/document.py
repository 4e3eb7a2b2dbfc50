"""The documents of krag_eval, and the reading of any other document into one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.readers import OWN_ID, read_grade, require_reader, split_pair

# What a mapping says about itself. Its other keys are metadata.
_KEYS = {"id", "text", "page_content", "content", "grade", "score", "metadata", "meta"}


@dataclass(frozen=True, slots=True)
class Document:
    """A document as krag_eval sees it.

    Attributes:
        id: The id, or None.
        text: The text, or None.
        grade: How relevant a gold document is, 0 or more; None where none was given (which counts as 1).
        score: What the retriever gave it, or None. Never used for ranking.
        metadata: Everything else.
    """

    id: str | None = None
    text: str | None = None
    grade: float | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class KragDocument:
    """A document with `page_content` and `metadata`, for notebooks written for the package krag.

    >>> KragDocument("Returns take 14 days.", {"id": "faq-3"}).metadata["id"]
    'faq-3'
    """

    def __init__(self, page_content: str = "", metadata: Mapping[str, Any] | None = None) -> None:
        self.page_content = page_content
        self.metadata = dict(metadata or {})

    def __repr__(self) -> str:
        return f"KragDocument(page_content={self.page_content!r}, metadata={self.metadata!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KragDocument):
            return NotImplemented
        return self.page_content == other.page_content and self.metadata == other.metadata

    def __hash__(self) -> int:
        return hash(self.page_content)


def as_document(
    document: object, *, id_key: str | None = None, grade_key: str = "relevance", is_gold: bool = False
) -> Document:
    """Read any document into a `Document`.

    Args:
        document: What the table of this module lists.
        id_key: Read the id from the metadata under this key, and from nowhere else; `".id"`: the document's own id.
        grade_key: Read the grade of a gold document from the metadata under this key.
        is_gold: The number of a `(document, number)` pair is a grade, not a score, and a grade is read.

    Raises:
        InvalidInputError: It is no document, or has neither id nor text.

    >>> as_document({"id": 7, "content": "Open from 9 to 18.", "meta": {"lang": "en"}})
    Document(id='7', text='Open from 9 to 18.', grade=None, score=None, metadata={'lang': 'en'})
    """
    read = read_leniently(document, id_key=id_key)
    if read.text is None and read.id is None and (id_key is None or read_leniently(document).id is None):
        raise InvalidInputError(f"{describe_type(split_pair(document)[0])} has neither an id nor a text.")
    if not is_gold:
        return read
    with as_input_error(document):
        return replace(read, grade=read_grade(document, grade_key), score=None)


@contextlib.contextmanager
def as_input_error(document: object) -> Iterator[None]:
    """Raise whatever the attributes of a document raise in this block as an InvalidInputError."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:
        raise _failed(document, error) from error


def _failed(document: object, error: Exception) -> InvalidInputError:
    from krag_eval._utils.redaction import describe_error  # only an error needs it

    return InvalidInputError(
        f"reading {describe_type(document)} failed ({describe_error(error)}). "
        "Convert it to a mapping with 'id' and 'text' first."
    )


def read_leniently(
    document: object,
    *,
    id_key: str | None = None,
    copy: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
) -> Document:
    """Read any document, with or without an id and a text; the further keys of a mapping go to its metadata.

    Args:
        document: The document.
        id_key: As for `as_document`.
        copy: What copies its metadata.

    Raises:
        InvalidInputError: It is not a document, or reading it raises.
    """
    try:  # not `as_input_error`, which costs a tenth of the time
        return _read(document, id_key, copy)
    except InvalidInputError:
        raise
    except Exception as error:
        raise _failed(document, error) from error


def _read(document: object, id_key: str | None, copy: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Document:
    inner: Any
    inner, number = split_pair(document)
    reader = require_reader(inner)
    metadata = reader.metadata(inner)
    if reader.own_keys and not inner.keys() <= _KEYS:
        metadata = {**{str(key): value for key, value in inner.items() if key not in _KEYS}, **metadata}
    id_, copied = reader.read_id(inner, id_key), copy(metadata)
    if id_key is None and (other := reader.other_id(inner, id_)) is not None:
        copied[OWN_ID] = other
    return Document(id=id_, text=reader.read_text(inner), score=reader.read_score(inner, number), metadata=copied)
