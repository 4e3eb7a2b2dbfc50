"""Standard input and output, which the command line calls `-`."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from krag_eval.toolkit import escape_controls, standard_streams

_CI = ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "TEAMCITY_VERSION")  # where a pipe may be the log, read for commands


@contextlib.contextmanager
def streams_as_files(output: Any) -> Iterator[None]:
    """Let the path `-` stand for standard input where a file is read, and for this output where one is written."""
    with tempfile.TemporaryDirectory() as folder, standard_streams(StandardStreams(output, Path(folder))):
        yield


class StandardStreams:
    """Standard input and output, which the command line calls `-`.

    Args:
        output: What is written to.
        folder: An empty folder for the copy of standard input.
    """

    def __init__(self, output: Any, folder: Path) -> None:
        self._output = output
        self._copy = folder / "stdin"

    def input(self) -> Path:
        """Return a copy of standard input, which can be examined and then read from its beginning."""
        if not self._copy.exists():
            with self._copy.open("xb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        return self._copy

    def write(self, parts: Iterable[bytes]) -> None:
        """Write to standard output what a file would hold; in text, nothing steers a terminal or the job of a log."""
        self._output.flush()
        is_logged = any(map(os.environ.get, _CI)) and not stat.S_ISREG(os.fstat(self._output.fileno()).st_mode)
        if is_logged or self._output.isatty():
            whole = b"".join(parts)
            is_data = is_logged and whole.startswith(b"PAR1")  # Parquet
            parts = [whole if is_data else escape_controls(whole.decode("utf-8", "backslashreplace")).encode()]
        for part in parts:
            self._output.buffer.write(part)
        self._output.flush()
