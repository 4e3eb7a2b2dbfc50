"""The result of a generation: the questions, and how they were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from krag_eval import EvalSet
from krag_eval.toolkit import aligned, escape_controls
from krag_eval_llm.calling import ModelCounters
from krag_eval_llm.question_generation.checks import REASONS

FLATTERY = (
    "Generated questions flatter retrievers, lexical ones most: each was written from the chunk that it should find, "
    "and shares words with it. Compare retrievers on them, but do not expect the same scores on users' questions."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeReport:
    """The results of one type of question.

    Attributes:
        wanted: How many were requested.
        made: How many were kept.
        asked: How many prompts were answered or given up.
        dropped: How many answers were dropped, by reason (a key of `checks.REASONS`).
        overlap: The mean share of a question's words that appear in its chunk, 0 to 1; None without questions. Words
            are those of the tokenizer `words`, so endings hide a part of it in Korean, Russian and Arabic, and
            single characters, which any two texts share, count in Chinese, Japanese and Thai.
    """

    wanted: int
    made: int
    asked: int
    dropped: Mapping[str, int]
    overlap: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationReport:
    """How a language model generated questions.

    Attributes:
        types: The results of each type.
        model: The name of the model.
        prompts: The version of the prompts, eight hex digits.
        language: The requested language.
        seed: The seed of the order of the chunks.
        n_chunks: How many chunks were given.
        skipped_chunks: How many of them were skipped, by reason.
        n_named_chunks: How many had no id and got one.
        n_found: How many answers were already in the journal.
        counters: What happened to the prompts of this session.
        stopped: Why there are fewer questions than wanted; None if there are not.
    """

    types: Mapping[str, TypeReport]
    model: str
    prompts: str
    language: str
    seed: int
    n_chunks: int
    skipped_chunks: Mapping[str, int]
    n_named_chunks: int
    n_found: int
    counters: ModelCounters = field(default_factory=ModelCounters)
    stopped: str | None = None

    @property
    def n_made(self) -> int:
        """How many questions were kept."""
        return sum(one.made for one in self.types.values())

    @property
    def n_wanted(self) -> int:
        """How many questions were requested."""
        return sum(one.wanted for one in self.types.values())

    @property
    def dropped(self) -> dict[str, int]:
        """How many answers were dropped, by reason, over all types."""
        found = sum((Counter(one.dropped) for one in self.types.values()), Counter[str]())
        return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON, without the questions."""
        return {
            "made": self.n_made,
            "wanted": self.n_wanted,
            "types": {name: asdict(one) for name, one in self.types.items()},
            "model": self.model,
            "prompts": self.prompts,
            "language": self.language,
            "seed": self.seed,
            "chunks": self.n_chunks,
            "skipped_chunks": dict(self.skipped_chunks),
            "named_chunks": self.n_named_chunks,
            "answers_from_the_journal": self.n_found,
            "counters": self.counters.to_dict(),
            "stopped": self.stopped,
            "note": FLATTERY,
        }

    def __str__(self) -> str:
        how = f"(prompts {self.prompts}, language {self.language}, seed {self.seed})"
        rows = [["type", "wanted", "made", "asked", "dropped", "words from the chunk"]]
        for name, one in self.types.items():
            counts = [f"{value:,}" for value in (one.wanted, one.made, one.asked, sum(one.dropped.values()))]
            rows.append([name, *counts, "-" if one.overlap is None else f"{one.overlap:.0%}"])
        named = f"; {self.n_named_chunks:,} had no id and got one from their text" if self.n_named_chunks else ""
        found = f"; {self.n_found:,} answers were already in the journal" if self.n_found else ""
        lines = [
            f"{self.n_made:,} of {self.n_wanted:,} questions, written by {self.model} {how}",
            "",
            *aligned(rows),
            "",
            f"Dropped: {_counted({REASONS[reason][0]: count for reason, count in self.dropped.items()})}.",
            f"Chunks: {self.n_chunks:,}; not asked about: {_counted(self.skipped_chunks)}{named}.",
            f"Model: {self.counters}{found}.",
        ]
        if self.stopped:
            lines.append(f"Fewer than wanted: {self.stopped}")
        return escape_controls("\n".join([*lines, FLATTERY]))


@dataclass(frozen=True, slots=True)
class GeneratedEvalSet:
    """Generated questions, and how they were made. Printing it shows the report.

    Attributes:
        evalset: The questions.
        report: How they were made.
    """

    evalset: EvalSet
    report: GenerationReport

    def __len__(self) -> int:
        return len(self.evalset)

    def __str__(self) -> str:
        return str(self.report)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items()) or "none"
