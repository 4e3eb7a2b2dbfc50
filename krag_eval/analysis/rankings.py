"""Compare approximate with exact search: the recall of the index itself, which needs no labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.formatting import format_interval, format_percent, format_value, number_of, one_line
from krag_eval._utils.objects import Printed
from krag_eval._utils.serialization import plain_fields
from krag_eval.analysis.comparison.systems import some
from krag_eval.datasets import Run
from krag_eval.datasets.run import as_run
from krag_eval.documents.document import Document
from krag_eval.statistics.bootstrap import mean_intervals
from krag_eval.statistics.checks import check_confidence, need_scipy

_ROUNDS, _WORST = 10_000, 5


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankingComparison(Printed):
    """How much of an exact ranking an approximate one has. Print it, or export it.

    Attributes:
        k: The cut-off.
        overlaps: For each question the share of the first `k` documents of the exact ranking that the first `k` of the
            approximate one have, from 0 to 1.
        lost: For each question with an overlap below 1 the documents that are missing.
        mean: The mean overlap: the recall of the index.
        interval: Its interval over all such questions.
        errors: What the approximate search raised, by question; these count as 0.
        missing: Questions without a row in the approximate run; these count as 0.
        undefined: Questions that are left out, because exact search raised or returned nothing.
    """

    k: int
    overlaps: Mapping[str, float]
    lost: Mapping[str, tuple[str, ...]]
    mean: float
    interval: tuple[float, float]
    errors: Mapping[str, str]
    missing: tuple[str, ...]
    undefined: tuple[str, ...]

    @property
    def lost_share(self) -> float:
        """The share of the questions that lost at least one document."""
        return len(self.lost) / len(self.overlaps)

    def worst(self, n: int = _WORST) -> dict[str, float]:
        """Return the `n` questions with the lowest overlap below 1, lowest first."""
        return {query: self.overlaps[query] for query in sorted(self.lost, key=self.overlaps.__getitem__)[:n]}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return plain_fields(self, *self.__slots__, "lost_share")

    def __str__(self) -> str:
        of = f"({format_interval(self.interval)}) of {number_of(len(self.overlaps), 'question')}"
        lost = f"{format_percent(self.lost_share)} of them lost something"
        lines = [f"overlap@{self.k} {format_value(self.mean)} {of}; {lost}"]
        lines += [f"  {one_line(query)}: {overlap:.2f}" for query, overlap in self.worst().items()]
        named = {"failed": [*self.errors], "without a row": self.missing, "left out": self.undefined}
        lines += [f"  {name}: {number_of(len(ids), 'question')}: {some(ids)}" for name, ids in named.items() if ids]
        return "\n".join(lines)


def compare_rankings(
    exact: object, approximate: object, k: int = 10, *, confidence: float = 0.95, seed: int = 0
) -> RankingComparison:
    """Compare what an approximate index returns with what exact search returns. Needs scipy (extra `stats`).

        overlap@k = documents of the exact first k that are in the approximate first k / documents of the exact first k

    Documents are the same if their ids are, or their texts where they have no id. If the exact ranking carries scores,
    documents that tie with the last one within `k` are interchangeable: an index may return any of them. Give the exact
    ranking deeper than `k`, so that those below the cut-off are known.

    Args:
        exact: A `Run`, rankings by query, or a list of rankings, whose questions are then numbered from 0. A ranking is
            a list of documents, ids or `(id, score)` pairs, best first.
        approximate: The same of the approximate index.
        k: The cut-off.
        confidence: The confidence of the interval.
        seed: Of the interval.

    Raises:
        InvalidInputError: The rankings are of different questions, or a row is a session of several searches.
        MissingDependencyError: scipy is not installed.

    >>> found = compare_rankings([["a", "b", "c"], ["d", "e", "f"]], [["a", "c", "x"], ["e", "d", "f"]], k=3)
    >>> found.overlaps, found.lost
    ({'0': 0.6666666666666666, '1': 1.0}, {'0': ('b',)})
    """
    need_scipy("compare_rankings")
    check_count("k", k)
    confidence, seed = check_confidence(confidence), check_count("seed", seed, least=0)
    one, other = _as_run(exact, "exact"), _as_run(approximate, "approximate")
    if unknown := [query for query in other.rows if query not in one.rows]:
        told = f"`approximate` has {number_of(len(unknown), 'question')} that `exact` does not have: {some(unknown)}."
        if len(unknown) == len(other):
            raise InvalidInputError(f"{told} Ask both indexes the same questions.")
        warn(f"{told} They are left out.")
    overlaps: dict[str, float] = {}
    lost: dict[str, tuple[str, ...]] = {}
    for query, row in one.rows.items():
        if row.error is None and row.ranking:
            answer = other.rows.get(query)
            overlaps[query], missed = _overlap(row.ranking, answer.ranking if answer else (), k)
            if missed:
                lost[query] = missed
    if not overlaps:
        raise InvalidInputError("`exact` has no ranking with a document. Give what exact search returned.")
    column = np.array(list(overlaps.values()))[:, None]
    low, high = mean_intervals(column, (np.zeros(1), np.ones(1)), confidence, _ROUNDS, seed)
    return RankingComparison(
        k=k,
        overlaps=overlaps,
        lost=lost,
        mean=float(column.mean()),
        interval=(float(low[0]), float(high[0])),
        errors={query: error for query, error in other.errors.items() if query in overlaps},
        missing=tuple(query for query in overlaps if query not in other.rows),
        undefined=tuple(query for query in one.rows if query not in overlaps),
    )


def _as_run(given: Any, name: str) -> Run:
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    return as_run({str(number): ranking for number, ranking in enumerate(given)} if is_list else given, name)


def _overlap(exact: Sequence[Document], found: Sequence[Document], k: int) -> tuple[float, tuple[str, ...]]:
    """Return the overlap, and the names of the documents that are missing."""
    scores = {_name(document): document.score for document in reversed(exact)}
    wanted, have = list(dict.fromkeys(map(_name, exact))), {_name(document): document.score for document in found[:k]}
    first, tie = wanted[:k], scores[wanted[:k][-1]]
    missed = [name for name in first if name not in have]
    if tie is not None:
        is_open = scores[wanted[-1]] == tie  # the tie may go on below what exact search returned
        spare = sum(
            scores.get(name, own if is_open else None) == tie for name, own in have.items() if name not in first
        )
        tied = [name for name in missed if scores[name] == tie]
        missed = [name for name in missed if name not in tied[: min(spare, len(tied))]]
    return (len(first) - len(missed)) / len(first), tuple(missed)


def _name(document: Document) -> str:
    return document.id or document.text or ""
