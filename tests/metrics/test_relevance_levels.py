"""Binary metrics that count gold documents from a grade on, and the metrics of trec_eval that look at whole sets."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from krag_eval import (
    EvaluationResult,
    InvalidInputError,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    UnknownMetricError,
    evaluate,
    evaluate_all,
    evaluate_ids,
)
from krag_eval.metrics.names import as_key
from tests.support.marks import nothing_may_match
from tests.support.metric_values import one

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
QRELS: Qrels = {"1": {"a": 3, "b": 1, "c": 2, "d": 0}, "2": {"a": 1, "e": 2}, "3": {"b": 1}}
RUN: Run = {"1": {"b": 3, "a": 2, "x": 1}, "2": {"a": 2, "y": 1}, "3": {"b": 1}}
GOLD = [list(row.items()) for row in QRELS.values()]
FOUND = [list(row) for row in RUN.values()]
BY_TEXT: dict[str, Any] = {"k": 2, "match_method": "text"}


def random_qrels_and_run(seed: int) -> tuple[Qrels, Run]:
    """Judgments of every kind, those below 0 included, and rankings of some judged and some other documents."""
    draw = random.Random(seed)
    names = [f"d{number}" for number in range(14)]
    qrels = {
        f"q{query}": {name: draw.choice([-2, -1, 0, 0, 1, 2, 3]) for name in draw.sample(names, 9)}
        for query in range(20)
    }
    orders = {query: draw.sample(names, draw.randint(1, 12)) for query in qrels}
    return qrels, {query: {name: float(-rank) for rank, name in enumerate(row)} for query, row in orders.items()}


AT_A_LEVEL = [
    "AP",
    "AP@5",
    "RR",
    "P@5",
    "R@5",
    "Rprec",
    "Success@3",
    "Bpref",
    "infAP",
    "SetP",
    "SetR",
    "SetAP",
    "SetF",
    "NumRet",
    "IPrec@0.3",
]
WITHOUT = ["NumRel", "NumRet", "SetF(beta=2.0)", "SetF(beta=0.5)", "IPrec@0.0", "IPrec@0.1", "IPrec@1.0", "nDCG@5"]


@nothing_may_match
@pytest.mark.filterwarnings("ignore:No document has grade 0", "ignore:.* have a grade below 0")
@pytest.mark.parametrize("level", [None, 1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_level_equals_that_of_ir_measures(seed: int, level: int | None) -> None:
    qrels, run = random_qrels_and_run(seed)
    named = [ir_measures.parse_measure(name) for name in AT_A_LEVEL]
    measures: list[Any] = [*(one if level is None else one(rel=level) for one in named)]
    measures += [] if level else [ir_measures.parse_measure(name) for name in WITHOUT]
    # One at a time: pytrec_eval gives several IPrec of one call the same name.
    theirs = {
        (str(measure), value.query_id): value.value
        for measure in measures
        for value in ir_measures.pytrec_eval.iter_calc([measure], qrels, run)
    }
    ours = evaluate_ids(qrels, run, None, metrics=measures, precision_denominator="k", gain="linear")
    for measure in measures:
        for row in ours.per_query:
            value, expected = row.values[as_key(str(measure))], theirs[str(measure), str(row.id)]
            assert value == pytest.approx(expected, abs=1e-12) if value is not None else expected == 0, measure


@pytest.mark.parametrize("k", [1, 3, 10])
def test_err_equals_the_five_decimals_of_gdeval(k: int) -> None:
    qrels, run = random_qrels_and_run(k)
    qrels = {query[1:]: {name: max(grade, 0) for name, grade in row.items()} for query, row in qrels.items()}
    run = {query[1:]: row for query, row in run.items()}
    measures: Any = [ir_measures.ERR @ k]
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc(measures, qrels, run)}
    ours = evaluate_ids(qrels, run, metrics=measures)
    for row in ours.per_query:
        value = row.values[f"err@{k}"]
        assert value is not None
        assert round(value, 5) == theirs[str(row.id)]


@nothing_may_match
def test_err_by_hand() -> None:
    gold = [("a", 2), ("b", 1)]
    assert one(gold, ["x", "b", "a"], "err") == pytest.approx(1 / 16 / 2 + 15 / 16 * 3 / 16 / 3)
    assert one(gold, ["x", "b", "a"], "err", 2) == 1 / 16 / 2
    assert one(gold, ["a"], "err(max_grade=2)") == 3 / 4
    assert one(gold, ["x"], "err") == 0
    chunks = ["a b", "a"]  # the first covers both, and its highest grade counts; the second covers nothing new
    assert one(gold, chunks, "err", match_method="containment") == 3 / 16
    with pytest.raises(InvalidInputError, match=r"grade 5, and `err` takes 4 .* Write err\(max_grade=5\)"):
        one([("a", 5)], ["a"], "err")


@nothing_may_match
def test_f_weighs_recall() -> None:
    gold, found = ["a", "b", "c"], ["a", "x"]
    precision, recall = 1 / 2, 1 / 3
    assert one(gold, found, "F(beta=2)") == pytest.approx(5 * precision * recall / (4 * precision + recall), abs=1e-15)
    assert one(gold, found, "F(beta=1)") == one(gold, found, "f1")
    assert one(gold, ["x", "y"], "F(beta=2)") == 0
    # The beta of trec_eval is this one squared.
    assert one(gold, found, "SetF(beta=4)") == one(gold, found, "F(beta=2)")


def test_a_level_is_what_judging_with_lower_grades_as_0_gives() -> None:
    gold = [[("a b", 3), ("b", 1), ("b c", 2)], [("c", 1)]]
    found = [["a b c", "b x", "b c"], ["c"]]
    names = ["mrr", "map", "recall", "precision", "f1", "hit_rate_all", "complete_rank", "rbp", "r_precision"]
    zeroed = [[(text, grade if grade >= 2 else 0) for text, grade in row] for row in gold]
    settings: dict[str, Any] = {"k": (1, 2, None), "match_method": "containment", "metrics": names}
    at_level = evaluate(gold, found, relevance_level=2, **settings)
    judged_so = evaluate(zeroed, found, **settings)
    for key, value in judged_so.to_dict().items():
        name, at, k = key.partition("@")
        if not key.startswith("micro_"):
            assert at_level[f"{name}(rel=2){at}{k}"] == value
    assert at_level.undefined["mrr(rel=2)@1"] == 1  # its only document has grade 1


def test_evaluate_all_counts_from_the_level_on_under_its_own_keys() -> None:
    zeroed = [[(text, grade if grade >= 2 else 0) for text, grade in row] for row in GOLD]
    whole, expected = evaluate_all(GOLD, FOUND, **BY_TEXT), evaluate_all(zeroed, FOUND, **BY_TEXT)
    at_level = evaluate_all(GOLD, FOUND, **BY_TEXT, relevance_level=2)
    assert at_level == {**expected, "ndcg": whole["ndcg"]}
    assert at_level["micro_recall"] == 1 / 3
    assert OfflineRetrievalEvaluators(GOLD, FOUND, relevance_level=2).evaluate_all(2) == at_level
    assert RAGEvaluator(relevance_level=2).evaluate_all(GOLD, FOUND, 2) == at_level
    keys = OfflineRetrievalEvaluators(GOLD, FOUND, relevance_level=2).result(2).keys()
    assert {"recall(rel=2)@2", "ndcg@2"} < {*keys}


NAME, KEY = "AP(rel=2)@2", "map(rel=2)@2"


def write_files(folder: Path) -> None:
    lines = [f"{query} 0 {name} {grade}\n" for query, row in QRELS.items() for name, grade in row.items()]
    (folder / "set.qrels").write_text("".join(lines))
    ranked = [f"{query} Q0 {name} 0 {score} t\n" for query, row in RUN.items() for name, score in row.items()]
    (folder / "run.txt").write_text("".join(ranked))


@pytest.mark.parametrize("level", [0, -1, math.nan, "2", True])
def test_a_level_that_is_no_grade_is_refused(level: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate_ids(QRELS, RUN, relevance_level=level)
    assert caught.value.argument == "relevance_level"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("AP(rel=0)@5", "rel='0' cannot be used: it must be a number above 0"),
        ("AP(rel=high)@5", "rel='high' cannot be used"),
        ("nDCG(rel=2)@5", "no parameter 'rel'. It reads the grades themselves."),
        ("P(rel=2, judged_only=True)@5", "no parameter 'judged_only'. Remove it, and pass unjudged='remove'."),
        ("nDCG(dcg='exp-log2')@5", "Remove it, and pass gain='linear'"),
        ("SetP(relative=True)", "'r_precision'"),
        ("Bpref(cutoff=5)", "has no cut-off"),
    ],
)
def test_what_a_parameter_cannot_say_is_answered(name: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate_ids(QRELS, RUN, metrics=name)
    assert words in str(caught.value)


def test_every_name_of_ir_measures_and_trec_eval_is_computed_or_answered() -> None:
    import pytrec_eval

    names = {*map(str, ir_measures.measures.registry), *pytrec_eval.supported_measures}
    names |= set().union(*pytrec_eval.supported_nicknames.values())
    settings = {"P": "P@5", "R": "R@5", "IPrec": "IPrec@0.5", "iprec_at_recall": "iprec_at_recall_0.50"}
    unanswered = []
    for name in sorted(names):
        try:
            result = evaluate_ids(QRELS, RUN, metrics=settings.get(name, name))
        except UnknownMetricError as error:
            if "It is not computed here. " not in str(error):
                unanswered.append(str(error))
        else:
            assert isinstance(result, EvaluationResult)
    assert unanswered == []
