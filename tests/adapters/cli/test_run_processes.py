"""`krag-eval run` as a process: its progress bar, Ctrl-C, and a disk that is full."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from krag_eval import read_run
from tests.support.cli_run_cases import prepare

pytestmark = pytest.mark.full

SCRIPT = Path(sys.executable).with_name("krag-eval")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [str(SCRIPT), "run", "set.jsonl", "--k", "3", "--out", "x.jsonl", *arguments]


def test_nothing_of_the_bar_is_in_a_pipe(folder: Path) -> None:
    environment = os.environ | {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}
    done = subprocess.run(
        command("--retriever", "searching:slow"), capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == ""
    assert len(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()) == 3


def test_a_terminal_shows_rate_errors_and_time_left(folder: Path) -> None:
    read_end, write_end = pty.openpty()
    process = subprocess.Popen(
        command("--retriever", "searching:slow", "--concurrency", "1"),
        stdout=subprocess.DEVNULL,
        stderr=write_end,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(write_end)
    shown = b""
    while True:
        try:
            shown += (part := os.read(read_end, 4096))
        except OSError:  # the other end is closed
            break
        if not part:
            break
    os.close(read_end)
    assert process.wait() == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    assert re.search(r"slow .* \d+/30 +\d+\.\d/s +0 errors +0:00:0\d", text)


def test_ctrl_c_ends_with_130_and_a_journal_to_go_on_with(folder: Path) -> None:
    process = subprocess.Popen(
        command("--retriever", "searching:slow", "--name", "search", "--concurrency", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = Path("x.jsonl")
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 4):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    done = len(read_run(journal))
    assert (process.returncode, out) == (130, "")
    assert (
        err == f"Stopped. {done} of 30 questions were asked; their rows are in x.jsonl. Run the same again to resume.\n"
    )
    assert 3 <= done < 30
    again = command("--retriever", "searching:search", "--resume")
    resumed = subprocess.run(again, capture_output=True, text=True, check=True)
    assert resumed.stdout.startswith(f"search: 30 rows ({done} of them from an earlier session), 0 errors")


def test_a_disk_that_is_full_ends_with_2_and_one_line(folder: Path) -> None:
    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))

    done = subprocess.run(
        command("--retriever", "searching:search"), capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("InvalidInputError: x.jsonl: cannot be written (File too large).")
    assert 0 < len(read_run("x.jsonl")) < 30


def test_the_retriever_is_not_asked_for_what_the_options_already_rule_out(folder: Path) -> None:
    done = subprocess.run(
        [*command("--retriever", "searching:search"), "--k", "no"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, Path("x.jsonl").exists()) == (2, False)
