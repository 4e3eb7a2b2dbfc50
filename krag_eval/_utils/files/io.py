"""Read files within bounds, and write them whole or not at all; every error names the path."""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.limits import limit, shown, to_allow

StrPath = str | os.PathLike[str]


class Copy(str):
    """The name of a file whose content is read from a copy, such as one in another encoding.

    Attributes:
        location: Where the copy is.
    """

    location: str


# Nothing real is packed better than this: gzip reaches 1,000 on zeros, and 20 on JSON.
_MOST_TIMES = 500
_MOST_EMPTY_LINES = 1_000_000
_BUFFER = 1 << 16
DASH = "-"


class Streams(Protocol):
    """Standard input and output, where the path `-` stands for them."""

    def input(self) -> Path:
        """Return a copy of standard input, which can be examined and then read from its beginning."""
        ...

    def write(self, parts: Iterable[bytes]) -> None:
        """Write to standard output what a file would hold."""
        ...


_STREAMS: ContextVar[Streams | None] = ContextVar("standard streams", default=None)


@contextlib.contextmanager
def standard_streams(streams: Streams) -> Iterator[None]:
    """Let the path `-` stand for standard input where a file is read, and for standard output where one is written."""
    token = _STREAMS.set(streams)
    try:
        yield
    finally:
        _STREAMS.reset(token)


def _streams(path: StrPath) -> Streams | None:
    return _STREAMS.get() if os.fspath(path) == DASH else None


def unreadable(path: StrPath, error: Exception) -> InvalidInputError:
    """Return the error for a file that cannot be opened or read."""
    return InvalidInputError(f"{os.fspath(path)}: cannot be read ({reason_of(error)}). Check the path.")


def reason_of(error: Exception) -> str:
    """Return what the system says about an error, without the path."""
    return str(getattr(error, "strerror", None) or error)


def is_standard(path: StrPath) -> bool:
    """Return whether a path is standard input or output: `-` on the command line."""
    return _streams(path) is not None


def located(path: StrPath) -> StrPath:
    """Return where the content of a path is read from: its copy, or on the command line standard input for `-`."""
    if isinstance(path, Copy):
        return path.location
    streams = _streams(path)
    return path if streams is None else streams.input()


def is_folder(path: StrPath) -> bool:
    """Return whether the path is a folder; False also if that cannot be found out, since opening it will tell."""
    return os.path.isdir(located(path))  # noqa: PTH112 - `Path.is_dir` raises where a folder may not be searched


def is_file(path: StrPath) -> bool:
    """Return whether the path is a regular file; False also if that cannot be found out."""
    return os.path.isfile(located(path))  # noqa: PTH113 - as above


def open_file(path: StrPath) -> BinaryIO:
    """Open a file to read bytes from.

    Raises:
        InvalidInputError: It cannot be opened, or no file can have such a name.
    """
    try:
        return Path(located(path)).open("rb", buffering=_BUFFER)
    except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
        raise unreadable(path, error) from error


@contextlib.contextmanager
def _reading(path: StrPath) -> Iterator[BinaryIO]:
    """Open a file to read bytes from; while it is read, errors of the system name it."""
    with open_file(path) as file:
        try:
            yield file
        except OSError as error:
            raise unreadable(path, error) from error


def lines_of(path: StrPath) -> Iterator[bytes]:
    """Yield the lines of a file, each with its line end.

    Raises:
        InvalidInputError: The file cannot be opened or read, or a line is longer than the limit `row`.
    """
    with _reading(path) as file:
        yield from _bounded_lines(path, file, "this line has")


def _bounded_lines(path: StrPath, file: Any, has: str) -> Iterator[bytes]:
    longest, n_empty = limit("row"), 0
    for number, line in enumerate(iter(functools.partial(file.readline, longest + 1), b""), 1):
        if len(line) > longest:
            raise InvalidInputError(
                f"{path}:{number}: {has} more than {shown('row')}. Each line must be one row; is this another kind of "
                "file? ",
                *to_allow("row"),
            )
        n_empty = n_empty + 1 if line.isspace() else 0
        if n_empty > _MOST_EMPTY_LINES:
            raise InvalidInputError(
                f"{path}:{number}: more than {_MOST_EMPTY_LINES:,} lines one after the other are empty, which is no "
                "real data. Remove them."
            )
        yield line


def read_whole(path: StrPath) -> bytes:
    """Return the content of a file.

    Raises:
        InvalidInputError: The file cannot be opened or read, or has more bytes than the limit `file`.
    """
    content = io.BytesIO()
    with _reading(path) as file:
        while part := file.read(1 << 20):
            content.write(part)
            if content.tell() > limit("file"):  # a device such as /dev/zero has no end
                raise InvalidInputError(
                    f"{path}: has more than {shown('file')}, too much for a file that is read as a whole. Write it as "
                    "JSONL. ",
                    *to_allow("file"),
                )
    return content.getvalue()


def read_head(path: StrPath, size: int) -> bytes:
    """Return the first bytes of a file.

    Raises:
        InvalidInputError: It cannot be opened, or is only a pointer of Git LFS.
    """
    with _reading(path) as file:
        head = file.read(size)
    if head.startswith(b"version https://git-lfs"):
        raise InvalidInputError(f"{path}: is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull")
    return head


def unpacked_lines(path: StrPath) -> Iterator[bytes]:
    """Yield the lines of a gzip file, unpacked one by one: a few hundred kilobytes can hold gigabytes.

    Raises:
        InvalidInputError: The file cannot be read, is damaged or cut off, or unpacks to more than the bounds.
    """
    total = number = 0
    always, most = limit("row"), limit("unpacked")
    try:
        with open_file(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            for number, line in enumerate(_bounded_lines(path, file, "unpacks to a line of"), 1):
                total += len(line)
                if total > most:
                    raise InvalidInputError(
                        f"{path}:{number}: unpacks to more than {shown('unpacked')}. Unpack it to read all of it. ",
                        *to_allow("unpacked"),
                    )
                if total > always and total > _MOST_TIMES * _size_of(packed):
                    raise InvalidInputError(
                        f"{path}:{number}: unpacks to more than {_MOST_TIMES} times its size, which is no real data. "
                        "Unpack the file first if this is intended."
                    )
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(
            f"{path}:{number + 1}: is damaged or cut off ({error}). Download it or pack it again."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _size_of(file: BinaryIO) -> int:
    """Return the size of the file, or how much a pipe has given so far."""
    return os.fstat(file.fileno()).st_size or file.tell()


def write_atomically(path: StrPath, parts: Iterable[str]) -> None:
    """Write a text file whole or not at all; a pipe or a device is written to, not replaced.

    Raises:
        InvalidInputError: The file cannot be written, for example because the disk is full; an existing file is left
            unchanged.
    """
    errors: list[OSError] = []
    if (streams := _streams(path)) is not None:
        streams.write(part.encode("utf-8", "backslashreplace") for part in parts)
        return
    try:
        target = _followed(path)
        is_stream = target.exists() and not target.is_file()
        place = contextlib.nullcontext(target) if is_stream else replacing(path)
        with place as target, target.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(_noting(parts, errors))
    except (OSError, InvalidInputError) as error:
        cause = error.__cause__ or error
        if cause in errors:  # it says nothing about the file that is written
            raise cause from None
        raise (_unwritable(path, error) if isinstance(error, OSError) else error) from cause


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[Path]:
    """Yield a path to write a file or a folder to, which then takes the place of the target, whole or not at all.

    The path lies in a temporary folder beside the target, which nobody else can open. What is written there gets the
    permissions and, where possible, the owner of what it replaces, or the usual permissions of new files. It is on the
    disk before it has the target's name, so that no crash leaves an empty file under it. If the target is a symbolic
    link of this user or of root, what it leads to is replaced; links of other users are refused.

    Raises:
        InvalidInputError: It cannot be written, or the target is neither a file nor an empty folder; in both cases the
            target is left unchanged.
    """
    if (streams := _streams(path)) is not None:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name) / "stdout"
            if (Path(name) / "stdout").is_dir():
                raise InvalidInputError(f"{path}: standard output cannot hold a folder. Name a folder to write.")
            with (Path(name) / "stdout").open("rb") as file:
                streams.write(iter(lambda: file.read(1 << 20), b""))
        return
    try:
        target = _followed(path)
        if target.exists() and not target.is_file() and not (target.is_dir() and not any(target.iterdir())):
            raise InvalidInputError(f"{path}: exists and is not a file. Give another path, or remove it first.")
        folder, mark = _temporary_beside(target)
    except InvalidInputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have; a loop of links
        raise _unwritable(path, error) from error
    try:
        yield folder / target.name
        put_in_place(folder / target.name, target)
    except OSError as error:
        raise InvalidInputError(
            f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Nothing was changed: free some space, or "
            "give another path."
        ) from error
    finally:
        os.close(mark)
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_beside(target: Path) -> tuple[Path, int]:
    """Return a new temporary folder for a target, and an open file in it that is locked as long as its writer lives.

    Folders of writers that were killed are removed: those of the same target whose lock can be had.
    """
    for old in target.parent.glob(f".{glob.escape(target.name)}.????????"):
        with contextlib.suppress(OSError):  # of somebody else, or another writer removes it
            if _marks(old) and (handle := _lock_in(old, os.O_CREAT)) is not None:
                os.close(handle)
                shutil.rmtree(old)
    while True:
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # another writer took it for one that was left
            if (mark := _lock_in(folder, os.O_CREAT | os.O_EXCL)) is not None:
                return folder, mark


_MARK = ".krag-eval-writing"


def _marks(folder: Path) -> bool:
    """Return whether a folder is a temporary one of ours: this user's, and empty or with a file to lock."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        return False
    names = os.listdir(folder)  # noqa: PTH208 - names alone are needed
    return not names or _MARK in names


def _lock_in(folder: Path, flags: int) -> int | None:
    """Return the open file of a temporary folder once it is locked; None if another process holds it, or removed it."""
    handle = os.open(folder / _MARK, os.O_RDWR | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if lock(handle) and os.path.samestat(os.fstat(handle), (folder / _MARK).lstat()):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _followed(path: StrPath) -> Path:
    """Return what a path leads to, through links of this user and of root.

    Raises:
        InvalidInputError: A link belongs to somebody else, who would choose what is overwritten.
        OSError: The links are a loop.
    """
    target = Path(path)
    for _ in range(40):
        if not target.is_symlink():
            return target
        if hasattr(os, "geteuid") and target.lstat().st_uid not in (0, os.geteuid()):
            raise InvalidInputError(f"{path}: is a symbolic link of another user. Give the path that it leads to.")
        target = target.parent / target.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def refuse_link(path: StrPath) -> None:
    """Refuse a symbolic link where nobody needs one: somebody else may have put it there.

    Raises:
        InvalidInputError: It is one.
    """
    if Path(path).is_symlink():
        raise InvalidInputError(f"{path}: is a symbolic link, and nothing is written through it. Remove the link.")


_LIMITS: ContextVar[tuple[int, int]] = ContextVar("permissions of files that are written", default=(0o777, 0o777))


@contextlib.contextmanager
def no_looser_than(source: StrPath, new: int = 0o777) -> Iterator[None]:
    """Let files written here be readable by nobody else than what they are made from; Windows has no such permissions.

    Args:
        source: What they are made from. If it has no permissions, such as standard input, nothing changes.
        new: The most permissions of files that do not replace others.
    """
    most = 0o777
    with contextlib.suppress(OSError, ValueError):
        most = 0o600 | stat.S_IMODE(Path(os.fspath(source)).stat().st_mode)
    token = _LIMITS.set((most, most & new))
    try:
        yield
    finally:
        _LIMITS.reset(token)


def _permit(temporary: Path, target: Path) -> None:
    """Give what is written the permissions and the owner of what it replaces, within the limits."""
    old, (most, most_of_new) = None, _LIMITS.get()
    with contextlib.suppress(FileNotFoundError):
        old = target.stat(follow_symlinks=False)
    for path in (temporary, *temporary.rglob("*")):
        here = path.stat()
        mode, limit = stat.S_IMODE(here.st_mode), most_of_new
        if old is not None and path == temporary and stat.S_IFMT(old.st_mode) == stat.S_IFMT(here.st_mode):
            mode, limit = stat.S_IMODE(old.st_mode), most
            if hasattr(os, "chown") and (here.st_uid, here.st_gid) != (old.st_uid, old.st_gid):
                with contextlib.suppress(PermissionError):
                    os.chown(path, old.st_uid, old.st_gid)
        if path.is_dir():
            limit |= (limit & 0o444) >> 2  # who may read a folder may enter it
        if mode & limit != stat.S_IMODE(path.stat().st_mode):
            path.chmod(mode & limit)


def put_in_place(temporary: Path, target: Path) -> None:
    """Let a finished file or folder replace the target, after all of it is on the disk.

    Raises:
        OSError: The disk or the file system refuses; the target is left unchanged.
    """
    for written in (temporary, *temporary.rglob("*")):
        if written.is_dir():
            sync_folder(written)
        else:
            with written.open("r+b") as file:  # Windows syncs no file that is open for reading alone
                os.fsync(file.fileno())
    _permit(temporary, target)  # last: its owner may not be allowed to open it for writing afterwards
    temporary.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on the disk too, if the system can do that."""
    if os.name == "posix":
        with contextlib.suppress(OSError):  # a folder that may not be read; and not every file system takes it
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _noting(parts: Iterable[str], errors: list[OSError]) -> Iterator[str]:
    try:
        yield from parts
    except OSError as error:
        errors.append(error)
        raise


def _unwritable(path: StrPath, error: Exception) -> InvalidInputError:
    return InvalidInputError(f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Check the folder.")


if sys.platform == "win32":
    import msvcrt

    def lock(handle: int) -> bool:
        """Lock an open file without waiting, and return whether that succeeded; closing the file unlocks it."""
        # There a lock keeps others from reading, too: one byte is locked that no journal will ever reach.
        os.lseek(handle, 2**40, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(handle: int) -> bool:
        """Lock an open file without waiting, and return whether that succeeded; closing the file unlocks it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
