"""Gold documents by the id of a query or by its exact text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Question
from krag_eval.evalset.question import DOC_KEY
from krag_eval.pipeline import judge_batch
from krag_eval.settings import Settings
from krag_eval.shapes import describe_type, shape_of

Gold = tuple[str | None, Sequence[object]]


class GoldLookup:
    """Finds the gold documents of a query: by its id, else by its exact text.

    Args:
        gold: An `EvalSet` or a list of `Question`; or a mapping from a query's id or text to its gold documents; or
            pairs of these.
        settings: The scoring settings; the documents are read once with them, so that a bad one is told here.
        level: `"chunk"` or `"document"`: which gold of an `EvalSet` counts.
        doc_key: The metadata key of document ids.

    Raises:
        InvalidInputError: A text or an id stands for different gold documents, or a document cannot be read.
    """

    def __init__(self, gold: object, settings: Settings, *, level: str = "chunk", doc_key: str = DOC_KEY) -> None:
        self._by_id: dict[str, Gold] = {}
        self._by_text: dict[str, Gold] = {}
        if isinstance(gold, EvalSet) or _is_questions(gold):
            questions: Any = gold
            for question in questions:
                entry = (question.id, question.gold_at(level, doc_key))
                self._add(self._by_id, question.id, entry)
                if question.question:
                    self._add(self._by_text, question.question, entry)
        else:
            for name, documents in _pairs(gold):
                entry = (name, _as_list(name, documents))
                self._add(self._by_id, name, entry)
                self._add(self._by_text, name, entry)
        if self._by_id:
            entries = list(self._by_id.values())
            judge_batch([documents for _, documents in entries], [[] for _ in entries], settings)

    def find(self, query_id: str | None, query: str) -> Gold | None:
        """The id of the query and its gold documents, or None where none are known."""
        if query_id is not None and query_id in self._by_id:
            return self._by_id[query_id]
        return self._by_text.get(query)

    def __len__(self) -> int:
        return len(self._by_id)

    @staticmethod
    def _add(table: dict[str, Gold], key: str, entry: Gold) -> None:
        known = table.get(key)
        if known is not None and known[1] != entry[1]:
            raise InvalidInputError(
                f"The query {key!r:.80} stands twice in `gold`, with different gold documents. "
                "Each query must have one list: give questions with the same text ids of their own, and pass the id "
                "with each call."
            )
        table.setdefault(key, entry)


def _is_questions(gold: object) -> bool:
    return isinstance(gold, (list, tuple)) and bool(gold) and all(isinstance(item, Question) for item in gold)


def _pairs(gold: object) -> Iterable[tuple[str, object]]:
    items: object = gold.items() if isinstance(gold, Mapping) else gold
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"`gold` is {describe_type(gold)}. "
            "Give an EvalSet, or a mapping from each query's id or text to its gold documents."
        )
    for item in items:
        if not isinstance(item, (tuple, list)) or len(item) != 2 or not isinstance(item[0], (str, int)):
            raise InvalidInputError(
                f"`gold` holds {item!r:.80}. Give pairs of a query's id or text and a list of its gold documents."
            )
        yield str(item[0]), item[1]


def _as_list(name: str, documents: object) -> Sequence[object]:
    if isinstance(documents, (list, tuple)):
        return list(documents)
    hint = f"[{documents!r:.40}]" if shape_of(documents) is not None else "[]"
    raise InvalidInputError(
        f"The gold of the query {name!r:.80} is {describe_type(documents)}. "
        f"It must be a list of documents, such as {hint}."
    )
