"""Which retrieved documents must not be there: those that match `must_not`, and those that break `allowed`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, NoReturn

from krag_eval._utils.arrays import BoolArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError, errors_at
from krag_eval.documents.access import Allowed
from krag_eval.documents.columns import Side
from krag_eval.documents.document import SUPERSEDED_BY, Document, as_document, may_be_need
from krag_eval.documents.needs import as_need
from krag_eval.documents.readers import OFFSETS, as_id, split_pair
from krag_eval.documents.text import normalize
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.id_batch import IdSide
from krag_eval.matching.settings import Settings

_PLACE = ("doc_id", *chain.from_iterable(OFFSETS))
Metadata = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Rules:
    """What must not be retrieved for each query.

    Attributes:
        must_not: The forbidden documents of each query, as gold is given; ids alone if `is_bare`.
        allowed: What whoever asks may see, for each query; None for anything.
        corpus: The metadata of documents by id, for those that say nothing about a key.
        is_bare: Whether `must_not` holds ids.
    """

    must_not: Sequence[Sequence[Any]]
    allowed: Sequence[Allowed | None]
    corpus: Metadata
    is_bare: bool = False
    _sides: list[Side] = field(default_factory=list, compare=False, repr=False)

    def side(self, settings: Settings) -> Side:
        """Return `must_not` as columns, which are read once: rules are asked under the same settings."""
        if not self._sides:
            id_map = settings.reading["id_map"]
            self._sides.append(
                IdSide("actual", self.must_not, id_map=id_map)
                if self.is_bare
                else Side("actual", self.must_not, **settings.reading)
            )
        return self._sides[0]

    @property
    def is_defined(self) -> BoolArray:
        """Whether a query forbids anything; shape (n_queries,)."""
        lists = np.fromiter(map(bool, self.must_not), bool, len(self.must_not))
        rules = np.fromiter((allowed is not None for allowed in self.allowed), bool, len(self.allowed))
        return np.asarray(lists | rules, dtype=bool)

    def repeated(self, times: Sequence[int]) -> Rules:
        """Return the rules of each query so many times one after another."""
        return replace(
            self,
            _sides=[],
            must_not=[one for one, n in zip(self.must_not, times, strict=True) for _ in range(n)],
            allowed=[one for one, n in zip(self.allowed, times, strict=True) for _ in range(n)],
        )

    def document(self, given: Any) -> Document:
        """Return an entry of `must_not` as a document."""
        return Document(id=as_id(given)) if self.is_bare else as_document(given)

    def metadata_of(self, document: Document) -> Mapping[str, Any]:
        """Return the metadata of a document, with those of the corpus where it has none."""
        known = self.corpus.get(document.id or "")
        return document.metadata if known is None else {**known, **document.metadata}

    def visible(self, actual: Any) -> tuple[list[Any], list[tuple[int, str]]]:
        """Return the gold that whoever asks may see, and the query and the reason of each other gold document.

        Gold that says nothing about any key, itself or in the corpus, is taken for visible.
        """
        if not any(self.allowed):
            return actual, []
        kept, hidden = list(actual), list[tuple[int, str]]()
        for query, allowed in enumerate(self.allowed):
            if allowed is not None and not isinstance(actual[query], Mapping):
                row = [self._visible(entry, allowed) for entry in actual[query]]
                hidden += [(query, why) for _, why in row if why is not None]
                kept[query] = [entry for entry, _ in row if entry is not None]
        return kept, hidden

    def _visible(self, given: Any, allowed: Allowed) -> tuple[Any, str | None]:
        if not self.corpus and (type(given) is str or (type(given) is Document and not given.metadata)):
            return given, None
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
        says_something = allowed.lacks(metadata) < len(allowed.keys)
        why = allowed.broken_by(metadata) if says_something else None
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
    """Return which retrieved documents of a batch break the rules of their query.

    Raises:
        InvalidInputError: A document of `must_not` cannot be read, or is gold, too.
    """
    reasons = _listed(batch, rules) if any(rules.must_not) else {}
    n_unknown = 0
    if any(allowed is not None for allowed in rules.allowed):
        n_unknown = _add_broken(reasons, batch, rules)
    positions = sorted(reasons)
    return Forbidden(np.array(positions, dtype=np.int64), [reasons[one] for one in positions], n_unknown)


def _add_broken(reasons: dict[int, Reason], batch: Batch, rules: Rules) -> int:
    """Add the documents that break `allowed`; return how many retrieved documents lack a key that it looks at."""
    side = batch.predicted
    metadata, bounds, ids = side.metadata(), side.offsets.tolist(), side.ids if rules.corpus else ()
    known: dict[tuple[Any, ...], tuple[str | None, bool]] = {}  # most documents look alike to a rule
    n_unknown = 0
    for query, allowed in enumerate(rules.allowed):
        if allowed is None:
            continue
        keys = allowed.keys
        for position in range(bounds[query], bounds[query + 1]):
            fields = metadata[position]
            if rules.corpus:
                fields = {**rules.corpus.get(ids[position] or "", {}), **fields}
            seen = (id(allowed), *map(fields.get, keys))
            try:
                found = known.get(seen)
            except TypeError:  # a value is a list
                found, seen = None, ()
            if found is None:
                found = allowed.broken_by(fields), allowed.lacks(fields) > 0
                if seen:
                    known[seen] = found
            why, lacks = found
            n_unknown += lacks
            if why is not None:
                reasons.setdefault(position, Reason(why, MISSING if lacks else FILTER))
    return n_unknown


def _listed(batch: Batch, rules: Rules) -> dict[int, Reason]:
    """Return the positions of retrieved documents that match one of their query's `must_not`, each with the reason."""
    settings = batch.settings
    try:
        side = rules.side(settings)
        by_id = settings.methods == ("id",)
        found = _with_ids(batch, side, rules) if by_id else _with_texts(batch, side, rules)
    except InvalidInputError:
        _read_carefully(rules)
        raise
    return {position: _reason(rules.document(document)) for position, document in found.items()}


def _read_carefully(rules: Rules) -> None:
    """Raise an error that names the place of a document in `must_not`, if one cannot be read."""
    for query, row in enumerate(rules.must_not):
        for place, one in enumerate(row):
            with errors_at(f"must_not[{query}][{place}]"):
                if as_need(one) is None if may_be_need(one) else True:
                    rules.document(one)


def _with_ids(batch: Batch, side: Side, rules: Rules) -> dict[int, Any]:
    """Return the forbidden documents that were retrieved by their ids, by position."""
    found: dict[int, Any] = {}
    bounds, first = batch.predicted.offsets.tolist(), side.offsets.tolist()
    is_plain = rules.is_bare and batch.settings.id_map is None and _are_plain(rules.must_not)
    wanted_ids = rules.must_not if is_plain else side.id_rows()
    rows = zip(wanted_ids, *map(_matched_ids, (batch.predicted, batch.actual)), strict=True)
    for query, (listed, row, gold) in enumerate(rows):
        if not listed:
            continue
        wanted = {*listed}
        wanted.discard(None)
        if not wanted.isdisjoint(gold):
            _refuse_both(f"{next(one for one in gold if one in wanted)!r:.60}", f"query {query}")
        if wanted.isdisjoint(row):
            continue
        for place, one in enumerate(row):
            if one in wanted:
                at = listed.index(one)
                given = rules.must_not[query] if rules.is_bare else side.documents[first[query] : first[query + 1]]
                found[bounds[query] + place] = given[at]
    return found


def _are_plain(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether these are ASCII strings, none of them empty: ids as they are compared."""
    ids = list(chain.from_iterable(rows))
    return set(map(type, ids)) <= {str} and all(ids) and "".join(ids).isascii()


def _matched_ids(side: Side) -> Iterable[Sequence[str | None]]:
    """Return the ids of each query, which were read when they were matched."""
    if isinstance(side, IdSide):
        return side.rows
    ids = side.ids
    return (ids[start:stop] for start, stop in pairwise(side.offsets.tolist()))


def _with_texts(batch: Batch, side: Side, rules: Rules) -> dict[int, Any]:
    """Return the forbidden documents that were retrieved by any method, by position."""
    first, gold_first = side.offsets.tolist(), batch.actual.offsets.tolist()
    for query, listed in enumerate(rules.must_not):
        banned = side.documents[first[query] : first[query + 1]] if listed else ()
        gold = batch.actual.documents[gold_first[query] : gold_first[query + 1]] if listed else ()
        names = {identity(as_document(one)) for one in banned} - {""}
        if (same := next((one for one in map(as_document, gold) if identity(one) in names), None)) is not None:
            _refuse_both(f"{same.text or same.metadata!r:.60}", f"query {query}")
    matches = find_matches(Batch(side, batch.predicted, batch.settings))
    found: dict[int, Any] = {}
    for gold, position in zip(matches.actual.tolist(), matches.predicted.tolist(), strict=True):
        found.setdefault(position, side.documents[gold])
    return found


def identity(document: Document) -> str | tuple[tuple[str, Any], ...]:
    """Return by what a document is the same as another one that is matched by text or span: its place, or its text."""
    place = tuple((key, one) for key in _PLACE if (one := document.metadata.get(key)) is not None)
    return place if len(place) > 2 else normalize(document.text or "")


def _refuse_both(name: str, question: str) -> NoReturn:
    raise InvalidInputError(
        f"{name} is gold and in `must_not` of {question}. It can be one of the two: take it out of one."
    )


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
    others = {identity(one) for one in must_not if one.id is None} - {""}
    for one in gold:
        if one.id in ids or (one.id is None and identity(one) in others):
            _refuse_both(named(one), question)
