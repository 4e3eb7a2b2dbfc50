"""Files that are there as a whole or not at all, and the parts of a scoring as one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar import ColumnarScorer
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.work import SIGNATURE, how_written

_ROWS_AT_ONCE = 1 << 16
# Row groups of long texts are smaller.
_BYTES_AT_ONCE = 1 << 26


class WholeFile:
    """A Parquet file that takes the place of its target when it is finished; its pages have checksums.

    Args:
        target: The file.
        schema: The schema of what is written, with the metadata that the file gets.
        rows_in_group: How many rows a row group has at least, unless they are very large.
        folder: Where it stands until then, on the disk of the target; beside the target by default.
        **options: What `pyarrow.parquet.ParquetWriter` takes besides.
    """

    def __init__(
        self, target: Path, schema: pa.Schema, rows_in_group: int, folder: Path | None = None, **options: Any
    ) -> None:
        self._target, self._schema, self._rows_in_group = target, schema, rows_in_group
        self._temporary = (folder or target.parent) / f".{target.name}.{os.getpid()}.tmp"
        settings = {"compression": "zstd", "write_page_checksum": True, **options}
        self._writer = pq.ParquetWriter(self._temporary, schema, **settings)
        self._waiting: list[Any] = []
        self._n_rows = self._n_bytes = 0

    def __enter__(self) -> WholeFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(pa.ArrowException, OSError):  # what is not finished is thrown away
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; small batches are collected into one row group, so far as memory allows."""
        self._waiting.append(pa.record_batch(batch.columns, schema=self._schema))
        self._n_rows, self._n_bytes = self._n_rows + len(batch), self._n_bytes + batch.nbytes
        if self._n_rows >= self._rows_in_group or self._n_bytes >= _BYTES_AT_ONCE:
            self._write_group()

    def finish(self) -> None:
        """Put the file, whole and on the disk, in the place of its target."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        with self._temporary.open("rb") as file:
            os.fsync(file.fileno())
        self._temporary.replace(self._target)

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting.clear()
        self._n_rows = self._n_bytes = 0


def write_whole(batches: Iterable[Any], schema: pa.Schema, target: Path, rows_in_group: int) -> None:
    """Write record batches into a file that is there as a whole or not at all; see `WholeFile`."""
    with WholeFile(target, schema, rows_in_group) as file:
        for batch in batches:
            file.write(batch)
        file.finish()


class JoinedParts:
    """All rows of the parts of a scoring, written in the order of the parts while later ones are still being scored.

    Args:
        parts: The parts that there will be, each with how many rows it has of each row group that it was made of: how
            these were scored together does not show.
        target: The file.
        scorer: How they are scored.

    Raises:
        InvalidInputError: A part is damaged, or the file cannot be written.
    """

    def __init__(self, parts: Sequence[tuple[Path, Sequence[int]]], target: Path, scorer: ColumnarScorer) -> None:
        self._parts, self._target = parts, target
        self._next, self._done = 0, set[int]()
        schema = scorer.schema.with_metadata({SIGNATURE: scorer.signature.encode()})
        try:
            options = how_written(schema, "zstd")
            self._file = WholeFile(target, schema, _ROWS_AT_ONCE, parts[0][0].parent, **options)
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> JoinedParts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)

    def add(self, number: int) -> None:
        """A part is there; those that are next in order are written."""
        self._done.add(number)
        try:
            while self._next in self._done:
                for batch in _rows_of(*self._parts[self._next]):
                    self._file.write(batch)
                self._done.remove(self._next)
                self._next += 1
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """Put the file in the place of its target."""
        try:
            self._file.finish()
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"{self._target}: cannot be written from its parts ({' '.join(str(error).split())[:200]}). Every part "
            f"stands in {self._target}.parts: make room, or remove a damaged part there, and run again to go on."
        )


def _rows_of(part: Path, sizes: Sequence[int]) -> Iterator[Any]:
    with pq.ParquetFile(part, page_checksum_verification=True) as file:
        if len(sizes) == 1:
            yield from file.iter_batches(_ROWS_AT_ONCE)
            return
        (rows,) = file.read().combine_chunks().to_batches()
        for first, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            yield rows.slice(first, size)
