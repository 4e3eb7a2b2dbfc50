"""These tests start a Phoenix server, which only `.venv-phoenix` has: run them with `make test-phoenix`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("phoenix") else ["test_*.py"]
_START_SECONDS = 180


class Server:
    """A Phoenix server on loopback."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.endpoint}{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            f"{self.endpoint}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def spans(self, project: str, n: int) -> Any:
        """Phoenix's own page of OTLP, once it holds so many spans: it takes them in with a delay."""
        end = time.monotonic() + 60
        while True:
            try:
                page = self.get(f"/v1/projects/{project}/spans/otlpv1?limit=1000")
            except urllib.error.HTTPError:  # the project begins with its first span
                page = {"data": []}
            if len(page["data"]) >= n or time.monotonic() > end:
                return page
            time.sleep(0.2)

    def span_annotations(self, project: str, span_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(
            f"/v1/projects/{project}/span_annotations?span_ids={span_id}&limit=1000"
        )["data"]
        return found

    def document_annotations(self, span_id: str) -> list[dict[str, Any]]:
        """What the web page shows; no other interface of Phoenix returns them."""
        fields = "documentEvaluations { name label score documentPosition }"
        query = f"query($id: String!) {{ span: getSpanByOtelId(spanId: $id) {{ {fields} }} }}"
        answer = self.post("/graphql", {"query": query, "variables": {"id": span_id}})
        found: list[dict[str, Any]] = answer["data"]["span"]["documentEvaluations"]
        return found


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The real server, from its package; it takes half a minute to start, so all tests share it."""
    folder: Path = tmp_path_factory.mktemp("phoenix")
    port = free_port()
    environment = os.environ | {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("phoenix")), "serve"], env=environment, stdout=log, stderr=log
        )
    server = Server(port)
    try:
        _wait(lambda: urllib.request.urlopen(f"{server.endpoint}/healthz", timeout=2).close(), process)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _wait(ask: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            ask()
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return
