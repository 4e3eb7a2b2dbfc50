"""Keys of Langfuse, of the environment, of errors and of metadata get neither into an outbox nor into what is told."""

from __future__ import annotations

import base64
import contextlib
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager
from opentelemetry.sdk.trace import TracerProvider

from krag_eval import evaluate
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseDeliveryError, LangfuseScoreHandler, Target, resend_outbox
from krag_eval_langfuse.score_file import ScoreFile
from krag_eval_langfuse.scores import Score
from tests.adapters.langfuse.faulty_server import Fault, FaultyLangfuse
from tests.support.command_line import Runner
from tests.support.secret_shapes import SHAPES, leaked

CANARIES = {
    "secret key": "canary-secret-0123456789",
    "environment": "canary-env-0123456789",
    "header": "canary-head-0123456789",
    "extra header": "canary-extra-0123456789",
    "userinfo": "canary-user-0123456789",
    "query": "canary-query-0123456789",
}
SAID = (
    f"401 from https://me:{CANARIES['userinfo']}@proxy.example/v1?key={CANARIES['query']} with headers "
    f"{{'Authorization': 'Bearer {CANARIES['header']}'}} and {CANARIES['environment']} and {CANARIES['secret key']} "
    f"and {CANARIES['extra header']}"
)
BASIC = base64.b64encode(f"pk-lf-canary:{CANARIES['secret key']}".encode()).decode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyLangfuse]:
    monkeypatch.setattr(LangfuseResourceManager, "_instances", {})
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)
    monkeypatch.setenv("SEARCH_API_KEY", CANARIES["environment"])
    with FaultyLangfuse() as running:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-canary")
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", CANARIES["secret key"])
        monkeypatch.setenv("LANGFUSE_BASE_URL", running.url)
        yield running
        for made in LangfuseResourceManager._instances.values():
            made.shutdown()


@pytest.fixture
def client(server: FaultyLangfuse, monkeypatch: pytest.MonkeyPatch) -> Langfuse:
    """Its key is known from itself alone."""
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    return Langfuse(
        public_key="pk-lf-canary",
        secret_key=CANARIES["secret key"],
        base_url=server.url,
        additional_headers={"X-Proxy-Token": CANARIES["extra header"]},
        tracer_provider=TracerProvider(),
    )


def leaks(text: str) -> list[str]:
    """Which of them stand there, were it only their first half."""
    found = [name for name, canary in CANARIES.items() if canary[:12] in text]
    return found + ["basic"] * (BASIC[:16] in text)


def content(path: Path) -> str:
    """All that SQLite keeps, in the file and beside it."""
    files = list(path.parent.glob(f"{path.name}*"))
    assert path in files
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def run(handler: LangfuseScoreHandler) -> None:
    evaluate(
        [["a"]] * 3, [["a"]] * 3, k=1, metrics="mrr", queries=[SAID] * 3, query_ids=list("abc"), callbacks=[handler]
    )


def handler_of(client: Langfuse, **settings: Any) -> LangfuseScoreHandler:
    given: dict[str, Any] = {"run_id": SAID, "include_text": True, "trace_ids": dict(zip("abc", "xyz", strict=True))}
    return LangfuseScoreHandler(client, **given, **settings)


@pytest.mark.full
@pytest.mark.parametrize("padding", range(96, 208, 16))
def test_wire_no_answer_of_the_server_brings_one_wherever_it_is_cut_short(
    padding: int, server: FaultyLangfuse, client: Langfuse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [f"{'-' * padding} {CANARIES['secret key']} {SAID}", f"{'-' * padding} Authorization: Basic {BASIC}"]
    server.choose = lambda number: Fault((503, 403)[number > 3], {"message": answers[number % 2]})
    path = tmp_path / "outbox"
    with caplog.at_level(logging.DEBUG, logger="krag_eval"):
        handler = handler_of(client, delivery="outbox", outbox=path, on_error="raise")
        run_and_see(handler)
    assert "503" in caplog.text
    assert "rejected: HTTP 403" in caplog.text
    assert "HTTP 403" in content(path)
    assert leaks(caplog.text + content(path)) == []


def run_and_see(handler: LangfuseScoreHandler) -> None:
    run(handler)
    handler.flush(60)
    with pytest.raises(LangfuseDeliveryError) as error:
        handler.close(10)
    assert leaks(str(error.value) + repr(error.value.problems) + repr(handler) + repr(handler.counters)) == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
def test_wire_no_delivery_tells_one_of_what_the_client_raises(
    delivery: str,
    client: Langfuse,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise httpx.ProxyError(SAID) from ConnectionError(SAID)

    monkeypatch.setattr(client, "create_score", fail)
    api: Any = client.api
    monkeypatch.setattr(*((api.ingestion, "batch") if hasattr(api, "ingestion") else (api.scores, "create")), fail)
    settings = {"outbox": tmp_path / "outbox"} if delivery == "outbox" else {}
    with caplog.at_level(logging.DEBUG, logger="krag_eval"):
        handler = handler_of(client, delivery=delivery, **settings)
        run(handler)
        handler.flush(0.05)
        if delivery == "outbox":
            with pytest.warns(match="have not reached Langfuse yet") as told:
                handler.close(0)
            assert leaks(str(told[0].message)) == []
            assert leaks(content(tmp_path / "outbox")) == []
    assert "ProxyError: 401 from https://proxy.example/v1" in caplog.text
    assert leaks(caplog.text) == []


@pytest.mark.full
def test_wire_metadata_holds_none_in_the_outbox_nor_at_the_server(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    path = tmp_path / "outbox"
    server.choose = lambda number: Fault(503, {})
    handler = handler_of(client, delivery="outbox", outbox=path)
    run(handler)
    live = LangfuseScoreHandler(client, delivery="outbox", outbox=path, include_text=True)
    live.locate = lambda framework, run_id: Target(trace_id="live")  # type: ignore[method-assign]
    scoring = RetrievalScoringHandler({SAID: ["a text"]}, sinks=[live])
    run_id = uuid4()
    scoring.on_retriever_start({}, SAID, run_id=run_id, name=SAID)
    scoring.on_retriever_end([], run_id=run_id)
    assert not scoring.flush(0.5)
    text = content(path)
    assert text.count("401 from https://proxy.example/v1?key=[key]") > 6
    assert leaks(text) == []
    server.choose = lambda number: None
    for one in (handler, live):
        one.close(30)
    assert len(server.scores) > 6
    assert leaks(repr(server.scores)) == []


@pytest.mark.full
def test_wire_langfuse_resend_prints_none(
    server: FaultyLangfuse, command: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    for status in (503, 403):
        file = ScoreFile("langfuse.outbox")
        file.put([Score("id", "krag.mrr", 1.0, Target(trace_id="t"), datetime(2026, 5, 4, tzinfo=UTC), {})])
        file.close()
        said = f"{SAID} Basic {BASIC}".replace(CANARIES["extra header"], "")
        server.choose = lambda number, status=status, said=said: Fault(status, {"message": said})  # type: ignore[misc]
        for form in ("", "--json -"):
            with caplog.at_level(logging.DEBUG, logger="krag_eval"):
                code, out, err = command(f"langfuse-resend langfuse.outbox --timeout 1 {form}")
            assert code == 1
            assert f"HTTP {status}" in out
            assert leaks(out + err + caplog.text) == []
        assert leaks(content(Path("langfuse.outbox"))) == []
        for score, reason in resend_outbox("langfuse.outbox", timeout=0.1).rejected:
            assert leaks(repr(score) + reason) == []


@pytest.mark.full
def test_wire_no_shape_gets_into_the_outbox_its_reasons_or_to_the_server(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts, path = [text for text, _ in SHAPES.values()], tmp_path / "outbox"
    ids = [f"q{number}" for number in range(len(texts))]

    def score(count: int, **given: Any) -> None:
        handler = LangfuseScoreHandler(
            client,
            delivery="outbox",
            outbox=path,
            include_text=True,
            trace_ids=dict(zip(ids, ids, strict=True)),
            **given,
        )
        handler.flush(0.2)
        evaluate(
            [["a"]] * count,
            [["a"]] * count,
            k=1,
            metrics="mrr",
            queries=texts[:count],
            query_ids=ids[:count],
            callbacks=[handler],
        )
        handler.flush(20)
        with contextlib.suppress(LangfuseDeliveryError):
            handler.close(5)

    with caplog.at_level(logging.DEBUG, logger="krag_eval"):
        score(len(texts), run_id=" ".join(texts))
        assert len(server.scores) >= len(texts)
        assert leaked(repr(server.scores) + content(path)) == []
        for start in range(0, len(texts), 20):
            server.choose = lambda number, start=start: Fault(403, {"message": texts[start : start + 20]})  # type: ignore[misc]
            score(1, run_id=f"refused {start}")
            assert "HTTP 403" in content(path)
    assert leaked(content(path) + caplog.text) == []
    for one, reason in resend_outbox(path, client=client, timeout=0.1).rejected:
        assert leaked(repr(one) + reason) == []
