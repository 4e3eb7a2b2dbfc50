"""Score queries as they come, in bounded memory: one row, one by one, in batches, or from an iterator."""

from __future__ import annotations

import copy
import math
import re
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Unpack

from krag_eval._utils.checks import check_count, describe_type, one_of
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval.documents.readers import as_id
from krag_eval.evaluation.pipeline import (
    CallbackRunner,
    EvaluationCallback,
    EvaluationStart,
    MetricFunction,
    choose_metrics,
    columns_of,
    judge_batch,
    score,
    signature_of,
    values_of,
    with_needs,
)
from krag_eval.evaluation.results import Detail, EvaluationResult, QueryResult, safe_name
from krag_eval.matching.fronts import NO_LISTS
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.metrics.aggregation import Tally
from krag_eval.metrics.cut_offs import ranks_within
from krag_eval.metrics.names import DEFAULT_CUT_OFFS

# Of so many retrievals that raised it is kept what they said; of the others it is kept which they were.
_MOST_MESSAGES = 1000

# After so many rows without any match a warning says what would match; nothing tells which row is the last one.
_ENOUGH_TO_JUDGE = 5


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
        self._cut_offs, chosen = choose_metrics(metrics, self._settings, k)
        self._columns = columns_of(chosen, self._cut_offs)
        self.keys = tuple(self._columns)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self._tally = Tally.of(self.keys, self._cut_offs)
        self._document_counts = DocumentCounts.empty()
        self._errors = _FirstMessages()
        self._is_checked = False
        self.front = NO_LISTS

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
        first = self.n_queries
        judged = judge_batch(actual, predicted, self._settings, bare_ids=self._bare_ids, first_query=first)
        self.signature = with_needs(self.signature, has_needs=judged.batch.actual.needs is not None)
        self._between_steps()
        values, tally = score(judged, self._columns, self._cut_offs)
        self._between_steps()
        errors = judged.batch.predicted.errors
        self._tally.merge(tally)
        self._document_counts.merge(judged.document_counts)
        self._errors.add({query + first: error for query, error in errors.items()})
        detail = Detail(judged.batch, judged.matches, judged.judgments, values, None, None)
        return EvaluationResult(self.signature, tally, judged.document_counts.unmatchable, errors, detail)

    def check(self) -> None:
        """Check the documents of all queries so far: warn, once per call, if nothing matches, and say what would.

        Raises:
            InvalidInputError: No document of a side has it, so that nothing can match.
        """
        self._is_checked = True
        self._document_counts.check(self._settings, self.front)

    def result(self) -> EvaluationResult:
        """Return the aggregates of all queries so far, without `per_query` and `explain`.

        The first call warns if nothing matches, unless `check` was called before.
        """
        if not self._is_checked:
            try:
                self.check()
            except InvalidInputError as error:
                warn(str(error))
        tally = Tally.of(self.keys, self._cut_offs)
        tally.merge(self._tally)
        errors = copy.deepcopy(self._errors)  # which later ones do not reach
        return EvaluationResult(self.signature, tally, self._document_counts.unmatchable, errors, None)

    def _between_steps(self) -> None:
        """Do nothing; a subclass that must not keep other threads waiting yields here."""


class RowScorer:
    """Scores one row after another, from any thread, and keeps none; the settings are read once.

    The numbers are those of `evaluate([actual], [predicted])`, to the last bit; with `match_method="id"` alone, bare
    strings, integers and UUIDs are ids, as for `evaluate_ids`, and may stand beside documents.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        names: `"plain"` gives `recall@5`, and None where a value is undefined; `"safe"` gives `recall_at_5`, which
            MLflow, Langfuse and SQL accept, and leaves out what is undefined, as `result.to_dict(names="safe")` does.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Attributes:
        keys: The keys of the values, such as `recall@5`, as `names` writes them.
        signature: Every setting that can change a number, in one line.

    Raises:
        InvalidInputError: A setting cannot be used.
        UnknownMetricError: A metric is not known.

    >>> scorer = RowScorer(k=2, metrics=["recall", "mrr"], match_method="id")
    >>> scorer.score(["d1", "d2"], ["d9", "d2"])
    {'recall@2': 0.5, 'mrr@2': 0.5}
    >>> scorer.score([], ["d9"])
    {'recall@2': None, 'mrr@2': None}
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
        *,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        names: str = "plain",
        **settings: Unpack[ScoringSettings],
    ) -> None:
        self._given: tuple[Any, dict[str, Any]] = k, {"metrics": metrics, "names": names, **settings}
        self._settings = make_settings(**settings)
        self._cut_offs, chosen = choose_metrics(metrics, self._settings, k)
        self._columns = columns_of(chosen, self._cut_offs)
        self._is_safe = one_of("names", names, ("plain", "safe")) == "safe"
        self.keys = tuple(safe_name(key) if self._is_safe else key for key in self._columns)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self._lock = threading.Lock()  # models and tokenizers need not be safe for threads
        self._document_counts = DocumentCounts.empty()
        self._n_unchecked = _ENOUGH_TO_JUDGE

    def __reduce__(self) -> tuple[Any, ...]:
        k, given = self._given
        return partial(RowScorer, k, **given), ()

    def score(self, actual: object, predicted: object) -> dict[str, float | None]:
        """Return the values of one row by key.

        Args:
            actual: Its gold documents; with `match_method="id"` alone also a mapping from id to grade.
            predicted: Its retrieved documents, best first, or what the retriever raised.

        Raises:
            InvalidInputError: A side or a document cannot be read, or one side has nothing that the methods compare.
        """
        values = self.score_query(actual, predicted).values.values()
        return {
            key: value for key, value in zip(self.keys, values, strict=True) if value is not None or not self._is_safe
        }

    def score_query(self, actual: object, predicted: object) -> QueryResult:
        """Return the values of one row, under their plain keys, and the numbers of its documents; as `score`."""
        only_ids = self._settings.methods == ("id",)
        has_grades = only_ids and isinstance(actual, Mapping) and "id" not in actual
        gold: Any = _check_row("actual", actual, may_be_mapping=has_grades)
        retrieved: Any = _check_row("predicted", predicted, may_be_mapping=True)
        bare = only_ids and _are_ids(gold) and not isinstance(retrieved, Mapping) and _are_ids(retrieved)
        if only_ids and not bare:
            gold = self._as_documents(list(gold.items()) if has_grades else gold)
            retrieved = self._as_documents(retrieved)
        with self._lock:
            try:
                judged = judge_batch([gold], [retrieved], self._settings, bare_ids=bare)
                judged.document_counts.refuse_unmatchable(self._settings)
            except InvalidInputError as error:  # which counts queries, and there is one
                message = re.sub(r"`(actual|predicted)\[0\]", r"`\1", str(error)).replace("(query 0, ", "(")
                raise InvalidInputError(message) from None
            values = values_of(judged, self._columns, ranks_within(self._cut_offs, judged.batch))
            self.signature = with_needs(self.signature, has_needs=judged.batch.actual.needs is not None)
            self._warn_if_nothing_matches(judged.document_counts)
        numbers = {key: column.item(0) for key, column in values.items()}
        return QueryResult(
            index=0,
            id=None,
            query=None,
            values={key: None if math.isnan(number) else number for key, number in numbers.items()},
            n_gold=int(judged.judgments.n_gold[0]),
            n_retrieved=int(judged.judgments.n_retrieved[0]),
            error=judged.batch.predicted.errors.get(0),
        )

    def _as_documents(self, row: Any) -> Any:
        """Return a row in which bare ids stand beside documents, or alone beside documents of the other side."""
        return [self._as_document(one) for one in row] if isinstance(row, (list, tuple, Set)) else row

    def _as_document(self, document: Any) -> Any:
        if isinstance(document, tuple) and len(document) == 2:
            return self._as_document(document[0]), document[1]
        id_ = document if isinstance(document, str) else as_id(document)
        if id_ is None:
            return document
        return {"id": id_, "metadata": {self._settings.id_key: id_}} if self._settings.id_key else {"id": id_}

    def _warn_if_nothing_matches(self, counts: DocumentCounts) -> None:
        if not self._n_unchecked:
            return
        self._n_unchecked -= 1
        self._document_counts.merge(counts)
        if not self._n_unchecked:
            try:
                self._document_counts.check(self._settings)
            except InvalidInputError as error:
                warn(str(error))


def _check_row(name: str, row: object, *, may_be_mapping: bool) -> object:
    if row is None or isinstance(row, (str, bytes, int, float)) or (isinstance(row, Mapping) and not may_be_mapping):
        nothing = "no document is relevant" if name == "actual" else "nothing was retrieved"
        raise InvalidInputError(
            f"`{name}` is {'None' if row is None else describe_type(row)}, not the list of documents of one row. "
            f"Pass a list, [] if {nothing}."
        )
    return row


def _are_ids(row: object) -> bool:
    """Return whether a row is nothing but ids, or ids with their grades."""
    is_row = isinstance(row, (list, tuple, Set, Mapping))
    return is_row and all(isinstance(one, str) or as_id(one) is not None for one in row)  # type: ignore[attr-defined]


def score_row(
    actual: object,
    predicted: object,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    names: str = "plain",
    **settings: Unpack[ScoringSettings],
) -> dict[str, float | None]:
    """Score one row, such as one example of an evaluation platform; a `RowScorer` scores many faster.

    Args:
        actual: Its gold documents.
        predicted: Its retrieved documents, best first, or what the retriever raised.
        k: One cut-off or several, as for `RowScorer`.
        metrics: Names of `METRICS`, or functions; all by default.
        names: `"plain"` or `"safe"`, as for `RowScorer`.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` alone, bare strings are ids.

    Returns:
        The values by key; None where one is undefined.

    Raises:
        InvalidInputError: An argument or a document cannot be used.
        UnknownMetricError: A metric is not known.

    >>> score_row(["d1"], ["d7", "d1"], k=(1, 2), metrics="recall", match_method="id", names="safe")
    {'recall_at_1': 0.0, 'recall_at_2': 1.0}
    """
    return RowScorer(k, metrics=metrics, names=names, **settings).score(actual, predicted)


def evaluate_stream(
    pairs: Iterable[tuple[object, object]],
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
        pairs: For each query its gold documents and its retrieved documents, best first.
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
    for actual, predicted in _batches(pairs, size):
        first_query = scorer.n_queries
        part = scorer.score_batch(actual, predicted)
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


def _batches(pairs: Iterable[object], size: int) -> Iterator[tuple[list[object], list[object]]]:
    """Return the pairs as two lists at a time."""
    source, start = iter(pairs), 0
    while batch := list(islice(source, size)):
        gold: list[object] = []
        retrieved: list[object] = []
        for query, pair in enumerate(batch, start):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InvalidInputError(
                    f"`pairs` gave {describe_type(pair)} for query {query}. "
                    "Give a pair (gold documents, retrieved documents) for each query."
                )
            gold.append(pair[0])
            retrieved.append(pair[1])
        yield gold, retrieved
        start += len(batch)
