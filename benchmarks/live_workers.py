"""What arrives of the retrievals in workers that are replaced and stopped: gunicorn, uvicorn and Celery.

    python -m benchmarks.live_workers [--python PATH] [--requests 200] [--ways NAME ...]

Each way starts a real server or worker pool, whose processes are replaced after a few requests or tasks, asks it for
retrievals, and stops it with SIGTERM right after the last answer. The scores go through a real client of Langfuse to a
stand-in for its server. `--python` names an interpreter that has langfuse, langchain, gunicorn, uvicorn and celery; by
default this one. Exits with 1 where a score is lost or arrives twice: that is so of uvicorn without a flush.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from examples.loopback_langfuse import LoopbackLangfuse

ROOT = Path(__file__).parents[1]
SCORES = 2  # of a retrieval: recall and empty
AFTER = 20  # so many requests or tasks a process is replaced
N_WORKERS, N_CLIENTS = 2, 4
APP = """
import contextlib, os, sys
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langfuse import get_client
from langfuse.langchain import CallbackHandler

from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler

class Search(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]

GOLD = {f"question {n}": [f"question {n}"] for n in range(10_000)}
sink = LangfuseScoreHandler()
scoring = RetrievalScoringHandler(GOLD, k=1, metrics=["recall"], sinks=[sink])
retriever = Search()

def ask(question):
    tracing = CallbackHandler()
    sink.follow(tracing)
    retriever.invoke(question, config={"callbacks": [tracing, scoring]})
    with open(os.environ["ASKED"], "ab", buffering=0) as asked:
        asked.write(b"x")
    return os.getpid()

def wsgi(environ, start_response):
    body = str(ask(environ["QUERY_STRING"].replace("+", " "))).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown" and "FLUSH" in os.environ:
                scoring.flush(5.0)
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body = str(ask(scope["query_string"].decode().replace("+", " "))).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""
CELERY = """
from celery import Celery

app = Celery("tasks")
app.conf.update(
    broker_url="filesystem://",
    broker_transport_options={"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"},
    result_backend="file://results", worker_hijack_root_logger=False, worker_prefetch_multiplier=1,
)

@app.task
def ask(question):
    import live_app
    return live_app.ask(question)
"""
ENQUEUE = "import tasks; [tasks.ask.delay(f'question {n}') for n in range(%d)]"
_GUNICORN = ["-m", "gunicorn", "--workers", str(N_WORKERS), "--bind", "127.0.0.1:PORT", "--log-level", "warning"]
_RECYCLED = ["--max-requests", str(AFTER), "--max-requests-jitter", "5"]
_UVICORN = ["-m", "uvicorn", "live_app:asgi", "--port", "PORT", "--log-level", "warning"]
_CELERY = ["-m", "celery", "-A", "tasks", "worker", "--concurrency", str(N_WORKERS), "--loglevel", "WARNING"]
WAYS: dict[str, list[str]] = {
    "gunicorn, sync workers": [*_GUNICORN, *_RECYCLED, "live_app:wsgi"],
    "gunicorn, sync workers, preloaded": [*_GUNICORN, *_RECYCLED, "--preload", "live_app:wsgi"],
    "gunicorn, threads": [*_GUNICORN, *_RECYCLED, "--threads", "4", "live_app:wsgi"],
    "gunicorn, uvicorn workers": [*_GUNICORN, *_RECYCLED, "-k", "uvicorn.workers.UvicornWorker", "live_app:asgi"],
    "gunicorn, uvicorn workers, flush at their shutdown": [
        *_GUNICORN,
        *_RECYCLED,
        *("-k", "uvicorn.workers.UvicornWorker", "live_app:asgi"),
    ],
    "uvicorn": _UVICORN,
    "uvicorn, flush at its shutdown": _UVICORN,
    "uvicorn, two workers, flush at their shutdown": [
        *_UVICORN,
        *("--workers", str(N_WORKERS), "--limit-max-requests", str(AFTER)),
    ],
    "Celery, prefork": [*_CELERY, "--max-tasks-per-child", str(AFTER)],
    "Celery, threads": [*_CELERY, "--pool", "threads"],
    "Celery, solo": [*_CELERY, "--pool", "solo"],
}


@dataclass
class Arrived:
    """What became of the retrievals of one way."""

    processes: int
    retrievals: int
    scores: Counter[str]
    seconds: float
    problem: str


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _ask_over_http(port: int, n: int) -> list[str]:
    """Ask so often that n requests are answered; one that meets a process that ends is repeated.

    Returns:
        The process that answered each.
    """

    def one(number: int) -> str:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/?question+{number}", timeout=30) as answer:
                    return str(answer.read().decode())
            except (OSError, HTTPException):
                time.sleep(0.1)
        return ""

    with ThreadPoolExecutor(N_CLIENTS) as pool:
        return list(pool.map(one, range(n)))


def _wait_for_tasks(folder: Path, n: int) -> list[str]:
    """Wait until so many tasks have their result, and return the process of each."""
    end = time.monotonic() + 120
    while len(found := list((folder / "results").glob("celery-task-meta-*"))) < n and time.monotonic() < end:
        time.sleep(0.01)
    return [path.read_text().partition('"result": ')[2].partition(",")[0] for path in found]


def run_way(python: str, way: str, n: int) -> Arrived:
    """Start the workers, ask, stop them, and count."""
    port = _free_port()
    with LoopbackLangfuse() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for inner in ("queue", "control", "results"):
            (folder / inner).mkdir()
        (folder / "live_app.py").write_text(APP)
        (folder / "tasks.py").write_text(CELERY)
        environment = {
            **os.environ,
            "LANGFUSE_PUBLIC_KEY": "pk-lf-workers",
            "LANGFUSE_SECRET_KEY": "sk-lf-workers",
            "LANGFUSE_BASE_URL": server.url,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters"), name]),
            "PYTHONWARNINGS": "ignore",
            "ASKED": str(folder / "asked"),
            **({"FLUSH": "1"} if "flush" in way else {}),
        }
        if "Celery" in way:
            subprocess.run([python, "-c", ENQUEUE % n], env=environment, cwd=folder, check=True)
        command = [part.replace("PORT", str(port)) for part in WAYS[way]]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen([python, *command], env=environment, cwd=folder, stdout=log, stderr=log)
            try:
                asked = _wait_for_tasks(folder, n) if "Celery" in way else _ask_over_http(port, n)
            finally:
                began = time.monotonic()
                running.send_signal(signal.SIGTERM)
                try:
                    running.wait(60)
                except subprocess.TimeoutExpired:
                    running.kill()
        seconds = time.monotonic() - began
        answered = [one for one in asked if one]
        told = (folder / "log").read_text().strip()
        return Arrived(
            processes=len(set(answered)),
            retrievals=(folder / "asked").stat().st_size,
            scores=Counter(score["id"] for score in server.scores),
            seconds=seconds,
            problem=told[-1_000:],
        )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    given = parser.parse_args()
    print("| workers | processes | retrievals | scores arrived | lost | twice | seconds from SIGTERM to the end |")
    print("|---|---|---|---|---|---|---|")
    is_bad, problems = False, list[str]()
    for way in given.ways:
        found = run_way(given.python, way, given.requests)
        lost, twice = SCORES * found.retrievals - len(found.scores), found.scores.total() - len(found.scores)
        print(
            f"| {way} | {found.processes} | {found.retrievals} | {len(found.scores)} | {lost} | {twice} "
            f"| {found.seconds:.1f} |",
            flush=True,
        )
        is_bad = is_bad or bool(lost or twice)
        problems += [f"{way}: {found.problem}"] if found.problem and lost else []
    print(*problems, sep="\n")
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
