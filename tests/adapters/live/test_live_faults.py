"""A receiver that hangs, and load: live scoring answers all the same, and takes its turn."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument

from krag_eval import KragEvalWarning
from krag_eval.documents.document import Document
from krag_eval_live import LiveScorer
from krag_eval_live.judging import RetrievalJudge
from krag_eval_live.retrievals import Retrieval
from tests.support.live_cases import GOLD, Gate, retrieve

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A receiver that hangs until the test is over."""
    made = Gate()
    yield made
    made.opened.set()


def hanging(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> LiveScorer:
    monkeypatch.setattr("krag_eval_live.scorer.RESULT_TIMEOUT", 0.05)
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


def test_other_threads_run_between_the_steps_of_the_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = RetrievalJudge(
        GOLD, k=1, metrics=None, level="chunk", doc_key="doc_id", keep=False, settings={"match_method": "id"}
    )
    batch = [Retrieval("a framework", str(n), "q1", None, None, [], 0.0, [Document(id="b")]) for n in range(64)]
    judge.score(batch)
    turns, mine, theirs = 0, threading.Semaphore(0), threading.Semaphore(0)

    def let_the_other_run(seconds: float) -> None:
        """What `time.sleep` does, on a machine as busy as it may be: the other thread always gets its turn."""
        assert seconds > 0
        theirs.release()
        assert mine.acquire(timeout=30)

    done = threading.Event()

    def score() -> None:
        judge.score(batch)
        done.set()
        theirs.release()

    monkeypatch.setattr(time, "sleep", let_the_other_run)
    thread = threading.Thread(target=score)
    thread.start()
    while theirs.acquire(timeout=30) and not done.is_set():
        turns += 1
        mine.release()
    thread.join(30)
    assert turns >= 3


class Endless:
    """Can be looked through again and again, and never to the end."""

    def __iter__(self) -> Iterator[object]:
        return itertools.repeat({"id": "b"}, 10**12)


def failing() -> Iterator[object]:
    yield {"id": "b"}
    raise ConnectionError("cut off")


class Failing:
    def __iter__(self) -> Iterator[object]:
        return failing()


@pytest.mark.parametrize("answer", [Endless(), failing(), Failing(), itertools.count()], ids=lambda a: type(a).__name__)
def test_an_answer_without_an_end_or_that_fails_half_way_is_unreadable_and_the_next_is_scored(answer: object) -> None:
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall")
    retrieve(scorer, "q1", answer)
    retrieve(scorer, "q2", [{"id": "c"}])
    assert scorer.flush(30)
    assert (scorer.counters.seen, scorer.counters.unreadable, scorer.counters.scored) == (2, 1, 1)
    assert scorer.result()["recall@1"] == 1.0


@pytest.mark.parametrize("kind", ["langchain", "mapping", "record"])
def test_an_answer_that_is_changed_after_it_was_given_counts_as_it_was(kind: str) -> None:
    """The same list again and again, as retrievers return that reuse it, and documents that a later step edits."""
    makes: dict[str, Callable[[str], Any]] = {
        "langchain": lambda name: LangChainDocument(page_content=name, metadata={"id": name}),
        "mapping": lambda name: {"text": name, "metadata": {"id": name}},
        "record": lambda name: Document(text=name, id=name, metadata={"id": name}),
    }
    reused: list[Any] = []
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall", keep_documents=True)
    for name in ("other", "c"):  # the first of a type is read in another way than those after it
        reused[:] = [makes[kind](name)]
        retrieve(scorer, "q2", reused)
        document = reused[0]
        metadata = document["metadata"] if kind == "mapping" else document.metadata
        metadata["id"] = "changed"
        if kind == "langchain":
            document.page_content = "changed"
        reused.clear()
    assert scorer.flush(30)
    assert [row.values["recall@1"] for row in scorer.result().per_query] == [0.0, 1.0]


def test_under_load_the_counters_add_up_and_memory_stays_flat() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live_load", "--smoke"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"growth of memory .* at most 20 MB  yes", done.stdout)) == 2


def test_no_search_of_a_session_is_lost_under_load() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live_sessions", "--smoke"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("median of a search") == 3
