"""What filters lost, against a plain computation with sets of ids; and where one looks for it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, Run, RunRow, diagnose, evaluate_run, funnel
from tests.support.stage_graphs import needs_of, random_case

DENSE = {"name": "dense", "retrieved": [{"id": one} for one in "abx"]}
ACCESS = {"name": "access filter", "inputs": ["dense"], "retrieved": [{"id": "x"}, {"id": "b"}]}
EVERYTHING = {"gold": [{"any_of": [{"id": "d0"}]}]}
QUESTION = {"id": "q", "question": "?", "gold_chunk_ids": ["a", "b"]}


def run_of(*stages: dict[str, Any]) -> Run:
    return Run.of("two", [RunRow.from_dict({"query_id": "q", "stages": stages})])


def plainly(question: dict[str, Any], row: dict[str, Any] | None, k: int, name: str) -> float | None:
    needs, lost, shown, is_filtered = needs_of(question), set[int](), set[int](), False
    for search in (row or {}).get("searches", [row or {}]):
        stages = search.get("stages") or [{"name": "run", "retrieved": search.get("retrieved", [])}]
        out = {stage["name"]: [one["id"] for one in stage["retrieved"]] for stage in stages}
        shown |= {n for n, need in enumerate(needs) if need & {*out[stages[-1]["name"]][:k]}}
        for stage in stages:
            if stage["name"] == name and stage.get("inputs"):
                given = {one for source in stage["inputs"] for one in out[source]}
                lost |= {n for n, need in enumerate(needs) if need & given and not need & {*out[name]}}
                is_filtered = True
    return len(lost - shown) / len(needs) if needs and is_filtered else None


@pytest.mark.parametrize("n_cases", [25, pytest.param(1_000, marks=pytest.mark.full)])
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_it_equals_a_plain_computation_and_adds_to_recall_at_most_to_1(n_cases: int) -> None:
    draw, n_compared = random.Random(n_cases), 0
    for _ in range(n_cases):
        rows, questions, _ = random_case(draw, 8)
        given = {row["query_id"]: row for row in rows}
        run, recall = Run.of("r", map(RunRow.from_dict, rows)), "session_recall"
        for name in ("s1", "s2"):
            metric = f"filter_loss(stage={name})"
            if all(plainly(q | EVERYTHING, given.get(q["id"]), 1, name) is None for q in questions):
                with pytest.raises(InvalidInputError, match=f"named '{name}'"):
                    evaluate_run(EvalSet(questions), run, metrics=metric)
                continue
            result = evaluate_run(EvalSet(questions), run, [1, 3, None], metrics=[metric, recall])
            for question, found in zip(questions, result.per_query, strict=True):
                for k, at in ((1, "@1"), (3, "@3"), (10**6, "")):
                    n_compared += 1
                    value = found.values[metric + at]
                    assert value == plainly(question, given.get(question["id"]), k, name)
                    assert value is None or value + (found.values[recall + at] or 0) <= 1 + 1e-12
    assert n_compared > 10 * n_cases


def test_it_stands_in_the_funnel_and_in_diagnose() -> None:
    run = run_of(DENSE, ACCESS)
    result = evaluate_run([QUESTION], run, k=2, metrics=["recall", "filter_loss"])
    assert (result["recall@2"], result["filter_loss@2"]) == (0.5, 0.5)
    found = funnel([QUESTION], run, k=2)
    assert found.filter_loss == found.to_dict()["filter_loss"] == found.total.shares["lost_in:access filter"] == 0.5
    assert "filter_loss@2 0.5" in repr(found)
    assert diagnose(result).filter_loss == diagnose(result).to_dict()["filter_loss"] == 0.5
    assert "filter loss" in repr(diagnose(result))


def test_gold_that_the_asker_may_not_see_is_not_lost_by_the_filter_that_removes_it() -> None:
    gold = [{"id": one, "metadata": {"tenant": tenant}} for one, tenant in (("a", "x"), ("b", "y"))]
    question = {"id": "q", "question": "?", "gold": gold, "allowed": {"tenant": ["y"], "allowed_if_missing": True}}
    with pytest.warns(KragEvalWarning, match="may not be seen"):
        result = evaluate_run([question], run_of(DENSE, ACCESS), k=2, metrics=["filter_loss", "recall"])
    assert result.to_dict()["filter_loss@2"] == 0
    with pytest.warns(KragEvalWarning, match="may not be seen"):
        assert funnel([question], run_of(DENSE, ACCESS), k=2).filter_loss == 0


def test_a_pipeline_without_a_filter_has_no_filter_loss() -> None:
    rerank = {**ACCESS, "name": "rerank"}
    run = run_of(DENSE, rerank)
    assert funnel([QUESTION], run, k=2).filter_loss is None
    assert "filter_loss" not in funnel([QUESTION], run, k=2).to_dict()
    with pytest.raises(InvalidInputError, match="stages with inputs are: 'rerank'"):
        evaluate_run([QUESTION], run, k=2, metrics="filter_loss")
    result = evaluate_run([QUESTION], run, k=2, metrics="filter_loss(stage=rerank)")
    assert result.to_dict() == {"filter_loss(stage=rerank)@2": 0.5}
