"""What goes wrong in live scoring is counted, told once, and spoils nothing else."""

from __future__ import annotations

import logging

import pytest

from krag_eval import KragEvalWarning, evaluate
from krag_eval_live import LiveScorer
from tests.support.live_cases import GOLD, RETRIEVED, Gate, Recorder, retrieve, scored


def test_a_retriever_that_raised_counts_as_nothing_retrieved() -> None:
    recorder = Recorder()
    scorer = scored(sinks=[recorder])
    retrieve(scorer, "q2", TimeoutError("late"))
    retrieve(scorer, "unknown", TimeoutError("late"))
    result = scorer.result()
    expected = evaluate(
        [*GOLD.values(), GOLD["q2"]], [*RETRIEVED.values(), TimeoutError("late")], k=(1, 3), match_method="id"
    )
    assert result.to_json() == expected.to_json()
    assert [(one.error, one.n_retrieved, one.scores["empty"]) for one in recorder.scored[3:]] == [
        ("TimeoutError: late", 0, 1.0),
        ("TimeoutError: late", 0, 1.0),
    ]
    assert (scorer.counters.errors, scorer.counters.scored, scorer.counters.no_gold) == (2, 4, 1)
    assert list(scorer.problems) == ["the retriever raised: TimeoutError"] * 2


@pytest.mark.full
def test_a_result_names_every_query_that_failed_and_says_of_the_first_thousand_why() -> None:
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall")
    for number in range(1200):
        retrieve(scorer, "q2", TimeoutError(f"late {number}"))
        retrieve(scorer, "q2", [{"id": "c"}])
    result = scorer.result()
    assert (result.n_queries, result["recall@1"], scorer.counters.errors) == (2400, 0.5, 1200)
    assert list(result.errors) == list(range(0, 2400, 2))
    assert (result.errors[0], result.errors[1998]) == ("TimeoutError: late 0", "TimeoutError: late 999")
    assert result.errors[2000] == "not kept: only what the first 1,000 said is"
    assert result.errors.get(1) is None


class UnprintableError(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_without_a_text_counts_as_nothing_retrieved_and_is_told_by_its_name() -> None:
    recorder = Recorder()
    scorer = scored(sinks=[recorder])
    retrieve(scorer, "q1", UnprintableError())
    assert scorer.flush(10)
    assert (scorer.counters.unreadable, scorer.counters.errors, scorer.counters.seen) == (0, 1, 4)
    assert scorer.result().errors == {3: "UnprintableError"}
    assert recorder.scored[3].error == "UnprintableError"


def test_one_that_cannot_be_scored_does_not_spoil_those_that_came_with_it() -> None:
    gate = Gate()
    scorer = LiveScorer({**GOLD, "gate": [{"id": "a"}]}, match_method="id", k=(1, 3), sinks=[gate])
    retrieve(scorer, "gate", [{"id": "a"}])
    assert gate.reached.wait(10)  # what follows is scored in one go
    for query, documents in RETRIEVED.items():
        retrieve(scorer, query, documents)
        retrieve(scorer, query, [{"title": "neither id nor text"}])
        retrieve(scorer, "unknown", [{"title": "neither id nor text"}])
    gate.opened.set()
    assert scorer.flush(10)
    expected = evaluate(
        [[{"id": "a"}], *GOLD.values()], [[{"id": "a"}], *RETRIEVED.values()], k=(1, 3), match_method="id"
    )
    assert scorer.result().to_dict() == expected.to_dict()
    assert (scorer.counters.scored, scorer.counters.unreadable, scorer.counters.seen) == (4, 6, 10)


def test_only_the_first_problem_of_a_kind_is_a_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    no_list = "the retriever returned a NoneType, not a list of documents"
    scorer = scored()
    with caplog.at_level(logging.DEBUG, logger="krag_eval.retrievers.live"):
        for _ in range(3):
            retrieve(scorer, "q1", TimeoutError("secret"))
        retrieve(scorer, "q1", None)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "krag_eval: the retriever raised: TimeoutError"),
        ("DEBUG", "krag_eval: the retriever raised: TimeoutError"),
        ("DEBUG", "krag_eval: the retriever raised: TimeoutError"),
        ("WARNING", f"krag_eval: documents cannot be read: InvalidInputError: {no_list}"),
    ]


def test_problems_are_the_last_twenty() -> None:
    scorer = scored()
    for number in range(30):
        scorer.report("test", str(number))
    assert (scorer.counters.errors, len(scorer.problems), scorer.problems[-1]) == (30, 20, "test: 29")


def test_what_ends_without_a_start_or_twice_is_nothing() -> None:
    scorer = scored()
    scorer.end("never begun", [{"id": "a"}])
    scorer.fail("never begun", ValueError())
    scorer.begin("a framework", 1, "q1")
    scorer.end(1, [])
    scorer.end(1, [])
    scorer.begin("a framework", 2, "q1")
    scorer.drop(2)
    scorer.end(2, [])
    scorer.flush(10)
    assert (scorer.counters.seen, scorer.counters.scored, scorer.counters.errors) == (4, 4, 0)


def test_ids_that_never_match_are_told_once_by_the_result() -> None:
    scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1)
    retrieve(scorer, "q", [{"id": "uuid-1"}])
    with pytest.warns(KragEvalWarning, match=r"Not one id matches.*'a', retrieved ids like 'uuid-1'") as told:
        assert scorer.result()["recall@1"] == 0.0
    assert (len(told), told[0].filename) == (1, __file__)
    assert scorer.result()["recall@1"] == 0.0


def test_documents_without_ids_are_told_once_by_the_result() -> None:
    scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1, keep_documents=True)
    retrieve(scorer, "q", ["a text"])
    with pytest.warns(KragEvalWarning, match="No retrieved document has an id"):
        assert scorer.result()["recall@1"] == 0.0
    assert scorer.result().unmatchable == {"actual": 0, "predicted": 1}


@pytest.mark.filterwarnings("default::krag_eval.KragEvalWarning")
def test_ids_that_never_match_are_told_by_the_scorer_after_twenty_retrievals() -> None:
    scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1)

    def ask(times: int) -> None:
        for number in range(times):
            retrieve(scorer, "q", [{"id": f"uuid-{number}"}])
            scorer.flush(10)

    with pytest.warns(KragEvalWarning, match="Not one id matches") as told:
        ask(60)
    scorer.result()
    assert len(told) == 1


def test_where_warnings_are_errors_it_is_a_problem() -> None:
    scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1)
    for number in range(20):
        retrieve(scorer, "q", [{"id": f"uuid-{number}"}])
    assert scorer.flush(10)
    assert [problem[:45] for problem in scorer.problems] == ["documents that never match: Not one id matches"[:45]]
    assert (scorer.counters.scored, scorer.result()["recall@1"]) == (20, 0.0)
