"""What the doctor finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval.documents import Document

# Why a document may be gold although the set does not say so, the strongest reason first.
REASONS = {
    "same_text": "the same text as a gold document, under another id",
    "contains_gold": "the whole text of a gold document stands in it",
    "near_duplicate": "nearly the text of a gold document",
    "part_of_gold": "its whole text stands in a gold document",
    "holds_answer": "the expected answer stands in it",
    "several_systems": "several systems put it high",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document that may answer a question and is not among its gold documents.

    Attributes:
        query_id: The id of the question.
        question: Its text, or None.
        answer: The expected answer, or None.
        is_negative: Whether the set says that nothing answers the question.
        document: The document, with its text where any run, the gold or the corpus has it.
        reasons: Keys of `REASONS`, the strongest first.
        strength: How much the reasons weigh, from 0 to 1: an order, no probability.
        ranks: The rank at which each system retrieved it, at any depth.
        n_systems: How many systems have it within k.
        mean_reciprocal_rank: The mean of 1 / rank over all systems, 0 for those that have it below k or not at all.
        similarity: ROUGE-L (F-measure) with the nearest gold text, where it is at least `near`; else None.
        near_gold: The gold document of the first four reasons, or None.
        answer_rarity: Where the document holds the answer, how rare that is among retrieved texts, from 0 (all do it)
            to 1; else None.
    """

    query_id: str
    question: str | None
    answer: str | None
    is_negative: bool
    document: Document
    reasons: tuple[str, ...]
    strength: float
    ranks: Mapping[str, int]
    n_systems: int
    mean_reciprocal_rank: float
    similarity: float | None
    near_gold: Document | None
    answer_rarity: float | None

    def to_dict(self) -> dict[str, Any]:
        """The candidate as a row of the labelling queue, with `label` to be filled in."""
        evidence: dict[str, Any] = {
            "strength": round(self.strength, 4),
            "ranks": dict(self.ranks),
            "n_systems": self.n_systems,
            "best_rank": min(self.ranks.values(), default=None),
            "mean_reciprocal_rank": round(self.mean_reciprocal_rank, 4),
        }
        if self.similarity is not None:
            evidence["similarity"] = round(self.similarity, 4)
        if self.near_gold is not None:
            evidence["near_gold"] = plain(self.near_gold)
        if self.answer_rarity is not None:
            evidence["answer_rarity"] = round(self.answer_rarity, 4)
        row: dict[str, Any] = {"label": None, "query_id": self.query_id, "question": self.question}
        if self.answer is not None:
            row["answer"] = self.answer
        if self.is_negative:
            row["is_negative"] = True
        return row | {"document": plain(self.document), "why": list(self.reasons), "evidence": evidence}

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {rank}" for name, rank in self.ranks.items())
        return f"{self.query_id}: {shown(self.document)}: {REASONS[self.reasons[0]]} ({ranks})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedGold:
    """Two gold documents of one question of which one holds the text of the other: one find counts as two.

    Attributes:
        query_id: The id of the question.
        outer: The longer one.
        inner: The one whose text stands in it.
        is_same: Whether the two texts are the same.
    """

    query_id: str
    outer: Document
    inner: Document
    is_same: bool

    def to_dict(self) -> dict[str, Any]:
        """The pair as a dict."""
        return {
            "query_id": self.query_id,
            "outer": plain(self.outer),
            "inner": plain(self.inner),
            "is_same": self.is_same,
        }

    def __str__(self) -> str:
        relation = "has the text of" if self.is_same else "contains"
        return f"{self.query_id}: {shown(self.outer)} {relation} {shown(self.inner)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostGold:
    """A gold document that no system retrieved at any rank.

    Attributes:
        query_id: The id of the question.
        gold: The document.
        in_corpus: Whether the corpus has a document with its id; None where no corpus or no id is known.
        nearest: The most similar text that was retrieved for the question, where one is near; else None.
        similarity: Its similarity, measured as in `diagnose`, from 0 to 1; else None.
        ranks: The rank at which each system retrieved that text.
    """

    query_id: str
    gold: Document
    in_corpus: bool | None
    nearest: Document | None
    similarity: float | None
    ranks: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The document as a dict."""
        return {
            "query_id": self.query_id,
            "gold": plain(self.gold),
            "in_corpus": self.in_corpus,
            "nearest": None if self.nearest is None else plain(self.nearest),
            "similarity": self.similarity,
            "ranks": dict(self.ranks),
        }

    def __str__(self) -> str:
        text = f"{self.query_id}: {shown(self.gold)}"
        if self.in_corpus is False:
            text += ": the corpus has no such id"
        if self.nearest is not None:
            text += f"; nearest ({self.similarity:.2f}): {shown(self.nearest)}"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class NearQuestions:
    """Questions in nearly the same words.

    Attributes:
        query_ids: Their ids.
        questions: Their texts.
        same_gold: Whether they have the same gold documents. If not, one of them may lack some, or they differ in the
            one word that matters.
    """

    query_ids: tuple[str, ...]
    questions: tuple[str, ...]
    same_gold: bool

    def to_dict(self) -> dict[str, Any]:
        """The group as a dict."""
        return {"query_ids": list(self.query_ids), "questions": list(self.questions), "same_gold": self.same_gold}

    def __str__(self) -> str:
        return " | ".join(
            f"{query_id}: {cut(text)}" for query_id, text in zip(self.query_ids, self.questions, strict=True)
        )


def plain(document: Document) -> dict[str, Any]:
    """A document as it stands in a row: what it has of id, text and metadata."""
    row = {"id": document.id, "text": document.text, "metadata": dict(document.metadata)}
    return {name: value for name, value in row.items() if value not in (None, {})}


def shown(document: Document) -> str:
    """The id and the beginning of the text."""
    text = "" if document.text is None else repr(cut(document.text))
    return " ".join(part for part in (document.id, text) if part)


def cut(text: str, most: int = 60) -> str:
    """The beginning of a text in one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
