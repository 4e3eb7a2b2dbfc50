"""Judging many questions: the cache, threads, progress, and runs that stop."""

from __future__ import annotations

import shelve
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, RunProgress
from krag_eval_llm import ModelSetupError
from krag_eval_llm.context_judge.judge import judge_contexts
from tests.support.context_judge_cases import ASKED, GOLD, USEFUL, honest, patient


def test_equal_prompts_are_asked_once_and_a_cache_is_kept(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(prompt: str) -> str:
        asked.append(prompt)
        return honest(prompt)

    references, questions = dict.fromkeys("abcdef", "three days, free"), dict.fromkeys("abcdef", "How long?")
    retrieved = {key: ["three days", "free"] for key in "abcdef"}
    with shelve.open(str(tmp_path / "verdicts")) as cache:
        first = judge_contexts(references, retrieved, judge, questions=questions, cache=cache)
    assert len(asked) == 4  # two chunks, the statements, the attribution
    with shelve.open(str(tmp_path / "verdicts")) as cache:
        again = judge_contexts(references, retrieved, judge, questions=questions, cache=cache)
    assert len(asked) == 4
    assert [row.to_dict() for row in first.rows] == [row.to_dict() for row in again.rows]
    other = judge_contexts(references, {key: ["free"] for key in "abcdef"}, judge, questions=questions, k=1)
    assert (other["context_recall"], len(asked)) == (1 / 2, 7)


def test_a_cache_that_holds_something_else_is_named() -> None:
    cache: dict[str, Any] = {}
    judge_contexts(GOLD, {"q": ["a"]}, honest, questions=ASKED, metrics="context_precision", cache=cache)
    cache = dict.fromkeys(cache, "yes")
    with pytest.raises(InvalidInputError, match="`cache` has no valid verdict"):
        judge_contexts(GOLD, {"q": ["a"]}, honest, questions=ASKED, cache=cache)


def test_what_was_judged_before_an_interruption_is_in_the_cache() -> None:
    def judge(prompt: str) -> str:
        if "third" in prompt:
            raise KeyboardInterrupt
        return USEFUL

    cache: dict[str, Any] = {}
    with pytest.raises(KeyboardInterrupt):
        judge_contexts(
            GOLD,
            {"q": ["first", "second", "third"]},
            judge,
            questions=ASKED,
            metrics="context_precision",
            cache=cache,
            concurrency=1,
        )
    assert len(cache) == 2


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_verdict_is_in_the_cache_before_its_thread_asks_for_another(concurrency: int) -> None:
    """A judge that is killed in the middle of a question has lost what it was asked last, and no more."""
    asked, n_lacking = list[str](), list[int]()

    class SlowCache(dict[str, Any]):
        def update(self, *given: Any, **named: Any) -> None:
            time.sleep(0.02)
            super().update(*given, **named)

    def judge(prompt: str) -> str:
        n_lacking.append(len(asked) - len(cache))
        asked.append(prompt)
        return honest(prompt)

    cache = SlowCache()
    references, questions = dict.fromkeys("abcd", "three days, free"), {key: f"How long, {key}?" for key in "abcd"}
    judge_contexts(
        references,
        {key: ["first", "second", "three"] for key in "abcd"},
        judge,
        questions=questions,
        cache=cache,
        concurrency=concurrency,
    )
    assert (len(asked), len(cache)) == (20, 20)
    assert max(n_lacking) < concurrency


def test_a_judge_that_hangs_is_not_waited_for_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_llm.context_judge.judge._LAST_CALLS", 0.1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored
    go_on, ended = threading.Event(), []

    def judge(prompt: str) -> str:
        if "hangs" in prompt:
            time.sleep(0.2)  # a signal between the main thread's last instruction and its wait would not end the wait
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            ended.append(go_on.wait(30))
        return USEFUL

    cache: dict[str, Any] = {}
    with pytest.raises(KeyboardInterrupt):
        judge_contexts(
            GOLD, {"q": ["first", "hangs"]}, judge, questions=ASKED, metrics="context_precision", cache=cache
        )
    signal.signal(signal.SIGINT, before)
    assert ended == []
    assert len(cache) == 1
    go_on.set()


def test_after_a_mistake_of_the_set_up_nothing_more_is_asked() -> None:
    asked: list[str] = []
    others_wait, failed = threading.Barrier(2), threading.Event()

    def judge(prompt: str) -> str:
        asked.append(prompt)
        others_wait.wait(timeout=30)
        if "bad" in prompt:
            failed.set()
            raise PermissionError("no such key")
        failed.wait(timeout=30)
        time.sleep(0.2)  # until the error has been seen
        return USEFUL

    references, questions = dict.fromkeys("ab", "three days"), dict.fromkeys("ab", "How long?")
    retrieved = {"a": ["bad"], "b": ["good 1", *(f"good {rank}" for rank in range(2, 50))]}
    with pytest.raises(ModelSetupError):
        judge_contexts(references, retrieved, judge, questions=questions, metrics="context_precision", concurrency=2)
    assert len(asked) == 2


def test_a_model_out_of_reach_is_given_up() -> None:
    asked: list[str] = []

    def gone(prompt: str) -> str:
        asked.append(prompt)
        raise ConnectionError("no route")

    keys = [str(number) for number in range(30)]
    judged = judge_contexts(
        dict.fromkeys(keys, "three days"),
        {key: [f"{key} takes three days", "free"] for key in keys},
        patient(gone),
        questions={key: f"How long is {key}?" for key in keys},
        concurrency=1,
    )
    assert len(asked) == 2 * 5  # each prompt was tried again once
    assert judged.n_failed == 30
    assert "no route" in judged.rows[0].failures[0]
    assert "left 5 prompts in a row unanswered" in judged.rows[-1].failures[0]


def test_progress_is_told_after_every_question() -> None:
    told: list[RunProgress] = []
    references, questions = dict.fromkeys("abc", "three days"), dict.fromkeys("abc", "How long?")
    retrieved = {key: [f"{key}: three days"] for key in "abc"}
    judge = patient(lambda prompt: "none" if "b: three" in prompt else honest(prompt))
    judge_contexts(references, retrieved, judge, questions=questions, progress=told.append)
    assert [(one.done, one.total, one.is_over) for one in told] == [(1, 3, False), (2, 3, False), (3, 3, True)]
    assert told[-1].errors == 1


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_number_of_threads_changes_nothing(concurrency: int) -> None:
    ids = [str(number) for number in range(30)]
    retrieved = {key: [f"{key} takes {'three' if int(key) % 3 else 'two'} days", "free"] for key in ids}
    result = judge_contexts(
        dict.fromkeys(ids, "three days, free"),
        retrieved,
        honest,
        questions={key: f"How long is {key}?" for key in ids},
        concurrency=concurrency,
        intervals=True,
    )
    assert [row.id for row in result.rows] == ids
    assert result.to_dict() == {"context_precision": 2 / 3, "context_recall": 5 / 6}
    assert result.intervals is not None
    for key, mean in result.to_dict().items():
        interval = result.intervals[key]
        assert interval is not None
        assert mean is not None
        assert interval[0] < mean < interval[1]
    assert "to" in repr(result)
