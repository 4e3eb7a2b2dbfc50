"""A small pipeline over the bundled collection, whose stages are recorded, and ten faults to plant in it.

Two retrievers over hashed character n-grams, fusion, the filter of the tenant (the language of the branch), a filter by
topic, a reranker and a budget of characters. Nothing but numpy is needed, and every fault changes one thing.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krag_eval import Document, EvalSet, Run, RunRow
from krag_eval.datasets.sessions import Stage
from krag_eval_chunkers.demo_data import load_collection

Vectors = npt.NDArray[np.float64]
SETTINGS: dict[str, Any] = {"match_method": "containment", "containment": "gold_in_retrieved"}
DEPTH, KEPT = 10, 5


@dataclass(frozen=True)
class Pipeline:
    """What can go wrong.

    Attributes:
        index: Makes the chunks of the collection.
        rewrite: Rewrites the question for the retrievers.
        quantise: What both indexes keep of each vector.
        weights: Of both retrievers in the fusion.
        tenant: The branch of a question, by its number and language.
        allowed: Whether a chunk passes the filter.
        sign: Of the scores of the reranker.
        budget: Characters in the prompt.
    """

    index: Callable[[list[Document]], list[Document]] = list
    rewrite: Callable[[str], str] = str
    quantise: Callable[[Vectors], Vectors] = np.asarray
    weights: tuple[float, float] = (1, 1)
    tenant: Callable[[int, str], str] = lambda _, language: language
    allowed: Callable[[Document], bool] = lambda _: True
    sign: int = 1
    budget: int = 5_000


@functools.cache
def collection() -> tuple[list[Document], EvalSet]:
    """The notes, and the questions that have an answer in them."""
    documents, questions = load_collection()
    notes = [Document(id=row["id"], text=row["text"], metadata=row["metadata"]) for row in documents]
    return notes, EvalSet([row for row in questions if row["gold"]])


def embed(texts: Sequence[str], n: int, size: int) -> Vectors:
    """Hash the character n-grams of each text into a vector of length 1."""
    vectors = np.zeros((len(texts), size))
    for row, text in zip(vectors, texts, strict=True):
        plain = " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])
        for start in range(len(plain) - n + 1):
            digest = zlib.crc32(plain[start : start + n].encode())
            row[digest % size] += 1 if digest >> 20 & 1 else -1
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def chunks_of(pipeline: Pipeline) -> list[Document]:
    """The corpus as it is indexed."""
    return pipeline.index(collection()[0])


def run(pipeline: Pipeline, name: str = "pipeline") -> Run:
    """Ask every question, and record what each stage returned."""
    chunks, (_, questions) = chunks_of(pipeline), collection()
    asked = [pipeline.rewrite(text) for text in questions.texts]
    texts = [chunk.text or "" for chunk in chunks]
    words = embed(asked, 2, 4096) @ pipeline.quantise(embed(texts, 2, 4096)).T
    vectors = embed(asked, 3, 512) @ pipeline.quantise(embed(texts, 3, 512)).T
    exact = embed(questions.texts, 3, 8192) @ embed(texts, 3, 8192).T  # what the reranker scores by
    rows = []
    for number, question in enumerate(questions):
        lists = [best(words[number], DEPTH), best(vectors[number], DEPTH)]
        fused: dict[int, float] = {}
        for weight, ranking in zip(pipeline.weights, lists, strict=True):
            for rank, place in enumerate(ranking, 1):
                fused[place] = fused.get(place, 0) + weight / (60 + rank)
        order = [place for place in sorted(fused, key=lambda one: -fused[one]) if fused[place] > 0]
        tenant = pipeline.tenant(number, question.metadata["language"])
        own = [place for place in order if chunks[place].metadata["language"] == tenant]
        passed = [place for place in own if pipeline.allowed(chunks[place])]
        reranked = sorted(passed, key=lambda place: -pipeline.sign * exact[number, place])[:KEPT]
        sizes = np.cumsum([len(texts[place]) for place in reranked])
        shown = reranked[: int((sizes <= pipeline.budget).sum())]
        stages = [("words", lists[0], ()), ("vectors", lists[1], ()), ("fusion", order, ("words", "vectors"))]
        stages += [("tenant", own, ("fusion",)), ("filter", passed, ("tenant",))]
        stages += [("rerank", reranked, ("filter",)), ("budget", shown, ("rerank",))]
        recorded = tuple(Stage(name=n, retrieved=tuple(chunks[p] for p in r), inputs=i) for n, r, i in stages)
        rows.append(RunRow(query_id=question.id, retrieved=recorded[-1].retrieved, stages=recorded))
    return Run.of(name, rows)


def best(scores: npt.NDArray[np.float64], depth: int) -> list[int]:
    """The places of the highest scores, highest first."""
    return [int(place) for place in np.argsort(-scores, kind="stable")[:depth] if scores[place] > 0]


def without_thirds(notes: list[Document]) -> list[Document]:
    return [note for number, note in enumerate(notes) if number % 3]


def outdated(notes: list[Document]) -> list[Document]:
    """Every second note as it was before its numbers changed and its sentences were worded anew."""
    return [
        note if number % 2 else replace(note, text=re.sub(r"\d", "0", note.text or "").replace(" ", "  -  "))
        for number, note in enumerate(notes)
    ]


def cut(notes: list[Document]) -> list[Document]:
    """Chunks of 24 characters, which hold no passage whole."""
    return [
        Document(id=f"{note.id}#{start}", text=(note.text or "")[start : start + 24], metadata=note.metadata)
        for note in notes
        for start in range(0, len(note.text or ""), 24)
    ]


def coarse(vectors: Vectors) -> Vectors:
    """One bit for each block of 32 dimensions."""
    blocks = vectors.reshape(len(vectors), -1, 32).sum(axis=2)
    return np.repeat(np.sign(blocks), 32, axis=1)


def other_branch(number: int, language: str) -> str:
    return {"ko": "en", "en": "ru", "ru": "zh", "zh": "ko"}[language] if number % 2 else language


FAULTS: dict[str, tuple[Pipeline, str]] = {
    "not indexed": (Pipeline(index=without_thirds), "not_in_corpus"),
    "stale index": (Pipeline(index=outdated), "not_in_corpus"),
    "cut chunk": (Pipeline(index=cut), "not_in_corpus"),
    "quantised index": (Pipeline(quantise=coarse), "not_retrieved"),
    "query rewritten badly": (Pipeline(rewrite=lambda text: text[:3]), "not_retrieved"),
    "fusion weights": (Pipeline(weights=(0, 1)), "lost_in:fusion"),
    "wrong tenant": (Pipeline(tenant=other_branch), "lost_in:tenant"),
    "filter too strict": (
        Pipeline(allowed=lambda chunk: chunk.metadata["topic"] in ("payment", "returns", "account")),
        "lost_in:filter",
    ),
    "reranker upside down": (Pipeline(sign=-1), "lost_in:rerank"),
    "budget too small": (Pipeline(budget=100), "lost_in:budget"),
}
"""Each fault, and the fate that names it."""


def stage_of(run: Run, name: str) -> Run:
    """What one stage of a run returned, as a run of its own."""
    stages = {query: stage for query, row in run.rows.items() for stage in row.stages if stage.name == name}
    return Run.of(name, [RunRow(query_id=query, retrieved=stage.retrieved) for query, stage in stages.items()])
