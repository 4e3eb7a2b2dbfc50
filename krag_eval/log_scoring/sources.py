"""Parquet files and their row groups, and what is said of those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from krag_eval.errors import InvalidInputError
from krag_eval.files import is_file, open_file
from krag_eval.log_scoring.other_files import ENCRYPTED, other_than_parquet

_BUFFER = 1 << 20
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A part of a file that is scored by itself.

    Attributes:
        path: The file, or its address such as `s3://bucket/logs/1.parquet`.
        number: Which row group of the file, from 0.
        n_rows: How many queries it has.
        n_bytes: How large it is before it is packed.
    """

    path: str
    number: int
    n_rows: int
    n_bytes: int

    @property
    def place(self) -> str:
        """How messages name it."""
        return f"{self.path}: row group {self.number}"

    def check_unchanged(self, file: pq.ParquetFile) -> None:
        """See that the opened file is still the one that was found.

        Raises:
            InvalidInputError: It has another row group there, or none.
        """
        there = file.metadata
        if self.number >= there.num_row_groups or there.row_group(self.number).num_rows != self.n_rows:
            raise InvalidInputError(
                f"{self.place}: is not what it was when the scoring began. Let nobody write to the logs while they are "
                "scored; give another path for the values to start anew."
            )


@contextmanager
def open_parquet(path: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file, whose pages are compared with their checksums where it has any.

    Raises:
        InvalidInputError: It cannot be read, or is no Parquet. Its pages are read later, and may be found damaged then.
    """
    with errors_of(path):
        if "://" in path:
            system, inner = pa_fs.FileSystem.from_uri(path)
        else:
            _check_regular(path)
            system, inner = pa_fs.LocalFileSystem(), path
        source = system.open_input_file(inner)
        try:
            # Streams: a row group is larger than what may be in memory.
            file = pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER)
        except (pa.ArrowException, OSError):
            source.seek(0)
            told = other_than_parquet(path, source.read(_HEAD))
            if told is not None:
                raise InvalidInputError(f"{path}: {told}") from None
            raise
    with source, file:
        yield file


def _check_regular(path: str) -> None:
    try:
        Path(path).stat()
    except FileNotFoundError:
        told = f"{path}: is gone. Let nobody remove logs while they are scored, and run again."
        raise InvalidInputError(told) from None
    if not is_file(path):
        raise InvalidInputError(f"{path}: is no regular file. Parquet is read from its end; put it into a file.")
    open_file(path).close()


@contextmanager
def errors_of(place: str) -> Iterator[None]:
    """Goes around what reads a file: what Arrow says against it becomes an `InvalidInputError`."""
    try:
        yield
    except InvalidInputError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        raise unreadable(place, error) from error


def unreadable(place: str, error: Exception) -> InvalidInputError:
    """The error for a file or row group that Arrow cannot read."""
    said = " ".join(str(error).split())[:200].rstrip(".")
    if "decrypt" in said:
        return InvalidInputError(f"{place}: {ENCRYPTED}")
    return InvalidInputError(
        f"{place}: cannot be read as Parquet ({said}). It may be damaged or cut off; fetch or write it again. What was "
        "scored before stands."
    )


def row_groups(path: str, file: pq.ParquetFile) -> list[RowGroup]:
    """The row groups of a file that have rows."""
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    found = [RowGroup(path, number, one.num_rows, one.total_byte_size) for number, one in enumerate(groups)]
    return [group for group in found if group.n_rows]


def columns_to_read(file: pq.ParquetFile, fields: set[str] | None) -> list[str]:
    """The leaves of the three columns that are needed: texts are not read where only ids are matched."""
    if fields is None:
        return ["query_id", "actual", "predicted"]
    leaves: list[str] = [file.schema.column(number).path for number in range(len(file.schema.names))]
    read = [leaf for leaf in leaves if leaf == "query_id" or _is_read(leaf.split("."), fields)]
    # A struct of which nothing is read would be gone; its first leaf keeps the lists.
    for side in ("actual", "predicted"):
        if not any(leaf.startswith(f"{side}.") for leaf in read):
            read += [leaf for leaf in leaves if leaf.startswith(f"{side}.")][:1]
    return read


def _is_read(parts: list[str], fields: set[str]) -> bool:
    return parts[0] in ("actual", "predicted") and parts[-1] in fields
