"""A command whose journal somebody removes, replaces, changes or makes read-only while it is written."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.test_journal_disturbed import SAFE
from tests.support.cli_run_cases import prepare

PROGRAM = """
import os, pathlib, resource, sys, time
calls = 0

def disturb(path):
    {fault}

def search(question):
    global calls
    calls += 1
    if calls == 5:
        disturb(pathlib.Path("runs/out.jsonl"))
    if calls >= 5:
        time.sleep({seconds})
    if calls == 6:
        pathlib.Path("sixth").touch()
    return [{{"id": "c" + question.split()[1]}}]
"""

IN_A_PROCESS = {
    "removed": "path.unlink()",
    "its folder removed": "import shutil; shutil.rmtree(path.parent)",
    "renamed": "path.rename('renamed.jsonl')",
    "emptied": "os.truncate(path, 0)",
    "cut in half": "os.truncate(path, path.stat().st_size // 2)",
    "replaced by a file": "pathlib.Path('new').write_text('x'); os.replace('new', path)",
    "replaced by a folder": "path.unlink(); path.mkdir()",
    "made read-only": "path.chmod(0o400); path.chmod(0o444)",
    "disk full": "resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10,) * 2)",
}


def begun(tmp_path: Path, fault: str, seconds: float) -> subprocess.Popen[str]:
    prepare(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "disturbed.py").write_text(PROGRAM.format(fault=IN_A_PROCESS[fault], seconds=seconds))
    line = f"{shlex.quote(sys.executable)} -m krag_eval run --retriever disturbed:search set.jsonl --k 3"
    line += " --out runs/out.jsonl --concurrency 1 --timeout 60"
    return subprocess.Popen(shlex.split(line), cwd=tmp_path, stdout=-1, stderr=-1, text=True, start_new_session=True)


@pytest.mark.full
@pytest.mark.parametrize("fault", IN_A_PROCESS)
def test_a_command_stops_at_once_with_exit_code_2_and_a_line_that_says_what_is_kept(tmp_path: Path, fault: str) -> None:
    process = begun(tmp_path, fault, 0.3)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert err.count("runs/out.jsonl: ") == 1
    saved = re.search(r"saved in (.+?\.jsonl)\.", " ".join(err.split()))
    if fault in SAFE:
        assert (tmp_path / "runs/out.jsonl").read_bytes().count(b"\n") >= 5
    elif saved:
        assert (tmp_path / saved[1]).read_bytes().count(b"\n") >= 5
        (tmp_path / saved[1]).unlink()
    else:  # the command keeps no rows in memory
        assert fault in ("emptied", "cut in half")


@pytest.mark.full
@pytest.mark.parametrize("fault", ["removed", "emptied"])
def test_an_interrupted_command_does_not_say_that_rows_are_kept_that_are_not(tmp_path: Path, fault: str) -> None:
    process = begun(tmp_path, fault, 60)
    path, deadline = tmp_path / "runs/out.jsonl", time.monotonic() + 60
    while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:  # it is empty at first
        time.sleep(0.001)
    while path.exists() and path.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert "while it was written" in err
    assert "their rows are in" not in err
