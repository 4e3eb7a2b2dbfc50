"""Read what must not be retrieved: `must_not` and `allowed`, of lists of queries or of an evaluation set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.errors import (
    Argument,
    InvalidInputError,
    did_you_mean,
    errors_at,
    refuse,
    warn,
)
from krag_eval._utils.formatting import number_of
from krag_eval.datasets import EvalSet
from krag_eval.documents.access import Allowed
from krag_eval.documents.columns import Side
from krag_eval.documents.document import Document, as_document, may_be_need
from krag_eval.documents.readers import IdKey, as_id, fields_of, id_at, nfc
from krag_eval.matching import Batch
from krag_eval.matching.forbidden import Metadata, Rules, find_forbidden
from krag_eval.matching.id_batch import IdBatch
from krag_eval.matching.matchability import SideCounts
from krag_eval.matching.settings import ScoringSettings, Settings
from krag_eval.metrics.leaks import Leaks


def rules_of_lists(
    must_not: object,
    allowed: object,
    actual: object,
    settings: Settings,
    *,
    corpus: object = None,
    query_ids: Sequence[str] | None = None,
    is_bare: bool = False,
) -> Rules | None:
    """Return the rules of queries whose documents are given as lists; None if there are none.

    Args:
        must_not: The forbidden documents of each query, by position or by the id of the query.
        allowed: What whoever asks may see, the same.
        actual: The gold documents of each query.
        settings: The scoring settings; where ids alone are matched, strings are ids.
        corpus: Documents whose metadata count where a retrieved document lacks a key.
        query_ids: The ids of the queries.
        is_bare: Whether the documents are ids.

    Raises:
        InvalidInputError: A list or a condition cannot be read.
    """
    if must_not is None and allowed is None:
        return None
    if isinstance(actual, (str, bytes)) or not isinstance(actual, Sequence):
        refuse("actual", "a list with the gold documents of each query", actual)
    listed = _by_query("must_not", must_not, len(actual), query_ids)
    conditions = _by_query("allowed", allowed, len(actual), query_ids)
    if {*map(type, listed)} - {list, type(None)}:
        for query, row in enumerate(listed):
            if row is not None and (isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Iterable)):
                refuse(f"must_not[{query}]", "a list of documents, [] if none is forbidden", row)
    rows = [[] if row is None else row if type(row) is list else list(row) for row in listed]
    key = settings.id_key if settings.uses_ids else None
    types = set() if is_bare else set(map(type, chain.from_iterable(rows)))
    if not is_bare and ((settings.methods == ("id",) and types & {str, int}) or key is not None):
        rows = [[_as_document(one, key, only_ids=settings.methods == ("id",)) for one in row] for row in rows]
    rules: list[Allowed | None] = []
    known: dict[str, Allowed] = {}
    for query, one in enumerate(conditions):
        if one is not None and not isinstance(one, Mapping):
            refuse(f"allowed[{query}]", "a mapping from metadata keys to the values that are allowed, or None", one)
        rules.append(_allowed(one, known, f"allowed[{query}]") if one else None)
    return Rules(rows, rules, metadata_in(corpus), is_bare)


def _allowed(given: Mapping[str, Any], known: dict[str, Allowed], place: str) -> Allowed:
    """Return a condition as it was read before, if it was."""
    written = repr(given)
    if written not in known:
        with errors_at(place):
            known[written] = Allowed.of(given)
    return known[written]


def rules_of_set(questions: EvalSet, settings: Settings, corpus: object = None) -> Rules | None:
    """Return the rules of an evaluation set; None if no question forbids anything."""
    if not questions.has_rules:
        return None
    key = settings.id_key if settings.uses_ids else None
    listed = [[_under(one, key) for one in question.forbidden()] for question in questions]
    known: dict[str, Allowed] = {}
    allowed = [_allowed(one.allowed, known, one.id) if one.allowed else None for one in questions]
    return Rules(listed, allowed, metadata_in(corpus))


def corpus_of(settings: ScoringSettings) -> object:
    """Return the corpus among the settings, and take it from them where `allowed` alone reads it."""
    method = settings.get("match_method")
    by_span = method == "span" or (isinstance(method, Sequence) and [*method] == ["span"])
    return settings.get("corpus") if by_span else settings.pop("corpus", None)


def metadata_in(corpus: object) -> Metadata:
    """Return the metadata of the documents of a corpus by id; none for texts alone."""
    if corpus is None or isinstance(corpus, Mapping) or not isinstance(corpus, Iterable):
        return {}
    read = (as_document(one) for one in corpus)
    return {one.id: one.metadata for one in read if one.id is not None and one.metadata}


def leaks_of(batch: Batch, rules: Rules, offsets: Sequence[int] | IntArray | None = None) -> Leaks:
    """Return which ranks of a batch are forbidden.

    Args:
        batch: The input; a row for each search, if `offsets` are given.
        rules: What is forbidden for each row of the batch.
        offsets: The rows of session s are `offsets[s]` to `offsets[s + 1]`.
    """
    found = find_forbidden(batch, rules)
    place, rank = batch.predicted.places_of(found.positions)
    first = np.arange(len(batch) + 1) if offsets is None else np.asarray(offsets)
    return Leaks(
        is_defined=rules.is_defined[first[:-1]],
        list_query=np.repeat(np.arange(len(first) - 1), np.diff(first)),
        list_size=batch.predicted.sizes,
        place=place,
        rank=rank,
        reasons=found.reasons,
        documents=[_shown(batch, position) for position in found.positions.tolist()],
        n_unknown=found.n_unknown,
        listed=() if offsets is not None or rules.is_bare else rules.must_not,
    )


def _shown(batch: Batch, position: int) -> Document:
    id_ = batch.predicted.ids[position]
    document = Document(id=id_) if isinstance(batch, IdBatch) else as_document(batch.predicted.documents[position])
    return document if id_ is None else replace(document, id=id_)


def check_keys(side: Side, rules: Rules) -> None:
    """Warn of a key of `allowed` that no retrieved document has: it is probably misspelled.

    Without any document, or where a document may lack the key, nothing is said.
    """
    wanted = {key for one in rules.allowed if one is not None and not one.if_missing for key in one.keys}
    if not wanted or not side.documents:
        return
    known = {str(name) for fields in (*side.metadata(), *rules.corpus.values()) for name in fields}
    for key in sorted(wanted - known):
        warn(
            f"No document has {key!r:.60}, which ",
            Argument("allowed"),
            f" looks at, so every document counts as forbidden.{did_you_mean(key, known)} "
            "Give documents this key in their metadata, or name the right one.",
        )


def check_listed(batch: Batch, rules: Rules) -> None:
    """Warn of documents of `must_not` that lack what is compared: they are never found, whatever is retrieved."""
    if rules.is_bare or not any(rules.must_not):
        return
    side = rules.side(batch.settings)
    if batch.settings.methods == ("id",):
        n_without, n_listed = int((~side.has_id).sum()), len(side.has_id)
    else:
        counts = SideCounts.of(side, Batch(side, batch.predicted, batch.settings))
        n_without, n_listed = counts.without_any, counts.documents
    if n_without:
        compared = " and no ".join(
            name
            for name, reads in (
                ("id", batch.settings.uses_ids),
                ("text", batch.settings.uses_texts),
                ("place", batch.settings.uses_spans),
            )
            if reads
        )
        warn(
            f"{n_without:,} of {number_of(n_listed, 'document')} in ",
            Argument("must_not"),
            f" {'has' if n_without == 1 else 'have'} no {compared}, which ",
            Argument("match_method", "+".join(batch.settings.methods)),
            " compares: these leaks cannot be found. Give it, or match by what they have.",
        )


def say_hidden(hidden: Sequence[tuple[int, str]]) -> None:
    """Say how many gold documents whoever asks may not see; they are no gold for that question."""
    if hidden:
        n_queries = len({query for query, _ in hidden})
        warn(
            f"{number_of(len(hidden), 'gold document')} of {number_of(n_queries, 'question')} may not be seen by "
            f"whoever asks, and {'is' if len(hidden) == 1 else 'are'} left out: {hidden[0][1]}."
        )


def _by_query(name: str, given: object, n_queries: int, query_ids: Sequence[str] | None) -> list[Any]:
    if given is None:
        return [None] * n_queries
    if isinstance(given, Mapping):
        if query_ids is None:
            refuse(name, f"a list with one entry for each of {n_queries} queries", given, "Or give `query_ids` too.")
        known = {nfc(str(one)): place for place, one in enumerate(query_ids)}
        rows: list[Any] = [None] * n_queries
        for query, row in given.items():
            place = known.get(as_id(query) or "")
            if place is None:
                raise InvalidInputError(f"`{name}` names the query {query!r:.60}, which is none of the queries.")
            rows[place] = row
        return rows
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or len(given) != n_queries:
        refuse(name, f"a list with one entry for each of {n_queries} queries", given)
    return list(given)


def _as_document(given: Any, key: IdKey | None, *, only_ids: bool) -> Any:
    """Return a bare id as a document, and a document with its id under the key where ids are read."""
    if only_ids and type(given) in (str, int):
        given = {"id": given}
    if key is None or may_be_need(given):
        return given
    return _under(as_document(given), key)


def _under(document: Document, key: IdKey | None) -> Document:
    """Return a document with its id under the key where ids are read."""
    if key is None or document.id is None or id_at(document.metadata, key) is not None:
        return document
    return replace(document, metadata={**document.metadata, **fields_of(document.id, key)})
