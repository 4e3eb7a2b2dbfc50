"""Estimates from a model's labels and a sample of people's: coverage, against ppi-python, and every wrong input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, Run, RunRow
from krag_eval_labels import estimate, label_agreement, plan_labels, write_queue
from krag_eval_labels.estimation import cohen_kappa, krippendorff_alpha
from krag_eval_llm import judge_contexts
from tests.support.argument_orders import check_old_order

Labels = dict[str, dict[str, float]]


def runs_of(rankings: dict[str, dict[str, list[str]]]) -> dict[str, Run]:
    return {
        name: Run.of(
            name,
            [RunRow.from_dict({"query_id": q, "retrieved": [{"id": d} for d in row]}) for q, row in rows.items()],
        )
        for name, rows in rankings.items()
    }


def population(n_queries: int = 30, depth: int = 10, seed: int = 0) -> tuple[dict[str, Run], Labels, Labels]:
    """Return two systems, a judge that is too kind, and what people would say."""
    random = np.random.default_rng(seed)
    people: Labels = {}
    judge: Labels = {}
    rankings: dict[str, dict[str, list[str]]] = {"one": {}, "two": {}}
    for query in map(str, range(n_queries)):
        truth = random.integers(0, 3, 2 * depth)
        people[query] = {f"d{i}": float(grade) for i, grade in enumerate(truth)}
        judge[query] = {f"d{i}": float(max(grade + random.integers(-1, 2), 1)) for i, grade in enumerate(truth)}
        for name, noise in (("one", 4.0), ("two", 1.5)):
            order = np.argsort(-(truth + random.normal(0, noise, 2 * depth)))[:depth]
            rankings[name][query] = [f"d{i}" for i in order]
    return runs_of(rankings), judge, people


def filled_in(rows: list[dict[str, Any]], people: Labels) -> list[dict[str, Any]]:
    return [{**row, "label": people[row["query_id"]][row["document"]["id"]]} for row in rows]


def everything(labels: Labels, probability: float | None = None) -> list[dict[str, Any]]:
    return [
        {"query_id": q, "document": {"id": d}, "label": grade, "probability": probability}
        for q, row in labels.items()
        for d, grade in row.items()
    ]


SETTINGS: list[dict[str, Any]] = [
    {"metric": "precision", "k": 10},
    {"metric": "dcg", "k": 10},
    {"metric": [1, 0.5, 0.25, -0.5], "gain": "linear"},
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("settings", SETTINGS)
def test_with_all_labels_of_people_the_estimate_is_the_value_itself(settings: dict[str, Any]) -> None:
    runs, judge, people = population()
    result = estimate(runs, judge=judge, people=people, probability=1, **settings)
    weights = settings["metric"]
    for row, run in zip(result.systems, runs.values(), strict=True):
        total = 0.0
        for query, found in run.rows.items():
            for rank, document in enumerate(found.retrieved[: settings.get("k", 4)]):
                grade = people[query][str(document.id)]
                if weights == "precision":
                    total += (grade > 0) / 10
                elif weights == "dcg":
                    total += (2**grade - 1) / math.log2(rank + 2)
                else:
                    total += weights[rank] * grade
        assert row.value == pytest.approx(total / 30, abs=1e-12)
        assert row.sampling_interval == (row.value, row.value)
        assert row.interval is not None
        assert row.interval[0] < row.value < row.interval[1]
        assert row.bias == row.judge_alone - row.value
    assert result.differences[0].value == pytest.approx(result.systems[1].value - result.systems[0].value, abs=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("settings", SETTINGS[:2])
def test_intervals_hold_whatever_the_judge_says_and_its_bias_is_measured(settings: dict[str, Any]) -> None:
    runs, judge, people = population()
    truth = estimate(runs, judge=judge, people=people, probability=1, **settings)
    n_draws, held, held_bias, values = 60, 0, 0, []
    for seed in range(n_draws):
        queue = plan_labels(runs, judge=judge, n=120, seed=seed, **settings)
        assert len(queue) == 120
        row = estimate(runs, judge=judge, people=filled_in(queue, people), **settings).differences[0]
        held += row.sampling_interval[0] <= truth.differences[0].value <= row.sampling_interval[1]
        held_bias += row.bias_interval[0] <= truth.differences[0].bias <= row.bias_interval[1]
        values.append(row.value)
    assert 0.87 <= held / n_draws <= 1  # 0.95 - 3 standard errors of 60 draws; benchmarks/simulated_labels.py has 2,000
    assert held == held_bias
    assert np.mean(values) == pytest.approx(
        truth.differences[0].value, abs=4 * float(np.std(values)) / math.sqrt(n_draws)
    )


@pytest.mark.full
def test_intervals_over_questions_hold_for_all_such_questions() -> None:
    held, truth = 0, np.mean([_truth(seed) for seed in range(10_000, 10_060)])
    for seed in range(40):
        runs, judge, people = population(seed=seed)
        queue = plan_labels(runs, judge=judge, n=150, seed=seed)
        interval = estimate(runs, judge=judge, people=filled_in(queue, people)).differences[0].interval
        assert interval is not None
        held += int(interval[0] <= truth <= interval[1])
    assert 0.85 <= held / 40 <= 1


def _truth(seed: int) -> float:
    runs, judge, people = population(seed=seed)
    return estimate(runs, judge=judge, people=people, probability=1).differences[0].value


def test_a_wrong_judge_gets_no_weight_and_a_perfect_one_all() -> None:
    runs, _, people = population()
    random = np.random.default_rng(3)
    noise = {q: {d: float(random.integers(0, 2)) for d in row} for q, row in people.items()}
    queue = filled_in(plan_labels(runs, judge=noise, n=200), people)
    assert abs(estimate(runs, judge=noise, people=queue).systems[0].judge_weight) < 0.2
    perfect = estimate(runs, judge=people, people=queue)
    assert perfect.systems[0].judge_weight == pytest.approx(1)
    low, high = perfect.systems[0].sampling_interval
    assert low < perfect.systems[0].value < high  # not a point
    assert perfect.systems[0].value == pytest.approx(perfect.systems[0].judge_alone, abs=1e-12)
    assert "people agree with the judge on every label" in repr(perfect)


def test_the_value_is_that_of_ppi_python_with_the_same_weight() -> None:
    """In a uniform sample of one document per question, n of N of them, its weight is b / (1 + n / (N - n))."""
    random = np.random.default_rng(11)
    y, n = random.integers(0, 2, 60).astype(float), 20
    f = np.where(random.random(60) < 0.8, y, 1 - y)
    runs = runs_of({"one": {str(q): ["d"] for q in range(60)}})
    judge = {str(q): {"d": value} for q, value in enumerate(f)}
    result = estimate(runs, judge=judge, people={str(q): {"d": y[q]} for q in range(n)}, probability=n / 60, k=1)
    weight = np.cov(y[:n], f[:n], ddof=0)[0, 1] / np.var(f[:n]) / (1 + n / (60 - n))
    # ppi_py.ppi_mean_pointestimate(y[:n], f[:n], f[n:], lam=weight) of ppi-python 0.2.3
    assert result.systems[0].value == pytest.approx(0.55, abs=1e-12)
    assert weight * f[n:].mean() + (y[:n] - weight * f[:n]).mean() == pytest.approx(0.55, abs=1e-12)
    interval = result.systems[0].interval
    # ppi_py.ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05), which reads a normal where t is due
    assert interval == pytest.approx((0.35951329, 0.74048671), abs=0.02)


def test_known_grades_count_with_probability_1_and_are_not_drawn() -> None:
    runs, judge, people = population()
    known = EvalSet([{"id": q, "gold": [{"id": "d0", "grade": row["d0"]}]} for q, row in people.items()])
    queue = plan_labels(runs, judge=judge, n=100, evalset=known)
    assert all(row["document"]["id"] != "d0" for row in queue)
    with_known = estimate(runs, judge=judge, people=filled_in(queue, people), evalset=known)
    assert with_known.n_labels > 100
    assert plan_labels(runs, judge=judge, n=10_000, evalset=known)[0]["probability"] == 1


def test_the_queue_tends_to_begin_with_what_shrinks_the_interval_most() -> None:
    runs, judge, _ = population()
    rows = plan_labels(runs, judge=judge, n=10_000, metric="dcg")
    turns, sizes = ([row["evidence"][name] for row in rows] for name in ("turn", "size"))
    assert turns == sorted(turns)
    assert np.mean(sizes[:50]) > 1.5 * np.mean(sizes[-50:])
    assert sum(row["probability"] for row in plan_labels(runs, judge=judge, n=50)) < 50


@pytest.mark.sample(2)
@pytest.mark.parametrize("settings", SETTINGS[:2])
def test_as_many_labels_as_planned_make_the_interval_as_wide_as_asked(settings: dict[str, Any]) -> None:
    runs, judge, people = population()
    pilot = filled_in(plan_labels(runs, judge=judge, n=60, seed=99, **settings), people)
    for share in (0.3, 0.6):
        goals = [_width(runs, judge, people, {"n": int(share * 450), "seed": seed} | settings) for seed in range(5)]
        goal = float(np.mean(goals))
        rows = plan_labels(runs, judge=judge, width=goal, pilot=pilot, seed=1, **settings)
        assert len(rows) == pytest.approx(share * 450, rel=0.3)
        reached = [
            _width(runs, judge, people, {"width": goal, "pilot": pilot, "seed": seed} | settings) for seed in range(5)
        ]
        assert np.mean(reached) == pytest.approx(goal, rel=0.2)
    known = {(row["query_id"], row["document"]["id"]): row["label"] for row in pilot}
    rows = plan_labels(runs, judge=judge, width=0.05, pilot=pilot, seed=2, **settings)
    for row in rows:
        assert row["label"] == known.get((row["query_id"], row["document"]["id"]))
    assert any(row["label"] is not None for row in rows)


def _width(runs: dict[str, Run], judge: Labels, people: Labels, plan: dict[str, Any]) -> float:
    rows = filled_in(plan_labels(runs, judge=judge, **plan), people)
    settings = {name: plan[name] for name in ("metric", "k")}
    low, high = estimate(runs, judge=judge, people=rows, **settings).differences[0].sampling_interval
    return high - low


def test_a_width_needs_a_pilot_and_a_wide_one_needs_few_labels() -> None:
    runs, judge, people = population()
    for settings in (dict[str, Any](), {"n": 5, "width": 0.1}):
        with pytest.raises(InvalidInputError, match="either `n`, how many documents, or `width`"):
            plan_labels(runs, judge=judge, **settings)
    with pytest.raises(InvalidInputError, match=r"`pilot` has 0 labels .* at least 20"):
        plan_labels(runs, judge=judge, width=0.1)
    with pytest.raises(InvalidInputError, match="`width` must be a number above 0"):
        plan_labels(runs, judge=judge, width=0, pilot=everything(people, 1))
    of_one = {"one": runs["one"]}
    n_labels = [len(plan_labels(of_one, judge=judge, width=w, pilot=everything(people, 1))) for w in (0.02, 0.1, 5)]
    assert n_labels == sorted(n_labels, reverse=True)
    assert n_labels[-1] == 9


def test_the_interval_for_all_questions_allows_for_what_few_do_not_show() -> None:
    """Ten of eleven topics have 1 and one has 0.2: the topic with 0.2 is missing in a third of such samples."""
    few = runs_of({"one": {str(q): [f"d{i}" for i in range(5)] for q in range(11)}})
    people = {str(q): {f"d{i}": 1.0 for i in range(5)} for q in range(11)}
    result = estimate(few, judge=people, people=people, probability=1, k=5)
    assert result.systems[0].interval == pytest.approx((1 - (1 - 0.025 ** (1 / 11)), 1.0))
    assert "11 questions do not show all others" in repr(result)
    assert "in case up to 28% of them are as bad or as good as can be" in result.notes[0]
    many = {str(q): people["0"] for q in range(50)}
    whole = estimate(
        runs_of({"one": {q: list(row) for q, row in many.items()}}), judge=many, people=many, probability=1
    )
    assert whole.notes == ()


def test_rare_large_gains_make_the_interval_longer_on_their_side() -> None:
    ids = {str(q): [f"d{i}" for i in range(20)] for q in range(11)}
    random = np.random.default_rng(0)
    people = {q: {d: float(random.choice([0, 1, 4], p=[0.6, 0.35, 0.05])) for d in row} for q, row in ids.items()}
    judge = {q: dict.fromkeys(row, 1.0) for q, row in ids.items()}
    run = runs_of({"one": ids})
    below, above = [], []
    for seed in range(8):
        rows = filled_in(plan_labels(run, judge=judge, n=60, metric="dcg", k=20, seed=seed), people)
        row = estimate(run, judge=judge, people=rows, metric="dcg", k=20).systems[0]
        below.append(row.value - row.sampling_interval[0])
        above.append(row.sampling_interval[1] - row.value)
    assert np.mean(above) > 1.2 * np.mean(below)


def test_judged_contexts_write_labels_that_estimate_reads(tmp_path: Path) -> None:
    def judge(prompt: str) -> str:
        return json.dumps({"reason": "so", "useful": "three" in prompt.partition("PASSAGE")[2]})

    run = Run.of(
        "one",
        [
            RunRow.from_dict(
                {"query_id": "q", "retrieved": [{"id": "a", "text": "three days"}, {"id": "b", "text": "no"}]}
            ),
            RunRow.from_dict({"query_id": "r", "retrieved": [{"id": "c", "text": "no"}, {"id": "d", "text": "no"}]}),
        ],
    )
    references = {"q": "three days", "r": "one"}
    judged = judge_contexts(references, run, judge, questions={"q": "?", "r": "?"}, metrics="context_precision")
    assert judged.write_labels(tmp_path / "judge.jsonl") == 4
    people = {"q": {"a": True, "b": False}, "r": {"c": False, "d": False}}
    result = estimate(run, judge=tmp_path / "judge.jsonl", people=people, probability=1, k=2)
    assert (result.systems[0].value, result.systems[0].bias) == (0.25, 0)
    nothing = judge_contexts(references, {"q": [], "r": []}, judge, metrics="context_precision")
    with pytest.raises(InvalidInputError, match="labelled no chunk"):
        nothing.write_labels(tmp_path / "none.jsonl")


def test_one_question_has_no_interval_for_others() -> None:
    runs, judge, people = population(n_queries=1)
    result = estimate(runs, judge=judge, people=filled_in(plan_labels(runs, judge=judge, n=9), people))
    assert result.systems[0].interval is None
    assert result.systems[0].sampling_interval[0] < result.systems[0].sampling_interval[1]
    assert "one question tells nothing about others" in repr(result)


ONE = runs_of({"one": {"q": ["a", "b"], "r": ["c", "d"]}})
JUDGE: Labels = {"q": {"a": 1, "b": 0}, "r": {"c": 1, "d": 0}}
PEOPLE: Labels = {"q": {"a": 1, "b": 0}}


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("judge", "people", "settings", "message"),
    [
        ({"q": {"x": 1}}, PEOPLE, {}, "no label for 4 of 4 .* Not one of its labels is of a retrieved document"),
        ({"q": {"a": 1, "b": 0}}, PEOPLE, {}, "no label for 2 of 4 documents .* first for 'c' of the question 'r'"),
        (JUDGE, {}, {}, "`people` has no label of a document that was retrieved within k, and the judge alone"),
        (JUDGE, {"q": {"x": 1}}, {}, "`people` has no label of a document that was retrieved"),
        (JUDGE, PEOPLE, {"probability": 0}, "`probability` must be a number from 1e-09 to 1, got 0"),
        (JUDGE, PEOPLE, {"probability": 1.5}, "`probability` must be a number from 1e-09 to 1, got 1.5"),
        (JUDGE, PEOPLE, {"probability": 1e-300}, "`probability` must be a number from 1e-09 to 1, got 1e-300"),
        (JUDGE, everything(PEOPLE, 0), {}, "`people.0.`: `probability` must be a number from 1e-09 to 1, got 0"),
        (
            JUDGE,
            everything(PEOPLE, math.nan),
            {},
            "`people.0.`: `probability` must be a number from 1e-09 to 1",
        ),
        (
            [{"document": {"id": "a"}, "label": 1}],
            PEOPLE,
            {},
            "`judge.0.`: `label` must be a row with",
        ),
        ([{"query_id": "q", "document": {}, "label": 1}], PEOPLE, {}, "`judge.0.`: a dict has neither an id nor a"),
        (JUDGE, PEOPLE, {"probability": None}, "the probability with which it was drawn is not known"),
        (JUDGE, [*everything(PEOPLE), *everything({"q": {"a": 0}})], {}, "differently from `people.0.`"),
        (JUDGE, [{"query_id": "q", "document": {"id": "a"}}], {}, "a row with `query_id`, `document` and `label`"),
        (JUDGE, {"q": {"a": -1}}, {}, "`label` must be a number of at least 0"),
        (JUDGE, {"q": {"a": "yes"}}, {}, "must be true, false, a grade"),
        (JUDGE, {"q": ["a"]}, {}, "It must map document ids to labels"),
        (JUDGE, 3, {}, "`people` is"),
        (JUDGE, PEOPLE, {"metric": "recall"}, "`metric`"),
        (JUDGE, PEOPLE, {"metric": []}, "one weight per rank"),
        (JUDGE, PEOPLE, {"confidence": 95}, "`confidence`"),
    ],
)
def test_wrong_input_is_told(judge: Any, people: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        estimate(ONE, judge=judge, people=people, k=2, **{"probability": 0.5, **settings})


def test_all_ties_are_a_difference_of_0_beside_values_that_few_labels_leave_open() -> None:
    ties = runs_of({"one": {"q": ["a", "b"], "r": ["c", "d"]}, "two": {"q": ["b", "a"], "r": ["d", "c"]}})
    result = estimate(ties, judge=JUDGE, people=PEOPLE, k=2, probability=0.5)
    difference, first = result.differences[0], result.systems[0]
    assert (difference.value, difference.interval, difference.sampling_interval) == (0, (0, 0), (0, 0))
    assert (first.value, first.sampling_interval[0] < 0.25, first.sampling_interval[1] > 0.75) == (0.5, True, True)
    assert 0 <= first.sampling_interval[0] <= first.sampling_interval[1] <= 1, "as any precision"
    assert first.interval is not None
    assert 0 <= first.interval[0] <= first.interval[1] <= 1
    assert result.notes == (
        "people agree with the judge on every label: the intervals allow for one that was not drawn",
        (
            "2 questions do not show all others: the intervals of single systems for all such questions are wider, in "
            "case up to 84% of them are as bad or as good as can be"
        ),
    )
    one = estimate(runs_of({"one": {"q": ["a"]}}), judge=JUDGE, people=PEOPLE, k=1, probability=1)
    assert repr(one).startswith("precision@1 of 1 question: people labelled 1 of 1\n")
    assert "on 100.0% of 1 document; Cohen's kappa undefined; Krippendorff's alpha undefined" in repr(one)


def test_wrong_runs_are_told() -> None:
    with pytest.raises(InvalidInputError, match="retrieved nothing"):
        estimate({"one": {"q": {}}}, judge=JUDGE, people=PEOPLE, probability=0.5)
    with pytest.raises(InvalidInputError, match="`runs` is"):
        estimate([], judge=JUDGE, people=PEOPLE)


def test_equal_labels_given_twice_are_one_and_null_is_none() -> None:
    rows = everything(PEOPLE, 0.5)
    twice = [*rows, *rows, {"query_id": "r", "document": {"id": "c"}, "label": None}]
    assert estimate(ONE, judge=JUDGE, people=twice, k=2) == estimate(ONE, judge=JUDGE, people=rows, k=2)
    assert estimate(ONE, judge=JUDGE, people=rows, k=2).n_labels == 2


@pytest.mark.full
def test_probabilities_that_cannot_be_right_are_warned_of() -> None:
    runs, judge, people = population()
    queue = [{**row, "probability": 1.0} for row in filled_in(plan_labels(runs, judge=judge, n=40), people)]
    with pytest.warns(KragEvalWarning, match="stand for 40 documents"):
        estimate(runs, judge=judge, people=queue)


def test_kappa_and_alpha_of_published_examples() -> None:
    # Cohen (1960), table 1: two judges, 200 cases; kappa .492
    table = np.array([[[88, 14, 18], [10, 40, 10], [2, 6, 12]]], dtype=np.float64)
    assert cohen_kappa(table)[0] == pytest.approx(0.492, abs=0.0005)
    # Krippendorff (2011), A: two coders, ten units, binary; alpha .095
    coders = np.array([[5, 1], [3, 1]], dtype=np.float64)
    assert krippendorff_alpha(coders[None])[0] == pytest.approx(0.095, abs=0.0005)
    # ibid., B: two coders, twelve units, five values; alpha .692
    nominal = np.zeros((1, 5, 5))
    for one, other in zip("aabbdcccedda", "babbbccceddd", strict=True):
        nominal[0, "abcde".index(one), "abcde".index(other)] += 1
    assert krippendorff_alpha(nominal)[0] == pytest.approx(0.692, abs=0.0005)


def test_agreement_has_intervals_and_is_undefined_where_all_is_the_same() -> None:
    _, judge, people = population()
    agreement = label_agreement(people, {q: {d: max(g - 1, 0) for d, g in row.items()} for q, row in judge.items()})
    assert agreement.kappa is not None
    assert agreement.kappa_interval is not None
    assert agreement.alpha is not None
    assert agreement.kappa_interval[0] < agreement.kappa < agreement.kappa_interval[1] < 1
    assert agreement.alpha < agreement.kappa
    same = label_agreement({"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1}})
    assert (same.share, same.kappa, same.alpha) == (1, None, None)
    assert "Cohen's kappa undefined" in str(same)
    with pytest.raises(InvalidInputError, match="No document is labelled both"):
        label_agreement({"q": {"a": 1}}, {"q": {"b": 1}})


def test_a_queue_goes_through_a_file(tmp_path: Path) -> None:
    runs, judge, people = population()
    assert write_queue(plan_labels(runs, judge=judge, n=60), tmp_path / "queue.jsonl") == 60
    rows = [json.loads(line) for line in (tmp_path / "queue.jsonl").read_text(encoding="utf-8").splitlines()]
    assert estimate(runs, judge=judge, people=filled_in(rows, people)).n_labels == 60


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("estimate(runs, judge, people)", "estimate(runs, judge=judge, people=people)"),
        ("estimate(runs, judge, people=people, k=5)", "estimate(runs, judge=judge, people=people, k=5)"),
        ("plan_labels(runs, judge, 9)", "plan_labels(runs, judge=judge, n=9)"),
    ],
)
def test_labels_by_their_places_are_taken_with_a_warning_that_names_them(old: str, new: str) -> None:
    runs, judge, people = population(n_queries=20)
    drawn = filled_in(plan_labels(runs, judge=judge, n=30), people)
    names = {"estimate": estimate, "plan_labels": plan_labels, "runs": runs, "judge": judge, "people": drawn}
    check_old_order(old, new, "{}", names)
