"""Find the Parquet files of logs, open them, check them before scoring, and explain files that are not Parquet."""

from __future__ import annotations

import codecs
import glob
import hashlib
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from krag_eval import InvalidInputError
from krag_eval.toolkit import (
    Argument,
    LimitedParquetFile,
    is_file,
    open_file,
    refuse,
    unchecked,
    unreadable,
    warn,
)
from krag_eval_scale.batch import is_string
from krag_eval_scale.scorer import ColumnarScorer

_HEAD = 4096
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Some rows of a Parquet file, which are stored together.

    Attributes:
        path: The file, or its address such as `s3://bucket/logs/1.parquet`.
        number: The position in the file, from 0.
        n_rows: How many queries it has.
        n_bytes: Its uncompressed size.
    """

    path: str
    number: int
    n_rows: int
    n_bytes: int

    @property
    def place(self) -> str:
        """The file and the row group, for messages."""
        return f"{self.path}: row group {self.number}"

    def check_unchanged(self, file: pq.ParquetFile) -> None:
        """Check that the opened file has not changed since it was found.

        Raises:
            InvalidInputError: It has another row group there, or none.
        """
        there = file.metadata
        if self.number >= there.num_row_groups or there.row_group(self.number).num_rows != self.n_rows:
            raise InvalidInputError(
                f"{self.place}: has changed since the scoring started. Do not write to logs while they are scored. "
                "To start again, give another output path."
            )


@contextmanager
def open_parquet(path: str) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file whose pages are checked against their checksums, if it has any.

    Raises:
        InvalidInputError: The file cannot be read, or is not Parquet. Damaged pages are found when they are read.
    """
    with errors_of(path):
        if "://" not in path:
            _check_regular(path)
        source = _source_of(path)
        try:
            file = LimitedParquetFile(source, path)
        except (pa.ArrowException, OSError):
            source.seek(0)
            told = _other_than_parquet(path, source.read(_HEAD))
            if told is not None:
                raise InvalidInputError(f"{path}: {told}") from None
            raise
    with source, file:
        yield file


def _check_regular(path: str) -> None:
    try:
        Path(path).stat()
    except FileNotFoundError:
        raise InvalidInputError(
            f"{path}: has disappeared. Do not remove logs while they are scored, and run again."
        ) from None
    if not is_file(path):
        raise InvalidInputError(f"{path}: is not a regular file. Parquet is read from its end: write it to a file.")
    open_file(path).close()


@contextmanager
def errors_of(place: str) -> Iterator[None]:
    """Turn Arrow's errors in reading a file into an `InvalidInputError`."""
    try:
        yield
    except InvalidInputError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        if "decrypt" in reason:
            raise InvalidInputError(f"{place}: {_ENCRYPTED}") from error
        raise InvalidInputError(
            f"{place}: cannot be read as Parquet ({reason}). It may be damaged or incomplete: fetch or write it again. "
            "Finished parts are kept."
        ) from error


def partitions_of(path: str) -> dict[str, str | None]:
    """Return the columns in the folders of a path, as Hive and Spark write them; their values are strings.

    >>> partitions_of("logs/model=m1/day=2026-11-22/0.parquet")
    {'model': 'm1', 'day': '2026-11-22'}
    """
    pairs = [folder.partition("=") for folder in re.split(r"[/\\]", path)[:-1]]
    return {name: None if value == _NO_VALUE else unquote(value) for name, sign, value in pairs if name and sign}


def with_partitions(rows: pa.RecordBatch, path: str, columns: Collection[str]) -> pa.RecordBatch:
    """Add those of the columns that are in the folders of the path, and not in the file."""
    absent = [name for name in columns if name not in rows.schema.names]
    values = partitions_of(path) if absent else {}
    missing = [name for name in absent if name in values]
    arrays = [pa.repeat(pa.scalar(values[name], pa.string()), len(rows)) for name in missing]
    fields = [pa.field(name, pa.string()) for name in missing]
    return pa.record_batch([*rows.columns, *arrays], schema=pa.schema([*rows.schema, *fields])) if missing else rows


def columns_to_read(file: pq.ParquetFile, fields: set[str] | None, others: Collection[str] = ()) -> list[str]:
    """Return the leaf columns that are needed: texts are not read if only ids are matched.

    Args:
        file: The file.
        fields: The fields of the documents; None for all.
        others: Further columns; those that the file does not have are left out.
    """
    leaves: list[str] = [file.schema.column(number).path for number in range(len(file.schema.names))]
    further = [leaf for leaf in leaves if any(leaf == name or leaf.startswith(f"{name}.") for name in others)]
    if fields is None:
        return ["query_id", "actual", "predicted", *further]
    read = [leaf for leaf in leaves if leaf == "query_id" or _is_read(leaf.split("."), fields)]
    # A struct without leaves would not be read at all; its first leaf keeps the lists.
    for side in ("actual", "predicted"):
        if not any(leaf.startswith(f"{side}.") for leaf in read):
            read += [leaf for leaf in leaves if leaf.startswith(f"{side}.")][:1]
    return [*read, *further]


def texts_in(file: pq.ParquetFile, columns: Collection[str]) -> list[str]:
    """Return those of the columns, or of their leaves, that are the texts of documents."""
    leaves = [file.schema.column(number).path for number in range(len(file.schema.names))]
    ends = {leaf: leaf.rpartition(".")[2] for leaf in leaves if leaf in columns or leaf.partition(".")[0] in columns}
    return [leaf for leaf, end in ends.items() if end == "text" and leaf.partition(".")[0] in ("actual", "predicted")]


def _is_read(parts: list[str], fields: set[str]) -> bool:
    return parts[0] in ("actual", "predicted") and (not fields.isdisjoint(parts[1:]) or "any_of" in parts)


_MAGIC, _ENDING = "*?[", ".parquet"


def find_files(patterns: object, *, besides: Path | None = None) -> list[str]:
    """Return the files that the patterns match, in order, each once.

    Args:
        patterns: A path, an address that Arrow can open (`s3://`, `gs://`, `file://`), or several. `*`, `?` and `[..]`
            match characters of a name, `**` matches folders. A folder means all `*.parquet` below it, except files and
            folders whose names begin with `.` or `_`: Spark and Arrow write to these while they work.
        besides: A local folder whose files are left out.

    Raises:
        InvalidInputError: A pattern matches no file.
    """
    given = [patterns] if isinstance(patterns, (str, os.PathLike)) else patterns
    if not isinstance(given, Sequence) or not given or not all(isinstance(p, (str, os.PathLike)) for p in given):
        refuse("logs", "a path, a pattern such as 'logs/*.parquet', or a list of these", patterns)
    found: dict[str, None] = {}
    for pattern in map(os.fspath, given):
        if not pattern:
            raise InvalidInputError("A path of the logs is empty. Give the path of a Parquet file, or a pattern.")
        files = _find_remote(pattern) if "://" in pattern else _find_local(pattern)
        if besides is not None:
            own = besides.absolute()
            files = [path for path in files if "://" in path or not Path(path).absolute().is_relative_to(own)]
        if not files:
            what = "a folder without '*.parquet' files" if Path(pattern).is_dir() else "no such file"
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
    for root, folders, names in os.walk(folder, onerror=_raise):  # a glob skips what it may not read
        folders[:] = [name for name in folders if not _is_hidden([name])]
        found += [Path(root, name) for name in names if name.endswith(_ENDING) and not _is_hidden([name])]
    return sorted(str(path) for path in found if path.is_file())


def _raise(error: OSError) -> None:
    raise error


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
            f"{pattern}: cannot be listed ({' '.join(str(error).split())[:200]}). Give an address that Arrow supports "
            "(s3://, gs://, file://), and check that it exists and may be read from here."
        ) from error
    ends = sorted(path.removeprefix(folder) for path in files)
    if first < len(pattern):
        return [root + end for end in ends if fnmatchcase(root + end, pattern)]
    return [root + end for end in ends if end.endswith(_ENDING) and not _is_hidden(end.strip("/").split("/"))]


_EVALUATE = "`krag-eval evaluate SET RUN` scores question sets and runs in such files as they are"
_AS_PARQUET = "Convert logs to Parquet first, for example with DuckDB: COPY (FROM {read}('{path}')) TO 'logs.parquet'."
_CONVERT, _GIVE = "Convert it to Parquet first.", "Give the files that have the logs."
# How other files begin: what they are, and what to do.
_BINARY = {
    b"ARROW1": "an Arrow file (Feather)",
    b"ORC": "ORC",
    b"Obj\x01": "Avro",
    b"SQLite format 3": "an SQLite database",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"PK\x03\x04": "a ZIP archive, such as an Excel file",
    b"BZh": "compressed with bzip2",
}
_TEXTS = {
    b'{"krag_': ("a journal of krag_eval", _GIVE),
    b"<": ("HTML or XML", "A server may have sent an error page: fetch the file again."),
}
_ENCRYPTED = "is encrypted Parquet, which cannot be read. Write it without encryption, or decrypt it first."


def _other_than_parquet(path: str, head: bytes) -> str | None:
    """Return what a file is instead of Parquet; None if it is damaged Parquet.

    Args:
        path: The file, for advice.
        head: Its first bytes.
    """
    if head.startswith(b"PAR1"):
        return None
    if head.startswith(b"PARE"):
        return _ENCRYPTED
    if head.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself. Fetch it with: git lfs pull"
    if not head:
        return "is empty, so it is not Parquet. Write it again, or leave it out."
    packed, text = "", head
    if head.startswith(b"\x1f\x8b"):
        packed = ", compressed with gzip"
        with suppress(zlib.error):
            text = zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    signs = {sign: (name, _CONVERT) for sign, name in _BINARY.items()}
    signs[b'{"krag_eval_run":'] = "the journal of a run", f"`krag-eval evaluate SET {path}` scores it as it is."
    signs |= _TEXTS
    found = next((about for sign, about in signs.items() if text.startswith(sign)), None)
    if found is None and (kind := _kind(text)) is not None:
        read = "read_json" if "JSON" in kind else "read_csv"
        found = kind, f"{_EVALUATE}. {_AS_PARQUET.format(read=read, path=path)}"
    if found is None:
        return f"is not Parquet{packed}: it does not begin like a Parquet file. {_GIVE}"
    what, advice = found
    return f"is not Parquet: it seems to be {what}{packed}. {advice}"


def _kind(head: bytes) -> str | None:
    line, end, _ = head.partition(b"\n")
    line = line.rstrip()
    if line.startswith(b"{"):
        return "JSON or JSONL" if not end and not line.endswith(b"}") else "JSONL" if line.endswith(b"}") else "JSON"
    if line.startswith(b"["):
        return "JSON"
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(line)  # its last character may be incomplete
    except UnicodeDecodeError:
        return None
    if not text.replace("\t", " ").isprintable():
        return None
    return "TSV" if "\t" in text else "CSV" if "," in text or ";" in text else None


def _hint_for_columns(names: Collection[str]) -> str:
    """Return a sentence on a table that is not a log, beginning with a space; empty if nothing is known.

    >>> _hint_for_columns(["query_id", "retrieved"])
    ' This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are.'
    """
    if "retrieved" in names:
        return " This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are."
    if "question" in names and {"id", "gold", "gold_chunk_ids", "gold_doc_ids"} & set(names):
        return " This seems to be a question set: `krag-eval evaluate SET RUN` scores such files as they are."
    if "query_id" in names and {"rank", "score"} & set(names):
        return " Logs with one row per document are first grouped by query: docs/scale.md shows the query for DuckDB."
    return ""


def survey(files: Sequence[str], target: Path, scorer: ColumnarScorer) -> tuple[list[RowGroup], str, pa.Schema]:
    """Check files before anything is scored; each is opened once.

    Args:
        files: Their paths or addresses.
        target: The file that will be written, which none of them may be.
        scorer: What will score them.

    Returns:
        Their row groups that have rows; what distinguishes these files from others: number, rows, fingerprint; and the
        columns that the scorer keeps, with types that hold the values of all files.

    Raises:
        InvalidInputError: A file cannot be read, is the target, or has columns that cannot be scored; or no file has
            rows.
    """
    groups: list[RowGroup] = []
    n_rows, seen, is_told = 0, hashlib.sha256(), False
    kept = labels = pa.schema([])
    for path in files:
        if "://" not in path and target.exists() and target.samefile(path):
            raise InvalidInputError(f"{path}: is also the output. Give another output path.")
        with open_parquet(path) as file:
            n_rows += file.metadata.num_rows
            seen.update(json.dumps(_fingerprint(path, file)).encode())
            there, theirs = _check_schema(path, file, scorer)
            kept = there if path == files[0] else unified(kept, there, files[0], path)
            labels = theirs if path == files[0] else unified(labels, theirs, files[0], path)
            is_told = is_told or _tell_unchecked(path)
            sizes = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            found = [RowGroup(path, number, one.num_rows, one.total_byte_size) for number, one in enumerate(sizes)]
            groups += [group for group in found if group.n_rows]
    if not n_rows:
        others = f", nor has any other of {len(files)} files" if len(files) > 1 else ""
        raise InvalidInputError(f"{files[0]}: has no rows{others}. Give at least one query.")
    return groups, f"{len(files)} of {n_rows} rows, {seen.hexdigest()[:16]}", kept


def _tell_unchecked(path: str) -> bool:
    """Warn if a file has no page checksums, and return whether that was so."""
    with _source_of(path) as source:
        told = unchecked(source.read(_HEAD))
    if told:
        warn(f"{path}: {told}")
    return bool(told)


def _source_of(path: str) -> Any:
    system, inner = pa_fs.FileSystem.from_uri(path) if "://" in path else (pa_fs.LocalFileSystem(), path)
    return system.open_input_file(inner)


def _check_schema(path: str, file: Any, scorer: ColumnarScorer) -> tuple[pa.Schema, pa.Schema]:
    """Return the columns that the scorer keeps of a file, and those by which it groups."""
    schema, folders = file.schema_arrow, partitions_of(path)
    for name in scorer.others_of(dict.fromkeys([*schema.names, *folders])):
        if name in folders and name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
    try:
        scorer.check_schema(schema)
        return scorer.kept_of(schema), scorer.labels_in(schema)
    except InvalidInputError as error:
        hint = _hint_for_columns(file.schema_arrow.names)
        raise InvalidInputError(f"{path}: ", *error.args, hint) from None


def unified(kept: pa.Schema, there: pa.Schema, first: str, path: str) -> pa.Schema:
    """Return the columns of two files with types that hold the values of both.

    Raises:
        InvalidInputError: There are no such types; the error names the file and the column.
    """
    for number, name in enumerate(kept.names):
        one, other = kept.field(name).type, there.field(name).type if name in there.names else None
        type_ = one if one == other else None if other is None else _wider(one, other)
        if type_ is None:
            has = "is missing" if other is None else f"has the type {other}"
            raise InvalidInputError(
                f"{path}: the column `{name}` {has}, and in {first} it has the type {one}. Write all files with one "
                "type, or leave the column out of ",
                Argument("keep"),
                " and ",
                Argument("by"),
                ".",
            )
        kept = kept.set(number, pa.field(name, type_))
    return kept


def _wider(one: Any, other: Any) -> Any:
    """Return the type that holds the values of two others without a loss; None if there is none."""
    if pa.types.is_null(one) or pa.types.is_null(other):
        return other if pa.types.is_null(one) else one
    kinds = (pa.types.is_signed_integer, pa.types.is_unsigned_integer, pa.types.is_floating, is_string)
    if not any(is_kind(one) and is_kind(other) for is_kind in kinds):
        return None
    return pa.large_string() if is_string(one) else max(one, other, key=lambda type_: type_.bit_width)


def fingerprint(path: str) -> str:
    """Return what distinguishes versions of a file, wherever it lies: its rows, and all that its footer says."""
    with open_parquet(path) as file:
        return f"{file.metadata.num_rows} {hashlib.sha256(repr(file.metadata.to_dict()).encode()).hexdigest()[:16]}"


def _fingerprint(path: str, file: Any) -> list[Any]:
    """Return what distinguishes versions of a file: rows, row groups, the length of its footer, size and time."""
    stat = None if "://" in path else Path(path).stat()
    there = file.metadata
    local = [None, None] if stat is None else [stat.st_size, stat.st_mtime_ns]
    return [path, there.num_rows, there.num_row_groups, there.serialized_size, *local]
