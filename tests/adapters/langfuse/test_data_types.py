"""BOOLEAN and CATEGORICAL scores and score configs, on every way to Langfuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import InvalidInputError, diagnose, evaluate
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import (
    LangfuseScoreHandler,
    as_langfuse_evaluators,
    as_langfuse_run_evaluators,
    resend_outbox,
    score_traces,
)
from krag_eval_langfuse.scores import VERDICTS, ScoreNames
from tests.adapters.langfuse.retrievals import GOLD as LIVE_GOLD
from tests.adapters.langfuse.retrievals import RETRIEVER

GOLD: list[Any] = [["a", "b"], ["a", "b"], ["a"], ["a"], ["a"], []]
RETRIEVED: list[Any] = [["a", "b"], ["x", "b"], ["x"], [], TimeoutError("late"), ["x"]]
TRACES = [f"{i:032x}" for i in range(1, 7)]
CONFIGS = {"hit_rate@2": "config-hit", "recall@2": "config-recall", "verdict": "config-verdict"}
TYPED: dict[str, Any] = {"booleans": True, "verdicts": True, "config_ids": CONFIGS}
METRICS = ["hit_rate", "recall"]


def score(handler: LangfuseScoreHandler, **settings: Any) -> Any:
    return evaluate(GOLD, RETRIEVED, 2, metrics=METRICS, callbacks=[handler], raise_errors=True, **settings)


def sent(scores: list[dict[str, Any]], name: str) -> list[Any]:
    """The value, type and config of each score of this name, in the order of the traces."""
    chosen = sorted((one for one in scores if one["name"] == f"krag.{name}"), key=lambda one: one.get("traceId", ""))
    return [(one["value"], one["dataType"], one.get("configId")) for one in chosen]


@pytest.mark.sample(3)
@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
def test_wire_every_delivery_keeps_type_and_config(
    delivery: str, server: LoopbackLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    outbox: Any = {"outbox": tmp_path / "langfuse.outbox"} if delivery == "outbox" else {}
    handler = LangfuseScoreHandler(
        client, trace_ids=TRACES, dataset_run_id="run", delivery=delivery, on_error="raise", **TYPED, **outbox
    )
    score(handler)
    assert handler.flush(30)
    handler.close()
    of_run = [one for one in server.scores if "datasetRunId" in one]
    of_queries = [one for one in server.scores if "datasetRunId" not in one]
    assert sent(of_queries, "hit_rate_at_2") == [(v, "BOOLEAN", "config-hit") for v in (1.0, 1.0, 0.0, 0.0, 0.0)]
    assert sent(of_queries, "recall_at_2") == [(v, "NUMERIC", "config-recall") for v in (1.0, 0.5, 0.0, 0.0, 0.0)]
    assert sent(of_queries, "verdict") == [(verdict, "CATEGORICAL", "config-verdict") for verdict in VERDICTS]
    assert sent(of_run, "hit_rate_at_2") == [(0.4, "NUMERIC", None)]
    assert sent(of_run, "recall_at_2") == [(0.3, "NUMERIC", "config-recall")]
    assert (handler.sent, handler.failed, handler.counters.undefined) == (5 * 3 + 3, 0, 3)


def test_wire_without_being_asked_every_score_is_numeric(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync")
    score(handler)
    assert {(one["dataType"], one.get("configId")) for one in server.scores} == {("NUMERIC", None)}
    assert sent(server.scores, "verdict") == []


def test_wire_an_outbox_keeps_them_for_the_next_process(
    server: LoopbackLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    server.answer = lambda method, path: (503, {"message": "down"})
    place = tmp_path / "langfuse.outbox"
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=place, **TYPED)
    score(handler)
    with pytest.warns(UserWarning, match="scores"):
        handler.close(0.1)
    server.answer = None
    assert resend_outbox(place, client, timeout=30).ok
    assert sent(server.scores, "verdict") == [(verdict, "CATEGORICAL", "config-verdict") for verdict in VERDICTS]
    assert {kind for _, kind, _ in sent(server.scores, "hit_rate_at_2")} == {"BOOLEAN"}


def test_wire_the_causes_of_a_diagnosis_are_categories(server: LoopbackLangfuse, client: Langfuse) -> None:
    result = evaluate(GOLD, [["a", "x", "b"], *RETRIEVED[1:]], 2, metrics=METRICS)
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync", config_ids={"cause": "config-cause"})
    handler.send(result, diagnosis=diagnose(result))
    expected = ["ranked_below_k", "never_retrieved", "never_retrieved", "nothing_retrieved", "retriever_error"]
    assert sent(server.scores, "cause") == [(cause, "CATEGORICAL", "config-cause") for cause in expected]
    found = evaluate(GOLD[:1], RETRIEVED[:1], 2, metrics=METRICS)
    LangfuseScoreHandler(client, trace_ids=TRACES[:1], delivery="sync").send(found, diagnosis=diagnose(found))
    assert server.scores[-1]["value"] == "found"
    with pytest.raises(InvalidInputError, match="`diagnosis` is of another result"):
        handler.send(result, diagnosis=diagnose(evaluate(GOLD, RETRIEVED, 3)))


def test_wire_experiments_have_them(server: LoopbackLangfuse, client: Langfuse) -> None:
    settings: Any = {"k": 2, "metrics": METRICS, **TYPED, "config_ids": {**CONFIGS, "micro_recall@2": "config-micro"}}
    items: list[Any] = [{"input": str(i), "expected_output": gold} for i, gold in enumerate(GOLD)]
    result = client.run_experiment(
        name="typed",
        data=items,
        task=lambda *, item, **_: RETRIEVED[int(item["input"])],
        evaluators=as_langfuse_evaluators(**settings),
        run_evaluators=as_langfuse_run_evaluators(**settings),
    )
    client.flush()
    of_items = [one for one in server.scores if "traceId" in one]
    assert sorted(
        v for v, kind, config in sent(of_items, "verdict") if (kind, config) == ("CATEGORICAL", "config-verdict")
    ) == sorted(VERDICTS)
    assert {(kind, config) for _, kind, config in sent(of_items, "hit_rate_at_2")} == {("BOOLEAN", "config-hit")}
    of_run = {one.name: (one.value, one.data_type, one.config_id) for one in result.run_evaluations}
    assert of_run["krag.hit_rate_at_2"] == (0.4, "NUMERIC", None)
    assert of_run["krag.micro_recall_at_2"][1:] == ("NUMERIC", "config-micro")


@pytest.mark.sample(2)
@pytest.mark.parametrize("ours_first", [True, False])
def test_wire_live_scores_and_recorded_traces_have_them(
    ours_first: bool, server: LoopbackLangfuse, client: Langfuse
) -> None:
    theirs = CallbackHandler(public_key=client._resources.public_key)  # type: ignore[union-attr]
    configs = {"empty": "config-empty", "verdict": "config-verdict"}
    sink = LangfuseScoreHandler(client, langchain_handler=theirs, booleans=True, verdicts=True, config_ids=configs)
    ours = RetrievalScoringHandler(LIVE_GOLD, k=1, metrics=METRICS, sinks=[sink])
    flaky = RETRIEVER.with_fallbacks([RunnableLambda(lambda question: [Document("text 13")])])
    for question in ("question 1", "question 13"):  # which the retriever does not answer
        flaky.invoke(question, {"callbacks": [ours, theirs] if ours_first else [theirs, ours]})
    assert ours.flush(30)
    live = list(server.scores)
    assert {(kind, config) for _, kind, config in sent(live, "empty")} == {("BOOLEAN", "config-empty")}
    assert {(kind, config) for _, kind, config in sent(live, "verdict")} == {("CATEGORICAL", "config-verdict")}
    assert len(sent(live, "verdict")) == ours.scored == 2
    assert all("observationId" in one for one in live)
    client.flush()
    score_traces(LIVE_GOLD, client, k=1, metrics=METRICS, delivery="sync", **{**TYPED, "config_ids": configs})
    recorded = server.scores[len(live) :]
    assert "retriever_error" in {value for value, _, _ in sent(recorded, "verdict")}
    assert {kind for _, kind, _ in sent(recorded, "hit_rate_at_1")} == {"BOOLEAN"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"config_ids": {"recall@3": "c"}}, "`config_ids` names 'recall@3', which is no key.*recall@2, .*verdict"),
        ({"config_ids": ["c"]}, "must be a mapping from keys"),
        ({"config_ids": {"recall@2": ""}}, "must be a mapping from keys"),
        ({"verdicts": True}, "`verdicts` needs recall.*Add 'recall' to `metrics`"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    arguments: dict[str, Any], says: str, server: LoopbackLangfuse, client: Langfuse
) -> None:
    metrics = ["mrr"] if "verdicts" in arguments else METRICS
    with pytest.raises(InvalidInputError, match=says):
        LangfuseScoreHandler(client, trace_ids=TRACES, **arguments).send(evaluate(GOLD, RETRIEVED, 2, metrics=metrics))
    with pytest.raises(InvalidInputError, match=says):
        as_langfuse_evaluators(2, metrics=metrics, **arguments)
    with pytest.raises(InvalidInputError, match=says):
        score_traces({"q": ["a"]}, client, k=2, metrics=metrics, **arguments)
    assert server.scores == []


def test_the_verdict_is_that_of_the_largest_cut_off() -> None:
    names = ScoreNames("", verdicts=True)
    result = evaluate([["a", "b"]], [["a", "x", "b"]], (1, 3), metrics="recall")
    assert names.verdict(result.query_result(0)) == {"verdict": "all_found"}
    result = evaluate([["a", "b"]], [["a", "x", "b"]], (2, None, 1), metrics="recall")
    assert names.verdict(result.query_result(0)) == {"verdict": "all_found"}
    assert names.verdict(evaluate([[]], [["a"]], 1).query_result(0)) == {"verdict": None}
