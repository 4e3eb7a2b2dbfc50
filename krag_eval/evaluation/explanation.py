"""Explain one query: which gold document was found where, by which method, and what each rank earned."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.errors import show
from krag_eval._utils.formatting import number_of, one_line
from krag_eval._utils.objects import ShortRepr
from krag_eval.documents.document import DOC_KEY, Document, as_document
from krag_eval.documents.readers import shown_id
from krag_eval.evaluation.detail import Detail, SearchOutcome
from krag_eval.matching import Batch, Matches
from krag_eval.matching.nearest import Nearest
from krag_eval.metrics.ndcg import ideal_of
from krag_eval.metrics.spans import SpanParts

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Match:
    """One matching pair.

    Attributes:
        gold: The gold document, as a place in the query's gold list, from 0.
        rank: The rank, from 1.
        method: The method that matched: of several, the first that holds.
        similarity: From 0 to 1; 1 for methods that know only yes and no.
    """

    gold: int
    rank: int
    method: str
    similarity: float


@dataclass(frozen=True, slots=True, repr=False)
class GoldOutcome(ShortRepr):
    """What became of one gold document.

    Attributes:
        document: The document as it was read.
        is_counted: Whether it is a gold document; one judged not relevant (grade 0) is none.
        repeat_of: The place of an earlier gold document that is the same, else None. Both count as one.
        match: How it was found, at its best rank; None where it was missed or is not counted. All alternatives of a
            need share it, and its `gold` says which of them was found.
        nearest: Where it was missed, the most similar retrieved text, if one is near (0.6 of the threshold).
        grade: Its grade, of equal documents the highest; 0 or less where it is not counted.
        gain: What nDCG makes of the grade: 2^grade - 1 or the grade itself, by the setting `gain`.
        alternative_to: The place of the first alternative of its need, else None. The need counts once, as that one.
        held: Of a span, the parts that the ranks up to the cut-off hold, as starts and ends within it; else None.
        length: The length of a span, 0 for other gold documents.
    """

    document: Document
    is_counted: bool
    repeat_of: int | None
    match: Match | None
    nearest: Match | None = None
    grade: float = 1.0
    gain: float = 1.0
    alternative_to: int | None = None
    held: SpanParts | None = None
    length: int = 0

    @property
    def is_one(self) -> bool:
        """Whether it counts as one gold document: it has a grade, and is no repeat and no further alternative."""
        return self.is_counted and self.repeat_of is None and self.alternative_to is None

    @property
    def share(self) -> float | None:
        """The share of a span's characters that was retrieved; None for other gold documents."""
        if self.held is None:
            return None
        return sum(end - start for start, end in self.held) / self.length

    @property
    def is_missed(self) -> bool:
        """Whether it counts and no rank matches it, nor another alternative of its need."""
        return self.is_one and self.match is None


@dataclass(frozen=True, slots=True, repr=False)
class RankOutcome(ShortRepr):
    """What one rank earned.

    Attributes:
        rank: The rank, from 1.
        document: The document as it was read.
        repeat_of: The rank of an earlier document that is the same, else None.
        is_relevant: It matches a gold document and repeats no earlier rank.
        is_credited: It and all credited ranks above it can be given different gold documents: average precision
            counts it.
        matches: Every gold document that it matches.
        assigned: The gold document that nDCG gives it, as a place in the query's gold list, that of the first
            alternative of a need; None where it gives none.
        gain: The gain of that document, 0 where there is none. DCG@k is the sum of gain / log2(rank + 1).
        evidence: Of a chunk with a place, the parts that lie in gold spans, as starts and ends within it; else None.
        forbidden: Why the document must not be retrieved; None if it may be.
    """

    rank: int
    document: Document
    repeat_of: int | None
    is_relevant: bool
    is_credited: bool
    matches: tuple[Match, ...]
    assigned: int | None = None
    gain: float = 0.0
    evidence: SpanParts | None = None
    forbidden: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(ShortRepr):
    """One query, explained; print it. Every metric up to rank `k` can be computed by hand from it.

    Attributes:
        index: Which query, from 0.
        query: Its text or id, where one was given.
        gold: One entry per gold document, in the order given, with the alternatives in the place of each need.
        ranks: One entry per retrieved document, in rank order.
        error: What the retriever raised, if it did.
        k: The cut-off for which nDCG assigned gold documents to ranks; None for all ranks. With grades that differ,
            another cut-off may assign them otherwise.
        searches: In a session of several searches, what each brought; `ranks` then holds the documents of all, one
            search after another.
    """

    index: int
    query: str | None
    gold: tuple[GoldOutcome, ...]
    ranks: tuple[RankOutcome, ...]
    error: str | None = None
    k: int | None = None
    searches: tuple[SearchOutcome, ...] = ()

    @property
    def missed(self) -> tuple[GoldOutcome, ...]:
        """The gold documents that no rank matches; of needs the first alternatives."""
        return tuple(outcome for outcome in self.gold if outcome.is_missed)

    def __str__(self) -> str:
        counted = [outcome for outcome in self.gold if outcome.is_one]
        shared = {outcome.alternative_to for outcome in self.gold} - {None}
        is_graded = any(outcome.grade != 1 for outcome in counted)
        title = f"Query {self.index}" + (f": {one_line(self.query)}" if self.query else "")
        n_gold = number_of(len(counted), "need") if shared else str(len(counted))
        lines = [title, f"  gold: {n_gold}, found: {len(counted) - len(self.missed)}"]
        if self.error is not None:
            lines.append(f"  the retriever raised {one_line(self.error)}")
        for place, outcome in enumerate(self.gold):
            grade = f" (grade {outcome.grade:g}, gain {outcome.gain:g})" if outcome in counted and is_graded else ""
            became = _what_became(outcome, self._name_of, is_need=place in shared)
            if outcome.alternative_to is not None:
                became = f"an alternative to [{outcome.alternative_to}]"
            lines.append(f"    [{place}] {show_document(outcome.document)}{grade}: {became}")
        lines.append(f"  retrieved: {len(self.ranks)}")
        titles = {self._first_of(search): f"   {search}" for search in self.searches if search.n_retrieved}
        for rank in self.ranks:
            lines += [titles[rank.rank]] if rank.rank in titles else []
            is_shown = is_graded and rank.is_relevant and (self.k is None or rank.rank <= self.k) and not self.searches
            gain = "no gain in ndcg" if rank.assigned is None else f"gain {rank.gain:g} of [{rank.assigned}]"
            lines.append(
                f"    {self._place(rank.rank)[1]:>3}. {show_document(rank.document)}: {_earned(rank, self._name_of)}"
                + f"; {gain}" * is_shown
            )
        return "\n".join(lines)

    def _first_of(self, search: SearchOutcome) -> int:
        return 1 + sum(earlier.n_retrieved for earlier in self.searches[: search.number - 1])

    def _place(self, rank: int) -> tuple[int | None, int]:
        """Return the search, and the rank in it, of a rank in all that was retrieved."""
        for search in reversed(self.searches):
            if self._first_of(search) <= rank and search.n_retrieved:
                return search.number, rank - self._first_of(search) + 1
        return None, rank

    def _name_of(self, rank: int) -> str:
        search, within = self._place(rank)
        return f"rank {within}" if search is None else f"rank {within} of search {search}"


def explain(detail: Detail, index: int, k: int | None, nearest: Nearest | None = None) -> Explanation:
    """Explain query `index` up to rank `k`; `nearest` has the nearest texts of all, where they are known."""
    batch, judged, settings = detail.batch, detail.judged, detail.batch.settings
    start, stop = batch.predicted.offsets[index : index + 2].tolist()
    found = matches_of(batch, detail.matches, index)
    held, evidence = detail.shared_parts(index, k) if settings.uses_spans else ((), ())
    gold = tuple(_gold_outcomes(detail, index, nearest, held))
    relevant = _ranks_of(index, judged.relevant_query, judged.relevant_rank)
    credited = _ranks_of(index, judged.credited_query, judged.credited_rank)
    ideal, first_gold = ideal_of(judged, settings.gain), int(batch.actual.offsets[index])
    assigned = {
        rank: int(detail.gold.first[number]) - first_gold
        for rank, number in judged.assigned(index, ideal.gains, ideal.discounts, k).items()
    }
    forbidden = {} if detail.leaks is None else detail.leaks.reasons_of(index)
    ranks = tuple(
        RankOutcome(
            rank=rank,
            document=as_document(document, id_key=settings.id_key),
            repeat_of=detail.repeats[start + rank - 1] - start + 1 if start + rank - 1 in detail.repeats else None,
            is_relevant=rank in relevant,
            is_credited=rank in credited,
            matches=tuple(match for match in found if match.rank == rank),
            assigned=assigned.get(rank),
            gain=gold[assigned[rank]].gain if rank in assigned else 0.0,
            evidence=evidence[rank - 1] if evidence else None,
            forbidden=forbidden.get(rank),
        )
        for rank, document in enumerate(batch.predicted.documents[start:stop], 1)
    )
    named, asked = detail.names(index)
    searches = () if detail.sessions is None else tuple(detail.search_outcomes(k)[index])
    query = named if detail.queries is None else asked
    return Explanation(index, query, gold, ranks, batch.predicted.errors.get(index), k, searches)


def matches_of(batch: Batch, matches: Matches, index: int) -> list[Match]:
    """Return the matching pairs of one query, by rank."""
    gold_start, start = int(batch.actual.offsets[index]), int(batch.predicted.offsets[index])
    first, last = np.searchsorted(matches.predicted, [start, batch.predicted.offsets[index + 1]]).tolist()
    return [
        Match(actual - gold_start, predicted - start + 1, matches.methods[method], similarity)
        for actual, predicted, similarity, method in zip(
            matches.actual[first:last].tolist(),
            matches.predicted[first:last].tolist(),
            matches.similarity[first:last].tolist(),
            matches.method[first:last].tolist(),
            strict=True,
        )
    ]


def _gold_outcomes(
    detail: Detail, index: int, nearest: Nearest | None, held: Sequence[SpanParts | None]
) -> Iterator[GoldOutcome]:
    batch, judged, table = detail.batch, detail.judged, detail.gold
    settings, side = batch.settings, batch.actual
    start, stop = side.offsets[index : index + 2].tolist()
    if nearest is None and (judged.missed_gold[start:stop] >= 0).any():
        nearest = detail.nearest_in([index])
    for place in range(start, stop):
        number = int(judged.gold_number[place])
        grade = judged.gold_grade.item(number) if number >= 0 else side.grades.item(place)
        match = near = None
        if number >= 0 and judged.gold_rank[number]:
            match = _match(table.matched, number, int(table.matched.gold[number]) - start, settings.methods)
        elif number >= 0 and nearest is not None and nearest.rank[number]:
            at = nearest.gold[number] if side.needs is not None else table.first[number]
            near = _match(nearest, number, int(at) - start, settings.methods)
        repeat_of, alternative_to = int(table.repeat_of[place]), int(table.alternative_to[place])
        yield GoldOutcome(
            document=as_document(
                side.documents[place], id_key=settings.id_key, grade_key=settings.grade_key, is_gold=True
            ),
            is_counted=number >= 0,
            repeat_of=repeat_of if repeat_of >= 0 else None,
            match=match,
            nearest=near,
            grade=grade,
            gain=_gain(max(grade, 0.0), settings.gain),
            alternative_to=alternative_to if alternative_to >= 0 else None,
            held=held[place - start] if held else None,
            length=int(batch.places.actual.end[place] - batch.places.actual.start[place]) if held else 0,
        )


def _match(found: Nearest, number: int, gold: int, methods: Sequence[str]) -> Match:
    method = methods[int(found.method[number])]
    return Match(gold, int(found.rank[number]), method, float(found.similarity[number]))


def _gain(grade: float, gain: str) -> float:
    if gain == "linear":
        return grade
    return 2.0**grade - 1 if grade < sys.float_info.max_exp else math.inf


def _ranks_of(index: int, query: IntArray, rank: IntArray) -> set[int]:
    """Return the ranks of one query, in columns that are sorted by query."""
    first, last = np.searchsorted(query, [index, index + 1]).tolist()
    return set(rank[first:last].tolist())


def show_document(document: Document, most: int = 60) -> str:
    """Return the id and the beginning of the text of a document, on one line."""
    text = " ".join((document.text or "").split())
    name = shown_id(document.id or "")
    if document.id is None and {DOC_KEY, "start", "end"} <= document.metadata.keys():
        name = f"{document.metadata[DOC_KEY]}[{document.metadata['start']}:{document.metadata['end']}]"
    return " ".join(part for part in (one_line(name), show(text, most) if text else "") if part)


def _what_became(outcome: GoldOutcome, name_of: Callable[[int], str], *, is_need: bool) -> str:
    share = f"; {outcome.share:.0%} of its characters retrieved" if outcome.share is not None else ""
    return _found_or_missed(outcome, name_of, is_need=is_need) + share


def _found_or_missed(outcome: GoldOutcome, name_of: Callable[[int], str], *, is_need: bool) -> str:
    if not outcome.is_counted:
        return f"not counted, its grade is {outcome.grade:g}"
    if outcome.repeat_of is not None:
        return f"the same as [{outcome.repeat_of}]"
    if outcome.match is None:
        near = outcome.nearest
        if near is None:
            return "missed"
        which = f", to [{near.gold}]" if is_need else ""
        return f"missed, the nearest is {name_of(near.rank)} ({near.similarity:.3f}){which}"
    which = f" as [{outcome.match.gold}]" if is_need else ""
    match = outcome.match
    return f"found at {name_of(match.rank)}{which} by {match.method} ({match.similarity:.3f})"


def _earned(outcome: RankOutcome, name_of: Callable[[int], str]) -> str:
    n_shared = sum(end - start for start, end in outcome.evidence or ())
    if outcome.forbidden is not None:
        return f"FORBIDDEN: {one_line(outcome.forbidden)}"
    return _credit_of(outcome, name_of) + (f"; {number_of(n_shared, 'character')} in gold spans" if n_shared else "")


def _credit_of(outcome: RankOutcome, name_of: Callable[[int], str]) -> str:
    if outcome.repeat_of is not None:
        return f"repeats {name_of(outcome.repeat_of)}"
    if not outcome.is_relevant:
        return "-"
    by = ", ".join(f"[{m.gold}] by {m.method} ({m.similarity:.3f})" for m in outcome.matches)
    return f"{'credited' if outcome.is_credited else 'relevant'}: matches {by}"
