"""A generation that is killed or interrupted, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from krag_eval import read_evalset, write_evalset
from tests.support.generation_cases import Writer, generate, moody

pytestmark = pytest.mark.full

CHILD = textwrap.dedent(
    """
    import sys, time
    sys.path.insert(0, sys.argv[1])
    from krag_eval import write_evalset
    from tests.support.generation_cases import Writer, generate, moody

    def slow(kind, answer, prompt):
        time.sleep(0.02)
        return moody(kind, answer, prompt)

    made = generate(Writer(slow), n=16, journal=sys.argv[2], concurrency=2)
    write_evalset(made.evalset, sys.argv[3])
    """
)


def test_killed_at_any_moment_it_ends_with_the_same_questions(tmp_path: Path) -> None:
    root, journal, out = str(Path(__file__).parents[3]), tmp_path / "journal.jsonl", tmp_path / "out.jsonl"
    command = [sys.executable, "-c", CHILD, root, str(journal), str(out)]
    n_kills = 0
    for wanted in (2, 12):
        process = subprocess.Popen(command)
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > wanted):
            time.sleep(0.002)
        process.kill()
        n_kills += process.wait() == -signal.SIGKILL
    assert n_kills == 2
    assert not out.exists()
    subprocess.run(command, check=True)
    whole = tmp_path / "whole.jsonl"
    write_evalset(generate(Writer(moody), n=16).evalset, whole)
    assert out.read_bytes() == whole.read_bytes()
    assert len(read_evalset(out)) == 16


def test_an_interrupted_generation_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    def interrupt(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if len(writer.prompts) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return answer

    writer = Writer(interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        generate(writer, journal=path)
    assert str(stopped.value) == f"Stopped. 3 answers of the model are in {path}. Rerun it to resume."
    assert len(generate(Writer(), journal=path)) == 8
