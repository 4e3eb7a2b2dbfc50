"""Score queries as they come, in bounded memory: one by one, in batches, or from an iterator."""

from __future__ import annotations

import copy
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Unpack, cast

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError, describe_type, warn
from krag_eval.evaluation.detail import Detail
from krag_eval.evaluation.pipeline import (
    CallbackRunner,
    EvaluationCallback,
    EvaluationStart,
    MetricFunction,
    choose_metrics,
    columns_of,
    judge_batch,
    rules_if_any,
    score,
    signature_of,
    with_needs,
)
from krag_eval.evaluation.results import EvaluationResult, QueryResult
from krag_eval.matching.fronts import NO_LISTS
from krag_eval.matching.matchability import DocumentCounts, SpellingWatch
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.metrics.aggregation import Tally
from krag_eval.metrics.names import DEFAULT_CUT_OFFS

# Of so many retrievals that raised it is kept what they said; of the others it is kept which they were.
_MOST_MESSAGES = 1000


class _FirstMessages(Mapping[int, str]):
    """What retrievers raised, by query: which queries failed, all of them, and what the first thousand said.

    Eight bytes per query that failed, whatever it said.
    """

    def __init__(self) -> None:
        self._queries = array("q")
        self._messages: list[str] = []

    def add(self, errors: Mapping[int, str]) -> None:
        """Take in the errors of further queries, by rising number."""
        self._queries.extend(errors)
        room = _MOST_MESSAGES - len(self._messages)
        self._messages += list(errors.values())[: max(0, room)]

    def __getitem__(self, query: int) -> str:
        place = bisect_left(self._queries, query)
        if place == len(self._queries) or self._queries[place] != query:
            raise KeyError(query)
        if place < len(self._messages):
            return self._messages[place]
        return f"not kept: only what the first {_MOST_MESSAGES:,} said is"

    def __iter__(self) -> Iterator[int]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return f"<what {len(self):,} retrievers raised>"


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
        front: How the user called, for warnings.

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
        k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
        *,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        bare_ids: bool = False,
        **settings: Unpack[ScoringSettings],
    ) -> None:
        if bare_ids:
            settings.setdefault("match_method", "id")
        self._settings = make_settings(**settings)
        if bare_ids and self._settings.methods != ("id",):
            raise InvalidInputError("With `bare_ids` only match_method='id' makes sense. Leave `match_method` out.")
        self._bare_ids = bare_ids
        self._cut_offs, self._metrics = choose_metrics(metrics, self._settings, k)
        self._columns = columns_of(self._metrics, self._cut_offs)
        self.keys = tuple(self._columns)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self._tally = Tally.of(self.keys, self._cut_offs)
        self._document_counts = DocumentCounts.empty()
        self._spelling = SpellingWatch()
        self._errors = _FirstMessages()
        self._is_checked = False
        self.front = NO_LISTS

    @property
    def n_queries(self) -> int:
        """How many queries were scored."""
        return self._tally.n_queries

    def score(
        self,
        actual: object,
        predicted: object,
        *,
        must_not: object = None,
        allowed: object = None,
        query_id: str | None = None,
    ) -> QueryResult:
        """Score one query.

        Args:
            actual: Its gold documents.
            predicted: Its retrieved documents, best first, or what the retriever raised.
            must_not: The documents that must not be retrieved, for the metrics `leak`, `leak_share` and `first_leak`.
            allowed: What whoever asks may see, as for `evaluate`.
            query_id: Its id, for `exclude_self`.

        Raises:
            InvalidInputError: A document cannot be read; the query then counts nowhere.
        """
        query_ids = None if query_id is None else [query_id]
        rules = {name: None if one is None else [one] for name, one in (("must_not", must_not), ("allowed", allowed))}
        return self.score_batch([actual], [predicted], query_ids=query_ids, **rules).query_result(0)

    def score_batch(
        self,
        actual: object,
        predicted: object,
        *,
        must_not: object = None,
        allowed: object = None,
        query_ids: Sequence[str] | None = None,
    ) -> EvaluationResult:
        """Score some queries; all or, where one cannot be read, none of them.

        Args:
            actual: The gold documents of each query.
            predicted: The retrieved documents of each query, best first, or what the retriever raised.
            must_not: The documents of each query that must not be retrieved, as for `evaluate`.
            allowed: What whoever asks may see, for each query, as for `evaluate`.
            query_ids: The id of each query, for `exclude_self`.

        Returns:
            The result of these queries alone, counted from 0.

        Raises:
            InvalidInputError: A document cannot be read; queries in the message are counted from the first of all.
        """
        first = self.n_queries
        rules = rules_if_any(must_not, allowed, actual, self._settings, is_bare=self._bare_ids)
        judged = judge_batch(
            actual,
            predicted,
            self._settings,
            bare_ids=self._bare_ids,
            first_query=first,
            query_ids=query_ids if self._settings.exclude_self else None,
            rules=rules,
        )
        self.signature = with_needs(self.signature, has_needs=judged.batch.actual.needs is not None)
        self._between_steps()
        values, tally = score(judged, self._columns, self._cut_offs)
        self._between_steps()
        errors = judged.batch.predicted.errors
        self._tally.merge(tally)
        self._document_counts.merge(judged.document_counts)
        self._spelling.add(judged.batch, judged.matches)
        self._errors.add({query + first: error for query, error in errors.items()})
        detail = Detail(judged.batch, judged.matches, judged.judgments, values, None, None, leaks=judged.leaks)
        return EvaluationResult(self.signature, tally, judged.document_counts.unmatchable, errors, detail)

    def check(self) -> None:
        """Check the documents of all queries so far: warn, once per call, if nothing matches, and say what would.

        Ids that match in part are told of once: ids that others only spell differently.

        Raises:
            InvalidInputError: No document of a side has it, so that nothing can match.
        """
        self._is_checked = True
        self._document_counts.check(self._settings, self.front)
        if self._document_counts.matched:
            self._spelling.warn(self._settings, self.front)

    def result(self) -> EvaluationResult:
        """Return the aggregates of all queries so far, without `per_query` and `explain`.

        The first call warns if nothing matches, unless `check` was called before.
        """
        if not self._is_checked:
            try:
                self.check()
            except InvalidInputError as error:
                warn(*error.args)
        tally = Tally.of(self.keys, self._cut_offs)
        tally.merge(self._tally)
        errors = copy.deepcopy(self._errors)  # which later ones do not reach
        return EvaluationResult(self.signature, tally, self._document_counts.unmatchable, errors, None)

    def _between_steps(self) -> None:
        """Do nothing; a subclass that must not keep other threads waiting yields here."""


def evaluate_stream(
    pairs: Iterable[tuple[object, ...]],
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    bare_ids: bool = False,
    batch_size: int = 1000,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    **settings: Unpack[ScoringSettings],
) -> EvaluationResult:
    """Score queries from an iterator; memory holds one batch, the numbers are those of `evaluate` to the last bit.

    Args:
        pairs: For each query its gold documents and its retrieved documents, best first; with `exclude_self` also the
            id of the query.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        bare_ids: The documents are nothing but ids, as for `evaluate_ids`.
        batch_size: How many queries are matched at once; it changes speed and memory, never a number.
        callbacks: Callbacks that receive the scores, query by query: the only way to see single queries.
        raise_errors: Raise errors of callbacks instead of collecting them.
        **settings: The scoring settings that `evaluate` takes. An embedding model must give a text the same vector in
            every batch; differences below the sixth decimal of a cosine are rounded away.

    Returns:
        A result without `per_query` and `explain`.

    Raises:
        InvalidInputError: An argument or a document cannot be used; the message says which.

    >>> evaluate_stream(((["a"], ["b", "a"]) for _ in range(5000)), k=2)["mrr@2"]
    0.5
    """
    if isinstance(k, (list, tuple)) and any(isinstance(one, (list, tuple)) for one in k):
        raise InvalidInputError(
            "`k` holds lists, which look like documents. Pass both sides as pairs: zip(gold, retrieved)."
        )
    size = check_count("batch_size", batch_size)
    scorer = Scorer(k, metrics=metrics, bare_ids=bare_ids, **settings)
    runner = CallbackRunner(callbacks, raise_errors=raise_errors)
    runner.start(EvaluationStart(None, scorer.keys, scorer.signature))
    for actual, predicted, *query_ids in _batches(pairs, size, 3 if settings.get("exclude_self") else 2):
        first_query = scorer.n_queries
        part = scorer.score_batch(actual, predicted, query_ids=query_ids[0] if query_ids else None)
        if runner:
            for row in part.per_query:
                runner.query(replace(row, index=row.index + first_query))
    if not scorer.n_queries:
        raise InvalidInputError("`pairs` is empty. Give at least one query as (gold documents, retrieved documents).")
    scorer.check()
    result = replace(scorer.result(), callback_errors=runner.errors)
    if runner:
        runner.end(result)
    return result


def _batches(pairs: Iterable[object], size: int, n_parts: int) -> Iterator[tuple[list[Any], ...]]:
    """Return the pairs, or with the ids of the queries their triples, as that many lists at a time."""
    source, start = iter(pairs), 0
    while batch := list(islice(source, size)):
        for query, pair in enumerate(batch, start):
            if not isinstance(pair, (tuple, list)) or len(pair) != n_parts:
                wanted = "a pair (gold documents, retrieved documents) for each query"
                if n_parts == 3:
                    wanted = (
                        "(gold documents, retrieved documents, query id) for each query, as `exclude_self` needs it; "
                        "`stream_pairs(..., query_ids=True)` does"
                    )
                raise InvalidInputError(f"`pairs` gave {describe_type(pair)} for query {query}. Give {wanted}.")
        yield tuple(map(list, zip(*cast("list[tuple[Any, ...]]", batch), strict=True)))
        start += len(batch)
