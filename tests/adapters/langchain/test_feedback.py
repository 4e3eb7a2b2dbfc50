"""Live scores as feedback in LangSmith: a real client and tracer against a recorder on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langsmith import Client, traceable, tracing_context

from examples.langsmith_evaluate import LoopbackLangSmith
from krag_eval import InvalidInputError, evaluate
from krag_eval_langchain import LangSmithFeedbackSink, RetrievalScoringHandler
from krag_eval_live import LiveScorer
from tests.adapters.langchain.shop import GOLD, QUESTIONS, BrokenShop, Shop, chain_of, ranking

ROOT = Path(__file__).parents[3]
PROJECT = str(uuid.UUID(int=7))
DATASET = str(uuid.UUID(int=8))
FEW = ["empty", "hit_rate@3", "mrr@3", "ndcg@3", "recall@3"]


class Recorder(LoopbackLangSmith):
    """It also has a project, and remembers the runs that were traced."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, dict[str, Any]] = {}
        self.datasets: list[dict[str, Any]] = []

    def respond(self, method: str, path: str, body: bytes) -> Any:
        now, of_all = datetime.now(UTC).isoformat(), {"tenant_id": str(uuid.UUID(int=1)), "reference_dataset_id": None}
        if (method, path) == ("GET", "/sessions"):
            return [{"id": PROJECT, "name": "shop", "start_time": now, **of_all}]
        if path.startswith("/datasets") and method == "POST":
            self.datasets.append({**json.loads(body), "id": DATASET, "created_at": now})
            return self.datasets[-1]
        if path.startswith("/datasets"):
            return self.datasets
        if path.startswith("/examples"):
            return {"id": path.rpartition("/")[2], "dataset_id": DATASET, "inputs": {}, "created_at": now}
        if path == "/runs/batch":
            given = json.loads(body)
            for row in given.get("post", []) + given.get("patch", []):
                self.runs.setdefault(row["id"], {}).update(row)
        return super().respond(method, path, body)


@pytest.fixture
def server() -> Iterator[Recorder]:
    with Recorder() as running:
        yield running


@pytest.fixture
def client(server: Recorder) -> Client:
    # With this info, runs go to /runs/batch as JSON, and feedback to /feedback.
    ingest = {
        "use_multipart_endpoint": False,
        "size_limit": 100,
        "size_limit_bytes": 1_000_000,
        "scale_up_nthreads_limit": 1,
        "scale_up_qsize_trigger": 1_000,
    }
    return Client(api_url=server.url, api_key="none", info={"batch_ingest_config": ingest})


def handler_of(sink: LangSmithFeedbackSink, **arguments: Any) -> RetrievalScoringHandler:
    return RetrievalScoringHandler(GOLD, match_method="id", **{"k": 3, "sinks": [sink], **arguments})


def expected_of(number: int) -> dict[str, float]:
    gold, found = [GOLD[QUESTIONS[number]]], [ranking(QUESTIONS[number])]
    row = evaluate(gold, found, k=3, match_method="id").per_query[0]
    return {key: round(row.values[key] or 0.0, 4) for key in FEW if key != "empty"}


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch"])
@pytest.mark.parametrize("kind", ["retriever", "chain"])
def test_wire_each_retrieval_has_its_scores_as_feedback(kind: str, how: str, server: Recorder, client: Client) -> None:
    handler = handler_of(LangSmithFeedbackSink(client))
    asked: Any = Shop() if kind == "retriever" else chain_of(Shop())
    config: Any = {"callbacks": [handler]}
    with tracing_context(enabled=True, client=client, project_name="shop"):
        if how == "batch":
            asked.batch(QUESTIONS[:6], config)
        for question in QUESTIONS[:6] if how != "batch" else ():
            asyncio.run(asked.ainvoke(question, config)) if how == "ainvoke" else asked.invoke(question, config)
    assert handler.flush(30)
    client.flush()
    by_run: dict[str, dict[str, float]] = {}
    for row in server.feedback:
        assert (row["trace_id"], row["session_id"]) == (server.runs[row["run_id"]]["trace_id"], PROJECT)
        by_run.setdefault(row["run_id"], {})[row["key"]] = row["score"]
    assert len(by_run) == 6
    for run_id, scores in by_run.items():
        run = server.runs[run_id]
        assert run["run_type"] == "retriever"
        number = QUESTIONS.index(run["inputs"]["query"])
        assert scores == {**expected_of(number), "empty": 0.0}
    assert handler._sinks._sinks[0].counters.sent == len(server.feedback) == 30


def test_wire_feedback_that_is_sent_again_has_the_same_ids(server: Recorder, client: Client) -> None:
    run_id = str(uuid.uuid4())
    for _ in range(2):
        scorer = LiveScorer({"q": ["a"]}, sinks=[LangSmithFeedbackSink(client, prefix="krag.")], match_method="id")
        with tracing_context(enabled=True, client=client, project_name="shop"):
            scorer.begin("langchain", run_id, "q")
            scorer.end(run_id, [{"id": "a"}])
        assert scorer.flush(30)
    assert len({row["id"] for row in server.feedback}) == 5
    assert len(server.feedback) == 10
    assert {row["key"].partition(".")[0] for row in server.feedback} == {"krag"}
    assert {row["trace_id"] for row in server.feedback} == {run_id}


def test_wire_a_function_is_scored_on_the_traceable_around_it_and_a_session_on_its_trace(
    server: Recorder, client: Client
) -> None:
    scorer = LiveScorer({"q1": ["a", "b"]}, sinks=[LangSmithFeedbackSink(client)], match_method="id", k=1)

    @scorer.retrieval
    def search(query: str) -> list[Any]:
        return [{"id": query}]

    @traceable(client=client, project_name="shop")
    def answer(question: str) -> str:
        with scorer.question("q1"):
            search("a")
            search("b")
        return question

    with tracing_context(enabled=True, client=client):
        answer("When?")
    assert scorer.flush(30)
    client.flush()
    (run_id,) = server.runs
    assert {row["run_id"] for row in server.feedback} == {run_id}
    keys = [row["key"] for row in server.feedback]
    assert (keys.count("recall@1"), keys.count("session_recall@1")) == (2, 1)
    assert len({row["id"] for row in server.feedback}) == len(server.feedback)


def test_wire_a_session_of_langchain_is_scored_on_its_root_run(server: Recorder, client: Client) -> None:
    handler = handler_of(LangSmithFeedbackSink(client))

    def twice(question: str) -> str:
        Shop().invoke(question)
        Shop().invoke("in other words")
        return "done"

    with tracing_context(enabled=True, client=client, project_name="shop"):
        RunnableLambda(twice).invoke(QUESTIONS[4], {"callbacks": [handler]})
    assert handler.flush(30)
    client.flush()
    (of_session,) = {row["run_id"] for row in server.feedback if row["key"] == "session_recall@3"}
    assert server.runs[of_session]["name"] == "twice"


def test_what_is_not_traced_is_counted(server: Recorder, client: Client) -> None:
    sink = LangSmithFeedbackSink(client)
    handler = handler_of(sink)
    chain_of(Shop()).invoke(QUESTIONS[4], {"callbacks": [handler]})
    assert handler.flush(30)
    assert (handler.scored, handler.no_target, sink.counters.skipped, server.feedback) == (1, 1, 5, [])


def test_a_retriever_that_raised_and_no_retention(server: Recorder, client: Client) -> None:
    handler = handler_of(LangSmithFeedbackSink(client, extend_retention=False))
    with pytest.raises(TimeoutError), tracing_context(enabled=True, client=client, project_name="shop"):
        BrokenShop().invoke(QUESTIONS[4], {"callbacks": [handler]})
    assert handler.flush(30)
    assert {row["key"]: row["score"] for row in server.feedback} == {**dict.fromkeys(FEW, 0.0), "empty": 1.0}
    assert {row["extend_trace_retention"] for row in server.feedback} == {False}


@pytest.mark.full
def test_a_server_that_is_gone_is_counted_and_the_application_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    gone = Client(api_url="http://127.0.0.1:9", api_key="none", info={}, timeout_ms=100)
    sink = LangSmithFeedbackSink(gone)
    handler = handler_of(sink)
    with (
        caplog.at_level(logging.WARNING, "krag_eval.langsmith"),
        tracing_context(enabled=True, client=gone, project_name="shop"),
    ):
        assert Shop().invoke(QUESTIONS[4], {"callbacks": [handler]}) == ranking(QUESTIONS[4])
        handler.flush(60)
    assert (sink.counters.sent, sink.counters.failed, len(sink.problems)) == (0, 5, 1)
    assert "did not reach LangSmith" in caplog.text


def test_another_client_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="`client` must be a LangSmith client"):
        LangSmithFeedbackSink(object())


TEST = """
import pytest
from langsmith import testing
from krag_eval import evaluate_ids

FOUND = {"When do refunds arrive?": ["refunds", "islands"], "When are you open?": ["islands"]}

@pytest.mark.langsmith
@pytest.mark.parametrize(
    ("question", "gold"), [("When do refunds arrive?", ["refunds"]), ("When are you open?", ["hours"])]
)
def test_retrieval(question, gold):
    retrieved = FOUND[question]
    testing.log_outputs({"retrieved": retrieved})
    scores = evaluate_ids([gold], [retrieved], k=2, metrics=["recall", "mrr"])
    for key, value in scores.per_query[0].values.items():
        testing.log_feedback(key=key, score=value)
"""


@pytest.mark.full
def test_wire_scores_of_a_pytest_case_are_logged_as_feedback(server: Recorder, tmp_path: Path) -> None:
    (tmp_path / "test_search.py").write_text(TEST)
    keys = {"LANGSMITH_ENDPOINT": server.url, "LANGSMITH_API_KEY": "none", "LANGSMITH_TRACING_V2": "true"}
    keys["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_search.py"],
        cwd=tmp_path,
        env={**os.environ, **keys},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    logged = sorted((row["key"], row["score"]) for row in server.feedback if "@" in row["key"])
    assert logged == [("mrr@2", 0.0), ("mrr@2", 1.0), ("recall@2", 0.0), ("recall@2", 1.0)]
