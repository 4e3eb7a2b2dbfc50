"""The causes of all misses of a result, each miss with its evidence, and what recall could gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import refuse
from krag_eval._utils.formatting import format_value, number_of, one_line
from krag_eval._utils.objects import ComparedByFields, Printed, ShortRepr
from krag_eval._utils.plugins import ShownInNotebooks
from krag_eval._utils.serialization import Tabular, data_frame, plain_fields
from krag_eval.documents.document import Document, as_document
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.causes import CAUSES, FOUND, HELD, Fates, decide, ranks_without_repeats, same_document
from krag_eval.evaluation.detail import Detail, Scored, cut_off_of, detail_of
from krag_eval.matching import Batch
from krag_eval.matching.nearest import NEAR, Nearest
from krag_eval.metrics.aggregation import key_of
from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.spans import found_shares

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class Miss(ShortRepr):
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
        rank = self.near_rank if self.cause in ("near_miss", *HELD) else self.rank
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
        from krag_eval.evaluation.explanation import show_document  # slow to import

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
class Diagnosis(Printed, ShownInNotebooks, Tabular, ComparedByFields):
    """The causes of all misses of a result.

    Attributes:
        k: The cut-off.
        signature: The signature of the result.
        causes: `"found"` or a key of `CAUSES` for each gold document; repeats are merged, grade 0 is left out.
        gold_queries: The query of each of these; shape (n_gold,).
        misses: Every gold document that was missed.
        ceilings: Recall as it is, and what it could be.
        doc_key: The metadata key of document ids.
        filter_loss: What share of the gold documents a filter lost, if the result has `filter_loss` at this cut-off.
        nearest: The retrieved texts that show the causes, as columns for each gold document.
    """

    k: int | None
    signature: str
    causes: tuple[str, ...]
    gold_queries: IntArray
    misses: tuple[Miss, ...]
    ceilings: Ceilings
    doc_key: IdKey = "doc_id"
    filter_loss: float | None = None
    nearest: Nearest | None = field(default=None, compare=False)

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

    def ranks_of_causes(self, detail: Detail) -> tuple[IntArray, IntArray]:
        """Return what tells the causes of rankings at every cut-off, two numbers for each gold document of a result.

        The first is the rank that it would have without the repeats and near duplicates above it: at a cut-off between
        that and its rank, it is `crowded_out`. The second is the first rank of another chunk of its document, where
        nothing is like it: from that cut-off on, it is `wrong_chunk`, and `never_retrieved` before. 0 where there is
        none.
        """
        wanted = np.isin(np.array(self.causes, dtype=object), ["wrong_chunk", "never_retrieved"])
        same = same_document(detail, detail.gold.first.copy(), wanted, self.doc_key, None)
        return ranks_without_repeats(detail, detail.gold_rank > 1), same

    def to_dict(self) -> dict[str, Any]:
        """Return counts, ceilings and every miss, ready for JSON."""
        row = plain_fields(self, "signature", "k", "n_gold", "n_found", "counts", "ceilings", "misses")
        return row if self.filter_loss is None else {**row, "filter_loss": self.filter_loss}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per missed gold document, with its cause. Needs pandas."""
        return data_frame(self._rows()[0], "diagnosis.to_pandas()")

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        return [miss.to_dict() for miss in self.misses], ("similarity", "share")

    def __str__(self) -> str:
        lines = [f"Diagnosis: {self.title}"]
        lines += [f"  {count:>6}  {cause:<17} {CAUSES[cause]}" for cause, count in self.counts.items()]
        for name, value in asdict(self.ceilings).items():
            lines.append(f"  {format_value(value):>6}  {name.replace('_', ' ')}")
        if self.filter_loss is not None:
            lines.append(f"  {format_value(self.filter_loss):>6}  filter loss")
        return "\n".join(lines)


def diagnose(result: Scored, k: int | None = None, *, doc_key: IdKey = "doc_id", near: float = NEAR) -> Diagnosis:
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
    if not isinstance(getattr(result, "detail", result), Detail | None):
        refuse("result", "what `evaluate` returned", result)
    detail = detail_of(result, "misses cannot be diagnosed")
    cut_off = cut_off_of(result, k, "a diagnosis")
    check_number("near", near, "Give a share such as 0.6.", above=0, most=1)
    fates = decide(result, cut_off, doc_key, near)
    return Diagnosis(
        k=cut_off,
        signature=result.signature,
        causes=tuple(fates.cause),
        gold_queries=detail.judged.gold_query,
        misses=tuple(misses_of(detail, fates, range(len(fates.cause)))),
        ceilings=_ceilings(detail, cut_off),
        doc_key=doc_key,
        filter_loss=result.tally.by_key().get(key_of("filter_loss", cut_off)),
        nearest=fates.nearest,
    )


def misses_of(detail: Detail, fates: Fates, numbers: Iterable[int]) -> Iterator[Miss]:
    """Yield those of these gold documents that were missed, each with its cause."""
    batch, table = detail.documents, detail.gold
    shares = found_shares(detail.judged, batch, fates.k).tolist() if batch.settings.uses_spans else None
    missed = [number for number in numbers if fates.cause[number] != FOUND]
    nearest, documents, offsets = fates.nearest, batch.actual.documents, batch.actual.offsets
    columns = detail.judged.gold_query, detail.gold_rank, table.first, table.stop, fates.shown, nearest.rank
    found = zip(missed, *(column[missed].tolist() for column in (*columns, nearest.similarity)), strict=True)
    for number, query, rank, first, stop, shown, near, similarity in found:
        named, asked = detail.names(query)
        search, near_rank = detail.place(query, near)
        if detail.sessions is not None and rank:
            search = int(detail.sessions.best_places[1][number]) + 1
        yield Miss(
            query_index=query,
            query_id=named,
            query=asked,
            gold_index=first - int(offsets[query]),
            gold=as_document(documents[shown], id_key=batch.settings.id_key),
            cause=fates.cause[number],
            rank=rank or None,
            near_rank=near_rank or None,
            similarity=None if math.isnan(similarity) else similarity,
            near=_document_at(batch, query, near),
            n_alternatives=stop - first,
            share=None if shares is None else shares[number],
            search=search,
        )


def _document_at(batch: Batch, query: int, rank: int) -> Document | None:
    if not rank:
        return None
    document = batch.predicted.documents[int(batch.predicted.offsets[query]) + rank - 1]
    return as_document(document, id_key=batch.settings.id_key)


def _ceilings(detail: Detail, k: int | None) -> Ceilings:
    judged = detail.judged
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
        else _mean_share(_covered_without_repeats(detail, k), judged.n_gold),
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


def _covered_without_repeats(detail: Detail, k: int | None) -> IntArray:
    """Return how many gold documents each query covers within k once duplicate ranks are removed."""
    judged, positions = detail.judged, np.array(sorted(detail.repeats), dtype=np.int64)
    covered = np.flatnonzero(judged.gold_rank > 0)
    query, rank = judged.gold_query[covered], judged.gold_rank[covered]
    start = detail.batch.predicted.offsets[query]
    before = np.searchsorted(positions, start + rank - 1) - np.searchsorted(positions, start)
    inside = query if k is None else query[rank - before <= k]
    return np.bincount(inside, minlength=len(judged))


def _mean_share(covered: IntArray, n_gold: IntArray) -> float | None:
    defined = n_gold > 0
    shares: FloatArray = covered[defined] / n_gold[defined]
    return math.fsum(shares.tolist()) / len(shares) if len(shares) else None
