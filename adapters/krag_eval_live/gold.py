"""Look up gold documents by the id of a query, or by its exact text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krag_eval import EvalSet, InvalidInputError, Question, as_evalset
from krag_eval.toolkit import DOC_KEY, IdKey, RetrievalScorer, as_id, describe_type, errors_at, nfc, warn

Gold = tuple[str, Sequence[object]]


class GoldLookup:
    """Look up the gold documents of a query: by its id, else by its exact text.

    If questions with the same text have different gold documents, the text alone finds none. A question with gold at
    the other level only is not found; it is not treated as a question without an answer.

    Args:
        gold: An `EvalSet`, a list of questions or rows, or a pandas frame; or a mapping from a query's id or text to
            its gold documents, or pairs of these. With `match_method="id"` alone, documents may be bare ids, or a
            mapping from ids to grades. With None, no query is found.
        scorer: What scores by the gold; it reads the documents once to find bad ones.
        level: `"chunk"` or `"document"`: which gold of an evaluation set counts.
        doc_key: The metadata key of document ids.

    Raises:
        InvalidInputError: A query appears twice with different gold documents, a document cannot be read, no document
            has what the methods read, or there is no query.
    """

    def __init__(
        self, gold: object, scorer: RetrievalScorer, *, level: str = "chunk", doc_key: IdKey = DOC_KEY
    ) -> None:
        self._by_id: dict[str, Gold] = {}
        self._by_text: dict[str, Gold | None] = {}
        self._rules: dict[str, Question] = {}
        if gold is None:
            return
        if is_evalset(gold):
            self._read_evalset(as_evalset(gold), level, doc_key)
        else:
            self._read_pairs(gold, scorer)
        entries = list(self._by_id.values())
        if not entries:
            raise InvalidInputError("`gold` has no query. Give at least one, or None to report without gold.")
        with errors_at("`gold`"):
            scorer.check_gold([documents for _, documents in entries])

    def find(self, query_id: str | None, query: object) -> Gold | None:
        """Return the id of the query and its gold documents, or None if it has none."""
        if query_id is not None and (found := self._by_id.get(nfc(query_id))) is not None:
            return found
        return self._by_text.get(nfc(query)) if isinstance(query, str) else None

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def has_rules(self) -> bool:
        """Whether a question says what must not be retrieved."""
        return bool(self._rules)

    def rules_of(self, found: Iterable[Gold]) -> dict[str, Any]:
        """Return what must not be retrieved for each of these queries, as `evaluate` takes it; empty for nothing."""
        rules = [self._rules.get(query) for query, _ in found] if self._rules else []
        if not any(rules):
            return {}
        return {
            "must_not": [None if one is None else list(one.must_not) for one in rules],
            "allowed": [None if one is None else one.allowed for one in rules],
        }

    def _read_evalset(self, evalset: EvalSet, level: str, doc_key: IdKey) -> None:
        ambiguous: list[str] = []
        for question in evalset:
            documents = question.gold_at(level, doc_key)
            if not documents and not question.is_negative:
                continue
            entry = self._by_id[question.id] = question.id, documents
            if question.must_not or question.allowed:
                self._rules[question.id] = question
            if not question.question:
                continue
            known = self._by_text.setdefault(nfc(question.question), entry)
            if known is not None and known[1] != documents:
                self._by_text[nfc(question.question)] = None
                ambiguous.append(question.question)
        if len(evalset) and not self._by_id:
            other = "document" if level == "chunk" else "chunk"
            raise InvalidInputError(
                f"No question of `gold` has gold documents at level={level!r}. "
                f"They have some at the other level: use level={other!r}."
            )
        if ambiguous:
            others = f" and {len(ambiguous) - 1} others" if len(ambiguous) > 1 else ""
            warn(
                f"Different questions of `gold` have the text {ambiguous[0]!r:.80}{others}, with different gold "
                "documents. The text alone does not identify them: pass the id of the question with each call."
            )

    def _read_pairs(self, gold: object, scorer: RetrievalScorer) -> None:
        for name, given in _pairs(gold):
            documents = scorer.read_gold(name, given)
            known = self._by_id.setdefault(name, (name, documents))
            if known[1] != documents:
                raise InvalidInputError(
                    f"The query {name!r:.80} appears twice in `gold`, with different gold documents. "
                    "Each query must have one list: use ids instead of texts, and pass the id with each call."
                )
            self._by_text[name] = known


def is_evalset(gold: object) -> bool:
    """Whether this is an evaluation set: an `EvalSet`, a list of questions or rows, or a pandas frame."""
    if isinstance(gold, (list, tuple)):
        return bool(gold) and all(isinstance(item, (Question, Mapping)) for item in gold)
    return isinstance(gold, EvalSet) or (hasattr(gold, "to_dict") and hasattr(gold, "columns"))


def _pairs(gold: Any) -> Iterable[tuple[str, object]]:
    items = gold.items() if isinstance(gold, Mapping) else gold
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"`gold` is {describe_type(gold)}. Give an EvalSet (`read_evalset` reads one from a file), or a mapping "
            "from each query's id or text to its gold documents."
        )
    for item in items:
        name = as_id(item[0]) if isinstance(item, (tuple, list)) and len(item) == 2 else None
        if name is None:
            raise InvalidInputError(
                f"`gold` has {item!r:.80}. Give pairs of a query's id or text and a list of its gold documents."
            )
        yield name, item[1]
