"""An hour of live scoring, compressed: what LangChain's handler adds to each retrieval, and whether memory stays flat.

`python -m benchmarks.live_load` sends 200,000 retrievals through a real retriever of LangChain, 64 at a time, which
takes some five minutes. The first 20,000 take 100 ms each, and as many are sent without the handler: they show what it
adds. The others take 5 ms, and show whether memory stays flat. `--smoke` sends a few, and looks at counters and memory
alone. Exits with 1 where the counters do not add up or a limit is passed. It needs the extra `langchain`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from benchmarks.harness import Row, check_equal, print_figures
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import RetrievalSink, ScoredRetrieval

CONCURRENCY = 64
SECONDS = 0.1  # of a retrieval on average: an index that is asked over a network
FAST = 0.005  # of those after the first, which load the handler as much as the processor can
DEPTH = 10
N_QUESTIONS, GOLDEN = 1_000, 0.618034
WARM_UP = 0.1  # the share of the retrievals after which memory has to stay flat
MOST_GROWTH_MB = 20.0
MOST_ADDED_MS = (0.2, 1.0)  # in the median, at the 99th percentile
_CORPUS = [
    Document(id=f"c{n}", page_content=f"passage number {n} " * 8, metadata={"doc_id": f"d{n // 10}"})
    for n in range(N_QUESTIONS + DEPTH)
]
GOLD = {f"question {n}": [{"id": f"c{n}"}, {"id": f"c{n * 7 % N_QUESTIONS}"}] for n in range(N_QUESTIONS)}


def question(number: int) -> str:
    """Of a hundred retrievals one fails, one returns what cannot be read, and five are asked what has no gold."""
    kind = number % 100
    if kind in (11, 12):
        return f"{'fail' if kind == 11 else 'garble'} {number}"
    return f"another question {number}" if kind >= 95 else f"question {number % N_QUESTIONS}"


def expected(numbers: range) -> dict[str, int]:
    """The counters after these retrievals, where none was dropped."""
    asked = [question(number).partition(" ")[0] for number in numbers]
    return {
        "seen": len(asked),
        "scored": asked.count("question"),
        "no_gold": asked.count("another") + asked.count("fail"),
        "unreadable": asked.count("garble"),
        "dropped": 0,
        "errors": asked.count("fail") + asked.count("garble"),
    }


class Index(BaseRetriever):
    """Finds ten passages after a while, which is never the same: calls in step would wait for each other."""

    seconds: float

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        time.sleep(self._while(query))
        return _found(query)

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        await asyncio.sleep(self._while(query))
        return _found(query)

    def _while(self, query: str) -> float:
        return self.seconds * (0.5 + int(query.rpartition(" ")[2]) * GOLDEN % 1)


def _found(query: str) -> list[Any]:
    kind, _, number = query.rpartition(" ")
    if kind == "fail":
        raise ConnectionError(f"no answer to request {number}, {'of many words ' * 20}")
    if kind == "garble":
        return [object()]
    first = int(number) * 31 % N_QUESTIONS
    return _CORPUS[first : first + DEPTH]


class Told(RetrievalSink):
    """Counts what it is told."""

    n = 0

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:  # noqa: ARG002
        """One more."""
        self.n += 1


@dataclass
class Measured:
    """What a stretch of load took.

    Attributes:
        added: By block, how many seconds longer a call takes with the handler: in the median, at the 99th percentile.
        inside: The seconds that each retrieval spent in the calls of the handler.
        memory: Megabytes in use, block by block.
    """

    added: list[tuple[float, float]] = field(default_factory=list)
    inside: array[float] = field(default_factory=lambda: array("d"))
    memory: list[float] = field(default_factory=list)


class Clocked(BaseCallbackHandler):
    """Passes everything on to the handler, and notes how long that took on the application's thread."""

    run_inline = True

    def __init__(self, handler: RetrievalScoringHandler, seconds: array[float]) -> None:
        self._handler, self._seconds, self._begun = handler, seconds, dict[object, float]()

    def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
        """The time of the first call."""
        start = time.perf_counter()
        self._handler.on_retriever_start(*args, **kwargs)
        self._begun[kwargs["run_id"]] = time.perf_counter() - start

    def on_retriever_end(self, *args: Any, **kwargs: Any) -> None:
        """And that of the second."""
        start = time.perf_counter()
        self._handler.on_retriever_end(*args, **kwargs)
        self._seconds.append(self._begun.pop(kwargs["run_id"]) + time.perf_counter() - start)

    def on_retriever_error(self, *args: Any, **kwargs: Any) -> None:
        """Failures are counted, and not timed."""
        self._begun.pop(kwargs["run_id"])
        self._handler.on_retriever_error(*args, **kwargs)


def ask_on_a_loop(index: Index, numbers: range, callbacks: list[Any]) -> list[float]:
    """How long each retrieval took its caller: tasks on an event loop."""
    shared, seconds = iter(numbers), list[float]()

    async def work() -> None:
        for number in shared:
            start = time.perf_counter()
            try:
                await index.ainvoke(question(number), {"callbacks": callbacks})
            except ConnectionError:
                continue
            seconds.append(time.perf_counter() - start)

    async def all_of_them() -> None:
        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))

    asyncio.run(all_of_them())
    return seconds


def ask_in_threads(index: Index, numbers: range, callbacks: list[Any]) -> list[float]:
    """The same for threads."""
    seconds: list[float] = []

    def ask(number: int) -> None:
        start = time.perf_counter()
        try:
            index.invoke(question(number), {"callbacks": callbacks})
        except ConnectionError:
            return
        seconds.append(time.perf_counter() - start)

    with ThreadPoolExecutor(CONCURRENCY) as pool:
        list(pool.map(ask, numbers))
    return seconds


WAYS = {"ainvoke on one event loop": ask_on_a_loop, "invoke in threads": ask_in_threads}


def measure(way: str, n_retrievals: int, block: int, n_timed: int, seconds: float) -> Measured:
    """Blocks with and without the handler in turn, so that whatever else the machine does falls upon both.

    Only the first blocks are timed; the others are there for the memory.

    Raises:
        CheckError: A counter is not what was asked, or the counters do not add up.
    """
    ask, index, measured, sink = WAYS[way], Index(seconds=seconds), Measured(), Told()
    fast, n_blocks = Index(seconds=min(seconds, FAST)), 0
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[sink])
    clocked = Clocked(handler, measured.inside)
    for start in range(0, n_retrievals, block):
        if start < n_timed:
            without = np.percentile(ask(index, range(block), []), (50, 99))
            scored = np.percentile(ask(index, range(start, start + block), [clocked]), (50, 99))
            measured.added.append((float(scored[0] - without[0]), float(scored[1] - without[1])))
        else:
            ask(fast, range(start, start + block), [handler])
        n_blocks += 1
        handler.flush()
        measured.memory.append(megabytes())
    counters, wanted = handler.counters, expected(range(n_blocks * block))
    check_equal(f"counters of {way}", {name: getattr(counters, name) for name in wanted}, wanted)
    became = counters.scored + counters.no_gold + counters.unreadable + counters.dropped
    check_equal(f"sum of the counters of {way}", became, counters.seen)
    check_equal(f"what the sink of {way} was told", sink.n, counters.scored + counters.no_gold)
    check_equal(f"queries in the result of {way}", handler.result().n_queries, counters.scored)
    return measured


def megabytes() -> float:
    """The memory in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def run(smoke: bool) -> Iterator[Row]:
    """The rows of live scoring under load."""
    for way, n_full, n_timed in zip(WAYS, (200_000, 20_000), (20_000, 10_000), strict=True):
        n_retrievals, block, seconds = (2_000, 500, FAST) if smoke else (n_full, 2_000, SECONDS)
        n_timed = min(n_timed, n_retrievals)
        measured = measure(way, n_retrievals, block, n_timed, seconds)
        work = f"{n_retrievals:,} retrievals, {n_timed:,} of {seconds * 1000:g} ms, {CONCURRENCY} at a time, {way}"
        warm = measured.memory[int(len(measured.memory) * WARM_UP) :]
        note = (
            f"{warm[0]:.0f} MB after the first {WARM_UP:.0%}, {warm[-1]:.0f} MB at the end, {max(warm):.0f} MB at most"
        )
        growth = max(warm) - warm[0]
        yield Row(work=f"{work}: growth of memory", peer="", ours=growth, asked=MOST_GROWTH_MB, unit="MB", note=note)
        for place, name in enumerate(("median", "99th percentile")):
            added = float(np.median([block[place] for block in measured.added])) * 1000
            inside = float(np.percentile(measured.inside, (50, 99)[place])) * 1000
            limit = None if smoke else MOST_ADDED_MS[place]
            yield Row(work=f"{work}: added to the {name} of a call", peer="", ours=added, asked=limit, unit="ms")
            yield Row(work=f"{work}: in the calls of the handler, {name}", peer="", ours=inside, asked=limit, unit="ms")


def main() -> int:
    """Print the figures."""
    return print_figures(__doc__, "a few retrievals: counters and memory", run)


if __name__ == "__main__":
    sys.exit(main())
