"""Context precision and recall: by hand, with LangChain's fake chat models, with judges that fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage

from krag_eval import Question, Run, RunRow
from krag_eval.datasets import EvalSet
from krag_eval_llm import ModelSetupError
from krag_eval_llm.context_judge.judge import judge_contexts
from krag_eval_llm.context_judge.result import context_precision, context_recall
from tests.support.context_judge_cases import ASKED, GOLD, ONE_OF_TWO, TWO, USEFUL, USELESS, honest, patient


def ragas_precision(verdicts: list[bool]) -> float:
    """The definition of ragas, with its epsilon."""
    v = [int(verdict) for verdict in verdicts]
    return sum(sum(v[: i + 1]) / (i + 1) * v[i] for i in range(len(v))) / (sum(v) + 1e-10)


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ([], 0),
        ([False, False], 0),
        ([True], 1),
        ([True, True, False], 1),
        ([False, True], 1 / 2),
        ([True, False, True], (1 + 2 / 3) / 2),
        ([False, False, True, True], (1 / 3 + 2 / 4) / 2),
    ],
)
def test_context_precision_by_hand(useful: list[bool], expected: float) -> None:
    assert context_precision(useful) == expected


@given(st.lists(st.booleans(), max_size=12))
def test_context_precision_is_that_of_ragas_without_the_epsilon(useful: list[bool]) -> None:
    ours, theirs = context_precision(useful), ragas_precision(useful)
    assert ours == pytest.approx(theirs, abs=2e-10)
    assert 0 <= ours <= 1
    assert ours == 1 or theirs < 1
    assert context_precision(sorted(useful, reverse=True)) == float(any(useful))


def test_context_recall_by_hand() -> None:
    assert (context_recall([True, False, True, True]), context_recall([False]), context_recall([])) == (0.75, 0, None)


def test_a_langchain_chat_model_judges() -> None:
    judge = FakeListChatModel(responses=[USEFUL, USELESS, USEFUL, TWO, ONE_OF_TWO])
    chunks = [Document("Refunds take three days."), Document("We ship on Mondays."), Document("Three days, we said.")]
    result = judge_contexts(GOLD, {"q": chunks}, judge, questions=ASKED, concurrency=1)
    assert result.to_dict() == {"context_precision": (1 + 2 / 3) / 2, "context_recall": 1 / 2}
    assert [(verdict.is_useful, verdict.reason) for verdict in result.rows[0].chunks] == [
        (True, "It says so."),
        (False, "Another matter."),
        (True, "It says so."),
    ]
    assert [(v.text, v.is_attributed, v.reason) for v in result.rows[0].statements] == [
        ("Refunds take three days.", True, "Rank 1."),
        ("They are free.", False, "Not said."),
    ]
    assert (result.counters.prompts, result.counters.failures, result.n_failed) == (5, 0, 0)


def test_prose_and_fences_around_the_verdict_do_no_harm() -> None:
    judge = GenericFakeChatModel(messages=iter([AIMessage(f"Let me see.\n```json\n{USEFUL}\n```\nDone.")]))
    result = judge_contexts(GOLD, {"q": ["x"]}, judge, questions=ASKED, metrics="context_precision")
    assert result.to_dict() == {"context_precision": 1}


def test_a_verdict_that_does_not_come_leaves_the_value_undefined_and_is_counted() -> None:
    judge = FakeListChatModel(responses=[USEFUL, "no idea", "still none", TWO, ONE_OF_TWO])
    result = judge_contexts(GOLD, {"q": ["a", "b"]}, patient(judge), questions=ASKED, concurrency=1)
    assert result.to_dict() == {"context_precision": None, "context_recall": 1 / 2}
    assert result.undefined == {"context_precision": 1, "context_recall": 0}
    first, second = result.rows[0].chunks
    assert (first.is_useful, second.is_useful) == (True, None)
    assert "no JSON object" in str(second.error)
    assert (result.n_failed, result.rows[0].failures, result.counters.bad_json) == (1, (second.error,), 2)
    assert "the judge failed on 1 questions" in repr(result)


@pytest.mark.parametrize(
    "verdicts",
    [
        [{"number": 1, "reason": "", "attributed": True}],
        [{"number": 1, "reason": "", "attributed": True}, {"number": 1, "reason": "", "attributed": True}],
        [{"number": 1, "reason": "", "attributed": True}, {"number": 3, "reason": "", "attributed": True}],
        [{"number": 1, "reason": "", "attributed": "yes"}, {"number": 2, "reason": "", "attributed": True}],
    ],
)
def test_verdicts_that_leave_a_statement_out_are_none(verdicts: list[dict[str, object]]) -> None:
    answers = [TWO, *[json.dumps({"verdicts": verdicts})] * 2]
    cache: dict[str, Any] = {}
    result = judge_contexts(
        GOLD,
        {"q": ["a"]},
        patient(FakeListChatModel(responses=answers)),
        questions=ASKED,
        metrics="context_recall",
        cache=cache,
    )
    assert (result["context_recall"], result.n_failed, result.rows[0].statements) == (None, 1, ())
    assert len(cache) == 1  # the statements; what could not be used is asked again


def test_a_reference_without_statements_is_a_failure_of_the_judge() -> None:
    judge = patient(lambda prompt: '{"statements": []}')
    result = judge_contexts(GOLD, {"q": ["a"]}, judge, questions=ASKED, metrics=["context_recall"])
    assert (result["context_recall"], result.n_failed) == (None, 1)


def test_a_rate_limit_is_waited_for_and_a_wrong_key_ends_it_all() -> None:
    class RateLimitError(Exception):
        status_code = 429

    class AuthenticationError(Exception):
        status_code = 401

    answers: list[str | Exception] = [RateLimitError("slow down"), USEFUL]

    def judge(prompt: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    result = judge_contexts(GOLD, {"q": ["a"]}, patient(judge), questions=ASKED, metrics=["context_precision"])
    assert (result["context_precision"], result.counters.rate_limits) == (1, 1)
    answers.append(AuthenticationError("no such key"))
    with pytest.raises(ModelSetupError):
        judge_contexts(GOLD, {"q": ["a"]}, patient(judge), questions=ASKED)


def test_nothing_retrieved_is_0_and_no_reference_undefined_and_nobody_is_asked() -> None:
    references = {"empty": "three days", "missing": "three days", "raised": "three days", "negative": None}
    retrieved = {"empty": [], "raised": TimeoutError("60 s"), "negative": ["chunk"]}

    def judge(prompt: str) -> str:
        raise AssertionError

    result = judge_contexts(references, retrieved, judge)
    assert result.to_dict() == {"context_precision": 0, "context_recall": 0}
    assert result.undefined == {"context_precision": 1, "context_recall": 1}
    assert (result.n_without_reference, result.errors) == (1, {2: "TimeoutError: 60 s"})
    assert "1 retrievals raised" in repr(result)


def test_a_repeat_keeps_its_rank_and_is_not_useful_again() -> None:
    result = judge_contexts(GOLD, {"q": ["three days", " THREE days ", "three"]}, honest, questions=ASKED)
    assert [(verdict.is_useful, verdict.repeats) for verdict in result.rows[0].chunks] == [
        (True, None),
        (False, 1),
        (True, None),
    ]
    assert result["context_precision"] == (1 + 2 / 3) / 2


def test_of_several_references_any_will_do_and_the_best_covered_counts() -> None:
    references = {"q": ["three days, free", "within a week", "three days"]}
    result = judge_contexts(references, {"q": ["it takes three days"]}, honest, questions=ASKED)
    assert result.to_dict() == {"context_precision": 1, "context_recall": 1}
    assert [verdict.text for verdict in result.rows[0].statements] == ["three days"]


def test_a_set_and_a_run_bring_questions_ids_and_errors() -> None:
    evalset = EvalSet(
        [
            Question(id="a", question="How long?", answer="three days", gold_chunk_ids=("c",)),
            Question(id="b", question="How much?", answer="free", gold_chunk_ids=("c",)),
            Question(id="n", question="Who?"),
        ]
    )
    rows = [
        RunRow.from_dict({"query_id": "a", "retrieved": [{"id": "1", "text": "two"}, {"id": "2", "text": "three"}]}),
        RunRow.from_dict({"query_id": "b", "error": "Timeout: 60 s"}),
    ]
    result = judge_contexts(evalset, Run.of("bm25", rows), honest, metrics=["context_precision"])
    assert [row.values["context_precision"] for row in result.rows] == [1 / 2, 0, None]
    assert result.errors == {1: "Timeout: 60 s"}
    assert result.rows[0].question == "How long?"
    assert judge_contexts(evalset, Run.of("bm25", rows), honest, k=1).rows[0].n_retrieved == 1
