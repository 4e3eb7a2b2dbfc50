"""What is wrong with documents only under the keys by which they will be scored."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval.documents import Document, as_document
from krag_eval.errors import InvalidInputError


def check_documents(
    place: str,
    name: str,
    documents: Sequence[Document],
    *,
    id_key: str | None,
    grade_key: str = "relevance",
    is_gold: bool = False,
) -> None:
    """Refuse documents that have neither an id nor a text under these keys, by their place in the file.

    Raises:
        InvalidInputError: There is such a document, or a grade that is none.
    """
    for number, document in enumerate(documents):
        # The rest was checked when the document was read; most documents have an id or a text and no grade there.
        if (document.id is not None or document.text is not None) and not (is_gold and grade_key in document.metadata):
            continue
        try:
            as_document(document, id_key=id_key, grade_key=grade_key, is_gold=is_gold)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: `{name}[{number}]`: {error}") from None
