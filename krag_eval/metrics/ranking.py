"""The metrics of what each rank earned: how much of the gold was found, how early, and what else came back.

All read the first `k` ranks of one ranking against its gold documents. The last ones, which trec_eval calls set metrics
and counts, read all ranks, whatever their order.
"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval.metrics.judgments import CutOff, Judgments, within

# What trec_eval adds before it cuts off decimals: nearly always, the next whole number.
_ROUND_UP = 0.9


def hit_rate(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 where at least one gold document is covered by the first `k` ranks, else 0.

        hit@k = 1 if covered gold documents within k > 0

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: known as success@k in trec_eval and as hit rate in recommendation. The evaluators of the package krag mean
    `hit_rate_all` by that name by default.
    """
    return judged.where_defined(judged.covered_within(k) > 0)


def hit_rate_all(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 where all gold documents are covered by the first `k` ranks, else 0.

        hit_all@k = 1 if covered gold documents within k = gold documents

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Fewer ranks than gold documents: one rank can cover several, so 1 is still possible.
        * Nothing retrieved: 0.

    Source: the hit rate of the package krag with `MatchingCriteria.ALL`, except that a query without gold documents
    is undefined here and a hit there.
    """
    return judged.where_defined(judged.covered_within(k) == judged.n_gold)


def reciprocal_rank(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 over the first relevant rank among the first `k`.

        RR@k = 1 / rank of the first relevant document, 0 if there is none within k

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. Its mean
    over queries is the mean reciprocal rank, `mrr`.

    Edge cases:
        * Nothing relevant within k, or nothing retrieved: 0.

    Source: Voorhees (1999), TREC-8 question answering track report. trec_eval's `recip_rank` has no cut-off.
    """
    return judged.share(1.0, judged.first_relevant_within(k))


def complete_rank(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 over the first rank down to which everything is found: all gold documents, or needs, are covered.

        complete_rank@k = 1 / the largest of the best ranks of the gold documents, 0 if one has none within k

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. With one
    gold document it is the reciprocal rank; n documents of which each covers one allow 1 / n at best.

    Edge cases:
        * A gold document is not covered within k, or nothing was retrieved: 0.

    Source: the scoring contract of krag_eval. It is to `hit_rate_all` what the reciprocal rank is to `hit_rate`.
    """
    last = np.zeros(len(judged), dtype=np.int64)
    np.maximum.at(last, judged.gold_query, judged.gold_rank)
    return judged.share(1.0, np.where(judged.covered_within(k) == judged.n_gold, last, 0))


def recall(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return gold documents that the first `k` ranks cover, as a share.

        R@k = covered gold documents within k / gold documents

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * One chunk that holds three gold passages covers all three.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.3. On unique ids equal to
    trec_eval's `recall`.
    """
    return judged.per_gold(judged.covered_within(k))


def precision_counts(judged: Judgments, k: CutOff, denominator: str) -> tuple[IntArray, IntArray]:
    """Return relevant ranks, and what they are divided by; each of shape (n_queries,)."""
    out_of = judged.retrieved_within(k)
    if denominator == "k" and k is not None:
        out_of = np.broadcast_to(np.asarray(k, dtype=np.int64), (len(judged),))
    return judged.relevant_within(k), out_of


def precision(judged: Judgments, k: CutOff = None, *, denominator: str = "retrieved") -> FloatArray:
    """Return relevant ranks among the first `k`, as a share.

        P@k = relevant ranks within k / min(k, number retrieved)     denominator="retrieved"
        P@k = relevant ranks within k / k                            denominator="k"

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * A rank that repeats an earlier one counts below the line and not above it.
        * Without a cut-off, both denominators are the number retrieved.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.3. trec_eval's `P` divides
    by k.
    """
    return judged.share(*precision_counts(judged, k, denominator))


def r_precision(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001 - every metric takes a cut-off
    """Return relevant ranks among the first R, divided by R, where R is the number of gold documents.

        R-precision = relevant ranks within R / R

    It has no cut-off: its key is `r_precision`, whatever `k` is.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Fewer than R retrieved: the missing ranks are not relevant.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.4. On unique ids equal to
    trec_eval's `Rprec`.
    """
    return judged.per_gold(judged.relevant_within(judged.n_gold))


def harmonic_mean(one: FloatArray, other: FloatArray, weight: float = 1.0) -> FloatArray:
    """Return the harmonic mean in which the second has this weight, 0 where both are 0, NaN where one is.

    It lies between the two to the last bit.
    """
    total = other + weight * one
    mean = np.divide((1 + weight) * one * other, total, out=np.zeros_like(total), where=total != 0)
    # np.clip carries NaN through, and undoes the last bit that rounding may add.
    return np.clip(mean, np.minimum(one, other), np.maximum(one, other))


def f1(judged: Judgments, k: CutOff = None, *, denominator: str = "retrieved") -> FloatArray:
    """Return the harmonic mean of a query's precision and recall.

        F1@k = 2 P@k R@k / (P@k + R@k)

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Precision and recall both 0: 0.

    Source: van Rijsbergen (1979), Information Retrieval, chapter 7, with beta = 1. `macro_f1` is the mean of this over
    queries, not the F1 of the mean precision and recall; `micro_f1` is the F1 of the micro values.
    """
    return harmonic_mean(precision(judged, k, denominator=denominator), recall(judged, k))


def f_beta(judged: Judgments, k: CutOff = None, *, beta: float, denominator: str = "retrieved") -> FloatArray:
    """Return the harmonic mean of a query's precision and recall in which recall weighs `beta` times as much.

        F@k = (1 + beta^2) P@k R@k / (R@k + beta^2 P@k)

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks are relevant, and which gold documents are covered.
        k: The cut-off.
        beta: How many times as important recall is as precision, above 0.
        denominator: As for `precision`.

    Edge cases:
        * Precision and recall both 0: 0.

    Source: van Rijsbergen (1979), Information Retrieval, chapter 7.
    """
    return harmonic_mean(precision(judged, k, denominator=denominator), recall(judged, k), beta**2)


def average_precision(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return the mean, over the gold documents, of the precision at the rank that each is credited to.

        AP@k = sum over credited ranks r <= k of (credits up to r) / r, divided by the number of gold documents

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. Its mean
    over queries is the mean average precision, `map`.

    Edge cases:
        * Nothing retrieved: 0.
        * Two chunks that hold the same gold document: the first is credited, the second is not, so the sum never
          passes the number of gold documents.

    Source: Buckley & Voorhees (2000), SIGIR, doi:10.1145/345508.345543. On unique ids equal to trec_eval's `map_cut`,
    which also divides by all gold documents, not by min(k, gold documents).
    """
    query, rank = judged.credited_query, judged.credited_rank
    first_of_query = np.searchsorted(query, query, side="left")
    credited = np.arange(1, len(query) + 1) - first_of_query
    inside = within(query, rank, k)
    total = np.bincount(query[inside], weights=(credited / rank)[inside], minlength=len(judged))
    return np.minimum(judged.per_gold(total), 1.0)


def iprec(judged: Judgments, k: CutOff = None, *, recall: float) -> FloatArray:  # noqa: ARG001
    """Return the highest precision at any credited rank from a recall on.

        IPrec@x = largest of j / r over the j-th credited ranks r with j >= floor(x * gold documents + 0.9)

    It has no cut-off: what stands behind the @ of `IPrec@0.1` is the recall, and its key is `iprec(recall=0.1)`.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks earn credit.
        k: Not used.
        recall: The recall from which on precision counts, 0 to 1.

    Edge cases:
        * The recall is not reached, or nothing was retrieved: 0.

    Source: `iprec_at_recall` of trec_eval, `IPrec` of ir_measures, to which it is equal on unique ids; Manning,
    Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.4.
    """
    query = judged.credited_query
    number = np.arange(1, len(query) + 1) - np.searchsorted(query, query, side="left")
    reached = number >= np.floor(recall * judged.n_gold + _ROUND_UP)[query]
    best = np.zeros(len(judged))
    np.maximum.at(best, query[reached], (number / judged.credited_rank)[reached])
    return judged.where_defined(best)


def rbp(judged: Judgments, k: CutOff = None, *, p: float = 0.8) -> FloatArray:
    """Sum the credited ranks, weighted by the probability that a reader gets there.

        RBP@k = (1 - p) * sum over credited ranks r <= k of p^(r - 1)

    Shape: (n_queries,), float64. Range: 0 to 1 - p^k, so 1 is never reached; higher is better. NaN where a query has
    no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * Two chunks that hold the same gold document: the reader gains from the first.
        * p close to 1: a patient reader; p = 0 looks at the first rank alone.

    Source: Moffat & Zobel (2008), ACM TOIS 27(1), doi:10.1145/1416950.1416952. On unique ids equal to
    `RBP(rel=1)` of ir_measures with the same p.
    """
    query, rank = judged.credited_query, judged.credited_rank
    inside = within(query, rank, k)
    total = np.bincount(query[inside], weights=p ** (rank[inside] - 1.0), minlength=len(judged))
    return judged.where_defined(np.multiply(1 - p, total))


def err(judged: Judgments, k: CutOff = None, *, max_grade: float = 4.0) -> FloatArray:
    """Return the expected reciprocal rank at which a reader stops.

        ERR@k  = sum over ranks r <= k of R(r) / r * product over ranks s < r of (1 - R(s))
        R(r)   = (2^g - 1) / 2^max_grade, with the highest grade g of the gold documents that r is the first to cover

    Shape: (n_queries,), float64. Range: 0 to 1 - 2^-max_grade, so 1 is never reached; higher is better. NaN where a
    query has no gold document.

    Args:
        judged: Which rank is the first to cover each gold document.
        k: The cut-off.
        max_grade: The highest grade of the scale. A grade above it is an error.

    Edge cases:
        * Nothing relevant within k, or nothing retrieved: 0.
        * Two chunks that hold the same gold document: the reader gains from the first.

    Source: Chapelle, Metzler, Zhang & Grinspan (2009), CIKM, doi:10.1145/1645953.1646033. On unique ids, and with the
    default scale of 0 to 4, that of TREC's gdeval and of `ERR` in ir_measures, which print five decimals.
    """
    highest = judged.gold_grade.max(initial=0)
    if highest > max_grade:
        raise InvalidInputError(
            f"A gold document has grade {highest:g}, and `err` takes {max_grade:g} for the highest grade of the scale. "
            f"Write err(max_grade={highest:g})."
        )
    inside = (judged.gold_rank > 0) & within(judged.gold_query, judged.gold_rank, k)
    stops = (2.0 ** judged.gold_grade[inside] - 1) / 2.0**max_grade
    order = np.lexsort((-stops, judged.gold_rank[inside], judged.gold_query[inside]))
    total, reads = np.zeros(len(judged)), np.ones(len(judged))
    last = (-1, -1)
    for place in order.tolist():
        query, rank = int(judged.gold_query[inside][place]), int(judged.gold_rank[inside][place])
        if (query, rank) == last:
            continue  # of the gold documents that a rank covers, the one with the highest grade counts
        last = query, rank
        total[query] += reads[query] * stops[place] / rank
        reads[query] *= 1 - stops[place]
    return judged.where_defined(total)


def set_precision(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001 - every metric takes a cut-off
    """Return the precision of all that was retrieved.

        set precision = relevant ranks / documents retrieved

    It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: `set_P` of trec_eval, `SetP` of ir_measures, to which it is equal on unique ids.
    """
    return precision(judged)


def set_recall(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001
    """Return the recall of all that was retrieved.

        set recall = covered gold documents / gold documents

    It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: `set_recall` of trec_eval, `SetR` of ir_measures, to which it is equal on unique ids.
    """
    return recall(judged)


def set_f(judged: Judgments, k: CutOff = None, *, beta: float = 1.0) -> FloatArray:  # noqa: ARG001
    """Return the weighted harmonic mean of set precision and set recall.

        set F = (1 + beta) P R / (R + beta P)

    The weight `beta` stands where van Rijsbergen has beta^2. It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Precision and recall both 0: 0.

    Source: `set_F` of trec_eval, `SetF` of ir_measures, to which it is equal on unique ids.
    """
    return harmonic_mean(precision(judged), recall(judged), beta)


def set_map(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001
    """Return the product of set precision and set recall.

        set AP = P R

    It has no cut-off.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: `set_map` of trec_eval, `SetAP` of ir_measures, to which it is equal on unique ids.
    """
    return precision(judged) * recall(judged)


def num_ret(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001
    """Return how many documents were retrieved.

        num_ret = documents retrieved

    It has no cut-off. Its mean over queries is the value of a result; trec_eval and ir_measures show the sum.

    Shape: (n_queries,), float64. Range: 0 or more; neither more nor less is better. It is a number and
    not NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * A repeat counts.

    Source: `num_ret` of trec_eval, `NumRet` of ir_measures.
    """
    return judged.n_retrieved.astype(np.float64)


def num_rel(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001
    """Return how many gold documents there are.

        num_rel = gold documents

    It has no cut-off. Its mean over queries is the value of a result; trec_eval and ir_measures show the sum.

    Shape: (n_queries,), float64. Range: 0 or more; neither more nor less is better. It is 0 and
    not NaN where a query has no gold document.

    Edge cases:
        * No gold document: 0.
        * Gold documents that repeat each other are one.

    Source: `num_rel` of trec_eval, `NumRel` of ir_measures.
    """
    return judged.n_gold.astype(np.float64)


def num_rel_ret(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001
    """Return how many of the retrieved documents are relevant.

        num_rel_ret = relevant ranks

    It has no cut-off. Its mean over queries is the value of a result; trec_eval and ir_measures show the sum.

    Shape: (n_queries,), float64. Range: 0 or more, higher is better. It is 0 and not NaN where a
    query has no gold document.

    Edge cases:
        * No gold document, or nothing retrieved: 0.
        * A repeat does not count.

    Source: `num_rel_ret` of trec_eval, `NumRet(rel=1)` of ir_measures.
    """
    return judged.relevant_within(None).astype(np.float64)
