"""What a judge said: of a chunk, of a statement, of everything about one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from krag_eval.wrong_names import TellsAttributes


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """What the judge said of one retrieved chunk.

    Attributes:
        is_useful: Whether it was useful for arriving at the reference; None where the judge gave no verdict.
        reason: Why, in the judge's words, or None.
        error: Why there is no verdict, or None.
        repeats: The rank of the earlier chunk with the same text; the judge is not asked again, and a repeat is not
            useful.
    """

    is_useful: bool | None
    reason: str | None
    error: str | None = None
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """What the judge said of one statement of a reference.

    Attributes:
        text: The statement.
        is_attributed: Whether the retrieved chunks say it.
        reason: Why, in the judge's words.
    """

    text: str
    is_attributed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class ContextRow(TellsAttributes):
    """One question with the verdicts on what was retrieved for it.

    Attributes:
        index: Its place in the input, from 0.
        id: Its id, where ids were given.
        question: Its text.
        references: The references that are not empty.
        n_retrieved: How many chunks were judged, repeats among them.
        values: Metric to value; None where it is undefined.
        chunks: The verdict on each chunk, best rank first; empty where context precision was not asked for.
        statements: The verdict on each statement of the reference that is best covered; empty where context recall
            was not asked for, nothing was retrieved, or the judge failed.
        failures: What went wrong with the judge, in its words.
        error: What the retriever raised, if it did.
    """

    _value_of = "row.values[{}]"

    index: int
    id: str | None
    question: str | None
    references: tuple[str, ...]
    n_retrieved: int
    values: Mapping[str, float | None]
    chunks: tuple[ChunkVerdict, ...] = ()
    statements: tuple[StatementVerdict, ...] = ()
    failures: tuple[str, ...] = ()
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as one dict, ready for JSON."""
        row = {name: getattr(self, name) for name in ("index", "id", "question", "n_retrieved", "error")}
        row |= {"references": list(self.references), "failures": list(self.failures)}
        row |= {"chunks": [asdict(chunk) for chunk in self.chunks]}
        row |= {"statements": [asdict(statement) for statement in self.statements]}
        return row | dict(self.values)
