"""A clock that goes backwards, and one of another year: no duration is negative, and nothing is ordered by it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from krag_eval import evaluate_run, read_run
from krag_eval.datasets import EvalSet

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
ROWS = [{"id": f"q{n}", "question": f"question {n}", "gold_chunk_ids": [f"c{n}"]} for n in range(30)]
# The clocks of the day are turned back by an hour whenever somebody looks; those that only count on are left alone.
TURNED = """
    import datetime, itertools, sys, time

    started, looked = time.time(), itertools.count(1)
    time.time = lambda: started - 3600 * next(looked)
    time.time_ns = lambda: int(time.time() * 1e9)

    class Turned(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(time.time(), tz)

    datetime.datetime = Turned
    import krag_eval.retrievers.recording
    assert krag_eval.retrievers.recording.datetime is Turned
"""
RUN = """
    from krag_eval import run_retriever
    from krag_eval_live import LiveScorer, RetrievalSink
    from tests.adapters.live.test_clock import ROWS

    def search(question):
        asked.append(question)
        if len(asked) > limit:
            raise SystemExit
        return [{"id": "c" + question.split()[1]}]

    asked, limit = [], int(sys.argv[2])
    told = []

    class Note(RetrievalSink):
        def on_retrieval_scored(self, retrieval, target):
            told.append(retrieval)

    try:
        run_retriever(ROWS, search, k=1, name="ids", journal=sys.argv[1], concurrency=1,
                      progress=lambda p: told.append(p))
    except SystemExit:
        pass
    scorer = LiveScorer({"q": ["a"]}, match_method="id", k=1, sinks=[Note()])
    for number in range(5):
        scorer.begin("a framework", number, "q")
        scorer.end(number, [{"id": "a"}])
    assert scorer.flush(30)
    assert [one.run_id for one in told[-5:]] == list("01234")
    assert min(one.seconds for one in told) >= 0
    assert told[-5].ended_at > told[-1].ended_at, "the clock was not turned"
    print(len(asked))
"""


def test_a_run_under_a_clock_that_goes_backwards_is_the_run_of_any_other_day(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"

    def session(limit: int) -> str:
        program = textwrap.dedent(TURNED) + textwrap.dedent(RUN)
        command = [sys.executable, "-c", program, str(journal), str(limit)]
        return subprocess.run(
            command, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True
        ).stdout

    assert session(10) == "11\n"
    assert session(100) == "20\n"
    evalset = EvalSet(ROWS)
    run = read_run(journal, evalset=evalset)
    assert list(itertools.islice(run.rows, 30)) == evalset.ids
    assert all(row.seconds is not None and 0 <= row.seconds < 60 for row in run.rows.values())
    assert evaluate_run(evalset, run, k=1)["recall@1"] == 1.0
