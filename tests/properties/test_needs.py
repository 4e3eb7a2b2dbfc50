"""Needs against brute force over their alternatives, and what the contract says of them, on random small cases."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from krag_eval import EvaluationResult, Need, evaluate, evaluate_ids, evaluate_stream
from tests.support import reference as ref
from tests.support.reference import Relation, Value

ROUNDING = 1e-12  # as in test_against_reference
CUT_OFFS = (1, 2, 3, None)
GRADES = (1.0, 1.0, 1.0, 2.0, 3.0, 0.0)
METRICS: dict[str, Any] = {
    "hit_rate": ref.hit_rate,
    "hit_rate_all": ref.hit_rate_all,
    "mrr": ref.reciprocal_rank,
    "recall": ref.recall,
    "precision": ref.precision,
    "f1": ref.f1,
    "map": ref.average_precision,
    "ndcg": ref.ndcg,
}


@dataclass(frozen=True)
class Case:
    """One question: the alternatives and the grade of each need, and what was retrieved, as words of letters."""

    needs: tuple[tuple[tuple[str, ...], float], ...]
    retrieved: tuple[str, ...]

    def relation(self, *, by_id: bool) -> Relation:
        """Who matches whom, by trying every alternative: one column per need."""
        repeats = [
            next((earlier for earlier in range(place) if {*self.needs[earlier][0]} == {*alternatives}), None)
            for place, (alternatives, _) in enumerate(self.needs)
        ]
        return Relation(
            matches=tuple(
                tuple(
                    any(one == found if by_id else one in found for one in alternatives)
                    for alternatives, _ in self.needs
                )
                for found in self.retrieved
            ),
            grades=tuple(grade for _, grade in self.needs),
            gold_repeat_of=tuple(repeats),
            retrieved_repeat=tuple(found in self.retrieved[:place] for place, found in enumerate(self.retrieved)),
        )

    def gold(self, kind: str) -> list[Any]:
        """The gold list, each need as one of the forms in which needs and documents are written."""
        return [_written(alternatives, grade, kind, place) for place, (alternatives, grade) in enumerate(self.needs)]


def _written(alternatives: tuple[str, ...], grade: float, kind: str, place: int) -> Any:
    if kind == "bare":
        return Need(any_of=alternatives, grade=grade)
    name = "id" if kind == "id" else "text"
    documents = [{name: one} for one in alternatives]
    if len(documents) == 1 and place % 2:
        return {**documents[0], "grade": grade}
    if place % 3 == 0:
        return {"any_of": [{**one, "grade": grade} for one in documents]}
    return Need(any_of=documents, grade=grade) if place % 3 == 1 else {"any_of": documents, "grade": grade}


def random_case(rng: Random) -> Case:
    needs = tuple(
        (tuple(rng.choices("abcde", k=rng.choice((1, 1, 2, 2, 3)))), rng.choice(GRADES))
        for _ in range(rng.randrange(5))
    )
    words = ["".join(sorted(rng.sample("abcdefg", k=rng.choice((1, 1, 1, 2, 3))))) for _ in range(rng.randrange(6))]
    return Case(needs, tuple(words))


def scored(cases: tuple[Case, ...], kind: str) -> EvaluationResult:
    metrics = [*METRICS, "complete_rank"]
    if kind == "bare":
        return evaluate_ids(
            [c.gold(kind) for c in cases], [list(c.retrieved) for c in cases], CUT_OFFS, metrics=metrics
        )
    retrieved = [[{"id" if kind == "id" else "text": one} for one in c.retrieved] for c in cases]
    method: Any = (
        {"match_method": "id"} if kind == "id" else {"match_method": "containment", "containment": "gold_in_retrieved"}
    )
    return evaluate([c.gold(kind) for c in cases], retrieved, CUT_OFFS, metrics=metrics, **method)


def complete_rank(rel: Relation, k: int | None) -> Value:
    ranks = ref.covered(rel)
    if not ranks:
        return None
    return 0.0 if None in ranks or max(ranks) > (k or 99) else 1 / max(ranks)  # type: ignore[type-var, operator]


def check(cases: tuple[Case, ...], kind: str) -> None:
    result = scored(cases, kind)
    judged = result.detail.judged  # type: ignore[union-attr]
    rels = [case.relation(by_id=kind != "text") for case in cases]
    by_query: list[dict[str, list[Any]]] = [{"relevant": [], "credit": [], "covered": [], "grades": []} for _ in cases]
    for name, queries, values in (
        ("relevant", judged.relevant_query, judged.relevant_rank),
        ("credit", judged.credited_query, judged.credited_rank),
        ("covered", judged.gold_query, judged.gold_rank),
        ("grades", judged.gold_query, judged.gold_grade),
    ):
        for query, value in zip(queries.tolist(), values.tolist(), strict=True):
            by_query[query][name].append(value)
    for case, rel, row, earned in zip(cases, rels, result.per_query, by_query, strict=True):
        assert row.n_gold == len(ref.gold_documents(rel)), case
        assert earned["relevant"] == [rank for rank, yes in enumerate(ref.relevant(rel), 1) if yes], case
        assert earned["credit"] == [rank for rank, yes in enumerate(ref.credited(rel), 1) if yes], case
        needs = sorted(
            (rank or 0, grade) for rank, (_, grade) in zip(ref.covered(rel), ref.gold_documents(rel), strict=True)
        )
        assert sorted(zip(earned["covered"], earned["grades"], strict=True)) == needs, case
        for name, of in {**METRICS, "complete_rank": complete_rank}.items():
            for k in CUT_OFFS:
                found, expected = row.values[name if k is None else f"{name}@{k}"], of(rel, k)
                same = found is expected if expected is None or found is None else abs(found - expected) <= ROUNDING
                assert same, (case, name, k, found, expected)


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("kind", ["id", "text", "bare"])
@pytest.mark.parametrize("n", [300, pytest.param(3_000, marks=pytest.mark.full)])
def test_needs_equal_brute_force_over_their_alternatives(kind: str, n: int) -> None:
    rng = Random(f"needs {kind} {n}")
    cases = [random_case(rng) for _ in range(n)]
    for start in range(0, n, 500):
        check((*cases[start : start + 500], Case(((("a", "b"), 1.0),), ("b",))), kind)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_the_order_of_needs_alternatives_and_batches_changes_not_a_bit() -> None:
    rng = Random(21)
    cases = tuple(random_case(rng) for _ in range(300))
    shuffled = tuple(
        Case(
            tuple(
                (tuple(rng.sample(alternatives, len(alternatives))), grade)
                for alternatives, grade in rng.sample(c.needs, len(c.needs))
            ),
            c.retrieved,
        )
        for c in cases
    )
    result = scored(cases, "id")
    assert result.to_dict() == scored(shuffled, "id").to_dict()
    assert [row.values for row in result.per_query] == [row.values for row in scored(shuffled, "id").per_query]
    pairs = [(case.gold("id"), [{"id": one} for one in case.retrieved]) for case in cases]
    for size in (1, 7, 1000):
        streamed = evaluate_stream(
            pairs, CUT_OFFS, metrics=[*METRICS, "complete_rank"], match_method="id", batch_size=size
        )
        assert (streamed.to_dict(), streamed.signature) == (result.to_dict(), result.signature)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_the_invariants_hold_with_needs() -> None:
    rng = Random(22)
    cases = tuple(random_case(rng) for _ in range(400))
    before = [row.values for row in scored(cases, "text").per_query]
    longer = tuple(Case(case.needs, (*case.retrieved, "xyz")) for case in cases)
    more = tuple(
        Case(tuple(((*alternatives, "q"), grade) for alternatives, grade in case.needs), case.retrieved)
        for case in cases
    )
    for case, one, after, with_more in zip(
        cases, before, scored(longer, "text").per_query, scored(more, "text").per_query, strict=True
    ):
        for key, value in one.items():
            if value is None:
                assert not ref.gold_documents(case.relation(by_id=False))
                continue
            assert 0 <= value <= 1
            assert (after.values[key] or 0) <= value, (case, key)
        if one["recall"] is None:
            continue
        for name in ("recall", "hit_rate", "hit_rate_all", "mrr", "complete_rank"):
            rising = [one[f"{name}@{k}"] or 0 for k in (1, 2, 3)] + [one[name] or 0]
            assert rising == sorted(rising), (case, name)
        assert one["hit_rate_all"] <= one["recall"] <= one["hit_rate"]  # type: ignore[operator]
        assert with_more.values["mrr"] == one["mrr"]  # an alternative that nobody retrieves changes no rank


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("kind", ["id", "text"])
def test_needs_with_one_alternative_are_plain_gold_documents_to_the_bit(kind: str) -> None:
    rng = Random(23)
    singles = tuple(
        Case(tuple((alternatives[:1], grade) for alternatives, grade in case.needs), case.retrieved)
        for case in (random_case(rng) for _ in range(300))
    )
    plain = [[{kind: a, "grade": grade} for (a,), grade in case.needs] for case in singles]
    retrieved = [[{kind: one} for one in case.retrieved] for case in singles]
    wrapped = [[Need(any_of=[{kind: a}], grade=grade) for (a,), grade in case.needs] for case in singles]
    one, other = (evaluate(gold, retrieved, CUT_OFFS, match_method=kind) for gold in (plain, wrapped))
    assert one.to_json() == other.to_json()
    assert [row.values for row in one.per_query] == [row.values for row in other.per_query]
