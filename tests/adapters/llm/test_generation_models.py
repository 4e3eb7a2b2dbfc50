"""Questions by models of the frameworks: good ones, refusing, rate-limited, broken and silent ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import MockLLM

from krag_eval import KragEvalWarning
from krag_eval_llm import ModelSetupError, as_language_model
from tests.support.generation_cases import CHUNKS, Writer, answer_to, generate


def test_chat_models_of_langchain_write_questions() -> None:
    writer = Writer()
    wanted = generate(writer).evalset.texts
    answers = [json.dumps(answer_to(prompt)) for prompt in writer.prompts]
    assert generate(FakeListChatModel(responses=answers)).evalset.texts == wanted
    fenced = iter([AIMessage(f"Here you are:\n```json\n{answer}\n```") for answer in answers])
    assert generate(GenericFakeChatModel(messages=fenced)).evalset.texts == wanted


def test_a_model_that_only_echoes_makes_no_question_and_that_is_said() -> None:
    with pytest.warns(KragEvalWarning, match="Only 0 of 2"):
        made = generate(MockLLM(), CHUNKS[:1], n=2, types=["literal", "negative"])
    assert made.report.counters.bad_json == 4


def refuse(kind: str, answer: dict[str, str], prompt: str) -> Any:
    return "I'm sorry, but I can't help with that." if "refunds" in prompt or "parcels" in prompt else answer


def test_refusals_are_counted_and_the_chunks_replaced() -> None:
    made = generate(Writer(refuse), n=12)
    assert len(made.evalset) == 12
    assert made.report.dropped["refused"] == made.report.counters.refusals >= 2
    assert not any("refunds" in question.metadata["chunk_id"] for question in made.evalset)


class RateLimitError(Exception):
    status_code = 429

    def __init__(self, seconds: str) -> None:
        super().__init__("slow down")
        self.response = type("Response", (), {"headers": {"Retry-After": seconds}})()


def test_rate_limits_are_waited_out_and_counted() -> None:
    waits: list[float] = []

    def spoil(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if len(writer.prompts) % 3 == 0:
            raise RateLimitError("3")
        return answer

    writer = Writer(spoil)
    made = generate(as_language_model(writer, sleep=waits.append))
    assert len(made) == 8
    assert made.report.counters.rate_limits == len(waits) > 2
    assert set(waits) == {3.0}
    assert made.report.dropped == {}


def test_a_chunk_for_which_no_answer_comes_is_replaced() -> None:
    def spoil(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if "refunds" in prompt or "reviews" in prompt:
            raise RateLimitError("3600")
        return answer

    made = generate(Writer(spoil), n=14)
    assert len(made) == 14
    assert made.report.dropped == {"rate_limited": 4} or made.report.dropped["rate_limited"] <= 4


def test_a_model_out_of_reach_is_not_asked_about_every_chunk() -> None:
    def fail(kind: str, answer: dict[str, str], prompt: str) -> str:
        raise ConnectionError("refused")

    writer = Writer(fail)
    with pytest.warns(KragEvalWarning, match=r"gave no answer to 5 prompts in a row \(the last time: .*refused"):
        made = generate(as_language_model(writer, retries=1, sleep=lambda seconds: None), n=12)
    assert (len(made), len(writer.prompts), made.report.counters.unreachable) == (0, 10, 10)


def test_failures_now_and_then_do_not_put_a_model_out_of_reach() -> None:
    def fail(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if len(writer.prompts) % 2:
            raise ConnectionError("refused")
        return answer

    writer = Writer(fail)
    made = generate(as_language_model(writer, retries=0), n=10)
    assert (len(made), made.report.stopped) == (10, None)
    assert made.report.dropped["unreachable"] >= 8


def test_a_wrong_key_is_told_at_once() -> None:
    class AuthenticationError(Exception):
        pass

    def fail(kind: str, answer: dict[str, str], prompt: str) -> str:
        raise AuthenticationError("bad key")

    writer = Writer(fail)
    with pytest.raises(ModelSetupError, match="cannot be asked: AuthenticationError: bad key"):
        generate(writer)
    assert len(writer.prompts) == 1


def test_a_model_that_writes_nothing_usable_is_given_up_before_it_costs_a_fortune() -> None:
    writer = Writer(lambda kind, answer, prompt: "nothing")
    with pytest.warns(KragEvalWarning, match="`most_prompts` was reached after 12 prompts"):
        made = generate(writer, CHUNKS * 1, n=4, most_prompts=12)
    assert (len(writer.prompts), len(made), made.report.dropped) == (12, 0, {"bad_json": 12})
