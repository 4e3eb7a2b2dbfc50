"""Score retrievals against the gold of their questions, and keep what a result needs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval.evaluation import QueryResult
from krag_eval.toolkit import IdKey, RetrievalScorer, ScoringSettings, describe_error, this_process, warn
from krag_eval_live.gold import Gold, GoldLookup, is_evalset
from krag_eval_live.retrievals import Retrieval
from krag_eval_live.sessions import SessionJudge
from krag_eval_live.sinks import ScoredRetrieval, choose_main

Outcome = ScoredRetrieval | Exception

# How long the scorer yields to other threads, in seconds. It computes in steps of a millisecond or two without waiting
# for anything, while the interpreter switches threads only every five.
_YIELD_SECONDS = 0.00005


def yield_to_others() -> None:
    """Let the application's threads run, until the process exits and waits for the scores."""
    if this_process.seconds_exiting() is None:
        time.sleep(_YIELD_SECONDS)


class RetrievalJudge:
    """Score retrievals, and keep the aggregates of those with gold; for one thread at a time.

    Args:
        gold: What `GoldLookup` takes, or None.
        k: One cut-off or several.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        keep: Keep every retrieval with gold, so that the result has rows.
        settings: The scoring settings.
        sample: The share of sessions that is scored.

    Attributes:
        keys: The keys of a retrieval's values.
        main_keys: Those that are sent to sinks where each score costs.
        sessions: Scores sessions of several retrievals.
        has_rules: Whether the gold says what must not be retrieved.
    """

    def __init__(
        self,
        gold: object,
        *,
        k: Any,
        metrics: Any,
        level: str,
        doc_key: IdKey,
        keep: bool,
        settings: ScoringSettings,
        sample: float = 1.0,
    ) -> None:
        make = partial(
            RetrievalScorer,
            k,
            metrics=metrics,
            level=level,
            doc_key=doc_key,
            of_set=is_evalset(gold),
            parts=[f"sample:{sample:g}"] if sample < 1 else [],
            between_steps=yield_to_others,
            **settings,
        )
        self._gold = GoldLookup(gold, make(), level=level, doc_key=doc_key)
        self.has_rules = self._gold.has_rules
        self._make = partial(make, with_leaks=self.has_rules)
        self._keep = keep
        self._choose_main = partial(choose_main, metrics=metrics, k=k)
        self.start_anew()
        self.keys = self._scorer.keys
        self.main_keys = self._choose_main(self.keys)

    def start_anew(self) -> None:
        """Forget all retrievals and sessions."""
        self._scorer = self._make()
        self.sessions = SessionJudge(self._gold, self._scorer, self._choose_main, keep=self._keep)
        self._kept: list[tuple[Retrieval, Gold]] = []
        self._documents_checked = False

    def score(self, retrievals: Sequence[Retrieval]) -> list[Outcome]:
        """Return the scored form of each retrieval, or the error that prevented it."""
        outcomes: dict[int, Outcome] = {}
        try:
            gold = {i: found for i, r in enumerate(retrievals) if (found := self._gold_of(r)) is not None}
            outcomes |= self._with_gold(retrievals, gold)
            outcomes |= self._without_gold(retrievals, [i for i in range(len(retrievals)) if i not in gold])
        except Exception as error:  # noqa: BLE001 - a metric of the user's own may raise anything
            if len(retrievals) == 1:
                return [error]
            # Those with an outcome are in the aggregates: only the others are tried again, one by one.
            return [outcomes[i] if i in outcomes else self.score([r])[0] for i, r in enumerate(retrievals)]
        return [outcomes[i] for i in range(len(retrievals))]

    def result(self) -> EvaluationResult:
        """Return the result over all retrievals with gold; with rows, if they are kept."""
        self.check_documents()
        if not self._kept:
            return self._scorer.result()
        retrievals, gold = zip(*self._kept, strict=True)
        return self._scorer.evaluate(
            [documents for _, documents in gold],
            [retrieval.ranking for retrieval in retrievals],
            queries=[str(retrieval.query) for retrieval in retrievals],
            query_ids=[query_id for query_id, _ in gold],
            **self._gold.rules_of(gold),
        )

    def check_documents(self, least: int = 1) -> None:
        """Warn once of documents that can never match, after at least so many scored retrievals."""
        if self._documents_checked or self._scorer.n_queries < least:
            return
        self._documents_checked = True
        try:
            self._scorer.check()
        except InvalidInputError as error:
            warn(*error.args)

    def _gold_of(self, retrieval: Retrieval) -> Gold | None:
        found = self._gold.find(retrieval.query_id, retrieval.query)
        return self._gold.find(None, retrieval.question) if found is None else found

    def _with_gold(self, retrievals: Sequence[Retrieval], gold: Mapping[int, Gold]) -> dict[int, Outcome]:
        if not gold:
            return {}
        first = self._scorer.n_queries
        part = self._scorer.score_batch(
            [documents for _, documents in gold.values()],
            [retrievals[i].ranking for i in gold],
            **self._gold.rules_of(gold.values()),
        )
        yield_to_others()
        repeats = [] if part.detail is None else self._scorer.repeats_in(part.detail)
        relevance = [] if part.detail is None else part.detail.judged.relevance()
        if self._keep:
            self._kept += [(retrievals[i], found) for i, found in gold.items()]
        return {
            i: _scored(
                retrievals[i],
                gold[i][0],
                replace(row, index=first + row.index, id=gold[i][0], query=str(retrievals[i].query)),
                repeats[row.index],
                relevance[row.index],
                self.main_keys,
            )
            for i, row in zip(gold, part.per_query, strict=True)
        }

    def _without_gold(self, retrievals: Sequence[Retrieval], chosen: Sequence[int]) -> dict[int, Outcome]:
        if not chosen:
            return {}
        repeats = self._scorer.count_repeats([retrievals[i].ranking for i in chosen])
        return {
            i: _scored(retrievals[i], retrievals[i].query_id, None, n) for i, n in zip(chosen, repeats, strict=True)
        }


def _scored(
    retrieval: Retrieval,
    query_id: str | None,
    result: QueryResult | None,
    n_repeats: int,
    relevance: tuple[bool, ...] | None = None,
    main_keys: tuple[str, ...] = (),
) -> ScoredRetrieval:
    error = retrieval.error
    return ScoredRetrieval(
        run_id=retrieval.run_id,
        query=str(retrieval.query),
        query_id=query_id,
        name=retrieval.name,
        result=result,
        n_retrieved=len(retrieval.documents or ()),
        n_repeats=n_repeats,
        error=None if error is None else describe_error(error),
        seconds=retrieval.seconds,
        ended_at=retrieval.ended_at or datetime.now(UTC),
        relevance=relevance,
        main_keys=main_keys,
    )
