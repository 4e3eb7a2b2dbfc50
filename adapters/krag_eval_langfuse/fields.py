"""Find the gold documents in an expected output, and the retrieved ones in an output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval import InvalidInputError, Question
from krag_eval.toolkit import IdKey, fields_of

Where = str | Callable[[Any], object] | None
Fields = dict[str, list[Any]]

_GOLD = (
    "gold",
    "gold_documents",
    "relevant_documents",
    "relevant_docs",
    "expected_documents",
    "reference_contexts",
    "documents",
    "contexts",
    "context",
)
# The fields of a question, and the default keys of each in an expected output.
GOLD_FIELDS = {
    "gold": _GOLD,
    "gold_chunk_ids": ("gold_chunk_ids", "gold_ids", "relevant_ids", "expected_ids", "reference_context_ids"),
    "gold_doc_ids": ("gold_doc_ids",),
}
RETRIEVED = (
    "retrieved",
    "retrieved_documents",
    "documents",
    "source_documents",
    "source_nodes",
    "nodes",
    "retrieved_contexts",
    "contexts",
    "context",
)
RETRIEVED_IDS = ("retrieved_ids", "retrieved_context_ids")


class NothingFoundError(InvalidInputError):
    """There are no documents in this item; other items may have some."""


@dataclass(frozen=True, slots=True)
class BareStrings:
    """How to read a string in place of a document.

    Attributes:
        are_ids: Read it as an id; otherwise as a text.
        id_key: The metadata key of ids, if they are read from there; the id is stored there too.
    """

    are_ids: bool = False
    id_key: IdKey | None = None

    @classmethod
    def under(cls, settings: Mapping[str, Any]) -> BareStrings:
        """Read strings as ids if these scoring settings compare only ids, otherwise as texts."""
        given = settings.get("match_method", "text")
        methods = [given] if isinstance(given, str) else given
        return cls(isinstance(methods, Iterable) and list(methods) == ["id"], settings.get("id_key"))

    def row(self, value: str | int) -> dict[str, Any]:
        """Return the document with this id."""
        row: dict[str, Any] = {"id": str(value)}
        return row if self.id_key is None else row | {"metadata": fields_of(str(value), self.id_key)}


def find_gold(expected: Any, where: Where, strings: BareStrings) -> Fields | None:
    """Return the gold of an item, as the fields `gold`, `gold_chunk_ids` and `gold_doc_ids` of a `Question`.

    Args:
        expected: The expected output of the item: a list of documents, one document, or a mapping with them under a
            key of `GOLD_FIELDS`.
        where: Their key, or a function of the expected output that returns any of these.
        strings: How to read bare strings.

    Returns:
        None if there is no expected output: the gold is then unknown.

    Raises:
        NothingFoundError: It contains no documents.
        InvalidInputError: The documents cannot be read.
    """
    if callable(where):
        expected = where(expected)
    elif where is not None and expected is not None:
        expected = {_kind_of(where): _under(expected, where, "gold")}
    if expected is None:
        return None
    if not isinstance(expected, Mapping):
        return {"gold": _gold(expected, strings)}
    fields: Fields = {}
    for name, keys in GOLD_FIELDS.items():
        found = next((expected[key] for key in keys if expected.get(key) is not None), None)
        if found is not None:
            fields[name] = _gold(found, strings) if name == "gold" else _as_list(found, "gold")
    if fields:
        return fields
    if any(key in expected for key in ("id", "page_content", "node")):
        return {"gold": _gold([expected], strings)}
    raise NothingFoundError(
        f"The expected output has no gold documents: its keys are {_keys(expected)}. The default keys are "
        f"{', '.join(key for keys in GOLD_FIELDS.values() for key in keys)}. Pass another key, or a function, with "
        "`gold=`."
    )


def gold_at(fields: Fields, level: str, doc_key: IdKey) -> list[Any]:
    """Return the gold documents of these fields at a level, as `evaluate` takes them.

    Raises:
        InvalidInputError: A document cannot be read, or all of them are at the other level.
    """
    gold: dict[str, Any] = {name: tuple(documents) for name, documents in fields.items()}
    question = Question(id="item", **gold)
    documents = question.gold_at(level, doc_key)
    if not documents and not question.is_negative:
        raise InvalidInputError(
            f"The expected output has gold documents, but none at the level {level!r}. "
            "Use level='document' for gold document ids, and 'chunk' for all others."
        )
    return list(documents)


def find_retrieved(output: Any, where: Where, strings: BareStrings) -> Any:
    """Return the ranking in the output of a task, or the exception that the task returned instead.

    Args:
        output: A list of documents, best first; or a mapping or an object with one under a name of `RETRIEVED` or
            `RETRIEVED_IDS`; or a mapping with the message of an error under `"error"`.
        where: The name of the list, or a function of the output that returns it.
        strings: How to read bare strings.

    Raises:
        InvalidInputError: It contains no documents.
    """
    ids = BareStrings(True, strings.id_key)
    if callable(where):
        output = where(output)
    elif where is not None and not isinstance(output, BaseException):
        return _ranking(_under(output, where, "retrieved"), ids if where in RETRIEVED_IDS else strings)
    if isinstance(output, (BaseException, list, tuple)):
        return _ranking(output, strings)
    for names, bare in ((RETRIEVED, strings), (RETRIEVED_IDS, ids)):
        for name in names:
            found = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
            if found is not None:
                return _ranking(found, bare)
    if isinstance(output, Mapping) and output.get("error") is not None:
        return RuntimeError(f"{output['error']!s:.200}")
    found = f"its keys are {_keys(output)}" if isinstance(output, Mapping) else f"it is {_type(output)}"
    raise InvalidInputError(
        f"The output has no retrieved documents: {found}. It must be a list, or hold one under "
        f"{', '.join((*RETRIEVED, *RETRIEVED_IDS))}. Return the documents from the task, or pass another key, or a "
        "function, with `retrieved=`."
    )


def as_row(document: Any, strings: BareStrings) -> Any:
    """Return a document as a row where needed: bare ids, and nodes of LlamaIndex as JSON writes them."""
    if strings.are_ids and isinstance(document, (str, int)) and not isinstance(document, bool):
        return strings.row(document)
    if not isinstance(document, Mapping):
        return document
    node = document.get("node")
    row = {**node, "score": document.get("score")} if isinstance(node, Mapping) else document
    if "id" in row or not ("id_" in row or "node_id" in row):
        return row
    resource = row.get("text_resource")
    return {
        "id": row.get("id_") or row.get("node_id"),
        "text": row.get("text") or (resource.get("text") if isinstance(resource, Mapping) else None),
        "score": row.get("score"),
        "metadata": row.get("metadata") or {},
    }


def _gold(found: Any, strings: BareStrings) -> list[Any]:
    """Return gold documents; `{id: grade}` is a list of graded ids."""
    if isinstance(found, Mapping) and found and all(_is_number(grade) for grade in found.values()):
        return [strings.row(key) | {"grade": grade} for key, grade in found.items()]
    return [as_row(document, strings) for document in _as_list(found, "gold")]


def _ranking(found: Any, strings: BareStrings) -> Any:
    if isinstance(found, BaseException):
        return found
    return [as_row(document, strings) for document in _as_list(found, "retrieved")]


def _as_list(found: Any, what: str) -> list[Any]:
    if isinstance(found, (list, tuple)) or (what == "gold" and isinstance(found, (set, frozenset))):
        return list(found)
    hint = " A string is probably the answer." if isinstance(found, str) else ""
    raise InvalidInputError(
        f"`{what}` is {_type(found)}, not a list of documents.{hint} Pass a list, or the key of the list with "
        f"`{what}=`."
    )


def _kind_of(key: str) -> str:
    """Return the field of a question for a key."""
    return next((name for name, keys in GOLD_FIELDS.items() if key in keys), "gold")


def _under(holder: Any, name: str, what: str) -> Any:
    if isinstance(holder, Mapping):
        if name in holder:
            return holder[name]
        raise NothingFoundError(
            f"There is no key {name!r} with documents: the keys are {_keys(holder)}. Pass one of these with `{what}=`."
        )
    if hasattr(holder, name):
        return getattr(holder, name)
    raise InvalidInputError(f"`{what}={name!r}` was not found: the object is {_type(holder)}. Pass another name.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _keys(holder: Mapping[Any, Any]) -> str:
    return ", ".join(map(str, list(holder)[:12])) or "none"


def _type(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"
