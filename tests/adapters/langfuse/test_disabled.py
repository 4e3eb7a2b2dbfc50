"""A client that sends nothing: reported loudly, and once."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import KragEvalWarning
from krag_eval_langfuse import LangfuseDeliveryError, LangfuseScoreHandler
from tests.adapters.langfuse.runs import N_SCORES, TRACES, assert_complete, run

MakeClient = Callable[..., Langfuse]


def no_keys() -> Langfuse:
    return Langfuse()


def no_tracing() -> Langfuse:
    return Langfuse(public_key="pk-lf-off", secret_key="sk-lf-off", tracing_enabled=False)


DISABLED = {"no keys": (no_keys, "it has no keys"), "tracing disabled": (no_tracing, "its tracing is disabled")}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("make", "says"), DISABLED.values(), ids=DISABLED)
@pytest.mark.parametrize("delivery", ["queue", "sync"])
def test_a_disabled_client_is_reported_loudly_and_once(
    make: Callable[[], Langfuse], says: str, delivery: str, server: LoopbackLangfuse, make_client: MakeClient
) -> None:
    disabled = make()
    with pytest.warns(KragEvalWarning, match=says) as warned:
        handler = LangfuseScoreHandler(disabled, trace_ids=TRACES, delivery=delivery)
    assert [warning.filename for warning in warned] == [__file__]
    for times in (1, 2):
        assert_complete(run(handler))
        assert (handler.sent, handler.failed) == (0, times * N_SCORES)
    assert handler.flush(0) is True
    with pytest.raises(LangfuseDeliveryError, match=says):
        LangfuseScoreHandler(disabled, trace_ids=TRACES, delivery=delivery, on_error="raise")
    assert server.requests == []


def test_a_client_that_was_shut_down_is_reported(make_client: MakeClient) -> None:
    client = make_client()
    if not hasattr(client._resources, "_shutdown"):
        pytest.skip("this version of langfuse does not know whether it was shut down")
    client.shutdown()
    with pytest.warns(KragEvalWarning, match="it was shut down"):
        LangfuseScoreHandler(client, session_id="s")


def test_a_client_that_get_client_gives_is_looked_at_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langfuse.get_client", no_tracing)
    handler = LangfuseScoreHandler(session_id="s")
    with pytest.warns(KragEvalWarning, match="its tracing is disabled"):
        run(handler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(handler)
    raising = LangfuseScoreHandler(session_id="s", on_error="raise")
    with pytest.raises(LangfuseDeliveryError, match="its tracing is disabled"):
        run(raising)
    assert raising.sent == 0
