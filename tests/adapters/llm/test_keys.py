"""No API key comes out: not in messages, tracebacks, reprs, logs nor answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from krag_eval_llm import ModelSetupError, NoAnswerError, as_language_model
from tests.support.language_model_cases import SCHEMA, StatusError, Waits, scripted


@pytest.fixture
def waits() -> Waits:
    return Waits()


CANARY = "canary-0123456789"


class Keyed:
    """A client that holds a key, and lets it out in what it raises and says."""

    def __init__(self, say: Callable[[str], str]) -> None:
        self.api_key = SecretStr(CANARY)
        self.say = say

    def invoke(self, prompt: str) -> str:
        return self.say(self.api_key.get_secret_value())


def leaking(status: int) -> Callable[[str], str]:
    def fail(key: str) -> str:
        raise StatusError(f"Incorrect API key provided: {key}", status)

    return fail


@pytest.mark.parametrize("say", [leaking(401), leaking(500), leaking(400), lambda key: f"my key is {key}"])
def test_keys_never_come_out(
    say: Callable[[str], str], waits: Waits, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    import traceback

    model = as_language_model(Keyed(say), retries=1, sleep=waits)
    with pytest.raises((NoAnswerError, ModelSetupError)) as error:
        model.ask("capital?", SCHEMA)
    shown = "".join(traceback.format_exception(error.value)) + repr(error.value) + repr(model) + str(model.counters)
    shown += str(getattr(error.value, "answer", "")) + caplog.text + "".join(capsys.readouterr())
    assert CANARY not in shown
    assert "[key]" in shown


@pytest.mark.parametrize(
    "message",
    [
        "key sk-proj-abcdefghijkl123456",
        "Authorization: Bearer abcdef123456",
        "https://me:abcdef123456@host/v1",
        'api_key="abcdef123456"',
    ],
)
def test_what_looks_like_a_key_does_not_come_out_either(message: str) -> None:
    with pytest.raises(NoAnswerError) as error:
        as_language_model(scripted(ConnectionError(message)), retries=0).ask("capital?")
    assert "abcdef" not in str(error.value)


@pytest.mark.parametrize("hold", [lambda llm: llm.invoke, lambda llm: Chain([llm]), lambda llm: Chain({"x": llm})])
def test_keys_are_found_behind_methods_and_inside_chains(hold: Callable[[Keyed], Any], waits: Waits) -> None:
    with pytest.raises(NoAnswerError) as error:
        as_language_model(hold(Keyed(leaking(500))), retries=0).ask("capital?")
    assert CANARY not in str(error.value)


class Chain:
    """Steps, of which it calls the only one."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps

    def __call__(self, prompt: str) -> str:
        (step,) = self.steps.values() if isinstance(self.steps, dict) else self.steps
        return str(step.invoke(prompt))


def test_keys_of_the_environment_do_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VENDOR_API_KEY", CANARY)
    with pytest.raises(NoAnswerError) as error:
        as_language_model(scripted(ConnectionError(f"with {CANARY}")), retries=0).ask("capital?")
    assert CANARY not in str(error.value)
