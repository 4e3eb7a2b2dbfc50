"""The queue of live scoring and its thread: nothing is lost unseen, and nothing is kept."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from krag_eval_live import LiveScorer
from krag_eval_live.work import WorkQueue
from tests.support.live_cases import GOLD, Gate, Recorder, retrieve, scored


def test_what_is_too_much_is_dropped_and_counted() -> None:
    gate = Gate()
    scorer = LiveScorer(GOLD, match_method="id", sinks=[gate], max_pending=3)
    retrieve(scorer, "q1", [])
    assert gate.reached.wait(10)
    for _ in range(8):
        retrieve(scorer, "q1", [])
    assert scorer.flush(0.01) is False
    assert (scorer.counters.seen, scorer.counters.dropped) == (9, 5)
    gate.opened.set()
    assert scorer.flush(10) is True
    counters = scorer.counters
    assert (counters.scored, counters.dropped) == (4, 5)
    assert counters.seen == counters.scored + counters.no_gold + counters.unreadable + counters.dropped


def test_of_retrievals_that_never_end_the_oldest_are_dropped() -> None:
    scorer = LiveScorer(GOLD, match_method="id", max_pending=3)
    for number in range(5):
        scorer.begin("a framework", number, "q1")
    for number in range(5):
        scorer.end(number, [])
    scorer.flush(10)
    assert (scorer.counters.seen, scorer.counters.scored, scorer.counters.dropped) == (5, 3, 2)


def test_retrievals_from_many_threads_are_all_scored_once() -> None:
    recorder = Recorder()
    scorer = LiveScorer({f"q{i}": [f"d{i % 7}"] for i in range(400)}, match_method="id", k=1, sinks=[recorder])

    def ask(first: int) -> None:
        for i in range(first, 400, 8):
            retrieve(scorer, f"q{i}", [{"id": f"d{i % 5}"}])

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scorer.flush(30)
    found = {one.query: one.scores["recall@1"] for one in recorder.scored}
    assert found == {f"q{i}": float(i % 7 == i % 5) for i in range(400)}
    assert len(recorder.scored) == 400


@pytest.mark.full
def test_a_scorer_that_is_forgotten_is_collected_when_its_thread_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("krag_eval_live.work.IDLE_SECONDS", 0.5)
    scorer = scored()
    thread = scorer._queue._thread
    assert thread is not None
    gone = weakref.ref(scorer)
    del scorer
    thread.join(10)
    gc.collect()
    assert gone() is None


def test_a_thread_that_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_live.work.IDLE_SECONDS", 0.5)
    scorer = scored()
    thread = scorer._queue._thread
    assert thread is not None
    thread.join(10)
    assert scorer._queue._thread is None
    retrieve(scorer, "q1", [])
    assert scorer.flush(10)
    assert scorer.counters.scored == 4


def test_work_that_raises_is_logged_and_the_next_is_done(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def work(items: list[int]) -> None:
        if 1 in items:
            raise RuntimeError("a bug")
        done.extend(items)

    queue = WorkQueue(work, max_pending=10, max_batch=1)
    for item in range(3):
        assert queue.put(item)
    assert queue.flush(10)
    assert done == [0, 2]
    assert "1 retrievals were lost" in caplog.text


def test_work_comes_in_order_and_some_at_a_time() -> None:
    batches: list[list[int]] = []
    queue = WorkQueue(batches.append, max_pending=100, max_batch=4)
    for item in range(10):
        queue.put(item)
    assert queue.flush(10)
    assert list(itertools.chain(*batches)) == list(range(10))
    assert max(map(len, batches)) <= 4


FORKED = """
import os, sys, threading
from krag_eval import EvaluationCallback
from krag_eval_live import LiveScorer

blocked, go_on = threading.Event(), threading.Event()

class Block(EvaluationCallback):
    def on_query_scored(self, query):
        if os.getpid() == parent:
            blocked.set()
            go_on.wait(30)

def retrieve(scorer, query):
    run_id = object()
    scorer.begin("a framework", run_id, query)
    scorer.end(run_id, [{"id": "a"}])

parent = os.getpid()
scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1, sinks=[Block()])
retrieve(scorer, "q")
blocked.wait(30)
retrieve(scorer, "q")
with scorer._lock, scorer._scoring:  # as another thread may hold them at that moment
    child = os.fork()
if child == 0:
    retrieve(scorer, "q")
    retrieve(scorer, "unknown")
    done = scorer.flush(30)
    counters = scorer.counters
    ok = (done, counters.seen, counters.scored, counters.no_gold, scorer.result().n_queries) == (True, 2, 1, 1, 1)
    os._exit(0 if ok else 1)
status = os.waitpid(child, 0)[1]
go_on.set()
assert scorer.flush(30)
print(os.waitstatus_to_exitcode(status), scorer.counters.scored, scorer.result().n_queries)
"""
ENDING = """
from krag_eval_live import LiveScorer, RetrievalSink

class Print(RetrievalSink):
    def on_retrieval_scored(self, retrieval, target):
        print("scored", retrieval.query, flush=True)
    def flush(self, timeout=None):
        print("flushed", 0 < timeout <= 5, flush=True)

scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1, sinks=[Print()])
for query in ("q", "r"):
    scorer.begin("a framework", query, query)
    scorer.end(query, [{"id": "a"}])
"""


def run_program(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="need os.fork, which this system lacks")
def test_a_forked_process_starts_anew_and_its_parent_goes_on() -> None:
    assert run_program(FORKED) == "0 2 2\n"


@pytest.mark.full
def test_a_process_that_ends_scores_and_flushes_what_waits() -> None:
    assert run_program(ENDING) == "scored q\nscored r\nflushed True\n"
