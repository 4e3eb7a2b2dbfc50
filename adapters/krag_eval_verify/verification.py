"""Score a run with ir_measures too, and compare the two programs query by query."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from krag_eval import METRICS, EvalSet, EvaluationResult, InvalidInputError, Run, as_evalset, evaluate_run
from krag_eval.toolkit import (
    DOC_KEY,
    ComparedByFields,
    FloatArray,
    IdKey,
    Printed,
    Side,
    check_ranks,
    gold_first,
    make_settings,
    needing,
    plain_fields,
)

AGREEMENT = 1e-9
"""The difference below which two programs are said to agree. Both add the same terms, in orders of their own."""
# The fields of a measure, as JSON names them.
_COLUMNS = ("key", "measure", "ours", "theirs", "largest_difference", "query_id")


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
class Verification(Printed, ComparedByFields):
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
        """Return everything, ready for JSON."""
        return {
            "run": self.run,
            "agrees": self.agrees,
            "largest_difference": self.largest.difference,
            "n_queries": self.n_queries,
            "measures": [dict(zip(_COLUMNS, astuple(row), strict=True)) for row in self.rows],
            **plain_fields(self, "notes", "versions", "signature"),
        }

    @property
    def verdict(self) -> str:
        """One sentence on the largest difference."""
        ends = "they agree" if self.agrees else f"they differ in {self.largest.key} (query {self.largest.query_id})"
        return f"Largest difference of a query: {self.largest.difference:.1e}, {ends}."

    def __str__(self) -> str:
        return f"Verification of {self.run!r} on {self.n_queries} queries. {self.verdict}"


# What ir_measures calls each of our metrics.
_MEASURES = {
    "hit_rate": "Success",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "map": "AP",
}
# trec_eval counts documents by level, up to the highest one.
_HIGHEST_GAIN = 1 << 16


@gold_first()
def verify(
    evalset: object,
    run: Run,
    k: int | Sequence[int] = (1, 3, 5, 10),
    *,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    id_key: IdKey | None = None,
    id_map: str | Callable[[str], str] | None = None,
    grade_key: str = "relevance",
) -> Verification:
    """Score a run by id with krag_eval and with ir_measures (trec_eval), and compare query by query.

    What is defined differently is made the same: precision is divided by k; a repeated document keeps its rank and
    earns nothing, which ir_measures is given by another name for each repeat; ranks are given by falling scores, since
    trec_eval sorts by score and then by name. Questions without gold documents are undefined here, and are left out
    there too. nDCG with exponential gain is nDCG over the gains 2^grade - 1 there.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        run: The rankings.
        k: One cut-off or several, each at least 1.
        level: `"chunk"` or `"document"`, as in `evaluate_run`.
        doc_key: The metadata key of document ids.
        id_key: Read ids from the metadata under this key alone.
        id_map: Compare ids as a function or a name such as `"basename"` writes them, as in `evaluate`.
        grade_key: Read grades from the metadata under this key.

    Raises:
        InvalidInputError: Something given cannot be used, or no question has gold documents.
        MissingDependencyError: ir_measures or pytrec_eval is not installed.
    """
    ir_measures = _load()
    questions = as_evalset(evalset)
    cut_offs = check_ranks(k, "this comparison")
    settings: Any = {} if id_key is None else {"id_key": id_key}
    ours = evaluate_run(
        questions,
        run,
        cut_offs,
        level=level,
        doc_key=doc_key,
        metrics=[*_MEASURES, "ndcg", "r_precision", ndcg_linear],
        grade_key=grade_key,
        precision_denominator="k",
        id_map=id_map,
        **settings,
    )
    key = id_key or (doc_key if level == "document" else None)
    how = make_settings(match_method="id", id_key=key, grade_key=grade_key, id_map=id_map).reading
    gold, retrieved = Side("actual", questions.gold(level, doc_key), **how), run.rankings(questions)
    given = _TrecInput(questions, gold, Side("predicted", retrieved, **how))
    if not given.qrels:
        raise InvalidInputError("No question has a gold document, so there is nothing to compare. Give another set.")
    measures = {
        f"{name}@{cut_off}": measure @ cut_off
        for name, measure in given.measures(ir_measures).items()
        for cut_off in cut_offs
    } | {"r_precision": ir_measures.Rprec}
    # ir_measures may mix nDCG up with nDCG over other gains where it is asked for both at once.
    with_gains = {measure for key, measure in measures.items() if key.startswith("ndcg@")}
    theirs = {
        (metric.measure, metric.query_id): float(metric.value)
        for asked in (with_gains, {*measures.values()} - with_gains)
        if asked
        for metric in ir_measures.iter_calc([*asked], given.qrels, given.scores)
    }
    detail: Any = ours.detail  # `evaluate_run` keeps it
    return Verification(
        run=run.name,
        rows=tuple(_compare(key, measure, detail.values[key], theirs, given) for key, measure in measures.items()),
        n_queries=len(given.qrels),
        notes=tuple(given.notes(ours)),
        versions={name: version(name) for name in ("ir-measures", "pytrec-eval-terrier")},
        signature=ours.signature,
    )


def _load() -> Any:
    for module, package in (("ir_measures", "ir-measures"), ("pytrec_eval", "pytrec-eval-terrier")):
        with needing("verify", package, "verify", module=module):
            importlib.import_module(module)
    return importlib.import_module("ir_measures")


def ndcg_linear(judged: Any, k: Any) -> FloatArray:
    """Return nDCG with the grade as gain."""
    return METRICS["ndcg"].function(judged, k, gain="linear")


def _compare(
    key: str, measure: Any, values: FloatArray, theirs: Mapping[tuple[Any, str], float], given: _TrecInput
) -> VerifiedMeasure:
    """Compare one measure, query by query."""
    own: FloatArray = values[given.places]
    other: FloatArray = np.array([theirs[measure, name] for name in given.qrels])
    differences = np.nan_to_num(np.abs(own - other), nan=np.inf)
    worst = int(differences.argmax())
    return VerifiedMeasure(
        key=key,
        measure=str(measure),
        ours=math.fsum(own.tolist()) / len(own),
        theirs=math.fsum(other.tolist()) / len(other),
        difference=float(differences[worst]),
        query_id=given.query_ids[worst] if differences[worst] else None,
    )


class _TrecInput:
    """The questions with gold documents and their rankings; documents go by numbers, since its names are less free.

    Attributes:
        places: The place of each of these questions in the set.
        query_ids: Its id.
        qrels: The judgments as whole numbers, by question and document; where grades are none, 1 for all gold.
        scores: The rankings as scores that fall from rank to rank.
    """

    def __init__(self, evalset: EvalSet, gold: Side, retrieved: Side) -> None:
        if gold.needs is not None:
            raise InvalidInputError(
                "The set has needs with several alternatives, which trec_eval does not know: there is nothing to "
                "compare with. Verify a set of plain gold documents."
            )
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
        """Return the measures of ir_measures that can be computed, by our key, without their cut-offs."""
        chosen = {key: getattr(ir_measures, name) for key, name in _MEASURES.items()}
        if self._takes_exponential:
            differs = any(gain != grade for grade, gain in self._gains.items())
            chosen["ndcg"] = ir_measures.nDCG(gains=self._gains) if differs else ir_measures.nDCG
        if self._takes_grades:
            chosen["ndcg_linear"] = ir_measures.nDCG
        return chosen

    def notes(self, ours: EvaluationResult) -> Iterator[str]:
        """Yield notes on the comparison."""
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
