"""Metrics of sessions: several searches for one question, each of which showed its own first `k` ranks.

They read `SessionJudgments`, which hold what each search found; `k` is the cut-off within each search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.objects import cached_property
from krag_eval.documents.columns import runs
from krag_eval.matching import Batch
from krag_eval.metrics.cut_offs import GivenCutOff, ranks_within
from krag_eval.metrics.judgments import CutOff, Judgments, identity_keys, within

_NEVER = (1 << 63) - 1


@dataclass(frozen=True, eq=False)
class SessionJudgments:
    """What the searches of some sessions found.

    Attributes:
        batch: The gold documents and the documents of each search; a row for each search.
        judgments: What they earned, in the same rows.
        offsets: The rows of session s are `offsets[s]` to `offsets[s + 1]`; shape (n_sessions + 1,). A session in which
            nothing was searched has one row, without documents.
        n_searches: How many searches each session has; shape (n_sessions,).
        seconds: How long each search took, NaN where that is not known; shape (n_rows,).
        tokens: How many tokens each search cost, NaN where that is not known; shape (n_rows,).
        cited: For each gold document of each session whether a cited document satisfies it; None where no row says
            what was cited.
        has_cited: Which sessions say what was cited.
        queries: What was searched for, None where that is not known; length n_rows.
        filtered: Returns for the name of a stage, or None for all filters, which needs it was given and did not return,
            and which sessions went through it.
    """

    batch: Batch
    judgments: Judgments
    offsets: IntArray
    n_searches: IntArray
    seconds: FloatArray
    tokens: FloatArray
    cited: BoolArray | None = None
    has_cited: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    queries: Sequence[str | None] = ()
    filtered: Callable[[str | None], tuple[BoolArray, BoolArray]] | None = None

    def __len__(self) -> int:
        return len(self.n_searches)

    @cached_property
    def outcomes(self) -> dict[GivenCutOff, list[list[Any]]]:
        """What its searches brought, by cut-off, as explanations have computed it so far."""
        return {}

    @property
    def n_gold(self) -> IntArray:
        """How many needs each session has; shape (n_sessions,)."""
        return self.judgments.n_gold[self.offsets[:-1]]

    @cached_property
    def gold_session(self) -> IntArray:
        """The session of each need; shape (n_needs,)."""
        return np.repeat(np.arange(len(self)), self.n_gold)

    def first_searches(self, k: GivenCutOff) -> IntArray:
        """Return the number of the search, from 0, that covered each need first, -1 if none did; shape (n_needs,)."""
        judged = self.judgments
        covered = (judged.gold_rank > 0) & within(judged.gold_query, judged.gold_rank, self.ranks(k))
        first = np.full(len(self.gold_session), _NEVER)
        np.minimum.at(first, self._need_of_gold[covered], self.number[judged.gold_query[covered]])
        return np.where(first == _NEVER, -1, first)

    @cached_property
    def best_places(self) -> tuple[IntArray, IntArray]:
        """The best rank of each need in any search, 0 if it has none, and the number of that search, from 0."""
        judged, n_needs = self.judgments, len(self.gold_session)
        covered = np.flatnonzero(judged.gold_rank > 0)
        rank, search = np.zeros((2, n_needs), dtype=np.int64)
        order = covered[np.lexsort((-judged.gold_query[covered], -judged.gold_rank[covered]))]  # the best one stays
        rank[self._need_of_gold[order]] = judged.gold_rank[order]
        search[self._need_of_gold[order]] = self.number[judged.gold_query[order]]
        return rank, search

    def place(self, session: int, rank: int) -> tuple[int, int]:
        """Return the search, from 1, and the rank in it of a rank in all documents of a session one after another."""
        search, within_it = self.places(session)
        return search[rank - 1], within_it[rank - 1]

    def places(self, session: int) -> tuple[list[int], list[int]]:
        """Return the search, from 1, and the rank in it of all documents of a session one after another."""
        sizes = self.batch.predicted.sizes[self.offsets[session] : self.offsets[session + 1]]
        ranks = [rank for size in sizes.tolist() for rank in range(1, size + 1)]
        return [search for search, size in enumerate(sizes.tolist(), 1) for _ in range(size)], ranks

    def completed(self, k: GivenCutOff) -> IntArray:
        """Return the number of the search, from 0, after which all needs are covered; -1 where they never are."""
        first, session = self.first_searches(k), self.gold_session
        last = np.full(len(self), -1)
        np.maximum.at(last, session, first)
        missing = np.bincount(session[first < 0], minlength=len(self))
        return np.where(missing > 0, -1, last)

    def new_documents(self, k: GivenCutOff) -> IntArray:
        """Return how many documents each search shows that no earlier one of its session showed; shape (n_rows,)."""
        side = self.batch.predicted
        row = side.query_of(np.arange(int(side.offsets[-1])))
        shown = np.flatnonzero(within(row, runs(np.ones_like(side.sizes), side.sizes), self.ranks(k)))
        is_new = np.ones(len(shown), dtype=bool)
        session = self._session_of_row[row[shown]]
        for codes in identity_keys(self.batch):
            code = codes.predicted[shown]
            key = session * (int(codes.predicted.max(initial=0)) + 1) + code
            _, first, which = np.unique(key, return_index=True, return_inverse=True)  # rows are in order of time
            is_new &= (code < 0) | (row[shown[first]][which] == row[shown])
        return np.bincount(row[shown[is_new]], minlength=len(side))

    def recall_curve(self, k: GivenCutOff) -> FloatArray:
        """Return the mean `session_recall` after the first 1, 2, ... searches; shape (most searches of a session,)."""
        first, n_searches = self.first_searches(k), int(self.n_searches.max(initial=0))
        shares = [self.mean_over_needs((first >= 0) & (first < n)) for n in range(1, n_searches + 1)]
        return np.array([np.nanmean(share) if (self.n_gold > 0).any() else np.nan for share in shares])

    def ranks(self, k: GivenCutOff) -> CutOff:
        """Return a cut-off as ranks: one number, or for a token budget the number that fits in each search."""
        return ranks_within((k,), self.batch)[k]

    @cached_property
    def number(self) -> IntArray:
        """The number of each row in its session, from 0; shape (n_rows,)."""
        return np.arange(int(self.offsets[-1])) - self.offsets[self._session_of_row]

    @cached_property
    def _need_of_gold(self) -> IntArray:
        """The need of each gold document of each row; shape (n_gold,)."""
        judged = self.judgments
        first_of_session = np.append(0, np.cumsum(self.n_gold))[self._session_of_row[judged.gold_query]]
        first_of_row = np.append(0, np.cumsum(judged.n_gold))[judged.gold_query]
        need: IntArray = first_of_session + np.arange(len(judged.gold_query)) - first_of_row
        return need

    @cached_property
    def _session_of_row(self) -> IntArray:
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def mean_over_needs(self, counted: BoolArray) -> FloatArray:
        """Return the share of the needs of each session for which something holds, NaN without needs."""
        total = np.bincount(self.gold_session[counted], minlength=len(self))
        return np.asarray(total / np.where(self.n_gold > 0, self.n_gold, np.nan))

    def where_defined(self, values: BoolArray | IntArray | FloatArray) -> FloatArray:
        """Return the values of each session, NaN where it has no needs."""
        return np.where(self.n_gold > 0, values.astype(np.float64), np.nan)

    def spent_until_complete(self, amounts: FloatArray, k: GivenCutOff) -> FloatArray:
        """Return what the searches up to the one that completed the evidence cost, NaN where it is not complete."""
        last = self.completed(k)
        until = self.number <= last[self._session_of_row]
        total = np.bincount(self._session_of_row[until], weights=amounts[until], minlength=len(self))
        return np.where((last >= 0) & (self.n_gold > 0), total, np.nan)


def session_recall(
    judged: Judgments,  # noqa: ARG001
    k: GivenCutOff = None,
    *,
    sessions: SessionJudgments,
    searches: int | None = None,
) -> FloatArray:
    """Return the needs that any search of the session covers, as a share.

        session recall@k = needs covered within the first k ranks of any search / needs

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Not used.
        k: The cut-off within each search.
        sessions: What each search found.
        searches: Only the first so many searches count.

    Edge cases:
        * One search: equal to `recall` to the last bit.
        * Nothing retrieved: 0.

    Source: the contract of this project; for one search as `recall`.
    """
    first = sessions.first_searches(k)
    return sessions.mean_over_needs((first >= 0) & (first < (searches or _NEVER)))


def session_complete(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return 1 where the searches together cover all needs, else 0.

        evidence complete@k = 1 if each need is covered within the first k ranks of some search

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * One search: equal to `hit_rate_all`.

    Source: the contract of this project.
    """
    return sessions.where_defined(sessions.completed(k) >= 0)


def session_searches(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return the number of the search after which all needs are covered.

        searches to evidence@k = the smallest s such that searches 1 to s cover each need within their first k ranks

    Shape: (n_queries,), float64. Range: 1 or more, lower is better. NaN where a query has no gold document, and where
    the evidence is never complete: read it beside `evidence_complete`.

    Edge cases:
        * One search covers everything: 1.

    Source: the contract of this project.
    """
    last = sessions.completed(k)
    return sessions.where_defined(np.where(last >= 0, last + 1.0, np.nan))


def session_tokens(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return what the searches cost until all needs are covered, in tokens.

        tokens to evidence@k = tokens of searches 1 to searches_to_evidence@k, summed

    Shape: (n_queries,), float64. Range: 0 or more, lower is better. NaN where a query has no gold document, where the
    evidence is never complete, and where the tokens of one of these searches are not known.

    Edge cases:
        * As for `searches_to_evidence`.

    Source: the contract of this project.
    """
    return sessions.spent_until_complete(sessions.tokens, k)


def session_seconds(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return how long the searches took until all needs are covered, in seconds.

        seconds to evidence@k = latencies of searches 1 to searches_to_evidence@k, summed

    Shape: (n_queries,), float64. Range: 0 or more, lower is better. NaN where a query has no gold document, where the
    evidence is never complete, and where the latency of one of these searches is not known.

    Edge cases:
        * Searches that ran side by side count one after another.

    Source: the contract of this project.
    """
    return sessions.spent_until_complete(sessions.seconds, k)


def session_redundancy(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return the searches after the first that show no document which was not shown before, as a share.

        redundant searches@k = searches 2, 3, ... whose first k ranks hold nothing new / searches 2, 3, ...

    Documents are the same as in judging repeats: by id where ids are matched, by text where texts are.

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where a query has fewer than two searches.

    Edge cases:
        * A search that shows nothing shows nothing new.
        * It needs no gold: sessions without gold documents count.

    Source: the contract of this project.
    """
    later = (sessions.number > 0) & (sessions.new_documents(k) == 0)
    count = np.add.reduceat(later.astype(np.int64), sessions.offsets[:-1])
    return np.asarray(count / np.where(sessions.n_searches > 1, sessions.n_searches - 1.0, np.nan))


def session_needless(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return the searches that came after the evidence was complete, as a share of all.

        needless searches@k = searches after searches_to_evidence@k / searches

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where a query has no gold document, or no search.

    Edge cases:
        * The evidence is never complete: 0.

    Source: the contract of this project.
    """
    last, n_searches = sessions.completed(k), sessions.n_searches
    needless = np.where(last >= 0, n_searches - last - 1, 0)
    return sessions.where_defined(needless / np.where(n_searches > 0, n_searches, np.nan))


def session_late_recovery(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return 1 where the first covered need was covered after the first search, else 0.

        late recovery@k = 1 if search 1 covers no need within its first k ranks, and a later one covers some

    Shape: (n_queries,), float64. Range: 0 or 1: how often the first search fails and a later one makes up for it. NaN
    where a query has no gold document.

    Edge cases:
        * No need is ever covered: 0.

    Source: the contract of this project.
    """
    first = sessions.first_searches(k)
    earliest = np.full(len(sessions), _NEVER)
    np.minimum.at(earliest, sessions.gold_session[first >= 0], first[first >= 0])
    return sessions.where_defined((earliest > 0) & (earliest < _NEVER))


def session_seen_not_cited(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return the needs that were covered and that no cited document satisfies, as a share of all needs.

        seen, not cited@k = needs covered by any search and satisfied by no document of `cited` / needs

    Shape: (n_queries,), float64. Range: 0 to `session_recall`, lower is better. NaN where a query has no gold document,
    and where the row does not say what was cited.

    Edge cases:
        * Nothing is cited: equal to `session_recall`.

    Source: the contract of this project.
    """
    cited = np.zeros(len(sessions.gold_session), dtype=bool) if sessions.cited is None else sessions.cited
    seen = sessions.mean_over_needs((sessions.first_searches(k) >= 0) & ~cited)
    return np.where(sessions.has_cited, seen, np.nan)


def session_filter_loss(
    judged: Judgments,  # noqa: ARG001
    k: GivenCutOff = None,
    *,
    sessions: SessionJudgments,
    stage: str | None = None,
) -> FloatArray:
    """Return the needs that were lost because a filter took them out, as a share.

        filter loss@k = needs that a filter was given and did not return, and that no search shows within k / needs

    Shape: (n_queries,), float64. Range: 0 to 1 - recall, lower is better. NaN where a query has no gold document that
    the asker may see, and where no filter ran.

    Args:
        judged: Not used.
        k: The cut-off of the last stage, within each search.
        sessions: What each search and each stage found.
        stage: The name of the filter; by default each stage whose name contains "filter".

    Edge cases:
        * A need that reaches the first k ranks by another branch of the pipeline is not lost.

    Source: ours; docs/metrics.md.
    """
    if sessions.filtered is None:
        return np.full(len(sessions), np.nan)
    taken_out, has_filter = sessions.filtered(stage)
    lost = sessions.mean_over_needs(taken_out & (sessions.first_searches(k) < 0))
    return np.where(has_filter, lost, np.nan)


def session_length(judged: Judgments, k: GivenCutOff = None, *, sessions: SessionJudgments) -> FloatArray:  # noqa: ARG001
    """Return how many searches there were.

        n_searches = searches of the session

    Shape: (n_queries,), float64. Range: 0 or more. It needs no gold, and is never NaN where a query has a row.

    Edge cases:
        * A ranking without `searches` is one search; a retriever that raised made none that is known.

    Source: a count.
    """
    return sessions.n_searches.astype(np.float64)
