"""Scoring what Langfuse already holds: what real clients recorded is read back, and its observations get scores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvalSet, KragEvalWarning, Run, RunRow, evaluate, evaluate_run
from krag_eval_langfuse import score_traces
from tests.adapters.langfuse.retrievals import MAIN
from tests.adapters.langfuse.wire import by_target
from tests.support.marks import nothing_may_match

MakeClient = Callable[..., Langfuse]
QUESTIONS = [f"質問 {i}" for i in range(12)]
GOLD: dict[str, list[Any]] = {question: [f"text {i}"] for i, question in enumerate(QUESTIONS)}


class Retriever(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        number = int(query.rpartition(" ")[2])
        if number == 7:
            raise TimeoutError("no answer")
        noise = [Document(f"noise {rank}", metadata={"id": f"x{rank}"}) for rank in range(number % 3)]
        return [*noise, Document(f"text {number}", metadata={"id": f"d{number}", "doc_id": f"D{number}"})]


class Outer(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return Retriever().invoke(query, config={"callbacks": run_manager.get_child()})[:1]


def record(client: Langfuse, retriever: BaseRetriever, questions: list[str], **metadata: str) -> None:
    handler = CallbackHandler(public_key=client._resources.public_key)  # type: ignore[union-attr]
    for question in questions:
        config: Any = {"callbacks": [handler], "metadata": {key: f"{text}{question}" for key, text in metadata.items()}}
        try:
            retriever.invoke(question, config=config)
        except TimeoutError:
            continue
    client.flush()


def rankings() -> list[Any]:
    found: list[Any] = [[f"noise {rank}" for rank in range(i % 3)] + [f"text {i}"] for i in range(12)]
    found[7] = TimeoutError()
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize("page_size", [1, 5, 100])
def test_wire_recorded_retrievals_get_the_scores_of_evaluate(
    page_size: int, server: LoopbackLangfuse, client: Langfuse
) -> None:
    record(client, Retriever(), QUESTIONS)
    found = score_traces(GOLD, client, k=(1, 3), page_size=page_size, delivery="sync")
    expected = evaluate(list(GOLD.values()), rankings(), k=(1, 3))
    assert found.result.to_dict() == expected.to_dict()
    assert (found.observations, found.scored, found.no_gold, found.unreadable, found.inner) == (12, 12, 0, 0, 0)
    assert (found.scores.sent, found.scores.failed) == (len(server.scores), 0)
    spans = {span.id: span for span in server.spans}
    scored = by_target(server.scores)
    assert set(scored) == set(spans)
    for place, values in scored.items():
        row = expected.per_query[QUESTIONS.index(str(spans[place].input))]
        assert {name: values[name] for name in values if "_at_" in name} == {
            name: value
            for key, value in row.values.items()
            if (name := f"krag.{key.replace('@', '_at_')}").startswith(MAIN)
        }
    for score in server.scores:
        span = spans[score["observationId"]]
        assert score["traceId"] == span.trace_id
        assert abs(datetime.fromisoformat(score["timestamp"]) - span.end) < timedelta(milliseconds=1)


@pytest.mark.full
def test_wire_scoring_again_overwrites(server: LoopbackLangfuse, client: Langfuse) -> None:
    record(client, Retriever(), QUESTIONS)
    sent = []
    for run_id in (None, None, "other"):
        score_traces(GOLD, client, k=1, delivery="sync", run_id=run_id)
        sent.append({(score["id"], score["timestamp"]) for score in server.scores})
        del server.scores[:]
    assert sent[0] == sent[1]
    assert not sent[0] & sent[2]


def test_wire_an_evaluation_set_is_found_by_the_id_in_the_metadata(server: LoopbackLangfuse, client: Langfuse) -> None:
    evalset = EvalSet([{"id": f"Q{q}", "gold_chunk_ids": [f"d{i}"]} for i, q in enumerate(QUESTIONS)])
    record(client, Retriever(), QUESTIONS, krag_query_id="Q")
    found = score_traces(evalset, client, k=(1, 3), send=False)
    rows = [
        RunRow(query_id=f"Q{q}", retrieved=tuple(documents), error=None)
        if not isinstance(documents := _documents(q), Exception)
        else RunRow(query_id=f"Q{q}", error="TimeoutError")
        for q in QUESTIONS
    ]
    run = Run(name="recorded", rows={row.query_id: row for row in rows})
    assert found.result.to_dict() == evaluate_run(evalset, run, k=(1, 3)).to_dict()
    assert server.scores == []
    by_document = EvalSet([{"id": f"Q{q}", "gold_doc_ids": [f"D{i}"]} for i, q in enumerate(QUESTIONS)])
    at_level = score_traces(by_document, client, k=3, level="document", send=False)
    assert at_level.result["recall@3"] == 11 / 12


def _documents(question: str) -> Any:
    try:
        retrieved = Retriever().invoke(question)
    except TimeoutError as error:
        return error
    return EvalSet([{"id": 1, "gold": retrieved}])[0].gold


@pytest.mark.full
@nothing_may_match
def test_wire_retrievers_inside_of_others_are_left_out_by_default(server: LoopbackLangfuse, client: Langfuse) -> None:
    record(client, Outer(), QUESTIONS[:6])
    found = score_traces(GOLD, client, k=3, page_size=4, delivery="sync")
    assert (found.observations, found.inner, found.scored) == (12, 6, 6)
    assert {span.name for span in server.spans if span.id in by_target(server.scores)} == {"Outer"}
    assert found.result["recall@3"] == 2 / 6
    everything = score_traces(GOLD, client, k=3, only_outermost=False, send=False)
    assert (everything.inner, everything.scored) == (0, 12)
    some = score_traces(GOLD, client, k=3, limit=2, send=False)
    assert (some.observations, some.inner, some.scored) == (2, 1, 1)


def test_wire_what_was_masked_is_counted_and_not_scored_as_nothing(
    server: LoopbackLangfuse, make_client: MakeClient
) -> None:
    def mask(*, data: Any, **_: Any) -> Any:
        return "<masked>" if isinstance(data, (list, tuple)) else data

    client = make_client(mask=mask)
    record(client, Retriever(), QUESTIONS[:3])
    with pytest.warns(KragEvalWarning, match="None of 3 observations was scored: 0 have no gold, 3 cannot be read"):
        found = score_traces(GOLD, client, delivery="sync")
    assert (found.unreadable, found.scored, server.scores) == (3, 0, [])
