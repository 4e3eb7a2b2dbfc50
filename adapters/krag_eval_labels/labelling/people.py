"""What several people say of one document: the majority, or else they are asked again."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping

from krag_eval import InvalidInputError
from krag_eval.toolkit import one_line
from krag_eval_labels.estimation import label_agreement

Votes = Mapping[str, float]
"""The grade that each person gave, by name; the name of one who gave none is empty."""


def majority(grades: Collection[float]) -> float | None:
    """Return the grade that more than half gave; None if there is none.

    >>> majority([1, 1, 0]), majority([1]), majority([2, 1]), majority([])
    (1, 1, None, None)
    """
    grade, count = Counter(grades).most_common(1)[0] if grades else (None, 0)
    return grade if 2 * count > len(grades) else None


def is_disputed(votes: Votes) -> bool:
    """Return whether people gave grades of which none has the majority."""
    return len(votes) > 1 and majority(votes.values()) is None


def agreements(votes: Mapping[tuple[str, str], Votes]) -> list[str]:
    """Return a line per two people who labelled the same documents: how well they agree, beyond chance.

    Args:
        votes: By question and document.
    """
    lines, labels = [], dict[str, dict[str, dict[str, float]]]()
    for (query, document), said in votes.items():
        for name, grade in said.items():
            labels.setdefault(name, {}).setdefault(query, {})[document] = grade
    for pair in itertools.combinations(sorted(labels), 2):
        try:
            agreement = label_agreement(labels[pair[0]], labels[pair[1]])
        except InvalidInputError:  # no document has labels of both
            continue
        lines.append(agreement.between(" and ".join(one_line(name) or "one without a name" for name in pair)))
    return lines
