"""How many scores a live retrieval costs: the few that people watch, unless more are asked for."""

from __future__ import annotations

from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import evaluate
from krag_eval_langfuse import LangfuseScoreHandler
from krag_eval_live import LiveScorer
from tests.support.live_cases import retrieve

GOLD = {"q": ["a", "b"], "r": ["c"]}
FEW = ["krag.empty", "krag.hit_rate_at_10", "krag.mrr_at_10", "krag.ndcg_at_10", "krag.recall_at_10"]


def names_sent(server: LoopbackLangfuse, scorer: LiveScorer, queries: list[str]) -> list[str]:
    for query in queries:
        retrieve(scorer, query, ["x", "a"])
    assert scorer.flush(30)
    return sorted(score["name"] for score in server.scores)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, FEW),
        ({"k": (1, 3), "metrics": "recall"}, ["krag.empty", "krag.recall_at_1", "krag.recall_at_3"]),
        ({"metrics": ["recall@5", "mrr@10"]}, ["krag.empty", "krag.mrr_at_10", "krag.recall_at_5"]),
        ({"k": 3}, [name.replace("10", "3") for name in FEW]),
        ({"k": (3, 10)}, sorted({*FEW, *(name.replace("10", "3") for name in FEW)})),
    ],
    ids=["by default", "metrics", "metrics at cut-offs of their own", "one k", "several k"],
)
def test_wire_a_retrieval_sends_the_scores_that_people_watch(
    arguments: dict[str, Any], names: list[str], server: LoopbackLangfuse, client: Langfuse
) -> None:
    scorer = LiveScorer(GOLD, sinks=LangfuseScoreHandler(client, session_id="s"), **arguments)
    assert names_sent(server, scorer, ["q"]) == names
    expected = evaluate([GOLD["q"]], [["x", "a"]], k=arguments.get("k", (5, 10)), metrics=arguments.get("metrics"))
    if "metrics" not in arguments:
        assert scorer.result().to_dict() == expected.to_dict()
    assert {score["metadata"]["n_retrieved"] for score in server.scores} == {2}


def test_wire_without_gold_the_counts_are_sent(server: LoopbackLangfuse, client: Langfuse) -> None:
    scorer = LiveScorer(None, sinks=LangfuseScoreHandler(client, session_id="s"))
    assert names_sent(server, scorer, ["q"]) == ["krag.empty", "krag.repeats", "krag.retrieved"]


def test_wire_a_verdict_sees_all_cut_offs(server: LoopbackLangfuse, client: Langfuse) -> None:
    sink = LangfuseScoreHandler(client, session_id="s", verdicts=True)
    assert names_sent(server, LiveScorer(GOLD, sinks=sink), ["q"]) == sorted([*FEW, "krag.verdict"])
    (verdict,) = [score["value"] for score in server.scores if score["name"] == "krag.verdict"]
    assert verdict == "some_found"


def test_wire_a_session_of_several_searches_sends_four_more(server: LoopbackLangfuse, client: Langfuse) -> None:
    scorer = LiveScorer(GOLD, sinks=LangfuseScoreHandler(client, session_id="s"))
    with scorer.question("q"):
        for found in ("a", "b"):
            scorer.end_here(scorer.begin_here("q", "search"), [found])
    assert scorer.flush(30)
    assert sorted({score["name"] for score in server.scores} - set(FEW)) == [
        "krag.evidence_complete_at_10",
        "krag.n_searches",
        "krag.search_to_evidence_at_10",
        "krag.session_recall_at_10",
    ]
    assert len(server.scores) == 2 * len(FEW) + 4
