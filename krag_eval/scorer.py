"""Scores queries as they come: what a stream, a framework's metric and live monitoring have in common."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
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
from krag_eval.wrong_names import tell_names

# Of so many retrievals that raised it is kept what they said; of the others it is kept which they were.
MOST_MESSAGES = 1000


class FirstMessages(Mapping[int, str]):
    """What retrievers raised, by query: which queries failed, all of them, and what the first thousand said.

    Eight bytes a query that failed, whatever it said.
    """

    def __init__(self, given: Mapping[int, str] | None = None) -> None:
        self._queries = array("q")
        self._messages: list[str] = []
        self.add(given or {})

    def add(self, errors: Mapping[int, str]) -> None:
        """Take in the errors of further queries, by rising number."""
        self._queries.extend(errors)
        room = MOST_MESSAGES - len(self._messages)
        self._messages += list(errors.values())[: max(0, room)]

    def copy(self) -> FirstMessages:
        """The same, which later errors do not reach."""
        twin = FirstMessages()
        twin._queries, twin._messages = self._queries[:], self._messages[:]
        return twin

    def __getitem__(self, query: int) -> str:
        place = bisect_left(self._queries, query)
        if place == len(self._queries) or self._queries[place] != query:
            raise KeyError(query)
        if place < len(self._messages):
            return self._messages[place]
        return f"not kept: only what the first {MOST_MESSAGES:,} said is"

    def __iter__(self) -> Iterator[int]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return f"<what {len(self):,} retrievers raised>"


@tell_names
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
        self._errors = FirstMessages()

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
        self._between_steps()
        ranks = ranks_within(self._cut_offs, judged.batch)
        values = values_of(judged, ranks, self._table)
        self._between_steps()
        tally = Tally.of(self.keys, self._cut_offs)
        tally.add(judged.judgments, values, ranks, settings.precision_denominator)
        errors = judged.batch.predicted.errors
        self._tally.merge(tally)
        self._supply.merge(judged.supply)
        self._errors.add({query + first: error for query, error in errors.items()})
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
        return EvaluationResult(self.signature, tally, self._supply.unmatchable, self._errors.copy(), None)

    def _between_steps(self) -> None:
        """Nothing; a kind that must not keep others waiting lets them go on here."""
