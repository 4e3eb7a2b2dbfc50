"""What clients raise: rate limits, time-outs, wrong keys, mistakes; what is tried again, and that no key comes out."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
)
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from krag_eval_llm import ModelSetupError, NoAnswerError, as_language_model
from tests.support.language_model_cases import ANSWER, JSON, SCHEMA, StatusError, Waits, scripted


@pytest.fixture
def waits() -> Waits:
    return Waits()


class RateLimitError(Exception):
    pass


def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(waits: Waits) -> None:
    errors = [
        StatusError("slow down", 429, {"Retry-After": "7"}),
        StatusError("slow down", 429, {"retry-after-ms": "250"}),
    ]
    model = as_language_model(scripted(*errors, JSON), sleep=waits)
    assert model.ask("capital?") == JSON
    assert (waits.seconds, model.counters.rate_limits, model.counters.calls) == ([7.0, 0.25], 2, 3)


def test_a_date_to_wait_for_is_understood(waits: Waits) -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 40))
    as_language_model(scripted(StatusError("", 503, {"Retry-After": later}), JSON), sleep=waits).ask("capital?")
    assert 30 <= waits.seconds[0] <= 40


def test_without_a_word_of_the_server_waits_grow_and_vary(waits: Waits) -> None:
    errors = [RateLimitError(), ConnectionError(), StatusError("", 500), RuntimeError("?")]
    model = as_language_model(scripted(*errors, JSON), retries=4, backoff=1, sleep=waits)
    assert model.ask("capital?") == JSON
    assert [2**n <= seconds <= 2**n + 1 for n, seconds in enumerate(waits.seconds)] == [True] * 4
    assert all(seconds != int(seconds) for seconds in waits.seconds)
    assert (model.counters.rate_limits, model.counters.unreachable) == (1, 3)


def test_who_is_to_wait_for_too_long_gives_up_at_once(waits: Waits) -> None:
    model = as_language_model(scripted(StatusError("", 429, {"Retry-After": "3600"})), sleep=waits)
    with pytest.raises(NoAnswerError, match=r"asks to wait 3,600 s, longer than `longest_wait` 120 s"):
        model.ask("capital?")
    assert waits.seconds == []


def test_waits_are_real_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch, waits: Waits) -> None:
    monkeypatch.setattr(time, "sleep", waits)
    assert as_language_model(scripted(StatusError("", 429, {"Retry-After": "9"}), JSON)).ask("capital?") == JSON
    assert waits.seconds == [9.0]


def test_what_stays_out_of_reach_is_given_up_after_its_retries(waits: Waits) -> None:
    model = as_language_model(scripted(*[ConnectionError("refused")] * 3), retries=2, sleep=waits)
    with pytest.raises(NoAnswerError, match="gave no answer in 3 attempts: ConnectionError: refused") as error:
        model.ask("capital?")
    assert (error.value.reason, error.value.is_of_the_model) == ("unreachable", False)
    assert (model.counters.unreachable, model.counters.failures) == (3, 1)


class AuthenticationError(Exception):
    pass


def quota() -> Exception:
    error = StatusError("You exceeded your current quota", 429)
    error.code = "insufficient_quota"  # type: ignore[attr-defined]
    return error


def wrapped(error: Exception) -> Exception:
    outer = RuntimeError("chain failed")
    outer.__cause__ = error
    return outer


FINAL = [
    StatusError("bad key", 401),
    StatusError("no such model", 404),
    AuthenticationError("bad key"),
    TypeError("unexpected argument"),
    NotImplementedError("x"),
    StopIteration(),
    quota(),
    wrapped(StatusError("bad key", 403)),
]


@pytest.mark.parametrize("error", FINAL, ids=lambda error: repr(error)[:40])
def test_what_will_not_change_is_raised_at_once(error: Exception, waits: Waits) -> None:
    model = as_language_model(scripted(error), sleep=waits)
    with pytest.raises(ModelSetupError, match="cannot be asked"):
        model.ask("capital?", SCHEMA)
    assert (waits.seconds, model.counters.calls) == ([], 1)


def test_a_mistake_in_a_function_is_told_with_its_place() -> None:
    def broken(prompt: str) -> str:
        return prompt + 1  # type: ignore[operator, no-any-return]

    line = broken.__code__.co_firstlineno + 1
    with pytest.raises(ModelSetupError, match=rf"TypeError: .*test_failures\.py:{line}\)"):
        as_language_model(broken).ask("capital?")


def test_a_prompt_that_the_model_does_not_take_is_not_sent_again(waits: Waits) -> None:
    model = as_language_model(scripted(StatusError("context too long", 400)), sleep=waits)
    with pytest.raises(NoAnswerError, match="rejects this prompt") as error:
        model.ask("capital?")
    assert (error.value.reason, waits.seconds) == ("rejected", [])


def test_a_call_that_hangs_is_a_time_out(waits: Waits) -> None:
    released = threading.Event()

    def hang(prompt: str) -> str:
        released.wait(30)
        return JSON

    model = as_language_model(hang, retries=1, timeout=0.02, sleep=waits)
    with pytest.raises(NoAnswerError, match=r"no answer within 0\.02 s") as error:
        model.ask("capital?")
    released.set()
    assert (error.value.reason, model.counters.time_outs, len(waits.seconds)) == ("timed_out", 2, 1)


def test_an_awaited_call_that_hangs_is_cancelled(waits: Waits) -> None:
    cancelled = threading.Event()

    async def hang(prompt: str) -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return JSON

    model = as_language_model(hang, retries=0, timeout=0.02, sleep=waits)
    with pytest.raises(NoAnswerError, match="no answer within"):
        model.ask("capital?")
    assert cancelled.wait(10)


def test_a_model_that_hangs_for_ever_is_not_asked_for_ever(waits: Waits) -> None:
    released = threading.Event()

    def hang(prompt: str) -> str:
        released.wait(30)
        return JSON

    model = as_language_model(hang, retries=30, timeout=0.001, sleep=waits)
    with pytest.raises(ModelSetupError, match="20 calls of the language model exceeded the timeout"):
        model.ask("capital?")
    released.set()


class Flaky(FakeListChatModel):
    """A LangChain model whose client is rate-limited once."""

    n_failed: int = 0

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not self.n_failed:
            self.n_failed = 1
            raise StatusError("slow down", 429, {"retry-after": "2"})
        return super()._generate(messages, stop, run_manager, **kwargs)


def test_a_chat_model_of_langchain_is_tried_again_when_its_client_is_rate_limited(waits: Waits) -> None:
    model = as_language_model(Flaky(responses=[JSON]), sleep=waits)
    assert (model.ask("capital?", SCHEMA), waits.seconds) == (ANSWER, [2.0])


class LengthFinishReasonError(Exception):
    """What OpenAI's client raises where structured output was cut off: it holds the answer."""

    def __init__(self, text: str | None, finish_reason: str = "length") -> None:
        super().__init__("Could not parse response content as the length limit was reached")
        choice = SimpleNamespace(finish_reason=finish_reason, message=SimpleNamespace(content=text, refusal=None))
        usage = SimpleNamespace(prompt_tokens=456, completion_tokens=160)
        self.completion = SimpleNamespace(choices=[choice], usage=usage)


def test_an_answer_that_the_client_raises_because_it_was_cut_off_is_bad_json_and_its_tokens_count(waits: Waits) -> None:
    errors = [LengthFinishReasonError('{"capital": "Seo'), LengthFinishReasonError('{"capital": "Seoul, Seoul')]
    model = as_language_model(scripted(*errors), retries=1, sleep=waits)
    with pytest.raises(NoAnswerError, match="cut off at the model's token limit") as failed:
        model.ask("capital?", SCHEMA)
    assert (failed.value.reason, failed.value.answer) == ("bad_json", '{"capital": "Seoul, Seoul')
    assert waits.seconds == []
    assert str(model.counters) == "1 prompts, 2 calls, 2 bad json, 1 failures, 912 input tokens, 320 output tokens"


def test_an_answer_that_the_client_raises_because_it_was_filtered_is_a_refusal(waits: Waits) -> None:
    model = as_language_model(scripted(LengthFinishReasonError(None, "content_filter")), retries=0, sleep=waits)
    with pytest.raises(NoAnswerError) as failed:
        model.ask("capital?", SCHEMA)
    assert failed.value.reason == "refused"


def test_an_error_that_holds_something_else_under_that_name_is_an_error_as_before(waits: Waits) -> None:
    error = ConnectionError("lost")
    error.completion = SimpleNamespace(choices=[])  # type: ignore[attr-defined]
    model = as_language_model(scripted(error), retries=0, sleep=waits)
    with pytest.raises(NoAnswerError, match="ConnectionError: lost"):
        model.ask("capital?")
