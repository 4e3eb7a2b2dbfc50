"""A model behind an address: `--llm http://HOST/v1#MODEL`, with a stand-in for the server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_llm import ModelSetupError, NoAnswerError, as_language_model
from krag_eval_llm.commands.loading import load_llm
from krag_eval_llm.local import ANSWER_TOKENS

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Server:
    """NOT A MODEL: it keeps what it was asked, and gives the answers that it was given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, str | None]] = []
        self.answers: list[tuple[int, Any]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.asked.append((self.path, json.loads(sent or b"null"), self.headers["Authorization"]))
                status, content = server.answers.pop(0)
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "7")
                self.end_headers()
                self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}/v1"
        Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def said(text: str | None, **more: Any) -> tuple[int, Any]:
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text, **more}}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 30, "completion_tokens": 7}}


def test_text_and_json_are_asked_of_the_server_and_counted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-key")
    server.answers = [said("Seoul"), said('{"city": "Seoul"}')]
    model = as_language_model(load_llm(f"{server.address}/#small"), timeout=30)
    assert (model.ask("Which city?"), model.ask("Which city?", SCHEMA)) == ("Seoul", {"city": "Seoul"})
    (path, plain, key), (_, structured, _) = server.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer the-key")
    assert plain == {
        "model": "small",
        "messages": [{"role": "user", "content": "Which city?"}],
        "temperature": 0,
        "max_tokens": ANSWER_TOKENS,
    }
    assert structured["response_format"]["json_schema"]["schema"]["required"] == ["city"]
    assert model.name == "small"
    assert str(model.counters) == "2 prompts, 2 calls, 60 input tokens, 14 output tokens"


def test_an_address_without_a_model_says_how_to_name_it() -> None:
    with pytest.raises(InvalidInputError, match=r"Write its name behind the address: http://127.0.0.1:9/v1#MODEL"):
        load_llm("http://127.0.0.1:9/v1")


def test_a_server_that_is_not_there_is_no_answer() -> None:
    model = as_language_model(load_llm("http://127.0.0.1:9/v1#small"), retries=0)
    with pytest.raises(NoAnswerError, match="Connection refused") as failed:
        model.ask("Which city?")
    assert failed.value.reason == "unreachable"


def test_a_limit_is_waited_out_as_the_server_asks(server: Server) -> None:
    server.answers = [(429, b"slow down"), (502, b"<html>"), said("Seoul")]
    waits: list[float] = []
    model = as_language_model(load_llm(f"{server.address}#small"), sleep=waits.append)
    assert model.ask("Which city?") == "Seoul"
    assert waits[0] == 7
    assert (model.counters.rate_limits, model.counters.unreachable) == (1, 1)


def test_a_server_without_schemas_is_asked_for_json_in_the_prompt(server: Server) -> None:
    server.answers = [(400, b"response_format is not supported"), said('{"city": "Seoul"}'), said('{"city": "Jeju"}')]
    model = as_language_model(load_llm(f"{server.address}#small"))
    assert [model.ask("Which city?", SCHEMA)["city"] for _ in range(2)] == ["Seoul", "Jeju"]
    assert ["response_format" in content for _, content, _ in server.asked] == [True, False, False]


def test_what_the_server_says_is_in_the_error(server: Server) -> None:
    server.answers = [(400, b"too many tokens"), (401, b"wrong key"), said(None, refusal="I cannot.")]
    model = as_language_model(load_llm(f"{server.address}#small"), retries=0)
    with pytest.raises(NoAnswerError, match="too many tokens") as failed:
        model.ask("word " * 9000)
    assert failed.value.reason == "rejected"
    with pytest.raises(ModelSetupError, match="wrong key"):
        model.ask("Which city?")
    with pytest.raises(NoAnswerError) as refused:
        model.ask("Which city?")
    assert refused.value.reason == "refused"
