"""A graph of LangGraph whose node searches by hand: `similarity_search` itself tells no callback anything.

python -m examples.apps.langgraph_node
"""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.documents import Document
from langgraph.graph import START, StateGraph

from examples.apps.langchain_parts import vector_store
from examples.apps.shop import IN_OTHER_WORDS, QUESTIONS
from krag_eval_langchain import RetrievalScoringHandler  # krag_eval

scoring = RetrievalScoringHandler(QUESTIONS, k=2)  # krag_eval


class State(TypedDict, total=False):
    question: str
    context: list[Document]
    answer: str


def retrieve(state: State) -> State:
    return {"context": vector_store.similarity_search(IN_OTHER_WORDS[state["question"]], k=2)}


def generate(state: State) -> State:
    return {"answer": " ".join(document.page_content for document in state["context"])}


graph = StateGraph(State).add_sequence([retrieve, generate])
graph.add_edge(START, "retrieve")
app = graph.compile()


def ask(question: str) -> str:
    config: Any = {"callbacks": [scoring]}  # krag_eval
    return str(app.invoke({"question": question}, config)["answer"])


def main() -> None:
    for question in QUESTIONS:
        print(f"{question.question} -> {ask(str(question.question))}")
    print(scoring.result())


if __name__ == "__main__":
    main()
