"""The character metrics: how much of the gold spans was retrieved, and how much of what was retrieved lies in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval.matching import Batch
from krag_eval.matching.batch import order_of
from krag_eval.metrics.judgments import CutOff, Judgments, within


def span_recall(judged: Judgments, k: CutOff = None, *, batch: Batch) -> FloatArray:
    """Return the share of the gold spans' characters that the first `k` chunks hold.

        span_recall@k = sum of len(n) share(n) / sum of len(n), over the needs n of the query

    share(n) is the largest share of an alternative of the need that lies in the union of the chunks' places, len(n)
    the length of its first alternative. A gold span on its own is a need with one alternative.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better; never falls with k. NaN where no gold document is.

    Edge cases:
        * All was retrieved: 1, whether spans overlap or not.
        * Nothing was retrieved, or only chunks whose place is not known: 0.

    Source: the contract of krag_eval; where no spans overlap, recall of Smith and Troynikov (2024), "Evaluating
    Chunking Strategies for Retrieval", Chroma technical report.
    """
    needs = _Needs.of(judged, batch, _union(batch, k))
    order = np.lexsort((needs.found, needs.query))  # sums of floats depend on it
    total = np.bincount(needs.query, needs.length, minlength=len(judged))
    found = np.bincount(needs.query[order], needs.found[order], minlength=len(judged))
    return judged.share(found, total)


def span_precision(judged: Judgments, k: CutOff = None, *, batch: Batch) -> FloatArray:
    """Return the share of the first `k` chunks' characters that lie in any gold span.

        span_precision@k = characters of R in any span / (characters of R + those of chunks without a place)

    R is the union of the places of the first k chunks: a character that two chunks share counts once.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where no gold document is.

    Edge cases:
        * Nothing was retrieved: 0.

    Source: the contract of krag_eval.
    """
    union = _union(batch, k)
    hits, _ = _n_common(batch, union, _gold(judged, batch))
    return judged.share(hits, union.size + _without_place(batch, k))


def span_iou(judged: Judgments, k: CutOff = None, *, batch: Batch) -> FloatArray:
    """Return the characters that chunks and spans share, of all that either of them has.

        span_iou@k = characters of R in U / (characters of R or U + those of chunks without a place)

    R is the union of the places of the first k chunks, U that of each need's best alternative, of equally good ones
    the first.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where no gold document is.

    Edge cases:
        * Nothing was retrieved: 0.

    Source: the contract of krag_eval; Jaccard's coefficient of sets of characters.
    """
    union = _union(batch, k)
    hits, n_best = _n_common(batch, union, _Needs.of(judged, batch, union).best)
    return judged.share(hits, union.size + n_best - hits + _without_place(batch, k))


def span_f1(judged: Judgments, k: CutOff = None, *, batch: Batch) -> FloatArray:
    """Return the harmonic mean of `span_recall` and `span_precision`, 0 where both are 0.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where no gold document is.

    Edge cases:
        * Nothing was retrieved: 0.

    Source: the contract of krag_eval; the harmonic mean of van Rijsbergen (1979), "Information Retrieval", chapter 7.
    """
    recall, precision = span_recall(judged, k, batch=batch), span_precision(judged, k, batch=batch)
    return judged.share(2 * recall * precision, recall + precision)


def found_shares(judged: Judgments, batch: Batch, k: CutOff = None) -> FloatArray:
    """Return for each need the largest share of an alternative that the first `k` chunks hold; shape (n_gold,)."""
    needs = _Needs.of(judged, batch, _union(batch, k))
    return np.divide(needs.found, needs.length)


SpanParts = tuple[tuple[int, int], ...]


def shared_parts(
    judged: Judgments, batch: Batch, index: int, k: int | None = None
) -> tuple[list[SpanParts | None], list[SpanParts | None]]:
    """Return what the gold spans and the chunks of one query share, as starts and ends in each of them.

    Args:
        judged: Which gold documents count.
        batch: The documents.
        index: The query.
        k: The ranks in which gold spans count as found; chunks show what they hold at any rank.

    Returns:
        For each gold document, then for each retrieved one, its parts; None for one without a place.
    """
    golds, chunks = (
        list(zip(*(column[slice(*side.offsets[index : index + 2])].tolist() for column in places), strict=True))
        for side, places in ((batch.actual, batch.places.actual), (batch.predicted, batch.places.predicted))
    )
    counts = judged.gold_number[slice(*batch.actual.offsets[index : index + 2])] >= 0
    counted = [gold for gold, one in zip(golds, counts.tolist(), strict=True) if one]
    return [_parts(gold, chunks[:k]) for gold in golds], [_parts(chunk, counted) for chunk in chunks]


def _parts(place: tuple[int, ...], others: Sequence[tuple[int, ...]]) -> SpanParts | None:
    """Return the parts of a place that others cover, merged, counted from its start."""
    document, start, end = place
    if document < 0:
        return None
    shared = sorted((max(s, start) - start, min(e, end) - start) for d, s, e in others if d == document)
    parts: list[tuple[int, int]] = []
    for first, last in shared:
        if first >= last:
            continue
        if parts and first <= parts[-1][1]:
            first, last = parts[-1][0], max(parts.pop()[1], last)
        parts.append((first, last))
    return tuple(parts)


class _Spans(NamedTuple):
    """Places, each with its query."""

    query: IntArray
    document: IntArray
    start: IntArray
    end: IntArray


class _Union(NamedTuple):
    """The union of the places of chunks, as separate intervals in one line of characters.

    Attributes:
        groups: The query and document of each stretch of the line, as one number, sorted.
        width: How many characters a stretch has room for.
        start: Where each interval begins, sorted.
        end: Where it ends.
        before: How many characters the intervals before it have together; one more entry than intervals.
        size: How many characters the union has for each query; shape (n_queries,).
        n_documents: What a query is multiplied by in `groups`.
    """

    groups: IntArray
    width: int
    start: IntArray
    end: IntArray
    before: IntArray
    size: IntArray
    n_documents: int

    def covered(self, spans: _Spans) -> IntArray:
        """Return how many characters of each span lie in the union."""
        if not len(self.groups):
            return np.zeros(len(spans.query), dtype=np.int64)
        key = spans.query * self.n_documents + spans.document
        group = np.searchsorted(self.groups, key)
        there = self.groups[np.minimum(group, len(self.groups) - 1)] == key
        base = group * self.width
        last = self.width - 1  # no chunk reaches further
        inside = self._up_to(base + np.minimum(spans.end, last)) - self._up_to(base + np.minimum(spans.start, last))
        return np.where(there, inside, 0)

    def _up_to(self, position: IntArray) -> IntArray:
        """Return how many characters of the union lie before each position of the line."""
        interval = np.searchsorted(self.start, position, side="right") - 1
        first = np.maximum(interval, 0)
        part = np.clip(position - self.start[first], 0, self.end[first] - self.start[first])
        return np.where(interval < 0, 0, self.before[first] + part)


class _Needs(NamedTuple):
    """The needs of the queries.

    Attributes:
        query: The query of each.
        length: The length of its first alternative.
        found: That length, times the largest share of an alternative that was retrieved.
        best: The alternative of which most was retrieved.
    """

    query: IntArray
    length: IntArray
    found: FloatArray
    best: _Spans

    @classmethod
    def of(cls, judged: Judgments, batch: Batch, union: _Union) -> _Needs:
        gold = _gold(judged, batch)
        need = judged.gold_number[judged.gold_number >= 0]
        size = gold.end - gold.start
        covered = union.covered(gold)
        # By need, the best first; of equals the one that was given first.
        order = np.lexsort((np.arange(len(need)), -(covered / size), need))
        best = order[np.append(True, np.diff(need[order]) != 0)[: len(order)]]
        first = np.unique(need, return_index=True)[1]
        found = size[first] * covered[best] / size[best]
        return cls(gold.query[first], size[first], found, _Spans(*(column[best] for column in gold)))


def _gold(judged: Judgments, batch: Batch) -> _Spans:
    """Return the places of all gold documents that count, in their order."""
    position = np.flatnonzero(judged.gold_number >= 0)
    document, start, end = (column[position] for column in batch.places.actual)
    if (document < 0).any():
        place = int(position[np.argmax(document < 0)])
        raise InvalidInputError(
            f"{batch.actual.place(place)}: it is no span, and the metrics of spans weigh each by its length. Give it "
            "as {'doc_id': ..., 'start': ..., 'end': ...}; `reanchor` makes spans of passages."
        )
    return _Spans(batch.actual.query_of(position), document, start, end)


def _union(batch: Batch, k: CutOff) -> _Union:
    """Return the union of the places of the first `k` chunks of each query."""
    kept = batch.places.kept
    name = k.tobytes() if isinstance(k, np.ndarray) else k
    if name not in kept:
        chunks, ranks = _ranked_chunks(batch)
        inside = within(chunks.query, ranks, k)
        kept[name] = _merged(_Spans(*(column[inside] for column in chunks)), batch)
    union: _Union = kept[name]
    return union


def _ranked_chunks(batch: Batch) -> tuple[_Spans, IntArray]:
    """Return the places of all chunks, sorted, and their ranks."""
    kept = batch.places.kept
    if "chunks" not in kept:
        document, start, end = batch.places.predicted
        position = np.flatnonzero(document >= 0)
        query, ranks = batch.predicted.places_of(position)
        chunks = _Spans(query, document[position], start[position], end[position])
        order = order_of(chunks.query, chunks.document, chunks.start)
        kept["chunks"] = _Spans(*(column[order] for column in chunks)), ranks[order]
    ranked: tuple[_Spans, IntArray] = kept["chunks"]
    return ranked


def _merged(spans: _Spans, batch: Batch) -> _Union:
    """Return the union of sorted places."""
    query, document, start, end = spans
    n_documents = batch.places.n_documents
    key = query * n_documents + document
    is_first = np.append(True, key[1:] != key[:-1])[: len(key)]
    width = int(end.max(initial=0)) + 1
    base = (np.cumsum(is_first) - 1) * width
    start, end = start + base, end + base
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.append(True, start[1:] > reach[:-1])[: len(start)])
    until = reach[np.append(first[1:], len(start))[: len(first)] - 1]
    sizes = until - start[first]
    before = np.append(0, np.cumsum(sizes))
    size = np.diff(before[np.searchsorted(query[first], np.arange(len(batch) + 1))])
    return _Union(key[is_first], width, start[first], until, before, size, n_documents)


def _n_common(batch: Batch, union: _Union, spans: _Spans) -> tuple[IntArray, IntArray]:
    """Return for each query how many characters the union of chunks and that of spans share, and those of the spans."""
    order = order_of(spans.query, spans.document, spans.start)
    merged = _merged(_Spans(*(column[order] for column in spans)), batch)
    group, start = np.divmod(merged.start, merged.width)
    query, document = np.divmod(merged.groups[group], merged.n_documents)
    covered = union.covered(_Spans(query, document, start, start + merged.end - merged.start))
    total = np.append(0, np.cumsum(covered))
    return np.diff(total[np.searchsorted(query, np.arange(len(batch) + 1))]), merged.size


def _without_place(batch: Batch, k: CutOff) -> IntArray:
    """Return how many characters the different chunks without a place have among the first `k`; shape (n_queries,)."""
    position = np.flatnonzero(batch.places.predicted.document < 0)
    query, ranks = batch.predicted.places_of(position)
    inside = within(query, ranks, k)
    position, query = position[inside], query[inside]
    if not len(position):
        return np.zeros(len(batch), dtype=np.int64)
    lengths = np.fromiter(map(len, (*batch.unique_texts, "")), np.int64)  # no text: code -1
    pairs = np.unique(np.stack([query, batch.texts.predicted[position]]), axis=1)
    return np.bincount(pairs[0], lengths[pairs[1]], minlength=len(batch)).astype(np.int64)
