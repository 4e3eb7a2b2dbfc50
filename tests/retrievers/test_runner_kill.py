"""A run is killed at any moment, resumed each time, and ends as the undisturbed run does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from krag_eval import evaluate_run, read_run
from krag_eval.datasets import EvalSet
from krag_eval.datasets.formats.native import read_journal_rows
from krag_eval.datasets.question import RUN_HEADER

pytestmark = pytest.mark.full

N_QUESTIONS, N_KILLS, CONCURRENCY = 1500, 20, 4
GOLD = {"id": "both", "text": "Refunds arrive within three working days.", "grade": 2}
ROWS: list[dict[str, Any]] = [
    {"id": f"q{n}", "question": f"question {n}", "gold": [GOLD, {"id": f"c{n % 7}"}], "type": "fact"}
    for n in range(N_QUESTIONS)
]
CHILD = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from krag_eval.retrievers.runner import run_retriever
    journal, asked, n_questions, concurrency = sys.argv[1:]
    rows = [{"id": f"q{n}", "question": f"question {n}", "gold": []} for n in range(int(n_questions))]
    log = open(asked, "ab", buffering=0)

    def search(question):
        log.write(question.encode() + b"\\n")
        number = int(question.split()[1])
        time.sleep(0.001)
        if number % 50 == 0:
            raise ConnectionError("refused")
        texts = ["Parcels take two days.", "Refunds arrive within three working days.", "환불은 사흘 걸립니다."]
        return [{"id": f"c{(number + place) % 7}", "text": texts[(number + place) % 3]} for place in range(5)]

    run_retriever(rows, search, k=4, name="bm25", retries=0, journal=journal, concurrency=int(concurrency),
                  retry_errors=False)
    """
)


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    program = tmp_path / "child.py"
    program.write_text(CHILD, encoding="utf-8")
    return [sys.executable, str(program)]


def arguments(journal: Path, asked: Path) -> list[str]:
    return [str(journal), str(asked), str(N_QUESTIONS), str(CONCURRENCY)]


@pytest.mark.full
def test_a_run_killed_at_twenty_moments_loses_no_row_and_has_none_twice(tmp_path: Path, child: list[str]) -> None:
    chance = random.Random(20261121)
    journal, asked = tmp_path / "killed.jsonl", tmp_path / "asked"
    # Of each session's share of the rows it gets to write a random part; now and then it dies before the first.
    share = N_QUESTIONS // (N_KILLS + 1)
    sizes = []
    for _ in range(N_KILLS):
        before = journal.stat().st_size if journal.exists() else 0
        wanted = before + chance.choice([0, 1, chance.randrange(share) * 400])
        process = subprocess.Popen([*child, *arguments(journal, asked)])
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.stat().st_size > wanted:
                break
            time.sleep(0.0005)
        time.sleep(chance.random() * 0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        sizes.append(journal.stat().st_size)
        whole = [row["query_id"] for _, row in read_journal_rows(journal) if RUN_HEADER not in row]
        assert len(whole) == len(set(whole)) < N_QUESTIONS
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > N_KILLS / 2
    subprocess.run([*child, *arguments(journal, asked)], check=True)
    undisturbed = tmp_path / "undisturbed.jsonl"
    subprocess.run([*child, *arguments(undisturbed, tmp_path / "asked once")], check=True)

    rows = [row["query_id"] for _, row in read_journal_rows(journal) if RUN_HEADER not in row]
    assert sorted(rows) == sorted(row["id"] for row in ROWS)
    evalset = EvalSet(ROWS)
    killed, whole_run = read_run(journal, evalset=evalset), read_run(undisturbed, evalset=evalset)
    assert killed.errors == whole_run.errors
    assert len(killed.errors) == N_QUESTIONS // 50
    for method in ("id", ["id", "rougeL"]):
        results = [evaluate_run(evalset, run, k=(1, 4), match_method=method) for run in (killed, whole_run)]
        assert results[0].to_json() == results[1].to_json()
        assert results[0]["recall@4"] not in (None, 0, 1)
    # A question is asked again only if it was under way when the run was killed.
    calls = asked.read_bytes().split(b"\n")[:-1]
    assert set(calls) == {row["question"].encode() for row in ROWS}
    assert len(calls) - N_QUESTIONS <= N_KILLS * CONCURRENCY


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, child: list[str]) -> None:
    journal, asked = tmp_path / "run.jsonl", tmp_path / "asked"
    process = subprocess.Popen([*child, *arguments(journal, asked)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 5000):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    done = sum(RUN_HEADER not in row for _, row in read_journal_rows(journal))
    last = err.strip().splitlines()[-1]
    assert last == (
        f"KeyboardInterrupt: Stopped. {done:,} of {N_QUESTIONS:,} questions were asked; their rows are in "
        f"{journal}. Run the same again to resume."
    )
    assert 0 < done < N_QUESTIONS
