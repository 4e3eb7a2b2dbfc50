"""What is labelled for each question: what was retrieved, what a second retriever finds, and a few others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krag_eval import Document, MissingDependencyError, as_document
from krag_eval.toolkit import FloatArray, IntArray, load
from krag_eval_labels.estimation import inclusion_probabilities
from krag_eval_labels.report import plain


def draw_outside(n: int, most: int, seed: int) -> tuple[IntArray, FloatArray]:
    """Draw documents outside of the pool, with their probabilities; those near the top of the ranking more often.

    Args:
        n: How many documents there are, best first.
        most: How many are drawn.
        seed: Of the draw.
    """
    if not n:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    p = inclusion_probabilities(1 / np.sqrt(np.arange(10, n + 10)), min(most, n))
    # Systematic sampling, Särndal, Swensson & Wretman (1992), 3.6.2: as many as wanted, each with its probability.
    ends = np.floor(np.cumsum(p) + np.random.Generator(np.random.PCG64(seed)).random() + 1e-9)
    drawn = np.flatnonzero(np.diff(np.append(0, ends)) > 0)
    return drawn, p[drawn]


def second_retriever(documents: Mapping[str, Document], depth: int) -> Callable[[str], list[str]] | str:
    """Return a function from a question to the ids that BM25 finds in these documents, or why there is none."""
    texts = [{"id": one.id, "text": one.text} for one in documents.values() if one.text]
    if not texts:
        return "there are no texts to search"
    try:
        search = load("krag_eval.retrievers", "local")("bm25", texts, depth)
    except MissingDependencyError as error:
        return str(error)
    return lambda question: [found["id"] for found in search(question)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What is labelled for a question.

    Attributes:
        query_id: The question.
        documents: What was retrieved, each once.
        ranks: By document its rank in each retrieval.
        outside: A few documents that nothing retrieved within the pool's depth.
        probabilities: The probability with which each of these was drawn.
        n_outside: How many others there are.
    """

    query_id: str
    documents: list[Document]
    ranks: list[dict[str, int]]
    outside: list[Document]
    probabilities: list[float]
    n_outside: int

    def to_dict(self) -> dict[str, Any]:
        """Return the pool as a row."""
        found = [{"document": plain(d), "ranks": r} for d, r in zip(self.documents, self.ranks, strict=True)]
        others = [
            {"document": plain(d), "probability": p} for d, p in zip(self.outside, self.probabilities, strict=True)
        ]
        return {"query_id": self.query_id, "pool": found, "outside": others, "n_outside": self.n_outside}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Pool:
        """Read what `to_dict` returned."""
        return cls(
            query_id=row["query_id"],
            documents=[as_document(one["document"]) for one in row["pool"]],
            ranks=[one["ranks"] for one in row["pool"]],
            outside=[as_document(one["document"]) for one in row["outside"]],
            probabilities=[one["probability"] for one in row["outside"]],
            n_outside=row["n_outside"],
        )

    def with_ranking(self, name: str, ranking: Sequence[Document], depth: int) -> Pool:
        """Return the pool with the first documents of one more ranking."""
        documents, ranks = list(self.documents), [dict(one) for one in self.ranks]
        places = {one.id: i for i, one in enumerate(documents)}
        for rank, one in enumerate(ranking[:depth], 1):
            if one.id not in places:
                places[one.id] = len(documents)
                documents.append(one)
                ranks.append({})
            ranks[places[one.id]].setdefault(name, rank)
        kept = [i for i, one in enumerate(self.outside) if one.id not in places]
        return replace(
            self,
            documents=documents,
            ranks=ranks,
            outside=[self.outside[i] for i in kept],
            probabilities=[self.probabilities[i] for i in kept],
            n_outside=max(self.n_outside - len(documents) + len(self.documents), 0),
        )

    def with_outside(self, ranked: Sequence[str], every: Mapping[str, Document], most: int, seed: int) -> Pool:
        """Return the pool with a sample of the documents that it does not hold.

        Args:
            ranked: The ids that a retriever found, best first; all others stand below them.
            every: All documents that can be searched.
            most: How many are drawn.
            seed: Of the draw.
        """
        own = {one.id for one in self.documents}
        above = [one for one in ranked if one not in own]
        taken = {*own, *above}
        others = [*above, *(one for one in every if one not in taken)]
        places, p = draw_outside(len(others), most, seed)
        drawn = [every[others[place]] for place in places.tolist()]
        return replace(self, outside=drawn, probabilities=p.tolist(), n_outside=len(others))

    def rows(self, question: str, number: int, probability: float) -> Iterator[dict[str, Any]]:
        """Yield the rows of the labelling queue, best ranks first."""
        order = sorted(range(len(self.documents)), key=lambda i: min(self.ranks[i].values()))
        found = [(self.documents[i], probability, {"number": number, "ranks": self.ranks[i]}) for i in order]
        for document, p in zip(self.outside, self.probabilities, strict=True):
            found.append((document, probability * p, {"number": number, "ranks": {}}))
        for document, p, evidence in found:
            row = {"label": None, "query_id": self.query_id, "question": question, "document": plain(document)}
            yield row | {"probability": p, "evidence": evidence}
