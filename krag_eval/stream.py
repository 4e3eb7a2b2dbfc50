"""Evaluations of any length in bounded memory: queries come from an iterator and are forgotten once scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Unpack

from krag_eval.aggregate import Tally
from krag_eval.callbacks import CallbackRunner, EvaluationCallback, EvaluationStart
from krag_eval.checks import check_count, check_cut_offs
from krag_eval.errors import InvalidInputError
from krag_eval.measurement import MetricFunction, choose_metrics, keys_of, signature_of, values_of
from krag_eval.pipeline import judge_batch
from krag_eval.results import Detail, EvaluationResult
from krag_eval.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.shapes import describe_type
from krag_eval.supply import Supply


def evaluate_stream(
    pairs: Iterable[tuple[object, object]],
    k: int | Sequence[int | None] | None = (1, 3, 5, 10),
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
        k: One cut-off or several, each at least 1; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        bare_ids: The documents are nothing but ids, as for `evaluate_ids`.
        batch_size: How many queries are matched at once; it changes speed and memory, never a number.
        callbacks: Receivers of scores, one query after the other; there is no other way to see single queries.
        raise_errors: Let an error of a callback through.
        **settings: The scoring settings that `evaluate` takes.

    Returns:
        A result without `per_query` and `explain`.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the place.

    >>> evaluate_stream(((["a"], ["b", "a"]) for _ in range(5000)), k=2)["mrr@2"]
    0.5
    """
    if bare_ids:
        settings.setdefault("match_method", "id")
    checked, cut_offs = make_settings(**settings), check_cut_offs(k)
    if bare_ids and checked.methods != ("id",):
        raise InvalidInputError("With `bare_ids` only match_method='id' makes sense. Leave `match_method` out.")
    size = check_count("batch_size", batch_size)
    table = choose_metrics(metrics, checked)
    runner = CallbackRunner(callbacks, raise_errors=raise_errors)
    signature = signature_of(checked, cut_offs, MatchingCriteria.PARTIAL)
    runner.start(EvaluationStart(None, keys_of(table, cut_offs), signature))
    tally = Tally.of(keys_of(table, cut_offs), cut_offs)
    supply = Supply.empty()
    errors: dict[int, str] = {}
    for actual, predicted in _batches(pairs, size):
        judged = judge_batch(actual, predicted, checked, bare_ids=bare_ids, first_query=tally.n_queries)
        values = values_of(judged, cut_offs, table)
        supply.merge(judged.supply)
        errors |= {query + tally.n_queries: error for query, error in judged.batch.predicted.errors.items()}
        if runner:
            detail = Detail(judged.batch, judged.matches, judged.judgments, values, None, None)
            of_batch = Tally.of(values, cut_offs)
            of_batch.add(judged.judgments, values, cut_offs, checked.precision_denominator)
            part = EvaluationResult(
                signature, of_batch, judged.supply.unmatchable, judged.batch.predicted.errors, detail
            )
            _tell(runner, part, tally.n_queries)
        tally.add(judged.judgments, values, cut_offs, checked.precision_denominator)
    if not tally.n_queries:
        raise InvalidInputError("`pairs` is empty. Give at least one query as (gold documents, retrieved documents).")
    supply.check(checked)
    result = EvaluationResult(signature, tally, supply.unmatchable, errors, None, runner.errors)
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


def _tell(runner: CallbackRunner, result: EvaluationResult, first_query: int) -> None:
    for row in result.per_query:
        runner.query(replace(row, index=row.index + first_query))
