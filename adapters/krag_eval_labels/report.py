"""The report of a label audit, and the labelling queue: write it, and apply its labels."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval import Document
from krag_eval.toolkit import (
    ComparedByFields,
    IdKey,
    Printed,
    clip,
    number_of,
    one_line,
    show_document,
)

_SHOWN = 3
_SETTINGS_AND_COUNTS = ("systems", "methods", "level", "k", "min_systems", "n_questions", "n_negative", "n_unjudged")
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
        """Return the candidate as a row of the labelling queue, with an empty `label`."""
        evidence: dict[str, Any] = {
            "strength": _rounded(self.strength),
            "ranks": dict(self.ranks),
            "n_systems": self.n_systems,
            "best_rank": min(self.ranks.values(), default=None),
            "mean_reciprocal_rank": _rounded(self.mean_reciprocal_rank),
        }
        for name, show in (("similarity", _rounded), ("near_gold", plain), ("answer_rarity", _rounded)):
            if (value := getattr(self, name)) is not None:
                evidence[name] = show(value)
        row: dict[str, Any] = {"label": None, "query_id": self.query_id, "question": self.question}
        if self.answer is not None:
            row["answer"] = self.answer
        if self.is_negative:
            row["is_negative"] = True
        return row | {"document": plain(self.document), "why": list(self.reasons), "evidence": evidence}

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {rank}" for name, rank in self.ranks.items())
        return one_line(f"{self.query_id}: {show_document(self.document)}: {REASONS[self.reasons[0]]} ({ranks})")


_rounded = functools.partial(round, ndigits=4)


class _Finding:
    __slots__: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict, ready for JSON."""
        return {name: _as_json(getattr(self, name)) for name in self.__slots__}


def _as_json(value: Any) -> Any:
    if isinstance(value, Document):
        return plain(value)
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedGold(_Finding):
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

    def __str__(self) -> str:
        relation = "has the text of" if self.is_same else "contains"
        return one_line(f"{self.query_id}: {show_document(self.outer)} {relation} {show_document(self.inner)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LostGold(_Finding):
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

    def __str__(self) -> str:
        text = f"{one_line(self.query_id)}: {show_document(self.gold)}"
        if self.in_corpus is False:
            text += ": the corpus has no such id"
        if self.nearest is not None:
            text += f"; nearest ({self.similarity:.2f}): {show_document(self.nearest)}"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class NearQuestions(_Finding):
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

    def __str__(self) -> str:
        return " | ".join(
            one_line(f"{query_id}: {clip(' '.join(text.split()), 60)}")
            for query_id, text in zip(self.query_ids, self.questions, strict=True)
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DoctorReport(Printed, ComparedByFields):
    """What is probably wrong with the gold documents of a question set.

    Attributes:
        systems: The names of the runs.
        methods: How documents were identified.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        k: The rank down to which agreement counts.
        min_systems: How many systems have to agree.
        n_questions: How many questions there are.
        n_negative: How many of them have no gold document.
        n_unjudged: How many have gold at the other level only; what was retrieved for them is left out.
        candidates: Documents that may be gold, the most useful to look at first; each pair of a question and a
            document once.
        contained_gold: Gold documents of one question of which one contains the other.
        lost_gold: Gold documents that no system retrieved at any rank.
        near_questions: Questions in nearly the same words, those with different gold first.
    """

    systems: tuple[str, ...]
    methods: tuple[str, ...]
    level: str
    doc_key: IdKey
    k: int
    min_systems: int
    n_questions: int
    n_negative: int
    n_unjudged: int
    candidates: tuple[Candidate, ...]
    contained_gold: tuple[ContainedGold, ...]
    lost_gold: tuple[LostGold, ...]
    near_questions: tuple[NearQuestions, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates there are by their strongest reason, in the order of `REASONS`; none left out."""
        counter = Counter(candidate.reasons[0] for candidate in self.candidates)
        return {reason: counter[reason] for reason in REASONS}

    @property
    def conflicts(self) -> tuple[NearQuestions, ...]:
        """The groups of questions in nearly the same words that have different gold."""
        return tuple(group for group in self.near_questions if not group.same_gold)

    def queue_rows(self, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of the labelling queue: the first `limit` candidates, each with an empty `label`."""
        for candidate in self.candidates[:limit]:
            row = candidate.to_dict()
            yield row | {"level": self.level, "doc_key": self.doc_key} if self.level == "document" else row

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Counts and findings, ready for JSON; of the candidates the first `limit`."""
        whole = {name: _as_json(getattr(self, name)) for name in _SETTINGS_AND_COUNTS}
        whole |= {"n_candidates": len(self.candidates), "counts": self.counts}
        whole["candidates"] = [*self.queue_rows(limit)]
        for name in ("contained_gold", "lost_gold", "near_questions"):
            whole[name] = [finding.to_dict() for finding in getattr(self, name)]
        return whole

    def __str__(self) -> str:
        runs = f"{number_of(len(self.systems), 'run')} ({one_line(', '.join(self.systems))})"
        told_apart = f"documents identified by {' then '.join(self.methods)}"
        lines = [f"{number_of(self.n_questions, 'question')}, {runs}, {told_apart}"]
        lines += _section("documents that may be gold", self.candidates)
        lines[2:2] = [f"{count:>8}    {REASONS[reason]}" for reason, count in self.counts.items() if count]
        lines += _section("gold documents inside another gold document of their question", self.contained_gold)
        lines += _section("gold documents that no system retrieved at any rank", self.lost_gold)
        conflicts = f", {len(self.conflicts)} with different gold"
        lines += _section(f"groups of questions in nearly the same words{conflicts}", self.near_questions)
        if self.n_negative:
            lines.append(f"{self.n_negative:>6}  questions without an answer: agreement counts half there")
        if self.n_unjudged:
            lines.append(f"{self.n_unjudged:>6}  questions with gold at the other level only, left out")
        return "\n".join(lines)


def _section(title: str, findings: Sequence[object]) -> list[str]:
    """Return the number of findings and the first few."""
    return [f"{len(findings):>6}  {title}", *(f"            {finding}" for finding in findings[:_SHOWN])]


def plain(document: Document) -> dict[str, Any]:
    """Return a document for a row: its id, text and metadata, if it has them."""
    row = {"id": document.id, "text": document.text, "metadata": dict(document.metadata)}
    return {name: value for name, value in row.items() if value not in (None, {})}
