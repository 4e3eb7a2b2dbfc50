"""Find out why gold documents were missed, and what recall could gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.checks import check_threshold
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval._utils.formatting import format_value, number_of, one_line
from krag_eval._utils.objects import ComparedByFields
from krag_eval._utils.serialization import Tabular, data_frame, plain_fields
from krag_eval.documents.columns import runs
from krag_eval.documents.document import Document, as_document
from krag_eval.documents.readers import reader_of, split_pair
from krag_eval.documents.text import forms_of, normalize
from krag_eval.documents.tokenizers import TOKENIZERS, tokenize_all
from krag_eval.evaluation.explanation import show_document
from krag_eval.evaluation.results import Detail, EvaluationResult, detail_of, largest_cut_off
from krag_eval.matching import Batch
from krag_eval.matching.id_batch import with_documents
from krag_eval.matching.near_duplicates import near_pairs
from krag_eval.matching.nearest import NEAR, Nearest, nearest_of, some_queries
from krag_eval.metrics.cut_offs import TokenBudget, check_cut_offs
from krag_eval.metrics.judgments import Judgments, repeated_positions
from krag_eval.metrics.spans import found_shares

if TYPE_CHECKING:
    import pandas as pd

    from krag_eval.metrics.sessions import SessionJudgments

FOUND = "found"
# In the order in which they are looked for: the first that holds is the cause.
CAUSES = {
    "retriever_error": "the retriever raised",
    "nothing_retrieved": "nothing was retrieved",
    "crowded_out": "without repeats and near duplicates above it, it would be within the cut-off",
    "ranked_below_k": "it was retrieved, but below the cut-off",
    "other_id": "the same text was retrieved under another id",
    "in_longer_text": "a retrieved text contains it",
    "cut": "a chunk border cuts it: a retrieved text holds only its beginning or its end",
    "piece": "a piece of it was retrieved, without its beginning and its end",
    "near_miss": "a retrieved text is similar, but under the threshold",
    "wrong_chunk": "another chunk of the same document was retrieved",
    "never_retrieved": "nothing like it was retrieved",
    "not_cited": "it was found, and the answer cites nothing that satisfies it",
    "never_searched_for": "no search of the session asked for it",
    "searched_in_vain": "a search of the session asked for it, and nothing like it was retrieved",
}
# These are decided by the texts alone: a retrieved text holds all of the gold text, or a part of it.
_HELD = ("other_id", "in_longer_text", "cut", "piece")
# A part has at least 20 characters, or a quarter of the gold text if that is less; but never fewer than 8.
_LEAST_PART, _LEAST_OF_ALL = 20, 8


@dataclass(frozen=True, slots=True)
class Miss:
    """One gold document that was missed.

    Attributes:
        query_index: Its query's place in the input, from 0.
        query_id: Its query's id, where ids were given.
        query: Its query's text, where texts were given.
        gold_index: Its place in the query's gold list, from 0; of a need, the place of its first alternative.
        gold: The document; of a need, the alternative that shows the cause, else the first.
        cause: A key of `CAUSES`.
        rank: The rank that matches it, below the cut-off; else None.
        near_rank: The rank of the retrieved text that shows the cause, or else of the most similar one, where one is
            near; else None.
        similarity: The similarity of that text, from 0 to 1; of `other_id`, `in_longer_text`, `cut` and `piece` the
            share of the gold text that it holds.
        near: That document.
        n_alternatives: How many documents would have satisfied the need; 1 for a document on its own.
        share: Of a span, or a need of spans, the largest share of an alternative that the ranks within the cut-off
            hold together; None where spans are not matched.
        search: In a session, the number from 1 of the search whose ranks `rank` and `near_rank` are; else None.
    """

    query_index: int
    query_id: str | None
    query: str | None
    gold_index: int
    gold: Document
    cause: str
    rank: int | None
    near_rank: int | None
    similarity: float | None
    near: Document | None
    n_alternatives: int = 1
    share: float | None = None
    search: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the miss as one flat dict without `n_alternatives` of 1, and without `share` and `search` of None."""
        row: dict[str, Any] = {"n_alternatives": self.n_alternatives} if self.n_alternatives > 1 else {}
        row |= {name: value for name in ("search", "share") if (value := getattr(self, name)) is not None}
        row |= plain_fields(self, "query_index", "query_id", "query", "gold_index")
        row |= {"gold_id": self.gold.id, "gold_text": self.gold.text}
        row |= plain_fields(self, "cause", "rank", "near_rank", "similarity")
        return row | {"near_id": getattr(self.near, "id", None), "near_text": getattr(self.near, "text", None)}

    @property
    def reason(self) -> str:
        """The cause in words, with the rank or the similarity that belongs to it."""
        share = self.similarity or 0
        measured = {"near_miss": f"similarity {share:.3f} at ", "cut": f"{share:.0%} of it at "}
        measured["piece"] = measured["cut"]
        rank = self.near_rank if self.cause in ("near_miss", *_HELD) else self.rank
        retrieved = "" if self.share is None else f"; {self.share:.0%} of its characters retrieved within the cut-off"
        search = "" if self.search is None else f"search {self.search}, "
        where = f" ({measured.get(self.cause, '')}{search}rank {rank})" if rank else ""
        return CAUSES[self.cause] + where + retrieved

    def __str__(self) -> str:
        name = self.query_id or self.query or f"query {self.query_index}"
        return f"{one_line(name)}: {self.name}: {self.reason}"

    @property
    def name(self) -> str:
        """The gold document on one line, with the number of its alternatives."""
        others = number_of(self.n_alternatives - 1, "alternative")
        return show_document(self.gold) + (f" (or {others})" if self.n_alternatives > 1 else "")


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Macro recall at the cut-off, and what it could be at most.

    Attributes:
        recall: As it is.
        with_perfect_reranking: With the same documents in the best order. At most: a rank that matches several gold
            documents counts with all of them.
        without_repeats: With documents that repeat an earlier one of their query taken out; None for sessions.
    """

    recall: float | None
    with_perfect_reranking: float | None
    without_repeats: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Tabular, ComparedByFields):
    """The causes of all misses of a result.

    Attributes:
        k: The cut-off.
        signature: The signature of the result.
        causes: `"found"` or a key of `CAUSES` for each gold document; repeats are merged, grade 0 is left out.
        gold_queries: The query of each of these; shape (n_gold,).
        misses: Every gold document that was missed.
        ceilings: Recall as it is, and what it could be.
        doc_key: The metadata key of document ids.
    """

    k: int | None
    signature: str
    causes: tuple[str, ...]
    gold_queries: IntArray
    misses: tuple[Miss, ...]
    ceilings: Ceilings
    doc_key: str = "doc_id"

    @property
    def n_gold(self) -> int:
        """How many gold documents there are."""
        return len(self.causes)

    @property
    def n_found(self) -> int:
        """How many were found within the cut-off."""
        return self.causes.count(FOUND) + self.causes.count("not_cited")

    @property
    def title(self) -> str:
        """How many gold documents were found, in words."""
        at = "" if self.k is None else f" within rank {self.k}"
        what = "needs" if "|needs:" in self.signature else "gold documents"
        return f"{self.n_found} of {self.n_gold} {what} found{at}"

    @property
    def counts(self) -> dict[str, int]:
        """How many gold documents were missed for each cause, in the order of `CAUSES`; causes without any left out."""
        counter = Counter(self.causes)
        return {cause: counter[cause] for cause in CAUSES if counter[cause]}

    def to_dict(self) -> dict[str, Any]:
        """Return counts, ceilings and every miss, ready for JSON."""
        return plain_fields(self, "signature", "k", "n_gold", "n_found", "counts", "ceilings", "misses")

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per missed gold document, with its cause. Needs pandas."""
        return data_frame(self._rows()[0], "diagnosis.to_pandas()")

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        return [miss.to_dict() for miss in self.misses], ("similarity", "share")

    def to_latex(self) -> str:
        """Return a LaTeX `tabular` with the gold documents by cause. It needs the package booktabs."""
        from krag_eval.report import diagnosis_latex

        return diagnosis_latex(self)

    def _repr_html_(self) -> str:
        """Return causes, ceilings and the first misses as HTML tables, for notebooks."""
        from krag_eval.report import diagnosis_html

        return diagnosis_html(self)

    def __repr__(self) -> str:
        lines = [f"Diagnosis: {self.title}"]
        lines += [f"  {count:>6}  {cause:<17} {CAUSES[cause]}" for cause, count in self.counts.items()]
        for name, value in asdict(self.ceilings).items():
            lines.append(f"  {format_value(value):>6}  {name.replace('_', ' ')}")
        return "\n".join(lines)


def diagnose(
    result: EvaluationResult, k: int | None = None, *, doc_key: str = "doc_id", near: float = NEAR
) -> Diagnosis:
    """Give every gold document that was missed one cause, decided from the lists alone.

    The causes are those of `CAUSES`, looked for in that order:

    * `crowded_out`: it was retrieved below rank k, and would be within it without the repeats and near duplicates above
      it. Two texts are near duplicates if the F-measure of their ROUGE-L is at least 0.85.
    * `other_id`, `in_longer_text`, `cut`, `piece`: a retrieved text, at any rank, equals the gold text, contains it,
      holds its beginning or its end but not both, or is a part from within it, after normalising. A part has at least
      20 characters, or a quarter of the gold text if that is less, but never fewer than 8. Of several texts the one
      that holds most decides.
    * `near_miss`: the most similar retrieved text reaches `near` times the threshold. It goes before `cut` and `piece`
      if that text holds no part, and its similarity is larger than the share that another text holds.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        k: The cut-off; the largest of the result by default.
        doc_key: The metadata key under which gold and retrieved chunks carry the id of their document.
        near: The share of the threshold from which a similarity counts as near, above 0 and at most 1. Methods that
            know only yes and no are measured by ROUGE-1 against a threshold of 1.

    Returns:
        Counts, every miss with its texts, and two ceilings for recall.

    Raises:
        InvalidInputError: The result was streamed and kept no documents, or an argument cannot be used.

    >>> from krag_eval import evaluate
    >>> result = evaluate([["a b c d"], ["x"]], [["a b c e"], ["y", "x"]], k=1, match_method="rouge1", threshold=0.9)
    >>> diagnose(result).counts
    {'ranked_below_k': 1, 'near_miss': 1}
    """
    if not isinstance(result, EvaluationResult):
        raise InvalidInputError(f"`result` must be what `evaluate` returned, got {show(result)}.")
    detail = detail_of(result, "misses cannot be diagnosed")
    cut_off = largest_cut_off(result) if k is None else check_rank(k)
    if not check_threshold(near, "near"):
        raise InvalidInputError("`near` must be above 0 and at most 1, got 0. Give a share such as 0.6.")
    decided = _decide(result, detail, cut_off, doc_key, near)
    return Diagnosis(
        k=cut_off,
        signature=result.signature,
        causes=tuple(decided.cause),
        gold_queries=detail.judged.gold_query,
        misses=tuple(_missed(detail, decided, range(len(decided.cause)))),
        ceilings=_ceilings(detail, cut_off),
        doc_key=doc_key,
    )


def ranks_of_causes(detail: Detail, diagnosis: Diagnosis) -> tuple[IntArray, IntArray]:
    """Return what tells the causes of rankings at every cut-off, two numbers for each gold document.

    The first is the rank that it would have without the repeats and near duplicates above it: at a cut-off between that
    and its rank, it is `crowded_out`. The second is the first rank of another chunk of its document, where nothing is
    like it: from that cut-off on, it is `wrong_chunk`, and `never_retrieved` before. 0 where there is none.
    """
    batch, judged = with_documents(detail.batch), detail.judged
    without = _ranks_without_repeats(batch, judged.gold_query, detail.gold_rank, detail.gold_rank > 1)
    wanted = np.isin(np.array(diagnosis.causes, dtype=object), ["wrong_chunk", "never_retrieved"])
    same = _same_document(batch, _alternatives(batch, judged), judged.gold_query, wanted, diagnosis.doc_key, None)
    return without, same


def misses_of(
    result: EvaluationResult, detail: Detail, queries: Sequence[int], k: int | None, doc_key: str
) -> Iterator[Miss]:
    """Yield every gold document that some queries miss, with its cause; if they are few, the others are not read."""
    are_few = 2 * len(queries) < result.n_queries
    decided = _decide(result, detail, k, doc_key, NEAR, queries if are_few else None)
    return _missed(detail, decided, np.flatnonzero(np.isin(detail.judged.gold_query, queries)).tolist())


def _missed(detail: Detail, decided: _Decided, numbers: Iterable[int]) -> Iterator[Miss]:
    """Yield those of these gold documents that were missed."""
    batch = with_documents(detail.batch)
    shares = found_shares(detail.judged, batch, decided.k).tolist() if batch.settings.uses_spans else None
    for number in numbers:
        if decided.cause[number] == FOUND:
            continue
        query = int(detail.judged.gold_query[number])
        similarity = float(decided.similarity[number])
        search, near_rank = detail.place(query, int(decided.near_rank[number]))
        if detail.sessions is not None and decided.rank[number]:
            search = int(detail.sessions.best_places[1][number]) + 1
        yield Miss(
            query_index=query,
            query_id=detail.query_ids[query] if detail.query_ids is not None else None,
            query=detail.queries[query] if detail.queries is not None else None,
            gold_index=int(decided.position[number] - batch.actual.offsets[query]),
            gold=as_document(batch.actual.documents[int(decided.shown[number])], id_key=batch.settings.id_key),
            cause=decided.cause[number],
            rank=int(decided.rank[number]) or None,
            near_rank=near_rank or None,
            similarity=None if math.isnan(similarity) else similarity,
            near=_document_at(batch, query, int(decided.near_rank[number])),
            n_alternatives=int(decided.stop[number] - decided.position[number]),
            share=None if shares is None else shares[number],
            search=search,
        )


def check_rank(k: object) -> int | None:
    """Return the cut-off as a rank; None is all ranks.

    Raises:
        InvalidInputError: It is a token budget, or no cut-off.
    """
    cut_off = check_cut_offs(k)[0]
    if isinstance(cut_off, TokenBudget):
        raise InvalidInputError(f"`k` must be a number of ranks for a diagnosis, got {show(k)}. Give one such as 10.")
    return cut_off


def _document_at(batch: Batch, query: int, rank: int) -> Document | None:
    if not rank:
        return None
    document = batch.predicted.documents[int(batch.predicted.offsets[query]) + rank - 1]
    return as_document(document, id_key=batch.settings.id_key)


@dataclass(frozen=True, slots=True)
class _Decided:
    """The causes of a batch, one entry per gold document in the order of the `gold_` columns of `Judgments`.

    Attributes:
        cause: `"found"` or a key of `CAUSES`.
        rank: The best rank that matches it; 0 where none does.
        near_rank: The rank of the most similar retrieved text; 0 where none is near.
        similarity: Its similarity; NaN where none is near.
        position: The position of the gold document in the column of all that were given; of a need, of its first.
        stop: The position after its last alternative.
        shown: The position of the alternative that shows the cause.
        k: The cut-off.
    """

    cause: list[str]
    rank: IntArray
    near_rank: IntArray
    similarity: FloatArray
    position: IntArray
    stop: IntArray
    shown: IntArray
    k: int | None


def _decide(
    result: EvaluationResult,
    detail: Detail,
    k: int | None,
    doc_key: str,
    near: float,
    queries: Sequence[int] | None = None,
) -> _Decided:
    """Decide the cause of each gold document of a result.

    Args:
        result: The result.
        detail: What it kept.
        k: The cut-off.
        doc_key: The metadata key of document ids.
        near: The share of the threshold from which a similarity is near.
        queries: Decide for these queries alone; the causes of all others mean nothing then.
    """
    judged, batch = detail.judged, with_documents(detail.batch)
    failed = np.zeros(len(judged), dtype=bool)
    failed[list(result.errors)] = True
    rank, query = detail.gold_rank, judged.gold_query
    is_found = (rank > 0) & (rank <= k) if k is not None else rank > 0
    position, stop, shown = _alternatives(batch, judged)
    needs = batch.actual.needs
    wanted = ~is_found & (rank == 0)
    unmatched = judged.missed_gold
    looked_at = batch
    if queries is not None:
        wanted &= np.isin(query, queries)
        looked_at = some_queries(batch, queries)
        parts = [unmatched[slice(*batch.actual.offsets[q : q + 2])] for q in queries]
        unmatched = np.concatenate([unmatched[:0], *parts])
    nearest = detail.nearest if near == NEAR and queries is None else nearest_of(looked_at, unmatched, len(rank), near)
    if needs is not None:
        read = (
            np.arange(len(needs))
            if queries is None
            else runs(batch.actual.offsets[queries], batch.actual.sizes[queries])
        )
        shown = np.where(nearest.rank > 0, np.append(read, 0)[nearest.gold], shown)
    hold = _held_by_places if batch.settings.uses_spans else _held_by_texts
    held = hold(batch, (position, stop, shown), query, wanted, nearest)
    within = k if detail.sessions is None else None  # a session shows the first k ranks of each search
    is_below = ~is_found & (rank > 0)
    if queries is not None:
        is_below &= np.isin(query, queries)
    without = _ranks_without_repeats(batch, query, rank, is_below if within is not None else np.zeros_like(is_below))
    by_cause: dict[str, BoolArray] = {
        FOUND: is_found,
        "retriever_error": failed[query],
        "nothing_retrieved": judged.n_retrieved[query] == 0,
        "crowded_out": (without > 0) & (without <= (within or 0)),
        "ranked_below_k": rank > 0,
        **{name: held == number for number, name in enumerate(_HELD)},
        "near_miss": nearest.rank > 0,
        "wrong_chunk": _same_document(
            batch, (position, stop, shown), query, wanted & (nearest.rank == 0), doc_key, within
        )
        > 0,
        "never_retrieved": np.ones(len(rank), dtype=bool),
    }
    cause = np.select(list(by_cause.values()), list(range(len(by_cause))))
    names = list(by_cause)
    causes = [names[c] for c in cause.tolist()]
    if detail.sessions is not None:
        _refine_by_searches(causes, detail.sessions, _texts_of(batch, position, stop))
    return _Decided(causes, rank, nearest.rank, nearest.similarity, position, stop, shown, k)


_Alternatives = tuple[IntArray, IntArray, IntArray]
"""Where the alternatives of each gold document begin and end in their column, and which of them shows the cause."""


def _alternatives(batch: Batch, judged: Judgments) -> _Alternatives:
    """Return the alternatives of each gold document, of which the first shows the cause until another one does."""
    first = _positions(judged)
    needs = batch.actual.needs
    return first, first + 1 if needs is None else np.searchsorted(needs, needs[first], side="right"), first.copy()


def _positions(judged: Judgments) -> IntArray:
    """Return for each gold document the first position at which it was given."""
    numbers = judged.gold_number
    given = np.flatnonzero(numbers >= 0)
    first = np.zeros(len(judged.gold_query), dtype=np.int64)
    first[numbers[given][::-1]] = given[::-1]
    return first


def _same_document(
    batch: Batch, alternatives: _Alternatives, query: IntArray, wanted: BoolArray, doc_key: str, k: int | None
) -> IntArray:
    """Return the first rank of another chunk of the source of each wanted gold document, among the first `k` ranks.

    0 where there is none.
    """
    same = np.zeros(len(query), dtype=np.int64)
    first, stop, shown = alternatives
    retrieved: dict[int, dict[str | None, int]] = {}
    for number in np.flatnonzero(wanted).tolist():
        places = range(int(first[number]), int(stop[number]))
        doc_ids = {place: _document_id(batch.actual.documents[place], doc_key) for place in places}
        if not any(doc_ids.values()):
            continue
        q = int(query[number])
        if q not in retrieved:
            start, end = batch.predicted.offsets[q : q + 2].tolist()
            end = end if k is None else min(end, start + k)
            read = [_document_id(document, doc_key) for document in batch.predicted.documents[start:end]]
            retrieved[q] = dict(zip(reversed(read), range(len(read), 0, -1), strict=True))
        ranks = {
            place: retrieved[q][doc_id]
            for place, doc_id in doc_ids.items()
            if doc_id is not None and doc_id in retrieved[q]
        }
        if ranks:
            same[number], shown[number] = min(ranks.values()), next(iter(ranks))
    return same


def _document_id(document: object, doc_key: str) -> str | None:
    inner, _ = split_pair(document)
    reader = reader_of(inner)
    return None if reader is None else reader.read_id(inner, doc_key)


def _held_by_texts(
    batch: Batch, alternatives: _Alternatives, query: IntArray, wanted: BoolArray, nearest: Nearest
) -> IntArray:
    """Return how a retrieved text holds each wanted gold text, as a place in `_HELD`, -1 where none does.

    The rank of that text, and the share of the gold text that it holds, are written into `nearest`; which alternative
    it holds, into `alternatives`.
    """
    held = np.full(len(query), -1)
    if not any(batch.actual.texts):
        return held
    first, stop, shown = alternatives
    sought = np.flatnonzero(wanted)
    bounds = zip(first[sought].tolist(), stop[sought].tolist(), strict=True)
    golds = [batch.actual.texts[start:end] for start, end in bounds]
    rows = [batch.predicted.texts[slice(*batch.predicted.offsets[q : q + 2])] for q in query[sought].tolist()]
    read = list({text for row in (*golds, *rows) for text in row if text is not None})
    forms: dict[str | None, str] = dict(zip(read, forms_of(read, batch.settings.normalize), strict=True))
    forms[None] = ""
    for number, of_gold, row in zip(sought.tolist(), golds, rows, strict=True):
        near, near_holds, best, which = int(nearest.rank[number]), 0, (0.0, 0, 0), 0
        for position, gold in enumerate(map(forms.__getitem__, of_gold), int(first[number])):
            shared = [(*_shared(gold, forms[text]), -rank) for rank, text in enumerate(row, 1)] if gold else []
            most, how, at = max(shared, default=(0, 0, 0))
            if most and (most / len(gold), how, at) > best:
                best, which = (most / len(gold), how, at), position
            near_holds |= shared[near - 1][0] if near and shared else 0
        is_nearer = near and not near_holds and nearest.similarity[number] > best[0]
        if best[0] and not is_nearer:
            nearest.similarity[number], held[number], nearest.rank[number] = best[0], -best[1], -best[2]
            shown[number] = which
    return held


def _held_by_places(
    batch: Batch, alternatives: _Alternatives, query: IntArray, wanted: BoolArray, nearest: Nearest
) -> IntArray:
    """Return how a chunk holds each wanted gold span, as `_held_by_texts` does of texts; the one with most decides."""
    held = np.full(len(query), -1)
    first, stop, shown = alternatives
    for number in np.flatnonzero(wanted).tolist():
        ranks = slice(*batch.predicted.offsets[query[number] : query[number] + 2].tolist())
        document, start, end = (column[ranks] for column in batch.places.predicted)
        most = 0.0
        for position in range(int(first[number]), int(stop[number])):
            gold, begins, ends = (column.item(position) for column in batch.places.actual)
            common = np.where(document == gold, np.minimum(end, ends) - np.maximum(start, begins), 0)
            if not len(common) or gold < 0 or common.max() <= most * (ends - begins):
                continue
            at = int(common.argmax())
            most = common.item(at) / (ends - begins)
            how = "in_longer_text" if most == 1 else "cut" if start[at] <= begins or end[at] >= ends else "piece"
            held[number], nearest.rank[number], nearest.similarity[number] = _HELD.index(how), at + 1, most
            shown[number] = position
    return held


def _shared(gold: str, text: str) -> tuple[int, int]:
    """Return how many characters of the gold text a retrieved text holds, and how: minus the place in `_HELD`.

    >>> _shared("one two three", "zero one two th"), _shared("one two three", "one two three four")
    ((10, -2), (13, -1))
    """
    least = max(_LEAST_OF_ALL, min(_LEAST_PART, len(gold) // 4))
    if gold[:least] not in text and text[:least] not in gold:  # as nearly always
        return 0, 0
    if gold in text:
        return len(gold), -1 if len(text) > len(gold) else 0
    if text in gold:
        how = -2 if gold.startswith(text) or gold.endswith(text) else -3
        return (len(text), how) if len(text) >= least else (0, 0)
    return max(_overlap(text, gold, least), _overlap(gold, text, least)), -2


def _overlap(first: str, second: str, least: int) -> int:
    """Return the length of the longest end of one text that is the beginning of another; 0 if it is below `least`.

    In linear time: with the prefix function of Knuth, Morris and Pratt, once the first place that could be it is not.
    """
    start = first.find(second[:least])
    if start < 0 or not second:
        return 0
    end = first[start:]
    if second.startswith(end):
        return len(end) if len(end) >= least else 0
    second = second[: len(end)]
    borders = [0]
    for letter in second[1:]:
        borders.append(_extended(borders, second, borders[-1], letter))
    length = 0
    for letter in end:
        length = _extended(borders, second, borders[-1] if length == len(second) else length, letter)
    return length if length >= least else 0


def _extended(borders: list[int], text: str, length: int, letter: str) -> int:
    """Return how much of the beginning of a text ends with a letter, after `length` characters of it."""
    while length and text[length] != letter:
        length = borders[length - 1]
    return length + (text[length] == letter)


def _ranks_without_repeats(batch: Batch, query: IntArray, rank: IntArray, wanted: BoolArray) -> IntArray:
    """Return the ranks that wanted gold documents would have without repeats and near duplicates above them.

    0 where one is not wanted, or repeats or resembles what is above it itself.
    """
    without = np.zeros(len(rank), dtype=np.int64)
    chosen = np.flatnonzero(wanted)
    if not len(chosen):
        return without
    depth = np.zeros(len(batch), dtype=np.int64)
    np.maximum.at(depth, query[chosen], rank[chosen])
    every = runs(batch.predicted.offsets[:-1], depth)  # the ranks down to the lowest that matters
    offsets = np.append(0, np.cumsum(depth))
    repeats = np.isin(every, repeated_positions(batch)).tolist()
    near = near_pairs([batch.predicted.texts[place] for place in every.tolist()], offsets, batch.settings)
    # A rank counts if it neither repeats nor resembles one that counted above it.
    counted: set[int] = set()
    for place, is_repeat in enumerate(repeats):
        if not is_repeat and counted.isdisjoint(near.get(place, ())):
            counted.add(place)
    is_counted = np.isin(np.arange(len(every)), list(counted))
    n_above = np.append(0, np.cumsum(is_counted))
    first = offsets[query[chosen]]
    at = first + rank[chosen] - 1
    without[chosen] = np.where(is_counted[at], n_above[at] - n_above[first] + 1, 0)
    return without


# What was searched for asks for a text that holds more than this share of its words.
_ASKED = 0.5


def _refine_by_searches(causes: list[str], sessions: SessionJudgments, texts: Sequence[Sequence[str]]) -> None:
    """Tell apart, in sessions, what was found and not cited, never searched for, and searched for in vain.

    A search asks for a gold document if more than half of its words begin like a word of the document's text.

    Args:
        causes: The cause of each gold document; those that are changed are written here.
        sessions: The sessions.
        texts: For each gold document its text, or those of its alternatives.
    """
    query = sessions.gold_session
    for number, cause in enumerate(causes):
        session = int(query[number])
        if cause == FOUND and sessions.cited is not None and sessions.has_cited[session] and not sessions.cited[number]:
            causes[number] = "not_cited"
        asked = [one for one in sessions.queries[slice(*sessions.offsets[session : session + 2].tolist())] if one]
        if cause == "never_retrieved" and asked and texts[number]:
            shares = (_share_asked(one, text) for one in asked for text in texts[number])
            causes[number] = "searched_in_vain" if max(shares) > _ASKED else "never_searched_for"


def _texts_of(batch: Batch, start: IntArray, stop: IntArray) -> list[list[str]]:
    """Return the texts of each gold document and its alternatives."""
    texts = batch.actual.texts
    return [
        [text for text in texts[first:end] if text] for first, end in zip(start.tolist(), stop.tolist(), strict=True)
    ]


def _share_asked(query: str, text: str) -> float:
    """Return the share of the words of a query that begin like a word of a text.

    >>> _share_asked("refund deadlines", "Refunds: the deadline is 14 days."), _share_asked("배송 기간", "배송은 이틀")
    (1.0, 0.5)
    """
    words, known = map(set, tokenize_all(TOKENIZERS["words"], [normalize(query), normalize(text)]))
    starts = {word[:length] for word in known for length in range(1, len(word) + 1)}
    like = [word for word in words if word[: max(min(len(word), 2), round(0.75 * len(word)))] in starts]
    return len(like) / max(len(words), 1)


def _ceilings(detail: Detail, k: int | None) -> Ceilings:
    judged, batch = detail.judged, with_documents(detail.batch)
    covered = detail.covered_within(k)
    best = covered
    if k is not None and detail.sessions is not None:
        of_search = _most_covered_by(detail.sessions.judgments, k)
        best = np.minimum(detail.covered_within(None), np.add.reduceat(of_search, detail.sessions.offsets[:-1]))
    elif k is not None:
        best = np.minimum(judged.covered_within(None), _most_covered_by(judged, k))
    return Ceilings(
        recall=_mean_share(covered, judged.n_gold),
        with_perfect_reranking=_mean_share(best, judged.n_gold),
        without_repeats=None
        if detail.sessions is not None
        else _mean_share(_covered_without_repeats(judged, batch, k), judged.n_gold),
    )


def _most_covered_by(judged: Judgments, k: int) -> IntArray:
    """Return for each query the most gold documents that any k of its ranks can match, counting each rank alone."""
    width = int(judged.n_retrieved.max(initial=0)) + 1
    rank_key, size = np.unique(judged.edge_query * width + judged.edge_rank, return_counts=True)
    query = rank_key // width
    order = np.lexsort((-size, query))
    place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    chosen = order[place < k]
    return np.bincount(query[chosen], weights=size[chosen], minlength=len(judged)).astype(np.int64)


def _covered_without_repeats(judged: Judgments, batch: Batch, k: int | None) -> IntArray:
    """Return how many gold documents each query covers within k once duplicate ranks are removed."""
    positions = repeated_positions(batch)
    covered = np.flatnonzero(judged.gold_rank > 0)
    query, rank = judged.gold_query[covered], judged.gold_rank[covered]
    start = batch.predicted.offsets[query]
    before = np.searchsorted(positions, start + rank - 1) - np.searchsorted(positions, start)
    inside = query if k is None else query[rank - before <= k]
    return np.bincount(inside, minlength=len(judged))


def _mean_share(covered: IntArray, n_gold: IntArray) -> float | None:
    defined = n_gold > 0
    shares: FloatArray = covered[defined] / n_gold[defined]
    return math.fsum(shares.tolist()) / len(shares) if len(shares) else None
