"""`run_agent` records the searches of an agent: sync and async, with retries, time limits, journal and resume."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, RunRow, RunStoppedError, arun_agent, evaluate_run, read_run, run_agent
from krag_eval.datasets import Run
from tests.support.runner_cases import EVALSET, Unlucky, many, search, search_later

TWICE = {
    f"q{n}": [(f"question {n}", [f"c{n}", "other"]), (f"question {n}{n}", [f"c{n}{n}", "other"])] for n in range(3)
}


def agent(question: str, search: Any) -> None:
    search(question)
    search(question + question[-1])


async def async_agent(question: str, search: Any) -> None:
    await search(question)
    await search(question + question[-1])


def searches(run: Run) -> dict[str, list[Any]]:
    return {q: [(s.query, [d.id for d in s.retrieved]) for s in row.searches] for q, row in run.rows.items()}


@pytest.mark.parametrize("retriever", [search, search_later], ids=["sync", "async"])
@pytest.mark.parametrize("ask", [agent, async_agent])
def test_each_search_is_recorded_on_its_question(ask: Any, retriever: Any) -> None:
    if (ask, retriever) == (agent, search_later):
        with pytest.raises(InvalidInputError, match="async def"):
            run_agent(EVALSET, ask, search=retriever, k=5, progress=False)
        return
    run = run_agent(EVALSET, ask, search=retriever, k=5, progress=False)
    assert searches(run) == TWICE
    assert run.name == ask.__name__
    assert all(
        s.tool == retriever.__name__ and s.latency_s is not None for row in run.rows.values() for s in row.searches
    )
    assert run.has_sessions
    assert evaluate_run(EVALSET, run, k=5)["session_recall@5"] == 1.0
    again = asyncio.run(arun_agent(EVALSET, ask, search=retriever, k=5, progress=False))
    assert searches(again) == TWICE


def test_the_agent_is_shown_what_is_recorded_as_the_retriever_returned_it() -> None:
    shown = []

    def ask(question: str, search: Any) -> None:
        shown.append(search(question))

    row = run_agent(many(1), ask, search=lambda q: ({"id": f"c{i}"} for i in range(9)), k=2, progress=False).rows["0"]
    assert shown == [[{"id": "c0"}, {"id": "c1"}]]
    assert [d.id for d in row.retrieved] == ["c0", "c1"]


@pytest.mark.parametrize(
    ("returned", "cited", "answer"),
    [
        (None, None, None),
        ("Three days.", None, "Three days."),
        ({"answer": "Three days.", "cited": ["c1", {"id": "c2", "text": "t"}]}, ["c1", "c2"], "Three days."),
        ({"cited": []}, [], None),
        ({"messages": [7]}, None, None),
        (7, None, None),
    ],
)
def test_what_the_agent_returns(returned: Any, cited: Any, answer: Any) -> None:
    row = run_agent(many(1), lambda q, search: returned, search=search, k=5, progress=False).rows["0"]
    assert (None if row.cited is None else [d.id for d in row.cited], row.further.get("answer")) == (cited, answer)
    assert row.error is None


def test_a_bad_citation_is_the_error_of_its_question() -> None:
    run = run_agent(many(1), lambda q, search: {"cited": "c1"}, search=search, k=5, progress=False)
    assert "`cited` must be" in run.errors["0"]


def test_a_search_that_raises_is_recorded_and_the_session_goes_on() -> None:
    def ask(question: str, search: Any) -> None:
        with pytest.raises(ConnectionError):
            search("question 7")
        search("question 7")

    run = run_agent(many(1), ask, search=Unlucky(1, ConnectionError("password=hunter2")), k=5, progress=False)
    assert [(s.error, len(s.retrieved)) for s in run.rows["0"].searches] == [
        ("ConnectionError: password=[key]", 0),
        (None, 2),
    ]


def test_a_retry_begins_a_new_session() -> None:
    calls: list[str] = []

    def ask(question: str, search: Any) -> None:
        calls.append(question)
        search(f"question {len(calls)}")
        if len(calls) == 1:
            raise ConnectionError("once")

    run = run_agent(many(1), ask, search=search, k=5, backoff=0, progress=False)
    assert [s.query for s in run.rows["0"].searches] == ["question 2"]
    run = run_agent(many(1), broken, search=search, k=5, retries=0, progress=False)
    assert run.errors == {"0": "ConnectionError: no model"}
    with pytest.raises(RunStoppedError, match="max_error_rate"):
        run_agent(many(30), broken, search=search, k=5, retries=0, max_error_rate=0.5, progress=False)


def broken(question: str, search: Any) -> None:
    search(question)
    raise ConnectionError("no model")


def test_an_attempt_that_takes_too_long_is_an_error_and_its_searches_are_lost() -> None:
    slow = threading.Event()

    def ask(question: str, search: Any) -> None:
        search(question)
        slow.wait(10)

    run = run_agent(many(1), ask, search=search, k=5, timeout=0.05, retries=0, progress=False)
    slow.set()
    assert run.errors == {"0": "TimeoutError: no answer within 0.05 s"}
    assert run.rows["0"].searches == ()


def test_searches_in_threads_are_in_the_order_in_which_they_started_and_unfinished_ones_are_named() -> None:
    release, started = threading.Event(), threading.Event()

    def slow(query: str) -> list[Any]:
        if query == "slow":
            started.set()
            release.wait(10)
        return search("question 1")

    def ask(question: str, search: Any) -> None:
        threading.Thread(target=search, args=("slow",), daemon=True).start()
        started.wait(10)
        search("fast")

    row = run_agent(many(1), ask, search=slow, k=5, progress=False).rows["0"]
    release.set()
    time.sleep(0.01)
    assert [(s.query, s.error) for s in row.searches] == [
        ("slow", "the search had not ended when its session ended"),
        ("fast", None),
    ]


def test_a_journal_keeps_sessions_and_is_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "agent.jsonl"
    first = run_agent(EVALSET, agent, search=search, k=5, journal=journal, progress=False)
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]), encoding="utf-8")
    asked: list[str] = []

    def search_again(query: str) -> list[dict[str, Any]]:
        asked.append(query)
        return search(query)

    again = run_agent(EVALSET, agent, search=search_again, k=5, journal=journal, progress=False)
    assert len(asked) == 2
    assert searches(again) == searches(first) == searches(read_run(journal)) == TWICE


@pytest.mark.full
def test_a_thousand_sessions_at_once_each_have_their_searches() -> None:
    run = run_agent(many(1_000), async_agent, search=search_later, k=5, concurrency=64, progress=False)
    assert all(
        [s.query for s in row.searches] == [f"question {n}", f"question {n}{n[-1]}"] for n, row in run.rows.items()
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"search": None}, "Give either `search`"),
        ({"handler": object}, "Give either `search`"),
        ({"agent": RunRow}, "must be a function"),
        ({"agent": 7}, "must be a function"),
        ({"k": None}, "`k`"),
        ({"search": 7}, "cannot be called"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_asked(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"agent": agent, "evalset": EVALSET, "search": search, "k": 5, **changed}
    with pytest.raises(InvalidInputError, match=message):
        run_agent(given.pop("evalset"), given.pop("agent"), **given)
