"""Which retrieved documents must not be there: those that match `must_not`, and those that break `allowed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.access import Allowed
from krag_eval.documents.columns import Side
from krag_eval.documents.document import SUPERSEDED_BY, Document, as_document, may_be_need
from krag_eval.documents.needs import as_need
from krag_eval.documents.readers import split_pair
from krag_eval.documents.text import normalize
from krag_eval.matching import Batch, find_matches

Metadata = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Rules:
    """What must not be retrieved for each query.

    Attributes:
        must_not: The forbidden documents of each query.
        allowed: What whoever asks may see, for each query; None for anything.
        corpus: The metadata of documents by id, for those that say nothing about a key.
    """

    must_not: Sequence[Sequence[Document]]
    allowed: Sequence[Allowed | None]
    corpus: Metadata

    @property
    def is_defined(self) -> BoolArray:
        """Whether a query forbids anything; shape (n_queries,)."""
        pairs = zip(self.must_not, self.allowed, strict=True)
        return np.array([bool(listed) or allowed is not None for listed, allowed in pairs], dtype=bool)

    def repeated(self, times: Sequence[int]) -> Rules:
        """Return the rules of each query so many times one after another."""
        return Rules(
            [one for one, n in zip(self.must_not, times, strict=True) for _ in range(n)],
            [one for one, n in zip(self.allowed, times, strict=True) for _ in range(n)],
            self.corpus,
        )

    def metadata_of(self, document: Document) -> Mapping[str, Any]:
        """Return the metadata of a document, with those of the corpus where it has none."""
        known = self.corpus.get(document.id or "")
        return document.metadata if known is None else {**known, **document.metadata}

    def visible(self, actual: Any) -> tuple[list[Any], list[tuple[int, str]]]:
        """Return the gold that whoever asks may see, and the query and the reason of each other gold document.

        Gold of which no metadata are known is taken for visible.
        """
        kept, hidden = list(actual), list[tuple[int, str]]()
        for query, allowed in enumerate(self.allowed):
            if allowed is not None and not isinstance(actual[query], Mapping):
                row = [self._visible(entry, allowed) for entry in actual[query]]
                hidden += [(query, why) for _, why in row if why is not None]
                kept[query] = [entry for entry, _ in row if entry is not None]
        return kept, hidden

    def _visible(self, given: Any, allowed: Allowed) -> tuple[Any, str | None]:
        entry = as_need(given) if may_be_need(given) else None
        if entry is not None:
            documents = [as_document(one) for one in entry.any_of]
            seen = [one for one in documents if self._hidden(one, allowed) is None]
            if len(seen) == len(documents):
                return given, None
            why = self._hidden(documents[0], allowed) if not seen else None
            return (replace(entry, any_of=seen) if seen else None), why
        why = self._hidden(as_document(split_pair(given)[0]), allowed)
        return (given, None) if why is None else (None, why)

    def _hidden(self, document: Document, allowed: Allowed) -> str | None:
        metadata = self.metadata_of(document)
        why = allowed.broken_by(metadata) if metadata else None
        return None if why is None else f"{named(document)}: {why}"


LISTED, OLDER, FILTER, MISSING = "listed", "older_version", "filter_missing", "metadata_missing"
"""Causes of a leak: the document is listed, is a former version, breaks a rule, or lacks what the rule looks at."""


class Reason(NamedTuple):
    """Why a document must not be retrieved.

    Attributes:
        text: In words.
        cause: `LISTED`, `OLDER`, `FILTER` or `MISSING`.
        newer: Of a former version the id of the one that replaced it.
    """

    text: str
    cause: str
    newer: str | None = None


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The retrieved documents of a batch that must not be there.

    Attributes:
        positions: Their positions in the column of retrieved documents, rising.
        reasons: Why each must not be there.
        n_unknown: How many retrieved documents say nothing about a key that `allowed` looks at.
    """

    positions: IntArray
    reasons: Sequence[Reason]
    n_unknown: int


def find_forbidden(batch: Batch, rules: Rules) -> Forbidden:
    """Return which retrieved documents of a batch break the rules of their query."""
    reasons = _listed(batch, rules.must_not) if any(rules.must_not) else {}
    n_unknown = 0
    if any(allowed is not None for allowed in rules.allowed):
        documents = batch.predicted.documents
        bounds = batch.predicted.offsets.tolist()
        for query, allowed in enumerate(rules.allowed):
            for position in range(bounds[query], bounds[query + 1]) if allowed is not None else ():
                metadata = rules.metadata_of(_with_id(documents[position], batch.predicted.ids[position]))
                lacks = any(metadata.get(key) is None for key in allowed.keys)  # type: ignore[union-attr]
                n_unknown += lacks
                why = allowed.broken_by(metadata)  # type: ignore[union-attr]
                if why is not None:
                    reasons.setdefault(position, Reason(why, MISSING if lacks else FILTER))
    positions = sorted(reasons)
    return Forbidden(np.array(positions, dtype=np.int64), [reasons[one] for one in positions], n_unknown)


def _with_id(given: Any, id_: str | None) -> Document:
    document = as_document(given)
    return document if id_ is None else replace(document, id=id_)


def _listed(batch: Batch, must_not: Sequence[Sequence[Document]]) -> dict[int, Reason]:
    """Return the positions of retrieved documents that match one of their query's `must_not`, each with the reason."""
    settings, bounds = batch.settings, batch.predicted.offsets.tolist()
    side = Side("actual", must_not, **settings.reading)
    found: dict[int, Reason] = {}
    if settings.methods == ("id",):
        ids = iter(side.ids)
        by_id = [{next(ids): document for document in row} for row in must_not]
        for query, (wanted, row) in enumerate(zip(by_id, batch.predicted.id_rows(), strict=True)):
            for place, one in enumerate(row) if wanted and not wanted.keys().isdisjoint(row) else ():
                if one is not None and one in wanted:
                    found[bounds[query] + place] = _reason(wanted[one])
        return found
    documents = [document for row in must_not for document in row]
    matches = find_matches(Batch(side, batch.predicted, settings))
    for gold, position in zip(matches.actual.tolist(), matches.predicted.tolist(), strict=True):
        found.setdefault(position, _reason(documents[gold]))
    return found


def _reason(document: Document) -> Reason:
    given, newer = (document.metadata.get(key) for key in ("reason", SUPERSEDED_BY))
    text = str(given) if given else f"it is {named(document)}"
    return Reason(text, LISTED) if newer is None else Reason(text, OLDER, str(newer))


def named(document: Document) -> str:
    """Return what a document is called in messages."""
    return f"{document.id!r:.60}" if document.id is not None else f"{document.text or document.metadata!r:.60}"


def check_gold(gold: Sequence[Document], must_not: Sequence[Document], question: str) -> None:
    """Check that nothing is gold and forbidden for one question.

    Raises:
        InvalidInputError: A document is both.
    """
    ids = {one.id for one in must_not if one.id is not None}
    texts = {normalize(one.text) for one in must_not if one.id is None and one.text}
    for one in gold:
        if one.id in ids or (one.id is None and one.text and normalize(one.text) in texts):
            raise InvalidInputError(
                f"{named(one)} is gold and in `must_not` of {question}. It can be one of the two: take it out of one."
            )
