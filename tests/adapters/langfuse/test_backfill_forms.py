"""Observations of many forms: read, or counted as unreadable; never scored as if nothing had come back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import InvalidInputError
from krag_eval_langfuse import LangfuseDeliveryError, score_traces
from tests.support.marks import nothing_may_match


def observation(number: int, output: Any, given: Any = None, **further: Any) -> dict[str, Any]:
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    row: dict[str, Any] = {
        "id": f"{number:016x}",
        "traceId": f"{number:032x}",
        "parentObservationId": None,
        "projectId": "p",
    }
    row |= {"type": "RETRIEVER", "name": "search", "level": "DEFAULT", "metadata": {}, "startTime": time.isoformat()}
    row |= {"endTime": (time + timedelta(seconds=2)).isoformat(), "input": given or "q", "output": output}
    return {**row, **further}


ROWS = [{"id": "x", "text": "X"}, {"id": "a", "text": "A"}]


@pytest.mark.sample(4)
@nothing_may_match
@pytest.mark.parametrize(
    ("row", "recall"),
    [
        pytest.param(observation(1, json.dumps(ROWS)), 1.0, id="dicts"),
        pytest.param(observation(1, ROWS), 1.0, id="dicts that the API parsed"),
        pytest.param(observation(1, json.dumps({"documents": ROWS})), 1.0, id="under a key"),
        pytest.param(observation(1, json.dumps(["x", "a"])), 1.0, id="bare ids"),
        pytest.param(observation(1, "[]"), 0.0, id="nothing came back"),
        pytest.param(observation(1, json.dumps(ROWS), '"q"'), 1.0, id="a query in JSON"),
        pytest.param(observation(1, json.dumps(ROWS), json.dumps({"query": "q"})), 1.0, id="a query under a key"),
        pytest.param(observation(1, json.dumps(ROWS), "?", metadata={"krag_query_id": '"q"'}), 1.0, id="an id in JSON"),
        pytest.param(observation(1, json.dumps(ROWS), "?", metadata={"krag_query_id": "q"}), 1.0, id="an id"),
        pytest.param(observation(1, None, level="ERROR", statusMessage="down"), 0.0, id="an error"),
        pytest.param(observation(1, json.dumps({"error": "down"})), 0.0, id="an error as output"),
        pytest.param(observation(1, json.dumps(ROWS)[:-5]), None, id="cut off"),
        pytest.param(observation(1, None), None, id="no output"),
        pytest.param(observation(1, "***"), None, id="masked"),
        pytest.param(observation(1, '"***"'), None, id="masked JSON"),
        pytest.param(observation(1, json.dumps({"answer": "A"})), None, id="an answer"),
        pytest.param(observation(1, json.dumps([{"score": 1}])), None, id="rows without id and text"),
        pytest.param(
            observation(1, json.dumps(["<NodeWithScore(node=TextNode(id_=a), score=0.5)>"])), None, id="a repr"
        ),
        pytest.param(
            observation(
                1,
                json.dumps(["<NodeWithScore(node=TextNode(id_=a), score=0.5)>"]),
                metadata={
                    "retrieval.documents.1.document.id": "a",
                    "retrieval.documents.0.document.id": "x",
                    "retrieval.documents.0.document.metadata": '{"doc_id": "D"}',
                },
            ),
            1.0,
            id="attributes of OpenInference",
        ),
        pytest.param(
            observation(1, None, metadata={"retrieval.documents.1.document.id": "a"}), None, id="an attribute is gone"
        ),
        pytest.param(observation(1, "[" * 100_000), None, id="nested too deep"),
        pytest.param(observation(1, json.dumps(ROWS), traceId=None), None, id="no trace"),
    ],
)
@pytest.mark.filterwarnings("ignore:None of 1 observations:krag_eval.KragEvalWarning")
def test_outputs_of_many_forms_are_read_or_counted(
    row: dict[str, Any], recall: float | None, server: LoopbackLangfuse, client: Langfuse
) -> None:
    server.observations.append(row)
    found = score_traces({"q": [{"id": "a"}]}, client, k=2, match_method="id", delivery="sync")
    assert found.result["recall@2"] == recall
    assert (found.scored, found.unreadable) == ((0, 1) if recall is None else (1, 0))
    assert {score["timestamp"] for score in server.scores} <= {"2026-01-01T00:00:03Z", "2026-01-01T00:00:03+00:00"}


@pytest.mark.parametrize("retrieved", ["hits", lambda output: output["hits"]], ids=["a key", "a function"])
def test_where_the_documents_stand_can_be_named(retrieved: Any, server: LoopbackLangfuse, client: Langfuse) -> None:
    server.observations += [observation(1, json.dumps({"hits": ROWS})), observation(2, "masked")]
    found = score_traces({"q": ["A"]}, client, k=2, retrieved=retrieved, send=False)
    assert (found.result["recall@2"], found.scored, found.unreadable) == (1.0, 1, 1)


def test_filters_reach_the_api(server: LoopbackLangfuse, client: Langfuse) -> None:
    server.observations += [
        observation(1, json.dumps(ROWS), name="first"),
        observation(2, json.dumps(ROWS), name="second", type="SPAN"),
        observation(3, json.dumps(ROWS), name="second"),
    ]

    def ids(**filters: Any) -> list[str]:
        del server.scores[:]
        score_traces({"q": ["A"]}, client, k=1, metrics="mrr", filters=filters, delivery="sync")
        return sorted({score["observationId"] for score in server.scores})

    assert ids() == [f"{1:016x}", f"{3:016x}"]
    assert ids(name="second") == [f"{3:016x}"]
    assert ids(type="SPAN") == [f"{2:016x}"]
    assert ids(trace_id=f"{1:032x}") == [f"{1:016x}"]


@pytest.mark.filterwarnings("ignore:None of 1 observations:krag_eval.KragEvalWarning")
def test_an_observation_without_gold_gets_no_scores(server: LoopbackLangfuse, client: Langfuse) -> None:
    server.observations.append(observation(1, json.dumps(ROWS), "another question"))
    found = score_traces({"q": ["A"]}, client, delivery="sync")
    assert (found.no_gold, found.scored, server.scores) == (1, 0, [])


def test_what_the_server_says_to_a_reader_is_raised(server: LoopbackLangfuse, client: Langfuse) -> None:
    server.answer = lambda method, path: (401, {"message": "no such key"})
    with pytest.raises(Exception, match="401"):
        score_traces({"q": ["A"]}, client)


def test_scores_that_do_not_arrive_are_raised_where_that_was_asked_for(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    server.observations.append(observation(1, json.dumps(ROWS)))
    server.answer = lambda method, path: (400, {"message": "no"}) if method == "POST" else None
    with pytest.raises(LangfuseDeliveryError, match="HTTP 400"):
        score_traces({"q": ["A"]}, client, delivery="sync", on_error="raise")
    assert score_traces({"q": ["A"]}, client, k=1, metrics="mrr", delivery="sync").scores.failed == 2


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"gold": None}, "`gold` is None", id="no gold"),
        pytest.param({"page_size": 0}, "`page_size` must be", id="a page of nothing"),
        pytest.param({"page_size": 1001}, "from 1 to 1000", id="a page too large"),
        pytest.param({"limit": 0}, "`limit` must be", id="a limit of nothing"),
        pytest.param({"limit": True}, "`limit` must be", id="a limit that is no number"),
        pytest.param({"prefix": "@"}, "`prefix`", id="a bad prefix"),
        pytest.param({"run_id": 5}, "`run_id`", id="a bad run"),
        pytest.param({"delivery": "fast"}, "`delivery`", id="a bad delivery"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(settings: dict[str, Any], says: str, client: Langfuse) -> None:
    with pytest.raises(InvalidInputError, match=says):
        score_traces(**{"gold": {"q": ["A"]}, "client": client, **settings})
