"""MCP tools: made by hand in the shapes that the protocol and LangChain's adapters give, which are not installed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool

from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, offline, ranking
from tests.adapters.langchain.test_handler_agents import Scripted

agents = pytest.importorskip("langchain.agents")
QUESTION = QUESTIONS[4]
ROWS = [{"id": one.metadata["id"], "text": one.page_content} for one in ranking(QUESTION)]
SETTINGS: Any = {"k": (5, 10), "match_method": "id"}


def block(value: object) -> dict[str, Any]:
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False), "id": "lc_1"}


STRUCTURED = {"structured_content": {"results": ROWS}}


@pytest.mark.parametrize(
    ("content", "artifact"),
    [
        pytest.param([block({"results": ROWS})], None, id="one text"),
        pytest.param([block({"results": ROWS})], {"structured_content": {"results": ROWS}}, id="structured"),
        pytest.param([block("see the artifact")], STRUCTURED, id="the text says less"),
        pytest.param([block({"results": ROWS})], {"structured_content": None, "_meta": {"n": 1}}, id="only remarks"),
        pytest.param(json.dumps({"results": ROWS}), None, id="a plain text"),
        pytest.param("", {"content": [block({"results": ROWS})], "isError": False}, id="a result of the protocol"),
        pytest.param("", SimpleNamespace(structuredContent={"results": ROWS}, content=[]), id="its object"),
    ],
)
def test_an_agent_with_an_mcp_tool(content: Any, artifact: Any) -> None:
    def call(query: str) -> tuple[Any, Any]:
        return content, artifact

    search = StructuredTool.from_function(
        call, name="search", description="Searches.", response_format="content_and_artifact"
    )
    handler = RetrievalScoringHandler(GOLD, **SETTINGS, from_tools={"search": lambda found: found["results"]})
    asked = [{"name": "search", "args": {"query": "in other words"}, "id": "call-1"}]
    model = Scripted(messages=iter([AIMessage("", tool_calls=asked), AIMessage("In three days.")]))
    agents.create_agent(model, [search]).invoke({"messages": [HumanMessage(QUESTION)]}, {"callbacks": [handler]})
    assert dict(handler.result()) == dict(offline([4]))
    assert (handler.scored, handler.no_gold, handler.errors) == (1, 0, 0)


def test_each_text_may_be_a_document() -> None:
    def call(query: str) -> tuple[Any, Any]:
        return list(map(block, ROWS)), None

    search = StructuredTool.from_function(
        call, name="search", description="Searches.", response_format="content_and_artifact"
    )
    handler = RetrievalScoringHandler(GOLD, **SETTINGS, from_tools={"search": list})
    search.invoke(
        {"name": "search", "args": {"query": QUESTION}, "id": "1", "type": "tool_call"}, {"callbacks": [handler]}
    )
    assert dict(handler.result()) == dict(offline([4]))
