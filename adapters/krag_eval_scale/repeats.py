"""Find duplicate query ids by their hashes, in bounded memory."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from krag_eval.toolkit import OfOneProcess, Spans
from krag_eval_scale.batch import as_strings

Words = NDArray[np.uint64]

# 16 MiB of fingerprints are held in memory; more are written to one of 256 files each.
_HELD = 1 << 21
_FILES = 256
_FILE_BITS = 56


class RepeatFinder(OfOneProcess):
    """Find the fingerprints of query ids that are repeated among any number of batches.

    For engines, which score batches separately: a scorer looks for repeats within one batch only. Two ids may have the
    same fingerprint, with a probability of 1 in 3,700 for 10^8 ids, so compare the ids before you report a repeat. Many
    fingerprints are kept in temporary files, 8 bytes each, which are removed at the end of the `with` block.

    Args:
        folder: The folder of these files; by default the system's for temporary files.
        n_held: The largest number of fingerprints in memory.

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
        """Return 64 bits for each id of an Arrow array, equal for equal ids in every process.

        Args:
            ids: Strings in any encoding, or integers; none of them null.
        """
        return hash_ids(as_strings(ids))

    def __enter__(self) -> RepeatFinder:
        """Return the finder."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary files."""
        if self._folder:
            self._folder.cleanup()

    def add(self, fingerprints: Words) -> None:
        """Add the fingerprints of a batch."""
        self._held.append(fingerprints)
        self._n += len(fingerprints)
        if self._n > self._n_held:
            self._write()

    def repeated(self, at_most: int) -> Words:
        """Return the fingerprints that were added more than once, ascending, and at most so many."""
        found: list[Words] = []
        for share in self._shares():
            share.sort()
            found.append(np.unique(share[1:][share[1:] == share[:-1]])[:at_most])
            at_most -= len(found[-1])
            if not at_most:
                break
        return np.concatenate([np.empty(0, np.uint64), *found])

    def _shares(self) -> Iterator[Words]:
        """Yield all fingerprints, equal ones in the same share."""
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
        for number, share in enumerate(np.split(held, np.searchsorted(held, starts))):
            if len(share):
                with (Path(self._folder.name) / f"{number:03}").open("ab") as file:
                    share.tofile(file)


_ROWS_AT_ONCE = 1 << 16
# So many repeated ids are looked up; of more, the rest is not counted.
_MOST_LOOKED_UP = 1000


def find_repeated(hash_files: Sequence[Path], parts: Iterable[Path]) -> dict[str, int]:
    """Return the query ids that are repeated, with how often; of very many only some.

    Args:
        hash_files: Files with the hashes of the query ids.
        parts: Parquet files with these query ids.
    """
    with RepeatFinder(hash_files[0].parent if hash_files else None) as finder:
        for hashes in (np.load(path, mmap_mode="r") for path in hash_files):
            for start in range(0, len(hashes), _HELD):
                finder.add(np.array(hashes[start : start + _HELD]))
        found = finder.repeated(_MOST_LOOKED_UP)
    return _count(found, parts) if len(found) else {}


def _count(hashes: Words, parts: Iterable[Path]) -> dict[str, int]:
    """Count the ids with these hashes: equal hashes alone prove nothing."""
    counts: Counter[str] = Counter()
    for part in parts:
        with pq.ParquetFile(part, page_checksum_verification=True) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["query_id"]):
                ids = batch.column(0)
                is_suspect = np.isin(hash_ids(ids), hashes)
                if is_suspect.any():
                    counts.update(ids.filter(pa.array(is_suspect)).to_pylist())
    return {id_: count for id_, count in counts.items() if count > 1}


def hash_ids(ids: Any) -> Words:
    """Return a 64-bit hash of each string of an Arrow array, from all its bytes."""
    ids = ids.cast(pa.large_string())
    offsets = np.frombuffer(ids.buffers()[1], dtype=np.int64, count=len(ids) + 1, offset=8 * ids.offset)
    if not len(ids):
        return np.empty(0, dtype=np.uint64)
    data = ids.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_pybytes()
    return Spans(data + b"\0" * 8, offsets[:-1] - offsets[0], np.diff(offsets)).fingerprints()
