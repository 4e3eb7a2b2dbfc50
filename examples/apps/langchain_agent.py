"""LangChain's RAG agent: a tool over a vector store, without a retriever. Three lines score what the tool finds.

python -m examples.apps.langchain_agent
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from examples.apps.langchain_parts import model, vector_store
from examples.apps.shop import QUESTIONS
from krag_eval_langchain import RetrievalScoringHandler  # krag_eval

scoring = RetrievalScoringHandler(QUESTIONS, k=2)  # krag_eval


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Find notes about the shop."""
    found = vector_store.similarity_search(query, k=2)
    return "\n\n".join(document.page_content for document in found), found


agent = create_agent(model, [search], system_prompt="Answer from the notes.")


def ask(question: str) -> str:
    config: Any = {"callbacks": [scoring]}  # krag_eval
    answer = agent.invoke({"messages": [HumanMessage(question)]}, config)
    return str(answer["messages"][-1].content)


def main() -> None:
    for question in QUESTIONS:
        print(f"{question.question} -> {ask(str(question.question))}")
    print(scoring.result())


if __name__ == "__main__":
    main()
