"""What can be wrong with a question set, and how bad it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from krag_eval import InvalidInputError, Question
from krag_eval.toolkit import Argument, ShortRepr, plain_fields

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

# An error makes numbers wrong, or stops the reading; a warning may make them wrong; a note is good to know.
KINDS: Mapping[str, tuple[Severity, str]] = {
    "unreadable": ("error", "rows that cannot be read"),
    "duplicate_id": ("error", "ids that several questions have"),
    "missing_question": ("error", "questions without a text"),
    "conflicting_gold": ("error", "questions asked twice, with different gold"),
    "unidentified_gold": ("error", "gold documents with neither an id nor a text"),
    "other_corpus": ("error", "a corpus that has none of the gold"),
    "dangling_id": ("error", "gold ids that the corpus does not have"),
    "dead_id": ("error", "gold ids that the corpus lacks, while it has their texts"),
    "missing_text": ("warning", "gold texts that the corpus does not have"),
    "changed_text": ("warning", "gold ids that now belong to another text"),
    "contradicting_levels": ("warning", "gold chunks whose document is not a gold document"),
    "answers_as_gold": ("warning", "answers that are read as gold documents"),
    "negative_grades": ("warning", "sets in which most grades are below 0"),
    "empty_gold": ("warning", "questions without gold that are not marked negative"),
    "contradicting_type": ("warning", "questions marked negative that have gold"),
    "repeated_gold": ("warning", "gold that appears twice in a question"),
    "duplicate_question": ("warning", "questions asked twice, with the same gold"),
    "near_duplicate": ("warning", "questions in nearly the same words"),
    "type_spellings": ("warning", "types that are spelled in several ways"),
    "similar_question": ("note", "questions in nearly the same words, other answers"),
    "gold": ("note", "what is read as gold, from fields with other names"),
    "negative": ("note", "questions marked negative, which have no answer"),
    "document_level": ("note", "questions whose gold is known by document alone"),
    "unchecked": ("note", "what could not be checked"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a question set, or good to know of it.

    Attributes:
        kind: A key of `KINDS`.
        message: What it is, and what would be right.
        question_ids: The questions that it is about.
        places: Their places, as `path:line`; empty for a set that was not read from a file.
        gold_id: The gold id that it is about, or None.
        found_in: The chunks that contain the text of that gold.
        parts: The parts of the message, if it names arguments.
    """

    kind: str
    message: str
    question_ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    gold_id: str | None = None
    found_in: tuple[str, ...] = ()
    parts: tuple[str | Argument, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of_parts(cls, kind: str, parts: tuple[str | Argument, ...], *places: str) -> Finding:
        """Return a finding with a message made of parts."""
        return cls(kind=kind, message=str(InvalidInputError(*parts)), places=places, parts=parts)

    @property
    def severity(self) -> Severity:
        """How bad it is: `"error"`, `"warning"` or `"note"`."""
        return KINDS[self.kind][0]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for JSON, without the fields that are not set."""
        row = plain_fields(self, "severity", *self.__slots__[:-1])
        return {name: value for name, value in row.items() if value not in (None, [])}


@dataclass(frozen=True, kw_only=True, repr=False)
class ValidationReport(ShortRepr):
    """What is wrong with a question set.

    Attributes:
        findings: Errors first, then warnings, then notes; by kind, and within a kind in the order of the set.
        n_questions: How many questions could be read.
        n_corpus: How many documents the corpus has; None if there was none.
    """

    findings: tuple[Finding, ...]
    n_questions: int
    n_corpus: int | None = None

    @classmethod
    def of(cls, findings: Iterable[Finding], n_questions: int, n_corpus: int | None = None) -> ValidationReport:
        """Return a report of findings in any order."""
        order = {kind: number for number, kind in enumerate(KINDS)}
        by_severity = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), order[f.kind]))
        return cls(findings=tuple(by_severity), n_questions=n_questions, n_corpus=n_corpus)

    @property
    def ok(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return all(finding.severity == "note" for finding in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind that was found."""
        return dict(Counter(finding.kind for finding in self.findings))

    def with_severity(self, severity: Severity) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        row: dict[str, Any] = {"ok": self.ok, "n_questions": self.n_questions}
        if self.n_corpus is not None:
            row["n_corpus"] = self.n_corpus
        row |= {f"n_{severity}s": len(self.with_severity(severity)) for severity in SEVERITIES}
        return row | {"counts": self.counts, "findings": [finding.to_dict() for finding in self.findings]}


@dataclass(frozen=True, slots=True)
class Entry:
    """A question of a set.

    Attributes:
        question: The question.
        place: Its place, as `path:line`; None for a set that was not read from a file.
        row: The row that it was read from, or None.
    """

    question: Question
    place: str | None = None
    row: Mapping[str, Any] | None = None


def find(kind: str, message: str, *entries: Entry, **fields: Any) -> Finding:
    """Return a finding about these entries."""
    ids = tuple(dict.fromkeys(entry.question.id for entry in entries))
    places = tuple(entry.place for entry in entries if entry.place is not None)
    return Finding(kind=kind, message=message, question_ids=ids, places=places, **fields)
