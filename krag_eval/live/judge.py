"""Scores of retrievals, a few at a time: with gold by every metric, without gold by what needs none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from krag_eval.judgments import count_repeats
from krag_eval.live.gold_lookup import Gold, GoldLookup
from krag_eval.live.records import ScoredRetrieval
from krag_eval.live.retrievals import Retrieval
from krag_eval.pipeline import judge_batch
from krag_eval.query_results import QueryResult
from krag_eval.scorer import Scorer
from krag_eval.settings import Settings

Outcome = ScoredRetrieval | Exception


class RetrievalJudge:
    """Scores retrievals, and keeps the aggregates of those with gold in its scorer.

    Args:
        scorer: What scores the retrievals with gold.
        gold: Where gold is looked up, or None.
        settings: The scoring settings.
    """

    def __init__(self, scorer: Scorer, gold: GoldLookup | None, settings: Settings) -> None:
        self.scorer = scorer
        self._gold = gold
        self._settings = settings

    def gold_of(self, retrieval: Retrieval) -> Gold | None:
        """The id of the question and its gold documents, or None."""
        return self._gold.find(retrieval.query_id, retrieval.query) if self._gold is not None else None

    def score(self, retrievals: Sequence[Retrieval]) -> list[Outcome]:
        """A score for each retrieval, or why it has none."""
        gold = {i: found for i, r in enumerate(retrievals) if (found := self.gold_of(r)) is not None}
        outcomes: dict[int, Outcome] = {}
        try:
            outcomes |= self._with_gold(retrievals, gold)
            outcomes |= self._without_gold(retrievals, [i for i in range(len(retrievals)) if i not in gold])
        except Exception as error:  # noqa: BLE001 - a metric of the user's own may raise anything
            if len(retrievals) == 1:
                return [error]
            # What was scored above is in the aggregates: only the rest is tried again, one by one.
            return [outcomes[i] if i in outcomes else self.score([r])[0] for i, r in enumerate(retrievals)]
        return [outcomes[i] for i in range(len(retrievals))]

    def _with_gold(self, retrievals: Sequence[Retrieval], gold: Mapping[int, Gold]) -> dict[int, Outcome]:
        if not gold:
            return {}
        first = self.scorer.n_queries
        part = self.scorer.score_batch(
            [documents for _, documents in gold.values()], [retrievals[i].ranking for i in gold]
        )
        repeats = count_repeats(part.detail.batch).tolist() if part.detail is not None else []
        return {
            i: _scored(
                retrievals[i],
                gold[i][0],
                replace(row, index=first + row.index, id=gold[i][0], query=retrievals[i].query),
                repeats[row.index],
            )
            for i, row in zip(gold, part.per_query, strict=True)
        }

    def _without_gold(self, retrievals: Sequence[Retrieval], chosen: Sequence[int]) -> dict[int, Outcome]:
        if not chosen:
            return {}
        judged = judge_batch([[] for _ in chosen], [retrievals[i].ranking for i in chosen], self._settings)
        repeats = count_repeats(judged.batch).tolist()
        return {
            i: _scored(retrievals[i], retrievals[i].query_id, None, n) for i, n in zip(chosen, repeats, strict=True)
        }


def _scored(retrieval: Retrieval, query_id: str | None, result: QueryResult | None, n_repeats: int) -> ScoredRetrieval:
    error = retrieval.error
    return ScoredRetrieval(
        run_id=retrieval.run_id,
        query=retrieval.query,
        query_id=query_id,
        name=retrieval.name,
        result=result,
        n_retrieved=len(retrieval.documents or ()),
        n_repeats=n_repeats,
        error=None if error is None else f"{type(error).__name__}: {error}",
        seconds=retrieval.seconds,
        ended_at=retrieval.ended_at or datetime.now(UTC),
    )
