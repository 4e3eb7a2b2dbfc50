"""Which query ids come more than once, found in memory that does not grow with their number."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

Fingerprints = np.ndarray[Any, np.dtype[np.uint64]]

# 16 MiB of fingerprints are held; what is more goes to disk, into one of 256 files each.
_HELD = 1 << 21
_FILES = 256
_FILE_BITS = 56


class RepeatFinder:
    """Takes the fingerprints of all ids, and says which came more than once.

    Two ids may have one fingerprint, by an accident of 1 in 3,700 for 10^8 ids: who asks looks at the ids themselves.
    Many fingerprints are kept in temporary files, 8 bytes for each, which are removed on leaving the `with` block.

    Args:
        n_held: How many fingerprints are held in memory, at most.
    """

    def __init__(self, n_held: int = _HELD) -> None:
        self._n_held = n_held
        self._held: list[Fingerprints] = []
        self._n = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> RepeatFinder:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove what is on disk."""
        if self._folder:
            self._folder.cleanup()

    def add(self, fingerprints: Fingerprints) -> None:
        """Take some."""
        self._held.append(fingerprints)
        self._n += len(fingerprints)
        if self._n > self._n_held:
            self._write()

    def repeated(self, at_most: int) -> Fingerprints:
        """The fingerprints that came more than once, each once, ascending; `at_most` so many."""
        found: list[Fingerprints] = []
        for part in self._parts():
            part.sort()
            found.append(np.unique(part[1:][part[1:] == part[:-1]])[:at_most])
            at_most -= len(found[-1])
            if not at_most:
                break
        return np.concatenate([np.empty(0, np.uint64), *found])

    def _parts(self) -> Iterator[Fingerprints]:
        """All of them in parts, equal ones in the same part."""
        if self._folder is None:
            yield self._all_held()
            return
        self._write()
        for path in sorted(Path(self._folder.name).iterdir()):
            yield np.fromfile(path, np.uint64)

    def _all_held(self) -> Fingerprints:
        return np.concatenate([np.empty(0, np.uint64), *self._held])

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="krag-eval-ids-")
        held = np.sort(self._all_held())
        self._held, self._n = [], 0
        starts = np.arange(1, _FILES, dtype=np.uint64) << np.uint64(_FILE_BITS)
        for number, part in enumerate(np.split(held, np.searchsorted(held, starts))):
            if len(part):
                with (Path(self._folder.name) / f"{number:03}").open("ab") as file:
                    part.tofile(file)
