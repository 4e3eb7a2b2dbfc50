"""A corpus by id, by text and by document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.documents import Document
from krag_eval.shapes import as_id
from krag_eval.text import normalize_all


class Chunks:
    """The chunks of a corpus; a place is a number in `documents`.

    Args:
        documents: The chunks; one without an id or without a text is passed over.
        doc_key: The key of the metadata under which a chunk has the id of its document.

    Attributes:
        documents: The chunks that have an id and a text.
        texts: Their texts.
        forms: Their normalised texts.
        doc_ids: The ids of their documents, None where there is none.
        docs: The numbers of their documents, -1 where there is none.
    """

    def __init__(self, documents: Sequence[Document], doc_key: str) -> None:
        self.documents = [document for document in documents if document.id is not None and document.text]
        self.texts = [document.text or "" for document in self.documents]
        self.forms = normalize_all(self.texts)
        self.doc_ids = [as_id(document.metadata.get(doc_key)) for document in self.documents]
        self._numbers = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(self.doc_ids))}
        self.docs = self.doc_numbers(self.doc_ids)
        self._places = {document.id: place for place, document in enumerate(self.documents)}
        self._with_form: dict[str, list[int]] = defaultdict(list)
        for place, form in enumerate(self.forms):
            self._with_form[form].append(place)

    def doc_numbers(self, doc_ids: Sequence[str | None]) -> IntArray:
        """The numbers of documents, -1 where the corpus has no chunk of one."""
        return np.array([-1 if doc_id is None else self._numbers.get(doc_id, -1) for doc_id in doc_ids], np.int64)

    @property
    def has_documents(self) -> bool:
        """Whether any chunk names its document."""
        return bool(self._numbers.keys() - {None})

    def has_document(self, doc_id: str) -> bool:
        """Whether a chunk is of this document, or is this document."""
        return doc_id in self._numbers or doc_id in self._places

    def place_of(self, chunk_id: str | None) -> int:
        """The place of the chunk with this id, -1 where there is none."""
        return -1 if chunk_id is None else self._places.get(chunk_id, -1)

    def with_form(self, form: str) -> IntArray:
        """The places of the chunks with this normalised text."""
        return np.array(self._with_form.get(form, []), dtype=np.int64)
