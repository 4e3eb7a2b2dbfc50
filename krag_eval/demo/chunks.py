"""Notes cut into chunks, as an index would hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def chunk(documents: Sequence[Mapping[str, Any]], sentences: int = 2) -> list[dict[str, Any]]:
    """Cut each note into pieces of a few sentences; a gold passage that crosses a cut is split with it.

    Args:
        documents: Rows of `load_collection`.
        sentences: Sentences of a piece.

    Returns:
        `{"id", "text", "metadata"}`, the metadata with the note's id under `doc_id`.

    >>> [c["text"] for c in chunk([{"id": "d", "text": "One. Two! Three?"}])]
    ['One. Two!', 'Three?']
    """
    chunks = []
    for document in documents:
        parts = [part for part in _SENTENCE_END.split(document["text"]) if part]
        joint = "" if "。" in document["text"] else " "
        for number, start in enumerate(range(0, len(parts), sentences)):
            chunks.append(
                {
                    "id": f"{document['id']}#{number}",
                    "text": joint.join(parts[start : start + sentences]),
                    "metadata": {**document.get("metadata", {}), "doc_id": document["id"]},
                }
            )
    return chunks
