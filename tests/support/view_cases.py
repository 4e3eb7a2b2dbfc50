"""`krag-eval view` for tests: a folder with reports and runs, and a server on this machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from krag_eval import EvalSet, write_evalset, write_run
from krag_eval_report.view import view_app
from tests.support.page_cases import FIRST, QUESTIONS, run_of, shop, write_page

TOKEN = "token-of_the-tests"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Served(NamedTuple):
    """A folder, and the server that shows it."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        """The address of the list."""
        return f"http://127.0.0.1:{self.port}/{TOKEN}/"

    def ask(
        self, path: str = "", method: str = "GET", body: Any = None, prefix: str = f"/{TOKEN}/", **headers: str
    ) -> Answer:
        """Ask for a path just as it is given, with headers whose names have underscores for dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, prefix + path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode("utf-8"))

    def label(self, row: Any, name: str = "0123456789abcdef", **headers: str) -> Answer:
        """Send a label."""
        body = row if isinstance(row, bytes) else json.dumps(row).encode()
        return self.ask(f"labels/{name}", "POST", body, **{"Content_Type": "application/json"} | headers)


def fill(folder: Path) -> None:
    """Write a report, an evaluation set and a run, and what is no report."""
    write_page(folder, shop())
    (folder / "old").mkdir()
    (folder / "old" / "보고서 1.html").write_text(
        '<meta name="generator" content="krag-eval 0.0.1"><title>Alt &amp; old</title><p>hello', encoding="utf-8"
    )
    (folder / "other.html").write_text("<title>of somebody else</title>", encoding="utf-8")
    write_evalset(EvalSet(QUESTIONS, name="shop"), folder / "set.jsonl")
    write_run(run_of("first", FIRST), folder / "first.jsonl")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve a folder while the block runs."""
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        config = uvicorn.Config(view_app(folder, TOKEN, port), log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Served(folder, port)
        finally:
            server.should_exit = True
            thread.join(timeout=60)
