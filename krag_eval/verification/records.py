"""What two programs make of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

AGREEMENT = 1e-9
"""The difference below which two programs are said to agree. Both add the same terms, in orders of their own."""


@dataclass(frozen=True, slots=True)
class VerifiedMeasure:
    """One measure at one cut-off, by both programs.

    Attributes:
        key: The key of krag_eval, such as `"recall@5"`; `"ndcg_linear@5"` has the grade itself as gain.
        measure: What ir_measures calls it, such as `"R@5"`.
        ours: The mean over the queries with gold documents.
        theirs: The same by ir_measures.
        difference: The largest difference of a query.
        query_id: The query that has it; None where no query differs.
    """

    key: str
    measure: str
    ours: float
    theirs: float
    difference: float
    query_id: str | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Verification:
    """What two programs make of one run.

    Attributes:
        run: The name of the run.
        rows: Each measure at each cut-off.
        n_queries: How many queries were compared: those with gold documents.
        notes: What had to be said for the other program, and what could not be.
        versions: The versions of the other program and of what it uses.
        signature: The settings of krag_eval under which the two are comparable.
    """

    run: str
    rows: tuple[VerifiedMeasure, ...]
    n_queries: int
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    signature: str

    @property
    def largest(self) -> VerifiedMeasure:
        """The measure with the largest difference of a query."""
        return max(self.rows, key=lambda row: row.difference)

    @property
    def agrees(self) -> bool:
        """Whether no query differs by `AGREEMENT` or more."""
        return self.largest.difference < AGREEMENT

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "run": self.run,
            "agrees": self.agrees,
            "largest_difference": self.largest.difference,
            "n_queries": self.n_queries,
            "measures": [
                {
                    "key": row.key,
                    "measure": row.measure,
                    "ours": row.ours,
                    "theirs": row.theirs,
                    "largest_difference": row.difference,
                    "query_id": row.query_id,
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "signature": self.signature,
        }

    @property
    def verdict(self) -> str:
        """One sentence on the largest difference."""
        ends = "they agree" if self.agrees else f"they differ in {self.largest.key} (query {self.largest.query_id})"
        return f"Largest difference of a query: {self.largest.difference:.1e}, {ends}."

    def __repr__(self) -> str:
        return f"Verification of {self.run!r} on {self.n_queries} queries. {self.verdict}"
