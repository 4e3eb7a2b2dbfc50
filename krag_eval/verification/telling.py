"""A set of questions and a run in the words of ir_measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krag_eval.columns import Side
from krag_eval.evalset import EvalSet, Run
from krag_eval.results import EvaluationResult

# What ir_measures calls each of our metrics.
MEASURES = {
    "hit_rate": "Success",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "map": "AP",
}
# trec_eval counts documents by level, up to the highest one.
_HIGHEST_GAIN = 1 << 16


class Told:
    """The questions with gold documents and their rankings; documents go by numbers, since its names are less free.

    Attributes:
        places: The place of each of these questions in the set.
        query_ids: Its id.
        qrels: The judgments as whole numbers, by question and document; where grades are none, 1 for all gold.
        scores: The rankings as scores that fall from rank to rank.
    """

    def __init__(
        self, evalset: EvalSet, run: Run, level: str, doc_key: str, id_key: str | None, grade_key: str
    ) -> None:
        gold = Side("actual", evalset.gold(level, doc_key), id_key, grade_key)
        retrieved = Side("predicted", run.rankings(evalset), id_key, grade_key)
        grades: dict[str, dict[str, float]] = {}
        self.places: list[int] = []
        self.scores: dict[str, dict[str, float]] = {}
        self._n_repeats = 0
        for query in range(len(evalset)):
            names: dict[str, str] = {}
            judged: dict[str, float] = {}
            for place in range(*gold.offsets[query : query + 2].tolist()):
                id_ = gold.ids[place]
                name = f"gold {place}" if id_ is None else names.setdefault(id_, f"gold {place}")
                judged[name] = max(float(gold.grades[place]), judged.get(name, 0.0))
            if any(judged.values()):
                self.places.append(query)
                grades[f"q{query}"] = judged
                self.scores[f"q{query}"] = self._ranking(retrieved, query, names)
        self.query_ids = [evalset[place].id for place in self.places]
        whole = {grade for judged in grades.values() for grade in judged.values() if grade == int(grade)}
        self._has_whole_grades = whole.issuperset(grade for judged in grades.values() for grade in judged.values())
        self._highest = int(max(whole, default=0))
        self.qrels = {
            query: {name: int(grade) if self._takes_grades else int(grade > 0) for name, grade in judged.items()}
            for query, judged in grades.items()
        }
        self._gains = {int(grade): 2 ** int(grade) - 1 for grade in whole} if self._takes_exponential else {}

    def _ranking(self, retrieved: Side, query: int, names: dict[str, str]) -> dict[str, float]:
        scores: dict[str, float] = {}
        first, last = retrieved.offsets[query : query + 2].tolist()
        for place in range(first, last):
            id_ = retrieved.ids[place]
            name = f"retrieved {place}" if id_ is None else names.setdefault(id_, f"retrieved {place}")
            if name in scores:
                self._n_repeats += 1
                name = f"repeat {place}"
            scores[name] = float(last - place)
        return scores

    @property
    def _takes_grades(self) -> bool:
        return self._has_whole_grades and self._highest <= _HIGHEST_GAIN

    @property
    def _takes_exponential(self) -> bool:
        return self._has_whole_grades and self._highest < _HIGHEST_GAIN.bit_length()

    def measures(self, ir_measures: Any) -> dict[str, Any]:
        """The measures of ir_measures that can be asked for, by our key, without their cut-offs."""
        chosen = {key: getattr(ir_measures, name) for key, name in MEASURES.items()}
        if self._takes_exponential:
            differs = any(gain != grade for grade, gain in self._gains.items())
            chosen["ndcg"] = ir_measures.nDCG(gains=self._gains) if differs else ir_measures.nDCG
        if self._takes_grades:
            chosen["ndcg_linear"] = ir_measures.nDCG
        return chosen

    def notes(self, ours: EvaluationResult) -> Iterator[str]:
        """What is to be said about the comparison."""
        left_out = ours.n_queries - len(self.places)
        if left_out:
            yield f"Questions without a gold document, undefined here and not counted there: {left_out}."
        if self._n_repeats:
            yield f"Retrieved documents that repeat an earlier one, not relevant for either program: {self._n_repeats}."
        if ours.errors:
            yield f"Retrievals that failed, nothing retrieved for either program: {len(ours.errors)}."
        if not self._has_whole_grades:
            yield "nDCG is left out: trec_eval takes whole numbers as grades, and some are none."
        elif not self._takes_exponential:
            which = "nDCG with exponential gain" if self._takes_grades else "nDCG"
            yield f"{which} is left out: trec_eval keeps a counter for each gain up to the highest, which is too many."
