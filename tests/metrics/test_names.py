"""Metrics under the names that other tools give them, with and without their cut-offs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    Run,
    RunRow,
    Scorer,
    UnknownMetricError,
    check_gate,
    compare,
    evaluate,
    evaluate_ids,
    evaluate_retriever,
    evaluate_run,
    intervals_of,
    leaderboard,
    read_policy,
)
from tests.support.marks import nothing_may_match

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["x", "a"], ["c", "y", "z"]]
EVERY_CUT_OFF = evaluate_ids(GOLD, RETRIEVED, k=[1, 2, 3, 5, 10, 20])


def values(metrics: Any, **settings: Any) -> dict[str, float | None]:
    return evaluate_ids(GOLD, RETRIEVED, metrics=metrics, **settings).to_dict()


@pytest.mark.parametrize(
    ("metrics", "keys"),
    [
        ("recall@5", ["recall@5", "micro_recall@5"]),
        (["mrr@5", "ndcg@10"], ["mrr@5", "ndcg@10"]),
        ("nDCG@10 MRR@5", ["ndcg@10", "mrr@5"]),
        ("MAP@3, hit@1", ["map@3", "hit_rate@1"]),
        ("P_5", ["precision@5", "micro_precision@5"]),
        (["ndcg_cut_10", "ndcg_cut.20", "map_cut_3"], ["ndcg@10", "ndcg@20", "map@3"]),
        ("mrr_at_2", ["mrr@2"]),
        ("mrr@all", ["mrr"]),
        ("Rprec", ["r_precision"]),
        ("Success@1 rbp(p=0.8)@3", ["success@1", "rbp(p=0.8)@3"]),
        ({"mrr@2", "ndcg@2"}, ["mrr@2", "ndcg@2"]),
        ("RR mrr@2", ["mrr@1", "mrr@2", "mrr@3", "mrr@5", "mrr@10"]),
        (["map@2", "MRR"], ["map@2", "mrr@1", "mrr@3", "mrr@5", "mrr@10"]),
        ("AP(rel=2)@10 RR(rel=1)@2", ["map(rel=2)@10", "mrr(rel=1)@2"]),
        ("P( rel = 2.0 )@5", ["precision(rel=2)@5"]),
        ("recall-l2@5 recall@5-l2 recall_l2@5 recall_rel_l2@5", ["recall(rel=2)@5"]),
        ("rbp.95@1 rbp.5@1-l2", ["rbp(p=0.95)@1", "rbp(rel=2,p=0.5)@1"]),
        ("R(cutoff=5) R(rel=2,cutoff=5)", ["recall@5", "micro_recall@5", "recall(rel=2)@5"]),
        ("IPrec@0.1 IPrec(rel=2)@1.0 iprec_at_recall_0.10", ["iprec(recall=0.1)", "iprec(rel=2,recall=1)"]),
        ("SetP set_recall SetF set_F_0.5", ["set_precision", "set_recall", "set_f", "set_f(beta=0.5)"]),
        ("NumRet NumRet(rel=2) NumRelRet NumRel", ["num_ret", "num_rel_ret(rel=2)", "num_rel_ret", "num_rel"]),
        ("F(beta=2)@5 ERR@5", ["f(beta=2)@5", "err@5"]),
        ([ir_measures.AP(rel=2) @ 10, ir_measures.nDCG @ 5], ["map(rel=2)@10", "ndcg@5"]),
    ],
)
def test_a_name_stands_for_the_metric_at_its_cut_off_alone(metrics: Any, keys: list[str]) -> None:
    found = values(metrics)
    assert list(found) == keys
    for key, value in found.items():
        if key in EVERY_CUT_OFF:
            assert value == EVERY_CUT_OFF[key]


def test_a_metric_without_a_cut_off_is_scored_at_k() -> None:
    assert list(values("mrr,ndcg", k=[2, 3])) == ["mrr@2", "mrr@3", "ndcg@2", "ndcg@3"]
    assert list(values(["mrr@3", "ndcg"], k=[2, 3])) == ["mrr@3", "ndcg@2", "ndcg@3"]
    assert list(values("recall@k", k=2)) == ["recall@2", "micro_recall@2"]


@pytest.mark.parametrize("k", [10, (1, 3, 5, 10), "2000tok"])
def test_a_cut_off_that_contradicts_k_is_asked_about(k: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"'recall@7' names its cut-off, and k=.* does not contain it\. Leave `k`"
    ):
        values(["recall@7"], k=k)


@pytest.mark.parametrize("name", ["hits@5", "context_recall", "recall@", "recall@5@6", "micro_recall@5", "rbp(p=0.8"])
def test_a_name_that_could_mean_something_else_stays_unknown(name: str) -> None:
    with pytest.raises(UnknownMetricError, match="Unknown metric"):
        values(name)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("recall@0", "`k` must be an integer of at least 1, got 0"),
        ("Rprec@5", "The metric 'r_precision' has no cut-off"),
        ("SetF@5", "The metric 'set_f' has no cut-off"),
        ("IPrec@10", "recall='10' cannot be used: it must lie between 0 and 1"),
        ("P@0.5", "`k` must be an integer of at least 1"),
        ("F@5", "The metric 'f' needs beta. Write them into its name, such as f(beta=...)."),
        (f"recall@{'9' * 5000}", "has 5000 digits, and no ranking is that long"),
    ],
)
def test_a_cut_off_that_cannot_be_is_refused(name: str, error: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(error)):
        values(name)


QUESTIONS = EvalSet([{"id": n, "question": f"Who is {n}?", "gold_chunk_ids": [f"c{n}"]} for n in range(40)])


def answer(question: str) -> list[dict[str, object]]:
    number = int(re.findall("[0-9]+", question)[0])
    return [{"id": f"c{n}", "metadata": {"doc_id": "d"}} for n in range(number - 6, number + 20)]


def test_a_retriever_is_asked_for_as_many_documents_as_a_name_needs() -> None:
    result = evaluate_retriever(QUESTIONS, answer, metrics="hit@7 hit@6", progress=False)
    assert result.to_dict() == {"hit_rate@6": 0.0, "hit_rate@7": 1.0}


@nothing_may_match
def test_every_front_reads_the_same_names(tmp_path: Path) -> None:
    scorer = Scorer(metrics="R@2", bare_ids=True)
    assert scorer.score(["a", "b"], ["x", "a"]).values == {"recall@2": 0.5}
    run = evaluate_retriever(QUESTIONS, answer, metrics="mrr@20", progress=False)
    pair = {"one": run, "other": run}
    assert [row.key for row in compare(pair, keys=["MRR@20"], n_bootstrap=100, n_randomisation=100).rows] == ["mrr@20"]
    policy = tmp_path / "policy.toml"
    policy.write_text('[gate]\nrequire = ["Recall@5 >= 0.5"]\n', encoding="utf-8")
    report = check_gate(QUESTIONS, Run.of("nothing", []), read_policy(policy))
    assert [check.requirement for check in report.checks] == ["Recall@5 >= 0.5"]


def test_doc_hit_has_a_cut_off_like_any_other() -> None:
    questions = EvalSet([{"id": "q", "gold_doc_ids": ["d"], "gold_chunk_ids": ["c1"]}])
    run = Run.of("run", [RunRow.from_dict({"query_id": "q", "retrieved": answer("1")})])
    assert evaluate_run(questions, run, metrics="doc_hit@2 mrr@3").to_dict().keys() == {"doc_hit@2", "mrr@3"}


def test_a_metric_of_ones_own_is_scored_at_k() -> None:
    def depth(judged: Any, k: Any) -> Any:
        return judged.n_retrieved * 0.0

    assert list(evaluate(GOLD, RETRIEVED, metrics=[depth, "mrr@2"])) == [
        "depth@1",
        "depth@3",
        "depth@5",
        "depth@10",
        "mrr@2",
    ]


def test_what_reads_a_result_takes_the_same_names() -> None:
    gold = [["a"], ["b"]]
    found, missed = evaluate_ids(gold, gold, k=[1, 5]), evaluate_ids(gold, [["a"], ["c", "b"]], k=[1, 5])
    assert missed.worst(1, "nDCG@1").key == "ndcg@1"
    assert missed.worst(1, "NDCG").key == "ndcg@5"
    board = leaderboard({"bm25": missed, "dense": found}, ["R@1"], sort_by="Recall@1", intervals=True)
    assert (board.keys, list(board.results)) == (("recall@1",), ["dense", "bm25"])
    row, interval = board.to_dicts()[0], intervals_of(found)["recall@1"]
    assert (row["recall@1 low"], row["recall@1 high"]) == interval
    comparison = compare({"bm25": missed, "dense": found}, keys=["Recall@1"])
    assert comparison["dense", "R@1"] is comparison["recall@1"] is comparison["Recall@1"]
