"""The retrievers of the bundled collection, under names that `krag-eval run` and `krag-eval bench` can be given.

`make demo-e2e` benches one of them with a small language model. Run as a program, this prints short sentences of the
English notes as chunks, about which even a small model writes a question now and then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers

Retriever = Callable[[str], list[dict[str, Any]]]
DEPTH = 20


def _retriever(name: str) -> Retriever:
    documents, _ = load_collection()
    search = build_retrievers(documents)[name]
    return lambda question: search([question], DEPTH)[0]


def bm25() -> Retriever:
    """BM25 over words."""
    return _retriever("bm25 words")


def hybrid() -> Retriever:
    """Reciprocal rank fusion of BM25 over pairs of characters and sentence embeddings."""
    return _retriever("hybrid (RRF)")


def sentences() -> Iterator[dict[str, str]]:
    """Yield the short sentences of the English notes, as chunks."""
    documents, _ = load_collection()
    for document in documents:
        if document["metadata"]["language"] == "en":
            for n, sentence in enumerate(re.split(r"(?<=[.!?])\s+", document["text"]), 1):
                if 30 < len(sentence) < 110:
                    yield {"id": f"{document['id']}.{n}", "text": sentence}


if __name__ == "__main__":
    for sentence in sentences():
        print(json.dumps(sentence))
