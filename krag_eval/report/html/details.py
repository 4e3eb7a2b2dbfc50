"""What became of every gold document and of every rank, as columns over all queries."""

from __future__ import annotations

import math
from typing import Any

from krag_eval.diagnosis import CAUSES
from krag_eval.explanation import Explanation, Match
from krag_eval.numerals import format_value
from krag_eval.report.html.numbering import NONE, Documents, Numbered, Texts
from krag_eval.report.records import Report, ReportedSystem

FOUND = len(CAUSES)
_CAUSE_NUMBERS = {cause: number for number, cause in enumerate(CAUSES)}


class Details:
    """The gold and the retrieved documents of all queries of a report.

    Attributes:
        missed: For each system and query the causes of its misses, as a sum of powers of two in the order of `CAUSES`.
    """

    def __init__(self, report: Report, texts: Texts) -> None:
        self.missed: list[list[int]] = []
        self._documents = Documents(texts)
        self._methods: Numbered[str] = Numbered()
        self._similarities: Numbered[str] = Numbered()
        self._scores: Numbered[str] = Numbered()
        self._answers = [texts.number(question.answer or None) for question in report.evalset or ()]
        self._gold: dict[str, list[Any]] = {name: [] for name in ("start", "document", "grade", "repeat")}
        self._systems = [self._read(system, is_first=not place) for place, system in enumerate(report.systems)]

    def columns(self) -> dict[str, Any]:
        """Everything, ready for JSON.

        Columns are flat: the documents of query `i` stand from `start[i]` to `start[i + 1]`. Ranks count from 1, and
        0 is no rank; places and numbers count from 0, and -1 is none. The matches of a rank stand beside `at`, its
        place in the columns of its system.
        """
        return {
            "ids": self._documents.ids.values(),
            "documents": self._documents.columns,
            "methods": self._methods.values(),
            "similarities": self._similarities.values(),
            "scores": self._scores.values(),
            "answers": self._answers,
            "gold": self._gold,
            "systems": self._systems,
        }

    @property
    def lacking(self) -> tuple[str, ...]:
        """Which documents have no texts at all: `"gold"`, `"retrieved"`, both, or none of them."""
        text = self._documents.columns["text"]
        sides = {"gold": [self._gold], "retrieved": [system["ranks"] for system in self._systems]}
        return tuple(
            name
            for name, columns in sides.items()
            if any(column["document"] for column in columns)
            and all(text[document] == NONE for column in columns for document in column["document"])
        )

    def _read(self, system: ReportedSystem, *, is_first: bool) -> dict[str, Any]:
        outcomes: dict[str, list[int]] = {name: [] for name in ("cause", "rank", "method", "similarity")}
        ranks: dict[str, list[int]] = {name: [] for name in ("start", "document", "score", "credit", "repeat")}
        matches: dict[str, list[int]] = {name: [] for name in ("at", "gold", "method", "similarity")}
        causes = {(miss.query_index, miss.gold_index): _CAUSE_NUMBERS[miss.cause] for miss in system.diagnosis.misses}
        missed: list[int] = []
        for explanation in system.result.explanations():
            if is_first:
                self._add_gold(explanation)
            missed.append(self._add_outcomes(outcomes, explanation, causes))
            self._add_ranks(ranks, matches, explanation)
        self.missed.append(missed)
        ranks["start"].append(len(ranks["document"]))
        if is_first:
            self._gold["start"].append(len(self._gold["document"]))
        errors = {str(query): error for query, error in system.result.errors.items()}
        return {"gold": outcomes, "ranks": ranks, "matches": matches, "errors": errors}

    def _add_gold(self, explanation: Explanation) -> None:
        self._gold["start"].append(len(self._gold["document"]))
        for outcome in explanation.gold:
            self._gold["document"].append(self._documents.number(outcome.document))
            grade = outcome.document.grade
            self._gold["grade"].append(None if grade is None else f"{grade:g}")
            self._gold["repeat"].append(NONE if outcome.repeat_of is None else outcome.repeat_of)

    def _add_outcomes(
        self, outcomes: dict[str, list[int]], explanation: Explanation, causes: dict[tuple[int, int], int]
    ) -> int:
        missed = 0
        for place, outcome in enumerate(explanation.gold):
            cause = causes.get(
                (explanation.index, place), FOUND if outcome.is_counted and outcome.repeat_of is None else NONE
            )
            match = outcome.match or outcome.nearest
            outcomes["cause"].append(cause)
            outcomes["rank"].append(match.rank if match else 0)
            outcomes["method"].append(self._methods.number(match.method) if match else NONE)
            outcomes["similarity"].append(self._similarity(match))
            missed |= 1 << cause if 0 <= cause < FOUND else 0
        return missed

    def _add_ranks(self, ranks: dict[str, list[int]], matches: dict[str, list[int]], explanation: Explanation) -> None:
        ranks["start"].append(len(ranks["document"]))
        for rank in explanation.ranks:
            for match in rank.matches:
                matches["at"].append(len(ranks["document"]))
                matches["gold"].append(match.gold)
                matches["method"].append(self._methods.number(match.method))
                matches["similarity"].append(self._similarity(match))
            ranks["document"].append(self._documents.number(rank.document))
            ranks["score"].append(self._scores.number(_score(rank.document.score)))
            ranks["credit"].append(2 if rank.is_credited else int(rank.is_relevant))
            ranks["repeat"].append(rank.repeat_of or 0)

    def _similarity(self, match: Match | None) -> int:
        return NONE if match is None else self._similarities.number(format_value(match.similarity, 3))


def _score(score: float | None) -> str | None:
    return None if score is None or math.isnan(score) else f"{score:.4g}"
