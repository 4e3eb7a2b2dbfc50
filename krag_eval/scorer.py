"""Scores queries as they come: what a stream, a framework's metric and live monitoring have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from krag_eval.aggregate import Tally
from krag_eval.checks import check_cut_offs
from krag_eval.errors import InvalidInputError
from krag_eval.measurement import MetricFunction, choose_metrics, keys_of, signature_of, values_of
from krag_eval.pipeline import judge_batch
from krag_eval.query_results import Detail, QueryResult
from krag_eval.results import EvaluationResult
from krag_eval.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.supply import Supply
from krag_eval.token_budgets import ranks_within


class Scorer:
    """Scores queries one by one or in batches, and keeps the aggregates of all; memory does not grow.

    The numbers are those of one call of `evaluate` with all the queries, to the last bit. A scorer belongs to one
    thread at a time.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        bare_ids: The documents are nothing but ids, as for `evaluate_ids`.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Attributes:
        keys: The keys of each query's values, such as `recall@5`.
        signature: Every setting that can change a number, in one line.
        n_queries: How many queries were scored.

    Raises:
        InvalidInputError: A setting cannot be used.
        UnknownMetricError: A metric is not known.

    >>> scorer = Scorer(k=2)
    >>> scorer.score(["a", "b"], ["b", "x"]).values["recall@2"], scorer.score(["c"], ["c"]).values["recall@2"]
    (0.5, 1.0)
    >>> scorer.result()["recall@2"]
    0.75
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
        *,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        bare_ids: bool = False,
        **settings: Unpack[ScoringSettings],
    ) -> None:
        if bare_ids:
            settings.setdefault("match_method", "id")
        self._settings, self._cut_offs = make_settings(**settings), check_cut_offs(k)
        if bare_ids and self._settings.methods != ("id",):
            raise InvalidInputError("With `bare_ids` only match_method='id' makes sense. Leave `match_method` out.")
        self._bare_ids = bare_ids
        self._table = choose_metrics(metrics, self._settings)
        self.keys = keys_of(self._table, self._cut_offs)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self._tally = Tally.of(self.keys, self._cut_offs)
        self._supply = Supply.empty()
        self._errors: dict[int, str] = {}

    @property
    def n_queries(self) -> int:
        """How many queries were scored."""
        return self._tally.n_queries

    def score(self, actual: object, predicted: object) -> QueryResult:
        """Score one query.

        Args:
            actual: Its gold documents.
            predicted: Its retrieved documents, best first, or what the retriever raised.

        Raises:
            InvalidInputError: A document cannot be read; the query then counts nowhere.
        """
        return self.score_batch([actual], [predicted]).query_result(0)

    def score_batch(self, actual: object, predicted: object) -> EvaluationResult:
        """Score some queries; all or, where one cannot be read, none of them.

        Args:
            actual: The gold documents of each query.
            predicted: The retrieved documents of each query, best first, or what the retriever raised.

        Returns:
            The result of these queries alone, counted from 0.

        Raises:
            InvalidInputError: A document cannot be read; queries in the message are counted from the first of all.
        """
        first, settings = self.n_queries, self._settings
        judged = judge_batch(actual, predicted, settings, bare_ids=self._bare_ids, first_query=first)
        ranks = ranks_within(self._cut_offs, judged.batch)
        values = values_of(judged, ranks, self._table)
        tally = Tally.of(self.keys, self._cut_offs)
        tally.add(judged.judgments, values, ranks, settings.precision_denominator)
        errors = judged.batch.predicted.errors
        self._tally.merge(tally)
        self._supply.merge(judged.supply)
        self._errors |= {query + first: error for query, error in errors.items()}
        detail = Detail(judged.batch, judged.matches, judged.judgments, values, None, None)
        return EvaluationResult(self.signature, tally, judged.supply.unmatchable, errors, detail)

    def check(self) -> None:
        """Look at what the documents of all queries so far have of what the methods read; warns once a call.

        Raises:
            InvalidInputError: Not one document of a side has it, so that nothing can match.
        """
        self._supply.check(self._settings)

    def result(self) -> EvaluationResult:
        """The aggregates of all queries so far, without `per_query` and `explain`."""
        tally = Tally.of(self.keys, self._cut_offs)
        tally.merge(self._tally)
        return EvaluationResult(self.signature, tally, self._supply.unmatchable, dict(self._errors), None)
