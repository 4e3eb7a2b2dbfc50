"""Metrics for incomplete labels: how much is judged, measures of judged documents alone, and upper bounds.

A document is judged if its query has a grade for it, 0 included. A grade below 0 is TREC's mark of a document that was
in the pool and that nobody judged. `judged` still counts it, as ir_measures does, and `unjudged="remove"` removes
it, as trec_eval does with `-J`.
"""

from __future__ import annotations

from dataclasses import replace

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval.matching import Batch, Matches
from krag_eval.metrics.judgments import (
    CutOff,
    Judgments,
    earlier_equal,
    identity_keys,
    judged_positions,
    merge_equal,
)
from krag_eval.metrics.ranking import precision, reciprocal_rank

# What trec_eval adds so that nothing is divided by 0.
_EPSILON = 0.00001


def judged(judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches) -> FloatArray:
    """Return the share of the first `k` ranks that are judged.

        judged@k = judged ranks within k / min(k, number retrieved)

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no label at all.

    Args:
        judged: How many documents were retrieved.
        k: The cut-off.
        batch: The documents.
        matches: Which of them have a grade.

    Edge cases:
        * Nothing retrieved: 0.
        * A rank that repeats a judged document is judged.
        * A grade below 0 is a label here, although it says that nobody judged the document.

    Source: `Judged` of ir_measures, to which it is equal on unique ids.
    """
    share = judged.share_of_ranks(*batch.predicted.places_of(judged_positions(batch, matches)), k)
    return np.where(batch.actual.sizes > 0, np.nan_to_num(share), np.nan)


def bpref(judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches) -> FloatArray:  # noqa: ARG001
    """Return how seldom judged irrelevant documents rank above the relevant ones; unjudged ranks play no part.

        bpref = 1 / R * sum over credited ranks of (1 - min(irrelevant ranks above, R) / min(N, R))

    R is the number of gold documents, N that of the documents of grade 0. It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks earn credit.
        k: Not used.
        batch: The documents.
        matches: Which of them have a grade.

    Edge cases:
        * No irrelevant rank above: the summand is 1.
        * An irrelevant rank that repeats an earlier one does not count.

    Source: Buckley & Voorhees (2004), SIGIR, doi:10.1145/1008992.1009000, as trec_eval computes `bpref`, to which it is
    equal on unique ids.
    """
    pooled = _pooled(batch)
    irrelevant, _ = _irrelevant(judged, batch, matches, pooled)
    keys = [codes.actual for codes in identity_keys(batch)]
    is_first = merge_equal(batch.actual, keys) == np.arange(len(pooled))
    n_irrelevant = np.bincount(
        batch.actual.query_of(np.flatnonzero((judged.gold_number < 0) & ~pooled & is_first)), minlength=len(judged)
    )
    query = judged.credited_query
    n_gold = judged.n_gold[query]
    most = np.minimum(n_irrelevant[query], n_gold)
    above = np.minimum(_above(judged, batch, irrelevant), most)
    return _mean_over_gold(judged, 1 - np.divide(above, most, out=np.zeros(len(query)), where=most > 0))


def infap(judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches) -> FloatArray:  # noqa: ARG001
    """Return average precision as inferred from a sample of judged documents.

        infAP = 1 / R * sum over credited ranks r of 1 / r + (r - 1) / r * (pooled / (r - 1)) * (relevant + e)
                                                     / (relevant + irrelevant + 2 e), with e = 0.00001

    `relevant` and `irrelevant` count judged ranks above r, and `pooled` these and the ranks of the pool that were not
    judged: grades below 0. All other ranks are taken for irrelevant. It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks earn credit.
        k: Not used.
        batch: The documents.
        matches: Which of them have a grade.

    Edge cases:
        * At rank 1 the summand is 1.
        * Everything is judged: average precision, up to e.

    Source: Yilmaz & Aslam (2006), CIKM, doi:10.1145/1183614.1183633, as trec_eval computes `infAP`, to which it is
    equal on unique ids.
    """
    irrelevant, unjudged = _irrelevant(judged, batch, matches, _pooled(batch))
    query, rank = judged.credited_query, judged.credited_rank.astype(np.float64)
    relevant = np.arange(len(query)) - np.searchsorted(query, query)
    irrelevant = _above(judged, batch, irrelevant)
    pooled = relevant + irrelevant + _above(judged, batch, unjudged)
    inferred = (relevant + _EPSILON) / (relevant + irrelevant + 2 * _EPSILON)
    return _mean_over_gold(judged, (1 + pooled * inferred) / rank)


def precision_upper(
    judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches, denominator: str = "retrieved"
) -> FloatArray:
    """Return the precision that the first `k` ranks would have if all unjudged ones were relevant.

        upper P@k = (relevant + unjudged ranks within k) / denominator

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks are relevant.
        k: The cut-off.
        batch: The documents.
        matches: Which of them have a grade.
        denominator: As for `precision`, which is the lower bound: unjudged ranks count as not relevant.

    Edge cases:
        * Everything is judged: equal to `precision`.

    Source: the residual of Moffat & Zobel (2008), ACM TOIS 27(1), doi:10.1145/1416950.1416952, for precision.
    """
    return precision(_all_relevant(judged, batch, matches), k, denominator=denominator)


def hit_rate_upper(judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches) -> FloatArray:
    """Return 1 where one of the first `k` ranks is relevant or unjudged, else 0.

        upper hit@k = 1 if a rank r <= k is relevant or unjudged

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks are relevant.
        k: The cut-off.
        batch: The documents.
        matches: Which of them have a grade.

    Edge cases:
        * Everything is judged: equal to `hit_rate`.

    Source: as `precision_upper`.
    """
    return judged.where_defined(_all_relevant(judged, batch, matches).first_relevant_within(k) > 0)


def mrr_upper(judged: Judgments, k: CutOff = None, *, batch: Batch, matches: Matches) -> FloatArray:
    """Return 1 / the first rank that is relevant or unjudged, 0 if there is none within `k`.

        upper RR@k = 1 / first rank r <= k that is relevant or unjudged

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks are relevant.
        k: The cut-off.
        batch: The documents.
        matches: Which of them have a grade.

    Edge cases:
        * Everything is judged: equal to `reciprocal_rank`.

    Source: as `precision_upper`.
    """
    return reciprocal_rank(_all_relevant(judged, batch, matches), k)


def remove_unjudged(batch: Batch, matches: Matches) -> tuple[Batch, Matches]:
    """Return the condensed rankings, which have judged documents alone, with what matches in them.

    Source: Sakai (2007), SIGIR, doi:10.1145/1277741.1277756; the option `-J` of trec_eval, which also removes
    documents of the pool that were not judged.
    """
    is_judged = ~_pooled(batch)[matches.actual]
    if not is_judged.all():
        columns = ("actual", "predicted", "similarity", "method")
        matches = replace(matches, **{name: getattr(matches, name)[is_judged] for name in columns})
    return keep_ranks(batch, matches, judged_positions(batch, matches))


def keep_ranks(batch: Batch, matches: Matches, kept: IntArray) -> tuple[Batch, Matches]:
    """Return the rankings with the documents at these positions alone, and what matches in them."""
    is_kept = np.isin(matches.predicted, kept)
    columns = {name: getattr(matches, name)[is_kept] for name in ("actual", "predicted", "similarity", "method")}
    moved = columns | {"predicted": np.searchsorted(kept, columns["predicted"])}
    return batch.keep_retrieved(kept), replace(matches, **moved)


def _all_relevant(judged: Judgments, batch: Batch, matches: Matches) -> Judgments:
    """Return judgments in which unjudged ranks are relevant, unless they repeat an earlier one."""
    unjudged = np.ones(int(batch.predicted.offsets[-1]), dtype=bool)
    unjudged[judged_positions(batch, matches)] = False
    positions = np.flatnonzero(unjudged)
    unjudged[[*earlier_equal(batch.predicted, positions, [codes.predicted for codes in identity_keys(batch)])]] = False
    unjudged[batch.predicted.offsets[judged.relevant_query] + judged.relevant_rank - 1] = True
    query, rank = batch.predicted.places_of(np.flatnonzero(unjudged))
    return replace(judged, relevant_query=query, relevant_rank=rank)


def _irrelevant(judged: Judgments, batch: Batch, matches: Matches, pooled: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the positions judged irrelevant, repeats left out, and those of the pool that were not judged."""
    is_zero = judged.gold_number[matches.actual] < 0
    relevant = batch.predicted.offsets[judged.edge_query] + judged.edge_rank - 1
    irrelevant = np.setdiff1d(matches.predicted[is_zero & ~pooled[matches.actual]], relevant)
    repeats = earlier_equal(batch.predicted, irrelevant, [codes.predicted for codes in identity_keys(batch)])
    unjudged = np.setdiff1d(matches.predicted[is_zero], [*relevant, *irrelevant])
    return np.setdiff1d(irrelevant, [*repeats]), unjudged


def _pooled(batch: Batch) -> BoolArray:
    """Return which gold documents were in the pool and not judged."""
    return np.asarray(batch.actual.grades < 0)


def _above(judged: Judgments, batch: Batch, positions: IntArray) -> IntArray:
    """Return how many of these positions, sorted, are above each credited rank in its query."""
    start = batch.predicted.offsets[judged.credited_query]
    return np.searchsorted(positions, start + judged.credited_rank - 1) - np.searchsorted(positions, start)


def _mean_over_gold(judged: Judgments, values: FloatArray) -> FloatArray:
    total = np.bincount(judged.credited_query, weights=values, minlength=len(judged))
    return judged.per_gold(total)
