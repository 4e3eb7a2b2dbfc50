"""Which answers are refusals, and where refusing is right."""

from __future__ import annotations

import pytest

from krag_eval import InvalidInputError, Question
from krag_eval.datasets import EvalSet
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.refusals import FILLERS, REFUSALS, RefusalTest

REFUSED = [
    "",
    " \u200b\n",
    "I don't know.",
    "I DON’T KNOW!!",
    "Sorry, I do not know the answer to that question.",
    "I'm sorry, but I cannot answer that question based on the provided context.",
    "There is not enough information in the provided documents to answer your question.",
    "모르겠습니다.",
    "죄송합니다. 제공된 문서에서 답을 찾을 수 없습니다.",
    "죄송하지만 잘모르겠습니다",
    "К сожалению, я не могу ответить на этот вопрос.",
    "Не знаю",
    "抱歉，我无法回答这个问题。",
    "我不知道！",
    "申し訳ありませんが、その質問にはお答えできません。",
]
ANSWERED = [
    "I don't know the exact day, but it was in May.",
    "No",
    "unknown pleasures",
    "N/A",
    ".",
    "sorry",
    "Sorry, but that.",
    "The singer of “I don't know why”",
    "모르겠습니다라고 답하세요",
    "죄송합니다",
    "Не знаю, кажется, три дня",
    "我不知道他，但是三天",
    "わかりませんでした。三日です。",
    "I don't know. It takes three days.",
]


@pytest.mark.parametrize("text", REFUSED)
def test_an_answer_that_is_nothing_but_a_refusal_is_one(text: str) -> None:
    assert RefusalTest()(text)


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", ANSWERED)
def test_an_answer_that_says_more_than_a_refusal_is_none(text: str) -> None:
    assert not RefusalTest()(text)


@pytest.mark.parametrize("language", sorted(REFUSALS))
def test_every_phrase_is_a_refusal_and_no_filler_is(language: str) -> None:
    test = RefusalTest()
    assert [phrase for phrase in REFUSALS[language] if not test(phrase + "。")] == []
    assert [phrase for phrase in FILLERS[language] if test(phrase)] == []
    assert sorted(FILLERS) == sorted(REFUSALS)


def test_phrases_of_ones_own_come_beside_the_known_ones() -> None:
    test = RefusalTest(["Ask the help desk"])
    texts = ["sorry, ask the help-desk!", "I don't know", "Ask the help desk about the red form"]
    assert test.of(texts).tolist() == [True, True, False]


def test_a_function_decides_alone_but_for_empty_answers() -> None:
    test = RefusalTest(lambda answer: "pass" in answer)
    assert test.of(["I pass", "I don't know", ""]).tolist() == [True, False, True]


@pytest.mark.parametrize("refusals", ["I pass", 5, [""], ["..."], [None]])
def test_refusals_that_are_no_phrases_are_refused(refusals: object) -> None:
    with pytest.raises(InvalidInputError, match="must be a list of phrases or a function"):
        RefusalTest(refusals)  # type: ignore[arg-type]


def test_phrases_that_follow_each_other_in_many_ways_are_read_once() -> None:
    # A regular expression would try two to the power of 90 ways to part this.
    assert not RefusalTest()("我不知道" * 90 + "天")
    assert RefusalTest()("我不知道" * 90)


def test_refusing_is_right_for_negatives_and_wrong_for_the_others() -> None:
    references: dict[str, object] = {
        "n1": None,
        "n2": "",
        "n3": [],
        "a1": "three days",
        "a2": "by post",
        "a3": "in May",
    }
    answers = {"n1": "I don't know", "n2": "", "n3": "In June", "a1": "모르겠습니다", "a2": "by post", "a3": "June"}
    result = evaluate_answers(references, answers)
    assert (result["negative_rejection"], result["false_refusal"]) == (2 / 3, 1 / 3)
    assert (result.n_negative, result.n_refusals, result.n_empty) == (3, 3, 1)
    assert (result.undefined["exact_match"], result.undefined["negative_rejection"]) == (3, 3)
    assert result.undefined["false_refusal"] == 3
    assert result["exact_match"] == 1 / 3


def test_without_negatives_their_rejection_is_undefined() -> None:
    result = evaluate_answers(["three days"], ["three days"])
    assert (result["negative_rejection"], result["false_refusal"]) == (None, 0)


def test_a_missing_answer_and_an_exception_are_empty_but_refuse_nothing() -> None:
    references = {"n1": None, "n2": None, "a1": "three days", "a2": "by post"}
    result = evaluate_answers(references, {"n2": TimeoutError("60 s"), "a2": ConnectionError("down")})
    assert (result["negative_rejection"], result["false_refusal"], result["token_f1"]) == (0, 0, 0)
    assert (result.n_empty, result.n_missing, result.n_refusals) == (4, 2, 0)
    assert result.errors == {1: "TimeoutError: 60 s", 3: "ConnectionError: down"}


def test_the_negatives_of_a_set_are_those_without_gold_whatever_their_answer() -> None:
    evalset = EvalSet(
        [
            Question(id="n", question="Who?", answer="The documents do not say."),
            Question(id="a", question="When?", answer="in May", gold_chunk_ids=("c1",)),
            Question(id="u", question="Where?", gold_chunk_ids=("c2",)),
        ]
    )
    result = evaluate_answers(evalset, {"n": "I don't know", "a": "May", "u": "I don't know"}, metrics="token_f1")
    assert (result["negative_rejection"], result["false_refusal"]) == (1, 1 / 2)
    assert (result.n_negative, result.n_without_reference, result.undefined["token_f1"]) == (1, 1, 2)
    assert [row.question for row in result.per_answer] == ["Who?", "When?", "Where?"]
    assert list(evaluate_answers(list(evalset), ["x", "y", "z"]).sheet.ids or ()) == ["n", "a", "u"]
