"""What models write: JSON with things around it, no JSON, and refusals in several languages."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import (
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage, BaseMessage

from krag_eval import InvalidInputError, MissingDependencyError
from krag_eval_llm import NoAnswerError, as_language_model
from tests.support.language_model_cases import ANSWER, JSON, SCHEMA, scripted

TOLERATED = {
    "a fence": f"```json\n{JSON}\n```",
    "a fence without a language": f"Sure.\n```\n{JSON}\n```\nAnything else?",
    "prose around": f"The answer is {{as asked}}: {JSON} I hope it helps.",
    "a comma after the last member": '{"capital": "서울",}',
    "line ends inside a string": '{"capital": "서\n울"}',
    "thoughts": f'<think>Maybe {{"capital": "Busan"}}?</think>{JSON}',
    "a list with one object": f"[{JSON}]",
    "an object before it that does not fit": f'{{"note": 1}} {JSON}',
    "a byte order mark": "\ufeff" + JSON,
}


@pytest.mark.parametrize("text", TOLERATED.values(), ids=TOLERATED.keys())
def test_json_is_found_in_what_models_write_around_it(text: str) -> None:
    found = as_language_model(lambda prompt: text, retries=0).ask("capital?", SCHEMA)
    assert found["capital"].replace("\n", "") == "서울"


BAD = {
    "no JSON at all": ("Seoul.", "it contains no JSON object"),
    "nothing": ("  ", "it is empty"),
    "cut off": ('{"capital": "Seo', "it contains no JSON object"),
    "single quotes": ("{'capital': 'Seoul'}", "it contains no JSON object"),
    "NaN": ('{"capital": NaN}', "it contains no JSON object"),
    "another object": ('{"city": "Seoul"}', "'capital' is a required property"),
    "another type": ('{"capital": ["Seoul"]}', "`capital`: ['Seoul'] is not of type 'string'"),
    "a boolean for a number": ('{"capital": "Seoul", "people": true}', "`people`: True is not of type 'integer'"),
    "an empty string": ('{"capital": ""}', "`capital`: '' should be non-empty"),
    "nested without end": ('{"a":' * 20_000, "it contains no JSON object"),
    "code": ("__import__('os').system('true')", "it contains no JSON object"),
    "escaped quotes without end": ('{"' + '\\"' * 100_000, "it contains no JSON object"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD.keys())
def test_bad_json_is_said_counted_and_tried_again(text: str, problem: str) -> None:
    answer = scripted(text, JSON)
    model = as_language_model(answer, retries=1)
    assert model.ask("capital?", SCHEMA) == ANSWER
    assert (model.counters.calls, model.counters.bad_json, model.counters.failures) == (2, 1, 0)
    assert f"could not be used: {problem}" in answer.prompts[1]  # type: ignore[attr-defined]
    model = as_language_model(lambda prompt: text, retries=2)
    with pytest.raises(NoAnswerError) as refused:
        model.ask("capital?", SCHEMA)
    assert str(refused.value).startswith(problem)
    assert (refused.value.reason, refused.value.is_of_the_model) == ("bad_json", True)
    assert (model.counters.bad_json, model.counters.failures) == (3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "죄송합니다. 도와드릴 수 없습니다.",
        "К сожалению, я не могу.",
        "抱歉，我无法回答。",
    ],
)
def test_refusals_are_told_from_bad_json(text: str) -> None:
    model = as_language_model(scripted(text, text), retries=1)
    with pytest.raises(NoAnswerError, match="refused") as refused:
        model.ask("capital?", SCHEMA)
    assert (refused.value.reason, refused.value.answer) == ("refused", text)
    assert (model.counters.refusals, model.counters.bad_json) == (2, 0)


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"refusal": "No."}),
        AIMessage("no", response_metadata={"finish_reason": "content_filter"}),
        AIMessage("no", response_metadata={"stop_reason": "refusal"}),
        AIMessage([{"type": "refusal", "refusal": "No."}]),
    ],
)
def test_a_refusal_that_the_model_marks_is_one_without_a_schema_too(message: BaseMessage) -> None:
    model = as_language_model(FakeMessagesListChatModel(responses=[message]), retries=0)
    with pytest.raises(NoAnswerError) as refused:
        model.ask("capital?")
    assert refused.value.reason == "refused"


def test_an_answer_cut_off_at_the_limit_of_tokens_says_so() -> None:
    message = AIMessage('{"capital": "Se', response_metadata={"finish_reason": "length"})
    with pytest.raises(NoAnswerError, match="cut off at the model's token limit"):
        as_language_model(FakeMessagesListChatModel(responses=[message]), retries=0).ask("capital?", SCHEMA)


def test_an_answer_as_json_needs_jsonschema_and_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    model = as_language_model(lambda prompt: JSON)
    schema = SCHEMA | {"title": "not seen before"}
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[llm\]"'):
        model.ask("capital?", schema)
    assert model.ask("capital?") == JSON


@pytest.mark.parametrize("schema", ["a string", {"type": "objekt"}, {"properties": 3}])
def test_what_is_not_a_json_schema_is_refused_before_the_model_is_asked(schema: Any) -> None:
    model = as_language_model(lambda prompt: JSON)
    with pytest.raises(InvalidInputError, match="JSON schema"):
        model.ask("capital?", schema)
    assert model.counters.calls == 0
