"""Agents, workflows and engines with a scripted model: each retrieval belongs to the question that was asked."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.llms import ChatMessage, CompletionResponse
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import (
    CustomQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen.types import SubQuestion
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

from krag_eval import EvalSet, InvalidInputError, evaluate
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.llama_index.world import GOLD, QUESTIONS, TEXTS, Scripted, TrigramEmbedding, index, nodes

FIRST, SECOND, *_ = QUESTIONS
OLD_CORE = importlib.metadata.version("llama-index-core") in ("0.14.20", "0.14.21")
WORDS = "opening hours"  # what the model searches for: no question of the gold
FOUND = ["en/fine", "en/hours"]


def retriever() -> Scripted:
    return Scripted({WORDS: FOUND, FIRST: ["ko/hours"], SECOND: ["en/fine"]}, pauses=2)


def calls(tool: str, **arguments: Any) -> MockFunctionCallingLLM:
    """A model that calls a tool once and then answers."""

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        if messages[-1].role.value == "tool":
            return ChatMessage(role="assistant", content="From nine.")
        block = ToolCallBlock(tool_call_id="1", tool_name=tool, tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[block])

    return MockFunctionCallingLLM(response_generator=answer)


def thinks() -> MockFunctionCallingLLM:
    """The same model, for an agent that reads its thoughts."""

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        has_seen = any("Observation: " in str(message.content) for message in messages[1:])
        action = 'I search.\nAction: search\nAction Input: {"query": "opening hours"}'
        return ChatMessage(
            role="assistant", content="Thought: " + ("I know.\nAnswer: At nine." if has_seen else action)
        )

    return MockFunctionCallingLLM(response_generator=answer)


def search(found: Scripted) -> FunctionTool:
    async def by_model(query: str) -> str:
        return "\n".join(node.get_content() for node in await found.aretrieve(query))

    return FunctionTool.from_defaults(async_fn=by_model, name="search", description="Searches.")


def sync_search(found: Scripted) -> FunctionTool:
    def by_model(query: str) -> str:
        return "\n".join(node.get_content() for node in found.retrieve(query))

    return FunctionTool.from_defaults(by_model, name="search", description="Searches.")


def agent(tool: FunctionTool, words: str) -> Any:
    return FunctionAgent(tools=[tool], llm=calls("search", query=words))


async def function_agent(question: str) -> Any:
    return await agent(search(retriever()), WORDS).run(user_msg=question)


async def agent_of_a_message(question: str) -> Any:
    return await agent(sync_search(retriever()), WORDS).run(ChatMessage(role="user", content=question))


async def agent_of_a_history(question: str) -> Any:
    history = [ChatMessage(role="user", content="Hello."), ChatMessage(role="user", content=question)]
    return await agent(search(retriever()), WORDS).run(chat_history=history)


async def agent_workflow(question: str) -> Any:
    made: Any = AgentWorkflow.from_tools_or_functions([search(retriever())], llm=calls("search", query=WORDS))
    return await made.run(user_msg=question)


async def react_agent(question: str) -> Any:
    made: Any = ReActAgent(tools=[search(retriever())], llm=thinks())
    return await made.run(user_msg=question)


class Topic(StartEvent):
    """A start of one's own."""

    topic: str
    words: int = 3


class Searches(Workflow):
    """Searches in other words."""

    @step
    async def go(self, ev: StartEvent) -> StopEvent:
        await retriever().aretrieve(WORDS)
        return StopEvent(result="done")


class StartsItsOwnWay(Workflow):
    """The same, of an event of its own."""

    @step
    async def go(self, ev: Topic) -> StopEvent:
        await retriever().aretrieve(WORDS)
        return StopEvent(result="done")


class Answers(MockLLM):
    """Says what it was told to."""

    _says: str = WORDS

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text=self._says)

    async def acomplete(self, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text=self._says)


class Selects(Answers):
    """Takes the only engine."""

    _says: str = '[{"choice": 1, "reason": "only one"}]'


def engine() -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(retriever(), llm=MockLLM())


async def workflow(question: str) -> Any:
    return await Searches().run(user_msg=question)


async def workflow_of_another_event(question: str) -> Any:
    return await StartsItsOwnWay().run(topic=question)


HISTORY = [ChatMessage("Hi.")]


async def condense_plus_context(question: str) -> Any:
    chat = CondensePlusContextChatEngine.from_defaults(
        retriever(), llm=Answers(max_tokens=None), chat_history=[ChatMessage("Hi.")]
    )
    return await chat.achat(question)


async def condense_question(question: str) -> Any:
    chat = CondenseQuestionChatEngine.from_defaults(
        engine(), llm=Answers(max_tokens=None), chat_history=[ChatMessage("Hi.")]
    )
    return await chat.achat(question)


async def sub_questions(question: str) -> Any:
    class Generator:
        """Asks the same in other words."""

        async def agenerate(self, *_: Any) -> list[SubQuestion]:
            return [SubQuestion(sub_question=WORDS, tool_name="library")]

        generate = agenerate

    tool = QueryEngineTool.from_defaults(engine(), name="library", description="All of it.")
    made: Any = SubQuestionQueryEngine.from_defaults([tool], llm=MockLLM(), question_gen=Generator(), use_async=True)  # type: ignore[arg-type]
    return await made.aquery(question)


ASKED_IN_OTHER_WORDS = [
    function_agent,
    agent_of_a_message,
    agent_of_a_history,
    agent_workflow,
    react_agent,
    workflow,
    workflow_of_another_event,
    condense_plus_context,
    condense_question,
    sub_questions,
]


@pytest.mark.parametrize("ask", ASKED_IN_OTHER_WORDS)
def test_a_search_in_other_words_has_the_gold_of_the_question(ask: Callable[[str], Any]) -> None:
    if ask is agent_of_a_message and OLD_CORE:
        pytest.skip("need llama-index-core 0.14.22, whose tools know in their threads what they run in (make setup)")
    with retrieval_scoring(GOLD, k=(1, 5), match_method="id", keep_documents=True) as scoring:
        asyncio.run(ask(FIRST))
    found = [{"id": one} for one in FOUND]
    expected = evaluate([GOLD[FIRST]], [found], k=(1, 5), match_method="id", queries=[WORDS], query_ids=[FIRST])
    assert (scoring.counters.seen, scoring.counters.no_gold, scoring.counters.errors) == (1, 0, 0)
    assert dict(scoring.result()) == dict(expected)
    (session,) = scoring.sessions().rows.values()
    assert (session.query_id, [search.query for search in session.searches]) == (FIRST, [WORDS])


@pytest.mark.parametrize("is_async", [False, True])
def test_engines_that_pass_the_question_on_are_scored_by_it(is_async: bool) -> None:
    router = RouterQueryEngine(
        LLMSingleSelector.from_defaults(llm=Selects(max_tokens=None)),
        [QueryEngineTool.from_defaults(engine(), description="All of it.")],
        llm=MockLLM(),
    )
    chat = ContextChatEngine.from_defaults(retriever(), llm=MockLLM())

    async def ask() -> None:
        await router.aquery(FIRST)
        await chat.achat(FIRST)

    with retrieval_scoring(GOLD, k=5, match_method="id") as scoring:
        if is_async:
            asyncio.run(ask())
        else:
            router.query(FIRST)
            chat.chat(FIRST)
    assert (scoring.counters.scored, scoring.result()["recall@5"]) == (2, 0.5)


def test_a_search_whose_own_text_has_gold_keeps_it_and_a_tag_comes_first() -> None:
    answers = retriever()

    async def ask() -> None:
        await agent(search(answers), SECOND).run(user_msg=FIRST)
        with instrument_tags({"krag_query_id": "q1"}):
            await function_agent("Anything else?")

    evalset = EvalSet(
        [{"id": f"q{i}", "question": text, "gold_chunk_ids": QUESTIONS[text]} for i, text in enumerate(QUESTIONS)]
    )
    with retrieval_scoring(evalset, k=5, metrics="recall", keep_documents=True) as scoring:
        asyncio.run(ask())
    assert [(row.id, row.values["recall@5"]) for row in scoring.result().per_query] == [("q1", 1.0), ("q1", 1.0)]


def test_agents_that_run_at_the_same_time_keep_their_questions() -> None:
    questions = [f"question {i}" for i in range(64)]
    gold = {question: [{"id": FOUND[i % 2]}] for i, question in enumerate(questions)}

    async def ask() -> None:
        await asyncio.gather(*map(function_agent, questions))

    with retrieval_scoring(gold, k=1, match_method="id", keep_documents=True) as scoring:
        asyncio.run(ask())
    found = [{"id": one} for one in FOUND]
    expected = evaluate(list(gold.values()), [found] * 64, k=1, match_method="id")
    assert dict(scoring.result()) == dict(expected)
    assert [row.values["hit_rate@1"] for row in scoring.result().per_query].count(1.0) == 32
    assert sorted(scoring.sessions().rows) == sorted(questions)


def by_hand(query: str) -> list[NodeWithScore]:
    """Search the vector store itself, without a retriever."""
    embedding = TrigramEmbedding().get_query_embedding(query)
    found = index().vector_store.query(VectorStoreQuery(query_embedding=embedding, similarity_top_k=2))
    by_id = {node.node_id: node for node in nodes()}
    return [NodeWithScore(node=by_id[one], score=0.5) for one in found.ids or ()]


def expected_by_hand(*queries: str) -> dict[str, float | None]:
    lists = [[{"id": node.node_id} for node in by_hand(query)] for query in queries]
    return dict(evaluate([GOLD[FIRST]] * len(queries), lists, k=2, match_method="id"))


def test_a_tool_that_returns_nodes_is_a_retrieval() -> None:
    texts = FunctionTool.from_defaults(
        lambda query: [one.node for one in by_hand(query)], name="search", description=""
    )
    scored = FunctionTool.from_defaults(by_hand, name="search", description="Searches.")

    async def ask() -> None:
        for tool in (texts, scored):
            await agent(tool, FIRST).run(user_msg="Hello?")

    with retrieval_scoring(GOLD, k=2, match_method="id") as scoring:
        asyncio.run(ask())
    assert (scoring.counters.seen, scoring.counters.scored) == (2, 2)
    assert dict(scoring.result()) == expected_by_hand(FIRST, FIRST)


class Found(Event):
    """What was found."""

    nodes: list[NodeWithScore]


class ByHand(Workflow):
    """A step that searches by hand, one that takes the best, and one that returns them."""

    @step
    async def find(self, ctx: Context, ev: StartEvent) -> Found:
        found = by_hand(ev.question)
        await ctx.store.set("found", found)
        return Found(nodes=found)

    @step
    async def answer(self, ctx: Context, ev: Found) -> StopEvent:
        return StopEvent(result={"best": ev.nodes[:1], "all": await ctx.store.get("found")})


class Engine(CustomQueryEngine):
    """An engine that searches by hand."""

    def custom_query(self, query_str: str) -> Response:
        return Response("From nine.", source_nodes=by_hand(query_str))


def test_a_step_or_an_engine_that_returns_nodes_is_a_retrieval_once() -> None:
    async def ask() -> None:
        await ByHand().run(question=FIRST)

    with retrieval_scoring(GOLD, k=2, match_method="id", keep_documents=True) as scoring:
        asyncio.run(ask())
        Engine().query(FIRST)
    assert (scoring.counters.seen, scoring.counters.scored) == (2, 2)
    assert dict(scoring.result()) == expected_by_hand(FIRST, FIRST)
    assert [row.searches[0].tool for row in scoring.sessions().rows.values()] == ["ByHand.find", "Engine.custom_query"]


def texts_of(query: str) -> str:
    return json.dumps({"results": [{"id": node.node_id, "text": node.get_content()} for node in by_hand(query)]})


def test_from_tools_reads_what_a_tool_returned_and_its_errors_are_nothing_retrieved() -> None:
    answers: list[Any] = [texts_of(FIRST), TimeoutError("too slow"), "[]", json.dumps({"results": 3})]

    def by_model(query: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    tool = FunctionTool.from_defaults(by_model, name="search", description="Searches.")

    async def ask() -> None:
        for _ in range(4):
            await agent(tool, WORDS).run(user_msg=FIRST)

    def extract(found: Any) -> object:
        return found["results"] if found else []

    with retrieval_scoring(GOLD, k=2, match_method="id", from_tools={"search": extract}) as scoring:
        asyncio.run(ask())
    counters = scoring.counters
    assert (counters.seen, counters.scored, counters.unreadable) == (4, 3, 1)
    lists = [[{"id": node.node_id} for node in by_hand(FIRST)], TimeoutError(), []]
    expected = evaluate([GOLD[FIRST]] * 3, lists, k=2, match_method="id")
    assert dict(scoring.result()) == dict(expected)


def test_a_tool_that_found_nodes_before_may_find_none_or_fail() -> None:
    answers: list[Any] = [by_hand(FIRST), [], RuntimeError("down")]

    def by_model(query: str) -> list[NodeWithScore]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    tool = FunctionTool.from_defaults(by_model, name="search", description="Searches.")

    async def ask() -> None:
        for _ in range(3):
            await agent(tool, WORDS).run(user_msg=FIRST)

    with retrieval_scoring(GOLD, k=2, match_method="id", metrics="hit_rate") as scoring:
        asyncio.run(ask())
    assert (scoring.counters.scored, scoring.result()["hit_rate@2"]) == (3, 1 / 3)


def test_what_was_seen_instead_of_a_retrieval_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tool = FunctionTool.from_defaults(texts_of, name="search", description="Searches.")

    async def ask() -> None:
        for _ in range(2):
            await agent(tool, WORDS).run(user_msg=FIRST)

    with caplog.at_level(logging.WARNING), retrieval_scoring(GOLD) as scoring:
        asyncio.run(ask())
    (problem,) = scoring.problems
    assert [re.sub("[26] root", "N root", problem)] == [  # of older releases each step is a root span
        (
            "no retrieval was seen: N root spans with 2 calls of tools and 0 of retrievers: the tool 'search' "
            "returned a mapping, 2 times. Retrievers are seen, and whatever returns nodes. Say how the documents of "
            'another tool are read, from_tools={"search": function}; or mark a function that searches, '
            "`@scorer.retrieval`."
        )
    ]
    assert len(caplog.records) == 1


def test_reading_files_is_no_retrieval() -> None:
    documents = [TextNode(text=text) for text in TEXTS.values()]
    with retrieval_scoring(GOLD) as scoring:
        IngestionPipeline(transformations=[SentenceSplitter()]).run(nodes=documents)
    assert scoring.counters.seen == 0


def test_from_tools_must_be_functions_by_name() -> None:
    with pytest.raises(InvalidInputError, match="`from_tools` must be a mapping"):
        retrieval_scoring(GOLD, from_tools=["search"])  # type: ignore[arg-type]
