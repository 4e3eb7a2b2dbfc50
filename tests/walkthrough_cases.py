"""What the tests of the walk-throughs share: an example as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# One thread each for the encoder: on a busy machine several that wait for each other take ten times as long.
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(script: str, *arguments: str | Path, code: int = 0, **environment: str) -> tuple[str, str]:
    """What an example prints on stdout and on stderr."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / script, *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    """A file in JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def exit_code(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> object:
    """What an example's `main` comes to; argparse leaves by the emergency exit."""
    try:
        return main(arguments)
    except SystemExit as left:
        return left.code
