"""Evaluators in LangSmith's own runner, against a recorder on loopback: what arrives there is what `evaluate` says."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.documents import Document
from langsmith import Client, aevaluate
from langsmith.schemas import Example

from examples.langsmith_evaluate import LoopbackLangSmith
from krag_eval import evaluate
from krag_eval_langchain import as_langsmith_evaluator, as_langsmith_summary_evaluator
from tests.adapters.langchain.shop import GOLD, QUESTIONS, ranking
from tests.support.marks import nothing_may_match

# What langsmith warns of in its own calls.
pytestmark = pytest.mark.filterwarnings(
    "ignore:'upload_results' parameter is in beta",
    "ignore:The following arguments are no longer used:DeprecationWarning",
)

ASKED = [*QUESTIONS[:6], "unanswerable"]
GOLD_ROWS: list[list[Any]] = [*(GOLD[question] for question in QUESTIONS[:6]), []]
SETTINGS: dict[str, Any] = {"k": (1, 3), "match_method": "id"}


@pytest.fixture
def server() -> Iterator[LoopbackLangSmith]:
    with LoopbackLangSmith() as running:
        yield running


def client_of(server: LoopbackLangSmith) -> Client:
    return Client(api_url=server.url, api_key="none", info={})


def examples_of(rows: list[Any], asked: list[str] = ASKED) -> list[Example]:
    now, dataset = datetime.now(UTC), uuid.UUID(int=2)
    return [
        Example(id=uuid.uuid4(), dataset_id=dataset, created_at=now, inputs={"question": question}, outputs=outputs)
        for question, outputs in zip(asked, rows, strict=True)
    ]


def scores_of(experiment: Any) -> dict[str, dict[str, Any]]:
    return {
        row["example"].inputs["question"]: {
            score.key: score.score for score in row["evaluation_results"]["results"] if score.score is not None
        }
        for row in experiment
    }


def run(server: LoopbackLangSmith, target: Any, rows: list[Any], **arguments: Any) -> Any:
    client = client_of(server)
    experiment = client.evaluate(target, data=examples_of(rows), **arguments)
    experiment.wait()
    rows = list(experiment)
    client.flush()
    return rows


def expected(**settings: Any) -> Any:
    return evaluate(GOLD_ROWS, [ranking(question) for question in ASKED], **{**SETTINGS, **settings})


def sent(scores: dict[str, Any]) -> dict[str, Any]:
    """LangSmith's client rounds scores to four digits."""
    return {key: round(value, 4) for key, value in scores.items()}


def defined(row: Any) -> dict[str, Any]:
    return {key: value for key, value in row.values.items() if value is not None}


@pytest.mark.parametrize("concurrency", [0, 4])
def test_every_score_of_every_row_arrives_and_undefined_ones_do_not(
    server: LoopbackLangSmith, concurrency: int
) -> None:
    rows = run(
        server,
        lambda inputs: {"documents": ranking(inputs["question"])},
        [{"gold": gold} for gold in GOLD_ROWS],
        evaluators=[as_langsmith_evaluator(**SETTINGS)],
        summary_evaluators=[as_langsmith_summary_evaluator(**SETTINGS)],
        max_concurrency=concurrency,
    )
    result = expected()
    assert scores_of(rows) == {q: defined(row) for q, row in zip(ASKED, result.per_query, strict=True)}
    assert scores_of(rows)["unanswerable"] == {}

    by_run: dict[str, dict[str, Any]] = {}
    for row in server.feedback:
        if row.get("run_id"):
            by_run.setdefault(row["run_id"], {})[row["key"]] = row["score"]
    runs = {str(row["run"].id): row["example"].inputs["question"] for row in rows}
    assert {runs[run_id]: scores for run_id, scores in by_run.items()} == {
        q: sent(defined(row)) for q, row in zip(ASKED[:-1], result.per_query, strict=False)
    }
    assert all(isinstance(row["score"], float) for row in server.feedback)
    of_all = {row["key"]: row["score"] for row in server.feedback if not row.get("run_id")}
    micro = {key: value for key, value in result.to_dict().items() if key.startswith("micro_")}
    came = len(ranking("unanswerable"))
    assert of_all == {**sent(micro), "no_answer_empty": 0.0, "no_answer_retrieved": float(came)}


def test_the_comment_says_the_counts_and_the_settings_and_no_text(server: LoopbackLangSmith) -> None:
    run(
        server,
        lambda inputs: ranking(inputs["question"]),
        [{"gold": gold} for gold in GOLD_ROWS],
        evaluators=[as_langsmith_evaluator(**SETTINGS, metrics="recall", prefix="krag.")],
        summary_evaluators=[as_langsmith_summary_evaluator(**SETTINGS, metrics="recall")],
    )
    signature = expected(metrics="recall").signature
    assert {row["key"] for row in server.feedback if row.get("run_id")} == {"krag.recall@1", "krag.recall@3"}
    counts = {f"gold: {row.n_gold}, retrieved: {row.n_retrieved}; {signature}" for row in expected().per_query[:6]}
    assert {row["comment"] for row in server.feedback if row.get("run_id")} == counts
    assert {row["comment"] for row in server.feedback if not row.get("run_id")} == {f"rows: 7; {signature}"}


@nothing_may_match
def test_a_target_that_raises_counts_as_nothing_retrieved(
    server: LoopbackLangSmith, caplog: pytest.LogCaptureFixture
) -> None:
    def target(inputs: dict[str, Any]) -> list[Document]:
        raise TimeoutError("late")

    rows = run(
        server,
        target,
        [{"gold": gold} for gold in GOLD_ROWS],
        evaluators=[as_langsmith_evaluator(**SETTINGS, metrics="recall")],
        summary_evaluators=[as_langsmith_summary_evaluator(**SETTINGS, metrics="recall")],
    )
    assert scores_of(rows) == {q: {"recall@1": 0.0, "recall@3": 0.0} if q in GOLD else {} for q in ASKED}
    assert "retrieved: 0 (no outputs)" in server.feedback[0]["comment"]
    assert {row["score"] for row in server.feedback if row["key"].startswith("micro")} == {0.0}
    assert {row["comment"][:22] for row in server.feedback if "micro" in row["key"]} == {"rows: 7; no outputs: 7"}
    assert "Error running evaluator" not in caplog.text


def test_a_target_that_raises_did_not_abstain(server: LoopbackLangSmith) -> None:
    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        if inputs["question"] == "crashes":
            raise TimeoutError("late")
        return {"documents": [] if inputs["question"] == "abstains" else ranking(inputs["question"])}

    client = client_of(server)
    asked = ["crashes", "abstains", "crashes", "answers", QUESTIONS[0]]
    rows: list[Any] = [*[{"gold": []}] * 4, {"gold": GOLD[QUESTIONS[0]]}]
    client.evaluate(
        target, data=examples_of(rows, asked), summary_evaluators=[as_langsmith_summary_evaluator(**SETTINGS)]
    ).wait()
    client.flush()
    assert {row["score"] for row in server.feedback if row["key"] == "no_answer_empty"} == {0.25}


def test_the_asynchronous_runner_takes_them_too(server: LoopbackLangSmith) -> None:
    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"documents": ranking(inputs["question"])}

    client = client_of(server)

    async def whole() -> list[Any]:
        experiment = await aevaluate(
            target,
            data=examples_of([{"gold": gold} for gold in GOLD_ROWS]),
            evaluators=[as_langsmith_evaluator(**SETTINGS)],
            summary_evaluators=[as_langsmith_summary_evaluator(**SETTINGS)],
            client=client,
            upload_results=False,  # it does not wait for what it sends
        )
        return [row async for row in experiment]

    result, rows = expected(), asyncio.run(whole())
    client.flush()
    assert scores_of(rows) == {q: defined(r) for q, r in zip(ASKED, result.per_query, strict=True)}


def test_nothing_is_uploaded_where_that_is_not_wanted(server: LoopbackLangSmith) -> None:
    rows = run(
        server,
        lambda inputs: ranking(inputs["question"]),
        [{"gold": gold} for gold in GOLD_ROWS],
        evaluators=[as_langsmith_evaluator(**SETTINGS)],
        upload_results=False,
    )
    assert scores_of(rows) == {q: defined(row) for q, row in zip(ASKED, expected().per_query, strict=True)}
    assert server.feedback == []


@pytest.mark.full
def test_an_error_of_the_evaluator_is_logged_by_langsmith_and_loses_no_other_row(
    server: LoopbackLangSmith, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        rows = run(
            server,
            lambda inputs: {"nothing" if inputs["question"] == ASKED[0] else "documents": ranking(inputs["question"])},
            [{"gold": gold} for gold in GOLD_ROWS],
            evaluators=[as_langsmith_evaluator(**SETTINGS)],
        )
    assert "No documents under 'retrieved'" in caplog.text
    scores = scores_of(rows)
    assert scores.pop(ASKED[0]) == {}
    assert scores == {q: defined(row) for q, row in zip(ASKED[1:], expected().per_query[1:], strict=True)}
