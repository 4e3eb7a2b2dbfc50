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
        text = document["text"]
        ends = [match.span() for match in _SENTENCE_END.finditer(text)]
        spans = [
            (start, end)
            for start, end in zip([0, *(b for _, b in ends)], [*(a for a, _ in ends), len(text)], strict=True)
            if start < end
        ]
        for number, first in enumerate(range(0, len(spans), sentences)):
            chunks.append(
                {
                    "id": f"{document['id']}#{number}",
                    "text": text[spans[first][0] : spans[min(first + sentences, len(spans)) - 1][1]],
                    "metadata": {**document.get("metadata", {}), "doc_id": document["id"]},
                }
            )
    return chunks
