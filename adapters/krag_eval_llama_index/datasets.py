"""Read LlamaIndex's question-and-context datasets as evaluation sets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, read_evalset
from krag_eval.toolkit import as_id, refuse

_PARTS = ("queries", "corpus", "relevant_docs")


def read_llama_index_qa(source: str | os.PathLike[str] | Mapping[str, Any] | object) -> EvalSet:
    """Read a dataset of queries, texts of chunks, and the ids of the chunks that answer each query.

    `EmbeddingQAFinetuneDataset.save_json` of llama-index-finetuning writes such datasets, and
    `generate_question_context_pairs` returns them.

    Args:
        source: The path of the JSON file, its parsed content, or an object with the same attributes, such as an
            `EmbeddingQAFinetuneDataset`.

    Returns:
        The questions, with ids and texts of their gold chunks. The ids are node ids: they match the nodes of the index
        that the questions were made from, but not those of a rebuilt index.

    Raises:
        InvalidInputError: It is not such a dataset, or the file cannot be read.

    >>> qa = {"queries": {"q": "When?"}, "corpus": {"n1": "At nine.", "n2": ""}, "relevant_docs": {"q": ["n1"]}}
    >>> read_llama_index_qa(qa)["q"].gold
    (Document(id='n1', text='At nine.', grade=None, score=None, metadata={}),)
    """
    if isinstance(source, (str, os.PathLike)):
        return read_evalset(source, format="llama_index")
    queries, corpus, relevant = (_part(source, name) for name in _PARTS)
    if unknown := [query_id for query_id in relevant if query_id not in queries]:
        raise InvalidInputError(f"`relevant_docs` has {unknown[0]!r:.60}, which `queries` does not have. Add its text.")
    evalset = EvalSet(_row(query_id, text, relevant.get(query_id), corpus) for query_id, text in queries.items())
    without_text = sum(getattr(document, "text", "") is None for question in evalset for document in question.gold)
    if without_text:
        warnings.warn(
            f"{without_text} relevant chunks are not in `corpus`. They are kept without text.",
            KragEvalWarning,
            stacklevel=2,
        )
    return evalset


def _part(source: object, name: str) -> Mapping[Any, Any]:
    part = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    if not isinstance(part, Mapping):
        raise InvalidInputError(
            f"This is not a LlamaIndex dataset: `{name}` is {part!r:.60}. It must look like "
            '{"queries": {id: text}, "corpus": {id: text}, "relevant_docs": {query id: [ids]}}.'
        )
    return {as_id(key) or key: value for key, value in part.items()}


def _row(query_id: object, text: object, ids: object, corpus: Mapping[Any, Any]) -> dict[str, Any]:
    if not isinstance(ids, (list, tuple)):
        cure = "Use [] for a query that has no relevant chunk."
        refuse(f"relevant_docs[{query_id!r:.60}]", "a list of ids", ids, cure)
    gold = [{"id": doc_id, "text": corpus.get(as_id(doc_id) or doc_id)} for doc_id in ids]
    return {"id": query_id, "question": text, "gold": gold}
