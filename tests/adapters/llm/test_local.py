"""A model in a GGUF file: what is asked of the engine, and what is said where it cannot be loaded."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.errors import MissingDependencyError
from krag_eval_llm import NoAnswerError, as_language_model
from krag_eval_llm.commands.loading import load_llm
from krag_eval_llm.local import ANSWER_TOKENS, CONTEXT_TOKENS, LocalModel
from tests.support.command_line import Runner

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Engine:
    """In the place of xllamacpp: it keeps what it was given, and says what it is told to."""

    def __init__(self) -> None:
        self.settings: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []

    def module(self) -> ModuleType:
        module = ModuleType("xllamacpp")
        engine = self

        class CommonParams(SimpleNamespace):
            def __init__(self) -> None:
                super().__init__(
                    model=SimpleNamespace(path=""), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
                )

        class Server:
            def __init__(self, settings: CommonParams) -> None:
                engine.settings.append(settings)
                if Path(settings.model.path).read_bytes() == b"GGUF":
                    raise RuntimeError("Failed to init server, please check the input params.")

            def handle_chat_completions(self, request: dict[str, Any]) -> dict[str, Any]:
                engine.requests.append(request)
                return engine.answers.pop(0)

        module.CommonParams, module.Server = CommonParams, Server  # type: ignore[attr-defined]
        return module


def said(text: str, finish_reason: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 7},
    }


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setitem(sys.modules, "xllamacpp", made.module())
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF and the rest of it")
    return path


def test_text_and_json_are_asked_of_the_engine_and_counted(engine: Engine, file: Path) -> None:
    engine.answers = [said("Seoul"), said(json.dumps({"city": "Seoul"}))]
    model = as_language_model(load_llm(f"gguf:{file}"), timeout=30)
    assert model.ask("Which city?") == "Seoul"
    assert model.ask("Which city?", SCHEMA) == {"city": "Seoul"}
    assert model.name == "small.gguf"
    plain, structured = engine.requests
    assert plain == {
        "messages": [{"role": "user", "content": "Which city?"}],
        "temperature": 0,
        "max_tokens": ANSWER_TOKENS,
    }
    assert structured["response_format"]["json_schema"]["schema"]["required"] == ["city"]
    assert str(model.counters) == "2 prompts, 2 calls, 60 input tokens, 14 output tokens"


def test_the_engine_gets_one_answer_at_a_time_and_a_key_that_nobody_else_has(engine: Engine, file: Path) -> None:
    LocalModel(file)
    LocalModel(file)
    first, second = engine.settings
    assert (first.model.path, first.n_ctx, first.n_parallel) == (str(file), CONTEXT_TOKENS, 1)
    assert first.cpuparams.n_threads == first.cpuparams_batch.n_threads >= 1
    (key,), (other,) = first.api_keys, second.api_keys
    assert len(key) >= 32
    assert key != other


def test_json_that_was_cut_off_is_asked_again_and_then_given_up_with_its_reason(engine: Engine, file: Path) -> None:
    engine.answers = [said('{"city": "Seo', "length"), said('{"city": "Seoul, Seoul', "length")]
    model = as_language_model(LocalModel(file), retries=1)
    with pytest.raises(NoAnswerError, match="cut off at the model's token limit") as failed:
        model.ask("Which city?", SCHEMA)
    assert failed.value.reason == "bad_json"
    assert (model.counters.bad_json, model.counters.failures) == (2, 1)


def test_a_prompt_that_is_too_long_is_rejected_and_not_asked_again_and_again(engine: Engine, file: Path) -> None:
    too_long = {"error": {"code": 400, "message": "request (9031 tokens) exceeds the available context size"}}
    engine.answers = [too_long]
    model = as_language_model(LocalModel(file), sleep=lambda _: None)
    with pytest.raises(NoAnswerError, match="9031 tokens") as failed:
        model.ask("word " * 9000)
    assert failed.value.reason == "rejected"
    assert len(engine.requests) == 1


def test_an_error_of_the_engine_is_tried_again(engine: Engine, file: Path) -> None:
    engine.answers = [{"error": {"code": 503, "message": "Loading model"}}, said("Seoul")]
    assert as_language_model(LocalModel(file), sleep=lambda _: None).ask("Which city?") == "Seoul"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"small\.gguf: cannot be read \(No such file or directory\)\. Name a model file"),
        (b"", "is not a GGUF file"),
        (b"<html>not found</html>", "is not a GGUF file, which begins with the letters GGUF. Download the model"),
        (b"GGUF", "llama.cpp cannot load this model. The file may be incomplete: compare its size"),
    ],
)
def test_a_file_that_is_no_model_is_named_with_what_to_do(
    engine: Engine, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "small.gguf").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        load_llm(f"gguf:{tmp_path / 'small.gguf'}")


def test_a_folder_is_no_model(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        LocalModel(tmp_path)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingDependencyError, match=r'"krag-eval\[local-llm\]"'):
        load_llm(f"gguf:{file}")


@pytest.mark.parametrize("line", ["generate {} --llm gguf:{} --out set.jsonl", "bench --corpus {} --llm gguf:{}"])
def test_both_commands_take_it_and_name_the_file_in_one_line(
    engine: Engine, tmp_path: Path, command: Runner, line: str
) -> None:
    chunks = tmp_path / "chunks.jsonl"
    chunks.write_text('{"id": "1", "text": "The shop in Jeju is closed on Sundays."}\n')
    retriever = ["--retriever", "json:loads"] if line.startswith("bench") else []
    outcome = command(line.format(shlex.quote(str(chunks)), "absent.gguf"), *retriever)
    assert outcome.code == 2
    assert "absent.gguf: cannot be read (No such file or directory)" in outcome.err
