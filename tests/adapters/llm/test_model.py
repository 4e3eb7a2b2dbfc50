"""One way to ask any language model: LangChain's, LlamaIndex's, a function; good, bad, slow and refusing ones."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata, MockLLM

from krag_eval._utils.errors import InvalidInputError
from krag_eval_llm import LanguageModel, ModelSetupError, as_language_model
from tests.support.language_model_cases import ANSWER, JSON, SCHEMA, StatusError, scripted


class Complete(CustomLLM):
    """A LlamaIndex model that says the same each time."""

    text: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="canned-1")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.text, additional_kwargs={"prompt_tokens": 7, "completion_tokens": 3})

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError


class Tooled(FakeMessagesListChatModel):
    """A chat model that calls tools, so that LangChain's structured output works on it."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        self.metadata = {"bound": tools}
        return self


async def _later(prompt: str) -> str:
    await asyncio.sleep(0)
    return JSON


class CalledLater:
    async def __call__(self, prompt: str) -> str:
        return JSON


MODELS: dict[str, Any] = {
    "a function": lambda prompt: JSON,
    "an async function": _later,
    "an object with an async call": CalledLater(),
    "a function that returns something to await": lambda prompt: _later(prompt),
    "a function around a chat model": lambda prompt: FakeListChatModel(responses=[JSON]).invoke(prompt),
    "a chat model": FakeListChatModel(responses=[JSON]),
    "a generic chat model": GenericFakeChatModel(messages=iter([AIMessage(JSON)] * 2)),
    "a chat model with content blocks": FakeMessagesListChatModel(
        responses=[AIMessage([{"type": "text", "text": JSON[:5]}, {"type": "text", "text": JSON[5:]}])]
    ),
    "a text model": FakeListLLM(responses=[JSON]),
    "LlamaIndex": Complete(text=JSON),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("llm", MODELS.values(), ids=MODELS.keys())
def test_every_kind_of_model_gives_text_or_an_object(llm: Any) -> None:
    model = as_language_model(llm, retries=0)
    assert model.ask("capital?") == JSON
    assert model.ask("capital?", SCHEMA) == ANSWER
    assert (model.counters.prompts, model.counters.calls, model.counters.failures) == (2, 2, 0)


@pytest.mark.parametrize("llm", [MODELS["a function"], _later, MODELS["a chat model"]])
def test_every_kind_of_model_works_where_a_loop_is_running_and_under_a_time_limit(llm: Any) -> None:
    async def notebook() -> str:
        return as_language_model(llm, retries=0, timeout=20).ask("capital?")

    assert asyncio.run(notebook()) == JSON


def test_the_mock_of_llama_index_echoes_the_prompt() -> None:
    assert as_language_model(MockLLM()).ask("hello") == "hello"


def test_structured_output_is_used_where_the_chat_model_has_it_and_the_prompt_stays_as_it_is() -> None:
    call = AIMessage(
        "",
        tool_calls=[{"name": "answer", "args": ANSWER, "id": "1"}],
        usage_metadata={"input_tokens": 11, "output_tokens": 4, "total_tokens": 15},
    )
    llm = Tooled(responses=[call])
    model = as_language_model(llm)
    assert model.ask("capital?", SCHEMA) == ANSWER
    assert llm.metadata is not None
    bound = llm.metadata["bound"][0]
    assert (bound["title"], bound["description"]) == ("answer", "The answer.")  # LangChain wants both
    assert (model.counters.input_tokens, model.counters.output_tokens) == (11, 4)


def test_a_structured_answer_that_came_as_text_is_read_from_the_text() -> None:
    assert as_language_model(Tooled(responses=[AIMessage(f"Here: {JSON}")])).ask("capital?", SCHEMA) == ANSWER


def test_without_structured_output_the_schema_stands_in_the_prompt() -> None:
    answer = scripted(JSON)
    as_language_model(answer).ask("capital?", SCHEMA)
    (prompt,) = answer.prompts  # type: ignore[attr-defined]
    assert prompt.startswith("capital?\n\n")
    assert json.dumps(SCHEMA) in prompt


class Unstructured:
    """Its structured output fails when it is called, as with models that know no tools."""

    def __init__(self, error: Exception) -> None:
        self.error, self.structured, self.plain = error, 0, 0

    def with_structured_output(self, schema: Any) -> Unstructured:
        made = Unstructured(self.error)
        made.invoke = self.fail  # type: ignore[method-assign]
        return made

    def fail(self, prompt: str) -> str:
        self.structured += 1
        raise self.error

    def invoke(self, prompt: str) -> str:
        self.plain += 1
        return JSON


@pytest.mark.parametrize("error", [NotImplementedError(), ValueError("no tools"), StatusError("no tools", 400)])
def test_structured_output_that_does_not_work_is_not_tried_again(error: Exception) -> None:
    llm = Unstructured(error)
    model = as_language_model(llm)
    assert [model.ask("capital?", SCHEMA) for _ in range(3)] == [ANSWER] * 3
    assert (llm.structured, llm.plain, model.counters.calls) == (1, 3, 4)


def test_models_are_named_after_the_model_behind_them() -> None:
    def my_model(prompt: str) -> str:
        return JSON

    class Chat(FakeListChatModel):
        model_name: str = "gpt-x"

    named = [
        as_language_model(llm).name for llm in (my_model, Chat(responses=["x"]), Complete(text="x"), CalledLater())
    ]
    assert named == ["my_model", "gpt-x", "canned-1", "CalledLater"]


def test_tokens_are_unknown_until_a_model_tells_them() -> None:
    silent, telling = as_language_model(lambda prompt: JSON), as_language_model(Complete(text=JSON))
    silent.ask("capital?")
    telling.ask("capital?")
    assert (silent.counters.input_tokens, telling.counters.input_tokens, telling.counters.output_tokens) == (None, 7, 3)


def test_a_model_is_returned_as_it_is() -> None:
    model = as_language_model(lambda prompt: JSON)
    assert as_language_model(model, retries=9) is model
    assert isinstance(model, LanguageModel)


def test_threads_share_a_model_and_no_count_is_lost() -> None:
    model = as_language_model(lambda prompt: JSON)
    threads = [threading.Thread(target=lambda: [model.ask("?") for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (model.counters.prompts, model.counters.calls) == (200, 200)


def answers_of(*pages: str) -> Iterator[str]:
    yield from pages


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: as_language_model("gpt-4"), "a str, which cannot be asked"),
    (lambda: as_language_model(FakeListChatModel), "is the class FakeListChatModel"),
    (lambda: as_language_model(lambda: "x"), "cannot be called with a prompt alone"),
    (lambda: as_language_model(len, retries=-1), "`retries` must be"),
    (lambda: as_language_model(len, timeout=0), "`timeout` must be a number above 0"),
    (lambda: as_language_model(len, backoff=float("nan")), "`backoff` must be"),
    (lambda: as_language_model(lambda p: p).ask(""), "`prompt` must be a text that is not blank"),
    (lambda: as_language_model(lambda p: p).ask("x", {"anyOf": []}), "`schema` is not a JSON schema"),
    (lambda: as_language_model(lambda p: p).ask("x", {"type": "text"}), "'text' is not valid"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_cannot_be_used_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.parametrize("returned", [None, 3, object(), answers_of("a")])
def test_a_model_that_returns_no_text_is_a_mistake(returned: Any) -> None:
    with pytest.raises(ModelSetupError, match="which has no text"):
        as_language_model(lambda prompt: returned).ask("capital?")
