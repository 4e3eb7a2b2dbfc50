"""The documents of krag_eval, and the reading of any other document into one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from krag_eval._utils.errors import (
    InvalidInputError,
    UnknownArgumentError,
    describe_type,
    refuse,
    refuse_raised,
    show,
)
from krag_eval._utils.objects import ShortRepr
from krag_eval.documents.readers import (
    OWN_ID,
    IdKey,
    as_grade,
    as_id,
    fields_key,
    id_of_pair,
    nfc,
    read_grade,
    reader_of,
    reader_of_pair,
    require_reader,
    says_place,
    split_pair,
)

# What a mapping says about itself. Its other keys are metadata.
DOCUMENT_KEYS = {"id", "text", "page_content", "content", "grade", "score", "metadata", "meta"}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Document(ShortRepr):
    """A document as krag_eval sees it. Its fields are given by name.

    Attributes:
        id: The id in the Unicode form NFC, or None.
        text: The text, or None.
        grade: How relevant a gold document is; None where none was given (which counts as 1). 0 means judged not
            relevant, less than 0 not judged.
        score: What the retriever gave it, or None. Never used for ranking.
        metadata: Everything else.

    Raises:
        UnknownArgumentError: A field is given without its name: a lone string could be the id or the text.

    >>> Document(id="faq-3", text="Returns take 14 days.").id
    'faq-3'
    """

    id: str | None = None
    text: str | None = None
    grade: float | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        *unnamed: object,
        id: str | None = None,  # noqa: A002 - the name of the field
        text: str | None = None,
        grade: float | None = None,
        score: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if unnamed:
            first = show(unnamed[0])
            value = first if len(first) < 60 else "..."  # what is cut cannot be copied
            raise UnknownArgumentError(
                f"`Document` takes its fields by name, got {first} without one. Write Document(id={value}) if it is "
                f"the id, or Document(text={value}) if it is the text."
            )
        put = object.__setattr__  # the dataclass is frozen
        put(self, "id", nfc(id) if isinstance(id, str) and not id.isascii() else id)
        put(self, "text", text)
        put(self, "grade", grade)
        put(self, "score", score)
        put(self, "metadata", {} if metadata is None else metadata)


DOC_KEY = "doc_id"
"""The usual key of the metadata under which a chunk has the id of the document that it was cut from."""

SUPERSEDED_BY = "superseded_by"
"""The key of the metadata under which a forbidden document has the id of the version that replaced it."""


@dataclass(frozen=True, slots=True, repr=False)
class Span(ShortRepr):
    """A gold document given by its place: characters `start` to `end` of the text of a document.

    In files it is a mapping with `doc_id`, `start`, `end` and, where it is known, `text`.

    Attributes:
        doc_id: The id of the document.
        start: The first character, counted in code points from 0.
        end: The position after the last character.
        text: The slice of the document's text, or None.
        grade: How relevant it is; None counts as 1, and 0 or less as not relevant.

    Raises:
        InvalidInputError: The id is none, the offsets are not 0 <= start < end, or the text has another length.

    >>> Span("guide", 10, 24).metadata
    {'doc_id': 'guide', 'start': 10, 'end': 24}
    """

    doc_id: str
    start: int
    end: int
    text: str | None = None
    grade: float | None = None

    def __post_init__(self) -> None:
        doc_id = as_id(self.doc_id)
        if doc_id is None:
            raise InvalidInputError(f"`doc_id` is {show(self.doc_id)}. A span needs the id of its document.")
        object.__setattr__(self, "doc_id", doc_id)
        offsets: tuple[object, ...] = (self.start, self.end)
        is_whole = all(isinstance(one, int) and not isinstance(one, bool) for one in offsets)
        if not is_whole or not 0 <= self.start < self.end:
            raise InvalidInputError(
                f"The span ({show(self.start)}, {show(self.end)}) of document {doc_id!r:.60} is none. It must have "
                "0 <= start < end, in characters of its document."
            )
        if self.text is not None and len(self.text) != self.end - self.start:
            raise InvalidInputError(
                f"The text {show(self.text, 60)} has {len(self.text):,} characters, and the span ({self.start}, "
                f"{self.end}) of document {doc_id!r:.60} has {self.end - self.start:,}. The text must be that slice of "
                "the document, in code points."
            )

    @property
    def id(self) -> None:
        """None: a span is known by its place."""
        return

    @property
    def metadata(self) -> dict[str, Any]:
        """The place, as readers of documents find it."""
        return {DOC_KEY: self.doc_id, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Need(ShortRepr):
    """Something that a question asks for, and that any one of several gold documents gives.

    A gold list may hold needs beside documents; a document on its own is a need with one alternative.

    Attributes:
        any_of: The alternatives: one gold document or more, of any kind that is read.
        grade: The grade of the need. None: that of its alternatives, which must then be the same for all.

    Raises:
        InvalidInputError: There is no alternative, one of them is a need, or the grade cannot be used.

    >>> Need(any_of=[{"id": "a"}, {"id": "b"}], grade=2)
    Need(any_of=({'id': 'a'}, {'id': 'b'}), grade=2.0)
    """

    any_of: Sequence[Any]
    grade: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "any_of", _check_alternatives(self.any_of))
        if self.grade is not None:
            object.__setattr__(self, "grade", as_grade(self.grade))


def _check_alternatives(given: object) -> tuple[Any, ...]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        refuse("any_of", "a list of gold documents", given)
    alternatives = tuple(given)
    if not alternatives:
        raise InvalidInputError("`any_of` is empty. A need has at least one alternative; leave out one that has none.")
    for number, one in enumerate(alternatives):
        if isinstance(one, Need) or (isinstance(one, dict) and one.get("any_of") is not None):
            raise InvalidInputError(
                f"`any_of[{number}]` is a need itself. Its alternatives must be documents: list them all in one "
                "`any_of` where any of them is enough, or as needs of their own where all are needed."
            )
    return alternatives


def may_be_need(given: object) -> bool:
    """Return whether an entry of a gold list is a need, or a mapping or pair that may stand for one."""
    inner = given[0] if type(given) is tuple and given else given
    return isinstance(inner, Need) or (isinstance(inner, dict) and "any_of" in inner)


class KragDocument:
    """A document with `page_content` and `metadata`, for notebooks written for the package krag.

    Attributes:
        page_content: The text.
        metadata: Whatever belongs to it, such as its id.
        id: Always None. LangChain's vector stores and retrievers ask for it.

    >>> KragDocument("Returns take 14 days.", {"id": "faq-3"}).metadata["id"]
    'faq-3'
    """

    id: str | None = None

    def __init__(self, page_content: str = "", metadata: Mapping[str, Any] | None = None) -> None:
        self.page_content = page_content
        self.metadata = dict(metadata or {})

    def get_summary(self) -> str:
        """Return the first 100 characters of the text, with `...` if there are more."""
        return self.page_content if len(self.page_content) <= 100 else f"{self.page_content[:100]}..."

    def __repr__(self) -> str:
        return f"KragDocument(page_content={self.page_content!r}, metadata={self.metadata!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KragDocument):
            return NotImplemented
        return self.page_content == other.page_content and self.metadata == other.metadata

    def __hash__(self) -> int:
        return hash(self.page_content)


def as_document(
    document: object, *, id_key: IdKey | None = None, grade_key: str = "relevance", is_gold: bool = False
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
    if is_gold and read.id is None and read.text is None and not read.metadata:
        read = read_leniently(document)  # nothing but an id, which any key reads
    has_id = read.id is not None or (id_key is not None and read_leniently(document).id is not None)
    if read.text is None and not has_id and not says_place(read.metadata):
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
    except Exception as error:  # noqa: BLE001 - raised again as ours
        refuse_unreadable(document, error)


def refuse_unreadable(document: object, error: Exception, at: str | None = None) -> NoReturn:
    """Refuse a document whose attributes raise; `at` is its place.

    Raises:
        InvalidInputError: Always.
    """
    cure = "). Convert it to a mapping with 'id' and 'text' first."
    refuse_raised(error, f"reading {describe_type(document)} failed (", cure, at=at)


def read_leniently(
    document: object,
    *,
    id_key: IdKey | None = None,
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
    except Exception as error:  # noqa: BLE001 - raised again as ours
        refuse_unreadable(document, error)


def _read(document: object, id_key: IdKey | None, copy: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Document:
    inner: Any
    inner, number = split_pair(document)
    reader = reader_of(inner) or reader_of_pair(document) or require_reader(inner)
    metadata = reader.metadata(inner)
    if reader.own_keys and not inner.keys() <= DOCUMENT_KEYS:
        known = {*DOCUMENT_KEYS, fields_key(inner)}
        metadata = {**{str(key): value for key, value in inner.items() if key not in known}, **metadata}
    id_, copied = reader.read_id(inner, id_key), copy(metadata)
    if id_key is None and (other := reader.other_id(inner, id_)) is not None:
        copied[OWN_ID] = other
    return Document(
        id=id_of_pair(document) if id_ is None and number is not None and id_key is None else id_,
        text=reader.read_text(inner),
        score=reader.read_score(inner, number),
        metadata=copied,
    )
