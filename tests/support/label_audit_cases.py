"""Small question sets and runs for the tests of the doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krag_eval import EvalSet, Run, RunRow

REFUNDS = "Refunds arrive within three working days."
PARCELS = "Parcels to the islands take two more days."
SHIPPING = "We ship on weekdays before noon."
FEES = "A fee of one euro is due for cash."

Documents = Sequence[str | Mapping[str, Any]]


def document(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """An id alone, or a whole document."""
    return {"id": given} if isinstance(given, str) else dict(given)


def run(name: str, rankings: Mapping[str, Documents | str]) -> Run:
    """A run; a string in the place of a ranking is an error."""
    return Run.of(
        name,
        [
            RunRow.from_dict(
                {"query_id": query_id, "error": ranking}
                if isinstance(ranking, str)
                else {"query_id": query_id, "retrieved": [document(one) for one in ranking]}
            )
            for query_id, ranking in rankings.items()
        ],
    )


def one_question(gold: Documents = ("g",), **fields: Any) -> EvalSet:
    """A set of the question `q`."""
    return EvalSet([{"id": "q", "question": "When?", "gold": [document(one) for one in gold], **fields}])


def runs_of(*rankings: Documents) -> list[Run]:
    """One run a ranking of the question `q`, called `s1`, `s2`, ..."""
    return [run(f"s{number}", {"q": ranking}) for number, ranking in enumerate(rankings, 1)]
