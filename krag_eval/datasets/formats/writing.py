"""What every writer shares: where it writes, and what the format could not hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval.datasets.evalset import EvalSet
from krag_eval.documents.readers import IdKey

FIELDS = ("question", "answer", "type", "notes", "source", "metadata")


@dataclass(frozen=True, slots=True)
class Writing:
    """One file that is being written, and what its format cannot hold.

    Attributes:
        path: The file.
        format: The name of the format.
        id_key: As for `evaluate`: the key of the metadata that has the id.
        grade_key: As for `evaluate`: the key of the metadata that has the grade of a gold document.
        evalset: The evaluation set of a run, if it is known.
        lost: What the format cannot hold, and how often that occurred.
    """

    path: str
    format: str
    id_key: IdKey | None = None
    grade_key: str = "relevance"
    evalset: EvalSet | None = None
    lost: Counter[str] = field(default_factory=Counter)

    def warn(self) -> None:
        """Warn once about everything that was lost."""
        if self._named():
            warn(
                f"{self.path}: the format {self.format!r} cannot hold everything. Lost or changed: {self._named()}. "
                "Write JSONL to keep it all."
            )

    def _named(self) -> str:
        return ", ".join(f"{what}: {count}" for what, count in sorted(self.lost.items()) if count)


def numbered(number: int | None) -> str:
    """Return the id of a row that has none: its number.

    Raises:
        InvalidInputError: The number is not known, because lines before the row were skipped unread.
    """
    if number is None:
        raise InvalidInputError(
            "has no id, and lines before it were skipped, so its number is not known. Give each row an id, or "
            "correct those lines."
        )
    return str(number)
