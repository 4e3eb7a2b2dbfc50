"""Parquet files and their row groups, and what is said of those that cannot be read.

Which files are meant by paths, patterns, folders and addresses.

What a file or a table is that was given for logs in Parquet, and what to do with it.

What is looked at in all files before anything is scored: what they are, and whether they can be scored.
"""

from __future__ import annotations

import codecs
import glob
import hashlib
import json
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import is_file, open_file, unreadable
from krag_eval.scale.scorer import ColumnarScorer

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
        raise unreadable_parquet(place, error) from error


def unreadable_parquet(place: str, error: Exception) -> InvalidInputError:
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


_MAGIC, _ENDING = "*?[", ".parquet"


def find_files(patterns: object, *, may_be_remote: bool = True, besides: Path | None = None) -> list[str]:
    """The files that the patterns name, in order, each once.

    Args:
        patterns: A path, an address that Arrow can open (`s3://`, `gs://`, `file://`), or several. `*`, `?` and `[..]`
            stand for characters of a name, `**` for folders of a path; a folder stands for all `*.parquet` below it but
            those whose name, or a folder's, begins with `.` or `_`: half-written ones, as Spark and Arrow see it.
        may_be_remote: Whether an address may be given.
        besides: A folder on this machine of which no file is meant.

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
        if not pattern:
            raise InvalidInputError("A path of the logs is empty. Leave it out, or see where it comes from.")
        if "://" in pattern and not may_be_remote:
            raise InvalidInputError(
                f"{pattern}: logs in long form are joined on this machine. Fetch the files first, or join them where "
                "they are, with Spark: krag_eval_spark.from_long."
            )
        files = _find_remote(pattern) if "://" in pattern else _find_local(pattern)
        files = [path for path in files if "://" in path or besides is None or not _is_below(path, besides)]
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
    try:
        if Path(pattern).is_dir():
            return _in_folder(Path(pattern))
        if Path(pattern).exists():
            return [pattern]
        found: list[str] = []
        for path in map(Path, glob.glob(pattern, recursive=True)):  # noqa: PTH207 - as above
            if path.is_file():
                found.append(str(path))
            elif path.name.endswith(_ENDING):  # Spark gives its folders such names
                found += _in_folder(path)
    except OSError as error:
        raise unreadable(error.filename or pattern, error) from error
    return sorted(set(found))


def _in_folder(folder: Path) -> list[str]:
    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_raise):  # a glob passes over what it may not read
        folders[:] = [name for name in folders if not _is_hidden([name])]
        found += [Path(root, name) for name in names if name.endswith(_ENDING) and not _is_hidden([name])]
    return sorted(str(path) for path in found if path.is_file())


def _raise(error: OSError) -> None:
    raise error


def _is_below(path: str, folder: Path) -> bool:
    return Path(path).absolute().is_relative_to(folder.absolute())


def _is_hidden(names: Sequence[str]) -> bool:
    return any(name.startswith((".", "_")) for name in names)


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
    ends = sorted(path.removeprefix(folder) for path in files)
    if first < len(pattern):
        return [root + end for end in ends if fnmatchcase(root + end, pattern)]
    return [root + end for end in ends if end.endswith(_ENDING) and not _is_hidden(end.strip("/").split("/"))]


_EVALUATE = "`krag-eval evaluate SET RUN` scores question sets and runs in such files as they are"
_AS_PARQUET = (
    "Rows of logs are written as Parquet first, such as by DuckDB: COPY (FROM {read}('{path}')) TO 'logs.parquet'."
)
_SIGNS = {
    b"ARROW1": "an Arrow file (Feather)",
    b"ORC": "ORC",
    b"Obj\x01": "Avro",
    b"SQLite format 3": "a database of SQLite",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"PK\x03\x04": "packed with zip, as sheets of Excel are too",
    b"BZh": "packed with bzip2",
}
ENCRYPTED = "is encrypted Parquet, and no keys are taken here. Write it without encryption, or decrypt it first."


def other_than_parquet(path: str, head: bytes) -> str | None:
    """What is wrong with a file that Arrow does not take for Parquet; None where it is damaged Parquet.

    Args:
        path: The file, for advice.
        head: Some thousand bytes of its beginning.
    """
    if head.startswith(b"PAR1"):
        return None
    if head.startswith(b"PARE"):
        return ENCRYPTED
    if head.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull"
    if not head:
        return "is empty, so no Parquet. Write it again, or leave it out."
    for sign, name in _SIGNS.items():
        if head.startswith(sign):
            return f"is no Parquet: it seems to be {name}. Write its rows as Parquet first."
    packed = ""
    if head.startswith(b"\x1f\x8b"):
        head, packed = _unpacked(head), ", packed with gzip"
    return _text(path, head.removeprefix(b"\xef\xbb\xbf").lstrip(), packed)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def _text(path: str, head: bytes, packed: str) -> str:
    if head.startswith(b'{"krag_eval_run":'):
        what, cure = "the journal of a run", f"`krag-eval evaluate SET {path}` scores it as it is."
    elif head.startswith(b'{"krag_'):
        what, cure = "a journal of krag_eval", "It has no logs; give the files that have them."
    elif head.startswith(b"<"):
        what, cure = "HTML or XML", "A server may have sent it as a message; fetch the file again."
    else:
        kind = _kind(head)
        if kind is None:
            return f"is no Parquet{packed}: it does not begin as such files do. Give the files that have the logs."
        read = "read_json" if "JSON" in kind else "read_csv"
        what, cure = kind, f"{_EVALUATE}. {_AS_PARQUET.format(read=read, path=path)}"
    return f"is no Parquet: it seems to be {what}{packed}. {cure}"


def _kind(head: bytes) -> str | None:
    line, end, _ = head.partition(b"\n")
    line = line.rstrip()
    if line.startswith(b"{"):
        return "JSON or JSONL" if not end and not line.endswith(b"}") else "JSONL" if line.endswith(b"}") else "JSON"
    if line.startswith(b"["):
        return "JSON"
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(line)  # its last letter may be cut off
    except UnicodeDecodeError:
        return None
    if not text.replace("\t", " ").isprintable():
        return None
    return "TSV" if "\t" in text else "CSV" if "," in text or ";" in text else None


def hint_for_columns(names: Collection[str]) -> str:
    """A sentence on a table that is no log of queries, beginning with a space; empty where nothing is known.

    >>> hint_for_columns(["query_id", "retrieved"])
    ' This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are.'
    """
    if "retrieved" in names:
        return " This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are."
    if "question" in names and {"id", "gold", "gold_chunk_ids", "gold_doc_ids"} & set(names):
        return " This seems to be a question set: `krag-eval evaluate SET RUN` scores such files as they are."
    if "query_id" in names and {"rank", "score"} & set(names):
        return " Logs with one row a retrieved document need their `gold` too (--gold)."
    return ""


@dataclass(frozen=True, slots=True)
class Survey:
    """Files that were looked through.

    Attributes:
        groups: Their row groups that have rows; none of files that cannot be scored as they are.
        n_rows: How many rows they have.
        what: What tells these files from others, in some words.
    """

    groups: list[RowGroup]
    n_rows: int
    what: str


def survey(files: Sequence[str], target: Path, scorer: ColumnarScorer) -> Survey:
    """Look through files with one row a query, each opened once.

    Args:
        files: Their paths or addresses.
        target: The file that will be written, which none of them may be.
        scorer: What will score them.

    Raises:
        InvalidInputError: A file cannot be read, is the target, or has columns that cannot be scored; or there is not
            one row.
    """
    found = _look_through(files, target, scorer)
    _check_rows(files, found)
    return found


def survey_long(logs: Sequence[str], gold: Sequence[str], target: Path) -> Survey:
    """Look through logs in long form and their gold, which are still to be joined.

    Raises:
        InvalidInputError: A file cannot be read, or is the target; or the gold has not one row.
    """
    of_logs, of_gold = _look_through(logs, target), _look_through(gold, target)
    _check_rows(gold, of_gold)
    return Survey([], of_logs.n_rows + of_gold.n_rows, f"{of_logs.what}; {of_gold.what}")


def _look_through(files: Sequence[str], target: Path, scorer: ColumnarScorer | None = None) -> Survey:
    groups: list[RowGroup] = []
    n_rows, seen = 0, hashlib.sha256()
    for path in files:
        if "://" not in path and target.exists() and target.samefile(path):
            raise InvalidInputError(f"{path}: is also what would be written. Give another path for the values.")
        with open_parquet(path) as file:
            n_rows += file.metadata.num_rows
            seen.update(json.dumps(_fingerprint(path, file)).encode())
            if scorer is not None:
                _check_schema(path, file, scorer)
                groups += row_groups(path, file)
    return Survey(groups, n_rows, f"{len(files)} of {n_rows} rows, {seen.hexdigest()[:16]}")


def _check_rows(files: Sequence[str], found: Survey) -> None:
    if not found.n_rows:
        others = f", nor has any other of {len(files)} files" if len(files) > 1 else ""
        raise InvalidInputError(f"{files[0]}: has no rows{others}. Give at least one query.")


def _check_schema(path: str, file: Any, scorer: ColumnarScorer) -> None:
    try:
        scorer.check_schema(file.schema_arrow)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}{hint_for_columns(file.schema_arrow.names)}") from None


def _fingerprint(path: str, file: Any) -> list[Any]:
    """What tells a file from another of its name: rows, row groups, the length of its footer, size and time."""
    stat = None if "://" in path else Path(path).stat()
    there = file.metadata
    local = [None, None] if stat is None else [stat.st_size, stat.st_mtime_ns]
    return [path, there.num_rows, there.num_row_groups, there.serialized_size, *local]
