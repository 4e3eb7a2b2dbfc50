"""Compare systems with a baseline: differences, intervals, tests and verdicts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import NamedTuple, Unpack

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.checks import check_count, check_number, one_of
from krag_eval._utils.errors import Argument, InvalidInputError, need_installed, refuse, warn
from krag_eval._utils.suggestions import check_names
from krag_eval.analysis.comparison.result import Comparison
from krag_eval.analysis.comparison.rows import ComparisonRow, Transition
from krag_eval.analysis.comparison.systems import (
    Slice,
    System,
    Systems,
    check_comparable,
    check_systems,
    results_alone,
    score,
    slices_of,
    split_repeated,
    with_repeats,
)
from krag_eval.datasets import Run
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.evalset import as_evalset
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.causes import FOUND
from krag_eval.evaluation.diagnosis import Diagnosis, diagnose
from krag_eval.evaluation.intervals import Clusters, labels_of, warn_of_shared_gold
from krag_eval.evaluation.pipeline import MetricFunction
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.settings import ScoringSettings
from krag_eval.metrics.aggregation import MeanState
from krag_eval.metrics.alpha_ndcg import has_own_ideal, refuse_own_ideal
from krag_eval.metrics.names import DefaultCutOffs, as_key, is_lower_better
from krag_eval.statistics.bootstrap import bounds_of, mean_intervals
from krag_eval.statistics.checks import check_confidence
from krag_eval.statistics.clusters import cluster_intervals, cluster_means, cluster_sums
from krag_eval.statistics.significance import (
    RunVariance,
    effect_size,
    holm,
    randomisation_test,
    resolvable_difference,
    standard_error,
    tukey_hsd,
)

DECISIVE_METRICS = ("recall", "mrr", "ndcg")
COMPARED_CUT_OFFS = DefaultCutOffs([10])
COMPARED_OF_SESSIONS = ("session_recall", "evidence_complete")
LEAKS_TOO = ("leak",)
"""What is compared beside these where a question forbids something."""


@dataclass(frozen=True, slots=True)
class _Options:
    """How a comparison is computed.

    Attributes:
        n_bootstrap: Resamples behind the intervals.
        n_randomisation: Random choices of signs behind p-values that are not exact.
        confidence: Of the intervals; 1 minus it is the level of the tests.
        margin: The smallest difference that matters.
        seed: Of both random streams.
    """

    n_bootstrap: int
    n_randomisation: int
    confidence: float
    margin: float
    seed: int


FIRST = ""
"""The baseline by default: the first system. No system has this name."""


@gold_first(old="systems, evalset")
def compare(
    evalset: object = None,
    systems: Systems | None = None,
    *,
    baseline: str | None = FIRST,
    k: int | str | Sequence[int | str | None] | None = COMPARED_CUT_OFFS,
    metrics: str | Sequence[str | MetricFunction] | None = DECISIVE_METRICS,
    keys: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: Clusters = None,
    margin: float = 0.02,
    confidence: float = 0.95,
    n_bootstrap: int = 10_000,
    n_randomisation: int = 10_000,
    seed: int = 0,
    missing: str = "refuse",
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    proxy: bool = False,
    n_jobs: int = 1,
    **settings: Unpack[ScoringSettings],
) -> Comparison:
    """Compare systems with a baseline, or all pairs of them, query by query. Needs scipy (extra `stats`).

    For each metric and system, the comparison has the difference of the means with a paired bootstrap interval, a
    paired randomisation test with Holm's correction over metrics and systems, the numbers of queries won, tied and
    lost, the smallest difference that this many queries can resolve, and a verdict in words. It has the same for each
    slice, where Holm's correction runs over all slices of one field, and the fate of every gold document that one of
    the two missed. Every further metric and cut-off makes all tests stricter, so name only those that decide.

    Args:
        evalset: The evaluation set: needed for runs, and for slices. Results can also be given alone:
            `compare(results)`.
        systems: Runs, which are scored here as `evaluate_run` does, or results that kept their queries, by name. A list
            is one system that was run several times: its values are the means over these runs, and intervals and tests
            allow for the variance between runs, too.
        baseline: The name of the system that the others are compared with; the first by default. None compares all
            pairs with the randomised Tukey HSD test: see `Comparison.pairs` and `Comparison.letters`.
        k: One cut-off or several at which runs are scored, as `evaluate_run` takes them; None scores all ranks.
        metrics: What runs are scored by: names of `METRICS`, `"doc_hit"`, or functions; None for all. By default
            recall, MRR and nDCG; where a run has sessions of several searches, `session_recall` and
            `evidence_complete`; where a question forbids documents also `leak`.
        keys: Which of their values are compared, such as `["recall@10"]`; all that they share by default.
        by: A field of the questions, or a key of their metadata, or several: a slice for each value. By default
            `"type"`, where questions have one; `()` for none.
        cluster: What makes questions depend on each other, such as their source document or conversation: a field of
            the questions or a key of their metadata, labels by the id of the query, or one for each query.
            `"gold"` joins questions that share gold documents, `"id"` says that all are independent. Intervals and
            tests then treat each cluster as a whole.
        margin: The smallest difference of means that matters: an interval within it says `no difference larger than`.
        confidence: Of the intervals; 1 minus it is the level of the tests.
        n_bootstrap: Resamples behind each interval.
        n_randomisation: Random choices of signs behind a p-value, where trying all would be too many.
        seed: The same seed gives the same numbers to the last bit, whatever else is compared at the same time.
        missing: Runs that lack questions which another run has are refused (`"refuse"`), or count as having retrieved
            nothing there (`"empty"`).
        level: `"chunk"` or `"document"`, for runs.
        doc_key: The metadata key of document ids.
        proxy: As in `evaluate_run`, for runs.
        n_jobs: Ignored; it will go.
        **settings: The scoring settings that `evaluate_run` takes, for runs.

    Returns:
        The comparison: `comparison["hybrid", "recall@5"]` is the row of a system and a value, with `difference` in the
        unit of the metric and its interval from `low` to `high`.

    Raises:
        InvalidInputError: Something given cannot be used, or the systems were not measured by the same rule on the
            same questions; the message says where they differ.
        MissingDependencyError: scipy is not installed.

    Source: Smucker, Allan & Carterette (2007), CIKM, doi:10.1145/1321440.1321528, for the test; Holm (1979),
    Scandinavian Journal of Statistics 6(2); Hesterberg (2015), The American Statistician 69(4),
    doi:10.1080/00031305.2015.1089789, for the interval.

    >>> from krag_eval import EvalSet, evaluate_ids
    >>> gold = [[n] for n in range(40)]
    >>> always, once = evaluate_ids(gold, gold, k=1), evaluate_ids(gold, [[0]] * 40, k=1)
    >>> compare({"once": once, "always": always})["always", "recall@1"].verdict
    'better'
    """
    check_names(settings, ScoringSettings.__annotations__)
    need_installed("compare", "scipy", "stats")
    evalset, systems = results_alone(evalset, systems)
    first_runs, repeats = split_repeated(systems)
    given, first = check_systems(first_runs, None if baseline == FIRST else baseline)
    options = _Options(
        n_bootstrap=check_count("n_bootstrap", n_bootstrap, least=100),
        n_randomisation=check_count("n_randomisation", n_randomisation, least=100),
        confidence=check_confidence(confidence),
        margin=check_number("margin", margin, "It is the smallest difference that matters.", least=0),
        seed=check_count("seed", seed, least=0),
    )
    questions = None if evalset is None else as_evalset(evalset)
    if questions is None and by:
        raise InvalidInputError(
            f"Slices by {by!r:.60} need the evaluation set. Write `compare(evalset, systems, by={by!r:.60})`."
        )
    parts = [] if questions is None else slices_of(questions, by)
    runs = [system for system in (*given.values(), *chain(*repeats.values())) if isinstance(system, Run)]
    if not runs and (metrics is not DECISIVE_METRICS or settings):
        raise InvalidInputError(
            "Results were scored before: ",
            Argument("metrics"),
            " and scoring settings are for runs. Leave them out, or pass runs.",
        )
    if metrics is DECISIVE_METRICS:
        metrics = decisive_metrics(runs)
        metrics = (*metrics, *LEAKS_TOO) if questions is not None and questions.has_rules else metrics
    scoring = {"k": k, "metrics": metrics, "level": level, "doc_key": doc_key, "proxy": proxy, "n_jobs": n_jobs}
    scored = score(questions, given, missing, scoring | settings)
    again = [{name: run} for name, of_system in repeats.items() for run in of_system]
    further = [system for one in again for system in score(questions, one, missing, scoring | settings)]
    check_comparable(questions, [*scored, *further])
    scored = [with_repeats(system, [one for one in further if one.name == system.name]) for system in scored]
    chosen = _choose_keys(_shared_keys(scored), keys)
    asked = keys is not None or any(isinstance(system, Run) for system in given.values())
    chosen = _with_one_ideal(chosen, scored[0].result.signature, asked=asked)
    against = next(system for system in scored if system.name == first)
    others = [system for system in scored if system.name != first]
    everything = Slice(None, None, np.arange(against.result.n_queries))
    labels = labels_of(against.result, cluster, questions, doc_key)
    if labels is None and cluster is None:
        columns = {k: other.detail.values[k] - against.detail.values[k] for k in chosen for other in others}
        warn_of_shared_gold(against.result, columns, questions, doc_key)
    by_field: dict[str | None, list[_Tested]] = {}
    for part in parts:
        by_field.setdefault(part.field, []).extend(_tested_rows(against, others, chosen, part, options, labels))
    rows = _corrected(_tested_rows(against, others, chosen, everything, options, labels))
    pairs: tuple[ComparisonRow, ...] = ()
    if baseline is None:
        pairs = _all_pairs([against, *others], chosen, everything, options, labels)
        rows = tuple(row for row in pairs if row.baseline == first)
    rank = _rank_of(chosen)
    diagnoses = {system.name: diagnose(system.result, rank, doc_key=doc_key) for system in (against, *others)}
    return Comparison(
        signature=against.result.signature,
        baseline=first,
        systems=tuple(system.name for system in others),
        keys=tuple(chosen),
        n_queries=against.result.n_queries,
        **asdict(options),
        rows=rows,
        pairs=pairs,
        n_clusters=None if labels is None else int(labels.max()) + 1,
        slices=tuple(row for rows in by_field.values() for row in _corrected(rows)),
        transitions=_transitions(against, others, diagnoses),
        errors={system.name: len(system.result.errors) for system in scored},
        results={system.name: system.result for system in (against, *others)},
        diagnoses=diagnoses,
        evalset=questions,
    )


def decisive_metrics(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return what `compare` scores by default: where a run has sessions, metrics of sessions."""
    return COMPARED_OF_SESSIONS if any(run.has_sessions for run in runs) else DECISIVE_METRICS


def decisive_keys(results: Sequence[EvaluationResult]) -> list[str]:
    """Return the keys of the metrics that `compare` takes at the largest cut-off, or of whatever all results have."""
    keys = [key for key in results[0].tally.means if all(key in result for result in results)]
    decisive = [key for key in keys if key.partition("@")[0] in (*DECISIVE_METRICS, *COMPARED_OF_SESSIONS)] or keys
    last = decisive[-1].partition("@")[2] if decisive else ""
    return [key for key in decisive if key.partition("@")[2] == last]


def _shared_keys(systems: Sequence[System]) -> list[str]:
    """Return the keys that all systems have: `doc_hit` exists only where documents have ids."""
    keys = [key for key in systems[0].detail.values if all(key in system.detail.values for system in systems)]
    for system in systems:
        alone = [key for key in system.detail.values if key not in keys]
        if alone:
            warn(f"{', '.join(alone)} of {system.name!r} is left out of the comparison: not every system has it.")
    if not keys:
        raise InvalidInputError(
            "The systems have no metric and cut-off in common: "
            + "; ".join(f"{system.name!r} has {', '.join(system.detail.values)}" for system in systems)
            + ". Score them by the same ones."
        )
    return keys


def _with_one_ideal(keys: Sequence[str], signature: str, *, asked: bool) -> list[str]:
    """Refuse keys whose ideal depends on the system, or leave them out if nobody asked for them."""
    kept = [key for key in keys if not has_own_ideal(key, signature)]
    for key in keys if asked or not kept else ():
        refuse_own_ideal(key, signature)
    if left := [key for key in keys if key not in kept]:
        why = "where texts are matched, its ideal ranking is each system's own"
        warn(f"{', '.join(left)} is left out of the comparison: {why}.")
    return kept


def _choose_keys(shared: Sequence[str], keys: Sequence[str] | None) -> list[str]:
    """Return the keys to compare, each once."""
    if keys is None:
        return list(shared)
    if isinstance(keys, str) or not keys:
        refuse("keys", "a list of values such as 'recall@10'", keys)
    return list(dict.fromkeys(one_of("keys", key if key in shared else as_key(key), shared) for key in keys))


def _rank_of(keys: Sequence[str]) -> int | None:
    """Return the largest rank at which something is compared; None where a key is for all ranks or a token budget."""
    ranks = [key.partition("@")[2] for key in keys]
    return max(map(int, ranks)) if all(map(str.isdecimal, ranks)) else None


def _transitions(
    baseline: System, others: Sequence[System], diagnoses: Mapping[str, Diagnosis]
) -> tuple[Transition, ...]:
    """Return what became of the gold documents, the most frequent change first."""
    before, query_ids = diagnoses[baseline.name], baseline.detail.query_ids
    transitions = []
    for other in others:
        changes = list(zip(_retrieved(before), _retrieved(diagnoses[other.name]), strict=True))
        queries: dict[tuple[str, str], dict[int, None]] = {}
        for query, (was, is_now) in zip(before.gold_queries.tolist(), changes, strict=True):
            if was != is_now:
                queries.setdefault((was, is_now), {})[query] = None
        for (was, is_now), count in Counter(changes).most_common():
            names = [str(q) if query_ids is None else query_ids[q] for q in queries.get((was, is_now), ())]
            transitions.append(Transition(other.name, was, is_now, count, tuple(names)))
    return tuple(transitions)


def _retrieved(diagnosis: Diagnosis) -> list[str]:
    """Return the causes; what was found and not cited counts as found."""
    return [FOUND if cause == "not_cited" else cause for cause in diagnosis.causes]


class _Tested(NamedTuple):
    """A row before the correction for several tests.

    Attributes:
        row: The row.
        test: The same for rows that no choice of signs can tell apart.
    """

    row: ComparisonRow
    test: bytes


@dataclass(frozen=True, slots=True)
class _Pair:
    """One system and one key: where both values are defined, and these values."""

    system: str
    against: str
    key: str
    defined: BoolArray
    between_runs: RunVariance | None
    baseline: FloatArray
    values: FloatArray
    bounds: tuple[float, float]


def _corrected(rows: Sequence[_Tested]) -> tuple[ComparisonRow, ...]:
    """Return the rows with Holm's correction over all their tests.

    Differences that are multiples of each other stay so under every choice of signs and have the same p-value: they
    are one test. Given the absolute differences, which is all that the randomisation test knows, the number of tests
    is fixed, so that the correction holds.
    """
    p_values = {test: row.p for row, test in rows if row.p is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return tuple(
        row if row.p is None else replace(row, p_holm=adjusted[test], n_tests=len(adjusted)) for row, test in rows
    )


def _all_pairs(
    systems: Sequence[System], keys: Sequence[str], part: Slice, options: _Options, labels: IntArray | None
) -> tuple[ComparisonRow, ...]:
    """Return one row per pair of systems and key, with p-values that are adjusted for all of them.

    Within a key by Tukey's test, over the keys by Bonferroni's factor. That test knows no variance between runs: with
    repeated runs, or two systems, Holm's correction is used.
    """
    tested = [
        one
        for place, system in enumerate(systems[:-1])
        for one in _tested_rows(system, systems[place + 1 :], keys, part, options, labels)
    ]
    if len(systems) == 2 or any(len(system.runs) > 1 for system in systems):
        return _corrected(tested)
    adjusted = {}
    for key in keys:
        values = np.stack([system.detail.values[key] for system in systems], axis=1)
        defined = ~np.isnan(values).any(axis=1)
        values = values[defined] if labels is None else cluster_sums(values[defined], labels[defined])
        adjusted[key] = np.minimum(tukey_hsd(values, options.n_randomisation, options.seed) * len(keys), 1.0)
    number = {system.name: place for place, system in enumerate(systems)}
    return tuple(
        row
        if row.p is None
        else replace(
            row, p_holm=adjusted[row.key][number[row.baseline], number[row.system]].item(), n_tests=len(tested)
        )
        for row, _ in tested
    )


def _tested_rows(
    baseline: System,
    others: Sequence[System],
    keys: Sequence[str],
    part: Slice,
    options: _Options,
    labels: IntArray | None,
) -> list[_Tested]:
    """Return one row per system and key, by system."""
    pairs = [_pair(baseline, other, key, part) for other in others for key in keys]
    # Columns that are defined for the same questions share the resamples and the signs.
    by_questions: dict[bytes, list[int]] = {}
    for place, pair in enumerate(pairs):
        by_questions.setdefault(pair.defined.tobytes(), []).append(place)
    rows: dict[int, _Tested] = {}
    for places in by_questions.values():
        rows |= zip(places, _tested([pairs[place] for place in places], part, options, labels), strict=True)
    return [rows[place] for place in range(len(pairs))]


def _pair(baseline: System, system: System, key: str, part: Slice) -> _Pair:
    ours, theirs = system.detail.values[key], baseline.detail.values[key]
    both = np.concatenate([ours, theirs])
    bounds = bounds_of(both[~np.isnan(both)])
    ours, theirs = ours[part.chosen], theirs[part.chosen]
    defined = ~np.isnan(ours) & ~np.isnan(theirs)
    means = [
        [_mean(run[key][part.chosen][defined]) or 0.0 for run in one.runs] if defined.any() else [0.0]
        for one in (baseline, system)
    ]
    names = system.name, baseline.name
    return _Pair(*names, key, defined, RunVariance.of(means), theirs[defined], ours[defined], bounds)


def _tested(pairs: Sequence[_Pair], part: Slice, options: _Options, labels: IntArray | None) -> list[_Tested]:
    n = len(pairs[0].values)
    labels = None if labels is None else labels[part.chosen][pairs[0].defined]
    n_clusters = None if labels is None else len(np.unique(labels))
    named = [
        ComparisonRow(
            system=pair.system,
            baseline=pair.against,
            n_clusters=n_clusters,
            key=pair.key,
            field=part.field,
            value=part.value,
            n=n,
            n_left_out=len(pair.defined) - n,
            lower_is_better=is_lower_better(pair.key),
            confidence=options.confidence,
            margin=options.margin,
        )
        for pair in pairs
    ]
    if not n:
        return [_Tested(row, b"") for row in named]
    differences = np.stack([pair.values - pair.baseline for pair in pairs], axis=1)
    reach = np.array([pair.bounds[1] - pair.bounds[0] for pair in pairs])
    drawn = options.confidence, options.n_bootstrap, options.seed
    units = differences  # what is sampled: queries, or clusters
    if labels is None:
        low, high = mean_intervals(differences, (-reach, reach), *drawn)
    else:
        units = cluster_means(differences, labels)
        low, high = cluster_intervals(differences, labels, (-reach, reach), *drawn)
    p, is_exact = randomisation_test(units, options.n_randomisation, options.seed)
    for place, variance in enumerate(pair.between_runs for pair in pairs):
        if variance is not None:
            error = standard_error(units[:, place])
            mean = float(differences[:, place].mean())
            to, at_least = variance.reach_and_p(mean, error, len(units), options.confidence)
            low[place], high[place] = min(low[place], mean - to), max(high[place], mean + to)
            p[place], is_exact[place] = max(p[place], at_least), False
    can_tell = 2 ** (1 - len(units)) <= 1 - options.confidence  # the least p-value that so few can have
    rows = [
        replace(
            row,
            baseline_mean=_mean(pair.baseline),
            mean=_mean(pair.values),
            difference=_mean(pair.values, pair.baseline),
            low=low.item(place),
            high=high.item(place),
            p=p.item(place),
            is_exact=bool(is_exact[place]),
            wins=int((column < 0 if row.lower_is_better else column > 0).sum()),
            ties=int((column == 0).sum()),
            losses=int((column > 0 if row.lower_is_better else column < 0).sum()),
            resolvable=resolvable_difference(units[:, place], options.confidence) if can_tell else None,
            effect_size=effect_size(column),
            run_deviation=None if pair.between_runs is None else pair.between_runs.deviation,
        )
        for place, (row, pair, column) in enumerate(zip(named, pairs, differences.T, strict=True))
    ]
    where = repr((part.field, part.value)).encode() + pairs[0].defined.tobytes()
    return [_Tested(row, _digest(where, column)) for row, column in zip(rows, differences.T, strict=True)]


def _digest(where: bytes, differences: FloatArray) -> bytes:
    """Return a digest that is equal for differences of the same queries that are multiples of each other."""
    largest = differences[np.argmax(np.abs(differences))]
    # Quotients of equal ratios differ in their last bits at most.
    shape = np.rint(differences / (largest or 1.0) * 2.0**30)
    return hashlib.blake2b(where + (shape + 0.0).tobytes(), digest_size=16).digest()


def _mean(values: FloatArray, less: FloatArray | None = None) -> float | None:
    """Return the mean, or its difference from another mean, computed exactly and rounded once."""
    state, other = MeanState(), MeanState()
    state.add(values)
    other.add(values[:0] if less is None else less)
    state.units -= other.units
    return state.mean
