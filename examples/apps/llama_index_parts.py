"""An index and a scripted model for LlamaIndex: put your own in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import TextNode

from examples.apps.shop import IN_OTHER_WORDS, NOTES, vector


class LetterPairs(BaseEmbedding):
    """Embeds texts by their pairs of letters."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)


def scripted(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Call the tool `search` in other words than the question, then repeat what it returned."""
    last = messages[-1]
    if last.role == MessageRole.TOOL:
        return ChatMessage(role="assistant", content=str(last.content))
    words = {"query": IN_OTHER_WORDS[str(last.content)]}
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs=words)]
    )


llm = MockFunctionCallingLLM(response_generator=scripted)
index = VectorStoreIndex(
    [TextNode(id_=name, text=text) for name, text in NOTES.items()], embed_model=LetterPairs(model_name="pairs")
)
