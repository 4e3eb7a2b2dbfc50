"""Which query ids come more than once, found in memory that does not grow with their number.

Hashes of query ids, which are the same in every process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from krag_eval.matching.tokens import Spans, Words, mix
from krag_eval.scale.batch import as_strings

# 16 MiB of fingerprints are held; what is more goes to disk, into one of 256 files each.
_HELD = 1 << 21
_FILES = 256
_FILE_BITS = 56


class RepeatFinder:
    """Takes the fingerprints of all query ids, and says which came more than once.

    For engines, whose batches are scored apart: a scorer looks for repeats within one batch. Two ids may have one
    fingerprint, by an accident of 1 in 3,700 for 10^8 ids: before anybody is told of a repeat, look at the ids.
    Many fingerprints are kept in temporary files, 8 bytes for each, which are removed on leaving the `with` block.

    Args:
        folder: Where these files are; where temporary files are by default.
        n_held: How many fingerprints are held in memory, at most.

    >>> import pyarrow as pa
    >>> with RepeatFinder() as finder:
    ...     for ids in (pa.array(["q1", "q2"]), pa.array(["q2", "q3"])):
    ...         finder.add(RepeatFinder.fingerprints(ids))
    ...     finder.repeated(at_most=10).tolist() == RepeatFinder.fingerprints(pa.array(["q2"])).tolist()
    True
    """

    def __init__(self, folder: str | Path | None = None, *, n_held: int = _HELD) -> None:
        self._where, self._n_held = folder, n_held
        self._held: list[Words] = []
        self._n = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @staticmethod
    def fingerprints(ids: Any) -> Words:
        """64 bits for each id of an Arrow array, the same for the same id in every process.

        Args:
            ids: Strings in any encoding, or integers; none of them null.
        """
        return hash_ids(as_strings(ids))

    def __enter__(self) -> RepeatFinder:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove what is on disk."""
        if self._folder:
            self._folder.cleanup()

    def add(self, fingerprints: Words) -> None:
        """Take some."""
        self._held.append(fingerprints)
        self._n += len(fingerprints)
        if self._n > self._n_held:
            self._write()

    def repeated(self, at_most: int) -> Words:
        """The fingerprints that came more than once, each once, ascending; `at_most` so many."""
        found: list[Words] = []
        for part in self._parts():
            part.sort()
            found.append(np.unique(part[1:][part[1:] == part[:-1]])[:at_most])
            at_most -= len(found[-1])
            if not at_most:
                break
        return np.concatenate([np.empty(0, np.uint64), *found])

    def _parts(self) -> Iterator[Words]:
        """All of them in parts, equal ones in the same part."""
        if self._folder is None:
            yield self._all_held()
            return
        self._write()
        for path in sorted(Path(self._folder.name).iterdir()):
            yield np.fromfile(path, np.uint64)

    def _all_held(self) -> Words:
        return np.concatenate([np.empty(0, np.uint64), *self._held])

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="krag-eval-ids-", dir=self._where)
        held = np.sort(self._all_held())
        self._held, self._n = [], 0
        starts = np.arange(1, _FILES, dtype=np.uint64) << np.uint64(_FILE_BITS)
        for number, part in enumerate(np.split(held, np.searchsorted(held, starts))):
            if len(part):
                with (Path(self._folder.name) / f"{number:03}").open("ab") as file:
                    part.tofile(file)


def hash_ids(ids: Any) -> Words:
    """A 64-bit hash of each string of an Arrow array, from all its bytes."""
    ids = ids.cast(pa.large_string())
    offsets = np.frombuffer(ids.buffers()[1], dtype=np.int64, count=len(ids) + 1, offset=8 * ids.offset)
    if not len(ids):
        return np.empty(0, dtype=np.uint64)
    data = ids.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_pybytes()
    spans = Spans(data + b"\0" * 8, offsets[:-1] - offsets[0], np.diff(offsets))
    hashes = mix(spans.lengths.astype(np.uint64))
    left, done = np.arange(len(ids)), 0
    while len(left):
        hashes[left] = mix(hashes[left] * np.uint64(0x9E3779B97F4A7C15) ^ spans.words(left, done))
        done += 8
        left = left[spans.lengths[left] > done]
    return hashes
