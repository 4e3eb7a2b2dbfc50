"""Metrics of all that was retrieved, whatever its order: counts, precision, recall, and what follows from these."""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.f1 import harmonic_mean
from krag_eval.metrics.judgments import CutOff, Judgments
from krag_eval.metrics.precision import precision
from krag_eval.metrics.recall import recall


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
