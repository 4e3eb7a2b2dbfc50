"""One question of an evaluation set, and its gold at chunk level and at document level."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import Argument, InvalidInputError, Parts, errors_at, refuse, refuse_raised, show
from krag_eval._utils.objects import ShortRepr
from krag_eval.datasets.beside import suggestion
from krag_eval.documents.access import Allowed
from krag_eval.documents.document import (
    DOC_KEY as DOC_KEY,
)
from krag_eval.documents.document import (
    Document,
    Need,
    as_document,
    as_input_error,
    may_be_need,
    read_leniently,
)
from krag_eval.documents.readers import IdKey, as_id, fields_of, id_at, listed_id, parts_of, read_grade, read_own_grade
from krag_eval.matching.forbidden import check_gold
from krag_eval.matching.settings import ScoringSettings

RUN_HEADER = "krag_eval_run"
Level = Literal["chunk", "document"]
LEVELS: tuple[str, ...] = get_args(Level)
TEXTS = ("question", "answer", "type", "notes", "source", "asker")
GOLD = ("gold", "gold_doc_ids", "gold_chunk_ids")
RULES = ("must_not", "allowed")
QUESTION_FIELDS = {"id", *TEXTS, *GOLD, *RULES, "metadata"}
_OWN = frozenset({"id", "question"})
_OF_SPANS = (DOC_KEY, "start", "end")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Question(ShortRepr):
    """One question of an evaluation set, with its gold documents.

    Attributes:
        id: Its id, unique in the set; an integer becomes a string.
        question: Its text, or None.
        gold_doc_ids: The ids of the source documents that answer it.
        gold_chunk_ids: The ids of the chunks that answer it.
        gold: Gold documents with a text, a grade or metadata; anything that `as_document` reads. A `Need` among them,
            or a mapping with `any_of`, holds several documents of which any is enough.
        must_not: Documents that must not be retrieved; a string is an id. `reason` in their metadata says why.
        allowed: What whoever asks may see: metadata keys with the values that are allowed; see `evaluate`.
        asker: Who asks, as `EvalSet(..., askers=...)` names them, or None.
        answer: The answer to expect, or None.
        type: What kind of question it is, such as `"fact"`, `"paraphrase"` or `"negative"`, or None.
        notes: Remarks of whoever wrote it, or None.
        source: Where it comes from, or None.
        metadata: Anything else, for slices and reports.
        further: Fields of the file that krag_eval does not know; they are written back as they were read.

    Raises:
        InvalidInputError: A field has the wrong type.
    """

    id: str
    question: str | None = None
    gold_doc_ids: tuple[str, ...] = ()
    gold_chunk_ids: tuple[str, ...] = ()
    gold: tuple[Any, ...] = ()  # `Document` and `Need`; most sets have documents alone
    must_not: tuple[Any, ...] = ()
    allowed: Mapping[str, Any] = field(default_factory=dict)
    asker: str | None = None
    answer: str | None = None
    type: str | None = None
    notes: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        question_id = as_id(self.id)
        if question_id is None:
            raise InvalidInputError(f"`id` is {show(self.id)}. A question needs a string or an integer there.")
        object.__setattr__(self, "id", question_id)
        for name in TEXTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                refuse(name, "a string, or left out", value)
        for name in ("gold_doc_ids", "gold_chunk_ids"):
            object.__setattr__(self, name, _check_ids(name, getattr(self, name)))
        object.__setattr__(self, "gold", _check_gold("gold", self.gold))
        if self.must_not:
            given = [
                one if as_id(one) is None else Document(id=as_id(one))
                for one in _listed("must_not", self.must_not, "documents")
            ]
            object.__setattr__(self, "must_not", _check_gold("must_not", given))
            gold = [*alternatives_in(self.gold_chunks()), *(Document(id=one) for one in self.gold_doc_ids)]
            check_gold(gold, self.forbidden(), f"the question {question_id!r:.60}")
        for name in ("allowed", "metadata", "further"):
            if not isinstance(getattr(self, name), Mapping):
                refuse(name, "a mapping", getattr(self, name))
        if self.allowed:
            Allowed.of(self.allowed)

    def value(self, name: str) -> object:
        """Return the value of a field, of a metadata key or of a field of the file; None if there is none."""
        if name in type(self).__slots__:
            return getattr(self, name)
        return self.metadata.get(name, self.further.get(name))

    @property
    def is_negative(self) -> bool:
        """Whether nothing answers it: it has no gold document at any level, apart from those judged not relevant."""
        return not (
            any(one.grade is None or one.grade > 0 for one in alternatives_in(self.gold))
            or self.gold_chunk_ids
            or self.gold_doc_ids
        )

    def forbidden(self) -> list[Document]:
        """Return the documents that must not be retrieved, each alternative by itself."""
        return alternatives_in(self.must_not)

    def gold_chunks(self) -> list[Any]:
        """Return the gold at chunk level: the gold documents and needs, then the gold chunk ids that none has."""
        if not self.gold_chunk_ids:
            return [*self.gold]
        known = {document.id for document in alternatives_in(self.gold)}
        return [*self.gold, *(Document(id=chunk_id) for chunk_id in self.gold_chunk_ids if chunk_id not in known)]

    def gold_documents(self, doc_key: IdKey = DOC_KEY, grade_key: str = "relevance") -> list[Any]:
        """Return the gold at document level, each document with its id also under `doc_key` in its metadata.

        These are the gold document ids and the document ids that gold documents carry under `doc_key`; a document has
        the highest grade of its gold chunks, and none if it was only named by its id. A need whose alternatives come
        from several documents is a need of these.
        """
        grades: dict[str, float | None] = dict.fromkeys(self.gold_doc_ids)
        needs: list[Document | Need] = []
        for entry in self.gold:
            documents = entry.any_of if isinstance(entry, Need) else (entry,)
            named = [id_at(document.metadata, doc_key) for document in documents if document.metadata]
            if not any(named):
                continue
            doc_ids = dict.fromkeys(one for one in named if one is not None)
            grade = read_grade(documents[0], grade_key)
            if len(doc_ids) > 1:
                needs.append(
                    Need(any_of=[Document(id=one, metadata=fields_of(one, doc_key)) for one in doc_ids], grade=grade)
                )
            for doc_id in doc_ids if len(doc_ids) == 1 else ():
                known = grades.get(doc_id)
                grades[doc_id] = grade if known is None else max(known, grade)
        of_ids: list[Document | Need] = [
            Document(id=doc_id, grade=grade, metadata=fields_of(doc_id, doc_key)) for doc_id, grade in grades.items()
        ]
        return of_ids + needs

    def gold_at(self, level: str = "chunk", doc_key: IdKey = DOC_KEY) -> list[Any]:
        """Return the gold at a level.

        Raises:
            InvalidInputError: The level is neither `"chunk"` nor `"document"`.
        """
        return self.gold_chunks() if one_of("level", level, LEVELS) == "chunk" else self.gold_documents(doc_key)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Question:
        """Read a row of a file: the fields of this class by name; every other one is kept in `further`.

        Raises:
            InvalidInputError: The row says nothing about its gold documents, or a field has the wrong type.
        """
        if all(row.get(name) is None for name in (*GOLD, *RULES)):
            raise InvalidInputError(*without_gold(row))
        if "id" not in row:
            raise InvalidInputError(
                "`id` is missing. Each question needs a string or an integer there, by which runs name it; "
                "`evalset_from_rows` numbers rows without one."
            )
        known = {name: value for name, value in row.items() if name in QUESTION_FIELDS and value is not None}
        known.setdefault("id", None)
        return cls(**known, further={name: value for name, value in row.items() if name not in QUESTION_FIELDS})

    def to_dict(self) -> dict[str, Any]:
        """Return the row to write: the fields that are set, by name, and the unknown fields of the file."""
        row: dict[str, Any] = {"id": self.id}
        row |= {name: value for name in TEXTS if (value := getattr(self, name)) is not None}
        ids = ((name, [parts_of(one) for one in getattr(self, name)]) for name in GOLD[1:])
        row |= {name: [parts if parts[1:] else parts[0] for parts in listed] for name, listed in ids if listed}
        if self.gold or self.is_negative:
            row["gold"] = [_gold_row(entry) for entry in self.gold]
        if self.must_not:
            row["must_not"] = [_gold_row(entry) for entry in self.must_not]
        if self.allowed:
            row["allowed"] = {
                key: [*one] if isinstance(one, (set, frozenset)) else one for key, one in self.allowed.items()
            }
        if self.metadata:
            row["metadata"] = dict(self.metadata)
        return row | dict(self.further)


def alternatives_in(gold: Iterable[Document | Need]) -> list[Document]:
    """Return gold documents, with the alternatives of each need in its place.

    >>> question = Question(id="q", gold=[{"any_of": [{"id": "a"}, {"id": "b"}]}, {"id": "c"}])
    >>> [document.id for document in alternatives_in(question.gold)]
    ['a', 'b', 'c']
    """
    return [one for entry in gold for one in (entry.any_of if isinstance(entry, Need) else (entry,))]


def _gold_row(entry: Document | Need) -> dict[str, Any]:
    if isinstance(entry, Document):
        return document_row(entry, "grade")
    documents = entry.any_of if entry.grade is None else [replace(one, grade=None) for one in entry.any_of]
    row: dict[str, Any] = {"any_of": [document_row(document, "grade") for document in documents]}
    return row if entry.grade is None else row | {"grade": entry.grade}


def check_new(new_id: str | None, known: Container[str], what: str) -> None:
    """Check that an id is not known yet.

    Args:
        new_id: The id, or None.
        known: The ids so far.
        what: What it is, for the message, as `path:line: the question id`.

    Raises:
        InvalidInputError: The id is known.
    """
    if new_id is not None and new_id in known:
        raise InvalidInputError(f"{what} {new_id!r:.60} appears twice. Ids must be unique.")


def document_row(document: Document, number: str) -> dict[str, Any]:
    """Return the row to write of a document: what is set of its id, its text, its grade or score, and its metadata."""
    row = {"id": document.id, "text": document.text, number: getattr(document, number)}
    metadata = dict(document.metadata)
    if number == "grade" and document.id is None and metadata.keys() >= {*_OF_SPANS}:
        row |= {key: metadata.pop(key) for key in _OF_SPANS}
    row["metadata"] = metadata
    return {name: value for name, value in row.items() if value not in (None, {})}


def without_gold(row: Mapping[str, Any], columns: Mapping[str, str] | None = None) -> Parts:
    """Return the message for a row that says nothing about its gold.

    >>> print(*without_gold({"query_id": "q1", "retrieved": []}), sep="")
    `gold` is missing, ... This looks like a run: the evaluation set comes first, and runs after it.
    """
    if "retrieved" in row or RUN_HEADER in row:
        hint: Parts = (" This looks like a run: the evaluation set comes first, and runs after it.",)
    elif "text" in row and "question" not in row:
        hint = (" This looks like a corpus: a row of an evaluation set has a `question` and its gold.",)
    else:
        hint = of_other_names(row, columns=columns) if row.keys() - _OWN else ()
    said = " is missing, and so are `gold_chunk_ids` and `gold_doc_ids`. It must be a list of documents, [] for a "
    return Argument("gold"), f"{said}question that has no answer.", *hint


def of_other_names(
    row: Mapping[str, Any], field: str | None = None, *, columns: Mapping[str, str] | None = None
) -> Parts:
    """Return sentences for a row in which a field may have another name; none for a row without fields."""
    hint = suggestion("evalset", row, field, columns)
    return (" ", *hint) if hint else ()


def settings_at(level: str, doc_key: IdKey, settings: ScoringSettings) -> ScoringSettings:
    """Return the settings with the defaults of evaluation sets: match by id, for documents under `doc_key`.

    Args:
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        settings: What was given; it is not changed.

    Raises:
        InvalidInputError: The level is not known, or documents shall be matched by anything but their ids.

    >>> settings_at("document", "doc_id", {"gain": "linear"})
    {'gain': 'linear', 'match_method': 'id', 'id_key': 'doc_id'}
    """
    given: ScoringSettings = {**settings}
    given.setdefault("match_method", "id")
    if given["match_method"] in ("span", ["span"], ("span",)):
        given["id_key"] = given.get("id_key") or (None if doc_key == DOC_KEY else doc_key)
    if one_of("level", level, LEVELS) == "document":
        if given["match_method"] not in ("id", ["id"], ("id",)):
            raise InvalidInputError(
                "At ",
                Argument("level", "document"),
                " documents are matched by id, got ",
                Argument("match_method", given["match_method"]),
                ". Leave ",
                Argument("match_method"),
                " out, or use ",
                Argument("level", "chunk"),
                ".",
            )
        given["id_key"] = given.get("id_key") or doc_key
    return given


def _check_ids(name: str, given: object) -> tuple[str, ...]:
    ids = []
    for position, value in enumerate(_listed(name, given, "ids")):
        checked = listed_id(value) or as_id(value)
        if checked is None:
            raise InvalidInputError(f"`{name}[{position}]` is {show(value)}. An id is a string or an integer.")
        ids.append(checked)
    return tuple(dict.fromkeys(ids))


def _check_gold(name: str, given: object) -> tuple[Document | Need, ...]:
    documents: list[Document | Need] = []
    for position, value in enumerate(_listed(name, given, "documents")):
        try:
            documents.append(_gold_need(value) if may_be_need(value) else _gold_document(value))
        except InvalidInputError as error:
            raise error.at(Argument(f"{name}[{position}]")) from None
    return tuple(documents)


def _listed(name: str, given: object, what: str) -> list[object]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        refuse(name, f"a list of {what}, [] if there are none", given)
    try:
        return list(given)
    except Exception as error:  # noqa: BLE001 - raised again as ours
        refuse_raised(error, f"`{name}`: iterating over it failed (", "). Give a list.")


def _gold_need(given: Any) -> Document | Need:
    """Return a need of documents that have its grade; a document where `any_of` is null."""
    from krag_eval.documents.needs import as_need, check_grades

    need = as_need(given)
    if need is None:
        return _gold_document({key: value for key, value in given.items() if key != "any_of"})
    documents = []
    for number, value in enumerate(need.any_of):
        with errors_at(f"`any_of[{number}]`"):
            documents.append(_gold_document(value))
    check_grades([document.grade for document in documents if document.grade is not None], need.grade)
    if need.grade is not None:
        documents = [replace(document, grade=need.grade) for document in documents]
    return replace(need, any_of=documents)


def _gold_document(given: object) -> Document:
    """Return any framework's document; its grade stays open if it has none, because metadata may hold it."""
    if isinstance(given, Document):
        return given
    if isinstance(given, list) and (id_ := listed_id(given)) is not None:
        return Document(id=id_)
    read = read_leniently(given)
    if read.id is None and read.text is None and not read.metadata:
        as_document(given)  # raises
    with as_input_error(given):
        return replace(read, grade=read_own_grade(given), score=None)
