"""The package against the slow reference implementation of the contract, on random match relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import expm1, fsum, log, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import EvaluationResult, evaluate
from tests.support import reference as ref
from tests.support.marks import nothing_may_match
from tests.support.reference import Denominator, Gain, Relation, Value
from tests.support.strategies import GRADES, documents_for, relation_from_ids, relations

# The two add the same few numbers in different orders: each of at most some dozen roundings errs by 2^-53 of values
# up to 1, so 1e-12 lets every rounding through and no wrong rank, grade or divisor.
ROUNDING = 1e-12
CUT_OFFS = (1, 2, 3, 4, 5, 6, 7, None)
# Together they cover both denominators and both gains; neither of the two settings changes what the other does.
SETTINGS: list[tuple[Denominator, Gain]] = [("retrieved", "exponential"), ("k", "linear")]
both_settings = pytest.mark.parametrize(("denominator", "gain"), SETTINGS, ids=lambda value: value)
Metric = Callable[[Relation, int | None], Value]


def evaluated(
    rels: Sequence[Relation],
    denominator: Denominator,
    gain: Gain,
    k: Sequence[int | None] = CUT_OFFS,
    relevance_level: float | None = None,
) -> EvaluationResult:
    gold, retrieved = zip(*map(documents_for, rels), strict=True)
    return evaluate(
        gold,
        retrieved,
        k,
        match_method="containment",
        containment="gold_in_retrieved",
        precision_denominator=denominator,
        gain=gain,
        relevance_level=relevance_level,
    )


def reference_metrics(denominator: Denominator, gain: Gain) -> dict[str, Metric]:
    return {
        "hit_rate": ref.hit_rate,
        "hit_rate_all": ref.hit_rate_all,
        "mrr": ref.reciprocal_rank,
        "recall": ref.recall,
        "precision": lambda rel, k: ref.precision(rel, k, denominator),
        "f1": lambda rel, k: ref.f1(rel, k, denominator),
        "map": ref.average_precision,
        "ndcg": lambda rel, k: ref.ndcg(rel, k, gain),
    }


def key_of(name: str, k: int | None) -> str:
    return name if k is None else f"{name}@{k}"


def differences(expected: dict[str, Value], actual: Mapping[str, Value]) -> dict[str, tuple[Value, Value]]:
    """What is not equal to within rounding, as (expected, actual); None equals None alone."""
    assert list(expected.keys() - actual.keys()) == []
    both = {key: (value, actual[key]) for key, value in expected.items()}
    return {key: (one, other) for key, (one, other) in both.items() if not _is_close(one, other)}


def _is_close(one: Value, other: Value) -> bool:
    return one is other if one is None or other is None else abs(one - other) <= ROUNDING


@nothing_may_match
@both_settings
@given(rels=st.lists(relations(), min_size=1, max_size=4))
def test_every_number_equals_the_reference(rels: list[Relation], denominator: Denominator, gain: Gain) -> None:
    result = evaluated(rels, denominator, gain)
    metrics = reference_metrics(denominator, gain)
    rows = [{key_of(name, k): of(rel, k) for name, of in metrics.items() for k in CUT_OFFS} for rel in rels]
    assert [differences(*both) for both in zip(rows, (query.values for query in result.per_query), strict=True)] == [
        {}
    ] * len(rels)

    expected = {key: ref.macro([row[key] for row in rows]) for key in rows[0]}
    for k in CUT_OFFS:
        expected[key_of("micro_recall", k)] = ref.micro_recall(rels, k)
        expected[key_of("micro_precision", k)] = ref.micro_precision(rels, k, denominator)
        expected[key_of("micro_f1", k)] = ref.micro_f1(rels, k, denominator)
    assert expected.keys() == result.to_dict().keys()
    assert differences(expected, result.to_dict()) == {}
    assert result.undefined == {key: sum(row[key] is None for row in rows) for key in rows[0]}


def without_grades_under(level: float, rel: Relation) -> Relation:
    """The same query, in which gold documents whose highest grade is lower were judged not relevant."""
    roots: list[int] = []
    for column, earlier in enumerate(rel.gold_repeat_of):
        roots.append(column if earlier is None else roots[earlier])
    kept = {root for root, grade in zip(roots, rel.grades, strict=True) if grade >= level}
    return replace(rel, grades=tuple(g if root in kept else 0.0 for root, g in zip(roots, rel.grades, strict=True)))


@nothing_may_match
@both_settings
@given(rels=st.lists(relations(), min_size=1, max_size=4), level=st.sampled_from([0.5, 1, 1.5, 2, 3]))
def test_every_level_equals_the_reference_without_lower_grades(
    rels: list[Relation], level: float, denominator: Denominator, gain: Gain
) -> None:
    result = evaluated(rels, denominator, gain, relevance_level=level)
    metrics = reference_metrics(denominator, gain)
    graded = metrics.pop("ndcg")
    for rel, query in zip(rels, result.per_query, strict=True):
        judged = without_grades_under(level, rel)
        expected = {
            key_of(f"{name}(rel={level:g})", k): of(judged, k) for name, of in metrics.items() for k in CUT_OFFS
        }
        expected |= {key_of("ndcg", k): graded(rel, k) for k in CUT_OFFS}
        assert expected.keys() == query.values.keys()
        assert differences(expected, query.values) == {}


@nothing_may_match
@given(st.lists(relations(max_ranks=4, max_gold=2), min_size=1, max_size=6))
def test_queries_without_gold_are_counted_and_have_numbers_of_their_own(rels: list[Relation]) -> None:
    result = evaluated(rels, "retrieved", "exponential", k=[None])
    assert result.no_answer.n_queries == sum(not ref.gold_documents(rel) for rel in rels)
    expected = {"share": ref.no_answer_empty_share(rels), "mean": ref.no_answer_mean_retrieved(rels)}
    actual = {"share": result.no_answer.empty_share, "mean": result.no_answer.mean_retrieved}
    assert differences(expected, actual) == {}
    assert [len(ref.gold_documents(rel)) for rel in rels] == [query.n_gold for query in result.per_query]
    assert [len(rel.matches) for rel in rels] == [query.n_retrieved for query in result.per_query]


@nothing_may_match
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")  # now and then not one id matches
@both_settings
@given(data=st.data())
def test_lists_of_ids_with_repeats_and_grades_equal_the_reference(
    data: st.DataObject, denominator: Denominator, gain: Gain
) -> None:
    ids = st.lists(st.sampled_from("abcdefg"), max_size=6)
    gold = data.draw(st.lists(ids, min_size=1, max_size=4).filter(any))
    retrieved = data.draw(st.lists(ids, min_size=len(gold), max_size=len(gold)).filter(any))
    grades = [[data.draw(st.sampled_from(GRADES)) for _ in row] for row in gold]
    result = evaluate(
        [
            [{"id": name, "grade": grade} for name, grade in zip(*both, strict=True)]
            for both in zip(gold, grades, strict=True)
        ],
        [[{"id": name} for name in row] for row in retrieved],
        CUT_OFFS,
        match_method="id",
        precision_denominator=denominator,
        gain=gain,
    )
    metrics = reference_metrics(denominator, gain)
    rels = [relation_from_ids(*row) for row in zip(gold, retrieved, grades, strict=True)]
    rows = [{key_of(name, k): of(rel, k) for name, of in metrics.items() for k in CUT_OFFS} for rel in rels]
    assert [differences(*both) for both in zip(rows, (query.values for query in result.per_query), strict=True)] == [
        {}
    ] * len(rels)


def credit_by_trying_all(options: list[list[int]]) -> list[bool]:
    """For each rank whether it earns credit, from every set of gold documents that credited ranks can hold."""
    held, credited = {frozenset[int]()}, []
    for found in options:
        longer = {taken | {place} for taken in held for place in found if place not in taken}
        credited.append(bool(longer))
        held = longer or held
    return credited


def dcg_by_trying_all(options: list[list[int]], gains: list[float]) -> float:
    """The largest DCG, from the best one for every set of gold documents that the ranks can hold."""
    best = {frozenset[int](): 0.0}
    for rank, found in enumerate(options, start=1):
        longer = dict(best)
        for taken, value in best.items():
            for place in set(found) - taken:
                larger = value + gains[place] / log2(rank + 1)
                longer[taken | {place}] = max(larger, longer.get(taken | {place}, 0.0))
        best = longer
    return max(best.values())


@pytest.mark.sample(2)
@nothing_may_match
@both_settings
@settings(max_examples=settings().max_examples // 2)
@given(rel=relations(max_ranks=12, max_gold=8))
def test_credit_and_graded_dcg_of_many_ranks_equal_what_trying_all_assignments_gives(
    rel: Relation, denominator: Denominator, gain: Gain
) -> None:
    cut_offs = (1, 2, 3, 5, 8, 11, None)
    query = evaluated([rel], denominator, gain, k=cut_offs).per_query[0].values
    options, n = ref.options(rel), len(ref.gold_documents(rel))
    gains = [2**grade - 1 if gain == "exponential" else grade for _, grade in ref.gold_documents(rel)]
    credited = credit_by_trying_all(options)
    expected: dict[str, Value] = {}
    for k in cut_offs:
        ideal = fsum(one / log2(rank + 1) for rank, one in enumerate(sorted(gains, reverse=True)[:k], start=1))
        terms = [sum(credited[:r]) / r for r, earned in enumerate(credited[:k], start=1) if earned]
        expected[key_of("map", k)] = fsum(terms) / n if n else None
        expected[key_of("ndcg", k)] = dcg_by_trying_all(options[:k], gains) / ideal if n else None
    assert differences(expected, query) == {}


@given(relations(max_ranks=5, max_gold=4))
def test_trying_all_assignments_agrees_with_the_reference(rel: Relation) -> None:
    gains = [grade for _, grade in ref.gold_documents(rel)]
    assert ref.credited(rel) == credit_by_trying_all(ref.options(rel))
    if gains:
        ideal = fsum(one / log2(rank + 1) for rank, one in enumerate(sorted(gains, reverse=True), start=1))
        best = dcg_by_trying_all(ref.options(rel), gains)
        assert differences({"ndcg": ref.ndcg(rel, None, "linear")}, {"ndcg": best / ideal}) == {}


LOW_THEN_HIGH = Relation(((True, False), (False, True)), (1.0, 1.0), (None, None), (False, False))
# The ratio of the lower gain to the higher one; expm1 keeps the digits that 2 ** grade - 1 loses near 0.
EXTREME_GRADES: dict[str, tuple[float, float, float]] = {
    "grades whose gains overflow": (1099.0, 1100.0, 2.0**-1),
    "grades at the end of the doubles": (1.0, 1e308, 0.0),
    "grades just below the largest gain": (499.0, 500.0, 2.0**-1),
    "large grades on both sides of the scaling": (499.0, 501.0, 2.0**-2),
    "the smallest grade there is": (5e-324, 5e-324, 1.0),
    "tiny grades": (1e-17, 4e-17, 1 / 4),
    "grades near a millionth": (3e-7, 9e-7, expm1(3e-7 * log(2)) / expm1(9e-7 * log(2))),
    "grades above a millionth": (2e-6, 3e-6, expm1(2e-6 * log(2)) / expm1(3e-6 * log(2))),
    "small grades": (1e-4, 3e-4, expm1(1e-4 * log(2)) / expm1(3e-4 * log(2))),
    "a tiny grade beside a common one": (1e-17, 1.0, 1e-17 * log(2)),
}


@pytest.mark.parametrize(("low", "high", "ratio"), EXTREME_GRADES.values(), ids=EXTREME_GRADES)
def test_extreme_grades_keep_their_exponential_gains(low: float, high: float, ratio: float) -> None:
    result = evaluated([replace(LOW_THEN_HIGH, grades=(low, high))], "retrieved", "exponential", k=[1, None])
    expected = {"ndcg@1": ratio, "ndcg": (ratio + 1 / log2(3)) / (1 + ratio / log2(3))}
    assert pytest.approx(expected, abs=ROUNDING) == {key: result[key] for key in expected}


@pytest.mark.parametrize(
    ("low", "high"), [(5e-324, 1e308), (1e-17, 1e-16), (1.0, 1e308), (3e307, 1e308), (1e-320, 1e-310)]
)
def test_extreme_grades_keep_their_linear_gains(low: float, high: float) -> None:
    result = evaluated([replace(LOW_THEN_HIGH, grades=(low, high))], "retrieved", "linear", k=[1, None])
    expected = {"ndcg@1": low / high, "ndcg": (low / high + 1 / log2(3)) / (1 + low / high / log2(3))}
    assert pytest.approx(expected, abs=ROUNDING) == {key: result[key] for key in expected}
