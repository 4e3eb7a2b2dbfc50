"""What the suites of ranx, LlamaIndex and rouge_score check of their metrics, asked of both programs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from krag_eval import Need, UnknownMetricError, evaluate, evaluate_ids
from krag_eval.metrics.names import as_key

# ranx compiles each metric when it is first asked, which takes minutes on a busy machine.
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]

LIKE_RANX: dict[str, Any] = {"precision_denominator": "k", "gain": "linear"}


def graded(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    draw = random.Random(seed)
    names = [f"d{number}" for number in range(20)]
    # Each query has a document of every level, so that no metric is undefined here and 0 there.
    qrels = {
        f"q{query}": {name: draw.choice([0, 1, 2, 3]) for name in draw.sample(names[1:], 9)} | {"d0": 3}
        for query in range(20)
    }
    return qrels, {query: {name: draw.random() for name in draw.sample(names, 12)} for query in qrels}


NAMES_OF_RANX = [
    *("hit_rate@3", "precision@3", "precision", "recall@3", "recall", "f1@3", "f1", "r-precision", "mrr@3", "mrr"),
    *("map@3", "map", "ndcg@3", "ndcg"),
]


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES_OF_RANX)
def test_a_name_of_ranx_is_its_metric_at_every_level(name: str, level: int) -> None:
    import ranx

    qrels, run = graded(level)
    written = name if level == 1 or "ndcg" in name else f"{name}-l{level}"
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), written)
    assert evaluate_ids(qrels, run, None, metrics=written, **LIKE_RANX)[as_key(written)] == pytest.approx(theirs)


@pytest.mark.parametrize("p", ["5", "80", "95"])
def test_what_stands_behind_the_dot_of_rbp_is_its_patience(p: str) -> None:
    import ranx

    qrels, run = graded(int(p))
    binary = {query: {name: int(grade > 0) for name, grade in row.items()} for query, row in qrels.items()}
    theirs = ranx.evaluate(ranx.Qrels(binary), ranx.Run(run), f"rbp.{p}")
    assert evaluate_ids(qrels, run, None, metrics=f"rbp.{p}")[f"rbp.{p}"] == pytest.approx(theirs)


def test_the_gain_of_burges_is_the_default() -> None:
    import ranx

    qrels, run = graded(7)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "ndcg_burges@5")
    assert evaluate_ids(qrels, run, metrics="ndcg@5")["ndcg@5"] == pytest.approx(theirs)


@pytest.mark.parametrize("name", ["hits@5", "ndcg_burges@5", "dcg@5", "dcg_burges"])
def test_a_name_of_ranx_that_nothing_here_computes_is_answered(name: str) -> None:
    with pytest.raises(UnknownMetricError, match="It is not computed here"):
        evaluate_ids([["a"]], [["a"]], metrics=name)


def test_a_query_without_a_ranking_counts_as_in_ranx() -> None:
    import ranx

    qrels = {f"q{number}": {f"d{number}": 1} for number in range(4)}
    run: dict[str, dict[str, float]] = {query: dict.fromkeys(row, 1.0) for query, row in qrels.items()}
    run["q2"] = {}
    names = ["precision", "recall", "f1"]
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names)
    ours = evaluate_ids(qrels, run, None, metrics=names)
    assert {name: ours[name] for name in names} == theirs == dict.fromkeys(names, 0.75)


OF_LLAMA_INDEX = {"HitRate": "hit_rate", "MRR": "mrr", "Precision": "precision", "Recall": "recall"}
OF_LLAMA_INDEX |= {"AveragePrecision": "map", "NDCG": "ndcg"}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", OF_LLAMA_INDEX)
def test_a_metric_of_llama_index_is_ours_for_unique_ids(name: str, seed: int) -> None:
    from llama_index.core.evaluation.retrieval import metrics

    draw = random.Random(seed)
    names = [f"d{number}" for number in range(9)]
    expected, retrieved = draw.sample(names, draw.randint(1, 5)), draw.sample(names, draw.randint(5, 9))
    theirs = getattr(metrics, name)().compute(expected_ids=expected, retrieved_ids=retrieved).score
    ours = evaluate_ids([expected], [retrieved], None, metrics=OF_LLAMA_INDEX[name])
    assert ours[OF_LLAMA_INDEX[name]] == pytest.approx(theirs, abs=1e-12)


KINDS = [*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum"]
TARGETS = ["first line here\nsecond line is this one", "second line is this one\nand a third", "something else"]


def decides(target: Any, prediction: str, kind: str, threshold: float) -> bool:
    found = evaluate([[target]], [[prediction]], 1, match_method=kind, threshold=threshold, tokenizer="rouge_score")
    return found["hit_rate@1"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_rouge_score_decides_the_same(kind: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    draw = random.Random(kind)
    for _ in range(40):
        target, prediction = (" ".join(draw.choices(["a", "b", "c d", "e\n"], k=draw.randint(1, 25))) for _ in "tp")
        score = RougeScorer([kind]).score(target, prediction)[kind].fmeasure
        for threshold in {0.1, 0.5, 0.9, score}:
            assert decides(target, prediction, kind, threshold) == (score >= threshold), (target, prediction)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_several_targets_decides_as_in_score_multi(kind: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    prediction = "second line is this one\nfirst line here"
    best = RougeScorer([kind]).score_multi(TARGETS, prediction)[kind].fmeasure
    need = Need(any_of=[{"text": target} for target in TARGETS])
    for threshold in {0.3, 0.7, best}:
        assert decides(need, prediction, kind, threshold) == (best >= threshold)


@pytest.mark.parametrize("kind", ["rouge0", "rouge10", "rougen", "rouge"])
def test_what_is_no_type_of_rouge_score_is_none_here(kind: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    for call in (lambda: RougeScorer([kind]).score("a", "a"), lambda: decides("a", "a", kind, 0.5)):
        with pytest.raises(ValueError, match=kind):
            call()
