"""The scores of an evaluation: where they go, what they are called, and that sending them again changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvaluationResult, evaluate, evaluate_stream
from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse.wire import by_target
from tests.support.marks import nothing_may_match

GOLD = [["a", "b"], ["c"], ["d"], []]
RETRIEVED = [["b", "x"], ["y", "c"], ["z"], ["w"]]
IDS = ["q1", "q2", "q3", "q4"]
TRACES = {"q1": "1" * 32, "q2": ("2" * 32, "2" * 16), "q4": "4" * 32}
KEYS = ["recall", "mrr"]
DAY = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def run(*handlers: LangfuseScoreHandler, **settings: Any) -> EvaluationResult:
    settings = {"k": (1, 2), "metrics": KEYS, "query_ids": IDS, "raise_errors": True, **settings}
    return evaluate(GOLD, RETRIEVED, callbacks=handlers, **settings)


@pytest.mark.parametrize("delivery", ["queue", "sync"])
def test_wire_each_query_goes_to_its_trace_and_the_aggregates_to_the_dataset_run(
    delivery: str, server: LoopbackLangfuse, client: Langfuse
) -> None:
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, dataset_run_id="run-1", delivery=delivery)
    result = run(handler)
    assert handler.flush(10)

    def named(values: Any) -> dict[str, float]:
        return {f"krag.{key.replace('@', '_at_')}": value for key, value in values.items()}

    assert by_target(server.scores) == {
        "1" * 32: named(result.per_query[0].values),
        "2" * 16: named(result.per_query[1].values),
        "run-1": named(result.to_dict()),
    }
    assert {score["traceId"] for score in server.scores if "observationId" in score} == {"2" * 32}
    assert by_target(server.scores)["run-1"]["krag.micro_recall_at_2"] == result["micro_recall@2"] == 2 / 4
    # Of q3 no trace is known, of q4 every value is undefined.
    assert (handler.sent, handler.skipped, handler.failed) == (len(server.scores), 8, 0)
    assert (handler.counters.no_target, handler.counters.undefined) == (4, 4)


def test_wire_aggregates_can_go_to_a_session(server: LoopbackLangfuse, client: Langfuse) -> None:
    result = run(LangfuseScoreHandler(client, session_id="session 7", delivery="sync"), metrics="recall", k=1)
    assert by_target(server.scores) == {
        "session 7": {"krag.recall_at_1": result["recall@1"], "krag.micro_recall_at_1": result["micro_recall@1"]}
    }


@pytest.mark.sample(2)
@pytest.mark.parametrize("delivery", ["queue", "sync"])
def test_wire_the_same_run_sent_twice_has_the_same_ids_and_times(
    delivery: str, server: LoopbackLangfuse, client: Langfuse
) -> None:
    def send(**settings: Any) -> dict[str, str]:
        del server.scores[:]
        handler = LangfuseScoreHandler(client, dataset_run_id="run-1", delivery=delivery, **settings)
        run(handler)
        assert handler.flush(10)
        times = {score["id"]: score["timestamp"] for score in server.scores}
        assert len(times) == len(server.scores) == handler.sent > 0
        return times

    first = send(trace_ids=TRACES, timestamp=DAY)
    assert {datetime.fromisoformat(time) for time in first.values()} == {DAY}
    assert send(trace_ids=TRACES, timestamp=DAY) == first
    seoul = timezone(timedelta(hours=9))
    assert send(trace_ids=TRACES, timestamp=DAY.astimezone(seoul)) == first
    assert not set(send(trace_ids=TRACES, timestamp=DAY, run_id="other")) & set(first)
    elsewhere = send(trace_ids=dict.fromkeys(IDS, "5" * 32), timestamp=DAY)
    assert len(set(elsewhere) & set(first)) == 6  # those of the dataset run


def test_wire_a_handler_that_sends_again_overwrites_what_it_sent(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync")
    result = run(handler)
    first = list(server.scores)
    del server.scores[:]
    assert handler.send(result) is handler.counters
    assert server.scores == first
    assert handler.sent == 2 * len(first)


def test_wire_one_run_has_one_time_of_now(server: LoopbackLangfuse, client: Langfuse) -> None:
    before = datetime.now(UTC)
    run(LangfuseScoreHandler(client, trace_ids=TRACES, session_id="s", delivery="sync"))
    (time,) = {datetime.fromisoformat(score["timestamp"]) for score in server.scores}
    assert before - timedelta(milliseconds=1) <= time <= datetime.now(UTC)


def test_wire_two_queries_of_one_trace_do_not_overwrite_each_other(server: LoopbackLangfuse, client: Langfuse) -> None:
    run(LangfuseScoreHandler(client, trace_ids=dict.fromkeys(IDS[:3], "7" * 32), delivery="sync"), k=1)
    assert len(server.scores) == len({score["id"] for score in server.scores}) == 6


def test_wire_a_list_of_traces_is_read_by_the_number_of_the_query(server: LoopbackLangfuse, client: Langfuse) -> None:
    traces = ["1" * 32, None, ["3" * 32, "3" * 16], "4" * 32]
    run(LangfuseScoreHandler(client, trace_ids=traces, delivery="sync"), k=1, metrics="mrr", query_ids=None)
    assert by_target(server.scores) == {"1" * 32: {"krag.mrr_at_1": 1.0}, "3" * 16: {"krag.mrr_at_1": 0.0}}


def test_wire_a_mapping_without_query_ids_is_read_by_the_number_of_the_query(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    run(LangfuseScoreHandler(client, trace_ids={1: "2" * 32}, delivery="sync"), k=2, metrics="mrr", query_ids=None)
    assert by_target(server.scores) == {"2" * 32: {"krag.mrr_at_2": 0.5}}


def test_wire_a_streamed_evaluation_is_sent_as_it_is_scored(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client, trace_ids=["1" * 32] * 4, dataset_run_id="r", delivery="sync")
    result = evaluate_stream(zip(GOLD, RETRIEVED, strict=True), k=2, metrics="mrr", callbacks=[handler])
    assert by_target([score for score in server.scores if "datasetRunId" in score]) == {
        "r": {"krag.mrr_at_2": result["mrr@2"]}
    }
    assert handler.counters.undefined == 1


def test_wire_no_text_and_no_id_of_a_query_is_in_the_metadata_unless_asked(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    queries = ["환불은 언제 되나요?", "Когда?", "何时?", "When?"]
    quiet, open_ = (
        LangfuseScoreHandler(client, trace_ids=["1" * 32] * 4, delivery="sync", include_text=asked, run_id=str(asked))
        for asked in (False, True)
    )
    result = run(quiet, k=1, metrics="mrr", queries=queries, query_ids=queries)
    assert not any(text in repr(server.scores) for text in [*queries, "'a'", "'x'"])
    assert server.scores[1]["metadata"] == {
        "signature": result.signature,
        "run_id": "False",
        "query_index": 1,
        "n_gold": 1,
        "n_retrieved": 2,
    }
    del server.scores[:]
    run(open_, k=1, metrics="mrr", queries=queries)
    said = [(score["metadata"]["query_id"], score["metadata"]["query"]) for score in server.scores]
    assert said == list(zip(IDS, queries, strict=True))[:3]


@nothing_may_match
def test_wire_a_retriever_that_raised_is_marked_without_its_message(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client, trace_ids=["1" * 32], delivery="sync")
    evaluate([["a"]], [TimeoutError("secret")], k=1, metrics="mrr", callbacks=[handler], raise_errors=True)
    assert server.scores[0]["value"] == 0.0
    assert server.scores[0]["metadata"]["retriever_raised"] is True
    assert "secret" not in repr(server.scores)


def test_wire_the_scores_carry_the_environment_of_the_client(server: LoopbackLangfuse, make_client: Any) -> None:
    client = make_client(environment="nightly")
    for delivery in ("queue", "sync"):
        handler = LangfuseScoreHandler(client, session_id="s", delivery=delivery)
        run(handler)
        assert handler.flush(10)
    assert [score["environment"] for score in server.scores] == ["nightly"] * 12


@pytest.mark.full
def test_wire_many_queries_leave_in_few_requests(server: LoopbackLangfuse, client: Langfuse) -> None:
    n = 70
    handler = LangfuseScoreHandler(client, trace_ids=[f"{i:032x}" for i in range(1, n + 1)], delivery="sync")
    evaluate([["a"]] * n, [["a"]] * n, k=(1, 3), metrics=["recall", "mrr"], callbacks=[handler], raise_errors=True)
    assert handler.sent == len(server.scores) == 4 * n
    assert len([request for request in server.requests if request.startswith("POST")]) == 3


def test_an_empty_prefix_is_a_prefix(server: LoopbackLangfuse, client: Langfuse) -> None:
    run(LangfuseScoreHandler(client, session_id="s", prefix="", delivery="sync"), k=1, metrics="mrr")
    assert [score["name"] for score in server.scores] == ["mrr_at_1"]
