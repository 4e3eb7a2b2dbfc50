"""Receivers of scores: who is called when with what, and what happens when one fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import (
    EvaluationCallback,
    EvaluationResult,
    InvalidInputError,
    KragEvalWarning,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    evaluate,
    evaluate_all,
)
from krag_eval import RougeOfflineRetrievalEvaluators as Rouge
from krag_eval.evaluation.pipeline import EvaluationStart
from krag_eval.evaluation.results import QueryResult

GOLD: list[list[Any]] = [["a", "b"], [], ["c"]]
RETRIEVED: list[Any] = [["b", "x"], ["y"], TimeoutError("late")]


class Recorder(EvaluationCallback):
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        self.calls.append(("start", start))

    def on_query_scored(self, query: QueryResult) -> None:
        self.calls.append(("query", query))

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        self.calls.append(("end", result))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


class Failing(EvaluationCallback):
    """Fails at every call."""

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        raise ConnectionError("no network")

    def on_query_scored(self, query: QueryResult) -> None:
        raise RuntimeError(f"query {query.index}")

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        raise RuntimeError("at the end")


class OnlyQueries:
    """No subclass, and only one of the methods."""

    def __init__(self) -> None:
        self.indices: list[int] = []

    def on_query_scored(self, query: QueryResult) -> None:
        self.indices.append(query.index)


def test_a_callback_hears_of_the_start_each_query_in_order_and_the_end() -> None:
    recorder = Recorder()
    result = evaluate(
        GOLD, RETRIEVED, k=(1, 2), metrics=["recall", "mrr"], callbacks=[recorder], query_ids=["p", "q", "r"]
    )
    assert recorder.names == ["start", "query", "query", "query", "end"]
    (_, start), *queries, (_, end) = recorder.calls
    assert start == EvaluationStart(3, ("recall@1", "recall@2", "mrr@1", "mrr@2"), result.signature)
    assert [query for _, query in queries] == list(result.per_query)
    assert end is result


def test_each_query_comes_with_its_values_counts_and_error() -> None:
    recorder = Recorder()
    evaluate(GOLD, RETRIEVED, k=1, metrics=["recall", "mrr"], callbacks=[recorder], queries=["A?", "B?", "C?"])
    queries = [query for name, query in recorder.calls if name == "query"]
    assert [query.query for query in queries] == ["A?", "B?", "C?"]
    assert [dict(query.values) for query in queries] == [
        {"recall@1": 1 / 2, "mrr@1": 1},
        {"recall@1": None, "mrr@1": None},
        {"recall@1": 0, "mrr@1": 0},
    ]
    assert [(query.n_gold, query.n_retrieved) for query in queries] == [(2, 2), (0, 1), (1, 0)]
    assert [query.error for query in queries] == [None, None, "TimeoutError: late"]


def test_several_callbacks_are_called_in_their_order_at_every_step() -> None:
    heard: list[str] = []

    class Named(EvaluationCallback):
        def __init__(self, name: str) -> None:
            self.name = name

        def on_query_scored(self, query: QueryResult) -> None:
            heard.append(f"{self.name}{query.index}")

    evaluate(GOLD, RETRIEVED, callbacks=[Named("a"), Named("b")])
    assert heard == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_callback_that_raises_loses_nothing_and_is_reported_once() -> None:
    recorder = Recorder()
    with pytest.warns(KragEvalWarning) as told:
        result = evaluate(GOLD, RETRIEVED, callbacks=[Failing(), recorder])
    (warning,) = told
    assert str(warning.message) == (
        "5 callback calls failed; the result is complete. The first error: Failing.on_evaluation_start: "
        "ConnectionError: no network. Pass raise_errors=True to stop at the first one."
    )
    assert result.callback_errors == [
        "Failing.on_evaluation_start: ConnectionError: no network",
        *[f"Failing.on_query_scored: RuntimeError: query {index}" for index in range(3)],
        "Failing.on_evaluation_end: RuntimeError: at the end",
    ]
    assert result.to_dict() == evaluate(GOLD, RETRIEVED).to_dict()
    assert recorder.names == ["start", "query", "query", "query", "end"]


def test_the_warning_points_at_the_line_of_the_user() -> None:
    with pytest.warns(KragEvalWarning) as told:
        evaluate(GOLD, RETRIEVED, callbacks=[Failing()])
    assert told[0].filename == __file__


def test_raise_errors_lets_the_first_error_through() -> None:
    with pytest.raises(ConnectionError, match="no network"):
        evaluate(GOLD, RETRIEVED, callbacks=[Failing()], raise_errors=True)
    with pytest.raises(ConnectionError, match="no network"):
        evaluate_all(GOLD, RETRIEVED, callbacks=[Failing()], raise_errors=True)
    with pytest.raises(ConnectionError, match="no network"):
        OfflineRetrievalEvaluators(GOLD, RETRIEVED, callbacks=[Failing()], raise_errors=True).calculate_map()


def test_ctrl_c_in_a_callback_stops_the_evaluation() -> None:
    class Interrupted(EvaluationCallback):
        def on_query_scored(self, query: QueryResult) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(GOLD, RETRIEVED, callbacks=[Interrupted()])


def test_an_object_with_only_one_of_the_methods_will_do() -> None:
    partial: Any = OnlyQueries()
    result = evaluate(GOLD, RETRIEVED, callbacks=[partial])
    assert (partial.indices, result.callback_errors) == ([0, 1, 2], [])


def test_a_single_callback_needs_no_list() -> None:
    recorder: Any = Recorder()
    evaluate(GOLD, RETRIEVED, callbacks=recorder)
    assert len(recorder.calls) == 5


@pytest.mark.parametrize("wrong", [print, 7, None, "print", Recorder, object()], ids=lambda wrong: f"{wrong!r:.12}")
def test_what_is_no_callback_is_refused_before_anything_is_called(wrong: Any) -> None:
    recorder = Recorder()
    with pytest.raises(InvalidInputError, match=r"`callbacks` holds .*on_query_scored.*EvaluationCallback"):
        evaluate(GOLD, RETRIEVED, callbacks=[recorder, wrong])
    assert recorder.calls == []


def test_what_is_no_callback_is_refused_before_the_documents_are_matched() -> None:
    wrong: Any = [7]
    tokenized: list[str] = []

    def tokenize(text: str) -> list[str]:
        tokenized.append(text)
        return [text]

    with pytest.raises(InvalidInputError, match="callbacks"):
        evaluate(GOLD, RETRIEVED, match_method="rouge1", tokenizer=tokenize, callbacks=wrong)
    with pytest.raises(InvalidInputError, match="callbacks"):
        OfflineRetrievalEvaluators(GOLD, RETRIEVED, "rouge1", tokenizer=tokenize, callbacks=wrong)
    assert tokenized == []


CALLS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda callbacks: evaluate(GOLD, RETRIEVED, callbacks=callbacks),
    "evaluate_all": lambda callbacks: evaluate_all(GOLD, RETRIEVED, k=2, callbacks=callbacks),
    "an evaluator": lambda callbacks: OfflineRetrievalEvaluators(GOLD, RETRIEVED, callbacks=callbacks).evaluate_all(2),
    "one metric": lambda callbacks: OfflineRetrievalEvaluators(GOLD, RETRIEVED, callbacks=callbacks).calculate_map(2),
    "ROUGE evaluator": lambda callbacks: Rouge(GOLD, RETRIEVED, callbacks=callbacks).calculate_ndcg(2),
    "RAGEvaluator": lambda callbacks: RAGEvaluator(callbacks=callbacks).evaluate_all(GOLD, RETRIEVED, k=2),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_way_to_evaluate_calls_them(call: str) -> None:
    recorder = Recorder()
    CALLS[call]([recorder])
    assert recorder.names == ["start", "query", "query", "query", "end"]


def test_each_question_to_an_evaluator_is_an_evaluation_of_its_own() -> None:
    recorder = Recorder()
    evaluator = OfflineRetrievalEvaluators(GOLD, RETRIEVED, callbacks=[recorder])
    assert recorder.calls == []
    evaluator.calculate_mrr(1)
    evaluator.calculate_hit_rate(2)
    starts = [call for name, call in recorder.calls if name == "start"]
    assert [start.keys for start in starts] == [("mrr@1",), ("hit_rate_all@2",)]
    assert "|hit:all|k:2|" in starts[1].signature


def test_the_result_and_its_queries_cannot_be_changed_by_a_callback() -> None:
    class Meddling(EvaluationCallback):
        def on_query_scored(self, query: QueryResult) -> None:
            values: Any = query.values
            values["recall@1"] = 7

    result = evaluate(GOLD, RETRIEVED, k=1, callbacks=[Meddling()])
    assert (result["recall@1"], result.per_query[0].values["recall@1"]) == (1 / 4, 1 / 2)
