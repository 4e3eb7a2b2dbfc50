"""A row of a corpus as a document: where its id, its text and everything else may stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.shapes import as_id

ID_KEYS = ("id", "_id", "chunk_id", "docid", "docno", "doc_id")
TEXT_KEYS = ("text", "contents", "content", "page_content", "passage")


def read_passage(row: Mapping[str, Any], *, prepend_title: bool = False) -> Document:
    """The document of a row: the first of `ID_KEYS` and of `TEXT_KEYS` that it has; the rest is metadata.

    Args:
        row: The row.
        prepend_title: Put `title` before the text, as retrievers of BEIR corpora index it; it stays in the metadata.

    Raises:
        InvalidInputError: It has neither an id nor a text.

    >>> read_passage({"_id": 7, "title": "Hours", "text": "Open from 9 to 18."}, prepend_title=True)
    Document(id='7', text='Hours Open from 9 to 18.', grade=None, score=None, metadata={'title': 'Hours'})
    """
    id_key = next((key for key in ID_KEYS if as_id(row.get(key)) is not None), None)
    text_key = next((key for key in TEXT_KEYS if isinstance(row.get(key), str)), None)
    kept = row.get("metadata")
    metadata = dict(kept) if isinstance(kept, Mapping) else {}
    if id_key is None and as_id(metadata.get("id")) is not None:
        id_key, row = "id", {**row, "id": metadata["id"]}
    if id_key is None and not (text_key and row[text_key]):
        raise InvalidInputError(
            f"has neither an id ({', '.join(ID_KEYS)}) nor a text ({', '.join(TEXT_KEYS)}). A document needs one."
        )
    # A document id also says which document a chunk is of, so it stays where it is looked for.
    used = {text_key, "metadata" if isinstance(kept, Mapping) else None, id_key if id_key != "doc_id" else None}
    metadata = {key: value for key, value in row.items() if key not in used and value not in (None, "")} | metadata
    text = row[text_key] if text_key else None
    if prepend_title and isinstance(row.get("title"), str):
        text = " ".join(part for part in (row["title"], text) if part)
    return Document(id=None if id_key is None else as_id(row[id_key]), text=text, metadata=metadata)


def passage_row(document: Document, doc_id: str) -> dict[str, Any]:
    """A document as a row of a BEIR corpus."""
    metadata = dict(document.metadata)
    kept = metadata.get("title")
    title = metadata.pop("title") if isinstance(kept, str) and kept else ""
    row: dict[str, Any] = {"_id": doc_id, "title": title, "text": document.text or ""}
    return row | ({"metadata": metadata} if metadata else {})
