"""Which files are meant by paths, patterns, folders and addresses."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pa_fs

from krag_eval.errors import InvalidInputError
from krag_eval.files import unreadable
from krag_eval.shapes import describe_type

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
