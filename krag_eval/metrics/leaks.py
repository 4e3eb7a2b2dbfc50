"""Metrics of what must not be retrieved: how often, how much and how early it is; lower is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.objects import ComparedByFields
from krag_eval.documents.document import Document
from krag_eval.metrics.judgments import CutOff, Judgments, within

if TYPE_CHECKING:
    from krag_eval.matching.forbidden import Reason


@dataclass(frozen=True, eq=False)
class Leaks(ComparedByFields):
    """Which ranks of some queries are forbidden. A query has one list of ranks, or one for each search of a session.

    Attributes:
        is_defined: Whether anything is forbidden for a query; shape (n_queries,).
        list_query: The query of each list; shape (n_lists,), rising.
        list_size: How many documents each list has; shape (n_lists,).
        place: The list of each forbidden rank, rising.
        rank: Each forbidden rank in its list, from 1.
        reasons: Why each of them is forbidden.
        documents: The document at each of them.
        n_unknown: How many retrieved documents say nothing about a key that `allowed` looks at.
        listed: The documents that each query lists as forbidden.
        hidden: The query of each gold document that whoever asks may not see, and why.
    """

    is_defined: BoolArray
    list_query: IntArray
    list_size: IntArray
    place: IntArray
    rank: IntArray
    reasons: Sequence[Reason]
    documents: Sequence[Document] = ()
    n_unknown: int = 0
    listed: Sequence[Sequence[Document]] = ()
    hidden: Sequence[tuple[int, str]] = ()

    @property
    def first_lists(self) -> IntArray:
        """The number of the first list of each query; shape (n_queries,)."""
        return np.searchsorted(self.list_query, np.arange(len(self.is_defined)))

    def reasons_of(self, query: int) -> dict[int, str]:
        """Return why ranks of one query are forbidden, by the rank in all its lists one after another."""
        first, last = np.searchsorted(self.list_query, [query, query + 1]).tolist()
        before = np.append(0, np.cumsum(self.list_size[first:last]))
        entries = range(*np.searchsorted(self.place, [first, last]).tolist())
        return {int(before[self.place[one] - first] + self.rank[one]): self.reasons[one].text for one in entries}

    def counts(self, k: CutOff) -> IntArray:
        """Return how many ranks are forbidden within `k`, of each list; shape (n_queries,)."""
        inside = within(self.place, self.rank, k)
        return np.bincount(self.list_query[self.place[inside]], minlength=len(self.is_defined))

    def of_defined(self, values: FloatArray) -> FloatArray:
        """Return values, NaN for queries for which nothing is forbidden."""
        return np.where(self.is_defined, values, np.nan)


def no_leaks(n_queries: int) -> Leaks:
    """Return what is forbidden where nothing is: every value is undefined."""
    none = np.empty(0, dtype=np.int64)
    return Leaks(np.zeros(n_queries, dtype=bool), np.arange(n_queries), np.zeros(n_queries, np.int64), none, none, ())


def leak(judged: Judgments, k: CutOff = None, *, leaks: Leaks) -> FloatArray:  # noqa: ARG001
    """Return whether one of the first `k` ranks is forbidden.

        leak@k = 1 if a rank within k is forbidden, else 0

    Shape: (n_queries,), float64. Range: 0 or 1, lower is better. NaN where a query has nothing forbidden.

    Args:
        judged: Not used: whether a query has gold plays no part.
        k: The cut-off, of each search in a session.
        leaks: Which ranks are forbidden.

    Edge cases:
        * Nothing retrieved: 0.
        * A session leaks if any of its searches does.

    Source: ours; docs/forbidden.md.
    """
    return leaks.of_defined((leaks.counts(k) > 0).astype(np.float64))


def leak_share(judged: Judgments, k: CutOff = None, *, leaks: Leaks) -> FloatArray:  # noqa: ARG001
    """Return the share of forbidden ranks.

        leak_share@k = forbidden ranks within k / min(k, number retrieved)

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where a query has nothing forbidden.

    Args:
        judged: Not used.
        k: The cut-off, of each search in a session.
        leaks: Which ranks are forbidden.

    Edge cases:
        * Nothing retrieved: 0.
        * A document that is retrieved again counts again.

    Source: ours; docs/forbidden.md.
    """
    size = leaks.list_size if k is None else np.minimum(leaks.list_size, k)
    shown = np.bincount(leaks.list_query, weights=size, minlength=len(leaks.is_defined))
    return leaks.of_defined(np.divide(leaks.counts(k), shown, out=np.zeros(len(shown)), where=shown > 0))


def first_leak(judged: Judgments, k: CutOff = None, *, leaks: Leaks) -> FloatArray:  # noqa: ARG001
    """Return the reciprocal of the first forbidden rank, 0 where no rank is forbidden. It has no cut-off.

        first_leak = 1 / first forbidden rank

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where a query has nothing forbidden.

    Args:
        judged: Not used.
        k: Not used.
        leaks: Which ranks are forbidden.

    Edge cases:
        * A session has the best rank of any of its searches.

    Source: ours, after the reciprocal rank; docs/forbidden.md.
    """
    values = np.zeros(len(leaks.is_defined))
    np.maximum.at(values, leaks.list_query[leaks.place], 1 / leaks.rank)
    return leaks.of_defined(values)
