"""What all systems retrieved for each question, each document once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from krag_eval.columns import BoolArray, IntArray, Side
from krag_eval.documents import Document, as_document
from krag_eval.evalset import EvalSet, Run
from krag_eval.settings import Settings

Rows = list[list[Document]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The documents that were retrieved for each question, in the order of the questions.

    Attributes:
        systems: The names of the systems.
        rows: The documents of each question, those that were retrieved highest first.
        ranks: The rank of each document in each system, 0 where it has none; shape (n_documents, n_systems).
        asked: Whether any system answered without an error; shape (n_questions,).
    """

    systems: tuple[str, ...]
    rows: Rows
    ranks: IntArray
    asked: BoolArray

    def ranks_of(self, position: int) -> dict[str, int]:
        """The rank in each system that has the document at a position of all rows, put end to end."""
        return {name: rank for name, rank in zip(self.systems, self.ranks[position].tolist(), strict=True) if rank}


def read_sides(evalset: EvalSet, runs: Mapping[str, Run], id_key: str | None, grade_key: str) -> dict[str, Side]:
    """The rankings of each system as columns.

    Raises:
        InvalidInputError: A run is of another set, or a document cannot be read.
    """
    return {name: Side("predicted", run.rankings(evalset), id_key, grade_key) for name, run in runs.items()}


def pool_documents(evalset: EvalSet, runs: Mapping[str, Run], sides: Mapping[str, Side], settings: Settings) -> Pool:
    """Put the rankings of all systems together.

    Where ids are matched, two documents are the same if their ids are, or if one has no id and its text is that of the
    other; elsewhere if their normalised texts are.
    """
    columns = list(sides.values())
    documents: list[Document] = [document for side in columns for document in side.documents]
    sizes = [len(side.documents) for side in columns]
    query = np.concatenate([side.query_of(np.arange(size)) for side, size in zip(columns, sizes, strict=True)])
    starts = np.concatenate([side.offsets[:-1] for side in columns]).reshape(len(columns), len(evalset))
    system = np.repeat(np.arange(len(columns)), sizes)
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = np.arange(len(documents)) - before - starts[system, query] + 1
    ids = [id_ for side in columns for id_ in side.ids] if settings.uses_ids else [None] * len(documents)
    texts = [text for side in columns for text in side.texts]
    key = _number(ids, texts, settings)
    pair = query * (int(key.max(initial=0)) + 1) + key
    has_text = np.array([text is not None for text in texts], dtype=bool)
    # Of each document the copy with a text, and of these the highest.
    order = np.lexsort((rank, ~has_text, pair))
    is_first = np.append(True, np.diff(pair[order]) != 0)[: len(order)]
    chosen = order[is_first]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_first) - 1
    ranks = np.zeros((len(chosen), len(columns)), dtype=np.int64)
    lowest_first = np.argsort(-rank, kind="stable")  # of several assignments to one place the last one stays
    ranks[number[lowest_first], system[lowest_first]] = rank[lowest_first]
    best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    arranged = np.lexsort((best, query[chosen]))
    rows: Rows = [[] for _ in range(len(evalset))]
    for position, its_query in zip(chosen[arranged].tolist(), query[chosen[arranged]].tolist(), strict=True):
        rows[its_query].append(documents[position])
    return Pool(tuple(sides), rows, ranks[arranged], _asked(evalset, runs))


def _number(ids: Sequence[str | None], texts: Sequence[str | None], settings: Settings) -> IntArray:
    """A number for each document, the same for the same document."""
    forms: dict[str, str] = {}

    def form(text: str | None) -> str:
        if text is None or settings.normalize is None:
            return text or ""
        if text not in forms:
            forms[text] = settings.normalize(text)
        return forms[text]

    id_of: dict[str, str] = {}
    if None in ids and any(ids):
        for id_, text in zip(ids, texts, strict=True):
            if id_ is not None and text is not None:
                id_of.setdefault(form(text), id_)
    numbers: dict[tuple[str, str | None], int] = {}
    return np.array(
        [
            numbers.setdefault(
                ("id", id_)
                if id_ is not None
                else ("id", id_of[form(text)])
                if form(text) in id_of
                else ("", form(text)),
                len(numbers),
            )
            for id_, text in zip(ids, texts, strict=True)
        ],
        dtype=np.int64,
    )


def _asked(evalset: EvalSet, runs: Mapping[str, Run]) -> BoolArray:
    answered = {id_ for run in runs.values() for id_, row in run.rows.items() if row.error is None}
    return np.array([id_ in answered for id_ in evalset.ids], dtype=bool)


def fill_texts(gold: Rows, pooled: Rows, corpus: Iterable[object] | None, settings: Settings) -> frozenset[str] | None:
    """Give documents without a text, in place, the text that another one with their id has.

    Args:
        gold: The gold documents of each question.
        pooled: The retrieved documents of each question.
        corpus: Documents that may have the texts.
        settings: Where ids are read.

    Returns:
        The ids of the corpus; None without one.
    """
    texts: dict[str, str] = {}
    ids: set[str] = set()
    for given in () if corpus is None else corpus:
        document = as_document(given, id_key=settings.id_key)
        if document.id is not None:
            ids.add(document.id)
            if document.text is not None:
                texts.setdefault(document.id, document.text)
    everything = [*gold, *pooled]
    if any(document.text is None for row in everything for document in row):
        for row in everything:
            for document in row:
                id_ = _id(document, settings)
                if id_ is not None and document.text is not None:
                    texts.setdefault(id_, document.text)
        for row in everything:
            for place, document in enumerate(row):
                if document.text is None and (text := texts.get(_id(document, settings) or "")) is not None:
                    row[place] = replace(document, text=text)
    return None if corpus is None else frozenset(ids)


def _id(document: Document, settings: Settings) -> str | None:
    return document.id if settings.id_key is None else as_document(document, id_key=settings.id_key).id
