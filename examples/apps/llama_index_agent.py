"""LlamaIndex's FunctionAgent with a search tool: the model rewrites the question, and the gold is found all the same.

python -m examples.apps.llama_index_agent
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent

from examples.apps.llama_index_parts import index, llm
from examples.apps.shop import QUESTIONS
from krag_eval_llama_index import retrieval_scoring  # krag_eval

retriever = index.as_retriever(similarity_top_k=2)


async def search(query: str) -> str:
    """Find notes about the shop."""
    return "\n\n".join(node.get_content() for node in await retriever.aretrieve(query))


agent: Any = FunctionAgent(tools=[search], llm=llm, system_prompt="Answer from the notes.")


async def ask(question: str) -> str:
    return str(await agent.run(user_msg=question))


async def main() -> Any:
    with retrieval_scoring(QUESTIONS, k=2) as scoring:  # krag_eval
        for question in QUESTIONS:
            print(f"{question.question} -> {await ask(str(question.question))}")
    print(scoring.result())  # krag_eval
    return scoring


if __name__ == "__main__":
    asyncio.run(main())
