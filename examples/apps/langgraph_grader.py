"""LangGraph's agentic RAG: a retriever tool, a grader, and a question that is rewritten when nothing fits.

Both searches of a question are one session.

python -m examples.apps.langgraph_grader
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from examples.apps.langchain_parts import model, vector_store
from examples.apps.shop import QUESTIONS
from krag_eval_langchain import RetrievalScoringHandler  # krag_eval

scoring = RetrievalScoringHandler(QUESTIONS, k=2, keep_documents=True)  # krag_eval
retriever = vector_store.as_retriever(search_kwargs={"k": 2})


@tool
def search(query: str) -> str:
    """Find notes about the shop."""
    return "\n\n".join(document.page_content for document in retriever.invoke(query))


def query_or_respond(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.bind_tools([search]).invoke(state["messages"])]}


def grade(state: MessagesState) -> str:
    """In the place of a model that grades: what is about gifts does not help."""
    tried = sum(message.type == "tool" for message in state["messages"])
    return "rewrite" if "Gift" in str(state["messages"][-1].content) and tried < 2 else "answer"


def rewrite(_: MessagesState) -> dict[str, Any]:
    return {"messages": [HumanMessage("parcels to the islands")]}


def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


graph: Any = StateGraph(MessagesState)
graph.add_node("query_or_respond", query_or_respond)
graph.add_node("rewrite", rewrite)
graph.add_node("answer", answer)
graph.add_node("retrieve", ToolNode([search]))
graph.add_edge(START, "query_or_respond")
graph.add_conditional_edges("query_or_respond", tools_condition, {"tools": "retrieve", END: END})
graph.add_conditional_edges("retrieve", grade, ["rewrite", "answer"])
graph.add_edge("rewrite", "query_or_respond")
graph.add_edge("answer", END)
app = graph.compile()


def ask(question: str) -> str:
    config: Any = {"callbacks": [scoring]}  # krag_eval
    state: Any = app.invoke({"messages": [HumanMessage(question)]}, config)
    return str(state["messages"][-1].content)


def main() -> None:
    for question in QUESTIONS:
        print(f"{question.question} -> {ask(str(question.question))}")
    print(scoring.session_result())


if __name__ == "__main__":
    main()
