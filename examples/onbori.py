"""The retrievers of the bundled collection, under names that `krag-eval run` and `krag-eval bench` can be given.

`make demo-e2e` benches one of them, with the stand-in of `stand_in_model.py` in the place of a language model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krag_eval.cli.demo_data import load_collection
from krag_eval.retrievers.local import build_retrievers

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
