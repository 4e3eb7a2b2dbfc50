"""The journals of a bench and of a generation that somebody changes or removes while they are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_llm.bench import run_bench
from tests.faults.test_journal_disturbed import Disturbing, Fault, cases, check_told
from tests.support import bench_cases
from tests.support.generation_cases import Writer, generate


def by_generation(path: Path, fault: Fault) -> None:
    generate(Disturbing(path, fault, Writer()), n=8, journal=path, concurrency=1)


def bench(path: Path, **parts: Any) -> None:
    defaults: dict[str, Any] = {"answer": bench_cases.answer, "llm": bench_cases.writer([])}
    retrieve = parts.pop("retrieve", bench_cases.retrieve)
    run_bench(
        None, retrieve, evalset=bench_cases.EVALSET, k=[1], concurrency=1, journals=path.parent, **defaults | parts
    )


def by_bench_retrieving(path: Path, fault: Fault) -> None:
    bench(path, retrieve=Disturbing(path, fault, bench_cases.retrieve))


def by_bench_answering(path: Path, fault: Fault) -> None:
    disturbing = Disturbing(path, fault, bench_cases.answer)
    bench(path, answer=lambda question, documents: disturbing(question, documents))


def by_bench_judging(path: Path, fault: Fault) -> None:
    bench(path, llm=Disturbing(path, fault, bench_cases.writer([])))


USERS: dict[Callable[[Path, Fault], None], str] = {
    by_generation: "journals/made.jsonl",
    by_bench_retrieving: "journals/run.jsonl",
    by_bench_answering: "journals/answers.jsonl",
    by_bench_judging: "journals/verdicts.jsonl",
}


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")  # of what a bench thinks of its numbers
@cases
@pytest.mark.parametrize("user", USERS, ids=lambda user: user.__name__)
def test_whoever_writes_it_is_told_and_nothing_is_said_to_be_kept_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: Callable[[Path, Fault], None], fault: str
) -> None:
    check_told(tmp_path, monkeypatch, user, USERS[user], fault)


@pytest.mark.full
def test_a_bench_that_is_interrupted_does_not_say_so_either(tmp_path: Path) -> None:
    path = tmp_path / "journals/answers.jsonl"
    path.parent.mkdir()

    def interrupt(_: Path) -> None:
        path.unlink()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="was removed or renamed while it was written") as told:
        by_bench_answering(path, interrupt)
    assert isinstance(told.value.__cause__, InvalidInputError)
