"""Sessions of workflows and query engines: the searches under one root span, with their stages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms.mock import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from krag_eval import EvalSet, evaluate_run
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.llama_index.world import QUESTIONS, Collected, Scripted

EVALSET = EvalSet(
    [{"id": f"q{i}", "question": text, "gold_chunk_ids": ids} for i, (text, ids) in enumerate(QUESTIONS.items())]
)
FIRST = next(iter(QUESTIONS))


class Again(Event):
    """Asks for another search."""

    words: str


class TwoSearches(Workflow):
    """Searches twice, once through a tool."""

    retriever: Any = None

    @step
    async def first(self, event: StartEvent) -> Again:
        await self.retriever.aretrieve(event.question)
        return Again(words=event.more)

    @step
    async def second(self, event: Again) -> StopEvent:
        tool = FunctionTool.from_defaults(async_fn=self.retriever.aretrieve, name="library", description="Searches.")
        await tool.acall(event.words)
        return StopEvent(result="done")


def workflow(retriever: Any) -> TwoSearches:
    made = TwoSearches(timeout=60)
    made.retriever = retriever
    return made


class Told(Collected):
    """Keeps sessions too."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: list[Any] = []

    def on_session_scored(self, session: Any, targets: Any) -> None:
        self.sessions.append((session, targets))


def test_the_searches_of_a_workflow_are_one_session() -> None:
    told = Told()
    retriever = Scripted({FIRST: ["en/fine"], "in other words": ["en/hours", "ko/hours"]}, pauses=2)
    with retrieval_scoring(EVALSET, k=(1, 5), sinks=told, keep_documents=True) as scoring:
        asyncio.run(run(retriever, FIRST, "in other words"))
    (row,) = scoring.sessions().rows.values()
    assert [(s.query, s.tool, [d.id for d in s.retrieved]) for s in row.searches] == [
        (FIRST, "Scripted", ["en/fine"]),
        ("in other words", "library", ["en/hours", "ko/hours"]),
    ]
    expected = evaluate_run([EVALSET["q0"]], scoring.sessions(), k=(1, 5))
    assert scoring.session_result().to_dict() == expected.to_dict()
    ((session, targets),) = told.sessions
    assert dict(session.scores) == dict(expected.per_query[0].values)
    assert targets == [target for _, target in told.seen]
    assert get_dispatcher().span_handlers == [
        h for h in get_dispatcher().span_handlers if "Listener" not in str(type(h))
    ]


async def run(retriever: Any, question: str, more: str) -> Any:
    return await workflow(retriever).run(question=question, more=more)


def test_fused_retrievers_are_stages() -> None:
    one, two = Scripted({FIRST: ["en/fine", "en/hours"]}), Scripted({FIRST: ["ko/hours"]})
    fused = QueryFusionRetriever(
        [one, two], llm=MockLLM(), num_queries=1, use_async=False, mode=FUSION_MODES.RECIPROCAL_RANK
    )
    with retrieval_scoring(EVALSET, k=5, keep_documents=True) as scoring:
        fused.retrieve(FIRST)
    (row,) = scoring.sessions().rows.values()
    assert [(stage.name, stage.inputs) for stage in row.searches[0].stages] == [
        ("Scripted", ()),
        ("Scripted (2)", ()),
        ("QueryFusionRetriever", ("Scripted", "Scripted (2)")),
    ]
    assert scoring.counters.seen == scoring.counters.scored == 1


class Best(BaseNodePostprocessor):
    """A stand-in for a reranker: keeps the last node, and sends the events of one."""

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        dispatcher = get_dispatcher()
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=1, model_name="stand-in"))
        dispatcher.event(ReRankEndEvent(nodes=nodes[-1:]))
        return nodes[-1:]


def test_a_reranker_is_the_last_stage_and_a_session_is_scored_by_it() -> None:
    retriever = Scripted({FIRST: ["en/hours", "ko/hours", "en/fine"]})
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[Best()])
    with retrieval_scoring(EVALSET, k=5, metrics="recall", keep_documents=True) as scoring:
        engine.query(FIRST)
    (row,) = scoring.sessions().rows.values()
    (search,) = row.searches
    assert [(stage.name, stage.inputs) for stage in search.stages] == [("Scripted", ()), ("Best", ("Scripted",))]
    assert [d.id for d in row.retrieved] == ["en/fine"]
    assert (scoring.result()["recall@5"], scoring.session_result()["recall@5"]) == (1.0, 0.0)


def run_concurrently(n: int) -> None:
    answers = {f"{i} {part}": [f"n{i}", part] for i in range(n) for part in ("first", "second")}
    told, gold = Told(), {f"w{i}": [{"id": f"n{i}"}] for i in range(n)}

    async def all_of_them() -> None:
        gate = asyncio.Semaphore(64)

        async def one(number: int) -> None:
            async with gate:
                with instrument_tags({"krag_query_id": f"w{number}"}):
                    await run(Scripted(answers, pauses=number % 3), f"{number} first", f"{number} second")

        await asyncio.gather(*map(one, range(n)))

    with retrieval_scoring(gold, match_method="id", k=5, sinks=told) as scoring:
        asyncio.run(all_of_them())
        assert scoring.flush(60)
    found = sorted((s.query_id, *(search.query for search in s.row.searches)) for s, _ in told.sessions)
    assert found == sorted((f"w{i}", f"{i} first", f"{i} second") for i in range(n))
    for session, _ in told.sessions:
        assert all([d.id for d in s.retrieved] == answers[s.query] for s in session.row.searches)
        assert session.scores["session_recall@5"] == 1.0
    assert scoring.session_counters.scored == n
    assert scoring.counters.seen == 2 * n
    assert not scoring._spans


@pytest.mark.full
def test_workflows_at_once_are_each_a_session() -> None:
    run_concurrently(30)


@pytest.mark.full
def test_a_thousand_workflows_at_once_are_each_a_session() -> None:
    run_concurrently(1_000)
