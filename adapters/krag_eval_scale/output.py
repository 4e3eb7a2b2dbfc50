"""Write Parquet files that are complete or absent, and join the parts of a scoring into its output."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import InvalidInputError
from krag_eval.toolkit import no_looser_than, number_of, put_in_place, refuse_link, warn, write_atomically

_SIGNATURE = b"krag_eval.signature"
_ROWS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 1 << 26
_TOLD = 3


def parquet_options(schema: pa.Schema, compression: str) -> dict[str, Any]:
    """Return how values are written: few are distinct, and rows are looked up by their ids only."""
    return {
        "compression": compression,
        "use_dictionary": [name for name in schema.names if name != "query_id"],
        "write_statistics": ["query_id"],
        "write_page_checksum": True,
    }


class CompleteFile:
    """A Parquet file that replaces its target when it is finished; its pages have checksums.

    Args:
        target: The file.
        schema: The schema of the rows, with the metadata of the file.
        rows_in_group: The smallest number of rows in a row group, unless rows are very large.
        folder: Where the temporary file is, on the disk of the target; beside the target by default.
        **options: Further options of `pyarrow.parquet.ParquetWriter`.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(pa.ArrowException, OSError):  # an unfinished file is removed
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; small batches are collected into one row group, as far as memory allows."""
        self._waiting.append(pa.record_batch(batch.columns, schema=self._schema))
        self._n_rows, self._n_bytes = self._n_rows + len(batch), self._n_bytes + batch.nbytes
        if self._n_rows >= self._rows_in_group or self._n_bytes >= _BYTES_AT_ONCE:
            self._write_group()

    def finish(self) -> None:
        """Sync the file to the disk, and replace the target."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        put_in_place(self._temporary, self._target)

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting.clear()
        self._n_rows = self._n_bytes = 0


def bad_rows_of(part: str | Path) -> Path:
    """Return the file with the rows of a part that could not be scored; it exists if there are any."""
    return Path(f"{part}.rejected.jsonl")


def describe_bad_row(line: str) -> str:
    """Return where a row is that could not be scored, and why."""
    record = json.loads(line)
    return f"{record['file']}: row group {record['row_group']}, row {record['row']}: {record['reason']}"


def check_bad_rows(lines: Iterable[str], at_most: int, more: str = "") -> None:
    """Check that there are no more bad rows than allowed.

    Args:
        lines: Their records, as JSON.
        at_most: How many there may be.
        more: What to add to the error.

    Raises:
        InvalidInputError: There are more; the error names the first that is too many, and the very first.
    """
    first = last = ""
    for number, last in enumerate(lines):
        first = first or last
        if number == at_most:
            skipped = f"Skipped before that: {number_of(at_most, 'bad row')}; the first: {describe_bad_row(first)}"
            raise InvalidInputError(f"{describe_bad_row(last)} {skipped}{more}")


@dataclass(eq=False)
class Output:
    """The rows of all parts, written in the order of the parts while later ones are still being scored.

    Args:
        parts: The parts that there will be, each with the number of rows of each of its row groups: the output does
            not depend on how these were scored together.
        target: The file.
        schema: The schema of the parts.
        signature: The settings of the scoring, for the metadata of the file.
        rejected: The file for the rows that could not be scored.
        max_bad_rows: How many of these there may be.

    Attributes:
        n_bad_rows: How many there are.

    Raises:
        InvalidInputError: A part is damaged, the file cannot be written, or more rows could not be scored.
    """

    parts: Sequence[tuple[Path, Sequence[int]]]
    target: Path
    schema: pa.Schema
    signature: str
    rejected: Path
    max_bad_rows: int

    def __post_init__(self) -> None:
        self._next, self._done, self.n_bad_rows = 0, set[int](), 0
        schema, folder = self.schema.with_metadata({_SIGNATURE: self.signature.encode()}), self.parts[0][0].parent
        with self._errors():
            self._file = CompleteFile(self.target, schema, _ROWS_AT_ONCE, folder, **parquet_options(schema, "zstd"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def add(self, number: int) -> None:
        """Note that a part is finished, and write those that are next in order."""
        self._done.add(number)
        with self._errors():
            while self._next in self._done:
                for batch in _rows_of(*self.parts[self._next]):
                    self._file.write(batch)
                self._check_bad_rows(self.parts[self._next][0])
                self._done.remove(self._next)
                self._next += 1

    def finish(self) -> None:
        """Replace the target, and save and report the rows that were left out."""
        with self._errors():
            self._file.finish()
        if self.n_bad_rows:
            self._save_bad_rows()
            for _, bad in zip(range(_TOLD), self._bad_rows(), strict=False):
                warn(f"{describe_bad_row(bad)} The row is skipped.")
            skipped = number_of(self.n_bad_rows, "bad row")
            warn(f"{self.target}: {skipped} skipped, and saved in {self.rejected}. Correct them in the logs.")

    def _bad_rows(self) -> Iterator[str]:
        """Return the rows that could not be scored, in the order of the input, of the parts in the output."""
        return chain.from_iterable(bad_rows_in(part) for part, _ in self.parts[: self._next])

    def _save_bad_rows(self) -> None:
        refuse_link(self.rejected)
        with no_looser_than(self.parts[0][0], new=0o600):
            write_atomically(self.rejected, self._bad_rows())

    def _check_bad_rows(self, part: Path) -> None:
        """Count the rows of a part that could not be scored.

        Raises:
            InvalidInputError: There are too many; all so far are saved.
        """
        self.n_bad_rows += sum(1 for _ in bad_rows_in(part))
        if self.n_bad_rows > self.max_bad_rows:
            self._next += 1
            self._save_bad_rows()
            check_bad_rows(self._bad_rows(), self.max_bad_rows, f" All so far are saved in {self.rejected}.")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(
                f"{self.target}: cannot be written from its parts ({' '.join(str(error).split())[:200]}). All parts "
                f"are in {self.target}.parts: free some space, or remove a damaged part, and run the same again to "
                "resume."
            ) from error


def bad_rows_in(part: str | Path) -> Iterator[str]:
    """Yield the records of the rows of a part that could not be scored, as JSON."""
    if bad_rows_of(part).exists():
        with bad_rows_of(part).open(encoding="utf-8") as file:
            yield from file


def _rows_of(part: Path, sizes: Sequence[int]) -> Iterator[Any]:
    with pq.ParquetFile(part, page_checksum_verification=True) as file:
        if len(sizes) == 1:
            yield from file.iter_batches(_ROWS_AT_ONCE)
            return
        table = file.read().combine_chunks()
        rows = table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
        for first, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            yield rows.slice(first, size)
