"""Nodes as documents that know which document they were cut from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from krag_eval import Document

# Where the runs of `run_retriever` have it, and `evaluate_run(level="document")` looks for it.
DOC_KEY = "doc_id"


def as_documents(nodes: Iterable[Any]) -> list[Any]:
    """The nodes as documents, with the id of their source as `doc_id` unless their metadata have one.

    What cannot be read as a node stays what it is: whoever reads it next says what is wrong with it.
    """
    return [_as_document(node) for node in nodes]


def _as_document(node: Any) -> Any:
    try:
        inner = node.node
        metadata, source = dict(inner.metadata), inner.ref_doc_id
        if source is not None:
            metadata.setdefault(DOC_KEY, source)
        # Read here and not by `as_document`: asking a node for what it does not have is slow.
        return Document(id=inner.node_id, text=inner.get_content(), score=node.score, metadata=metadata)
    except Exception:  # noqa: BLE001 - a node may raise anything when it is asked for its text
        return node
