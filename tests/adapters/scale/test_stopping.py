"""Scorings that are interrupted, killed or started twice: no process stays behind, and the next run goes on."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, RunProgress
from krag_eval_scale import ColumnarScorer, score_logs
from tests.support.log_cases import WHOLE, recall_that_takes_its_time, write_logs

pytestmark = pytest.mark.full

SCRIPT = """
import signal
from krag_eval_scale import score_logs
from krag_eval_scale import tasks
from tests.support.log_cases import recall_that_takes_its_time as metric
tasks.MAX_ROW_GROUPS = 1
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
score_logs("logs", "out.parquet", k=3, metrics=[metric], match_method="id", workers=2)
"""
PARTS = Path("out.parquet.parts")


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A scoring with two processes that has some of its parts, in a group of its own."""
    environment = os.environ | {"KRAG_EVAL_TEST_MARKS": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(Path.cwd())])}
    monkeypatch.setenv("KRAG_EVAL_TEST_MARKS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROW_GROUPS", 1)
    write_logs(Path("logs"), row_group=30)
    line = [sys.executable, "-c", SCRIPT]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        while process.poll() is None and len(list(PARTS.glob("*.parquet"))) < 2:
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_gone() -> None:
    """Every process that scored has ended; otherwise the test hangs until it is stopped."""
    for mark in Path().glob("process-*"):
        stat = Path("/proc", mark.name.removeprefix("process-"), "stat")
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)


def check_that_it_goes_on() -> None:
    assert 2 <= len(list(PARTS.glob("*.parquet"))) < 40
    Path("hurry").touch()
    seen: list[RunProgress] = []
    metric = recall_that_takes_its_time
    result = score_logs("logs", "out.parquet", k=3, metrics=[metric], match_method="id", progress=seen.append)
    scorer = ColumnarScorer(k=3, metrics="recall", match_method="id")
    assert scorer.finalize(scorer.partial_state(WHOLE))["recall@3"] == result["recall_that_takes_its_time@3"]
    assert seen[0].done >= 60  # two row groups were not scored again
    assert not PARTS.exists()


@pytest.mark.parametrize("whom", ["the group, as a terminal does", "one process, as a notebook does"])
def test_an_interruption_ends_at_once_and_quietly(running: subprocess.Popen[str], whom: str) -> None:
    if whom.startswith("the group"):
        os.killpg(running.pid, signal.SIGINT)
    else:
        running.send_signal(signal.SIGINT)
    told = running.communicate(timeout=60)[1]
    assert (running.returncode, told.count("Traceback"), told.splitlines()[-1]) == (-2, 1, "KeyboardInterrupt")
    wait_until_gone()
    check_that_it_goes_on()


def test_processes_end_with_the_one_that_started_them(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.wait()
    wait_until_gone()
    check_that_it_goes_on()


def test_two_scorings_of_one_file_at_once_are_refused(running: subprocess.Popen[str]) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^out\.parquet\.parts/journal\.jsonl: another scoring of logs is writ"
    ):
        score_logs("logs", "out.parquet", k=3, metrics=[recall_that_takes_its_time], match_method="id")


def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    script = tmp_path / "script.py"
    script.write_text(
        'from krag_eval import score_logs\nscore_logs("logs", "out.parquet", match_method="id", workers=2)'
    )
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        "The processes of `workers=2` ended at once, with exit code 1; see what they printed. A script" in done.stderr
    )


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """No file gets larger than that, whoever asks."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_while_parts_are_written_is_told_and_the_next_run_goes_on(tmp_path: Path) -> None:
    logs, out = write_logs(tmp_path / "logs"), tmp_path / "out.parquet"
    with full_disk(10_000), pytest.raises(InvalidInputError) as caught:
        score_logs(logs, out, k=3, match_method="id")
    assert str(caught.value).startswith(f"{out}.parts/000000.parquet: cannot be written (")
    assert "free some space or check the permissions, and run the same again to resume" in str(caught.value)
    assert [path.name for path in (tmp_path / "out.parquet.parts").iterdir()] == ["journal.jsonl"]
    assert score_logs(logs, out, k=3, match_method="id").n_queries == 1200


ROOM = [0, 1000, 3000, 6000, 10_000, 20_000, 45_000, 120_000]
KINDS: dict[str, dict[str, Any]] = {
    "one file": {},
    "bad rows aside": {"max_bad_rows": 500},
}


@pytest.mark.parametrize("kind", KINDS)
def test_wherever_the_disk_is_full_nothing_is_reported_as_done_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_logs(Path("logs"))
    if "max_bad_rows" in KINDS[kind]:
        documents = pa.array([None] * 400, WHOLE.schema.field("actual").type)
        bad = {"query_id": [f"bad {n}" * 9 for n in range(400)], "actual": documents, "predicted": documents}
        pq.write_table(pa.table(bad), "logs/bad.parquet")

    def score(out: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = score_logs("logs", out, k=3, match_method="id", **KINDS[kind])
        rejected = [path.read_bytes() for path in Path().rglob(f"{out}*/**/*.rejected.jsonl")]
        rejected += [path.read_bytes() for path in Path().glob(f"{out}.rejected.jsonl")]
        return result.to_json(), result.n_bad_rows, pq.read_table(out).to_pylist(), rejected

    expected, refused = score("undisturbed"), 0
    for n_bytes in ROOM:
        out = f"out{n_bytes}"
        found, said = None, ""
        with full_disk(n_bytes):
            try:
                found = score(out)
            except InvalidInputError as error:
                said = str(error)
        if found is None:
            refused += 1
            assert "cannot be written (" in said or "cannot be joined to their gold ([Errno 27]" in said
            found = score(out)
        assert found == expected
    assert 3 < refused < len(ROOM)
