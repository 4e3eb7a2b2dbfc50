"""A vector store and a scripted model for LangChain: put your own in their place."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.vectorstores import InMemoryVectorStore

from examples.apps.shop import IN_OTHER_WORDS, NOTES, vector


class LetterPairs(Embeddings):
    """Embeds texts by their pairs of letters."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return list(map(vector, texts))

    def embed_query(self, text: str) -> list[float]:
        return vector(text)


class ScriptedModel(BaseChatModel):
    """Calls the tool `search` in other words than the question, then repeats what it was told."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        message = AIMessage(str(last.content))
        if not isinstance(last, ToolMessage):
            words = IN_OTHER_WORDS.get(str(last.content), str(last.content))
            message = AIMessage("", tool_calls=[{"name": "search", "args": {"query": words}, "id": "call-1"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


model = ScriptedModel()
vector_store = InMemoryVectorStore(LetterPairs())
vector_store.add_documents([Document(text, id=name) for name, text in NOTES.items()])
