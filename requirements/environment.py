"""Make an environment or install into one, for the Makefile: what fails is one line with its cure.

    python requirements/environment.py make FOLDER
    python requirements/environment.py install FOLDER ARGUMENTS OF pip install...

All that pip printed is kept in a file in the temporary folder, which the line names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Modules are compiled when they are first imported: most never are.
INSTALL = ["install", "-qq", "--no-input", "--disable-pip-version-check", "--no-compile"]
# The first that is found in what was printed is the cause.
CAUSES = {
    r"No space left on device|Disk quota exceeded|Errno 28\b|Errno 122\b": (
        "the disk is full. The environment needs up to 2 GB here, and 1 GB in the temporary folder (TMPDIR): free some "
        "space"
    ),
    r"Permission denied|Read-only file system|Errno 13\b|Errno 30\b": (
        "a folder may not be written. Check who owns this checkout and the temporary folder (TMPDIR)"
    ),
    r"DO NOT MATCH THE HASHES": (
        "a package is not the one that was locked. Empty pip's cache (python -m pip cache purge), or ask whoever runs "
        "your package index"
    ),
    r"NewConnectionError|NameResolutionError|Temporary failure in name|Name or service not known|Connection refused|"
    r"Connection reset|Network is unreachable|ConnectTimeout|ReadTimeout|Read timed out|ProxyError|"
    r"Max retries exceeded|SSLError|CERTIFICATE_VERIFY_FAILED": (
        "pip cannot reach the package index. Check the network, a proxy (HTTPS_PROXY) and pip's settings "
        "(python -m pip config list)"
    ),
    r"No matching distribution found for (\S+)": (
        "the package index has no {}. Check pip's settings (python -m pip config list): a mirror may be incomplete, or "
        "have no build for this Python or machine"
    ),
    r"No module named (pip|ensurepip|venv)\b": (
        "this Python comes without {}. Install it (on Debian and Ubuntu: apt install python3-venv python3-pip), or "
        "name another Python with: make PYTHON=/path/to/python3.12"
    ),
}


class SetUpError(Exception):
    """Something that was printed says why the environment cannot be made."""


def main() -> None:
    """Do what the arguments say, or print why it cannot be done and exit with 1."""
    action, folder, *arguments = sys.argv[1:]
    try:
        if action == "make":
            make(Path(folder))
        else:
            install(Path(folder), arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except (SetUpError, OSError) as error:
        sys.exit(f"Cannot set up {folder}: {explain(str(error))}")


def make(folder: Path) -> None:
    """Make an empty environment with the locked pip: an old one takes three times as long."""
    # Not by `ensurepip`, which Debian's python3 lacks; a Python without pip, or with one older than 22.3, needs it.
    try:
        run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)])
        run([sys.executable, "-m", "pip", "--python", str(python_of(folder)), *INSTALL, *PIP])
    except SetUpError as error:
        if not re.search(r"No module named pip|no such option: --python", str(error)):
            raise
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        install(folder, PIP)


def install(folder: Path, arguments: list[str]) -> None:
    """Install into an environment with its own pip."""
    run([str(python_of(folder)), "-m", "pip", *INSTALL, *arguments])


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


PIP = ["--require-hashes", "-r", str(ROOT / "requirements" / "pip.txt")]


def run(command: list[str]) -> None:
    """Run a command quietly.

    Raises:
        SetUpError: It failed; what it printed.
    """
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise SetUpError((done.stdout + done.stderr).decode("utf-8", "replace"))


def explain(printed: str) -> str:
    """Return the cause and its cure in one line, and where the rest is kept."""
    kept = keep(printed)
    for pattern, cause in CAUSES.items():
        if found := re.search(pattern, printed):
            return f"{cause.format(*found.groups())}. Then run the same command again.{kept}"
    said = [line.removeprefix("ERROR: ") for line in printed.splitlines() if line.strip()] or ["nothing was printed"]
    return f"{said[-1].strip()}{kept}"


def keep(printed: str) -> str:
    """Write down all that was printed, if there is room for it, and say where."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="krag-eval-", suffix=".log", delete=False, encoding="utf-8"
        ) as log:
            log.write(printed)
    except OSError:
        return ""
    return f" All that pip printed: {log.name}"


if __name__ == "__main__":
    main()
