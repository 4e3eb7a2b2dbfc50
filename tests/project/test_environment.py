"""requirements/environment.py, which the Makefile sets up with: what fails is one line with its cure."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "requirements" / "environment.py"

# As pip 26.3, Python and the system print them.
PRINTED = {
    "OSError: [Errno 28] No space left on device": "the disk is full",
    "ERROR: Could not install packages due to an OSError: [Errno 122] Disk quota exceeded": "the disk is full",
    "Error: [Errno 13] Permission denied: '/checkout/.venv'": "may not be written",
    "OSError: [Errno 30] Read-only file system: '.venv'": "may not be written",
    "NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused')\n"
    "ERROR: No matching distribution found for pip==26.3": "cannot reach the package index",
    "NameResolutionError: Failed to resolve 'packages.example' (Name or service not known)": "cannot reach",
    "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))": "cannot reach the package index",
    "ERROR: No matching distribution found for numpy==2.5.5": "has no numpy==2.5.5.",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.": "not the one that was locked",
    "/usr/bin/python3: No module named ensurepip": "comes without ensurepip",
    "/usr/bin/python3: No module named venv": "comes without venv",
    "ERROR: something else\nERROR: happened here\n": "happened here",
    "": "nothing was printed",
}


@pytest.fixture(scope="module")
def environment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("printed", PRINTED)
def test_each_cause_is_told_in_one_line_that_names_where_the_rest_is(
    printed: str, environment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told = environment.explain(printed)
    assert PRINTED[printed] in told
    assert "\n" not in told
    (log,) = tmp_path.iterdir()
    assert told.endswith(f" All that pip printed: {log}")
    assert log.read_text(encoding="utf-8") == printed


def test_where_nothing_can_be_written_the_cause_is_told_all_the_same(
    environment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    assert environment.explain("No space left on device").endswith("Then run the same command again.")


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}, "pip cannot reach the package index"),
        ({"PIP_NO_INDEX": "1"}, r"the package index has no pip==[\d.]+\."),
    ],
    ids=["an index that nobody answers for", "an index without the package"],
)
def test_a_machine_that_gets_no_packages_is_told_so_without_a_traceback(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    clean |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_RETRIES": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, SCRIPT, "make", tmp_path / "of mine"],
        env=clean | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert re.match(f"Cannot set up {re.escape(str(tmp_path / 'of mine'))}: {told}", done.stderr)


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: the bare machines are made by a shell.")
def test_a_bare_machine_without_its_python_is_named_and_fails(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "mktemp", "chmod", "id", "rm", "cat", "git", "mkdir"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["bash", SCRIPT.parents[1] / ".ci" / "bare", "odd"],
        env={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"Python 3.13 is missing: no python3.13 on the path, and none in {tmp_path}" in done.stdout
    assert "Failed on the machine: odd" in done.stderr


def test_ci_begins_with_both_bare_machines() -> None:
    script = (SCRIPT.parents[1] / ".ci" / "run").read_text(encoding="utf-8")
    begun = script.partition("\nrm -rf .venv ")[2]  # above it are functions
    first = next(line for line in begun.partition('\nstep "')[2].splitlines()[1:] if line)
    assert first == ".ci/bare"
