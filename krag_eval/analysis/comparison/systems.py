"""The systems and slices of a comparison: score runs, and refuse results that cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean, refuse, warn, with_name
from krag_eval._utils.progress import ProgressHook, reporter
from krag_eval._utils.said import said
from krag_eval.datasets import EvalSet, Question, Run
from krag_eval.datasets.by_query import by_query
from krag_eval.datasets.evalset import as_evalset
from krag_eval.datasets.run import as_run
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.detail import Detail, detail_of
from krag_eval.evaluation.intervals import Clusters, with_all_intervals
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.runs import evaluate_run

MISSING = ("refuse", "empty")
Systems = Mapping[str, Run | EvaluationResult | Sequence[Run | EvaluationResult]]


@dataclass(frozen=True, slots=True)
class System:
    """A system and its scores.

    Attributes:
        name: What it is called.
        result: Its scores.
        detail: What the result kept of every query; its values are the means over all runs.
        runs: The values of each run, one by default.
    """

    name: str
    result: EvaluationResult
    detail: Detail
    runs: tuple[Mapping[str, FloatArray], ...] = ()


def results_alone(evalset: Any, systems: Any) -> tuple[object, Any]:
    """Return the evaluation set and the systems of a call; a single argument is results, which need no set."""
    return (None, evalset) if systems is None else (evalset, systems)


def check_systems(
    systems: object, baseline: object, fewest: int = 2
) -> tuple[Mapping[str, Run | EvaluationResult], str]:
    """Return the systems by name, and the name of the baseline: by default the first one.

    Raises:
        InvalidInputError: They are no mapping from names to runs or results, fewer than `fewest`, or the baseline is
            none of them.
    """
    if not isinstance(systems, Mapping) or not all(isinstance(name, str) and name for name in systems):
        cure = 'Write {"bm25": run1, "hybrid": run2}.'
        refuse("systems", "a mapping from names to runs or results", systems, cure)
    systems = {  # rankings by query, as of ranx and pytrec_eval, are a run
        name: given if isinstance(given, (Run, EvaluationResult)) or by_query(given) is None else as_run(given, name)
        for name, given in systems.items()
    }
    for name, system in systems.items():
        if not isinstance(system, (Run, EvaluationResult)):
            refuse(f"systems[{name!r}]", "a Run, or the result of an evaluation", system)
    if len(systems) < fewest:
        raise InvalidInputError(
            f"A comparison needs at least two systems, got {len(systems)}. Add the baseline."
            if fewest > 1
            else "There is no system to report. Give at least one run or result."
        )
    if baseline is None:
        return systems, next(iter(systems))
    if not isinstance(baseline, str) or baseline not in systems:
        raise InvalidInputError(
            f"The baseline {baseline!r:.60} is none of the systems.{did_you_mean(baseline, systems)} "
            f"They are: {', '.join(systems)}."
        )
    return systems, baseline


def score(
    questions: EvalSet | None,
    systems: Mapping[str, Run | EvaluationResult],
    missing: str,
    scoring: Mapping[str, Any],
    report: Callable[[int], object] = bool,
) -> list[System]:
    """Return the systems with their scores; runs are scored here.

    Args:
        questions: The evaluation set; runs need one.
        systems: The systems by name.
        missing: `"refuse"` runs that lack questions which another has, or count them as `"empty"`.
        scoring: Arguments of `evaluate_run`.
        report: Is told how many are scored, after each.

    Raises:
        InvalidInputError: A run cannot be scored, or the systems were asked different questions.
    """
    one_of("missing", missing, MISSING)
    runs = {name: system for name, system in systems.items() if isinstance(system, Run)}
    if runs and questions is None:
        raise InvalidInputError(
            "Runs are scored against an evaluation set, and none was given. Give it before the runs."
        )
    if questions is not None:
        _check_rows(runs, questions, missing)
    scored = []
    for number, (name, system) in enumerate(systems.items(), 1):
        scored.append(_scored(name, system, questions, scoring))
        report(number)
    return scored


class ScoredSystems(NamedTuple):
    """Systems that were measured by the same rule on the same questions.

    Attributes:
        questions: The evaluation set; None if only results were given.
        results: Their scores by name, the baseline first.
        runs: The runs among them.
        slices: The slices of the questions.
    """

    questions: EvalSet | None
    results: dict[str, EvaluationResult]
    runs: dict[str, Run]
    slices: list[Slice]

    @classmethod
    def of(
        cls,
        evalset: object,
        systems: Any,
        *,
        baseline: str | None,
        by: object,
        missing: str,
        scoring: Mapping[str, Any],
        progress: bool | ProgressHook | None,
    ) -> ScoredSystems:
        """Score one system or several, and check that their numbers compare; see `build_report` for the arguments.

        Raises:
            InvalidInputError: An argument is invalid, or the systems do not compare.
        """
        evalset, systems = results_alone(evalset, systems)
        given, first = check_systems(systems, baseline, fewest=1)
        questions = None if evalset is None else as_evalset(evalset)
        slices = [] if questions is None else slices_of(questions, by)
        told = reporter(progress, "score", len(given))
        told(0)
        scored = sorted(score(questions, given, missing, scoring, told), key=lambda system: system.name != first)
        check_comparable(questions, scored)
        told(len(given), is_over=True)
        runs = {name: system for name, system in given.items() if isinstance(system, Run)}
        return cls(questions, {system.name: system.result for system in scored}, runs, slices)

    def results_with_intervals(self, seed: int, cluster: Clusters, doc_key: IdKey) -> dict[str, EvaluationResult]:
        """Return the scores with the intervals of `intervals_of`, where they have none yet; all share the draws."""
        return with_all_intervals(self.results, seed, cluster, self.questions, doc_key)


def _scored(name: str, system: Run | EvaluationResult, questions: EvalSet | None, scoring: Mapping[str, Any]) -> System:
    result = with_name(name, partial(evaluate_run, questions, system, **scoring)) if isinstance(system, Run) else system
    detail = detail_of(result, "it cannot be compared query by query", name)
    return System(name, result, detail, (detail.values,))


Repeats = Mapping[str, Sequence[Run | EvaluationResult]]


def split_repeated(systems: object) -> tuple[object, Repeats]:
    """Return the first run of each system, and the further ones by name; other lists are left as they are."""
    if not isinstance(systems, Mapping):
        return systems, {}
    lists = {
        name: given
        for name, given in systems.items()
        if isinstance(given, (list, tuple)) and given and all(isinstance(run, (Run, EvaluationResult)) for run in given)
    }
    return {**systems, **{name: runs[0] for name, runs in lists.items()}}, {n: runs[1:] for n, runs in lists.items()}


def with_repeats(first: System, further: Sequence[System]) -> System:
    """Return a system with the means of the values over its runs."""
    if not further:
        return first
    runs = [first.detail.values, *(system.detail.values for system in further)]
    shared = [key for key in runs[0] if all(key in values for values in runs)]
    means = {key: np.mean([values[key] for values in runs], axis=0) for key in shared}
    return replace(first, detail=replace(first.detail, values=means), runs=tuple(runs))


def _check_rows(runs: Mapping[str, Run], questions: EvalSet, missing: str) -> None:
    """Refuse runs that lack questions which other runs have."""
    for run in runs.values():
        run.unknown(questions)  # raises where it is the run of another set
    lacking = {name: run.missing(questions) for name, run in runs.items()}
    by_all = set.intersection(*map(set, lacking.values())) if lacking else set()
    for name, ids in lacking.items():
        only_here = [query_id for query_id in ids if query_id not in by_all]
        if only_here and missing == "refuse":
            raise InvalidInputError(
                f"The run {name!r} has no row for {len(only_here)} of {len(questions)} questions that other runs "
                f"have: {some(only_here)}. Run the retriever for them, or count them as nothing retrieved with ",
                Argument("missing", "empty"),
                ", if that is what a missing row means.",
            )
    if by_all:
        left = [query_id for query_id in questions.ids if query_id in by_all]
        warn(
            f"{len(left)} of {len(questions)} questions have no row in any run and count as nothing retrieved for all: "
            f"{some(left)}. Compare on the set without them if they were not asked."
        )


def check_comparable(questions: EvalSet | None, systems: Sequence[System]) -> None:
    """Refuse systems that were not measured by the same rule on the same questions.

    Raises:
        InvalidInputError: Signatures, questions or gold documents differ; the message says where.
    """
    first, *others = systems
    queries = _queries_of(first)
    for other in others:
        _check_queries(queries, _queries_of(other))
        if first.result.signature != other.result.signature:
            raise InvalidInputError(
                f"{first.name!r} and {other.name!r} were scored by different rules, so their numbers do not compare: "
                f"{_signature_difference(first, other)}. Score both with the same settings."
            )
        _check_gold(first, other)
    if questions is not None:
        _check_queries(_Queries("the evaluation set", questions.ids, len(questions)), queries)


class _Queries(NamedTuple):
    """The queries of a result or a set: what to call it, their ids if there are any, and how many there are."""

    name: str
    ids: Sequence[str] | None
    n: int


def _queries_of(system: System) -> _Queries:
    return _Queries(f"the result of {system.name!r}", system.detail.query_ids, system.result.n_queries)


def _check_queries(one: _Queries, other: _Queries) -> None:
    here, there = set(one.ids or ()), set(other.ids or ())
    if here and there and here != there:
        only_here = [query_id for query_id in one.ids or () if query_id not in there]
        only_there = [query_id for query_id in other.ids or () if query_id not in here]
        parts = [
            f"{len(only)} are only in {side.name}: {some(only)}"
            for side, only in ((one, only_here), (other, only_there))
            if only
        ]
        raise InvalidInputError(
            f"The queries of {one.name} and {other.name} differ: {'; '.join(parts)}. Score both on the same questions."
        )
    if one.n != other.n:
        raise InvalidInputError(
            f"There are {one.n} queries in {one.name} and {other.n} in {other.name}, so they cannot be compared query "
            "by query. Score both on the same questions."
        )
    ids, other_ids = one.ids, other.ids
    if ids is not None and other_ids is not None and list(ids) != list(other_ids):
        place = next(i for i, (a, b) in enumerate(zip(ids, other_ids, strict=True)) if a != b)
        raise InvalidInputError(
            f"{one.name} and {other.name} have the same queries in another order: query {place} is {ids[place]!r} here "
            f"and {other_ids[place]!r} there. Score both in the same order."
        )


def _signature_difference(one: System, other: System) -> str:
    ours, theirs = (
        {name: value for name, _, value in (part.partition(":") for part in system.result.signature.split("|"))}
        for system in (one, other)
    )
    return "; ".join(
        f"{name} is {ours.get(name, 'not set')} for {one.name!r} and {theirs.get(name, 'not set')} for {other.name!r}"
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    )


def _check_gold(one: System, other: System) -> None:
    ours, theirs = one.detail.judged, other.detail.judged
    differ = np.flatnonzero(ours.n_gold != theirs.n_gold).tolist()
    if not differ:
        here, there = _gold_names(one.detail), _gold_names(other.detail)
        position = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), None)
        if position is None and len(here) == len(there):
            return
        differ = [] if position is None else [int(one.detail.batch.actual.query_of(np.array([position]))[0])]
    names = [one.detail.query_ids[query] if one.detail.query_ids is not None else str(query) for query in differ]
    raise InvalidInputError(
        f"The gold documents of {one.name!r} and {other.name!r} differ, first for the query {some(names[:1]) or '?'}. "
        "Score both against the same gold documents, in the same order."
    )


def _gold_names(detail: Detail) -> list[tuple[str | None, ...]]:
    """Return what the matching methods read of each gold document."""
    side, settings = detail.batch.actual, detail.batch.settings
    columns = [side.ids] if settings.uses_ids else []
    return list(zip(*columns, *([side.texts] if settings.uses_texts else []), strict=True))


def some(ids: Sequence[str], most: int = 5) -> str:
    """Return the first ids, and how many more there are."""
    shown = ", ".join(map(repr, ids[:most]))
    return shown if len(ids) <= most else said("some-and-more", "{ids} and {n} more", ids=shown, n=len(ids) - most)


MOST_VALUES = 100
_DEFAULT = "type"


class Slice(NamedTuple):
    """Some questions: all with one value in a field; of several values in a list, a question has each.

    Attributes:
        field: The field or metadata key; None for all questions.
        value: The value; None for questions that have none.
        chosen: The places of these questions in the set, sorted.
    """

    field: str | None
    value: str | None
    chosen: IntArray


def slices_of(questions: EvalSet, by: object) -> list[Slice]:
    """Return the slices by each of these fields, the largest first.

    Args:
        questions: The set.
        by: One field of `Question` or key of its metadata, or several; None is `type` where any question has one.

    Raises:
        InvalidInputError: No question has such a field, or it has too many values to be one to slice by.
    """
    if by is None:
        by = (_DEFAULT,) if any(question.type is not None for question in questions) else ()
    fields = [by] if isinstance(by, str) else by
    if not isinstance(fields, Sequence) or not all(isinstance(field, str) for field in fields):
        refuse("by", "a field of the questions or a list of fields", by)
    return [part for field in dict.fromkeys(fields) for part in _slices_by(questions, field)]


def _slices_by(questions: EvalSet, field: str) -> list[Slice]:
    places: dict[str | None, list[int]] = {}
    for place, question in enumerate(questions):
        for value in _values(question, field):
            places.setdefault(value, []).append(place)
    if not places.keys() - {None}:
        known = sorted({"type", "source", *(key for q in questions for key in (*q.metadata, *q.further))})
        raise InvalidInputError(
            f"No question has {field!r}, so there is nothing to slice by.{did_you_mean(field, known)} "
            f"Known fields: {', '.join(known)}."
        )
    if len(places) > MOST_VALUES:
        raise InvalidInputError(
            f"{field!r} has {len(places)} different values, and a slice each would say nothing. "
            f"Slice by a field with at most {MOST_VALUES}, such as a type or a language."
        )
    parts = [Slice(field, value, np.array(chosen, dtype=np.int64)) for value, chosen in places.items()]
    return sorted(parts, key=lambda part: (-len(part.chosen), str(part.value)))


def _values(question: Question, field: str) -> Iterable[str | None]:
    """Return the values of a question, each once; None if it has none."""
    if field in Question.__slots__:
        value: object = getattr(question, field)
    else:
        value = question.metadata.get(field, question.further.get(field))
    if isinstance(value, (list, tuple, set, frozenset)):
        return dict.fromkeys(map(_name, value)) or (None,)
    return (_name(value),)


def _name(value: object) -> str | None:
    return None if value is None else str(value)
