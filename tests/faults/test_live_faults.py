"""A receiver that hangs, and load: live scoring answers all the same, and takes its turn."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from krag_eval import KragEvalWarning, LiveScorer
from krag_eval.documents import Document
from krag_eval.live.judge import RetrievalJudge
from krag_eval.live.retrievals import Retrieval
from tests.live import GOLD, Gate, retrieve

ROOT = Path(__file__).parents[2]


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A receiver that hangs until the test is over."""
    made = Gate()
    yield made
    made.opened.set()


def hanging(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> LiveScorer:
    monkeypatch.setattr("krag_eval.live.scoring.RESULT_TIMEOUT", 0.05)
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall", sinks=[gate])
    retrieve(scorer, "q2", [{"id": "c"}])
    assert gate.reached.wait(30)
    return scorer


def test_a_result_does_not_wait_for_a_receiver_that_hangs(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = hanging(gate, monkeypatch)
    for _ in range(3):
        retrieve(scorer, "q2", [])
    with pytest.warns(KragEvalWarning, match=r"3 retrievals are left out: after 0\.05 s they still wait") as told:
        result = scorer.result()
    assert (result.n_queries, result["recall@1"]) == (1, 1.0)
    assert told[0].filename == __file__
    with pytest.warns(KragEvalWarning, match="3 retrievals are left out"):
        assert scorer.window_means()["recall@1"] == 1.0
    gate.opened.set()
    assert scorer.flush(30)
    assert (scorer.result().n_queries, scorer.result()["recall@1"]) == (4, 0.25)


def test_a_result_that_lacks_nothing_comes_without_a_warning(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hanging(gate, monkeypatch).result().n_queries == 1


def test_other_threads_run_between_the_steps_of_the_scorer() -> None:
    judge = RetrievalJudge(
        GOLD, k=1, metrics=None, level="chunk", doc_key="doc_id", keep=False, settings={"match_method": "id"}
    )
    batch = [Retrieval("a framework", str(n), "q1", None, None, [], 0.0, [Document(id="b")]) for n in range(64)]
    judge.score(batch)
    interval = sys.getswitchinterval()
    turns = 0
    # Nobody takes the interpreter away from a thread: another one runs only where it is let.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=judge.score, args=(batch,))
        thread.start()
        while thread.is_alive():
            turns += 1
            thread.join(0.000001)
    finally:
        sys.setswitchinterval(interval)
    assert turns >= 3


def test_under_load_the_counters_add_up_and_memory_stays_flat() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live_load", "--smoke"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"growth of memory .* at most 20 MB  yes", done.stdout)) == 2
