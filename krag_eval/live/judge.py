"""Scores of retrievals, a few at a time: with gold by every metric, without gold by what needs none."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from krag_eval.checks import check_cut_offs, one_of
from krag_eval.errors import InvalidInputError, warn
from krag_eval.evalset import LEVELS
from krag_eval.evalset.levels import settings_at
from krag_eval.judgments import count_repeats
from krag_eval.live.gold_lookup import Gold, GoldLookup, is_evalset
from krag_eval.live.records import ScoredRetrieval
from krag_eval.live.retrievals import Retrieval
from krag_eval.measurement import choose_metrics, measure, signature_of
from krag_eval.pipeline import judge_batch
from krag_eval.query_results import QueryResult
from krag_eval.redaction import describe_error
from krag_eval.results import EvaluationResult
from krag_eval.scorer import Scorer
from krag_eval.settings import MatchingCriteria, ScoringSettings, make_settings

Outcome = ScoredRetrieval | Exception

# So long another thread gets to begin, in seconds. The scorer computes in steps of a millisecond or two without ever
# waiting for anything, and an interpreter that runs one thread at a time takes it from its thread after five only.
A_MOMENT = 0.00005


def let_others_go_on() -> None:
    """Have the application's own threads run, if they want to."""
    time.sleep(A_MOMENT)


class _GivingWay(Scorer):
    """A scorer on a thread beside those of an application."""

    def _between_steps(self) -> None:
        let_others_go_on()


class RetrievalJudge:
    """Scores retrievals, and keeps the aggregates of those with gold; one thread at a time.

    Args:
        gold: What `GoldLookup` takes, or None.
        k: One cut-off or several.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        keep: Keep every retrieval with gold, so that the result has its rows.
        settings: The scoring settings.

    Attributes:
        keys: The keys of a retrieval's values.
    """

    def __init__(
        self, gold: object, *, k: Any, metrics: Any, level: str, doc_key: str, keep: bool, settings: ScoringSettings
    ) -> None:
        # The defaults of their offline twins: of `evaluate_run` for evaluation sets, else of `evaluate`.
        if is_evalset(gold) or one_of("level", level, LEVELS) == "document":
            settings = settings_at(level, doc_key, settings)
        self._settings = make_settings(**settings)
        self._parts = ["level:document"] if level == "document" else []
        self._gold = None if gold is None else GoldLookup(gold, self._settings, level=level, doc_key=doc_key)
        self._cut_offs, self._table = check_cut_offs(k), choose_metrics(metrics, self._settings)
        self._given: dict[str, Any] = {"k": k, "metrics": metrics, **settings}
        self._keep = keep
        self.keys = Scorer(**self._given).keys
        self.start_anew()

    def start_anew(self) -> None:
        """Forget what was scored."""
        self._scorer = _GivingWay(**self._given)
        self._scorer.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL, self._parts)
        self._kept: list[tuple[Retrieval, Gold]] = []
        self._supply_checked = False

    def score(self, retrievals: Sequence[Retrieval]) -> list[Outcome]:
        """A score for each retrieval, or why it has none."""
        outcomes: dict[int, Outcome] = {}
        try:
            gold = {i: found for i, r in enumerate(retrievals) if (found := self._gold_of(r)) is not None}
            outcomes |= self._with_gold(retrievals, gold)
            outcomes |= self._without_gold(retrievals, [i for i in range(len(retrievals)) if i not in gold])
        except Exception as error:  # noqa: BLE001 - a metric of the user's own may raise anything
            if len(retrievals) == 1:
                return [error]
            # What was scored above is in the aggregates: only the rest is tried again, one by one.
            return [outcomes[i] if i in outcomes else self.score([r])[0] for i, r in enumerate(retrievals)]
        return [outcomes[i] for i in range(len(retrievals))]

    def result(self) -> EvaluationResult:
        """The result over all retrievals with gold; with its rows, where they are kept."""
        self.check_supply()
        if not self._kept:
            return self._scorer.result()
        retrievals, gold = zip(*self._kept, strict=True)
        return measure(
            judge_batch([documents for _, documents in gold], [r.ranking for r in retrievals], self._settings),
            self._cut_offs,
            self._table,
            queries=[str(retrieval.query) for retrieval in retrievals],
            query_ids=[query_id for query_id, _ in gold],
            signature_parts=self._parts,
        )

    def check_supply(self, least: int = 1) -> None:
        """Once, when at least so many retrievals were scored: warn of documents that can never match."""
        if self._supply_checked or self._scorer.n_queries < least:
            return
        self._supply_checked = True
        try:
            self._scorer.check()
        except InvalidInputError as error:
            warn(str(error))

    def _gold_of(self, retrieval: Retrieval) -> Gold | None:
        return self._gold.find(retrieval.query_id, retrieval.query) if self._gold is not None else None

    def _with_gold(self, retrievals: Sequence[Retrieval], gold: Mapping[int, Gold]) -> dict[int, Outcome]:
        if not gold:
            return {}
        first = self._scorer.n_queries
        part = self._scorer.score_batch(
            [documents for _, documents in gold.values()], [retrievals[i].ranking for i in gold]
        )
        let_others_go_on()
        repeats = count_repeats(part.detail.batch).tolist() if part.detail is not None else []
        if self._keep:
            self._kept += [(retrievals[i], found) for i, found in gold.items()]
        return {
            i: _scored(
                retrievals[i],
                gold[i][0],
                replace(row, index=first + row.index, id=gold[i][0], query=str(retrievals[i].query)),
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
        query=str(retrieval.query),
        query_id=query_id,
        name=retrieval.name,
        result=result,
        n_retrieved=len(retrieval.documents or ()),
        n_repeats=n_repeats,
        error=None if error is None else describe_error(error),
        seconds=retrieval.seconds,
        ended_at=retrieval.ended_at or datetime.now(UTC),
    )
