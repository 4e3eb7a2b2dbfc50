"""No credential comes out of what a user's own objects raise, and the rest of a message stays."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from krag_eval import EvaluationCallback, InvalidInputError, evaluate, run_retriever
from krag_eval._utils.redaction import Redactor, describe_error
from tests.support.marks import nothing_may_match

CANARY = "canary-0123456789"
EVALSET = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]

# What an error says, and what of it is told.
TEXTS = [
    (f"503 for https://me:{CANARY}@search.example/v1", "503 for https://search.example/v1"),
    (f"503 for https://me:p@ss{CANARY}@search.example/v1", "503 for https://search.example/v1"),
    (f"postgresql://{CANARY}@host:5432/db is down", "postgresql://host:5432/db is down"),
    (f"GET https://x.example/v1?q=a@b&key={CANARY}&n=5: 403", "GET https://x.example/v1?q=a@b&key=[key]&n=5: 403"),
    (f"api_key={CANARY} is wrong", "api_key=[key] is wrong"),
    (f"{{'X-Api-Key': '{CANARY}', 'n': 5}}", "{'X-Api-Key': '[key]', 'n': 5}"),
    (f"UID=me;PWD={CANARY};n=5", "UID=me;PWD=[key];n=5"),
    (f"headers: Authorization: Bearer {CANARY}, n=5", "headers: Authorization: [key], n=5"),
    ("Incorrect API key provided: sk-abc***xyz.", "Incorrect API key provided: [key]"),
    ("with sk-proj-0123456789abcdef in it", "with [key] in it"),
    (f"the client said {CANARY}", "the client said [key]"),
]
PLAIN = [
    "404 for https://search.example:9200/index/_search?q=a@b",
    "mail to me@search.example, see https://search.example",
    "unexpected token '}' at line 3, max_tokens=500",
    "the key 'doc_id' is missing",
    "환불은 언제 오나요? ключ не найден",
]


@pytest.fixture(autouse=True)
def canary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the environment; names that only sound like keys are none."""
    monkeypatch.setenv("SEARCH_SERVICE_TOKEN", CANARY)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "missing")
    monkeypatch.setenv("MAX_TOKENS", "unexpected")


@pytest.mark.parametrize(("text", "told"), TEXTS)
def test_credentials_are_taken_out_and_nothing_else(text: str, told: str) -> None:
    assert Redactor()(text) == told
    assert Redactor()(told) == told


def test_of_keys_that_begin_alike_the_longer_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKUP_SERVICE_TOKEN", f"{CANARY}-two")
    assert Redactor()(f"the client said {CANARY}-two") == "the client said [key]"


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_credentials_stays_as_it_is(text: str) -> None:
    assert Redactor()(text) == text


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", [text for text, _ in TEXTS if CANARY in text])
def test_none_comes_out_of_a_retriever(text: str) -> None:
    def fail(question: str) -> list[object]:
        raise ConnectionError(text)

    run = run_retriever(EVALSET, fail, k=1, retries=0)
    assert list(run.errors) == ["q1"]
    assert CANARY not in repr(run)


def test_none_comes_out_of_a_document_that_cannot_be_read() -> None:
    class Broken:
        id = "c1"

        @property
        def text(self) -> str:
            raise ConnectionError(f"with {CANARY}")

    run = run_retriever(EVALSET, lambda question: [Broken()], k=1, retries=0)
    assert "reading a Broken failed (ConnectionError: with [key]). Convert it" in run.errors["q1"]


@nothing_may_match
def test_none_comes_out_of_an_error_in_the_place_of_a_ranking() -> None:
    result = evaluate([["a"]], [ConnectionError(f"with {CANARY}")], k=1, metrics="mrr")
    assert result.errors == {0: "ConnectionError: with [key]"}


class Keyed:
    """A model with a key of its own, which it lets out."""

    api_key = ""

    def __init__(self, text: str) -> None:
        self.api_key, self.text = "canary-of-its-own", text

    def encode(self, texts: list[str]) -> Any:
        raise ConnectionError(self.text) from ValueError(self.api_key)


@pytest.mark.parametrize("text", ["with canary-of-its-own", f"with {CANARY}", f"api_key={CANARY}"])
def test_none_comes_out_of_an_embedding_model_not_even_in_the_traceback(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"for texts 1 to 2 of 2 .*, raised ConnectionError: ") as error:
        evaluate([["a text"]], [["another"]], k=1, match_method="embedding", embeddings=Keyed(text))
    shown = "".join(traceback.format_exception(error.value))
    assert "[key]" in shown
    assert "canary-" not in shown


def test_an_error_of_an_embedding_model_that_shows_no_credential_stands_above_ours() -> None:
    def refuse(texts: list[str]) -> Any:
        raise ConnectionError("rate limit reached")

    with pytest.raises(InvalidInputError) as error:
        evaluate([["a text"]], [["another"]], k=1, match_method="embedding", embeddings=refuse)
    assert isinstance(error.value.__cause__, ConnectionError)


class Leaking(EvaluationCallback):
    """A receiver that cannot reach its server."""

    def on_evaluation_end(self, result: Any) -> None:
        raise ConnectionError(f"no route to https://me:{CANARY}@traces.example")


def test_none_comes_out_of_a_callback() -> None:
    with pytest.warns(UserWarning, match="no route to https://traces.example"):
        result = evaluate([["a"]], [["a"]], k=1, callbacks=[Leaking()])
    assert CANARY not in "".join(result.callback_errors)


@pytest.mark.parametrize("message", ["x" * 1_000_000, "://" * 10_000, "bearer " * 10_000])
def test_a_long_message_is_cut(message: str) -> None:
    assert len(describe_error(ValueError(message))) == len("ValueError: ") + 500
