"""A stand-in for a Langfuse server that is in trouble: it refuses, asks to wait, and cuts connections."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, NamedTuple, Self

from examples.loopback_langfuse import LoopbackLangfuse


class Fault(NamedTuple):
    """What happens to a request.

    Attributes:
        status: The status of the answer; 0 cuts the connection instead.
        body: The body of the answer; bytes as they are, everything else as JSON.
        headers: Headers of the answer.
        is_processed: Whether the server does what it was asked to, all the same; it says so if there is no body.
        kills: The process to kill in place of an answer.
        cut_at: Break the connection off after so many bytes of the body.
        holds: Wait for this before the answer.
        drips: Send the body byte by byte.
        delays: Wait so many seconds before the answer.
    """

    status: int = 0
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    is_processed: bool = False
    kills: int | None = None
    cut_at: int | None = None
    holds: threading.Event | None = None
    drips: bool = False
    delays: float = 0.0


BUSY = Fault(503, {"message": "busy"})
WAIT = Fault(429, {}, (("Retry-After", "0"),))
CUT_BEFORE = Fault()
CUT_AFTER = Fault(is_processed=True)
Choose = Callable[[int], Fault | None]


def unlucky(seed: int) -> Choose:
    """15 % busy, 10 % too many requests, 10 % cut before processing and 15 % after it."""
    random, lock = Random(seed), threading.Lock()

    def choose(number: int) -> Fault | None:
        with lock:
            chance = random.random()
        limits = ((0.15, BUSY), (0.25, WAIT), (0.35, CUT_BEFORE), (0.5, CUT_AFTER))
        return next((fault for limit, fault in limits if chance < limit), None)

    return choose


class FaultyLangfuse(LoopbackLangfuse):
    """The server of the examples, with a fault for each request that brings scores.

    Attributes:
        choose: The fault of a request by its number, from 0; None answers as usual.
        n_requests: How many requests with scores came.
        port: Where it listens; 0 for any that is free.
        stored: What is stored in the end, as the real server does it: by id, name and day, the last one wins.
    """

    choose: Choose = staticmethod(lambda number: None)
    n_requests = 0
    port = 0

    def __enter__(self) -> Self:
        self._counting = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), _handler_of(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    @property
    def stored(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        return {(score["id"], score["name"], score["timestamp"][:10]): score for score in self.scores}

    def fault(self, path: str) -> Fault | None:
        if path not in ("/api/public/scores", "/api/public/ingestion"):
            return None
        with self._counting:
            number, self.n_requests = self.n_requests, self.n_requests + 1
        return self.choose(number)


def _handler_of(server: FaultyLangfuse) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fault = server.fault(self.path)
            if fault is None:
                fault = Fault(*server.respond("POST", self.path, {}, body))
            elif fault.is_processed:
                answer = server.respond("POST", self.path, {}, body)
                fault = fault if fault.body is not None or not fault.status else fault._replace(body=answer[1])
            if fault.kills is not None:
                os.kill(fault.kills, signal.SIGKILL)
            if fault.holds is not None:
                fault.holds.wait(60)
            time.sleep(fault.delays)
            if not fault.status:
                return  # without a word
            payload = fault.body if isinstance(fault.body, bytes) else json.dumps(fault.body).encode()
            self.send_response(fault.status)
            for name, value in fault.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            with contextlib.suppress(OSError):  # the client has stopped waiting
                self.end_headers()
                for start in range(0, len(payload), 1) if fault.drips else (0,):
                    self.wfile.write(payload[start : start + 1] if fault.drips else payload[: fault.cut_at])

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    return Handler
