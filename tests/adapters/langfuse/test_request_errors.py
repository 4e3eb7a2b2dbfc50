"""What a failed request to Langfuse raises: what failed, where, and what to do, without a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvalSet, InvalidInputError, KragEvalError
from krag_eval_langfuse import LangfuseRequestError, push_evalset, score_traces

MakeClient = Callable[..., Langfuse]
EVALSET = EvalSet([{"id": "q", "question": "q", "gold": ["a"]}])
REQUESTS: dict[str, Callable[[Any], object]] = {
    "score_traces": lambda client: score_traces({"q": ["a"]}, client),
    "push_evalset": lambda client: push_evalset(client, EVALSET, "set"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("request_of", REQUESTS)
@pytest.mark.parametrize(
    ("status", "cure"),
    [
        (401, "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are keys of a project on this server"),
        (403, "LANGFUSE_PUBLIC_KEY"),
        (404, "LANGFUSE_BASE_URL, and whether the server is recent enough"),
        (400, "Check the arguments"),
        pytest.param(429, "try again", marks=pytest.mark.full),  # the client tries these three times
        pytest.param(503, "try again", marks=pytest.mark.full),
    ],
)
def test_an_answer_that_refuses_says_what_to_do(
    status: int, cure: str, request_of: str, server: LoopbackLangfuse, make_client: MakeClient
) -> None:
    client = make_client(base_url=server.url.replace("://", "://user:hunter2@"), timeout=5)
    server.answer = lambda method, path: (status, {"message": "no, sk-lf-test"})
    with pytest.raises(LangfuseRequestError, match=cure) as caught:
        REQUESTS[request_of](client)
    text = str(caught.value)
    assert isinstance(caught.value, KragEvalError)
    assert text.startswith(f"`{request_of}` could not be completed: a request to Langfuse at {server.url} failed (HTTP")
    assert f"HTTP {status}" in text
    assert "hunter2" not in text
    assert "sk-lf-test" not in text


@pytest.mark.parametrize("request_of", REQUESTS)
def test_no_answer_says_what_to_do(request_of: str, make_client: MakeClient) -> None:
    client = make_client(base_url="http://127.0.0.1:9")
    with pytest.raises(LangfuseRequestError, match=r"at http://127\.0\.0\.1:9 failed .*ConnectError.* server is up"):
        REQUESTS[request_of](client)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_a_client_without_keys_is_named_as_the_reason(server: LoopbackLangfuse, make_client: MakeClient) -> None:
    del server, make_client  # they clear the environment
    with pytest.raises(LangfuseRequestError, match=r"The client is disabled: it has no keys .*Pass an enabled client"):
        score_traces({"q": ["a"]}, Langfuse())


def test_an_unknown_filter_is_named_with_those_that_exist(client: Langfuse) -> None:
    with pytest.raises(InvalidInputError, match=r"`filters` has 'nme', .*environment, .*trace_id"):
        score_traces({"q": ["a"]}, client, filters={"nme": "x"})
