"""Evaluations of any length in bounded memory: queries come from an iterator and are forgotten once scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Unpack

from krag_eval.callbacks import CallbackRunner, EvaluationCallback, EvaluationStart
from krag_eval.checks import check_count
from krag_eval.errors import InvalidInputError
from krag_eval.measurement import MetricFunction
from krag_eval.results import EvaluationResult
from krag_eval.scorer import Scorer
from krag_eval.settings import ScoringSettings
from krag_eval.shapes import describe_type
from krag_eval.wrong_names import tell_names


@tell_names
def evaluate_stream(
    pairs: Iterable[tuple[object, object]],
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
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
        callbacks: Receivers of scores, one query after the other; there is no other way to see single queries.
        raise_errors: Let an error of a callback through.
        **settings: The scoring settings that `evaluate` takes. An embedding model has to say the same of a text in
            every batch; what it changes below the sixth decimal of a cosine is rounded away.

    Returns:
        A result without `per_query` and `explain`.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the place.

    >>> evaluate_stream(((["a"], ["b", "a"]) for _ in range(5000)), k=2)["mrr@2"]
    0.5
    """
    if isinstance(k, (list, tuple)) and any(isinstance(one, (list, tuple)) for one in k):
        raise InvalidInputError(
            "`k` holds lists, as if it were documents. Give both sides as one iterable of pairs: zip(gold, retrieved)."
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
    """The pairs as two lists at a time."""
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
