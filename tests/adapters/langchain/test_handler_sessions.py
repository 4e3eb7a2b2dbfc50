"""Sessions of agents and graphs: the searches under one root run, with their stages, live and offline."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any, cast

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import create_retriever_tool

from krag_eval import EvalSet, InvalidInputError, evaluate_run, read_run, run_agent, write_run
from krag_eval.evaluation.sessions import SESSION_METRICS
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import RetrievalSink, ScoredSession
from tests.adapters.langchain.shop import (
    QUESTIONS,
    AsyncShop,
    BrokenShop,
    Shop,
    chain_of,
    gold_of,
    ranking,
)

agents = pytest.importorskip("langchain.agents")
classic = pytest.importorskip("langchain_classic.retrievers")

EVALSET = EvalSet(
    [{"id": f"q{i}", "question": QUESTIONS[i], "gold_chunk_ids": gold_of(i)} for i in range(200)], name="shop"
)


class ScriptedModel(GenericFakeChatModel):
    """A stand-in for a chat model: it asks for searches one after another, as its script says, and then answers."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def agent(shop: BaseRetriever, *searches: str) -> Any:
    calls = [[{"name": "search", "args": {"query": words}, "id": f"call-{i}"}] for i, words in enumerate(searches)]
    script = [*(AIMessage(content="", tool_calls=cast(Any, one)) for one in calls), AIMessage(content="Three days.")]
    return agents.create_agent(ScriptedModel(messages=iter(script)), [create_retriever_tool(shop, "search", "Find.")])


def graph(shop: BaseRetriever, *searches: str) -> Any:
    """A LangGraph graph whose second node is a subgraph of its own, each of which searches."""
    from langgraph.graph import END, START, StateGraph

    def node(words: str) -> Any:
        async def search(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
            return {"found": [d.id for d in await shop.ainvoke(words, config)]}

        return search

    state: Any = dict
    inner = StateGraph(state).add_node("again", node(searches[1]))
    subgraph = inner.add_edge(START, "again").add_edge("again", END).compile()
    outer = StateGraph(state).add_node("first", node(searches[0])).add_node("inner", subgraph)
    return outer.add_edge(START, "first").add_edge("first", "inner").add_edge("inner", END).compile()


class Told(RetrievalSink):
    """Remembers sessions."""

    def __init__(self) -> None:
        self.sessions: list[ScoredSession] = []

    def on_session_scored(self, session: ScoredSession, targets: Any) -> None:
        self.sessions.append(session)


def scoring(**options: Any) -> RetrievalScoringHandler:
    return RetrievalScoringHandler(EVALSET, **{"k": (5, 10), "keep_documents": True, **options})


def asked(evalset: EvalSet, run: Any) -> list[Any]:
    return [question for question in evalset if question.id in run.rows]


def words_of(number: int) -> tuple[str, str]:
    return f"{number} in other words", QUESTIONS[number]


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_the_searches_of_an_agent_are_one_session(is_async: bool, tmp_path: Any) -> None:
    told = Told()
    handler = scoring(sinks=[told])
    for number in (3, 4):
        one = agent(AsyncShop() if is_async else Shop(), *words_of(number))
        question = {"messages": [("user", QUESTIONS[number])]}
        config = {"callbacks": [handler]}
        asyncio.run(one.ainvoke(question, config)) if is_async else one.invoke(question, config)
    run = handler.sessions()
    assert list(run.rows) == ["q3", "q4"]
    for number, row in zip((3, 4), run.rows.values(), strict=True):
        assert [(s.query, s.tool, s.error) for s in row.searches] == [(w, "search", None) for w in words_of(number)]
        expected = [[d.metadata["id"] for d in ranking(words)] for words in words_of(number)]
        assert [[d.id for d in s.retrieved] for s in row.searches] == expected
    result = handler.session_result()
    offline_ = evaluate_run(asked(EVALSET, run), run, k=(5, 10))
    assert result.to_dict() == offline_.to_dict()
    assert "session_recall@5" in result.to_dict()
    assert result.signature == offline_.signature
    for scored, query in zip(told.sessions, offline_.per_query, strict=True):
        assert dict(scored.scores) == dict(query.values)
    write_run(run, tmp_path / "live.jsonl")
    assert evaluate_run(asked(EVALSET, run), read_run(tmp_path / "live.jsonl"), k=(5, 10)).to_dict() == result.to_dict()


def test_sessions_of_one_search_are_scored_like_retrievals() -> None:
    handler = scoring(metrics=["recall", "ndcg", "mrr"])
    for number in range(20):
        shop = BrokenShop() if number == 7 else Shop()
        chain: Any = chain_of(shop) if number % 2 else shop
        with contextlib.suppress(TimeoutError):
            chain.invoke(QUESTIONS[number], {"callbacks": [handler]})
    plain, sessions = handler.result(), handler.session_result()
    assert sessions.to_dict().items() >= plain.to_dict().items()
    assert sessions.signature == plain.signature
    for one, row in zip(sessions.per_query, plain.per_query, strict=True):
        assert one.values.items() >= row.values.items()
        assert one.values["session_recall@5"] == row.values["recall@5"]
    run = handler.sessions()
    metrics = ["recall", "ndcg", "mrr", *SESSION_METRICS, "seconds_to_evidence"]
    again = evaluate_run(asked(EVALSET, run), run, k=(5, 10), metrics=metrics)
    assert again.to_dict() == sessions.to_dict()
    assert list(run.errors) == ["q7"]
    assert handler.session_counters.seen == handler.session_counters.scored == 20


def test_the_words_of_the_question_name_the_gold_or_the_id_or_nothing() -> None:
    handler = scoring()
    question = {"messages": [("user", "never heard")]}
    agent(Shop(), "in other words").invoke(question, {"callbacks": [handler]})
    agent(Shop(), "in other words").invoke(question, {"callbacks": [handler], "metadata": {"krag_query_id": "q9"}})
    agent(Shop(), QUESTIONS[5], "x").invoke(question, {"callbacks": [handler]})
    assert list(handler.sessions().rows) == ["q9", "q5"]
    assert (handler.session_counters.no_gold, handler.session_counters.scored) == (1, 2)
    agent(Shop(), "again").invoke(question, {"callbacks": [handler], "metadata": {"krag_query_id": "q9"}})
    assert list(handler.sessions().rows) == ["q9", "q5", "q9 (2)"]
    assert handler.session_result().n_queries == 3


class Child(Shop):
    """Another retriever."""


def test_retrievers_inside_a_retriever_are_stages_of_its_search() -> None:
    from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MergerRetriever
    from langchain_core.documents.compressor import BaseDocumentCompressor

    class Reverse(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            for document in documents:
                document.page_content += "!"  # what the stage below returned does not change
            return list(reversed(documents))[:2]

    fused = EnsembleRetriever(retrievers=[Shop(), Child(), Shop()], weights=[1, 1, 1])
    outer = ContextualCompressionRetriever(base_compressor=Reverse(), base_retriever=fused)
    handler = scoring()
    outer.invoke(QUESTIONS[3], {"callbacks": [handler]})
    asyncio.run(MergerRetriever(retrievers=[Shop(), Child()]).ainvoke(QUESTIONS[4], {"callbacks": [handler]}))
    rows = handler.sessions().rows
    (search,) = rows["q3"].searches
    assert [(stage.name, stage.inputs) for stage in search.stages] == [
        ("Shop", ()),
        ("Child", ()),
        ("Shop (2)", ()),
        ("EnsembleRetriever", ("Shop", "Child", "Shop (2)")),
        ("ContextualCompressionRetriever", ("EnsembleRetriever",)),
    ]
    assert [d.text for d in search.stages[0].retrieved] == [d.page_content for d in ranking(QUESTIONS[3])]
    assert not any((d.text or "").endswith("!") for d in search.stages[3].retrieved)
    assert all((d.text or "").endswith("!") for d in search.retrieved)
    assert len(search.retrieved) == 2
    (merged,) = rows["q4"].searches
    assert [stage.inputs for stage in merged.stages] == [(), (), ("Shop", "Child")]
    assert handler.counters.seen == handler.scored == 2


def test_all_retrievers_scored_still_make_one_search() -> None:
    from langchain_classic.retrievers import MergerRetriever

    handler = scoring(only_outermost=False)
    MergerRetriever(retrievers=[Shop(), Child()]).invoke(QUESTIONS[4], {"callbacks": [handler]})
    (row,) = handler.sessions().rows.values()
    assert handler.scored == 3
    assert len(row.searches) == 1
    assert len(row.searches[0].stages) == 3


def test_a_search_that_fails_is_in_its_session_and_the_session_goes_on() -> None:
    handler = scoring()

    def search(question: str, config: RunnableConfig) -> str:
        try:
            BrokenShop().invoke("first", config)
        except TimeoutError:
            Shop().invoke(question, config)
        return "an answer"

    RunnableLambda(search).invoke(QUESTIONS[3], {"callbacks": [handler]})
    (row,) = handler.sessions().rows.values()
    assert [(s.query, s.error) for s in row.searches] == [
        ("first", "TimeoutError: the index sleeps; password=[key]"),
        (QUESTIONS[3], None),
    ]
    assert row.error is None


def test_what_replaces_a_failure_is_the_search() -> None:
    handler = scoring()
    shop = BrokenShop().with_fallbacks([Shop()])
    (RunnableLambda(lambda question: question) | shop).invoke(QUESTIONS[3], {"callbacks": [handler]})
    (row,) = handler.sessions().rows.values()
    assert [(s.tool, s.error) for s in row.searches] == [("Shop", None)]
    assert handler.session_counters.seen == 1


def test_a_search_that_ends_after_its_root_counts_as_not_ended() -> None:
    handler, go, ready = scoring(), threading.Event(), threading.Event()

    class Slow(Shop):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            ready.set()
            assert go.wait(10)
            return ranking(query)

    threads = []

    def search(question: str, config: RunnableConfig) -> str:
        threads.append(threading.Thread(target=Slow().invoke, args=("slow", config)))
        threads[0].start()
        assert ready.wait(10)
        Shop().invoke(question, config)
        return "an answer"

    RunnableLambda(search).invoke(QUESTIONS[3], {"callbacks": [handler]})
    go.set()
    threads[0].join()
    (row,) = handler.sessions().rows.values()
    assert [(s.query, len(s.retrieved) > 0) for s in row.searches] == [("slow", False), (QUESTIONS[3], True)]
    assert row.searches[0].error == "the search had not ended when its session ended"
    assert handler.session_counters.errors == 1
    assert any("ended before its searches" in problem for problem in handler.problems)
    assert handler.counters.seen == 2


@pytest.mark.full
def test_sessions_that_never_end_are_dropped_and_named() -> None:
    handler = scoring(max_pending=10)

    def search(question: str, config: RunnableConfig) -> None:
        for _ in range(15):
            Shop().invoke(question, config)
            handler.flush(10)

    RunnableLambda(search).invoke(QUESTIONS[3], {"callbacks": [handler]})
    Shop().invoke(QUESTIONS[4], {"callbacks": [handler]})
    assert list(handler.sessions().rows) == ["q4"]
    assert (handler.session_counters.seen, handler.session_counters.dropped) == (2, 1)
    assert any("never ended" in problem for problem in handler.problems)
    assert handler.scored == 16
    assert not handler._sessions._open


def test_searches_for_several_questions_are_no_session() -> None:
    handler = scoring()

    def search(_: str, config: RunnableConfig) -> None:
        for number in (3, 4):
            Shop().invoke(QUESTIONS[number], {**config, "metadata": {"krag_query_id": f"q{number}"}})

    RunnableLambda(search).invoke("all", {"callbacks": [handler]})
    assert not handler.sessions().rows
    assert handler.session_counters.unreadable == 1
    assert any("several questions: q3, q4" in problem for problem in handler.problems)
    assert handler.scored == 2


def test_sessions_that_are_not_kept_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="keep_documents=True"):
        RetrievalScoringHandler(EVALSET).sessions()


def run_concurrently(n: int, *, at_once: int = 64) -> None:
    told = Told()
    handler = scoring(sinks=[told])

    async def all_of_them() -> None:
        gate = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            config = {"callbacks": [handler], "metadata": {"krag_query_id": f"q{number % 200}"}}
            make = graph if number % 2 else agent
            async with gate:
                await make(AsyncShop(), f"{number} first", f"{number} second").ainvoke(
                    {"messages": [("user", "?")]}, config
                )

        await asyncio.gather(*map(one, range(n)))

    asyncio.run(all_of_them())
    assert handler.flush(60)
    searched = sorted(tuple(search.query for search in session.row.searches) for session in told.sessions)
    assert searched == sorted((f"{number} first", f"{number} second") for number in range(n))
    assert len({session.session_id for session in told.sessions}) == n
    for session in told.sessions:
        number = int((session.row.searches[0].query or "").split()[0])
        assert session.query_id == f"q{number % 200}"
        assert [[d.id for d in s.retrieved] for s in session.row.searches] == [
            [d.metadata["id"] for d in ranking(s.query or "")] for s in session.row.searches
        ]
    assert handler.session_counters.scored == n
    assert handler.counters.seen == 2 * n


@pytest.mark.full
def test_agents_and_graphs_at_once_are_each_a_session() -> None:
    run_concurrently(40)


@pytest.mark.full
def test_a_thousand_agents_and_graphs_at_once_are_each_a_session() -> None:
    run_concurrently(1_000)


@pytest.mark.sample(2)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_run_agent_records_what_a_traced_agent_searches(is_async: bool) -> None:
    calls: list[str] = []

    def make(question: str) -> Any:
        calls.append(question)
        if len(calls) == 2:
            raise ConnectionError("the model is busy")
        return agent(AsyncShop() if is_async else Shop(), f"{question} in other words", question)

    def ask(question: str, config: Any) -> Any:
        return make(question).invoke({"messages": [("user", "?")]}, config)["messages"][-1].content

    async def aask(question: str, config: Any) -> Any:
        return (await make(question).ainvoke({"messages": [("user", "?")]}, config))["messages"][-1].content

    some = EvalSet([EVALSET[f"q{i}"] for i in range(20)])
    run = run_agent(some, aask if is_async else ask, handler=RetrievalScoringHandler, k=2, backoff=0, progress=False)
    assert len(calls) == 21
    for number, row in enumerate(run.rows.values()):
        words = [f"{QUESTIONS[number]} in other words", QUESTIONS[number]]
        assert [(s.query, s.tool) for s in row.searches] == [(one, "search") for one in words]
        assert [[d.id for d in s.retrieved] for s in row.searches] == [
            [d.metadata["id"] for d in ranking(one)][:2] for one in words
        ]
        assert row.further == {"answer": "Three days."}
