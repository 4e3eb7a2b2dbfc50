"""Which row groups there are to score, in which files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from krag_eval.errors import InvalidInputError
from krag_eval.shapes import describe_type

_MAGIC = "*?["
_BUFFER = 1 << 20


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


def find_files(patterns: object, *, may_be_remote: bool = True) -> list[str]:
    """The files that the patterns name, in order, each once.

    Args:
        patterns: A path, an address that Arrow can open (`s3://`, `gs://`, `file://`), or several. `*`, `?` and `[..]`
            stand for characters of a name, `**` for folders of a path; a folder stands for all `*.parquet` below it.
        may_be_remote: Whether an address may be given.

    Raises:
        InvalidInputError: A pattern names no file, or is an address where none may be given.
    """
    given = [patterns] if isinstance(patterns, (str, os.PathLike)) else patterns
    if not isinstance(given, Sequence) or not given or not all(isinstance(p, (str, os.PathLike)) for p in given):
        raise InvalidInputError(
            f"The logs must be a path, a pattern such as 'logs/*.parquet', or a list of these, got "
            f"{describe_type(patterns)}."
        )
    found: dict[str, None] = {}
    for pattern in map(os.fspath, given):
        if "://" in pattern and not may_be_remote:
            raise InvalidInputError(
                f"{pattern}: logs in long form are joined on this machine. Fetch the files first, or join them where "
                "they are, with Spark: krag_eval_spark.from_long."
            )
        files = _find_remote(pattern) if "://" in pattern else _find_local(pattern)
        if not files:
            what = "a folder without any '*.parquet'" if Path(pattern).is_dir() else "no such file"
            raise InvalidInputError(
                f"{pattern}: {what}. Give the path of a Parquet file, a folder of these, or a pattern such as "
                "'logs/*.parquet'."
            )
        found |= dict.fromkeys(files)
    return list(found)


def _find_local(pattern: str) -> list[str]:
    pattern = os.path.expanduser(pattern)  # noqa: PTH111 - glob patterns are no paths
    if Path(pattern).is_dir():
        return sorted(map(str, Path(pattern).rglob("*.parquet")))
    if Path(pattern).exists():
        return [pattern]
    return sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())  # noqa: PTH207 - as above


def _find_remote(pattern: str) -> list[str]:
    first = min((pattern.index(sign) for sign in _MAGIC if sign in pattern), default=len(pattern))
    root = pattern[:first].rpartition("/")[0] if first < len(pattern) else pattern
    try:
        system, folder = pa_fs.FileSystem.from_uri(root)
        if system.get_file_info(folder).type == pa_fs.FileType.File:
            return [pattern]
        files = [info.path for info in system.get_file_info(pa_fs.FileSelector(folder, recursive=True)) if info.is_file]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(
            f"{pattern}: cannot be listed ({' '.join(str(error).split())[:200]}). Give an address that Arrow knows "
            "(s3://, gs://, file://), and see whether it is there and may be read from here."
        ) from error
    addresses = sorted(root + path.removeprefix(folder) for path in files)
    wanted = pattern if first < len(pattern) else f"{root.rstrip('/')}/*.parquet"
    return [address for address in addresses if fnmatchcase(address, wanted)]


@contextmanager
def open_parquet(path: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file, whose pages are compared with their checksums where it has any.

    Raises:
        InvalidInputError: It cannot be read. Its pages are read later, and may be found damaged then.
    """
    with errors_of(path):
        if "://" in path:
            system, inner = pa_fs.FileSystem.from_uri(path)
            source = system.open_input_file(inner)
        else:
            _check_regular(path)
            source = path
        # Streams: a row group is larger than what may be in memory.
        file = pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER)
    with file:
        yield file


def _check_regular(path: str) -> None:
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: is no regular file. Parquet is read from its end; put it into a file.")
    with Path(path).open("rb") as file:
        head = file.read(32)
    if head.startswith(b"version https://git-lfs"):
        raise InvalidInputError(f"{path}: is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull")


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
