"""What krag has in `krag.retrievers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krag_eval.krag import load_class
from krag_eval.krag.document import KragDocument
from krag_eval.krag.tokenizers import KiwiTokenizer

__all__ = ["KiWiBM25RetrieverWithScore"]


def KiWiBM25RetrieverWithScore(  # noqa: N802 - krag's name
    documents: Sequence[Any], kiwi_tokenizer: KiwiTokenizer | None = None, k: int | None = None, threshold: float = 0.0
) -> Any:
    """Return a LangChain retriever that ranks documents by BM25. Needs langchain-community and rank-bm25.

    Args:
        documents: The documents to search.
        kiwi_tokenizer: What cuts texts into tokens; without one they are cut at white space.
        k: How many documents it returns at most, by default 4.
        threshold: Documents with this score or less are left out. The score is in the metadata, as `bm25_score`.
    """
    base: Any = load_class(
        "KiWiBM25RetrieverWithScore",
        "langchain-community rank-bm25",
        "langchain_community.retrievers:BM25Retriever",
        instead="use any other retriever",
    )

    def tokenize(text: str) -> list[str]:
        return text.split() if kiwi_tokenizer is None else [token.form for token in kiwi_tokenizer.tokenize(text)]

    class BM25RetrieverWithScore(base):  # type: ignore[misc]  # a class of the package that is installed
        threshold: float = 0.0

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[KragDocument]:
            scores = sorted(map(float, self.vectorizer.get_scores(tokenize(query))), reverse=True)
            found = super()._get_relevant_documents(query, run_manager=run_manager)
            copies = [one.model_copy(update={"metadata": {**one.metadata}}) for one in found]
            for one, score in zip(copies, scores, strict=False):
                one.metadata["bm25_score"] = score
            return [one for one in copies if one.metadata["bm25_score"] > self.threshold]

    retriever = BM25RetrieverWithScore.from_documents(documents, preprocess_func=tokenize, k=4 if k is None else k)
    retriever.threshold = threshold
    return retriever
