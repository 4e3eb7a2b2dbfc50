"""A workflow of LlamaIndex whose step asks the vector store itself: no retriever, so the step's nodes are scored.

python -m examples.apps.llama_index_workflow
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from examples.apps.llama_index_parts import index
from examples.apps.shop import IN_OTHER_WORDS, NOTES, QUESTIONS, vector
from krag_eval_llama_index import retrieval_scoring  # krag_eval


class Found(Event):
    nodes: list[NodeWithScore]


def search(words: str) -> list[NodeWithScore]:
    query = VectorStoreQuery(query_embedding=vector(words), similarity_top_k=2)
    found = index.vector_store.query(query)
    pairs = zip(found.ids or (), found.similarities or (), strict=True)
    return [NodeWithScore(node=TextNode(id_=name, text=NOTES[name]), score=score) for name, score in pairs]


class RAG(Workflow):
    @step
    async def retrieve(self, ev: StartEvent) -> Found:
        return Found(nodes=search(IN_OTHER_WORDS[ev.question]))

    @step
    async def answer(self, ev: Found) -> StopEvent:
        return StopEvent(result=" ".join(node.get_content() for node in ev.nodes))


async def ask(question: str) -> str:
    return str(await RAG().run(question=question))


async def main() -> Any:
    with retrieval_scoring(QUESTIONS, k=2) as scoring:  # krag_eval
        for question in QUESTIONS:
            print(f"{question.question} -> {await ask(str(question.question))}")
    print(scoring.result())  # krag_eval
    return scoring


if __name__ == "__main__":
    asyncio.run(main())
