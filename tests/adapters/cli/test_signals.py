"""Ctrl+C, SIGTERM and a closed pipe end any command at any moment, in one line at most, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.support.cli_run_cases import prepare
from tests.support.log_cases import write_logs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="need signals, which this system lacks")

COMMANDS = {
    "version": "--version",
    "help": "--help",
    "evaluate": "evaluate set.jsonl found.jsonl --k 3",
    "run": "run set.jsonl --retriever searching:slow --name search --k 3 --concurrency 2 --out x.jsonl",
    "score-logs": "score-logs logs --match id --workers 2 --out scores.parquet",
    "report": "report set.jsonl found.jsonl --out report.json",
    "demo": "demo",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    prepare(folder)
    rows = (json.loads(line) for line in (folder / "set.jsonl").read_text(encoding="utf-8").splitlines())
    found = [json.dumps({"query_id": row["id"], "retrieved": row["gold"]}) for row in rows]
    (folder / "found.jsonl").write_text("\n".join(found), encoding="utf-8")
    write_logs(folder / "logs")
    return folder


# Says when Python has started: until then, Python alone decides what a signal does.
STARTED = "import os; os.write(2, b'\\n'); from krag_eval_cli.__main__ import main; main()"


def begin(folder: Path, name: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-c", STARTED, *COMMANDS[name].split()]
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[3]}{os.pathsep}{folder}"}
    process = subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stderr is not None
    process.stderr.readline()
    return process


def has_handler(pid: int, number: int) -> bool:
    """Whether the process has a handler of its own for a signal, beside Python's for Ctrl+C."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def end(process: subprocess.Popen[bytes], number: int, delay: float, times: int = 1) -> tuple[int, bytes]:
    """Send a signal to the whole group, as a terminal does, so long after it is handled."""
    while process.poll() is None and not has_handler(process.pid, signal.SIGTERM):
        time.sleep(0.001)
    time.sleep(delay)
    for _ in range(times):
        if process.poll() is None:
            os.killpg(process.pid, number)
            time.sleep(0.01)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def left_running(group: int) -> bool:
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.full
@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_of_these_tests_work(folder: Path, name: str) -> None:
    process = begin(folder, name)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert_whole(folder)


SOME = ("evaluate", "run", "score-logs")


def interrupt(folder: Path, name: str, delay: float) -> int:
    """Begin a command, press Ctrl+C so long after it can, and see how it ends; return its exit code."""
    process = begin(folder, name)
    code, err = end(process, signal.SIGINT, delay)
    # 0 if it was done before, which the slow searches of `run` are not at once.
    assert code == 130 or (code == 0 and (delay or name != "run")), err
    if code == 130:
        assert len(err.splitlines()) <= 1, err
        assert b"Traceback" not in err
    assert not left_running(process.pid)
    assert_whole(folder)
    return code


@pytest.mark.parametrize(("name", "delay"), [("evaluate", 0), ("score-logs", 0.4)])
def test_ctrl_c_ends_a_command_in_one_line_with_130(folder: Path, name: str, delay: float) -> None:
    interrupt(folder, name, delay)


@pytest.mark.full
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_a_command_at_every_moment_until_it_is_done(folder: Path, name: str) -> None:
    for tenths in range(13):
        if interrupt(folder, name, tenths / 10) == 0:
            break  # it is done then, and so it is later


@pytest.mark.sample(3)
@pytest.mark.parametrize("delay", [0, 0.5, pytest.param(1.0, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["evaluate", "score-logs"])
def test_ctrl_c_twice_ends_it_as_well(folder: Path, name: str, delay: float) -> None:
    process = begin(folder, name)
    code, err = end(process, signal.SIGINT, delay, times=2)
    assert code in (0, 130)
    assert (b"Traceback" not in err, left_running(process.pid)) == (True, False)
    assert_whole(folder)


@pytest.mark.sample(3)
@pytest.mark.parametrize("delay", [0, 0.5, pytest.param(1.0, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", SOME)
def test_sigterm_ends_a_command_with_143_and_leaves_nothing(folder: Path, name: str, delay: float) -> None:
    process = begin(folder, name)
    code, err = end(process, signal.SIGTERM, delay)
    assert code in (0, 143), err
    assert (b"Traceback" not in err, left_running(process.pid)) == (True, False)
    assert_whole(folder)


def assert_whole(folder: Path) -> None:
    """No file is half written; those of an interrupted run and scoring are resumed."""
    for path in (folder / "report.json", folder / "x.jsonl"):
        if path.exists():
            lines = path.read_text(encoding="utf-8")
            for text in [lines] if path.suffix == ".json" else lines.splitlines():
                json.loads(text)
            path.unlink()
    (folder / "scores.parquet").unlink(missing_ok=True)
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.full
@pytest.mark.parametrize("name", ["version", "help", "evaluate"])
def test_a_closed_pipe_ends_a_command_quietly_with_141(folder: Path, name: str) -> None:
    process = begin(folder, name)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert (process.communicate(timeout=60)[1], process.returncode) == (b"", 141)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["version", "evaluate"])
def test_without_any_output_a_command_does_its_work(folder: Path, name: str) -> None:
    line = [sys.executable, "-m", "krag_eval", *COMMANDS[name].split()]
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *line]
    done = subprocess.run(closed, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_the_command_handles_signals_before_it_imports_anything_else() -> None:
    path = Path(__file__).parents[3] / "pyproject.toml"
    if not path.exists():
        pytest.skip("needs pyproject.toml, which a wheel lacks")
    scripts = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {"krag-eval": "krag_eval_cli.__main__:main"}


@pytest.mark.full
@pytest.mark.parametrize("error", ["RuntimeError('cannot load')", "ImportError('cannot load')"])
def test_an_error_that_an_interrupted_import_raises_is_an_interruption(error: str) -> None:
    code = (
        "import sys; sys.argv = ['krag-eval', 'validate', 'x']\n"
        "from krag_eval_cli import running\n"
        "def fail(app):\n"
        "    try:\n"
        "        raise KeyboardInterrupt\n"
        "    finally:\n"
        f"        raise {error}\n"
        "running._call = fail\n"
        "running.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")
