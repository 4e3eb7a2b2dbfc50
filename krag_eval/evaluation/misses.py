"""List the queries that went wrong: what was asked, which gold documents were missed and why, and what came instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import UnknownMetricError
from krag_eval._utils.formatting import format_value, number_of, one_line
from krag_eval._utils.objects import ShortRepr
from krag_eval._utils.serialization import plain_fields
from krag_eval.documents.document import Document, as_document
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.causes import FOUND, decide
from krag_eval.evaluation.detail import Detail, Rows, Scored, cut_off_of, describe_misses, detail_of
from krag_eval.evaluation.diagnosis import Miss, misses_of
from krag_eval.evaluation.explanation import show_document
from krag_eval.metrics.aggregation import key_of
from krag_eval.metrics.names import as_key, is_lower_better
from krag_eval.metrics.ranking import recall
from krag_eval.metrics.sessions import session_recall

MOST_SHOWN = 10
_MOST_DOCUMENTS = 3
# By which of its metrics a result ranks its queries, if none is named: those that see the rank come first.
_USUAL = ("ndcg", "map", "mrr", "recall", "session_recall")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReviewedQuery(ShortRepr):
    """One query of `result.misses()` or `result.worst()`; print it.

    Attributes:
        index: Its place in the input, from 0, as `result.explain` takes it.
        id: Its id, where ids were given.
        query: Its text, where texts were given.
        key: The value that it was chosen by, such as `recall@5`.
        value: That value.
        first_rank: The rank of the first relevant document, also below the cut-off; None where no rank is relevant.
        gold: Its gold documents; repeats and those of grade 0 are left out. Of a need, the alternative that was found,
            or else that of its miss.
        gold_ranks: The best rank that matches each of these; None where no rank does.
        causes: For each of these `"found"`, or a cause as in `diagnose`.
        misses: Those that were missed within the cut-off, with the nearest text that was retrieved instead.
        retrieved: What was retrieved, down to the cut-off.
        error: What the retriever raised, if it did.
        searches: In a session, the number from 1 of the search that retrieved each of these; empty for one ranking.
            Ranks are those within a search.
    """

    index: int
    id: str | None
    query: str | None
    key: str
    value: float
    first_rank: int | None
    gold: tuple[Document, ...]
    gold_ranks: tuple[int | None, ...]
    causes: tuple[str, ...]
    misses: tuple[Miss, ...]
    retrieved: tuple[Document, ...]
    error: str | None
    searches: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the query as one dict for JSON and tables; documents are lists of ids and of texts."""
        return {
            **plain_fields(self, "index", "id", "query"),
            "metric": self.key,
            **plain_fields(self, "value", "first_rank"),
            "n_gold": len(self.gold),
            "n_missed": len(self.misses),
            "gold_ids": [document.id for document in self.gold],
            "gold_texts": [document.text for document in self.gold],
            **plain_fields(self, "gold_ranks", "causes"),
            "retrieved_ids": [document.id for document in self.retrieved],
            "retrieved_texts": [document.text for document in self.retrieved],
            "error": self.error,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        name = f"query {self.index}" if self.id is None else self.id
        yield one_line(name if self.query in (None, "", self.id) else f"{name}: {self.query}")
        first = "no hit" if self.first_rank is None else f"first hit at rank {self.first_rank}"
        yield f"  {self.key} {format_value(self.value)}, {first}"
        if self.error is not None:
            yield f"  error      {one_line(self.error)}"
        yield from _listed("missed", [f"{miss.name}: {miss.reason}" for miss in self.misses])
        gold = zip(self.gold, self.gold_ranks, self.causes, strict=True)
        yield from _listed(
            "found", [f"{show_document(document)}: rank {rank}" for document, rank, cause in gold if cause == FOUND]
        )
        named = [f"{n}. {show_document(document)}" for n, document in enumerate(self.retrieved, 1)]
        if self.searches:
            found = zip(self.searches, self.retrieved, strict=True)
            named = [f"search {search}: {show_document(document)}" for search, document in found]
        yield from _listed("retrieved", named)


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    shown = list(lines[:_MOST_DOCUMENTS])
    if len(lines) > len(shown):
        shown.append(f"and {len(lines) - len(shown)} more")
    for place, line in enumerate(shown):
        yield f"  {'' if place else title:<9}  {line}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class QueryReview(Rows[ReviewedQuery]):
    """Some queries of a result: what `result.misses()` and `result.worst()` return; print it, or go through it.

    Attributes:
        title: What these queries are, in words.
        rows: The queries.
        key: The value that they were chosen by, such as `recall@5`.
        n_queries: How many queries the result has.
        n_undefined: How many of these were left out, because the value is undefined for them.
    """

    title: str
    rows: tuple[ReviewedQuery, ...]
    key: str
    n_queries: int
    n_undefined: int

    def describe(self, most: int | None = MOST_SHOWN, rest: str = "`to_dicts()` and `to_pandas()` return all") -> str:
        """Return the queries as text.

        Args:
            most: How many are shown; None shows all.
            rest: Where the others are, in words.
        """
        shown = self.rows[:most]
        lines = [self.title, *map(str, shown)]
        if len(shown) < len(self.rows):
            lines.append(f"... and {len(self.rows) - len(shown)} more. {rest}.")
        if self.n_undefined:
            without = number_of(self.n_undefined, "query")
            lines.append(f"{without} left out: {self.key} is undefined there, for example without gold documents.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()


def misses(result: Scored, k: int | None = None, *, doc_key: IdKey = "doc_id") -> QueryReview:
    """Return every query that misses a gold document within rank k; see `EvaluationResult.misses`."""
    detail = detail_of(result, "`misses` is not available")
    cut_off = cut_off_of(result, k, "misses")
    sessions = detail.sessions
    key = key_of("recall" if sessions is None else "session_recall", cut_off)
    values = detail.values.get(key)
    if values is None and sessions is not None:
        values = session_recall(detail.judged, cut_off, sessions=sessions)
    elif values is None:
        values = recall(detail.judged, cut_off)
    chosen = np.flatnonzero(values < 1)
    n_defined = int((~np.isnan(values)).sum())
    title = describe_misses(len(chosen), n_defined, cut_off)
    return _review(result, detail, title, key, values, chosen, cut_off, doc_key)


def worst(result: Scored, n: int = 10, metric: str | None = None, *, doc_key: IdKey = "doc_id") -> QueryReview:
    """Return the n queries with the worst values; see `EvaluationResult.worst`."""
    detail = detail_of(result, "`worst` is not available")
    count = check_count("n", n)
    key = _key_of(detail, metric)
    values = detail.values[key]
    cut_off = key.partition("@")[2]
    highest_first = is_lower_better(key)
    order = np.argsort(-values if highest_first else values, kind="stable")
    chosen = order[~np.isnan(values[order])][:count]
    title = (
        f"The {'highest' if highest_first else 'lowest'} {len(chosen)} of {number_of(result.n_queries, 'query')} "
        f"by {key}"
    )
    k = int(cut_off) if cut_off.isdecimal() else None
    return _review(result, detail, title, key, values, chosen, k, doc_key)


def _key_of(detail: Detail, metric: str | None) -> str:
    """Return the key of a metric, at the largest cut-off if none is named."""
    keys = list(detail.values)
    by_name = {key.partition("@")[0]: key for key in keys}  # cut-offs go up: the last one stays
    if metric is None:
        return next((by_name[name] for name in _USUAL if name in by_name), keys[-1])
    asked = as_key(metric)
    if asked in detail.values:
        return asked
    if asked in by_name:
        return by_name[asked]
    from krag_eval._utils.suggestions import key_hint

    raise UnknownMetricError(f"No query has a value {metric!r:.60}.{key_hint(metric, keys)}")


def _review(
    result: Scored,
    detail: Detail,
    title: str,
    key: str,
    values: FloatArray,
    chosen: IntArray,
    k: int | None,
    doc_key: IdKey,
) -> QueryReview:
    fates = decide(result, k, doc_key, queries=chosen.tolist())
    first = detail.judged.first_relevant_within(None).tolist()
    rows = []
    batch, id_key = detail.documents, detail.batch.settings.id_key
    golds, retrieved, bounds = batch.actual.documents, batch.predicted.documents, batch.predicted.offsets.tolist()
    gold_ranks, shown = detail.gold_rank.tolist(), fates.shown.tolist()
    sides = (np.searchsorted(detail.judged.gold_query, chosen, side).tolist() for side in ("left", "right"))
    numbers_of = [range(*ends) for ends in zip(*sides, strict=True)]
    missed = defaultdict[int, list[Miss]](list)
    for miss in misses_of(detail, fates, chain.from_iterable(numbers_of)):
        missed[miss.query_index].append(miss)
    for index, numbers in zip(chosen.tolist(), numbers_of, strict=True):
        start, stop = bounds[index : index + 2]
        searches, ranks = ([], range(1, stop - start + 1)) if detail.sessions is None else detail.sessions.places(index)
        places = [place for place, rank in enumerate(ranks) if k is None or rank <= k]
        named, asked = detail.names(index)
        rows.append(
            ReviewedQuery(
                index=index,
                id=named,
                query=asked,
                key=key,
                value=values[index].item(),
                first_rank=detail.place(index, first[index])[1] or None,
                gold=tuple(as_document(golds[shown[n]], id_key=id_key) for n in numbers),
                gold_ranks=tuple(gold_ranks[n] or None for n in numbers),
                causes=tuple(fates.cause[n] for n in numbers),
                misses=tuple(missed[index]),
                retrieved=tuple(as_document(retrieved[start + at], id_key=id_key) for at in places),
                searches=tuple(searches[place] for place in places) if searches else (),
                error=result.errors.get(index),
            )
        )
    n_undefined = int(np.isnan(values).sum())
    return QueryReview(title=title, rows=tuple(rows), key=key, n_queries=result.n_queries, n_undefined=n_undefined)
