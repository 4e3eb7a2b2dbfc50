"""What the runner adds to the calls of a retriever: time a question, memory, and how much of the ideal rate is left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.harness import Row, check_equal

CONCURRENCY, SLOW_CONCURRENCY, SLOW_SECONDS = 64, 50, 0.1


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the runner."""
    n_many, n_few, n_slow, rounds = (500, 100, 100, 1) if smoke else (100_000, 10_000, 5_000, 3)
    for options, words in (((), "in memory"), (("journal",), "with a journal")):
        outcomes = [child("in_memory", n_many, CONCURRENCY, *options, "rows") for _ in range(rounds)]
        yield Row(
            work=f"{n_many:,} questions at concurrency {CONCURRENCY}, in-memory async retriever, {words}: each",
            peer="",
            ours=median(outcome["seconds"] for outcome in outcomes) / n_many * 1000,
            asked=0.2,
            unit="ms",
            note=f"the run itself, {n_many * 10:,} documents with text and metadata, takes {outcomes[0]['mb']:.0f} MB",
        )
    many, few = (child("in_memory", n, CONCURRENCY, "journal") for n in (n_many, n_few))
    yield Row(
        work=f"memory of {n_many:,} questions into a journal, the run not kept, on top of the question set",
        peer=f"{n_few:,} questions",
        ours=many["mb"],
        theirs=few["mb"],
        unit="MB",
        at_most=True,
    )
    for retriever, words in (("slow_async", "async"), ("slow_plain", "plain, in threads")):
        outcomes = [child(retriever, n_slow, SLOW_CONCURRENCY, "journal") for _ in range(rounds)]
        yield Row(
            work=f"{n_slow:,} questions at concurrency {SLOW_CONCURRENCY}, {words}, with a journal",
            peer="a retriever of 100 ms, ideally",
            ours=median(outcome["seconds"] for outcome in outcomes),
            theirs=n_slow / SLOW_CONCURRENCY * SLOW_SECONDS,
            asked=0.95,
        )


def child(retriever: str, n_questions: int, concurrency: int, *options: str) -> dict[str, Any]:
    """What `runner_child` printed for these arguments."""
    command = [sys.executable, "-m", "benchmarks.runner_child", retriever, str(n_questions), str(concurrency), *options]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    outcome: dict[str, Any] = json.loads(out)
    check_equal("questions with a row", outcome["rows"], n_questions)
    return outcome
