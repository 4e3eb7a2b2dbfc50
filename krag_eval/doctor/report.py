"""What an examination of a question set brought to light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval.doctor.records import REASONS, Candidate, ContainedGold, LostGold, NearQuestions

_SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DoctorReport:
    """What is probably wrong with the gold documents of a question set.

    Attributes:
        systems: The names of the runs.
        methods: By what documents were told apart.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        k: The rank down to which agreement counts.
        min_systems: How many systems have to agree.
        n_questions: How many questions there are.
        n_negative: How many of them have no gold document.
        n_unjudged: How many have gold at the other level only; what was retrieved for them is left out.
        candidates: Documents that are perhaps gold, the most useful to look at first; each pair of a question and a
            document once.
        contained_gold: Gold documents of one question of which one contains the other.
        lost_gold: Gold documents that no system retrieved at any rank.
        near_questions: Questions in nearly the same words, those with different gold first.
    """

    systems: tuple[str, ...]
    methods: tuple[str, ...]
    level: str
    doc_key: str
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
        """The rows of the labelling queue: the first `limit` candidates, each with `label` to be filled in."""
        for candidate in self.candidates[:limit]:
            row = candidate.to_dict()
            yield row | {"level": self.level, "doc_key": self.doc_key} if self.level == "document" else row

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Counts and findings, ready for JSON; of the candidates the first `limit`."""
        return {
            "systems": list(self.systems),
            "methods": list(self.methods),
            "level": self.level,
            "k": self.k,
            "min_systems": self.min_systems,
            "n_questions": self.n_questions,
            "n_negative": self.n_negative,
            "n_unjudged": self.n_unjudged,
            "n_candidates": len(self.candidates),
            "counts": self.counts,
            "candidates": [*self.queue_rows(limit)],
            "contained_gold": [pair.to_dict() for pair in self.contained_gold],
            "lost_gold": [lost.to_dict() for lost in self.lost_gold],
            "near_questions": [group.to_dict() for group in self.near_questions],
        }

    def __repr__(self) -> str:
        runs = f"{_number(len(self.systems), 'run')} ({', '.join(self.systems)})"
        told_apart = f"documents told apart by {' then '.join(self.methods)}"
        lines = [f"{_number(self.n_questions, 'question')}, {runs}, {told_apart}"]
        lines += _section("documents that are perhaps gold", self.candidates)
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


def _number(count: int, thing: str) -> str:
    return f"1 {thing}" if count == 1 else f"{count} {thing}s"


def _section(title: str, findings: Sequence[object]) -> list[str]:
    """The number of findings and the first few."""
    return [f"{len(findings):>6}  {title}", *(f"            {finding}" for finding in findings[:_SHOWN])]
