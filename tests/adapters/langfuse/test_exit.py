"""A process that ends without `flush` has sent its live scores, keeps them in the outbox, or counts them on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_langfuse import resend_outbox

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.full

IMPORTS = """
import asyncio, multiprocessing, os, signal, sys, time
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langfuse import Langfuse, get_client
from langfuse.langchain import CallbackHandler

from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler
"""
SETUP = """
class Search(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]

gold = {f"question {n}": [f"question {n}"] for n in range(N)}
def made(sink):
    return RetrievalScoringHandler(gold, k=1, metrics=["recall"], sinks=[sink])
def ask(start=0, step=1):
    for question in list(gold)[start::step]:
        with ours.question(question, flush=FLUSH):
            Search().invoke(question, config={"callbacks": [theirs, ours]})
async def ask_async():
    for question in gold:
        await Search().ainvoke(question, config={"callbacks": [theirs, ours]})
FLUSH = None
"""
CLIENT_FIRST = """
client, theirs = get_client(), CallbackHandler()
ours = made(LangfuseScoreHandler(client, langchain_handler=theirs))
"""
CLIENT_LAST = """
sink = LangfuseScoreHandler()
ours, theirs = made(sink), CallbackHandler()
sink.follow(theirs)
"""
OUTBOX = """
theirs = CallbackHandler()
ours = made(LangfuseScoreHandler(langchain_handler=theirs, delivery="outbox", outbox="scores.outbox"))
"""
FORKED = """
if child := os.fork():
    ask(0, 2)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ask(1, 2)
"""
PROCESS = """
one = multiprocessing.get_context("fork").Process(target=ask, args=(1, 2))
one.start()
ask(0, 2)
one.join()
sys.exit(one.exitcode)
"""
POOL = """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    list(pool.map(ask, range(5), [5] * 5))
"""
STOPPED = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nask()\nos.kill(os.getpid(), signal.SIGTERM)"
# Imports everything once and forks for each script, whose process then ends as any other does: it runs off the end of
# this one. Imports would take nearly all of the time.
FORKING = (
    IMPORTS
    + """
import json
for line in sys.stdin:
    body, folder, keys = json.loads(line)
    child = os.fork()
    if not child:
        break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, flush=True)
else:
    os._exit(0)
os.environ.update(keys)
os.chdir(folder)
sys.stdin = open(os.devnull)
for name, stream in (("out", 1), ("err", 2)):
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
exec(compile(body, "<string>", "exec"))
"""
)
WAYS = {
    "the last line": ("ask()", 0),
    "sys.exit": ("ask()\nsys.exit(3)", 3),
    "an exception": ("ask()\nraise ValueError('the application failed')", 1),
    "asyncio.run": ("asyncio.run(ask_async())", 0),
    "SIGTERM with a handler": (STOPPED, 143),
    "SIGTERM, each question flushed": ("FLUSH = 10.0\nask()\nos.kill(os.getpid(), signal.SIGTERM)", -15),
    "Ctrl-C": ("ask()\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)", -2),
    "a forked process": (FORKED, 0),
    "multiprocessing": (PROCESS, 0),
    "a pool of processes": (POOL, 0),
}


def environment(server: LoopbackLangfuse, folder: Path) -> dict[str, str]:
    return {
        "LANGFUSE_PUBLIC_KEY": f"pk-lf-exit-{folder.name}",
        "LANGFUSE_SECRET_KEY": "sk-lf-exit",
        "LANGFUSE_BASE_URL": server.url,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]),
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # of forks with threads, which are the test
    }


def run(*command: str, server: LoopbackLangfuse, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment(server, folder)},
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


Run = Callable[[str, LoopbackLangfuse, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def forked() -> Iterator[Run]:
    """Run a script in a process that was forked from one with all imports."""
    inherited = os.environ | {"PYTHONWARNINGS": "ignore::DeprecationWarning"}
    inherited["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=inherited) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        asked, answers = parent.stdin, parent.stdout

        def run_forked(body: str, server: LoopbackLangfuse, folder: Path) -> subprocess.CompletedProcess[str]:
            asked.write(json.dumps([body, str(folder), environment(server, folder)]) + "\n")
            asked.flush()
            code = int(answers.readline())
            out, err = ((folder / name).read_text(encoding="utf-8") for name in ("out", "err"))
            return subprocess.CompletedProcess(body, code, out, err)

        yield run_forked


def scored(server: LoopbackLangfuse) -> Counter[str]:
    """How often each score of a trace arrived, by its id."""
    return Counter(score["id"] for score in server.scores if score["name"] == "krag.recall_at_1")


@pytest.mark.parametrize(
    ("setup", "n"), [(CLIENT_FIRST, 10), (CLIENT_LAST, 100)], ids=["10, client first", "100, client last"]
)
@pytest.mark.parametrize("way", WAYS)
def test_all_scores_arrive_once_though_nobody_flushes(
    way: str, setup: str, n: int, tmp_path: Path, forked: Run
) -> None:
    body, code = WAYS[way]
    with LoopbackLangfuse() as server:
        done = forked(f"N = {n}\n{SETUP}{setup}{body}\n", server, tmp_path)
        assert done.returncode == code, done.stderr
        if way == "an exception":
            assert done.stderr.splitlines()[-1] == "ValueError: the application failed"
        elif way != "Ctrl-C":
            assert done.stderr == ""
        found = scored(server)
    assert (len(found), sum(found.values())) == (n, n)


def test_one_retrieval_is_scored_where_nothing_is_sent_before_the_exit(tmp_path: Path) -> None:
    with LoopbackLangfuse() as server:
        done = run("-c", f"N = 1\n{IMPORTS}{SETUP}{CLIENT_LAST}ask()\n", server=server, folder=tmp_path)
        assert (done.returncode, done.stderr, len(scored(server))) == (0, "", 1)


SPAWNED = """
if __name__ == "__main__":
    one = multiprocessing.get_context(METHOD).Process(target=ask)
    one.start()
    one.join()
    sys.exit(one.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_scores_of_a_process_that_was_started_anew_arrive(method: str, tmp_path: Path) -> None:
    body = SPAWNED.replace("METHOD", repr(method))
    (tmp_path / "script.py").write_text(f"N = 10\n{IMPORTS}{SETUP}{CLIENT_LAST}{body}")
    with LoopbackLangfuse() as server:
        done = run("script.py", server=server, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert sum(scored(server).values()) == 10


def test_the_scores_of_a_test_arrive(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(f"N = 10\n{IMPORTS}{SETUP}{CLIENT_LAST}def test_it():\n    ask()\n")
    with LoopbackLangfuse() as server:
        done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", server=server, folder=tmp_path)
        assert done.returncode == 0, done.stdout
        assert sum(scored(server).values()) == 10


@pytest.mark.parametrize("ending", ["", "os.kill(os.getpid(), signal.SIGTERM)"], ids=["the last line", "SIGTERM"])
def test_the_outbox_keeps_what_a_server_that_is_down_did_not_take(ending: str, tmp_path: Path, forked: Run) -> None:
    flush = "FLUSH = 0.5\n" if ending else ""
    with LoopbackLangfuse(answer=lambda method, path: (503, {"message": "down"})) as server:
        start = time.monotonic()
        done = forked(f"N = 3\n{SETUP}{OUTBOX}{flush}ask()\n{ending}\n", server, tmp_path)
        assert time.monotonic() - start < 40
        assert done.returncode == (-15 if ending else 0), done.stderr
        if not ending:
            assert "6 scores" in done.stderr
        assert not scored(server)
        server.answer = None
        client = Langfuse(public_key=f"pk-lf-exit-{tmp_path.name}", secret_key="sk-lf-exit", base_url=server.url)
        assert resend_outbox(tmp_path / "scores.outbox", client, timeout=60).sent == 6
        assert sum(scored(server).values()) == 3
        client.shutdown()


@pytest.mark.parametrize("setup", [CLIENT_LAST, OUTBOX], ids=["queue", "outbox"])
def test_a_server_that_hangs_delays_the_exit_by_at_most_the_timeout(setup: str, tmp_path: Path, forked: Run) -> None:
    def hang(method: str, path: str) -> None:
        if "otel" not in path:
            time.sleep(60)

    with LoopbackLangfuse(answer=hang) as server:
        timed = "import atexit\natexit.register(lambda: print(time.monotonic() - start))\n"
        done = forked(f"N = 10\n{SETUP}{setup}{timed}ask()\nstart = time.monotonic()\n", server, tmp_path)
    assert done.returncode == 0, done.stderr
    assert 4.0 < float(done.stdout) < 6.5  # when ours has ended, and that of Langfuse begins
    assert ("up to " if setup == CLIENT_LAST else "") + "20 scores have not reached Langfuse" in done.stderr
